"""Reasons why a rule never matched."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable
from typing import Any

__all__ = ["obstacles"]

_QUOTED = re.compile(r"'([^']*)'")


def obstacles(member: Any, graphs: Iterable[Any]) -> Counter[str]:
    r"""Return the reasons why a rule does not match in some graphs, counted, without the names of nodes.

    Examples
    --------
    >>> from graphrewrite import Graph, op, rule
    >>> @rule
    ... def drop_double_negation(x):
    ...     yield op.neg(op.neg(x))
    ...     return x
    >>> g = Graph.parse("graph g\nx = input() : f32[N]\na = relu(x)\nb = neg(a)\ny = output(b)")
    >>> dict(obstacles(drop_double_negation, [g]))
    {'a node is relu, and the pattern needs neg': 1}
    """
    reasons: Counter[str] = Counter()
    if not hasattr(member, "explain"):
        return reasons
    kinds = member.kinds if hasattr(member, "kinds") else member.definition.root_kinds
    for graph in graphs:
        for node, data in graph.nodes(data=True):
            if kinds is None or data.get("type") in kinds:
                said = member.explain(graph, at=node).removeprefix(f"{member.name} does not match at {node!r}")
                reason = said.partition(": ")[2].removesuffix(".")
                reasons[_without_names(reason, graph)] += 1
    if not reasons:
        wanted = " or ".join(map(repr, sorted(kinds or ())))
        reasons[f"no graph had a node of type {wanted}"] = 1
    return reasons


def _without_names(reason: str, graph: Any) -> str:
    return _QUOTED.sub(lambda quoted: "a node" if quoted[1] in graph else quoted[0], reason)
