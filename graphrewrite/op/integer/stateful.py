"""Ops with a state: their graphs are evaluated cycle by cycle."""

from __future__ import annotations

from typing import Any, NoReturn

import numpy as np

from graphrewrite.errors import EvaluationError, TypeMismatchError
from graphrewrite.op.define import define_op
from graphrewrite.op.domain import ANY
from graphrewrite.types import OwnType, Type, out_of_range

__all__ = ["delay", "register"]


def _step_register(state: Any, x: np.ndarray, *, initial: float = 0) -> tuple[np.ndarray, np.ndarray]:
    return (np.full_like(x, initial) if state is None else state), x


def _infer_register(x: Type, *, initial: float = 0) -> Type:
    _check_initial(x, initial)
    return x


def _check_initial(x: Type, initial: float) -> None:
    is_own = isinstance(x, OwnType) or isinstance(x.element, OwnType)  # of a dialect, which knows what it holds
    if not is_own and out_of_range(x.element, initial) is not None:
        raise TypeMismatchError(f"{x.element} has no number {initial} to begin with; give an initial value that it has")


@define_op(level="structure", step=_step_register, infer=_infer_register, elements=ANY)
def register(x: np.ndarray, *, initial: int | float = 0) -> NoReturn:
    """The operand one cycle before; in the first cycle the initial value.

    Parameters
    ----------
    x
        Any shape.
    initial
        The initial value.
    """
    raise EvaluationError("a register has a value in every cycle; evaluate the graph with evaluate_sequence")


def _step_delay(
    state: tuple[np.ndarray, ...] | None, x: np.ndarray, *, cycles: int, initial: float = 0
) -> tuple[np.ndarray, tuple[np.ndarray, ...]]:
    """Return what came some cycles before; the state is what has come since, at most as many values as cycles."""
    waiting = (*(state or ()), x)
    return (waiting[0], waiting[1:]) if len(waiting) > cycles else (np.full_like(x, initial), waiting)


def _infer_delay(x: Type, *, cycles: int, initial: float = 0) -> Any:
    if cycles < 1:
        raise TypeMismatchError(f"delays take at least one cycle, got {cycles}")
    _check_initial(x, initial)
    return x


@define_op(level="structure", step=_step_delay, infer=_infer_delay, elements=ANY)
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
    raise EvaluationError("a delay has a value in every cycle; evaluate the graph with evaluate_sequence")
