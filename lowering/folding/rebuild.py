"""Build a stream graph anew, with other lanes."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from graphrewrite import Graph
from graphrewrite.errors import TypeMismatchError
from graphrewrite.graph import Value
from graphrewrite.hdl.component import streams
from graphrewrite.hdl.components.refold import refold
from graphrewrite.lowering.folding.options import Folding
from graphrewrite.types import Stream

__all__ = ["LAYERS", "Choose", "refold_graph"]

Choose = Callable[[str, Stream, Mapping[str, Any]], Folding]
"""Takes the name of a layer, the stream that reaches it, and its attributes; returns its folding."""

LAYERS = frozenset({"matvec", "popcount"})
"""Matrix products, which are folded."""
_BLOCKED = frozenset({"stream_maximum", "stream_sum"})
"""Components that take the windows of one group of channels after the other."""


def refold_graph(graph: Graph, choose: Choose, inputs: Mapping[str, int]) -> Graph:
    """Return a stream graph with a folding for each layer, and as many lanes everywhere as these give.

    Between two layers everything works on the lanes that the first gives. Where lanes do not fit, beats are made
    narrower or wider.

    Parameters
    ----------
    graph : Graph
        Level ``stream``, all channels side by side.
    choose : callable
        Gives the folding of each matrix product, in topological order.
    inputs : mapping of str to int
        Lanes of inputs that do not have all channels side by side.

    Returns
    -------
    Graph
    """
    return _Rebuilding(graph, choose).run(inputs)


class _Rebuilding:
    def __init__(self, graph: Graph, choose: Choose) -> None:
        self.old, self.choose = graph, choose
        self.new = Graph(graph.name, ops=graph.ops.values())
        self.new.graph.update(graph.graph)
        self.values: dict[tuple[str, int], Value] = {}
        self.blocks: dict[str, int] = {}
        """Windows that give one group of channels after the other, and how many groups there are."""

    def run(self, inputs: Mapping[str, int]) -> Graph:
        for node in self.old.in_order():
            kind = self.old.nodes[node]["type"]
            if kind == "input":
                given = _stream(self.old.value(node))
                self.values[node, 0] = self.new.input(node, given.with_lanes(inputs.get(node, given.lanes)))
            elif kind == "output":
                (source,) = self.old.operands(node)
                self.new.output(node, self.values[source.node, source.result])
            else:
                self._add(node, kind)
        return self.new

    def _add(self, node: str, kind: str) -> None:
        operands = [self.values[o.node, o.result] for o in self.old.operands(node)]
        attributes = {k: v for k, v in self.old.attributes(node).items() if k in self.old.nodes[node]}
        if kind in LAYERS:
            operands, attributes = self._layer(node, operands[0], attributes)
        elif kind == "window":
            operands, attributes = self._window(node, operands[0], attributes)
        elif kind in _BLOCKED and (blocks := self._blocks(node)) > 1:
            attributes["blocks"] = blocks
        elif len(operands) == 2:
            operands = self._alike(operands)
        try:
            made = self._made(node, operands, attributes)
        except TypeMismatchError:
            # A component that takes all channels at once.
            made = self._made(node, [self._with_lanes(v, _stream(v).channels) for v in operands], attributes)
        results = made if isinstance(made, tuple) else (made,)
        self.values.update({(node, i): value for i, value in enumerate(results)})

    def _made(self, node: str, operands: list[Value], attributes: Mapping[str, Any]) -> Value | tuple[Value, ...]:
        origin = self.old.nodes[node].get("origin", ())
        made: Value | tuple[Value, ...] = self.new.add(
            self.old.op(node), operands, attributes, name=node, origin=origin
        )
        return made

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
        """What the window before a layer slides over."""
        (window,) = self.old.operands(node)
        (image,) = self.old.operands(window.node)
        return image.node

    def _window(self, node: str, x: Value, attributes: dict[str, Any]) -> tuple[list[Value], dict[str, Any]]:
        groups, image = attributes.get("groups", 1), _stream(x)
        of_group = image.channels // groups
        if groups == 1 and image.folds > 1:
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

    def _alike(self, operands: list[Value]) -> list[Value]:
        """Operands with equal folds: as many as the one that has more of them, or a number that suits both."""
        folds = math.lcm(*(_stream(v).folds for v in operands))
        if any(_stream(v).channels % folds for v in operands):
            folds = 1
        return [self._with_lanes(v, _stream(v).channels // folds) for v in operands]

    def _with_lanes(self, x: Value, lanes: int) -> Value:
        """The same stream with another number of lanes, by way of a common divisor where need be."""
        given = _stream(x).lanes
        ways = [lanes] if max(given, lanes) % min(given, lanes) == 0 else [math.gcd(given, lanes), lanes]
        for step in ways if given != lanes else []:
            made = self.new.add(refold, [x], {"lanes": step}, origin=self.new.origin(x.node))
            assert isinstance(made, Value)  # it has one result
            x = made
        return x


def _stream(value: Value) -> Stream:
    (found,) = streams(value.type)
    return found
