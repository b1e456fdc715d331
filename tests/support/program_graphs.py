"""Random graphs of the integer level, and what their ops' functions give, node by node."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from hypothesis import strategies as st

from graphrewrite import FixedPoint, Graph, Tensor, op
from graphrewrite.errors import TypeMismatchError
from graphrewrite.execution.program.call import Call, Values
from graphrewrite.graph import Value
from graphrewrite.op.nn.convolution import spatial_sizes


def by_functions(graph: Graph, inputs: dict[str, np.ndarray], nodes: list[str]) -> dict[str, np.ndarray]:
    """What evaluation means: each node by its op's function, on the whole batch."""
    values: Values = {name: (array,) for name, array in inputs.items()}
    for node in graph.in_order():
        if node not in values:
            Call.of(graph, node).run(values)
    return {node: values[node][0] for node in nodes}


def same_but_format(a: Tensor, b: Tensor) -> bool:
    return a.shape == b.shape and isinstance(a.element, FixedPoint)


@dataclass
class Builder:
    """Adds random nodes to a graph; sizes and kinds are drawn, weights come from a seeded generator."""

    draw: st.DrawFn
    graph: Graph
    random: np.random.Generator

    def whole(self, low: int, high: int) -> int:
        return self.draw(st.integers(low, high))

    def pick(self, *choices: object) -> object:
        return self.draw(st.sampled_from(choices))

    def element(self) -> FixedPoint:
        return FixedPoint(self.draw(st.booleans()), self.whole(4, 16), self.whole(0, 6))

    def weights(self, shape: tuple[int, ...], x: Value) -> tuple[np.ndarray, np.ndarray, FixedPoint]:
        bits = self.pick(2, 4, 8, 8, 12, 16, 24)
        w = self.random.integers(-(1 << (bits - 1)), 1 << (bits - 1), shape)
        b = self.random.integers(-1000, 1001, shape[0]) * self.whole(0, 1)
        kind = x.type.element
        rows = w.reshape(len(w), -1)
        bound = max(-kind.minimum, kind.maximum)
        most = int((np.abs(rows).sum(axis=1) * bound + np.abs(b)).max())
        return w, b, FixedPoint.holding(-most, most, kind.fraction)

    def conv(self, x: Value) -> Value | None:
        channels, *sizes = x.type.shape[1:]
        if not sizes:
            return None
        rank = len(sizes)
        groups = self.pick(*(g for g in (1, 2, 3) if channels % g == 0))
        kernel = tuple(self.whole(1, 3) for _ in sizes)
        strides, dilations = (tuple(self.whole(1, 2) for _ in sizes) for _ in range(2))
        pads = tuple(self.whole(0, 2) for _ in range(2 * rank))
        try:
            spatial_sizes(sizes, kernel, strides, pads, dilations)
        except TypeMismatchError:
            return None
        w, b, element = self.weights((groups * self.whole(1, 3), channels // groups, *kernel), x)
        attributes = {"strides": strides, "pads": pads, "dilations": dilations, "groups": groups}
        return op.integer_conv(x, w, b, element=element, **attributes)

    def linear(self, x: Value) -> Value | None:
        if len(x.type.shape) != 2:
            return None
        w, b, element = self.weights((self.whole(1, 6), x.type.shape[1]), x)
        return op.integer_linear(x, w, b, element=element)

    def requantise(self, x: Value) -> Value:
        if self.draw(st.booleans()):
            shift = self.whole(-3, 12)
        else:
            shift = tuple(self.whole(-3, 12) for _ in range(x.type.shape[1]))
        element = self.element()
        limits = sorted(self.whole(element.minimum, element.maximum) for _ in range(2))
        low, high = (limit if self.draw(st.booleans()) else None for limit in limits)
        return op.requantise(x, shift=shift, element=element, low=low, high=high)

    def max_pool(self, x: Value) -> Value | None:
        sizes = x.type.shape[2:]
        if not sizes:
            return None
        kernel = tuple(self.whole(1, 3) for _ in sizes)
        pads = tuple(self.whole(0, k - 1) for k in (*kernel, *kernel))
        try:
            return op.max_pool(x, kernel=kernel, strides=tuple(self.whole(1, 3) for _ in sizes), pads=pads)
        except TypeMismatchError:
            return None

    def add(self, x: Value) -> Value | None:
        others = [n for n in self.graph if isinstance(self.graph.nodes[n].get("result"), Tensor)]
        others = [n for n in others if same_but_format(self.graph.result_type(n), x.type)]
        y = self.graph.value(self.draw(st.sampled_from(others)))
        shifts = (self.whole(0, 5), self.whole(0, 5))
        terms = [(v.type.element, s) for v, s in zip((x, y), shifts, strict=True)]
        low, high = (sum(getattr(e, end) << s for e, s in terms) for end in ("minimum", "maximum"))
        if FixedPoint.holding(low, high).width > 48:
            return None
        return op.integer_add(x, y, element=FixedPoint.holding(low, high, terms[0][0].fraction), shifts=shifts)

    def clip(self, x: Value) -> Value:
        element = x.type.element
        low, high = sorted(self.whole(element.minimum, element.maximum) for _ in range(2))
        return op.clip(x, low=low if self.draw(st.booleans()) else None, high=high)

    def move(self, x: Value) -> Value:
        sizes = x.type.shape[1:]
        what = self.whole(0, 4)
        if what == 0:
            return op.flatten(x)
        if what == 1 and len(sizes) == 1:
            return op.reshape(x, shape=("N", 1, sizes[0]))
        if what == 2 and len(sizes) > 1:
            return op.reshape(x, shape=(0, -1, sizes[0]))
        if what == 3:
            return op.transpose(x, perm=(0, *self.draw(st.permutations(range(1, 1 + len(sizes))))))
        return op.identity(x)

    def arg_max(self, x: Value) -> Value | None:
        axis = self.whole(1, len(x.type.shape) - 1)
        keep = self.draw(st.booleans()) or len(x.type.shape) == 2
        return op.arg_max(x, axis=axis, keep_dims=keep)


@st.composite
def integer_graphs(draw: st.DrawFn) -> Graph:
    """Graphs with one or two inputs, mantissas or real numbers, and some nodes whose values are wanted as well."""
    graph = Graph("random")
    build = Builder(draw, graph, np.random.default_rng(draw(st.integers(0, 2**32 - 1))))
    sizes = draw(st.lists(st.integers(1, 6), min_size=0, max_size=3))
    channels = draw(st.integers(1, 4))
    real = draw(st.sampled_from((None, "f32", "f64")))
    if real is None:
        x = graph.input("x", Tensor(build.element(), ("N", channels, *sizes)))
    else:
        x = op.to_fixed(graph.input("x", Tensor(real, ("N", channels, *sizes))), element=build.element())
    kinds = [build.requantise, build.conv, build.linear, build.max_pool, build.add, build.clip, build.move, op.relu]
    for make in draw(st.lists(st.sampled_from([*kinds, build.conv, build.linear]), min_size=1, max_size=8)):
        if x.type.element.width > 30 and make in (build.conv, build.linear):
            make = build.requantise
        y = make(x)
        x = x if y is None else y
    if draw(st.booleans()):
        x = build.arg_max(x)
    if draw(st.booleans()):
        x = op.from_fixed(x, fraction=x.type.element.fraction, element=draw(st.sampled_from(("f32", "f64"))))
    graph.output("y", x)
    return graph


def inputs_of(graph: Graph, batch: int, seed: int) -> dict[str, np.ndarray]:
    """Numbers of the whole range, its ends often among them."""
    random = np.random.default_rng(seed)
    kind = graph.result_type("x")
    shape = (batch, *kind.shape[1:])
    if not isinstance(kind.element, FixedPoint):
        values = random.normal(size=shape) * 10.0 ** random.integers(-3, 5)
        values[random.random(shape) < 0.1] = np.inf
        return {"x": values.astype(kind.element.replace("f", "float"))}
    values = random.integers(kind.element.minimum, kind.element.maximum, shape, endpoint=True)
    values[random.random(shape) < 0.2] = kind.element.maximum
    values[random.random(shape) < 0.2] = kind.element.minimum
    return {"x": values.astype(kind.element.dtype)}
