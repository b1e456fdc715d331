"""Make a rule of two graphs."""

from __future__ import annotations

import sys
from collections.abc import Callable, Hashable, Iterable
from typing import Any

import networkx as nx

from graphrewrite.graph_rule.found import GraphMatch
from graphrewrite.graph_rule.rule import GraphRule, Replacement
from graphrewrite.pattern.condition import Where

__all__ = ["from_graphs"]


def from_graphs(
    pattern: nx.DiGraph,
    replacement: Replacement,
    *,
    name: str,
    interface: Iterable[Hashable] = (),
    groups: Iterable[Hashable] = (),
    induced: bool = False,
    without: Iterable[nx.DiGraph] = (),
    condition: Where | Callable[[GraphMatch], Any] | None = None,
    keeps: str = "exact",
) -> GraphRule:
    """Make a rule of two graphs, for digraphs of any kind: what is found as the first becomes the second.

    A match assigns a different node to each node of the pattern, and has its edges. An attribute in the pattern must be
    equal; a set or a range of values means one of them, `rule.where` a predicate; what is absent may be anything. Nodes
    that are no interface must have no edges to the outside of the match.

    What both graphs have, by name, stays with its attributes; interface nodes must be in both. What only the pattern
    has goes; what only the replacement has is new. Attributes that the replacement gives are set. A new edge takes over
    the attributes of the edges that its destination loses, or, where that is new itself, those that its source loses;
    if they differ, the match is declined. New nodes are called as in the replacement, or with a number behind it if
    that is taken.

    Parameters
    ----------
    pattern : networkx.DiGraph
        What to look for.
    replacement : networkx.DiGraph or callable
        What takes its place; or a function from the match to that graph, or to ``decline(reason)``.
    name : str
        What to call the rule.
    interface : iterable of hashable
        Nodes of the pattern that stay, and may have edges to the outside.
    groups : iterable of hashable
        Interface nodes that stand for all outside neighbours, however many, of the interior nodes that they are
        connected to, on that side. A new edge connects all of them.
    induced : bool
        Whether matched nodes must have no edges between them but those of the pattern, to themselves included.
    without : iterable of networkx.DiGraph
        Each is what must not be there beside a match; nodes named as in the pattern are those.
    condition : Where or callable
        What the whole match must fulfil, decided by what is matched alone.
    keeps : {"exact", "rounding", "assumes"}
        What the rewrite keeps.

    Returns
    -------
    GraphRule

    Raises
    ------
    RuleError
        If the rule is written wrongly, with its file and line.

    Examples
    --------
    >>> pattern = nx.DiGraph([("s", "m"), ("m", "a"), ("a", "e")])
    >>> pattern.nodes["m"]["type"], pattern.nodes["a"]["type"] = "mul", "add"
    >>> fused = nx.DiGraph([("s", "mac"), ("mac", "e")])
    >>> fused.nodes["mac"]["type"] = "mac"
    >>> fuse = from_graphs(pattern, fused, name="fuse", interface=["s"], groups=["e"])
    >>> print(fuse)
    fuse: s -> m: mul -> a: add -> *e; interface s, e
    >>> graph = nx.DiGraph([("x", "m1"), ("m1", "a1"), ("a1", "y"), ("a1", "z")])
    >>> graph.add_nodes_from([("m1", {"type": "mul"}), ("a1", {"type": "add"})])
    >>> list(fuse(graph).edges)
    [('x', 'mac'), ('mac', 'y'), ('mac', 'z')]
    """
    caller = sys._getframe(1)
    return GraphRule(
        name,
        pattern,
        replacement,
        interface=interface,
        groups=groups,
        induced=induced,
        without=without,
        condition=condition,
        keeps=keeps,
        file=caller.f_code.co_filename,
        line=caller.f_lineno,
    )
