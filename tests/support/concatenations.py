"""Concatenations of values that have something in common, which generated graphs seldom have."""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise

from hypothesis import strategies as st

from graphrewrite import Graph, Tensor, op
from graphrewrite.graph import Value

STEPS: list[Callable[[Value], Value]] = [
    op.relu,
    op.tanh,
    op.exp,
    op.neg,
    lambda x: op.clip(x, low=-1.0, high=2.0),
    lambda x: op.leaky_relu(x, alpha=0.25),
    lambda x: op.cast(x, element="f16"),
]


@st.composite
def joined_values(draw: st.DrawFn, *, empty: bool = False) -> Graph:
    """A concatenation of values that the same step makes; some of them have no entries, if asked for."""
    graph = Graph("joined")
    shape = draw(st.sampled_from([(3,), (2, 3), ("N", 2, 2)]))
    axis = draw(st.integers(1 if shape[0] == "N" else 0, len(shape) - 1))
    sizes = draw(st.lists(st.integers(0 if empty else 1, 3), min_size=2, max_size=4))
    if empty:
        sizes[draw(st.integers(0, len(sizes) - 1))] = 0
    element = draw(st.sampled_from(["f32", "f64", "f16"]))
    kinds = [Tensor(element, (*shape[:axis], size, *shape[axis + 1 :])) for size in sizes]
    values = [graph.input(f"x{i}", kind) for i, kind in enumerate(kinds)]
    step = op.identity if empty else draw(st.sampled_from(STEPS))
    graph.output("y", op.neg(op.concat(*map(step, values), axis=draw(st.sampled_from([axis, axis - len(shape)])))))
    return graph


@st.composite
def cut_values(draw: st.DrawFn, *, joined: bool = True) -> Graph:
    """Slices of one value, side by side as a rule, that are joined again, or go through the same step."""
    graph = Graph("cut")
    size, rows = draw(st.integers(2, 6)), draw(st.sampled_from([2, "N"]))
    x = graph.input("x", Tensor(draw(st.sampled_from(["f32", "i64"] if joined else ["f32", "f64"])), (rows, size)))
    ends = [0, *sorted(draw(st.sets(st.integers(1, size - 1), max_size=3))), draw(st.sampled_from([size, 1 << 31]))]
    parts = [op.slice(x, starts=(low,), ends=(high,), axes=(1,)) for low, high in pairwise(ends)]
    if draw(st.booleans()):
        steps = (draw(st.sampled_from([-1, 2])),)
        parts.append(op.slice(x, starts=(draw(st.integers(-size, size)),), ends=(-1,), axes=(1,), steps=steps))
    if joined:
        graph.output("y", op.concat(*parts, axis=1))
    step = draw(st.sampled_from(STEPS[:-1])) if not joined else op.abs
    for i, part in enumerate(parts if not joined or draw(st.booleans()) else ()):
        graph.output(f"z{i}", step(part))
    return graph


@st.composite
def cut_pairs(draw: st.DrawFn) -> Graph:
    """Slices of one value that meet the same operand, which seldom differs along the sliced axis."""
    graph = Graph("pairs")
    size, rows = draw(st.integers(2, 5)), draw(st.sampled_from([2, "N"]))
    x = graph.input("x", Tensor("f32", (rows, size)))
    shape = draw(st.sampled_from([(), (1,), (rows, 1), (1, 1), (1, 1, 1), (rows, 2)]))
    y = graph.input("y", Tensor("f32", shape))
    between = size // 2 if shape != (rows, 2) else 2
    cuts = [(0, between), (between, size)] if shape != (rows, 2) else [(0, 2), (size - 2, size)]
    turned = draw(st.sampled_from([(True, True), (False, False), (True, False)]))
    step = draw(st.sampled_from([op.sub, op.less] if all(turned) else [op.add, op.sub, op.mul, op.maximum, op.less]))
    for i, ((low, high), is_second) in enumerate(zip(cuts, turned, strict=True)):
        part = op.slice(x, starts=(low,), ends=(high,), axes=(1,))
        graph.output(f"z{i}", step(y, part) if is_second else step(part, y))
    return graph


