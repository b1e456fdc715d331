"""Make a stream graph runnable: one reader a stream, and buffers where branches of different length meet."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from graphrewrite.graph import Graph, Operand, Value
from graphrewrite.graph.dataflow import Reader
from graphrewrite.graph.rewiring import move_slot
from graphrewrite.hdl.component import Component, streams
from graphrewrite.hdl.components import COMPONENTS
from graphrewrite.hdl.components.fifo import fifo
from graphrewrite.hdl.components.fork import fork
from graphrewrite.hdl.netlist import netlist
from graphrewrite.hdl.placement import CONNECTING, around, common, places_of
from graphrewrite.hdl.timing.cycles import predict_cycles
from graphrewrite.hdl.timing.depths import fifo_depths
from graphrewrite.hdl.timing.network import Link, Network
from graphrewrite.hierarchy.blocks import blocks_of, uses_of

__all__ = ["insert_fifos", "insert_forks"]

_THROUGH = 2  # the depth of a buffer that passes a beat in every cycle
_SEVERAL = 64  # frames: by then what a design does repeats, in all but odd cases


def insert_forks(graph: Graph) -> Graph:
    """Return the graph with a fork after every stream that has several readers, and a buffer where input meets output.

    Examples
    --------
    >>> from graphrewrite.hdl.components.add import add
    >>> from graphrewrite.types import FixedPoint, Stream
    >>> g = Graph("twice")
    >>> x = g.input("x", Stream(FixedPoint(False, 4), (1, 3)))
    >>> _ = g.output("y", add(x, x, element=FixedPoint(False, 5)))
    >>> print(insert_forks(g))
    graph twice
    x = input() : stream u4f0[1,3]
    fork_1 = fork(x) : stream u4f0[1,3], stream u4f0[1,3]
    stream_add_1 = stream_add(fork_1, fork_1:1, element=u5f0) : stream u5f0[1,3]
    y = output(stream_add_1)
    """
    new = graph.copy()
    forks = _Forks(new)
    for node in graph.in_order():
        if graph.nodes[node].get("type") == "output":
            continue
        for result in range(new.op(node).results if graph.nodes[node]["type"] != "input" else 1):
            forks.split(node, result)
    for node in new.outputs:
        source = new.operands(node)[0]
        # An output that is an input would be a mere wire, and no component would be there to be predicted.
        if new.nodes[source.node]["type"] == "input":
            buffered = new.add(fifo, [new.value(source.node)], {"depth": 2}, origin=new.origin(source.node))
            move_slot(new, node, 0, Operand(buffered.node))
    return new


def insert_fifos(graph: Graph, components: tuple[Component, ...] = COMPONENTS) -> Graph:
    """Return the graph with buffers where parts of different rhythm meet, just deep enough that none waits for another.

    They stand before joins, so that branches of different length neither deadlock nor stall; and, where the interval
    between frames would be longer than the slowest component needs, before components that do not take a beat in every
    step.

    Examples
    --------
    The window holds back its first beat for a row and a half; meanwhile the other branch has to wait somewhere:

    >>> from graphrewrite.hdl.components.add import add
    >>> from graphrewrite.hdl.components.window import window
    >>> from graphrewrite.types import FixedPoint, Stream
    >>> g = Graph("shifted")
    >>> x = g.input("x", Stream(FixedPoint(False, 4), (1, 6, 6)))
    >>> y = window(window(x, kernel=(2, 2), pads=(0, 0, 1, 1)), kernel=(1, 1))
    >>> z = add(window(x, kernel=(2, 2), pads=(1, 1, 0, 0)), y, element=FixedPoint(False, 5))
    >>> _ = g.output("y", z)
    >>> buffered = insert_fifos(insert_forks(g))
    >>> [buffered.nodes[n]["depth"] for n in buffered if buffered.nodes[n]["type"] == "fifo"]
    [9]
    """
    network = netlist(graph, components).network
    depths = fifo_depths(network, [*_joins(network), *_pauses(network)])
    if missing := _missing(graph, depths):
        # These delay a branch by a cycle, for which the buffers of others may have to be deeper.
        return insert_fifos(_with_fifos(graph, dict.fromkeys(missing, _THROUGH)), components)
    return _with_fifos(graph, depths)


def _with_fifos(graph: Graph, depths: Mapping[Link, int]) -> Graph:
    new = graph.copy()
    for link, depth in depths.items():
        if depth:
            buffered = new.add(
                fifo, [new.value(link.source, link.source_port)], {"depth": depth}, origin=new.origin(link.source)
            )
            move_slot(new, link.sink, link.sink_port, Operand(buffered.node))
    return new


def _missing(graph: Graph, depths: Mapping[Link, int]) -> list[Link]:
    """Links without a buffer where another use of the nested graph has one: with it, both can be one entity."""
    places: dict[tuple[Any, ...], dict[bool, list[Link]]] = {}
    uses = uses_of(graph)
    for link, depth in depths.items():
        if link.sink in uses:
            lanes = [
                str(stream.lanes) for stream in streams(*(graph.result_type(*o) for o in graph.operands(link.sink)))
            ]
            has_one = depth > 0 or graph.nodes[link.source]["type"] == fifo.name
            places.setdefault((uses[link.sink], link.sink_port, *lanes), {}).setdefault(has_one, []).append(link)
    return [link for found in places.values() if True in found for link in found.get(False, ())]


def _joins(network: Network) -> list[Link]:
    return [k for k in network.links if k.sink in network.components and len(network.components[k.sink].takes) > 1]


def _pauses(network: Network) -> list[Link]:
    """Links between components at whose end some steps take no beat; none if the slowest component sets the pace."""
    slowest = max(schedule.steps for schedule in network.components.values())
    joins = _joins(network)
    deadlocks = [(k.source, k.source_port) for k in joins if k.source in network.components]
    # With unlimited buffers at the joins, only components that pause for each other can cost time.
    if predict_cycles(network, _SEVERAL, unbounded=deadlocks).interval <= slowest:
        return []
    inner = [k for k in network.links if k.source in network.components and k.sink in network.components]
    return [k for k in inner if k not in joins and network.beats(k) < network.components[k.sink].steps]


class _Forks:
    """Gives each reader of a stream a branch of its own: chains of forks, one fewer than there are readers.

    What a block gives or takes crosses its border once, and is divided outside or inside.
    """

    def __init__(self, graph: Graph) -> None:
        self.graph, self.blocks = graph, blocks_of(graph)
        kinds = {node: graph.nodes[node].get("type") for node in graph.in_order()}
        self.places = dict.fromkeys(kinds, "")
        if self.blocks:
            own = [node for node, kind in kinds.items() if kind not in {*CONNECTING, "input", "output"}]
            self.places |= places_of({node: graph.origin(node) for node in own}, self.blocks)
        for node in reversed(kinds) if self.blocks else ():
            if kinds[node] in CONNECTING:
                self.places[node] = common([self.places[reader.node] for reader in graph.readers(node)], self.blocks)

    def split(self, node: str, result: int) -> None:
        """Divide a result among its readers."""
        readers = [reader for reader in self.graph.readers(node) if reader.result == result]
        if len(readers) > 1:
            self.divide(self.graph.value(node, result), readers, self.places[node])

    def divide(self, value: Value, readers: list[Reader], region: str) -> None:
        """Divide a value, which has come as far as a block, among readers anywhere."""
        groups: dict[tuple[str, int], list[Reader]] = {}
        for number, reader in enumerate(readers):
            way = around(self.places[reader.node], self.blocks)
            if way[0] == region:
                groups[region, number] = [reader]
            else:
                beyond = way[way.index(region) - 1] if region in way else around(region, self.blocks)[1]
                groups.setdefault((beyond, -1), []).append(reader)
        origin = self.graph.origin(value.node)
        for left, ((path, _), members) in zip(reversed(range(len(groups))), groups.items(), strict=True):
            branch = value
            if left:
                branch, value = self.graph.add(fork, [value], origin=origin)
            if len(members) > 1:
                self.divide(branch, members, path)
            else:
                move_slot(self.graph, members[0].node, members[0].slot, Operand(branch.node, branch.result))
