"""A stream graph as a netlist: which component each node is, and how they are connected."""

from collections import ChainMap
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import networkx as nx

from graphrewrite.errors import TypeMismatchError, did_you_mean
from graphrewrite.graph import Graph
from graphrewrite.graph.arguments import check_digraph
from graphrewrite.hdl.component import Component, Resources, Site
from graphrewrite.hdl.components import COMPONENTS
from graphrewrite.hdl.errors import ComponentError, NetlistError
from graphrewrite.hdl.timing.network import Link, Network
from graphrewrite.hierarchy import Block, blocks_of, flattened
from graphrewrite.hierarchy.implementations import Library
from graphrewrite.types import Stream

__all__ = ["Instance", "Netlist", "hardware_names", "netlist", "stream_graph", "with_passed"]


@dataclass(frozen=True)
class Instance:
    """One component of a design.

    Attributes
    ----------
    node : str
        Its node in the stream graph.
    component : Component
        What it is.
    site : Site
        Its streams and attributes.
    origin : tuple of str
        The nodes of the imported model that it comes from.
    """

    node: str
    component: Component
    site: Site
    origin: tuple[str, ...]

    @property
    def resources(self) -> Resources:
        """Its costs."""
        return self.component.resources(self.site)


@dataclass(frozen=True)
class Netlist:
    """A stream graph, checked: components in topological order, and links.

    Attributes
    ----------
    name : str
        The graph's name.
    instances : dict of str to Instance
        By node.
    inputs, outputs : dict of str to Stream
        The design's ports, in order.
    network : Network
        Schedules and links, for predicting cycles.
    blocks : dict of str to Block
        Uses of nested graphs, by path.
    """

    name: str
    instances: dict[str, Instance]
    inputs: dict[str, Stream]
    outputs: dict[str, Stream]
    network: Network
    blocks: dict[str, Block]

    @property
    def streams(self) -> dict[Link, Stream]:
        """The stream of each link."""
        results: dict[str, tuple[Stream, ...]] = {name: (stream,) for name, stream in self.inputs.items()}
        results |= {name: instance.site.results for name, instance in self.instances.items()}
        return {link: results[link.source][link.source_port] for link in self.network.links}


def netlist(graph: Graph, components: tuple[Component, ...] = COMPONENTS) -> Netlist:
    """Return the netlist of a stream graph.

    Examples
    --------
    >>> from graphrewrite.hdl.components.clip import clip
    >>> from graphrewrite.types import FixedPoint
    >>> g = Graph("g")
    >>> _ = g.output("y", clip(g.input("x", Stream(FixedPoint(True, 8), (2, 5))), low=0, high=127))
    >>> net = netlist(g)
    >>> list(net.instances), [str(link) for link in net.network.links]
    (['stream_clip_1'], ['x[0] -> stream_clip_1[0]', 'stream_clip_1[0] -> y[0]'])
    """
    graph = stream_graph(graph, components)
    _check_ends(graph)
    by_op = _by_op(components)
    instances, links = {}, []
    for node in graph.in_order():
        kind = graph.nodes[node].get("type")
        if kind in ("input", "output"):
            continue
        if kind not in by_op:
            hint = did_you_mean(str(kind), by_op)
            raise NetlistError(
                f"is {kind}, which is no component{hint}; lower the graph with to_stream first, or pass"
                " components=(*COMPONENTS, yours) if it is one of your own",
                node=node,
            )
        operands = tuple(_stream(graph, o.node, o.result) for o in graph.operands(node))
        try:
            site = Site.of(by_op[kind].op, *operands, **graph.attributes(node))
        except TypeMismatchError as error:
            raise NetlistError(str(error), node=node) from None
        instances[node] = Instance(node, by_op[kind], site, graph.origin(node))
    for node in graph.in_order():
        results = 1 if node in graph.inputs else len(instances[node].site.results) if node in instances else 0
        for result in range(results):
            readers = [r for r in graph.readers(node) if r.result == result]
            # A stream has one reader: two would have to agree when a beat goes, which is what a fork is for.
            if len(readers) != 1:
                fault = f"has {len(readers)} readers; insert a fork" if readers else "has no reader; drop it"
                raise NetlistError(f"its stream {result} {fault} (to_stream does so)", node=node)
            links.append(Link(node, result, readers[0].node, readers[0].slot))
    network = Network(
        {n: i.component.schedule(i.site) for n, i in instances.items()}, tuple(links), graph.inputs, graph.outputs
    )
    inputs = {n: _stream(graph, n, 0) for n in graph.inputs}
    outputs = {n: _stream(graph, *graph.operands(n)[0]) for n in graph.outputs}
    return Netlist(graph.name, instances, inputs, outputs, network, blocks_of(graph))


