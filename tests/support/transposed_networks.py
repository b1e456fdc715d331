"""Small networks whose axes are in another order than hardware has them."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from hypothesis import strategies as st

from graphrewrite import Graph, Tensor, op
from graphrewrite.graph import Value


@st.composite
def stored_positions(draw: st.DrawFn) -> Graph:
    """A matrix of stored numbers times the vector at each position."""
    sizes = draw(st.lists(st.integers(1, 3), min_size=2, max_size=3))
    random = np.random.default_rng(draw(st.integers(0, 1 << 16)))
    outputs = draw(st.integers(1, 3))
    each = draw(st.sampled_from([(), (outputs,)]))
    g = Graph("positions")
    x = g.input("x", Tensor("u8", ("N", *sizes)))
    w = random.integers(-128, 128, (sizes[-1], outputs)).astype(np.int8)
    scales = random.uniform(0.01, 0.1, each).astype(np.float32), random.integers(-3, 4, each).astype(np.int8)
    ends = np.float32(0.1), np.uint8(random.integers(256))
    g.output("y", op.qlinear_matmul(x, *ends, w, *scales, np.float32(0.2), np.uint8(random.integers(256))))
    return g


@st.composite
def tables_of_channels(draw: st.DrawFn) -> Graph:
    """Channels as a table, which is transposed and written in a row again."""
    batch, rows, columns, *positions = draw(st.lists(st.integers(1, 3), min_size=3, max_size=5))
    shape = (batch, rows * columns, *positions)
    g = Graph("table")
    table = op.reshape(g.input("x", Tensor("f32", shape)), shape=(batch, rows, columns, *positions))
    g.output("y", op.reshape(op.transpose(table, perm=(0, 2, 1, *range(3, len(table.shape)))), shape=shape))
    return g


@st.composite
def transposed_operands(draw: st.DrawFn) -> Graph:
    """An elementwise op of a transpose and of a value that a reshape, which may be a transpose, gave its shape."""
    graph = Graph("transposed")
    shape = tuple(draw(st.lists(st.integers(1, 3), min_size=2, max_size=4)))
    perm = tuple(draw(st.permutations(range(len(shape)))))
    turned = tuple(shape[p] for p in perm)
    x = graph.input("x", Tensor("f32", shape))
    y = graph.input("y", Tensor("f32", shape if draw(st.booleans()) else tuple(draw(st.permutations(turned)))))
    # A softmax is not the host's: what the host computes is transposed there.
    operands = [op.transpose(op.softmax(x), perm=perm), op.reshape(op.softmax(y), shape=turned)]
    graph.output("z", draw(st.sampled_from([op.add, op.sub, op.mul]))(*draw(st.permutations(operands))))
    return graph


def channels_last(build: Callable[[Value], Value], *shape: int) -> Graph:
    """A network whose input and output have the channels last, as Keras has them."""
    g = Graph("last")
    g.output("y", build(g.input("x", Tensor("f32", ("N", *shape)))))
    return g


_FORMS: tuple[Callable[..., Value], ...] = (
    op.relu,
    lambda x: op.clip(x, low=-1, high=2),
    lambda x: op.cast(op.cast(x, element="f64"), element="f32"),
    lambda x: op.add(x, np.arange(x.shape[-1], dtype=np.float32)),
    lambda x: op.mul(np.float32(0.5), x),
    lambda x: op.sub(np.ones(x.shape[-2:], np.float32), x),
    lambda x: op.pad(x, pads=(0, 1, *[0] * (2 * len(x.shape) - 3), 1)),
    lambda x: op.slice(x, starts=(0,), ends=(x.shape[-1],), axes=(-1,)),
    lambda x: op.maximum(op.reduce_max(x, axes=(-1,)), x),
    lambda x: op.concat(x, x, axis=1),
    lambda x: op.cum_sum(x, axis=-2),
    lambda x: op.sub(*reversed(op.split(op.concat(x, x, axis=2), sizes=(x.shape[2],) * 2, axis=2))),
    lambda x: op.softmax(x, axis=1),
    lambda x: op.sub(x, op.reduce_mean(x, axes=(1,))),
    lambda x: op.max_pool(x, kernel=(1,) * (len(x.shape) - 2)),
)
"""Ops that may come before a transpose, and one that may not."""


@st.composite
def between_transposes(draw: st.DrawFn) -> Graph:
    """Return networks with many transposes by a few permutations, that meet or do not."""
    rank = draw(st.sampled_from([3, 4]))
    perms = [(0, *range(2, rank), 1), (0, rank - 1, *range(1, rank - 1)), (0, *range(rank - 1, 0, -1))]
    graph = Graph("between")
    sizes = draw(st.sampled_from([(2, 2, 2), (2, 3, 4), (1, 1, 3), (3, 1, 1)]))
    values = [graph.input("x", Tensor("f32", ("N", *sizes[: rank - 1])))]
    for _ in range(draw(st.integers(3, 14))):
        x = draw(st.sampled_from(values[-4:]))
        alike = [v for v in values if v.shape == x.shape]
        match draw(st.sampled_from(["transpose", "transpose", "form", "form", "two"])):
            case "transpose":
                values.append(op.transpose(x, perm=draw(st.sampled_from(perms))))
            case "form":
                values.append(draw(st.sampled_from(_FORMS))(x))
            case _:
                binary = draw(st.sampled_from([op.add, op.mul, op.maximum, lambda a, b: op.concat(a, b, axis=2)]))
                values.append(binary(x, draw(st.sampled_from(alike))))
    graph.output("y", values[-1])
    if draw(st.booleans()):
        graph.output("z", draw(st.sampled_from(values)))
    return graph
