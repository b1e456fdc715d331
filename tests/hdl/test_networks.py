"""Random networks of components, end to end: values and cycles equal GHDL, with stalls on both sides."""

from __future__ import annotations

import numpy as np
import pytest

from graphrewrite.graph import Graph, Value
from graphrewrite.hdl import cosimulate, emit
from graphrewrite.hdl.buffering import insert_fifos, insert_forks
from graphrewrite.hdl.components.add import add
from graphrewrite.hdl.components.argmax import argmax
from graphrewrite.hdl.components.clip import clip
from graphrewrite.hdl.components.matvec import matvec
from graphrewrite.hdl.components.maximum import maximum
from graphrewrite.hdl.components.requantise import requantise
from graphrewrite.hdl.components.reshape import reshape
from graphrewrite.hdl.components.window import window
from graphrewrite.types import FixedPoint, Stream


class RandomNetwork:
    """Grows a stream graph: every op reads a value that is there already, often one that is read elsewhere too."""

    def __init__(self, seed: int) -> None:
        self.random = np.random.default_rng(seed)
        self.graph = Graph(f"random_{seed}")
        self.values: list[Value] = []
        for i in range(self.random.integers(1, 3)):
            element = FixedPoint(bool(self.random.integers(2)), int(self.random.integers(1, 9)))
            shape = (int(self.random.integers(1, 4)), int(self.random.integers(1, 6)), int(self.random.integers(1, 6)))
            self.values.append(self.graph.input(f"x{i}", Stream(element, shape)))

    def pick(self) -> Value:
        return self.values[self.random.integers(len(self.values))]

    def grow(self, steps: int) -> None:
        kinds = [self.window, self.matvec, self.maximum, self.requantise, self.clip, self.add, self.add, self.reshape]
        for _ in range(steps):
            value = self.narrow(kinds[self.random.integers(len(kinds))](self.pick()))
            self.values.append(value)

    def narrow(self, value: Value) -> Value:
        element, shape = value.type.element, value.type.shape
        if element.width > 10:
            shifts = self.random.integers(0, element.width - 4, shape[0])
            shift = tuple(shifts.tolist()) if self.random.integers(2) else int(shifts[0])
            value = requantise(value, shift=shift, element=FixedPoint(bool(self.random.integers(2)), 6))
        return value

    def window(self, x: Value) -> Value:
        if len(x.type.shape) != 3 or x.type.lanes > 8:
            return x
        _, height, width = x.type.shape
        pads = tuple(int(p) for p in self.random.integers(0, 2, 4))
        kernel = tuple(
            int(self.random.integers(a + 1, max(a + 1, min(3, size + a + b)) + 1))
            for size, a, b in ((height, pads[0], pads[2]), (width, pads[1], pads[3]))
        )
        strides = tuple(int(s) for s in self.random.integers(1, 3, 2))
        return window(x, kernel=kernel, strides=strides, pads=pads, fill=x.type.element.minimum)

    def matvec(self, x: Value) -> Value:
        outputs, inputs = int(self.random.integers(1, 5)), x.type.lanes
        weights = self.random.integers(-8, 8, (outputs, inputs))
        bias = self.random.integers(-20, 20, outputs)
        pe = self.random.choice([d for d in range(1, outputs + 1) if outputs % d == 0])
        simd = self.random.choice([d for d in range(1, inputs + 1) if inputs % d == 0])
        return matvec(x, weights=weights, bias=bias, element=FixedPoint(True, 24), pe=int(pe), simd=int(simd))

    def maximum(self, x: Value) -> Value:
        groups = self.random.choice([d for d in range(1, x.type.lanes + 1) if x.type.lanes % d == 0])
        return maximum(x, groups=int(groups))

    def requantise(self, x: Value) -> Value:
        return requantise(x, shift=int(self.random.integers(-2, 4)), element=FixedPoint(True, 7))

    def clip(self, x: Value) -> Value:
        element = x.type.element
        low, high = sorted(int(v) for v in self.random.integers(element.minimum, element.maximum + 1, 2))
        return clip(x, low=low, high=high)

    def add(self, x: Value) -> Value:
        partners = [v for v in self.values if v.type.shape == x.type.shape]
        other = partners[self.random.integers(len(partners))]
        shifts = tuple(int(s) for s in self.random.integers(0, 3, 2))
        return add(x, other, shifts=shifts, element=FixedPoint(True, 16))

    def reshape(self, x: Value) -> Value:
        total = x.type.lanes * x.type.beats
        if total > 120:
            return x
        lanes = int(self.random.choice([d for d in range(1, total + 1) if total % d == 0]))
        return reshape(x, shape=(lanes, total // lanes, 1))

    def finish(self) -> Graph:
        unread = [v for v in self.values if not self.graph.succ[v.node]]
        for i, value in enumerate(unread):
            if i == 0 and value.type.lanes > 1:
                value = argmax(value, element=FixedPoint(False, 7))
            self.graph.output(f"y{i}", value)
        return insert_fifos(insert_forks(self.graph))


def network(seed: int) -> Graph:
    found = RandomNetwork(seed)
    found.grow(4 + seed % 7)
    return found.finish()


@pytest.mark.ghdl
@pytest.mark.parametrize("seed", range(20))
def test_values_and_cycles_equal_ghdl(seed: int) -> None:
    graph = network(seed)
    report = cosimulate(emit(graph, frames=5, seed=seed))
    assert report.equal, f"{report}\n{graph}"


def test_the_networks_have_branches_joins_and_shared_values() -> None:
    kinds = [[data["type"] for _, data in network(seed).nodes(data=True)] for seed in range(20)]
    assert sum("fork" in found for found in kinds) >= 10
    assert sum("stream_add" in found for found in kinds) >= 10
    assert sum("fifo" in found for found in kinds) >= 5
    assert sum(found.count("output") > 1 for found in kinds) >= 5
