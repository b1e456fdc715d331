"""Checks of modules, of graphs in graphs, and of operators that several nodes have in common."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from graphrewrite.errors import GraphError, ImplementationError
from graphrewrite.graph import Graph
from graphrewrite.hierarchy.graph_ops import GraphOp, check_nesting, nested_ops
from graphrewrite.hierarchy.implementations import Library, implemented, implementing
from graphrewrite.hierarchy.operator import disagreements
from graphrewrite.rewriting.verification.checks import check

__all__ = [
    "graphs_are_the_modules",
    "implementations_are_there",
    "misfits",
    "nested_graphs_are_sound",
    "nesting_ends",
    "operators_agree",
    "placeholders_are_kept",
]


@check(whole=True)
def nesting_ends(graph: Any) -> Iterator[str]:
    """No graph contains itself."""
    if isinstance(graph, Graph):
        try:
            check_nesting(graph)
        except GraphError as error:
            yield str(error)


@check(whole=True)
def nested_graphs_are_sound(graph: Any) -> Iterator[str | tuple[Any, str]]:
    """Nested graphs and bodies fulfil what every graph does; graphs of a module are checked with the module."""
    from graphrewrite.rewriting.verification.table import CHECKS  # the table holds the checks of this module
    from graphrewrite.rewriting.verification.verifier import faults

    seen: set[int] = set()
    work = list(nested_ops(graph)) if isinstance(graph, Graph) else []
    for op in work:  # grows during iteration: graphs nested in nested graphs
        body = op.library.get(op.name)
        if body is None or id(body) in seen or not isinstance(op.library, dict):
            continue
        seen.add(id(body))
        checks = [each for each in CHECKS if each not in (nested_graphs_are_sound, nesting_ends)]
        yield from (f"its graph {op.name!r}: {fault}" for fault in faults(body, checks))
        work += nested_ops(body)
    for node, key, body in graph.bodies() if isinstance(graph, Graph) else ():
        if id(body) not in seen:
            seen.add(id(body))
            checks = [each for each in CHECKS if each is not nesting_ends]
            yield from ((node, f"its {key}: {fault}") for fault in faults(body, checks))


@check(whole=True)
def operators_agree(graph: Any) -> Iterator[tuple[Any, str]]:
    """Nodes of one operator have one op, the same attributes and the same parameters."""
    yield from disagreements(graph)


@check(module=True)
def graphs_are_the_modules(module: Any) -> Iterator[tuple[str, str] | tuple[str, Any, str]]:
    """A graph is named as its key, and its nodes call graphs of the module only."""
    for name, graph in module.items():
        if graph.name != name:
            yield name, f"is named {graph.name!r}; the name of a graph is its key in the module"
        for kind, op in graph.ops.items():
            if isinstance(op, GraphOp) and op.library is not module:
                node = next((n for n, data in graph.nodes(data=True) if data.get("type") == kind), None)
                if node is not None:
                    yield name, node, f"is {kind!r}, a graph that is not the module's; put the graph {name!r} in again"


@check(whole=True)
def implementations_are_there(graph: Any) -> Iterator[str | tuple[Any, str]]:
    """The implementation that a node names is a graph of its module, which fits the node and does not need itself."""
    if isinstance(graph, Graph) and graph.library is not None:  # else what it names may be passed later
        yield from misfits(graph)


def misfits(graph: Graph, library: Library | None = None) -> Iterator[str | tuple[Any, str]]:
    r"""Yield what is wrong with the implementations that nodes name, of a library or of the graph's module.

    Examples
    --------
    >>> g = Graph.parse("graph g\nx = input() : f32[N]\nr = relu(x) {implementation='fast'}\ny = output(r)")
    >>> [node for node, _ in misfits(g, {})]
    ['r']
    """
    libraries = tuple(each for each in (library, graph.library) if each is not None)
    is_whole = True
    for node, data in graph._node.items():
        if "implementation" in data and data.get("type") not in ("input", "output", "constant"):
            try:
                implementing(graph, node, libraries)
            except ImplementationError as error:
                is_whole = False
                yield node, str(error).removeprefix(f"node {node!r}: ")
    try:
        _ = implemented(graph, library) if is_whole else None
    except ImplementationError as error:
        yield str(error)


@check(module=True)
def placeholders_are_kept(module: Any) -> Iterator[tuple[str, Any, str]]:
    """An input that is shared has the type of the module's placeholder."""
    for name, graph in module.items():
        for node, data in graph.nodes(data=True):
            shared = data.get("shared")
            if shared is None or data.get("type") == "constant":
                continue
            if data.get("type") != "input":
                yield name, node, f"shares {shared!r}, and is neither a constant nor an input; remove its `shared`"
            elif shared not in module.placeholders:
                yield name, node, f"shares the placeholder {shared!r}, which the module does not have"
            elif data.get("result") != module.placeholders[shared]:
                message = f"has another type than the placeholder {shared!r} that it shares; remove its `shared`"
                yield name, node, message
