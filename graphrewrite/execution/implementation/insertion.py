"""Insertion of the conversions that implementations need."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from graphrewrite.execution.implementation.choice import chosen
from graphrewrite.execution.implementation.implementation import Implementation, check_implementations
from graphrewrite.graph import Graph
from graphrewrite.hierarchy.conversion import Casting, Conversion, Permuting
from graphrewrite.hierarchy.region_conversion import converted
from graphrewrite.rewriting.passes import Pass

__all__ = ["insert_conversions"]


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
                # A cast beside a cast would ask for casts again, without end.
                if target is not None and graph.nodes[node].get("type") != "cast":
                    groups.setdefault(target, []).append(node)
            for target, nodes in sorted(groups.items()):
                inserted, _ = converted(graph, nodes, conversion(target))
                changed += nodes if inserted else []
        return changed

    return Pass("insert_conversions", function, "rounding", "Insert the conversions that implementations need.")