@st.composite
def joined_rows(draw: st.DrawFn) -> Graph:
    """Single rows of a value along one axis, which are joined along another one."""
    graph = Graph("rows")
    shape = [draw(st.integers(3, 4)), draw(st.integers(1, 3)), draw(st.integers(3, 4))]
    x = graph.input("x", Tensor("f32", tuple(shape)))
    along, axis = draw(st.sampled_from([(0, 1), (2, 1), (0, 2), (2, 0), (0, 0)]))
    first, step = draw(st.sampled_from([(0, 1), (1, 1), (2, -1), (0, 2)]))
    places = [first + step * i for i in range(4) if 0 <= first + step * i < shape[along]]
    rows = [op.slice(x, starts=(i,), ends=(i + 1,), axes=(along,)) for i in places]
    graph.output("y", op.concat(*rows, axis=axis))
    return graph


@st.composite
def sums_of_parts(draw: st.DrawFn) -> Graph:
    """A sum of values between zeros, side by side or over each other, of products of matrices, and of others."""
    graph, element, count = Graph("sums"), draw(st.sampled_from(["f32", "f64"])), draw(st.integers(2, 5))
    whole = Tensor(element, (2, 4))
    steps = [graph.input(f"h{i}", Tensor(element, ("N", 2))) for i in range(count)]
    slopes = [graph.input(f"g{i}", Tensor(element, ("N", 4))) for i in range(count)]
    if draw(st.booleans()):
        op.add(steps[0], steps[1])  # which nothing reads
    if draw(st.booleans()):  # on an axis of their own, and between zeros there
        places = draw(st.permutations(range(count)))
        between = [
            op.pad(op.unsqueeze(slope, axes=(0,)), pads=(place, 0, 0, count - 1 - place, 0, 0))
            for slope, place in zip(slopes, places, strict=True)
        ]
        graph.output("z", op.neg(added(draw, between)))
    terms = [op.matmul(op.transpose(h, perm=(1, 0)), g) for h, g in zip(steps, slopes, strict=True)]
    if draw(st.booleans()):
        terms = [
            op.matmul(graph.input("a", Tensor(element, (2, 3))), graph.input("b", Tensor(element, (3, 4)))),
            *terms,
        ]
        terms.append(op.matmul(op.tanh(graph.value("a")), graph.value("b")))
    for i in range(draw(st.integers(0, 3))):
        axis = draw(st.integers(0, 1))
        size = whole.shape[axis]
        start, end = sorted(draw(st.sets(st.integers(0, size), min_size=2, max_size=2)))
        part = graph.input(f"p{i}", Tensor(element, (end - start, 4) if axis == 0 else (2, end - start)))
        terms.append(op.pad(part, pads=(start, 0, size - end, 0) if axis == 0 else (0, start, 0, size - end)))
    if draw(st.booleans()):
        terms.append(graph.input("o", whole))
    graph.output("y", op.neg(added(draw, terms)))
    return graph


def added(draw: st.DrawFn, terms: list[Value]) -> Value:
    """The sum of terms in any order."""
    total, *rest = draw(st.permutations(terms))
    for term in rest:
        total = op.add(total, term) if draw(st.booleans()) else op.add(term, total)
    return total


@st.composite
def rows_beside_others(draw: st.DrawFn) -> Graph:
    """Rows that are put on two axes and meet as many others, or one row for all of them."""
    graph = Graph("rows")
    element = draw(st.sampled_from(["f32", "f64", "i32"]))
    shape = (draw(st.integers(1, 3)), draw(st.integers(2, 3)), draw(st.integers(1, 4)))
    y = graph.input("y", Tensor(element, (shape[0] * shape[1], shape[2])))
    x = graph.input("x", Tensor(element, draw(st.sampled_from([shape, shape, shape[2:]]))))
    operands = draw(st.permutations([op.reshape(y, shape=shape), x]))
    graph.output("z", draw(st.sampled_from([op.add, op.mul]))(*operands))
    return graph
