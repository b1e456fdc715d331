"""Order and selection of the nodes at which rules are applied, and the measure that a rewrite must lower."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from graphrewrite.errors import GraphError, RewriteError, RuleError, not_there
from graphrewrite.graph.dataflow import Dataflow
from graphrewrite.graph.edit import Edit
from graphrewrite.hierarchy.operator import Operator
from graphrewrite.hierarchy.region import GraphView
from graphrewrite.rewriting.engine.members import PatternRule
from graphrewrite.rewriting.rule.outcome import Declined

__all__ = ["Strategy"]


@dataclass(frozen=True)
class Strategy:
    """Options of `graphrewrite.rewrite`, which explains them."""

    at: Any = None
    once: bool = False
    order: str = "bottom-up"
    first: str = "place"
    measure: Callable[[dict[str, Any]], float] | None = None
    region: set[Any] | None = None
    """The nodes that rules may replace, where ``at`` is a region: new nodes join it."""

    @classmethod
    def of(cls, graph: Any, at: Any, **options: Any) -> Strategy:
        """Return the strategy for a graph."""
        if not isinstance(at, GraphView | Operator):
            return cls(at=at, **options)
        if at.graph is not graph:
            raise RuleError(f"{at!r} is of another graph than {graph!r}; get that of this one")
        return cls(region=set(at.nodes), **options)

    @property
    def judges(self) -> bool:
        """Whether it may decline an edit."""
        return self.measure is not None or self.region is not None

    @property
    def is_single(self) -> bool:
        """Whether no node is looked at again."""
        return self.once or self.at is not None

    def check(self, graph: Any, rules: Sequence[Any], limit: int | None) -> None:
        """Raise unless the options make sense for a graph and rules."""
        if self.order not in ("bottom-up", "top-down") or self.first not in ("place", "rule"):
            raise RuleError("order is 'bottom-up' or 'top-down', and first is 'place' or 'rule'")
        for node in self.chosen(graph):
            if node not in graph:
                raise not_there(node, graph)
        if self.is_single or self.measure is not None or limit is not None:
            return
        for rule in rules:
            if isinstance(rule, PatternRule) and rule.definition.contains_itself:
                message = "its replacement contains its own pattern, so that it never ends; apply it with once=True, "
                message += "give a measure that must fall, or let it decline"
                raise RewriteError(str(rule.complain(message)))

    def chosen(self, graph: Any) -> list[Any]:
        """Return the nodes that ``at`` names."""
        if self.at is None:
            return []
        # A tuple may be the name of one node of a digraph.
        several = isinstance(self.at, list | tuple | set | frozenset) and self.at not in graph
        return list(self.at) if several else [self.at]

    def ordered(self, graph: Any, nodes: list[Any]) -> list[Any]:
        """Return those of some nodes at which rules may be applied, in the order in which they are looked at."""
        if isinstance(graph, Dataflow):
            try:
                order = graph.in_layers(nodes)
            except GraphError as error:
                reason = str(error).removeprefix(f"node {error.node!r}: ")  # which the new error has as well
                raise GraphError(f"{reason}; rules go from operands to readers", node=error.node) from None
        else:
            # A plain digraph may have cycles: any order that does not depend on how it was built will do.
            order = sorted(nodes, key=lambda n: (str(graph._node[n].get("type", "")), str(n)))
        if self.order == "top-down":
            order.reverse()
        if self.at is not None:
            chosen = set(self.chosen(graph))
            order = [n for n in order if n in chosen]
        return order if self.region is None else [n for n in order if n in self.region]

    def follow(self, edit: Edit) -> None:
        """Let the region follow an edit."""
        if self.region is not None:
            self.region.difference_update(edit.removed)
            self.region.update(name for name, _ in edit.added)

    def judge(self, graph: Any, edit: Edit) -> Edit | Declined:
        """Decline an edit that gains nothing, or replaces something outside of the region."""
        touched = (*edit.removed, *(node for node, _ in edit.changed)) if self.region is not None else ()
        for node in touched:  # a constant that only the region reads goes with its readers
            if node not in (self.region or ()) and graph._node[node].get("type") != "constant":
                return Declined(f"it would replace {node!r}, which is outside of the region")
        if self.measure is None:
            return edit
        before = sum(self.measure(graph._node[n]) for n in edit.removed)
        after = sum(self.measure(data) for _, data in edit.added)
        if after < before:
            return edit
        return Declined(f"it would not lower the measure: {after} after {before}")
