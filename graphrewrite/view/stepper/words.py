"""Texts of a step: bindings, and the difference of the text forms."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any

import networkx as nx

from graphrewrite.errors import GraphRewriteError
from graphrewrite.formats.text import format_attribute, line_of
from graphrewrite.graph import Operand
from graphrewrite.rewriting.match import Match
from graphrewrite.rewriting.pattern import PatternNode
from graphrewrite.view.plain import plain
from graphrewrite.view.stepper.content import Binding, DiffLine

__all__ = ["bindings_of", "difference_of"]

_LETTERS = 400
_LINES = 200
"""Lines with one sign that a step shows."""

Number = Callable[[Any], int]
"""From a node to its number in the viewer."""


def bindings_of(match: Any, number: Number) -> tuple[Binding, ...]:
    """Return the bindings of a match: its variables, and the matched nodes that the rule names."""
    if match is None:
        return ()
    if not isinstance(match, Match):
        found = ((str(name), node if isinstance(node, tuple) else (node,)) for name, node in match.bindings.items())
        return tuple(_bound(name, ", ".join(map(str, nodes)), nodes, number) for name, nodes in found)
    rows = [_bound(name, _value(value), _nodes(value), number) for name, value in match.bindings.items()]
    # Local variables of the rule name matched nodes, unless a parameter has that name.
    names = set(match.bindings)
    for term, image in zip(match.rule.pattern.terms, match.images, strict=True):
        if isinstance(term, PatternNode) and isinstance(image, str) and term.name and term.name not in names:
            names.add(term.name)
            rows.append(_bound(term.name, image, (image,), number))
    return tuple(rows)


def _bound(name: str, text: str, nodes: Iterable[Any], number: Number) -> Binding:
    return Binding(plain(name, 80), plain(text, _LETTERS), tuple(map(number, nodes)))


def _value(value: Any) -> str:
    if value is None:
        return "not there"
    if isinstance(value, Operand):
        return f"{value.node}:{value.result}" if value.result else str(value.node)
    if isinstance(value, tuple) and any(isinstance(each, Operand) for each in value):
        return ", ".join(map(_value, value))
    return format_attribute(value)


def _nodes(value: Any) -> tuple[Any, ...]:
    if isinstance(value, Operand):
        return (value.node,)
    if isinstance(value, tuple):
        return tuple(node for each in value for node in _nodes(each))
    return ()


def difference_of(
    old: nx.DiGraph, new: nx.DiGraph, removed: Iterable[Any], added: Iterable[Any], kept: Iterable[Any], number: Number
) -> tuple[DiffLine, ...]:
    """Return the difference of the text forms before and after a step."""
    gone = (("-", old, node) for node in removed)
    come = (("+", new, node) for node in added)
    rewired = _bounded(_changed(old, new, kept, number))
    remark = [DiffLine(" ", "and of nodes that stay:")] if rewired else []
    return (*_lines(gone, number), *_lines(come, number), *remark, *rewired)


def _lines(entries: Iterable[tuple[str, nx.DiGraph, Any]], number: Number) -> list[DiffLine]:
    return _bounded(DiffLine(sign, _line(graph, node), number(node)) for sign, graph, node in entries)


def _changed(old: nx.DiGraph, new: nx.DiGraph, kept: Iterable[Any], number: Number) -> Iterator[DiffLine]:
    for node in kept:
        before, after = _line(old, node), _line(new, node)
        if before != after:
            yield DiffLine("-", before, number(node))
            yield DiffLine("+", after, number(node))


def _bounded(lines: Iterable[DiffLine]) -> list[DiffLine]:
    kept: list[DiffLine] = []
    left_out = 0
    for line in lines:
        if len(kept) < _LINES:
            kept.append(line)
        else:
            left_out += 1
    return [*kept, *([DiffLine(" ", f"… {left_out} more")] if left_out else [])]


def _line(graph: nx.DiGraph, node: Any) -> str:
    try:
        return plain(line_of(graph, node), _LETTERS)
    except GraphRewriteError:  # a malformed node has no text form, but is shown all the same
        return plain(f"{node} = {graph.nodes[node].get('type', '')}(…)", _LETTERS)
