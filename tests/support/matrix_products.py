"""Strategies for constant matrix products: as graphs of scalars, and between streams."""

from __future__ import annotations

import numpy as np
from hypothesis import strategies as st

from graphrewrite import Graph, Tensor, op
from graphrewrite.graph.value import Value
from graphrewrite.hdl.components.affine import affine
from graphrewrite.hdl.components.matvec import matvec
from graphrewrite.hdl.components.requantise import requantise
from graphrewrite.hdl.components.softmax import exponentials
from graphrewrite.hdl.components.threshold import threshold
from graphrewrite.hdl.components.window import window
from graphrewrite.lowering.shift_add import fuse_requantise_into_adders, scalar_graph, unroll_as_adders
from graphrewrite.lowering.streaming.bridge import enter, leave
from graphrewrite.types import FixedPoint

TERNARY, SUMS = FixedPoint(True, 2), FixedPoint(True, 12)


@st.composite
def matrices(draw: st.DrawFn) -> np.ndarray:
    """Small matrices: rows of zeros, powers of two of either sign, single weights, extreme weights, any weights."""
    rows, columns = draw(st.integers(1, 6)), draw(st.integers(1, 6))
    powers = st.builds(lambda sign, shift: sign << shift, st.sampled_from([-1, 1]), st.integers(0, 10))
    weight = st.one_of(st.just(0), st.integers(-32, 31), powers, st.sampled_from([-(2**19), 2**19 - 1]))
    matrix = np.array([[draw(weight) for _ in range(columns)] for _ in range(rows)], np.int64)
    for row in range(rows):
        kind = draw(st.sampled_from(["as it is", "zeros", "single", "another's"]))
        if kind == "another's":
            matrix[row] = draw(st.sampled_from([-4, 1, 2])) * matrix[draw(st.integers(0, rows - 1))]
        elif kind != "as it is":
            matrix[row, int(kind == "single") :] = 0
    return matrix


def formats() -> st.SearchStrategy[FixedPoint]:
    """Formats of what is multiplied, of one bit and more."""
    return st.builds(FixedPoint, st.booleans(), st.integers(1, 12))


def scalar_products() -> st.SearchStrategy[Graph]:
    """A product as sums of scalars."""
    return st.builds(scalar_graph, matrices(), formats())


def _stream_product(draw: st.DrawFn) -> tuple[Graph, Value]:
    weights, element = draw(matrices()), draw(formats())
    bias = np.array(draw(st.lists(st.integers(-99, 99), min_size=len(weights), max_size=len(weights))))
    most = int(np.abs(weights).sum(axis=1).max() << element.width) + 99
    positions = draw(st.sampled_from([(), (3,), (2, 2)]))
    groups = 2 if len(weights) % 2 == 0 and draw(st.integers(0, 5)) == 0 else 1
    spread = {
        "groups": groups,
        "lanes": draw(st.sampled_from([None, None, None, 1] if groups == 1 else [None])),
        "over": "position" if positions or groups > 1 else draw(st.sampled_from(["position", "frame"])),
        "stages": draw(st.integers(1, 3)),
    }
    graph = Graph("g")
    x = graph.input("x", Tensor(element, ("N", groups * weights.shape[1], *positions)))
    return graph, matvec(enter(x), weights=weights, bias=bias, element=FixedPoint.holding(-most, most), **spread)


@st.composite
def stream_products(draw: st.DrawFn) -> Graph:
    """A product on a stream between two tensors."""
    graph, total = _stream_product(draw)
    graph.output("z", leave(total))
    return graph


@st.composite
def rounded_products(draw: st.DrawFn) -> Graph:
    """A product on a stream, rounded and limited to another format."""
    graph, total = _stream_product(draw)
    rows, element = total.type.channels, draw(formats())
    places = st.integers(-1 if draw(st.integers(0, 9)) == 0 else 0, 12)
    limits = sorted(draw(st.tuples(*[st.integers(element.minimum, element.maximum)] * 2)))
    given = {
        "shift": draw(st.one_of(places, st.lists(places, min_size=rows, max_size=rows))),
        "element": element,
        "rounding": draw(st.sampled_from(["half_even", "half_even", "half_up", "down", "to_zero"])),
        "offset": draw(st.sampled_from([0, 0, 1, -6])),
        **(dict(zip(("low", "high"), limits, strict=True)) if draw(st.booleans()) else {}),
    }
    narrow = requantise(total, stages=draw(st.integers(1, 2)), **given)
    if draw(st.integers(0, 4)) == 0:
        narrow = requantise(narrow, shift=0, element=element)
    graph.output("z", leave(narrow))
    if draw(st.integers(0, 4)) == 0:
        graph.output("sums", leave(total))
    return graph


