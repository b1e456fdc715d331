"""Ops with a state: their graphs are simulated cycle by cycle, not evaluated."""

from __future__ import annotations

from typing import Any, NoReturn

import numpy as np

from graphrewrite.errors import EvaluationError, TypeMismatchError
from graphrewrite.op.define import define_op
from graphrewrite.op.domain import ANY
from graphrewrite.types import Type

__all__ = ["delay", "register"]


def _infer_register(x: Type, *, initial: float = 0) -> Type:
    return x


@define_op(level="structure", stateful=True, infer=_infer_register, elements=ANY)
def register(x: np.ndarray, *, initial: int | float = 0) -> NoReturn:
    """The operand one cycle before; in the first cycle the initial value.

    Parameters
    ----------
    x
        Any shape.
    initial
        The initial value.
    """
    raise EvaluationError(
        "a register has no value outside of a simulation; simulate the graph instead of evaluating it"
    )


def _infer_delay(x: Type, *, cycles: int, initial: float = 0) -> Any:
    if cycles < 1:
        raise TypeMismatchError(f"delays take at least one cycle, got {cycles}")
    return x


@define_op(level="structure", stateful=True, infer=_infer_delay, elements=ANY)
def delay(x: np.ndarray, *, cycles: int, initial: int | float = 0) -> NoReturn:
    """The operand some cycles before; until then the initial value.

    Parameters
    ----------
    x
        Any shape.
    cycles
        Number of cycles.
    initial
        The initial value.
    """
    raise EvaluationError("a delay has no value outside of a simulation; simulate the graph instead of evaluating it")
