"""Ops that give a graph its shape: inputs, outputs, constants, and state for simulation."""

from __future__ import annotations

from typing import Any, NoReturn

import numpy as np

from graphrewrite.errors import EvaluationError
from graphrewrite.op.define import define_op
from graphrewrite.types import Element, FixedPoint, Tensor, Type, element_of

__all__ = ["constant", "counter", "input_", "output", "transfer"]


@define_op(level="structure", infer=lambda index=0: ())
def input_(*, index: int = 0) -> NoReturn:
    """An input of the graph; run time gives its value.

    Parameters
    ----------
    index
        Its place among the inputs.
    """
    raise EvaluationError("an input has no value of its own; pass it to evaluate")


@define_op(level="structure", infer=lambda x, index=0: x)
def output(x: np.ndarray, *, index: int = 0) -> np.ndarray:
    """An output of the graph; its value is its operand's.

    Parameters
    ----------
    x
        Any shape.
    index
        Its place among the outputs.
    """
    return x


def _infer_constant(*, value: Any) -> Type:
    array = np.asarray(value)
    return Tensor(element_of(array.dtype), array.shape)


@define_op(level="structure", infer=_infer_constant)
def constant(*, value: Any) -> np.ndarray:
    """An array that is known before run time.

    Parameters
    ----------
    value
        The array.

    Examples
    --------
    >>> constant(value=[1, 2]).tolist()
    [1, 2]
    """
    return np.asarray(value)


def _step_counter(state: int | None, *, element: Element) -> tuple[np.ndarray, int]:
    count = state or 0
    whole = element if isinstance(element, FixedPoint) else None
    shown = count if whole is None else (count - whole.minimum) % (1 << whole.width) + whole.minimum
    return np.asarray(shown), count + 1


@define_op(level="structure", step=_step_counter, infer=lambda element: Tensor(element, ()))
def counter(*, element: Element) -> NoReturn:
    """A register that counts cycles from 0: independent of every input, and yet not constant.

    Parameters
    ----------
    element
        Element type of the count.
    """
    raise EvaluationError("a counter has a value in every cycle; evaluate the graph with evaluate_sequence")


@define_op(level="bridge", infer=lambda x, backend=None: x)
def transfer(x: np.ndarray, *, backend: str | None = None) -> np.ndarray:
    """The operand itself, moved to the memory of a backend; the node is annotated with that backend.

    Parameters
    ----------
    x
        Any shape.
    backend
        Name of the backend.

    Examples
    --------
    >>> transfer(np.array([1, 2]), backend="gpu").tolist()
    [1, 2]
    """
    return x
