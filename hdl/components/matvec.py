"""matvec: a matrix times the lanes of each beat, exact."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from graphrewrite.errors import TypeMismatchError
from graphrewrite.hdl.component import (
    Component,
    Generic,
    Resources,
    Site,
    buffer_resources,
    counter_bits,
    spaced,
    streams,
)
from graphrewrite.hdl.generic import long_vector
from graphrewrite.hdl.schedule import Schedule
from graphrewrite.op.cost import entries
from graphrewrite.op.define import define_op
from graphrewrite.op.integer import exact_matmul
from graphrewrite.types import FixedPoint, Stream, Type

__all__ = ["MATVEC", "matvec"]

_LATENCY = 2


def _infer(
    x: Type, *, weights: ArrayLike, bias: ArrayLike, element: FixedPoint, pe: int | None = None, simd: int | None = None
) -> Stream:
    (given,) = streams(x)
    matrix, offset = np.asarray(weights, np.int64), np.asarray(bias, np.int64)
    if matrix.ndim != 2 or not matrix.size or matrix.shape[1] != given.lanes or offset.shape != matrix.shape[:1]:
        raise TypeMismatchError(
            f"weights {matrix.shape} and bias {offset.shape} do not fit {given}; give [O,{given.lanes}] and [O]"
        )
    outputs, inputs = matrix.shape
    for name, count, total in (("pe", pe, outputs), ("simd", simd, inputs)):
        if count is not None and (count < 1 or total % count):
            raise TypeMismatchError(f"{name}={count} does not divide {total}; give one of {_divisors(total)}")
    (result,) = streams(Stream(element, (outputs, *given.shape[1:])))
    if FixedPoint.holding(int(matrix.min()), int(matrix.max())).width > 30:
        raise TypeMismatchError("a weight exceeds 30 bits; quantise the weights to a narrower format")
    ends = matrix * given.element.minimum, matrix * given.element.maximum
    low = int((np.minimum(*ends).sum(axis=1) + offset).min())
    high = int((np.maximum(*ends).sum(axis=1) + offset).max())
    low, high = min(low, int(offset.min())), max(high, int(offset.max()))
    if low < element.minimum or high > element.maximum:
        raise TypeMismatchError(
            f"sums of {low} to {high} exceed {element}; give {FixedPoint.holding(low, high, element.fraction)} or wider"
        )
    return result


def _divisors(total: int) -> list[int]:
    return [d for d in range(1, total + 1) if total % d == 0]


def _products(types: Sequence[Any], result: Stream, attributes: Mapping[str, Any]) -> int:
    return entries(result.shape) * int(np.shape(attributes["weights"])[1])


@define_op(level="stream", infer=_infer, cost=_products)
def matvec(
    x: NDArray[np.integer],
    *,
    weights: ArrayLike,
    bias: ArrayLike,
    element: FixedPoint,
    pe: int | None = None,
    simd: int | None = None,
) -> NDArray[np.integer]:
    """Return ``weights @ x + bias`` at every position, in an accumulator that holds every sum.

    Parameters
    ----------
    x : ndarray of int, shape [N, I, *positions]
    weights : array of int, shape [O, I]
    bias : array of int, shape [O]
    element : FixedPoint
        Format of the sums.
    pe, simd : int, optional
        Rows and columns of the matrix that the hardware works on in one cycle; they divide O and I, the default.

    Returns
    -------
    ndarray of int, shape [N, O, *positions]

    Examples
    --------
    >>> x = np.array([[1, 2], [3, 4]], np.int8)
    >>> element = FixedPoint(True, 16)
    >>> matvec(x, weights=[[1, 1], [2, -1], [0, 3]], bias=[0, 10, 0], element=element, pe=3, simd=1).tolist()
    [[3, 10, 6], [7, 12, 12]]
    """
    matrix = np.asarray(weights, np.int64)
    batch, inputs, *positions = x.shape
    rows = np.moveaxis(x.reshape(batch, inputs, -1), 1, 2).reshape(-1, inputs)
    # Each product is a whole number of at most 53 bits, or an integer already.
    sums = exact_matmul(rows, matrix.T).astype(np.int64) + np.asarray(bias, np.int64)
    return (
        np.moveaxis(sums.reshape(batch, -1, len(matrix)), 1, 2)
        .reshape(batch, len(matrix), *positions)
        .astype(element.dtype)
    )


def _folding(site: Site) -> tuple[int, int, int, int]:
    outputs, inputs = np.shape(site.attributes["weights"])
    pe, simd = site.attributes["pe"], site.attributes["simd"]
    return outputs, inputs, outputs if pe is None else pe, inputs if simd is None else simd


def _schedule(site: Site) -> Schedule:
    outputs, inputs, pe, simd = _folding(site)
    steps = (outputs // pe) * (inputs // simd)
    first = np.arange(site.operands[0].beats) * steps
    return spaced(len(first) * steps, first, first + steps - 1, _LATENCY)


def _weight_width(weights: ArrayLike) -> int:
    matrix = np.asarray(weights)
    return FixedPoint.holding(min(int(matrix.min()), -1), int(matrix.max())).width


def _generics(site: Site) -> dict[str, Generic]:
    outputs, inputs, pe, simd = _folding(site)
    x, z = site.operands[0].element, site.results[0].element
    bias = np.asarray(site.attributes["bias"], np.int64)
    return {
        "INPUTS": inputs,
        "OUTPUTS": outputs,
        "PE": pe,
        "SIMD": simd,
        "X_WIDTH": x.width,
        "X_SIGNED": x.signed,
        "Z_WIDTH": z.width,
        "Z_SIGNED": z.signed,
        "WEIGHT_WIDTH": _weight_width(site.attributes["weights"]),
        "WEIGHTS": np.asarray(site.attributes["weights"], np.int64).ravel(),
        **long_vector("BIAS", bias, long=z.width > 31 or x.width > 31),
        "CAPACITY": _schedule(site).capacity[0],
    }


def _resources(site: Site) -> Resources:
    outputs, inputs, pe, simd = _folding(site)
    parts, groups = inputs // simd, outputs // pe
    x, z = site.operands[0], site.results[0]
    matrix = np.abs(np.asarray(site.attributes["weights"], np.int64))
    if parts * groups == 1:
        products = int(np.count_nonzero(matrix & (matrix - 1)))
        own = Resources(products, int(np.count_nonzero(matrix)), z.payload_width + 1)
    else:
        row = pe * simd * _weight_width(site.attributes["weights"])
        held = x.payload_width + (pe * z.element.width if parts > 1 else 0)
        counters = counter_bits(parts * groups) + counter_bits(groups) + counter_bits(inputs) + 1
        own = Resources(pe * simd, pe * simd, held + row + z.payload_width + counters, row * parts * groups)
    return own.plus(buffer_resources(z.payload_width, _schedule(site).capacity[0]))


MATVEC = Component(matvec, "matvec.vhd", _generics, _schedule, _resources)
"""The component of `matvec`."""
