"""The neighbourhood of an edit: affected nodes of rules that look beyond what they match."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from graphrewrite.graph.edit import Edit
from graphrewrite.rewriting.engine.members import PatternRule
from graphrewrite.rewriting.pattern import Every, Repeated, height_of

__all__ = ["Neighbourhood", "nodes_near"]


class Neighbourhood:
    """Affected nodes near an edit, for rules that count readers, forbid neighbours, or are made of graphs.

    Parameters
    ----------
    rules : iterable of Rule or rule made of graphs
        All rules; `AffectedNodes` is enough for those that look only at matched nodes.
    """

    def __init__(self, rules: Iterable[Any] = ()) -> None:
        self.is_unbounded = False
        self.kinds: list[frozenset[str] | None] = []
        """By distance from an edit, the types of the nodes that it may concern; None for any."""
        self.above: list[frozenset[str] | None] = []
        """The same of nodes on the way up from values whose number of readers has changed."""
        self.denied: frozenset[str] | None = frozenset()
        self.radius = 0
        self.several: dict[Any, SeveralUnits] = {}
        self.reporting: list[Any] = []
        for rule in rules:
            self.enter(rule)

    def enter(self, rule: Any) -> None:
        """Add a rule."""
        radius = rule.definition.radius if isinstance(rule, PatternRule) else rule.radius
        if radius is None:
            self.is_unbounded = True
            return
        if not isinstance(rule, PatternRule):
            self.reporting.append(rule)  # it finds the nodes itself
            return
        if radius:
            self.radius = max(self.radius, radius)
            _extend(self.kinds, radius, rule)
            denied = rule.definition.denied_kinds
            self.denied = None if denied is None or self.denied is None else self.denied | denied
        if rule.definition.height:
            _extend(self.above, rule.definition.height, rule)
        for root in rule.pattern.roots:
            if isinstance(root, Repeated | Every):
                units = SeveralUnits.of(root)
                self.several[units] = units

    @property
    def is_asked(self) -> bool:
        """Whether there is any such rule."""
        return bool(self.radius or self.above or self.several or self.reporting)

    def after(self, graph: Any, edit: Edit, affected: dict[Any, None]) -> None:
        """Add the nodes at which an edit may have enabled a match."""
        for rule in self.reporting:
            affected.update(dict.fromkeys(rule.enabled_by(graph, edit)))
        for units in self.several:
            units.after(graph, edit, affected)
        if self.above:
            self.climb(graph, edit, affected)
        if not self.radius or not self.allows(graph, edit):
            return
        for name, distance in nodes_near(graph, edit, self.radius).items():
            kinds = self.kinds[distance]
            if kinds is None or graph._node[name].get("type") in kinds:
                affected[name] = None

    def climb(self, graph: Any, edit: Edit, affected: dict[Any, None]) -> None:
        """Add the nodes above values whose number of readers has changed."""
        node, succ = graph._node, graph._succ
        sources = [source for source, *_ in (*edit.linked, *edit.unlinked)]
        for entry in edit.lost:
            sources += entry[2] if len(entry) == 4 else entry[:1] if len(entry) == 3 else ()
        layer: dict[Any, None] = {name: None for name in sources if name in node}
        for kinds in self.above:
            affected.update((name, None) for name in layer if kinds is None or node[name].get("type") in kinds)
            layer = {reader: None for name in layer for reader in succ[name]}

    def allows(self, graph: Any, edit: Edit) -> bool:
        """Tell whether an edit may have done away with what a rule forbids, or changed what it asks for."""
        if self.denied is None or edit.changed:
            return True
        new = {name for name, _ in edit.added}
        ends = {end for _, end, *_ in (*edit.linked, *(entry for entry in edit.lost if len(entry) == 3))} - new
        data = [graph._node[name] for name in ends if name in graph._node]
        data += [entry[1] for entry in edit.lost if len(entry) == 4]
        return any(each.get("type") in self.denied for each in data)


def _extend(kinds: list[frozenset[str] | None], distance: int, rule: PatternRule) -> None:
    """Add the types of a rule's roots to those of nodes up to a distance."""
    own = rule.definition.root_kinds
    kinds += [frozenset()] * (distance + 1 - len(kinds))
    for at, known in enumerate(kinds[: distance + 1]):
        kinds[at] = None if own is None or known is None else known | own