def rounded_sums() -> st.SearchStrategy[Graph]:
    """The same after its product became a network of adders, which may round already."""
    sums = rounded_products().map(unroll_as_adders)
    return st.one_of(sums, sums, sums, sums.map(fuse_requantise_into_adders))


@st.composite
def counted_products(draw: st.DrawFn) -> Graph:
    """A product of bits, ternary numbers or signs with weights of -1, 0 and 1, perhaps under a sliding window.

    Of all channels, or of groups of them; the window keeps as many groups together, or others.
    """
    groups = draw(st.sampled_from([1, 1, 2]))
    channels, positions = groups * draw(st.integers(1, 4 // groups)), draw(st.sampled_from([(), (3,), (3, 2)]))
    element = draw(st.builds(FixedPoint, st.booleans(), st.sampled_from([1, 2, 5])))
    graph, random = Graph("g"), np.random.default_rng(draw(st.integers(0, 99)))
    x = enter(graph.input("x", Tensor(element, ("N", channels, *positions))))
    kind = draw(st.sampled_from(["signs", "signs", "levels", "limits", "as it is"]))
    if kind in ("signs", "levels"):
        if kind == "signs":
            turned = random.choice([-1, 1], channels) if draw(st.booleans()) else draw(st.sampled_from([-1, 1]))
            gains, terms = random.integers(1, 3, channels) * turned, random.integers(-6, 6, channels)
            x = affine(x, gain=2 * gains, bias=2 * terms + 1, element=FixedPoint(True, 9))
        else:
            levels = random.integers(-9, 9, (draw(st.sampled_from([1, channels])), 1)).repeat(2, axis=1)
            x = threshold(x, levels=levels, element=FixedPoint(False, 2))
        x = requantise(x, shift=0, element=TERNARY, low=-1, offset=-(kind == "levels"))
    elif kind == "limits":
        x = requantise(x, shift=0, element=TERNARY, low=-1)
    if positions and draw(st.booleans()):
        border = draw(st.sampled_from([None, (1,) * (2 * len(positions))]))
        together = draw(st.sampled_from([groups, groups, 1, channels]))
        fill = min(draw(st.sampled_from([0, 0, 1])), x.type.element.maximum)
        x = window(x, kernel=(2,) * len(positions), pads=border, fill=fill, groups=together)
    over = "frame" if groups == 1 and draw(st.integers(0, 3)) == 0 else "position"
    columns = x.type.channels * (x.type.positions if over == "frame" else 1) // groups
    weights = random.choice([-1, 1] if draw(st.booleans()) else [-1, 0, 1], (groups * draw(st.integers(1, 4)), columns))
    bias = random.integers(-9, 9, len(weights))
    graph.output("z", leave(matvec(x, weights=weights, bias=bias, element=SUMS, groups=groups, over=over)))
    return graph


@st.composite
def probabilities(draw: st.DrawFn) -> Graph:
    """Divided exponentials of the channels of a stream."""
    element, width = draw(formats()), draw(st.integers(2, 24))
    table, shift = exponentials(element, bits=draw(st.integers(1, 8)), width=draw(st.integers(1, 24)))
    shape = (draw(st.integers(1, 5)), *draw(st.sampled_from([(), (3,), (2, 2)])))
    graph = Graph("g")
    x = graph.input("x", Tensor(element, ("N", *shape)))
    form = FixedPoint(False, width, draw(st.integers(1, width)))
    graph.output("z", op.integer_softmax(leave(enter(x)), table=tuple(table.tolist()), shift=shift, element=form))
    return graph


@st.composite
def split_streams(draw: st.DrawFn) -> Graph:
    """Parts of the channels of a stream, in another order."""
    sizes = tuple(draw(st.lists(st.integers(1, 3), min_size=1, max_size=4)))
    graph = Graph("g")
    x = graph.input("x", Tensor(draw(formats()), ("N", sum(sizes), *draw(st.sampled_from([(), (2, 2)])))))
    given = leave(enter(x))
    parts = op.split(given, sizes=sizes, axis=1)
    for i, part in enumerate(draw(st.permutations(parts if len(sizes) > 1 else [parts]))):
        graph.output(f"z{i}", part)
    return graph


@st.composite
def sums_of_signs(draw: st.DrawFn) -> Graph:
    """A layer of two bits with weights that are one number and its negative, which chance seldom makes."""
    rows = draw(st.lists(st.lists(st.sampled_from((-1, 0, 1)), min_size=3, max_size=3), min_size=1, max_size=3))
    weights = np.array(rows) * draw(st.integers(1, 9))
    addends = np.array([draw(st.integers(-9, 9)) for _ in rows])
    g = Graph("generated")
    x = g.input("x", Tensor(FixedPoint(True, draw(st.integers(1, 2))), ("N", 3)))
    g.output("y", op.integer_linear(x, weights, addends, element=FixedPoint(True, 12)))
    return g
