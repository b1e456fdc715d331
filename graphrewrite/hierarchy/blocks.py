"""Blocks: the uses of nested graphs, remembered by a graph in which they are expanded."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from graphrewrite.errors import GraphError, UnknownGraphError
from graphrewrite.graph import Graph
from graphrewrite.graph.edit import apply_edit
from graphrewrite.hierarchy.expansion import expand
from graphrewrite.hierarchy.graph_ops import GraphOp, check_nesting, nested_ops
from graphrewrite.hierarchy.implementations import Library, implemented
from graphrewrite.hierarchy.module import Module
from graphrewrite.hierarchy.region_tracking import tracking_regions

__all__ = ["Block", "Use", "blocks_of", "flattened", "innermost", "main_graph", "names_of", "of_graph", "uses_of"]

_NO_COMPUTATION = frozenset({"input", "output", "constant"})


Use = tuple[str, str, str, int]
"""A nested graph, a node of it, the kind of node that is made of that, and the number of that among its likes."""


@dataclass(frozen=True)
class Block:
    """One use of a nested graph.

    Attributes
    ----------
    path : str
        Name of the node, after those of the blocks around it, as in ``"stage_2.block_1"``.
    graph : str
        Name of the graph.
    origin : tuple of str
        The nodes of the imported graph that the node comes from.
    inputs : mapping of str to tuple of str
        By input of the graph, the nodes that read it there.
    outputs : mapping of str to str
        By output of the graph, the node that gives it there.
    """

    path: str
    graph: str
    origin: tuple[str, ...]
    inputs: Mapping[str, tuple[str, ...]]
    outputs: Mapping[str, str]

    def inner(self, origin: str) -> str:
        """Return the name within the graph of what it contains; other names as they are."""
        return origin.removeprefix(f"{self.path}.")


def flattened(network: Graph | Module, library: Library | None = None) -> Graph:
    r"""Return a graph without nested graphs, which remembers their uses in its attribute ``blocks``.

    The origin of a node names the path to it, as in ``"block_1.relu_1"``, and stays with what later replaces the node.

    Parameters
    ----------
    network : Graph or Module
        A graph, or a module whose main graph is meant; untouched.
    library : mapping of str to Graph, Op or Component, optional
        Where implementations that nodes name are looked up first; see `graphrewrite.hierarchy.implemented`.

    Returns
    -------
    Graph
        The graph itself if there are no nested ones.

    Raises
    ------
    GraphError
        If a graph contains itself, or is missing from its library.
    UnknownGraphError
        If a module has no main graph.

    Examples
    --------
    >>> from graphrewrite.hierarchy.graph_ops import graph_op
    >>> block = Graph.parse("graph block\nx = input() : f32[N]\nr = relu(x)\ny = output(r)")
    >>> g = Graph.parse("graph g\nx = input() : f32[8]")
    >>> _ = g.output("y", graph_op(block)(graph_op(block)(g.value("x"))))
    >>> flat = flattened(g)
    >>> flat.origin("block_2.r"), [(path, block.graph) for path, block in blocks_of(flat).items()]
    (('block_2.r',), [('block_1', 'block'), ('block_2', 'block')])
    """
    graph = implemented(main_graph(network), library)
    if not nested_ops(graph):
        return graph
    check_nesting(graph)
    flat = graph.copy()
    regions = tracking_regions(flat)
    blocks, ports = dict(graph.graph.get("blocks", {})), dict(graph.graph.get("block_ports", {}))
    work = list(_nested(graph))
    for node, path, body in work:  # grows as it goes
        blocks[path] = {"graph": body.name} | ({} if flat.origin(node) == (path,) else {"origin": flat.origin(node)})
        ports[body.name] = _ports(body)
        edit = expand(flat, node)
        # In the order of the body; of its constants those that are shared may be there already.
        computing = (n for n in body.in_order() if body.nodes[n]["type"] not in _NO_COMPUTATION)
        new = (name for name, data in edit.added if data["type"] != "constant")
        inside = dict(zip(computing, new, strict=True))
        origins = {inside[name]: body.origin(name) for name in inside}
        for name, data in edit.added:
            data["origin"] = tuple(f"{path}.{o}" for o in origins.get(name, (name.removeprefix(f"{node}."),)))
        apply_edit(flat, edit)
        if regions is not None:
            regions.follow(edit)
        work += [(inside[name], f"{path}.{inner}", inner_body) for name, inner, inner_body in _nested(body)]
    if regions is not None:
        regions.settle()
    named = {data.get("implementation") for data in flat._node.values()}
    for name in {block["graph"] for block in blocks.values()} - named:
        flat.ops.pop(name, None)
    flat.graph["blocks"], flat.graph["block_ports"] = blocks, ports
    return flat


def main_graph(network: Graph | Module) -> Graph:
    """Return a graph itself, or of a module the only graph, the one named ``main``, or the only one not nested.

    Examples
    --------
    >>> module = Module("net")
    >>> _ = module.add_graph("block"), module.add_graph("main")
    >>> main_graph(module).name
    'main'
    """
    if not isinstance(network, Module):
        return network
    if len(network) > 1 and "main" in network:
        return network["main"]
    nested = {op.name for graph in network.values() for op in nested_ops(graph)}
    roots = [name for name in network if name not in nested]
    if len(roots) == 1:
        return network[roots[0]]
    shown = ", ".join(map(repr, roots or network)) or "none"
    raise UnknownGraphError(
        f"which graph of the module {network.name!r} is meant? Call one of them 'main', or give one: {shown}"
    )


def blocks_of(graph: Graph) -> dict[str, Block]:
    """Return the blocks that a graph remembers, by path.

    Examples
    --------
    >>> blocks_of(Graph("g"))
    {}
    """
    ports = graph.graph.get("block_ports", {})
    try:
        return {
            path: Block(path, data["graph"], tuple(data.get("origin", (path,))), **ports[data["graph"]])
            for path, data in graph.graph.get("blocks", {}).items()
        }
    except (AttributeError, KeyError, TypeError):
        raise GraphError(
            f"the attribute 'blocks' of the graph {graph.name!r} is no record of nested graphs; rename it"
        ) from None


def innermost(origin: str, blocks: Iterable[str]) -> str:
    """Return the path of the innermost block that an origin stands in; empty for none.

    Examples
    --------
    >>> innermost("a.b.relu_1", {"a": 1, "a.b": 2}), innermost("relu_1", {"a": 1})
    ('a.b', '')
    """
    path = origin
    while path:
        path = path.rpartition(".")[0]
        if path in blocks:
            return path
    return ""


def of_graph(graph: Graph, node: str) -> tuple[str, str] | None:
    """Return the name of the nested graph that a node comes from, and its name there; None if it is of no block.

    Nodes of several uses of a graph that correspond have the same.
    """
    origin = graph.origin(node)[0]
    blocks = graph.graph.get("blocks", {})
    path = innermost(origin, blocks)
    return (blocks[path]["graph"], origin.removeprefix(f"{path}.")) if path else None


def names_of(graph: Graph, node: str) -> tuple[str, ...]:
    """Return what people may call a node: its name, its origins, and a name for all uses of its nested graph.

    Examples
    --------
    >>> g = Graph("g", blocks={"block_1": {"graph": "block"}})
    >>> r = g.add_node("r", type="relu", origin=("block_1.relu_1",))
    >>> names_of(g, "r")
    ('r', 'block_1.relu_1', 'block.relu_1')
    """
    use = of_graph(graph, node)
    return (node, *graph.origin(node), *([] if use is None else [".".join(use)]))


def uses_of(graph: Graph) -> dict[str, Use]:
    """Return what nodes in uses of a nested graph are there: nodes that correspond have the same.

    Examples
    --------
    >>> g = Graph("g", blocks={"b_1": {"graph": "b"}, "b_2": {"graph": "b"}})
    >>> for node in ("b_1.relu_1", "b_2.relu_1", "relu_1"):
    ...     g.add_node(node, type="relu")
    >>> uses_of(g)
    {'b_1.relu_1': ('b', 'relu_1', 'relu', 0), 'b_2.relu_1': ('b', 'relu_1', 'relu', 0)}
    """
    numbers: Counter[tuple[str, str]] = Counter()
    uses: dict[str, Use] = {}
    for node in graph.in_order():
        if (place := of_graph(graph, node)) is not None:
            kind = str(graph.nodes[node]["type"])
            at = graph.origin(node)[0], kind
            uses[node] = (*place, kind, numbers[at])
            numbers[at] += 1
    return uses


def _nested(graph: Graph) -> Iterator[tuple[str, str, Graph]]:
    """Yield the nodes of graph ops, each with a name with which no other name begins up to a dot, and its graph."""
    kinds = {n: kind for n in graph.in_order() if isinstance(kind := graph.ops.get(graph.nodes[n]["type"]), GraphOp)}
    names = {str(n) for node in graph for n in (node, *graph.origin(node))}
    taken = {name[:at] for name in names for at, letter in enumerate(name) if letter == "."}
    for node, kind in kinds.items():
        name, count = node, 1
        while name in taken:
            count += 1
            name = f"{node}_{count}"
        taken.add(name)
        yield node, name, kind.body


def _ports(body: Graph) -> dict[str, Any]:
    return {
        "inputs": {name: tuple(dict.fromkeys(reader.node for reader in body.readers(name))) for name in body.inputs},
        "outputs": {name: body.operands(name)[0].node for name in body.outputs},
    }
