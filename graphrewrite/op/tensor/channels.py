"""The channel axis of quantised tensors, through ops that only move entries."""

from __future__ import annotations

from collections.abc import Sequence

from graphrewrite.errors import TypeMismatchError
from graphrewrite.op.sizes import shown
from graphrewrite.types import Dimension, Element, Quantised, Tensor, product

__all__ = ["concatenated", "on_axes", "reshaped"]


def reshaped(x: Tensor, shape: Sequence[Dimension]) -> Tensor:
    """Return the type of the same entries in another shape, in C order.

    Returns
    -------
    Tensor
        Without a layout: a shape does not say which axes are which.

    Examples
    --------
    >>> from graphrewrite.types import Quantised
    >>> print(reshaped(Tensor(Quantised("i8", (0.5, 0.25), axis=1), (3, 2, 4, 4)), (3, 2, 16)))
    i8<0.5:0, 0.25:0 @1>[3,2,16]
    """
    element = x.element
    if isinstance(element, Quantised) and element.axis is not None:
        # Channels stay an axis if some axis has their number and as many entries stand before it.
        before, size = product(x.shape[: element.axis]), x.shape[element.axis]
        axis = next((i for i, d in enumerate(shape) if d == size and product(shape[:i]) == before), None)
        if axis is None:
            raise TypeMismatchError(
                f"the channels of {x} do not become an axis of {shown(shape)}; op.from_quantised dequantises first"
            )
        element = element.at_axis(axis)
    return Tensor(element, tuple(shape))


def on_axes(x: Tensor, axes: Sequence[int | None]) -> Tensor:
    """Return the type of a tensor some of whose axes of size 1 have come or gone.

    Parameters
    ----------
    axes : sequence of int or None
        For each axis of the result the operand's axis that it is; None for a new one.

    Returns
    -------
    Tensor
        Without a layout if there are new axes. A single channel whose axis has gone is that of the whole tensor.

    Examples
    --------
    >>> print(on_axes(Tensor("f32", ("N", 1, 5), "NCW"), (0, 2)), on_axes(Tensor("f32", ("N", 5), "NC"), (0, 1, None)))
    f32[N,5] NW f32[N,5,1]
    """
    element = x.element
    if isinstance(element, Quantised) and element.axis is not None:
        if element.axis in axes:
            element = element.at_axis(axes.index(element.axis))
        else:
            ((scale, zero_point),) = element.channels
            element = Quantised(element.storage, scale, zero_point)
    kept = [axis for axis in axes if axis is not None]
    layout = "".join(x.layout[axis] for axis in kept) if x.layout is not None and len(kept) == len(axes) else None
    return Tensor(element, tuple(1 if axis is None else x.shape[axis] for axis in axes), layout)


def concatenated(elements: Sequence[Element], axis: int) -> Element:
    """Return the element type of tensors that are concatenated along an axis.

    Returns
    -------
    Element
        The one of all; or all channels in a row, where that is the axis of the channels of each.

    Examples
    --------
    >>> print(concatenated([Quantised("i8", (0.5,), axis=1), Quantised("i8", (0.25,), axis=1)], 1))
    i8<0.5:0, 0.25:0 @1>
    """
    first = elements[0]
    quantised = [e for e in elements if isinstance(e, Quantised) and e.axis == axis]
    if len(quantised) == len(elements) and len({e.storage for e in quantised}) == 1:
        scales, zero_points = zip(*(channel for e in quantised for channel in e.channels), strict=True)
        return Quantised(quantised[0].storage, scales, zero_points, axis)
    if any(e != first for e in elements):
        raise TypeMismatchError(
            f"operands have different element types {' and '.join(map(str, elements))}; "
            "convert one of them with op.cast, or with op.from_quantised and op.to_quantised"
        )
    return first