@dataclass(frozen=True)
class SeveralUnits:
    """A root that is a run or a group, of which each change of a unit makes another one.

    Attributes
    ----------
    is_group : bool
        Whether it is a group.
    height : int
        The number of nodes from the top of a unit down to the value on which it stands.
    kinds : frozenset of str
        The types of a unit's nodes; empty for any.
    tops : frozenset of str
        The types of its top; empty for any.
    """

    is_group: bool
    height: int
    kinds: frozenset[str]
    tops: frozenset[str]

    @classmethod
    def of(cls, root: Repeated | Every) -> SeveralUnits:
        """Return that of a root."""
        nodes, top = root.unit.nodes, root.unit.top
        kinds = frozenset(kind for node in nodes for kind in node.kinds) if all(n.kinds for n in nodes) else frozenset()
        return cls(isinstance(root, Every), height_of(top), kinds, top.kinds)

    def after(self, graph: Any, edit: Edit, affected: dict[Any, None]) -> None:
        """Add the tops of runs and groups that an edit may have made: those that share a value with a changed unit."""
        node, pred, succ = graph._node, graph._pred, graph._succ
        # What nodes of a unit read: a link that goes ends the run above it, and a member that goes leaves a group.
        layer: dict[Any, None] = {}
        for entry in edit.lost:
            if len(entry) == 4:
                layer.update(dict.fromkeys(entry[2] if self.admits(entry[1]) else ()))
            elif len(entry) == 3 and entry[1] in node and self.admits(node[entry[1]]):
                layer.update(dict.fromkeys((entry[0], *pred[entry[1]])))
        changed = [name for name, _ in edit.changed]
        if not self.is_group:
            changed += [reader for _, reader, _ in edit.linked]
        for name in changed:
            layer.update(dict.fromkeys(pred[name] if self.admits(node[name]) else ()))
        values: dict[Any, None] = {name: None for name in layer if name in node}
        layer = values.copy()
        for _ in range(1, self.height):
            layer = {source: None for name in layer for source in pred[name] if source not in values}
            values.update(layer)
        if not self.is_group:  # the value itself may be the top of a run; a new reader ends the run that held it
            values.update((source, None) for source, _, _ in edit.linked)
            affected.update((name, None) for name in values if self.is_top(node[name]))
            return
        for _ in range(self.height):
            values = {reader: None for name in values for reader in succ[name]}
            affected.update((name, None) for name in values if self.is_top(node[name]))

    def admits(self, data: dict[str, Any]) -> bool:
        """Tell whether a node may be of a unit."""
        return not self.kinds or data.get("type") in self.kinds

    def is_top(self, data: dict[str, Any]) -> bool:
        """Tell whether a node may be the top of a unit."""
        return not self.tops or data.get("type") in self.tops


def nodes_near(graph: Any, edit: Edit, radius: int) -> dict[Any, int]:
    """Return the nodes within a radius of those that an edit has touched, with their distance from them."""
    node, succ, pred = graph._node, graph._succ, graph._pred
    touched = [name for name, _ in (*edit.added, *edit.changed)]
    touched += [end for source, destination, *_ in (*edit.linked, *edit.unlinked) for end in (source, destination)]
    touched += [end for entry in edit.lost if len(entry) == 4 for end in (*entry[2], *entry[3])]
    near: dict[Any, int] = {name: 0 for name in touched if name in node}
    layer = list(near)
    for distance in range(1, radius + 1):
        layer = list(dict.fromkeys(m for n in layer for side in (succ[n], pred[n]) for m in side if m not in near))
        near.update(dict.fromkeys(layer, distance))
    return near