def stream_graph(
    graph: Any, components: tuple[Component, ...] = COMPONENTS, implementations: Library | None = None
) -> Graph:
    """Return a graph of components, without nested graphs and with what nodes name as their implementations.

    A plain digraph becomes a graph, whose nodes may be components.

    Examples
    --------
    >>> stream_graph(nx.DiGraph()).ops["fork"].results
    2
    """
    check_digraph(graph, "of components")
    typed = graph if isinstance(graph, Graph) else Graph(graph, ops=[component.op for component in components])
    return flattened(typed, hardware_names(typed, components, implementations))


def hardware_names(graph: Graph, components: tuple[Component, ...], implementations: Library | None = None) -> Library:
    """Return what nodes can name as implementations: entries given, graphs of the module, components by op or entity.

    Examples
    --------
    >>> names = hardware_names(Graph("g"), COMPONENTS)
    >>> names["stream_clip"] is names["clip"]
    True
    """
    by_entity: dict[str, list[Component]] = {}
    for component in components:
        by_entity.setdefault(component.entity, []).append(component)
    entities = {entity: sharing[0] for entity, sharing in by_entity.items() if len(sharing) == 1}
    by_op = {component.op.name: component for component in components}
    return ChainMap(*map(dict, (implementations or {}, graph.library or {}, by_op, entities)))


def with_passed(components: tuple[Component, ...], implementations: Library | None) -> tuple[Component, ...]:
    """Return components, and those among implementations that are passed.

    Examples
    --------
    >>> with_passed(COMPONENTS, {"mine": COMPONENTS[0]}) == COMPONENTS
    True
    """
    passed = (each for each in (implementations or {}).values() if isinstance(each, Component))
    return (*components, *dict.fromkeys(each for each in passed if each not in components))


def _check_ends(graph: Graph) -> None:
    """Raise unless beats come in, go out, and never have to wait for themselves."""
    for ends, word in ((graph.inputs, "input"), (graph.outputs, "output")):
        if not ends:
            raise NetlistError(f"the graph {graph.name!r} has no {word}; a design takes and gives at least one stream")
    if not nx.is_directed_acyclic_graph(graph):
        circle = [edge[0] for edge in nx.find_cycle(graph)]
        path = " -> ".join([*circle[:8], *["…"] * (len(circle) > 8), circle[0]])
        raise NetlistError(
            f"is on a circle of streams, {path}: no beat ever comes round; break it, and carry a state across frames"
            " outside of the design",
            node=circle[0],
        )


def _by_op(components: tuple[Component, ...]) -> dict[str, Component]:
    """The components by the name of their op; several may share a VHDL file, but no two files an entity."""
    by_op: dict[str, Component] = {}
    files: dict[str, str | Path] = {}
    for component in components:
        if by_op.setdefault(component.op.name, component) != component:
            raise ComponentError(f"two components have the op {component.op.name}; rename one, or leave the other out")
        if files.setdefault(component.entity.lower(), component.template) != component.template:
            raise ComponentError(f"two files have the entity {component.entity}; rename one, or leave the other out")
    return by_op


def _stream(graph: Graph, node: str, result: int) -> Stream:
    kind = graph.result_type(node, result)
    if not isinstance(kind, Stream):
        raise NetlistError(f"carries {kind}, which is no stream; lower the graph with to_stream first", node=node)
    return kind
