"""What a property is tested of, in one form: a rule, a pass, a rule set, or a function from graph to graph."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable

from hypothesis import strategies as st

from graphrewrite.errors import GraphRewriteError
from graphrewrite.graph import Graph
from graphrewrite.passes import Pass
from graphrewrite.rewrite import GraphRewriting
from graphrewrite.rule import Rule
from graphrewrite.testing.comparison import snapshot
from graphrewrite.testing.counterexample import Counterexample
from graphrewrite.testing.strategies import graphs
from graphrewrite.trace import trace
from graphrewrite.verify import verify

__all__ = ["Refuted", "Subject", "Transformation", "applied"]

Single = Rule | GraphRewriting | Pass
Transformation = Single | Iterable[Single] | Callable[[Graph], Graph]
"""A rule, a pass, a rule set, or a function from graph to graph."""


class Refuted(AssertionError):
    """A counterexample, on its way out of a search."""

    def __init__(self, found: Counterexample) -> None:
        self.found = found
        super().__init__(str(found))


class Subject:
    """A transformation in one form, whatever it was given as."""

    def __init__(self, given_: Transformation) -> None:
        self.members: tuple[Single, ...] = ()
        if isinstance(given_, Rule | GraphRewriting | Pass):
            self.members = (given_,)
        elif isinstance(given_, Iterable):
            self.members = tuple(given_)
        else:
            self.function = given_
        alone = self.members[0].name if len(self.members) == 1 else f"{len(self.members)} rules"
        self.name = getattr(given_, "__name__", alone)
        kept = {getattr(m, "keeps", "exact") for m in self.members}
        self.keeps = "exact" if kept <= {"exact"} else "rounding"

    def apply(self, graph: Graph) -> tuple[Graph, Counter[str]]:
        """Return what is made of a graph, and which members changed something."""
        if not self.members:
            made = self.function(graph)
            return made, Counter({self.name: 1} if made != graph else {})
        done = trace(graph, self.members, verify=True, limit=20 + 5 * len(graph))
        return done.graph, Counter(dict.fromkeys(done.counts, 1))

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the members."""
        return tuple(m.name for m in self.members) or (self.name,)

    def graphs(self, names: Iterable[str]) -> st.SearchStrategy[Graph]:
        """Graphs on which these members may fire."""
        wanted = set(names)
        chosen = [m for m in self.members if m.name in wanted]
        kinds = [graphs(containing=m) for m in chosen if isinstance(m, Rule)]
        if len(kinds) < len(chosen) or not kinds:
            kinds.append(graphs())
        return st.one_of(kinds)


def applied(subject: Subject, graph: Graph) -> tuple[Graph, Counter[str]]:
    """Apply a transformation to a graph that must stay as it is; the result must be well formed."""
    old = snapshot(graph)
    try:
        made, fired = subject.apply(graph)
    except GraphRewriteError as error:
        raise Refuted(Counterexample(graph, None, f"{subject.name} failed: {error}")) from None
    if snapshot(graph) != old:
        raise Refuted(Counterexample(graph, made, f"{subject.name} changed the graph that it was given"))
    try:
        verify(made)
    except GraphRewriteError as error:
        reason = f"{subject.name} gives a graph that is not well formed: {error}"
        raise Refuted(Counterexample(graph, None, reason)) from None
    return made, fired
