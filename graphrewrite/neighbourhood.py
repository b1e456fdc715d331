"""Rules that look beyond what they match: which of their places an edit can have enabled."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from graphrewrite.edit import Edit
from graphrewrite.rule import Rule

__all__ = ["Neighbourhood"]


class Neighbourhood:
    """Places near an edit, for rules that count readers, forbid neighbours, or are made of graphs.

    Parameters
    ----------
    rules : iterable of Rule or rule made of graphs
        All rules; those that look only at what they match are left to `graphrewrite.index.Wake`.
    """

    def __init__(self, rules: Iterable[Any]) -> None:
        self.is_unbounded = False
        self.kinds: frozenset[str] | None = frozenset()
        self.radius = 0
        self.telling: list[Any] = []
        for rule in rules:
            radius = rule.definition.radius if isinstance(rule, Rule) else rule.radius
            if radius is None:
                self.is_unbounded = True
            elif not isinstance(rule, Rule):
                self.telling.append(rule)  # it says itself where
            elif radius:
                self.radius = max(self.radius, radius)
                kinds = rule.definition.root_kinds
                self.kinds = None if kinds is None or self.kinds is None else self.kinds | kinds

    @property
    def is_asked(self) -> bool:
        """Whether there is any such rule."""
        return bool(self.radius or self.telling)

    def after(self, graph: Any, edit: Edit, found: dict[Any, None]) -> None:
        """Tell which nodes to look at again after an edit; see `graphrewrite.index.Wake.after`."""
        for rule in self.telling:
            found.update(dict.fromkeys(rule.enabled_by(graph, edit)))
        if not self.radius:
            return
        node, succ, pred = graph._node, graph._succ, graph._pred
        seen: dict[Any, None] = dict.fromkeys(n for n in _touched(edit) if n in node)
        layer = list(seen)
        for _ in range(self.radius):
            layer = [m for n in layer for side in (succ[n], pred[n]) for m in side if m not in seen]
            seen.update(dict.fromkeys(layer))
        for name in seen:
            if self.kinds is None or node[name].get("type") in self.kinds:
                found[name] = None


def _touched(edit: Edit) -> Iterable[Any]:
    for name, _ in (*edit.added, *edit.changed):
        yield name
    for source, destination, *_ in (*edit.linked, *edit.unlinked):
        yield source
        yield destination
    for entry in edit.lost:
        if len(entry) == 4:
            yield from entry[2]
            yield from entry[3]
