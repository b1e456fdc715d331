"""Networks around a design in which its storage matters: streams that part, one of them held back, and meet again."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import permutations, product

import numpy as np

from graphrewrite.errors import GraphRewriteError
from graphrewrite.graph import Graph, Operand, Value
from graphrewrite.graph.rewiring import move_slot
from graphrewrite.hdl.components.add import add
from graphrewrite.hdl.components.fifo import fifo
from graphrewrite.hdl.components.matvec import matvec
from graphrewrite.hdl.components.refold import refold
from graphrewrite.hdl.components.repeat import repeat
from graphrewrite.hdl.components.reshape import reshape
from graphrewrite.types import FixedPoint, Stream

__all__ = ["Surrounding", "surroundings"]


@dataclass(frozen=True)
class Surrounding:
    """A way to build a network around a design, which any design with the same ports fits.

    Attributes
    ----------
    ports : tuple of str
        Two ports of the design: the stream of the first goes on directly, that of the second by way of whole frames.
    frames : int
        How many frames, one after the other, what is held back waits for.
    build : callable
        Adds the network to a graph, in place, given the name of the fifo in the direct way and its depth.
    """

    ports: tuple[str, str]
    frames: int
    build: Callable[[Graph, tuple[str, str], int, str, int], None]

    def around(self, design: Graph, depth: int, name: str) -> Graph:
        """Return a network: the design inside, and a fifo of a depth beside what is held back."""
        network = design.copy()
        self.build(network, self.ports, self.frames, name, depth)
        for ports in (network.inputs, network.outputs):
            for index, port in enumerate(ports):
                network._node[port]["index"] = index
        return network


def surroundings(design: Graph, frames: int) -> Iterator[Surrounding]:
    """Yield the networks of a design: around it, before two inputs of it, behind two outputs.

    Parameters
    ----------
    frames : int
        How many frames are held back, one after the other.
    """
    inputs, outputs = design.inputs, design.outputs
    ways = [
        *((pair, _around) for pair in product(inputs, outputs)),
        *((pair, _before) for pair in permutations(inputs, 2)),
        *((pair, _behind) for pair in permutations(outputs, 2)),
    ]
    for pair, build in ways:
        surrounding = Surrounding(pair, frames, build)
        try:
            surrounding.around(design, 1, design.fresh("waiting"))
        except GraphRewriteError:  # wider than a lane may be
            continue
        yield surrounding


def _around(graph: Graph, ports: tuple[str, str], frames: int, name: str, depth: int) -> None:
    """Add the input, held back, to the output."""
    source, sink = ports
    made = graph.value(*graph.operands(sink)[0])
    held = _held(graph.value(source), _stream(made), frames)
    _join(graph, sink, made, held, name, depth)


def _before(graph: Graph, ports: tuple[str, str], frames: int, name: str, depth: int) -> None:
    """Let the second input be the first one, held back."""
    first, second = (graph.value(port) for port in ports)
    into = {port: [(r.node, r.slot) for r in graph.readers(port)] for port in ports}
    held = _held(first, _stream(second), frames)
    direct = graph.add(fifo, [first], {"depth": depth}, name=name)
    for port, value in zip(ports, (direct, held), strict=True):
        for node, slot in into[port]:
            move_slot(graph, node, slot, Operand(value.node))
    graph.remove_node(ports[1])


def _behind(graph: Graph, ports: tuple[str, str], frames: int, name: str, depth: int) -> None:
    """Add the second output, held back, to the first one."""
    first, second = (graph.value(*graph.operands(port)[0]) for port in ports)
    graph.remove_node(ports[1])
    _join(graph, ports[0], first, _held(second, _stream(first), frames), name, depth)


def _join(graph: Graph, sink: str, direct: Value, held: Value, name: str, depth: int) -> None:
    waiting = graph.add(fifo, [direct], {"depth": depth}, name=name)
    ends = [(s.element.minimum, s.element.maximum) for s in map(_stream, (direct, held))]
    element = FixedPoint.holding(sum(low for low, _ in ends), sum(high for _, high in ends))
    move_slot(graph, sink, 0, Operand(add(waiting, held, element=element).node))


def _held(x: Value, wanted: Stream, frames: int) -> Value:
    """Return a stream of a type, of which no beat comes before the last one of a frame of another stream."""
    value = x
    for _ in range(frames):
        stream = _stream(value)
        weights = np.zeros((wanted.channels, math.prod(stream.shape)), np.int64)
        weights[:, 0] = 1
        value = matvec(
            value, weights=weights, bias=np.zeros(wanted.channels, np.int64), element=stream.element, over="frame"
        )
        value = repeat(reshape(value, shape=(wanted.channels, 1)), factors=(wanted.positions,))
    if _stream(value).shape != wanted.shape:
        value = reshape(value, shape=wanted.shape)
    return value if wanted.lanes == wanted.channels else refold(value, lanes=wanted.lanes)


def _stream(value: Value) -> Stream:
    kind = value.type
    assert isinstance(kind, Stream)
    return kind
