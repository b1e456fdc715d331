"""Rules: a generator function with one yield; the pattern above it, the replacement below."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

from graphrewrite.errors import GraphError, GraphRewriteError, RewriteError, RuleError
from graphrewrite.graph import Graph
from graphrewrite.graph.edit import Edit
from graphrewrite.graph.fresh_names import GreatestNumbers
from graphrewrite.hierarchy.implementations import is_implemented
from graphrewrite.rewriting.engine.entry import rewrite
from graphrewrite.rewriting.engine.members import PatternRule
from graphrewrite.rewriting.engine.plan import plan
from graphrewrite.rewriting.facts.observation import observing
from graphrewrite.rewriting.match import Candidates, Match, Obstacle, Root, find_at
from graphrewrite.rewriting.pattern import Every, Pattern
from graphrewrite.rewriting.rule.explanation import Explanation
from graphrewrite.rewriting.rule.levels import keeps_levels, wrong_kind, wrong_levels
from graphrewrite.rewriting.rule.outcome import NOTHING, Declined
from graphrewrite.rewriting.rule.replacement import Replay
from graphrewrite.rewriting.rule.tracing import Definition, read_definition
from graphrewrite.runtime.display import Displayed

__all__ = ["Match", "Rule"]

_REFUSED_WRITES = {
    "read-only": "arrays of a graph cannot be changed: compute a new one, as w.value * 2 does",
    "mappingproxy": "the data of a matched node cannot be changed: return a new node, like= gives it the data",
}
"""What Python says of a write into a matched node, and what to do instead."""


class Rule(Displayed, PatternRule):
    """A rewrite rule; made by the decorator `rule`.

    Attributes
    ----------
    name : str
        The function's name.
    pattern : Pattern
        The nodes that it looks for.
    keeps : str
        ``"exact"`` (same bits), ``"rounding"`` (within rounding errors of floats) or ``"assumes"`` (what its
        docstring states).
    shared : str
        How a matched node is treated that is no root and has a reader outside of the match: ``"refuse"`` the match,
        ``"keep"`` the node for that reader, or ``"duplicate"`` it where the replacement uses it.
    interval : float
        By what factor a frame may take more cycles after it, in a graph of streams.
    kind : str
        ``"transformation"``, which stays on its level, or ``"lowering"``, which goes to a more specific one.
    file, line : str, int
        Its source location.
    """

    def __init__(
        self,
        function: Callable[..., Any],
        *,
        keeps: str = "exact",
        shared: str = "refuse",
        kind: str = "transformation",
        interval: float = 1.0,
    ) -> None:
        self.definition: Definition = read_definition(function, keeps=keeps, shared=shared)
        self.function, self.keeps, self.shared, self.kind = function, keeps, shared, kind
        self.interval = interval
        self.name, self.file, self.line = self.definition.name, self.definition.file, self.definition.line
        self.pattern: Pattern = self.definition.pattern
        self.__doc__, self.__name__ = self.definition.doc, function.__name__
        self.__module__, self.__qualname__ = function.__module__, function.__qualname__
        if wrong := wrong_kind(kind, self.definition):
            raise self.complain(wrong)

    def complain(self, message: str) -> RuleError:
        """Return an error that names this rule and its source location."""
        return self.definition.complain(message)

    # ------------------------------------------------------------------ using it

    def find(self, graph: Graph) -> list[Match]:
        """Return every match that the rule accepts, in topological order of the roots."""
        candidates = Candidates(graph)
        fresh = _names_for(graph)
        kinds = self.definition.root_kinds
        with observing(graph):
            return [
                match
                for node in graph.in_order()
                if kinds is None or graph._node[node].get("type") in kinds
                for match in self._matches(graph, node, candidates=candidates)
                if not isinstance(self.edit(graph, match, fresh=fresh), Declined)
            ]

    def matches_at(self, graph: Graph, node: str, obstacle: Obstacle | None = None) -> Iterator[Match]:
        """Yield the matches whose first root is a node; the rule may still decline them.

        Of a group, the node is its first member by name. An obstacle collects why there is none.
        """
        return self._matches(graph, node, obstacle=obstacle)

    def _matches(self, graph: Graph, node: str, **options: Any) -> Iterator[Match]:
        try:
            for embedding in find_at(self.pattern, graph, node, shared=self.shared, **options):
                yield Match(self, embedding.images, embedding.values)
        except GraphRewriteError as error:
            raise self.named(error) from error

    def named(self, error: GraphRewriteError, *, at: str | None = None) -> GraphRewriteError:
        """Return an error that names this rule, and the node where it failed, if it does not yet."""
        if str(error).startswith("rule "):  # named already, further in
            return error
        kind = type(error) if isinstance(error, RewriteError | GraphError) else RuleError
        return kind(str(self.complain(str(error) if at is None else f"failed at {at!r}: {error}")))

    def edit(self, graph: Graph, match: Match, *, fresh: Callable[[str], str] | None = None) -> Edit | Declined:
        """Return the edit that applies a match; nothing is changed yet.

        ``fresh`` returns a free name for a stem. `graphrewrite.graph.edit.apply_edit` makes the changes.

        Raises
        ------
        RuleError
            If the rule fails below its yield, or returns something that is no replacement.
        RewriteError
            If the replacement would corrupt the graph.
        """
        for node in () if graph.library is None else match.nodes:
            if is_implemented(graph, node):
                named = graph._node[node]["implementation"]
                return Declined(f"is computed by the graph {named!r}, not by its op; inline that first", node)
        # The function runs on the match: above the yield each term recalls its match, below it ops make new parts.
        replay = Replay(graph, self.pattern, match.images, match.values)
        replaced = match.replaced(graph)
        returned = self.run(replay, replaced[0][0][0])
        if isinstance(returned, Declined):
            return returned
        # Its result becomes one part for each replaced root, and these an edit.
        roots = [root for group in replaced for root in group]
        try:
            parts = [p if p is NOTHING else replay.part(p) for p in self._aligned(returned, replaced)]
            planned = plan(graph, match.nodes, roots, parts, fresh=fresh or _names_for(graph), shared=self.shared)
            if isinstance(planned, Edit) and (wrong := wrong_levels(self.kind, graph, planned)):
                raise RewriteError(wrong)
            return planned
        except GraphRewriteError as error:
            raise self.named(error) from error

    def run(self, replay: Replay, node: str) -> Any:
        """Run the function on a match at a node; return its result."""
        run = self.function(*replay.arguments())
        try:
            replay.replay_pattern(run, asks=self.definition.asks_for_run)
            replay.replay_rest(run)
        except StopIteration as stop:
            if stop.value is None:
                raise self.complain(
                    "returns nothing; return the replacement, decline(reason), or rule.nothing for nodes that just go"
                ) from None
            return stop.value
        except GraphRewriteError as error:
            raise self.complain(f"failed at {node!r}: {error}") from error
        except Exception as error:
            advice = next((f"; {advice}" for word, advice in _REFUSED_WRITES.items() if word in str(error)), "")
            raise self.complain(
                f"fails below its yield, at {node!r}: {type(error).__name__}: {error}{advice}"
            ) from error
        raise self.complain("yields twice; a rule has one yield")

    def keeps_levels(self, graph: Graph, matched: Sequence[str], new: Sequence[Any]) -> bool:
        """Tell whether the rule's kind allows the levels of new parts in place of matched nodes."""
        return keeps_levels(self.kind, graph, matched, new)

    def _aligned(self, returned: Any, replaced: list[list[Root]]) -> list[Any]:
        """Return one value for each node that is replaced."""
        pattern = self.pattern
        sizes = [len(group) for group in replaced]
        if returned is NOTHING:
            return [NOTHING] * sum(sizes)
        # A tuple is one value for each root; of a single group it may also be one value for each member.
        is_group = len(replaced) == 1 and (sizes[0] > 1 or isinstance(pattern.roots[0], Every))
        values = list(returned) if isinstance(returned, tuple) and not is_group else [returned]
        if len(values) != len(replaced):
            raise self.complain(f"yields {len(replaced)} nodes and returns {len(values)} values; return one for each")
        flat: list[Any] = []
        for root, value, size in zip(pattern.roots, values, sizes, strict=True):
            group = size > 1 or isinstance(root, Every)
            members = list(value) if group and isinstance(value, list | tuple) else [value]
            if len(members) == 1 and value is NOTHING:
                members = [NOTHING] * size
            if len(members) != size:
                raise self.complain(
                    f"returns {len(members)} values for {root!r}, which are {size}; return one for each"
                )
            flat += members
        return flat

    def explain(self, graph: Graph, *, at: str) -> Explanation:
        """Say in one sentence why the rule does or does not apply at a node; a notebook draws it.

        Parameters
        ----------
        graph : Graph
            Any graph.
        at : str
            The node that should be the pattern's (first) root.

        Returns
        -------
        Explanation
            The sentence, with the nodes that fitted and the node that did not.
        """
        graph.value(at)
        obstacle = Obstacle(patience=1000)
        about: dict[str, Any] = {"rule": self, "graph": graph, "at": at}
        for match in self.matches_at(graph, at, obstacle):
            planned = self.edit(graph, match)
            fits, bound = match.fits, dict(zip(self.pattern.variables, match.values, strict=True))
            if not isinstance(planned, Declined):
                sentence = f"{self.name} matches at {at!r}: {match}."
                return Explanation(sentence, match=match, fits={**fits, **bound}, nodes=match.nodes, **about)
            reason = f"declined: {planned.reason}"
            obstacle.note(len(graph), planned.at or at, reason, images=fits, bound=bound, used=match.nodes)
        sentence = f"{self.name} does not match at {at!r}: {obstacle.node!r} {obstacle.reason}."
        # A match is found at its first root: a user who asks at another one should hear of it.
        others = (m for i in range(1, len(self.pattern.roots)) for m in self._matches(graph, at, entry=i))
        if (other := next((m for m in others if not isinstance(self.edit(graph, m), Declined)), None)) is not None:
            sentence += f" It is another root of what matches at {other.roots[0]!r}."
        about.update(node=obstacle.node, reason=obstacle.reason, term=obstacle.term, nodes=obstacle.used)
        return Explanation(sentence, fits={**obstacle.images, **obstacle.bound}, **about)

    def __call__(self, graph: Graph) -> Graph:
        """Return the graph with this rule applied until nothing matches."""
        return rewrite(graph, (self,))

    def __reduce__(self) -> str:
        return self.__qualname__  # as a function, it is copied and pickled by its name

    def __repr__(self) -> str:
        return f"<rule {self.name}>"

    def __str__(self) -> str:
        return f"{self.name}: {self.pattern}"


def _names_for(graph: Graph) -> Callable[[str], str]:
    """Return a function from a stem to a fresh name, which leaves the graph as it is."""
    numbers = GreatestNumbers(graph._node)
    numbers.update(graph._fresh)
    return lambda stem: numbers.fresh(stem, graph._node)
