"""Insertion of the conversions that implementations need."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from graphrewrite.execution.implementation.choice import Fit, Wanted, choose
from graphrewrite.execution.implementation.implementation import Implementation, check_implementations
from graphrewrite.graph import Graph
from graphrewrite.hierarchy.conversion import Casting, Conversion, Permuting
from graphrewrite.hierarchy.region_conversion import converted
from graphrewrite.rewriting.passes import Pass

__all__ = ["chosen", "insert_conversions"]

_STANDING = frozenset({"constant", "input", "output", "transfer"})


def chosen(implementations: Iterable[Implementation], graph: Graph) -> dict[str, Fit]:
    """Return the best implementation of each node that has one."""
    candidates = check_implementations(implementations)
    fits = {}
    for node, data in graph.nodes(data=True):
        if data.get("type") not in _STANDING:
            fit = choose(candidates, Wanted.of(graph, node))
            if fit is not None:
                fits[node] = fit
    return fits


def insert_conversions(implementations: Iterable[Implementation]) -> Pass:
    """Return a pass that converts nodes to the element type and layout of their best implementation.

    Adjacent nodes with equal requirements are converted together: casts and transposes are inserted at their border.

    Parameters
    ----------
    implementations : iterable of Implementation
        The implementations to choose from.
    """
    candidates = check_implementations(implementations)

    def function(graph: Graph) -> list[str]:
        changed: list[str] = []
        conversions: tuple[tuple[str, Callable[[str], Conversion]], ...] = (("element", Casting), ("layout", Permuting))
        for name, conversion in conversions:  # a cast keeps the layout, so one round for each is enough
            groups: dict[str, list[str]] = {}
            for node, fit in chosen(candidates, graph).items():
                target = getattr(fit, name)
                if target is not None:
                    groups.setdefault(target, []).append(node)
            for target, nodes in sorted(groups.items()):
                inserted, _ = converted(graph, nodes, conversion(target))
                changed += nodes if inserted else []
        return changed

    return Pass("insert_conversions", function, "rounding", "Insert the conversions that implementations need.")
