"""A program over memory, executed in one block: what is free is poison, and so is what nothing has written."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import nullcontext, suppress
from typing import Any

import numpy as np

from graphrewrite import Graph
from graphrewrite.errors import EvaluationError
from graphrewrite.execution.program.call import Call
from graphrewrite.graph import Operand
from graphrewrite.graph.regions import Regions, writes_of
from graphrewrite.memory import MemoryPlan
from graphrewrite.types import element_dtype

POISON = 0xA5


class Arena:
    """The memory of a program: one block, and what the caller has."""

    def __init__(self, graph: Graph, plan: MemoryPlan, inputs: Mapping[str, np.ndarray]) -> None:
        self.graph, self.plan, self.regions = graph, plan, Regions(graph)
        self.block = np.full(plan.size, POISON, np.uint8)
        self.own: dict[str, np.ndarray] = {}
        for node, data in graph.nodes(data=True):
            if data["type"] == "input":
                array = np.array(inputs[node], element_dtype(data["result"].element))
            elif data["type"] == "constant":
                array = np.array(data["value"], element_dtype(data["result"].element))
            elif node in plan.outputs:
                kind = data["result"]
                array = np.empty(kind.shape, element_dtype(kind.element))
                array.reshape(-1).view(np.uint8)[:] = POISON
            else:
                continue
            self.own[node] = array.reshape(-1)

    def array(self, value: Operand) -> np.ndarray:
        """The entries of a value where they lie."""
        where, kind = self.regions.locations[value], self.graph.result_type(*value)
        dtype = element_dtype(kind.element)
        if where.root.node in self.own:
            return self.own[where.root.node][where.offset : where.end].reshape(kind.shape)
        room = self.plan.rooms[where.root.node]
        start = room.offset + where.offset * dtype.itemsize
        return self.block[start : start + where.size * dtype.itemsize].view(dtype).reshape(kind.shape)

    def run(self) -> dict[str, np.ndarray]:
        """Execute all instructions; return the outputs."""
        free, dead = self.plan.last_uses(), self.graph.dead_nodes()
        for node in self.plan.order:
            with suppress(EvaluationError) if node in dead else nullcontext():  # inputs need not suit what nobody reads
                self.execute(node)
            for name in free.get(node, ()):
                room = self.plan.rooms[name]
                self.block[room.offset : room.offset + room.size] = POISON
        return {name: np.array(self.array(self.graph.operands(name)[0])) for name in self.graph.outputs}

    def execute(self, node: str) -> None:
        data, operands = self.graph.nodes[node], self.graph.operands(node)
        outs = [self.array(each) for each in operands[: writes_of(self.graph, node)]]
        arrays = [np.array(self.array(each)) for each in operands[len(outs) :]]
        if data["type"] in ("copy", "insert", "extract"):
            starts = data.get("starts", (0,) * outs[0].ndim)
            small = arrays[0] if data["type"] == "insert" else outs[0]
            box = tuple(slice(a, a + n) for a, n in zip(starts, small.shape, strict=True))
            if data["type"] == "insert":
                outs[0][box] = arrays[0]
            else:
                outs[0][...] = arrays[0][box]
            return
        call = Call.of(self.graph, node)
        values: dict[str, Any] = {}
        for operand, array in zip(operands[len(outs) :], arrays, strict=True):
            held = list(values.get(operand.node, ()))
            held += [None] * (operand.result + 1 - len(held))
            held[operand.result] = array
            values[operand.node] = tuple(held)
        with np.errstate(all="ignore"):
            call.run(values)
        for out, result in zip(outs, values[node], strict=True):
            out[...] = result
