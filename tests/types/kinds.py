"""Strategies of element types and types, all of them."""

from __future__ import annotations

from hypothesis import strategies as st

from graphrewrite import FixedPoint, Stream, Tensor
from graphrewrite.types import NAMES, STORAGES, Element, Quantised, integer_limits

formats = st.builds(FixedPoint, st.booleans(), st.integers(1, 63), st.integers(-70, 70))
scales = st.floats(2.0**-60, 2.0**60)


@st.composite
def quantised_formats(draw: st.DrawFn, axis: int | None = None, channels: int = 1) -> Quantised:
    """A format, per tensor or with so many channels on an axis."""
    storage = draw(st.sampled_from(STORAGES))
    limits = integer_limits(storage)
    assert limits is not None
    zero_points = st.integers(*limits)
    if axis is None:
        return Quantised(storage, draw(scales), draw(zero_points))
    count = {"min_size": channels, "max_size": channels}
    return Quantised(storage, tuple(draw(st.lists(scales, **count))), tuple(draw(st.lists(zero_points, **count))), axis)


sizes = st.one_of(st.integers(0, 300), st.sampled_from(["N", "batch", "seq_len"]))
shapes = st.lists(sizes, max_size=5).map(tuple)
per_tensor = st.one_of(st.sampled_from(NAMES), formats, quantised_formats())


@st.composite
def tensors(draw: st.DrawFn) -> Tensor:
    """Any tensor type."""
    shape = draw(shapes)
    element: Element = draw(per_tensor)
    axes = [i for i, d in enumerate(shape) if isinstance(d, int) and 0 < d < 9]
    if axes and draw(st.booleans()):
        axis = draw(st.sampled_from(axes))
        element = draw(quantised_formats(axis, int(shape[axis])))
    letters = draw(st.permutations("NCDHWKT"))
    return Tensor(element, shape, draw(st.sampled_from([None, "".join(letters[: len(shape)])])))


streams = st.builds(Stream, formats, st.lists(st.integers(1, 9), min_size=1, max_size=4).map(tuple))
types = st.one_of(tensors(), streams)
