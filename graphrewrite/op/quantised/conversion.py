"""Between real numbers and quantised ones, which have a scale and a zero point."""

from __future__ import annotations

from typing import Any

import numpy as np

from graphrewrite.errors import EvaluationError, TypeMismatchError
from graphrewrite.op.define import define_op
from graphrewrite.op.domain import FLOATS
from graphrewrite.types import ElementName, Quantised, Tensor, check_element, element_kind, hold

__all__ = ["from_quantised", "to_quantised"]


def _per_channel(element: Quantised, rank: int, dtype: Any) -> tuple[np.ndarray, np.ndarray]:
    """Return scales and zero points for broadcasting against an array of so many axes."""
    shape = () if element.axis is None else tuple(-1 if i == element.axis else 1 for i in range(rank))
    scales, zero_points = zip(*element.channels, strict=True)
    return np.asarray(scales, dtype).reshape(shape), np.asarray(zero_points, np.int64).reshape(shape)


def _infer_to_quantised(x: Tensor, *, element: object) -> Tensor:
    if not isinstance(element, Quantised):
        raise TypeMismatchError(f"the element must be a Quantised format, got {element!r}")
    return Tensor(element, x.shape, x.layout)


@define_op(level="bridge", infer=_infer_to_quantised, elements=FLOATS)
def to_quantised(x: np.ndarray, *, element: Quantised) -> np.ndarray:
    """The stored integers nearest to real numbers: ``round(x / scale) + zero_point``, half to even, saturated.

    Computed in float32, or float64 for such operands (ONNX specification, QuantizeLinear).

    Parameters
    ----------
    x
        Any shape.
    element
        The format.

    Examples
    --------
    >>> to_quantised(np.array([0.25, 0.3, 99.0]), element=Quantised("i8", 0.5, 3)).tolist()
    [3, 4, 127]
    """
    kind = np.promote_types(x.dtype, np.float32)
    scale, zero_point = _per_channel(element, x.ndim, kind)
    with np.errstate(over="ignore", under="ignore"):  # quotients beyond the floats are infinite, and saturate
        whole = np.rint(np.asarray(x, kind) / scale).astype(np.float64)
    if np.isnan(whole).any():
        raise EvaluationError("NaN has no quantised value; remove such samples, or find where they come from")
    shifted = np.clip(whole, element.minimum - zero_point, element.maximum - zero_point).astype(np.int64)
    return np.asarray(shifted + zero_point, element.dtype)


def _infer_from_quantised(x: Tensor, *, source: object, element: str = "f32") -> Tensor:
    if not isinstance(source, Quantised) or x.element not in (source, source.storage):
        raise TypeMismatchError(f"the operand has the element type {x.element}, which does not fit source={source}")
    check_element(element)
    if element_kind(element) != "float":
        raise TypeMismatchError(f"dequantisation gives floats, not {element}; convert them with op.cast(x, element=…)")
    return Tensor(element, Tensor(source, x.shape).shape, x.layout)


@define_op(level="bridge", infer=_infer_from_quantised, elements=frozenset({"quantised", "integer"}))
def from_quantised(x: np.ndarray, *, source: Quantised, element: ElementName = "f32") -> np.ndarray:
    """The real numbers that stored integers stand for: ``scale * (q - zero_point)`` (ONNX, DequantizeLinear).

    Computed in float32, or float64 for that element type.

    Parameters
    ----------
    x
        Stored integers, of any shape.
    source
        Their format, whether their type says so or not: an array does not carry its own.
    element
        Element type of the result.

    Examples
    --------
    >>> from_quantised(np.array([3, 4], np.int8), source=Quantised("i8", 0.5, 3)).tolist()
    [0.0, 0.5]
    """
    kind = np.dtype(np.float64 if element == "f64" else np.float32)
    scale, zero_point = _per_channel(source, x.ndim, kind)
    with np.errstate(over="ignore", under="ignore"):
        return hold(element, (x.astype(np.int64) - zero_point).astype(kind) * scale)
