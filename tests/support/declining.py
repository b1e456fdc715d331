"""Why a rule leaves graphs as they are, and which reasons its source names."""

from __future__ import annotations

import ast
import inspect
from collections.abc import Iterator

from graphrewrite import Graph, Rule, decline
from graphrewrite.rewriting.rule.outcome import Declined

__all__ = ["given_reasons", "said_reasons"]


def said_reasons(rule: Rule) -> Iterator[str]:
    """Yield how each reason begins that a rule's own function gives."""
    for call in ast.walk(ast.parse(inspect.getsource(rule.function))):
        if isinstance(call, ast.Call) and isinstance(call.func, ast.Name) and call.func.id == decline.__name__:
            said = call.args[0].values[0] if isinstance(call.args[0], ast.JoinedStr) else call.args[0]
            text = said.value if isinstance(said, ast.Constant) else ""
            yield text.partition("{")[0] if call.args[1:] else text


def given_reasons(rule: Rule, graph: Graph) -> list[str]:
    """Return the reasons that a rule gives at the places of a graph where its pattern is; it fits none of them."""
    assert rule(graph) == graph
    matches = [match for node in graph for match in rule.matches_at(graph, node)]
    return [edit.reason for edit in (rule.edit(graph, m) for m in matches) if isinstance(edit, Declined)]
