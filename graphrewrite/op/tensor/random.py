"""Random numbers, the same ones for the same seed."""

from __future__ import annotations

import numpy as np

from graphrewrite.errors import TypeMismatchError
from graphrewrite.op.define import define_op
from graphrewrite.op.domain import NUMBERS, check_elements
from graphrewrite.types import ElementName, Tensor, check_element, hold

__all__ = ["rand_like", "randn_like"]


def _infer(x: Tensor, *, element: str | None, seed: int, **_: float) -> Tensor:
    kind = x.element if element is None else element
    check_element(kind)
    result = Tensor(kind, x.shape, x.layout)
    check_elements(NUMBERS, [result])
    if not 0 <= seed < 1 << 32:
        raise TypeMismatchError(f"the seed {seed} is out of range; give 0 to {(1 << 32) - 1}")
    return result


def _drawn(numbers: np.ndarray, x: np.ndarray, element: str | None) -> np.ndarray:
    return hold(element, numbers) if element is not None else np.asarray(numbers).astype(x.dtype)


@define_op(infer=_infer)
def rand_like(
    x: np.ndarray, *, low: float = 0.0, high: float = 1.0, seed: int = 0, element: ElementName | None = None
) -> np.ndarray:
    """Uniform random numbers between two limits, in the shape of an operand (ONNX specification, RandomUniformLike).

    The generator is MT19937.

    Parameters
    ----------
    x
        Any shape.
    low
        Lower limit.
    high
        Upper limit.
    seed
        Seed of the generator.
    element
        Element type of the result; the operand's if not given.

    Examples
    --------
    >>> rand_like(np.zeros(2), seed=1).round(3).tolist()
    [0.417, 0.72]
    """
    return _drawn(np.random.RandomState(seed).uniform(low, high, x.shape), x, element)


@define_op(infer=_infer)
def randn_like(
    x: np.ndarray, *, mean: float = 0.0, scale: float = 1.0, seed: int = 0, element: ElementName | None = None
) -> np.ndarray:
    """Normal random numbers in the shape of an operand (ONNX specification, RandomNormalLike).

    The generator is MT19937.

    Parameters
    ----------
    x
        Any shape.
    mean
        The mean.
    scale
        The standard deviation.
    seed
        Seed of the generator.
    element
        Element type of the result; the operand's if not given.

    Examples
    --------
    >>> randn_like(np.zeros(2), seed=1).round(3).tolist()
    [1.624, -0.612]
    """
    return _drawn(np.random.RandomState(seed).normal(mean, abs(scale), x.shape), x, element)
