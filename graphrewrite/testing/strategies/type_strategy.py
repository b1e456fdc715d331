"""A strategy of types: of tensors and streams, of elements of every kind."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from hypothesis import strategies as st

from graphrewrite.errors import TypeMismatchError
from graphrewrite.types import (
    STORAGES,
    USUAL_NAMES,
    Dimension,
    Element,
    FixedPoint,
    Quantised,
    Stream,
    Tensor,
    Type,
    as_element,
    integer_limits,
)

__all__ = ["types"]

Shape = tuple[Dimension, ...]
_ELEMENTS: tuple[Any, ...] = (*USUAL_NAMES, FixedPoint, Quantised)
_CHANNELS = 8
"""So many channels at most have scales of their own."""
_FORMATS = st.builds(FixedPoint, st.booleans(), st.integers(1, 63), st.integers(-70, 70))
_SCALES = st.floats(2.0**-60, 2.0**60)


def types(
    *,
    classes: Iterable[type[Tensor] | type[Stream]] = (Tensor, Stream),
    elements: Iterable[Element | type[FixedPoint] | type[Quantised]] | None = None,
    shapes: Iterable[Shape] | st.SearchStrategy[Shape] | None = None,
) -> st.SearchStrategy[Type]:
    """Return a strategy of what edges carry: tensors with and without layouts and symbolic sizes, and streams.

    Shrinks to the first class, the first element type and the first shape: ``f32[]`` where nothing is given.

    Parameters
    ----------
    classes : iterable of {Tensor, Stream}
        What the types may be.
    elements : iterable of element types, optional
        What they may hold: names, formats, and the classes `FixedPoint` and `Quantised` for all formats of theirs. Any
        but floats of 8 or 4 bits and integers of 2 where not given. Streams hold those of them that are fixed-point
        formats.
    shapes : iterable or strategy of tuple of int or str, optional
        Their shapes, with whole sizes and channels for streams; any where not given.

    Raises
    ------
    TypeMismatchError
        If nothing is left to choose from, or an element type is none.

    Examples
    --------
    >>> from hypothesis import find
    >>> print(find(types(), lambda kind: True), find(types(), lambda kind: "N" in kind.shape))
    f32[] f32[N]
    >>> print(find(types(classes=[Stream], elements=[FixedPoint(True, 8, 4)]), lambda kind: True))
    stream s8f4[1]
    """
    wanted = tuple(classes)
    chosen = _ELEMENTS if elements is None else elements
    given = tuple(e if e is FixedPoint or e is Quantised else as_element(e) for e in chosen)
    kinds: list[st.SearchStrategy[Any]] = []
    for kind in wanted:
        if kind is Tensor and given:
            kinds.append(_tensors(given, _shapes(shapes, _SHAPES)))
        elif kind is Stream and (fixed := [e for e in given if e is FixedPoint or isinstance(e, FixedPoint)]):
            kinds.append(st.builds(Stream, st.one_of(list(map(_whole, fixed))), _shapes(shapes, _FRAMES)))
        elif kind not in (Tensor, Stream):
            raise TypeMismatchError(f"a type is of class Tensor or Stream, not {kind!r}")
    if not kinds:
        raise TypeMismatchError(
            f"no type is left of classes {list(wanted)} with elements {list(given)}; streams hold fixed-point formats"
        )
    return st.one_of(kinds)


_SIZES: st.SearchStrategy[Dimension] = (
    st.integers(0, _CHANNELS)
    | st.integers(0, 300)
    | st.sampled_from(["N", "batch", "seq_len"])
    | st.sampled_from(["2*seq_len + 1", "N*heads", "(seq_len + 3)//4", "min(512, seq_len)", "?1", "4*?2"])
)
_SHAPES: st.SearchStrategy[Shape] = st.lists(_SIZES, max_size=5).map(tuple)
_FRAMES: st.SearchStrategy[Shape] = st.lists(st.integers(1, 9), min_size=1, max_size=4).map(tuple)


def _shapes(given: Any, otherwise: st.SearchStrategy[Shape]) -> st.SearchStrategy[Shape]:
    if given is None:
        return otherwise
    return given if isinstance(given, st.SearchStrategy) else st.sampled_from([tuple(shape) for shape in given])


def _whole(element: Any) -> st.SearchStrategy[Any]:
    """Element types that say the same of every number of a tensor."""
    if element is FixedPoint:
        return _FORMATS
    return _quantised(None, 1) if element is Quantised else st.just(element)


@st.composite
def _quantised(draw: st.DrawFn, axis: int | None, channels: int) -> Quantised:
    """A format, of whole tensors or with so many channels on an axis."""
    storage = draw(st.sampled_from(STORAGES))
    zero_points = st.integers(*(integer_limits(storage) or (0, 0)))
    if axis is None:
        return Quantised(storage, draw(_SCALES), draw(zero_points))
    steps = st.lists(_SCALES, min_size=channels, max_size=channels).map(tuple)
    zeros = st.lists(zero_points, min_size=channels, max_size=channels).map(tuple)
    return Quantised(storage, draw(steps), draw(zeros), axis)


@st.composite
def _tensors(draw: st.DrawFn, elements: tuple[Any, ...], shapes: st.SearchStrategy[Shape]) -> Tensor:
    shape = draw(shapes)
    layout = None
    if len(shape) <= len(_LETTERS) and draw(st.booleans()):
        layout = "".join(draw(st.permutations(_LETTERS))[: len(shape)])
    # The element comes last: where it shrinks to one of another kind, nothing behind it is read anew.
    named = [element for element in elements if isinstance(element, str)]
    others = [element for element in elements if not isinstance(element, str)]
    element = draw(st.sampled_from([named, *others] if named else others))  # a class is as frequent as all names
    element = draw(st.sampled_from(named)) if element is named else element
    axes = [i for i, size in enumerate(shape) if isinstance(size, int) and 0 < size <= _CHANNELS]
    if element is Quantised and axes and draw(st.booleans()):
        axis = draw(st.sampled_from(axes))
        held: Element = draw(_quantised(axis, int(shape[axis])))
    else:
        held = draw(_whole(element))
    return Tensor(held, shape, layout)


_LETTERS = "NCDHWKT"
