"""Names of implementations beside a network that is lowered: handed to what stands for their nodes, or refused."""

from __future__ import annotations

from graphrewrite import FixedPoint, Graph
from graphrewrite.errors import ImplementationError
from graphrewrite.lowering.errors import origins_text

__all__ = ["check_hardware_is_used", "with_implementations"]

_PORTS = frozenset({"input", "output", "constant"})


def with_implementations(lowered: Graph, of: Graph) -> Graph:
    r"""Return a graph whose nodes name the implementations of the nodes that they stand for.

    Where one node that computes with mantissas stands for a node, and for no other, it is computed by the same; a
    `requantise` after it rounds what that gives.

    Parameters
    ----------
    lowered : Graph
        What came of the other graph; the result, if its nodes name all that are named.
    of : Graph
        The graph with names.

    Raises
    ------
    ImplementationError
        If nothing can have the implementation of a node.

    Examples
    --------
    >>> g = Graph.parse("graph g\nx = input() : f32[N]\na = abs(x) {implementation='mine'}\ny = output(a)")
    >>> lowered = Graph.parse("graph g\nx = input() : s8f4[N]\na = clip(x, low=0)\ny = output(a)")
    >>> with_implementations(lowered, g).nodes["a"]["implementation"]
    'mine'
    """
    dead, result = of.dead_nodes(), lowered
    for node, data in of.nodes(data=True):
        if "implementation" not in data or data.get("type") in _PORTS or node in dead:
            continue
        name, origins = data["implementation"], set(of.origin(node))
        heirs = [
            each
            for each in lowered.in_order()
            if lowered.nodes[each]["type"] not in _PORTS and not origins.isdisjoint(lowered.origin(each))
        ]
        if any(lowered.nodes[each].get("implementation") == name for each in heirs):
            continue
        below = [
            each
            for each in heirs
            if isinstance(lowered.result_type(each).element, FixedPoint) and lowered.op(each).level != "bridge"
        ]
        own = [each for each in below if lowered.nodes[each]["type"] != "requantise"] or below
        others = {origin for each in own for origin in lowered.origin(each)} - origins
        if len(own) != 1 or others:
            raise ImplementationError(_lost(lowered, name, heirs, others), node=node)
        result = lowered.copy() if result is lowered else result
        result.nodes[own[0]]["implementation"] = name
    return result


def check_hardware_is_used(graph: Graph) -> None:
    r"""Raise if a node that the host computes, in floats, names hardware as its implementation.

    Parameters
    ----------
    graph : Graph
        A graph in which all other implementations stand for their nodes.

    Examples
    --------
    >>> g = Graph.parse("graph g\nx = input() : f32[N]\na = abs(x) {implementation='mine'}\ny = output(a)")
    >>> check_hardware_is_used(g)
    Traceback (most recent call last):
    graphrewrite.errors.ImplementationError: node 'a': is implemented by the hardware 'mine', but the host computes ...
    """
    dead = graph.dead_nodes()
    for node, data in graph.nodes(data=True):
        if "implementation" in data and data.get("type") not in _PORTS and node not in dead:
            raise ImplementationError(
                f"is implemented by the hardware {data['implementation']!r}, but the host computes it, with floats; "
                "remove the annotation, or let quantised layers follow",
                node=node,
            )


def _lost(graph: Graph, name: str, heirs: list[str], others: set[str]) -> str:
    becomes = ", ".join(f"{graph.nodes[each]['type']} ({origins_text(graph, each)})" for each in heirs) or "nothing"
    part = f" together with {', '.join(sorted(others))}" if others else ""
    return (
        f"its implementation {name!r} would be lost, for the node becomes {becomes}{part}; lower without this "
        "annotation, and name it at a node of the result"
    )
