"""Pairs of corresponding values of two graphs."""

from __future__ import annotations

from graphrewrite.errors import GraphRewriteError
from graphrewrite.graph import Graph
from graphrewrite.graph.dataflow import Operand
from graphrewrite.testing.failure.values import result_count

__all__ = ["value_pairs"]

Pair = tuple[Operand, Operand, str]
"""A value of the graph after, its counterpart in the graph before, and the node that relates them."""


def value_pairs(before: Graph, after: Graph) -> list[Pair]:
    r"""Return the pairs of corresponding values, in the order of the graph after.

    A node corresponds to that of the same name, and an operand of a node of both graphs to its operand before. Of new
    nodes of one origin, the last corresponds to the last node of the origin.

    Returns
    -------
    list of (Operand, Operand, str)
        A value after, a value before, and the node of the graph after at which that shows.

    Examples
    --------
    >>> old = Graph.parse("graph g\nx = input() : f32[N]\na = neg(x)\nb = neg(a)\ny = output(b)")
    >>> new = Graph.parse("graph g\nx = input() : f32[N]\nc = identity(x)\ny = output(c)")
    >>> [(mine.node, theirs.node) for mine, theirs, _ in value_pairs(old, new)]
    [('x', 'x'), ('c', 'b'), ('y', 'y')]
    """
    order = after.in_order()
    pairs: dict[tuple[Operand, Operand], str] = {}
    for node in order:
        if node not in before:
            continue
        for was, now in zip(_read(before, node), _read(after, node), strict=False):
            if was != now:
                pairs.setdefault((now, was), now.node if now.node not in before else node)
        for result in range(min(result_count(before, node), result_count(after, node))):
            pairs[Operand(node, result), Operand(node, result)] = node
    paired = {now.node for now, _ in pairs}
    counterparts = {was.node for _, was in pairs}
    positions = {node: i for i, node in enumerate(before.in_order())}
    families: dict[tuple[str, ...], str] = {}
    for node in order:
        origin = tuple(n for n in after.nodes[node].get("origin") or () if n in positions)
        if node not in before and origin:
            families[origin] = node
    for origin, node in families.items():
        last = max(origin, key=positions.__getitem__)
        if node not in paired and last not in counterparts and result_count(before, last) == result_count(after, node):
            pairs.update(((Operand(node, r), Operand(last, r)), node) for r in range(result_count(after, node)))
    at = {node: i for i, node in enumerate(order)}
    return sorted(((*pair, where) for pair, where in pairs.items()), key=lambda entry: (at[entry[2]], entry[0].result))


def _read(graph: Graph, node: str) -> tuple[Operand, ...]:
    try:
        return graph.operands(node)
    except GraphRewriteError:  # its slots collide, so that its operands are unknown
        return ()
