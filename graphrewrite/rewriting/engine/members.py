"""Members of a rule set as the engine sees them, so that a rule may call the engine that applies it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, Protocol, runtime_checkable

from graphrewrite.errors import GraphRewriteError, RuleError
from graphrewrite.graph import Graph
from graphrewrite.graph.edit import Edit
from graphrewrite.rewriting.match import Match
from graphrewrite.rewriting.pattern import Pattern
from graphrewrite.rewriting.rule.outcome import Declined
from graphrewrite.rewriting.rule.tracing import Definition
from graphrewrite.runtime.source_location import located

__all__ = ["GraphRewriting", "Member", "PatternRule", "Rules", "WholeGraph", "is_pass", "members_of"]


class PatternRule:
    """Base of a member whose pattern is made of ops, which the engine indexes and compiles: of `graphrewrite.Rule`.

    A class and no protocol: every rewrite tests each of its rules, and isinstance of a protocol is slow.
    """

    name: str
    file: str
    line: int
    shared: str
    pattern: Pattern
    definition: Definition

    def edit(self, graph: Any, match: Match, *, fresh: Callable[[str], str] | None = None) -> Edit | Declined:
        """Return the edit that applies a match."""
        raise NotImplementedError

    def run(self, replay: Any, node: str) -> Any:
        """Run the function on a match at a node; return its result."""
        raise NotImplementedError

    def keeps_levels(self, graph: Any, matched: Sequence[str], new: Sequence[Any]) -> bool:
        """Tell whether the rule's kind allows the levels of new parts in place of matched nodes."""
        raise NotImplementedError

    def named(self, error: GraphRewriteError, *, at: str | None = None) -> GraphRewriteError:
        """Return an error that names the rule."""
        raise NotImplementedError

    def complain(self, message: str) -> RuleError:
        """Return an error about how the rule is written."""
        raise NotImplementedError


@runtime_checkable
class GraphRewriting(Protocol):
    """A member that finds matches and plans edits by itself, such as a rule made of two graphs."""

    name: str
    file: str
    line: int

    @property
    def kinds(self) -> frozenset[str] | None:
        """Types of the nodes at which a match may be found; None for any."""

    @property
    def radius(self) -> int | None:
        """Greatest distance at which a node decides about a match, in edges of either direction; None if unbounded."""

    def matches_at(self, graph: Any, node: Any, obstacle: Any = None) -> Iterator[Any]:
        """Yield the matches that are found at a node."""

    def edit(self, graph: Any, match: Any) -> Edit | Declined:
        """Return the edit that applies a match."""

    def enabled_by(self, graph: Any, edit: Edit) -> Iterable[Any]:
        """Return the nodes at which an edit that was applied may have enabled a match."""


class WholeGraph(Protocol):
    """A member that works on whole graphs, such as a `graphrewrite.Pass`."""

    @property
    def name(self) -> str:
        """Name in messages and traces."""

    def apply_in_place(self, graph: Graph) -> list[str]:
        """Change a graph; return the names of the removed nodes."""


Member = PatternRule | GraphRewriting
Rules = Iterable[PatternRule | GraphRewriting | WholeGraph] | PatternRule | GraphRewriting | WholeGraph
"""A rule set: rules and passes; or one of them."""


def is_pass(member: Any) -> bool:
    """Tell whether a member works on whole graphs; without isinstance, which is slow for protocols."""
    return hasattr(member, "apply_in_place") and hasattr(member, "name")


def members_of(rule_set: Rules) -> list[Any]:
    """Return the members of a rule set, each once; one rule is a set of its own."""
    # By identity: a rule may be in a set twice, but two rules of one name would be confused in traces and messages.
    members: dict[int, Any] = {}
    by_name: dict[str, Any] = {}
    for member in rule_set if isinstance(rule_set, Iterable) else (rule_set,):
        if hasattr(member, "phases"):
            raise RuleError(f"{member!r} is a pipeline; call it on the graph")
        if not (isinstance(member, PatternRule) or is_pass(member) or isinstance(member, GraphRewriting)):
            raise RuleError(f"{member!r} is neither a rule nor a pass; decorate it with @rule")
        members[id(member)] = member
        namesake = by_name.setdefault(member.name, member)
        if namesake is not member:
            rules = [m for m in (namesake, member) if isinstance(m, PatternRule | GraphRewriting)]
            locations = ", ".join(located(m.file, m.line) for m in rules)
            raise RuleError(
                f"two rules of the set are named {member.name!r} ({locations}); rename one, or leave one out"
            )
    return list(members.values())
