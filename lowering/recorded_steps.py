"""Rewriting with an optional record of the steps."""

from __future__ import annotations

from collections.abc import Iterable

from graphrewrite import Graph, Pass, Rule, rewrite, trace
from graphrewrite.rewriting.traces import Step

__all__ = ["recorded"]


def recorded(graph: Graph, rules: Iterable[Rule | Pass], steps: list[Step] | None) -> Graph:
    """Return the rewritten graph; append the steps to a list, if there is one."""
    if steps is None:
        return rewrite(graph, rules)
    traced = trace(graph, rules)
    steps.extend(traced.steps)
    return traced.graph
