"""Make a counterexample smaller: drop outputs, bypass nodes, forget what nothing reads."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from graphrewrite.graph import Graph
from graphrewrite.wiring import rewire

__all__ = ["reduced"]


def reduced(graph: Graph, still: Callable[[Graph], bool], *, attempts: int = 200) -> Graph:
    """Return a smaller graph of which something is still true.

    Parameters
    ----------
    graph : Graph
        A graph of which it is true.
    still : callable
        Tells of a graph whether it is true.
    attempts : int
        How many graphs to try.

    Returns
    -------
    Graph

    Examples
    --------
    >>> g = Graph.parse('''graph g
    ... x = input() : f32[N]
    ... a = neg(x)
    ... b = relu(a)
    ... c = abs(b)
    ... y = output(c)
    ... z = output(a)''')
    >>> print(reduced(g, lambda graph: "b" in graph))
    graph g
    x = input() : f32[N]
    b = relu(x) : f32[N]
    y = output(b)
    """
    smaller = True
    while smaller:
        smaller = False
        for candidate in _candidates(graph):
            attempts -= 1
            if attempts < 0:
                return graph
            if still(candidate):
                graph, smaller = candidate, True
                break
    return graph


def _candidates(graph: Graph) -> Iterator[Graph]:
    outputs = graph.outputs
    if len(outputs) > 1:
        for name in reversed(outputs):
            yield _without(graph, [name])
    bare = _without(graph, [n for n in graph.dead_nodes() if n not in graph.inputs])
    if len(bare) < len(graph):
        yield bare
    for node in reversed(graph.in_order()):
        if graph.nodes[node]["type"] in ("input", "output", "constant") or isinstance(
            graph.nodes[node]["result"], tuple
        ):
            continue
        for operand in dict.fromkeys(graph.operands(node)):
            if graph.result_type(*operand) == graph.result_type(node):
                new = graph.copy()
                rewire(new, node, operand)
                yield _without(new, [node])


def _without(graph: Graph, nodes: list[str]) -> Graph:
    """The graph without some nodes, and without the inputs and constants that nothing reads then."""
    new = graph.copy()
    before = {n for n in new if not new.succ[n]}
    new.remove_nodes_from(nodes)
    for kind in ("input", "constant"):
        new.remove_nodes_from(
            [n for n, d in new.nodes.items() if d["type"] == kind and not new.succ[n] and n not in before]
        )
    new.remove_nodes_from([n for n in new.inputs if not new.succ[n]])
    for ports in (new.inputs, new.outputs):
        for index, name in enumerate(ports):
            new.nodes[name]["index"] = index
    return new
