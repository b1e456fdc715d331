"""Rewrite, and keep the steps where somebody asks for them."""

from __future__ import annotations

from collections.abc import Iterable

from graphrewrite import Graph, Pass, Rule, rewrite, trace
from graphrewrite.trace import Step

__all__ = ["recorded"]


def recorded(graph: Graph, rules: Iterable[Rule | Pass], steps: list[Step] | None) -> Graph:
    """Return the rewritten graph; append what each rule did to a list, if there is one.

    Parameters
    ----------
    graph : Graph
        Any graph.
    rules : iterable of Rule and Pass
        A rule set.
    steps : list of Step or None
        Where to.

    Returns
    -------
    Graph
    """
    if steps is None:
        return rewrite(graph, rules)
    found = trace(graph, rules)
    steps.extend(found.steps)
    return found.graph
