"""Insert the conversions that implementations need."""

from __future__ import annotations

from collections.abc import Iterable

from graphrewrite.conversion import Casting, Conversion, Permuting
from graphrewrite.conversion.region import converted
from graphrewrite.graph import Graph
from graphrewrite.implementation.choice import Fit, Wanted, choose
from graphrewrite.implementation.implementation import Implementation, check_implementations
from graphrewrite.passes import Pass

__all__ = ["chosen", "insert_conversions"]

_STANDING = frozenset({"constant", "input", "output", "transfer"})


def chosen(implementations: Iterable[Implementation], graph: Graph) -> dict[str, Fit]:
    """Return the implementation of each node that has one.

    Parameters
    ----------
    implementations : iterable of Implementation
        To choose from.
    graph : Graph
        Whose nodes; inputs, outputs, constants and transfers need none.

    Returns
    -------
    dict of str to Fit

    Raises
    ------
    EvaluationError
        If a node wants a backend or kernel that no implementation offers.
    """
    given = check_implementations(implementations)
    found = {}
    for node, data in graph.nodes(data=True):
        if data.get("type") not in _STANDING:
            fit = choose(given, Wanted.of(graph, node))
            if fit is not None:
                found[node] = fit
    return found


def insert_conversions(implementations: Iterable[Implementation]) -> Pass:
    """Return a pass that lets nodes compute in the element type and layout which their best implementation needs.

    Neighbours that need the same are converted together: casts and transposes stand where a value enters or leaves.

    Parameters
    ----------
    implementations : iterable of Implementation
        To choose from.

    Returns
    -------
    Pass
    """
    given = check_implementations(implementations)

    def function(graph: Graph) -> list[str]:
        changed: list[str] = []
        kinds: dict[tuple[str, str], Conversion] = {}
        places: dict[tuple[str, str], list[str]] = {}
        for what in ("element", "layout"):  # a cast keeps the layout, so that one after the other is enough
            places.clear()
            for node, fit in chosen(given, graph).items():
                wanted = getattr(fit, what)
                if wanted is not None:
                    kinds[what, wanted] = Casting(wanted) if what == "element" else Permuting(wanted)
                    places.setdefault((what, wanted), []).append(node)
            for key, nodes in sorted(places.items()):
                inserted, _ = converted(graph, nodes, kinds[key])
                changed += nodes if inserted else []
        return changed

    return Pass("insert_conversions", function, "rounding", "Insert the conversions that implementations need.")
