"""Rotary embedding in parts, as exporters write it."""

from __future__ import annotations

from typing import Any

from hypothesis import strategies as st

from graphrewrite import Graph, Tensor, op, rewrite
from graphrewrite.rules import join_slices, merge_concats, merge_slices

__all__ = ["rotations"]


@st.composite
def rotations(draw: st.DrawFn) -> Graph:
    """Return graphs of entries that are turned by angles: in halves or side by side, all of them or the first ones."""
    element = draw(st.sampled_from(("f32", "f64", "f16")))
    batch, heads, steps = (
        draw(st.sampled_from(("N", 1, 2))),
        draw(st.integers(1, 2)),
        draw(st.sampled_from((1, 3, "T"))),
    )
    pairs, more = draw(st.integers(1, 2)), draw(st.sampled_from((0, 0, 1)))
    graph = Graph("rotation")
    given = graph.input("x", Tensor(element, (batch, heads, steps, 2 * pairs + more)))
    x = cut(given, 0, 2 * pairs) if more else given
    shape = draw(st.sampled_from(((batch, 1, steps, pairs), (1, steps, pairs), (steps, pairs), (1, 1, 1, pairs))))
    form = draw(st.sampled_from((whole, halves, side_by_side, as_op)))
    if form is not as_op and draw(st.booleans()):  # heads behind the steps
        shape = draw(st.sampled_from(((batch, heads, 1, pairs), (heads, 1, pairs))))
    angle = graph.input("a", Tensor(element, shape))
    y = form(x, angle, first=draw(st.booleans()))
    graph.output("y", op.concat(y, cut(given, 2 * pairs, 2 * pairs + more), axis=-1) if more else y)
    if draw(st.booleans()):
        return rewrite(graph, [merge_slices, merge_concats])
    return join_slices(graph) if draw(st.booleans()) else graph


def cut(x: Any, start: int, end: int, step: int = 1) -> Any:
    """Return entries of the last axis."""
    return op.slice(x, starts=(start,), ends=(end,), axes=(len(x.type.shape) - 1,), steps=(step,))


def whole(x: Any, angle: Any, *, first: bool) -> Any:
    """Return what is turned by angles for each entry, as Llama's exporters write it."""
    size = x.type.shape[3]
    both = op.concat(angle, angle, axis=-1)
    exchanged = op.concat(op.neg(cut(x, size // 2, 2**31 - 1)), cut(x, 0, size // 2), axis=-1)
    cosines, sines = x * op.cos(both), op.sin(both) * exchanged
    return cosines + sines if first else sines + cosines


def _turned(one: Any, other: Any, angle: Any, *, first: bool) -> tuple[Any, Any]:
    cos, sin = op.cos(angle), op.sin(angle)
    imaginary = (other * cos, one * sin) if first else (sin * one, cos * other)
    return one * cos - other * sin, imaginary[0] + imaginary[1]


def halves(x: Any, angle: Any, *, first: bool) -> Any:
    """Return both halves, turned by themselves."""
    size = x.type.shape[3]
    return op.concat(*_turned(cut(x, 0, size // 2), cut(x, size // 2, size), angle, first=first), axis=3)


def side_by_side(x: Any, angle: Any, *, first: bool) -> Any:
    """Return pairs that stand side by side, turned."""
    size = x.type.shape[3]
    columns = [
        op.unsqueeze(each, axes=(-1,)) for each in _turned(cut(x, 0, size, 2), cut(x, 1, size, 2), angle, first=first)
    ]
    return op.reshape(op.concat(*columns, axis=-1), shape=x.type.shape)


def as_op(x: Any, angle: Any, *, first: bool) -> Any:
    """Return the op itself."""
    batch, _, steps, size = x.type.shape
    angles = op.reshape(
        angle, shape=(angle.type.shape[0] if len(angle.type.shape) > 2 else 1, angle.type.shape[-2], size // 2)
    )
    cos, sin = (op.expand(each, shape=(batch, steps, size // 2)) for each in (op.cos(angles), op.sin(angles)))
    return op.rotary_embedding(x, cos, sin, interleaved=first)
