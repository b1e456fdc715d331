"""Rebuild a stream graph with other lanes."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from graphrewrite import Graph
from graphrewrite.errors import TypeMismatchError
from graphrewrite.graph import Value
from graphrewrite.graph.rewiring import inherit
from graphrewrite.hdl.component import streams
from graphrewrite.hdl.components.refold import refold
from graphrewrite.hierarchy.blocks import Use
from graphrewrite.lowering.folding.matrix_foldings import Folding
from graphrewrite.types import Stream

__all__ = ["LAYERS", "Choose", "refold_graph"]

Choose = Callable[[str, Stream, Mapping[str, Any]], Folding]
"""Takes the name of a layer, the stream that reaches it, and its attributes; returns its folding."""

LAYERS = frozenset({"matvec", "popcount"})
"""Matrix products, which are folded."""
_BLOCKED = frozenset({"stream_maximum", "stream_sum"})
"""Components that process the windows of one group of channels after the other."""


def refold_graph(graph: Graph, choose: Choose, inputs: Mapping[str, int], uses: Mapping[str, Use]) -> Graph:
    """Return a stream graph with a folding for each layer, and the lanes everywhere that follow from them.

    Between two layers everything works on the lanes of the first. Where lanes do not fit, beats are refolded.
    ``inputs`` gives the lanes of inputs that do not have all channels side by side. Nodes of the same use of
    a nested graph take streams of the same lanes, the fewest that come to any of them: so they may become one entity.
    """
    rebuilding = _Rebuilding(graph, choose, uses, {})
    rebuilt = rebuilding.run(inputs)
    lanes = {place: min(found) for place, found in rebuilding.found.items() if len(found) > 1}
    return _Rebuilding(graph, choose, uses, lanes).run(inputs) if lanes else rebuilt


class _Rebuilding:
    def __init__(
        self, graph: Graph, choose: Choose, uses: Mapping[str, Use], lanes: Mapping[tuple[Use, int], int]
    ) -> None:
        self.old, self.choose, self.uses, self.lanes = graph, choose, uses, lanes
        self.found: dict[tuple[Use, int], set[int]] = {}
        """Lanes of the streams that come to nodes of nested graphs, by node and slot."""
        self.new = Graph(graph.name, ops=graph.ops.values())
        self.new.graph.update(graph.graph)
        self.values: dict[tuple[str, int], Value] = {}
        self.refolded: dict[tuple[str, int, int], Value] = {}
        self.blocks: dict[str, int] = {}
        """Windows that give one group of channels after the other, with the number of groups."""

    def run(self, inputs: Mapping[str, int]) -> Graph:
        for node in self.old.in_order():
            kind = self.old.nodes[node]["type"]
            if kind == "input":
                stream = _stream(self.old.value(node))
                self.values[node, 0] = self.new.input(node, stream.with_lanes(inputs.get(node, stream.lanes)))
            elif kind == "output":
                (source,) = self.old.operands(node)
                self.new.output(node, self.values[source.node, source.result])
            else:
                self._add(node, kind)
            inherit(self.new, node, node, of=self.old)
        return self.new

    def _add(self, node: str, kind: str) -> None:
        operands = [self.values[o.node, o.result] for o in self.old.operands(node)]
        if (use := self.uses.get(node)) is not None:
            for slot, operand in enumerate(operands):
                self.found.setdefault((use, slot), set()).add(_stream(operand).lanes)
                operands[slot] = self._with_lanes(operand, self.lanes.get((use, slot), _stream(operand).lanes))
        attributes = {k: v for k, v in self.old.attributes(node).items() if k in self.old.nodes[node]}
        if kind in LAYERS:
            operands, attributes = self._layer(node, operands[0], attributes)
        elif kind == "window":
            operands, attributes = self._window(node, operands[0], attributes)
        elif kind in _BLOCKED and (blocks := self._blocks(node)) > 1:
            attributes["blocks"] = blocks
        elif len(operands) == 2:
            operands = self._with_equal_folds(operands)
        try:
            value = self._added(node, operands, attributes)
        except TypeMismatchError:
            # A component that takes all channels at once.
            value = self._added(node, [self._with_lanes(v, _stream(v).channels) for v in operands], attributes)
        results = value if isinstance(value, tuple) else (value,)
        self.values.update({(node, i): value for i, value in enumerate(results)})

    def _added(self, node: str, operands: list[Value], attributes: Mapping[str, Any]) -> Value | tuple[Value, ...]:
        origin = self.old.nodes[node].get("origin", ())
        results: Value | tuple[Value, ...] = self.new.add(
            self.old.op(node), operands, attributes, name=node, origin=origin
        )
        return results

    def _blocks(self, node: str) -> int:
        return self.blocks.get(self.old.operands(node)[0].node, 1)

    def _layer(self, node: str, x: Value, attributes: dict[str, Any]) -> tuple[list[Value], dict[str, Any]]:
        blocks = self._blocks(node)
        if blocks > 1:
            matrix = np.asarray(attributes["weights"])
            outputs, columns = matrix.shape
            taps = columns // _stream(self.old.value(self._image(node))).channels
            # Columns are numbered tap by tap; they come block by block.
            grouped = matrix.reshape(outputs, taps, blocks, -1)
            attributes["weights"] = grouped.transpose(0, 2, 1, 3).reshape(outputs, columns)
        folding = self.choose(node, _stream(x), attributes)
        attributes["lanes"] = folding.lanes_out
        return [self._with_lanes(x, folding.lanes_in)], attributes

    def _image(self, node: str) -> str:
        """The source of the window before a layer."""
        (window,) = self.old.operands(node)
        (image,) = self.old.operands(window.node)
        return image.node

    def _window(self, node: str, x: Value, attributes: dict[str, Any]) -> tuple[list[Value], dict[str, Any]]:
        groups, image = attributes.get("groups", 1), _stream(x)
        of_group = image.channels // groups
        if groups == 1 and image.folds > 1:
            # Channels that come block by block stay so, if all that reads the window can work on blocks.
            if all(self._takes_blocks(reader.node) for reader in self.old.readers(node)):
                self.blocks[node] = attributes["groups"] = image.folds
            else:
                x = self._with_lanes(x, image.channels)
        elif image.lanes % of_group:
            fits = [n for n in range(of_group, image.channels + 1, of_group) if image.channels % n == 0]
            x = self._with_lanes(x, next((n for n in fits if n % image.lanes == 0), image.channels))
        return [x], attributes

    def _takes_blocks(self, node: str) -> bool:
        kind = self.old.nodes[node]["type"]
        return kind in _BLOCKED or (kind in LAYERS and self.old.attributes(node).get("groups", 1) == 1)

    def _with_equal_folds(self, operands: list[Value]) -> list[Value]:
        """Operands with equal folds: those of the operand with more, or a number that suits both."""
        folds = math.lcm(*(_stream(v).folds for v in operands))
        if any(_stream(v).channels % folds for v in operands):
            folds = 1
        return [self._with_lanes(v, _stream(v).channels // folds) for v in operands]

    def _with_lanes(self, x: Value, lanes: int) -> Value:
        """The same stream with another number of lanes, by way of a common divisor if neither divides the other."""
        present = _stream(x).lanes
        path = [lanes] if max(present, lanes) % min(present, lanes) == 0 else [math.gcd(present, lanes), lanes]
        for step in path if present != lanes else []:
            key = x.node, x.result, step
            if key not in self.refolded:  # readers that want the same share it
                refolded = self.new.add(refold, [x], {"lanes": step}, origin=self.new.origin(x.node))
                assert isinstance(refolded, Value)  # it has one result
                self.refolded[key] = refolded
            x = self.refolded[key]
        return x


def _stream(value: Value) -> Stream:
    (stream,) = streams(value.type)
    return stream
