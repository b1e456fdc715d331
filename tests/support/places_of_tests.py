"""Places of the networks that tests lower, cut out, where rules of the lowerings fire or decline: a pytest plugin."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator

import pytest

from graphrewrite import Graph, Pass, Rule, trace
from graphrewrite.formats import to_text
from graphrewrite.graph import Operand
from graphrewrite.lowering.integer import integer_lowering
from graphrewrite.lowering.streaming import stream_lowering
from graphrewrite.rewriting.match.match import Match
from graphrewrite.rewriting.match.search import find_at
from graphrewrite.rewriting.traces import Step, Trace
from tests.quality.instances import cut_out
from tests.support.lowering_rules import RULES

__all__ = ["Places", "places_of"]

_MOST = 12
"""Places of a rule that are kept where it fires, and so many where it declines."""
_ALIKE = 2
"""Of them, those that have the same ops."""
_STATES = 4
"""Of a network on its way down, in which places are looked for where rules decline."""
_NAMES = {id(rule): name for name, rule in RULES.items()}


class Places:
    """A plugin that looks on while tests lower networks.

    Attributes
    ----------
    texts : dict of str to list of str
        By rule, graphs in which its pattern is, the shorter ones first.
    """

    def __init__(self, longest: int) -> None:
        self.texts: defaultdict[str, list[str]] = defaultdict(list)
        self._longest = longest
        self._forms: Counter[tuple[str, bool, tuple[str, ...]]] = Counter()
        self._counts: Counter[tuple[str, bool]] = Counter()

    def pytest_sessionstart(self) -> None:
        """Stand where lowerings rewrite."""
        for module in (integer_lowering, stream_lowering):
            pytest.MonkeyPatch().setattr(module, "recorded", self._rewritten)

    def _rewritten(self, graph: Graph, rules: Iterable[Rule | Pass], steps: list[Step] | None) -> Graph:
        rules = [*rules]
        done = trace(graph, rules)
        if steps is not None:
            steps.extend(done.steps)
        for name, fires, place in (*self._fired(done), *self._declined(done, rules)):
            self._keep(name, fires, place)
        return done.graph

    def _fired(self, done: Trace) -> Iterator[tuple[str, bool, Graph]]:
        for number, (_, step) in enumerate(zip(done.noted, done.steps, strict=True)):
            name = _NAMES.get(id(done.members.get(step.rule)))
            if name is not None and self._counts[name, True] < _MOST:
                yield name, True, cut_out(done.graph_after(number), step.match.nodes)

    def _declined(self, done: Trace, rules: Iterable[Rule | Pass]) -> Iterator[tuple[str, bool, Graph]]:
        wanted = [r for r in rules if isinstance(r, Rule) and self._counts[_NAMES.get(id(r), ""), False] < _MOST]
        for number in sorted({len(done) * i // (_STATES - 1) for i in range(_STATES)}):
            graph = done.graph_after(number)
            for rule in wanted:
                kinds, name = rule.definition.root_kinds, _NAMES.get(id(rule))
                for node in graph.in_order() if name is not None else ():
                    if kinds is None or graph.nodes[node]["type"] in kinds:
                        for found in find_at(rule.pattern, graph, node, shared=rule.shared):
                            yield name or "", False, cut_out(graph, Match(rule, found.images, found.values).nodes)

    def _keep(self, name: str, fires: bool, place: Graph) -> None:
        form = name, fires, tuple(sorted(place.nodes[n]["type"] for n in place))
        if self._counts[name, fires] >= _MOST or self._forms[form] >= _ALIKE:
            return
        if not fires and RULES[name].find(place):
            return
        if not place.outputs:
            place.output("y", place.value(Operand([*place.in_order()][-1]).node))
        text = to_text(place, whole=True)
        if len(text) <= self._longest and text not in self.texts[name]:
            self._forms[form] += 1
            self._counts[name, fires] += 1
            self.texts[name].append(text)


def places_of(tests: Iterable[str], longest: int) -> dict[str, list[str]]:
    """Run tests; return the places of their networks, by rule, as texts of so many letters at most."""
    places = Places(longest)
    loaded = "-Wignore::pytest.PytestAssertRewriteWarning"  # the package is, already
    pytest.main(["-q", "-n0", loaded, "-pno:cacheprovider", "--hypothesis-profile=quick", *tests], plugins=[places])
    return {name: sorted(texts, key=len) for name, texts in places.texts.items()}
