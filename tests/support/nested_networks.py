"""Random networks of nested graphs: blocks that are used several times, of pieces and of smaller blocks."""

from __future__ import annotations

import numpy as np
from hypothesis import strategies as st

from graphrewrite import Graph, Module, Tensor, op
from graphrewrite.graph import Value
from tests.support.random_networks import PIECES, Network, convolution, head, numbers

__all__ = ["nested_networks", "residual_module"]


@st.composite
def nested_networks(draw: st.DrawFn) -> Network:
    """A stem, one to three uses of a block, perhaps with a block in it or a way around it, and a head."""
    random = np.random.default_rng(draw(st.integers(0, 2**32)))
    channels = draw(st.integers(1, 3))
    shape = (channels, 3, draw(st.integers(2, 3)))
    module = Module("nested")
    block(draw, random, module, "block", shape, inner=draw(st.booleans()), gives_two=draw(st.booleans()))
    main = module.add_graph("main")
    value = main.input("x", Tensor("f64", ("N", *shape)))
    if draw(st.booleans()):
        value = convolution(draw, random, value, keeps=True)
    for _ in range(draw(st.integers(1, 3))):
        made = module.op("block")(value, numbers(random, channels, channels, 1, 1))
        made = made if isinstance(made, Value) else op.add(*made)
        value = op.add(made, value) if draw(st.booleans()) else made
    if draw(st.booleans()):
        block(draw, random, module, "ending", shape, inner=False, keeps=False)
        value = module.op("ending")(value, numbers(random, channels, channels, 1, 1))
    main.output("y", head(draw, random, value))
    return Network(main, random.normal(size=(6, *shape)))


def block(
    draw: st.DrawFn,
    random: np.random.Generator,
    module: Module,
    name: str,
    shape: tuple[int, ...],
    *,
    inner: bool,
    keeps: bool = True,
    gives_two: bool = False,
) -> None:
    """Add a graph of some pieces whose first weights are an input; one that keeps the shape, or gives two values."""
    graph = Graph()
    first = graph.input("x", Tensor("f64", ("N", *shape)))
    weights = graph.input("w", Tensor("f64", (shape[0], shape[0], 1, 1)))
    value = op.conv(first, weights, numbers(random, shape[0]))
    if inner:
        block(draw, random, module, "small", shape, inner=False)
        for _ in range(draw(st.integers(1, 2))):
            value = module.op("small")(value, weights)
    if keeps:
        value = op.relu(convolution(draw, random, value, keeps=True)) if draw(st.booleans()) else value
        value = op.add(value, first) if draw(st.booleans()) else op.relu(value)
    else:
        value = draw(st.sampled_from(PIECES))(draw, random, value)
    graph.output("y", value)
    if gives_two:
        graph.output("z", op.relu(first))
    module[name] = graph


def residual_module(uses: int = 3, features: int = 4, *, head: bool = True) -> tuple[Module, np.ndarray]:
    """A residual block with weights of its own at each use, and others that all uses share; with samples."""
    random = np.random.default_rng(0)

    def weights(*sizes: int) -> np.ndarray:
        return random.normal(scale=0.5, size=sizes).astype(np.float32)

    module = Module("net")
    inside = module.add_graph("block")
    x = inside.input("x", Tensor("f32", ("N", features)))
    w = inside.input("w", Tensor("f32", (features, features)))
    hidden = op.relu(op.linear(x, w, weights(features)))
    inside.output("y", op.relu(op.add(op.linear(hidden, weights(features, features), weights(features)), x)))
    main = module.add_graph("main")
    value = main.input("x", Tensor("f32", ("N", features)))
    for _ in range(uses):
        value = module.op("block")(value, weights(features, features))
    main.output("y", op.linear(value, weights(3, features), weights(3)) if head else value)
    return module, random.normal(size=(40, features)).astype(np.float32)
