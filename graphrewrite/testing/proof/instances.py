"""Graphs in which a rule may fire: instances of its pattern, enumerated, random, and variants of good ones."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from math import prod
from typing import Any

from graphrewrite.formats.text import to_text
from graphrewrite.graph import Graph
from graphrewrite.rewriting.rule.declaration import Rule
from graphrewrite.testing.generation.builder import Builder
from graphrewrite.testing.generation.demand import Pick, T, Unfit
from graphrewrite.testing.generation.exploring import telling_plans
from graphrewrite.testing.generation.instance import plan_instance
from graphrewrite.testing.generation.kinds import FAMILIES, SIZES
from graphrewrite.testing.generation.plan import Plan
from graphrewrite.testing.generation.varying import vary
from graphrewrite.testing.proof.enumeration import drawn, enumerated, spread
from graphrewrite.testing.proof.neighbours import in_whole_numbers, neighbouring
from graphrewrite.testing.proof.symbols import MOST_CONSTANT
from graphrewrite.testing.proof.translation import BATCH, limits_of
from graphrewrite.types import Type, element_kind, evaluate_size, symbols

__all__ = ["Instances"]

_LONGER = 2
_VARIANTS, _TURN = 8, 3
"""Number of variants of a good graph; every third graph is one, as long as there are any."""
_SHARES = (1, 2, 5)
"""One in so many random attributes and types is not the simplest."""
_MOST = 64
"""Maximum number of entries of all inputs: a few show the same faults as many."""
_ELEMENTS = frozenset(element for family in FAMILIES.values() for element in family)

Made = tuple[Plan, Graph]


class Instances(Iterator[Graph]):
    """Different graphs that contain the pattern of a rule, the simplest first.

    Where all sizes are 1, nothing moves and nothing is mixed up; where they are not, the counterexample is larger: so
    both are made in turns. Many rules have guards that few graphs pass: the rule is asked which these are
    (`telling_plans`), and what has passed is varied.

    Parameters
    ----------
    elements : iterable of str, optional
        Kinds of element types that the values may have for which the pattern's variables stand; those of which it says
        that they are constants may have any.

    Examples
    --------
    >>> from graphrewrite.rules import drop_requantise
    >>> instances = Instances(drop_requantise, 50)
    >>> first = next(instances)
    >>> instances.vary()
    >>> len({*instances}) > 10
    True
    """

    def __init__(self, rule: Rule, runs: int, elements: Iterable[str] | None = None) -> None:
        self._elements = None if elements is None else frozenset(elements)
        self._left, each = runs, runs // 3
        self._seen: set[str] = set()
        self._last: Plan | None = None
        self._varied = 0
        self._variants: deque[Iterator[Made]] = deque()

        def maker(sizes: Callable[[Pick], Pick], *, every_type: bool) -> Callable[[Pick], Made]:
            return lambda pick: self._built(
                plan_instance(rule.pattern, sizes(_whole_first(pick)), every_type=every_type), sizes(pick)
            )

        self._sources: deque[Iterator[Made]] = deque()
        for every_type in (False, True):
            self._sources += (
                enumerated(maker(_longer_first if every_type else _all, every_type=every_type), each),
                self._telling(rule, every_type=every_type),
                spread(maker(_longer, every_type=every_type), each),
                drawn(maker(_all, every_type=every_type), each),
            )

    def __next__(self) -> Graph:
        while self._left:
            self._left -= 1
            sources = self._variants if self._variants and not self._left % _TURN else self._sources
            if not sources:
                break
            source = sources.popleft()
            instance = next(source, None)
            if instance is not None:
                sources.append(source)
                plan, graph = instance
                text = to_text(graph, whole=True)
                if text not in self._seen:
                    self._seen.add(text)
                    self._last = None if sources is self._variants else plan
                    return graph
        raise StopIteration

    def vary(self) -> None:
        """Generate variants of the last graph in types or in attributes; variants are not varied again."""
        plan = self._last
        if plan is not None:
            makers = (
                lambda pick: self._built(neighbouring(plan, _partly(pick)), pick),
                lambda pick: self._built(vary(plan, pick, every_type=True), pick),
            )
            self._variants += (drawn(make, _VARIANTS, first=self._varied) for make in makers)
            self._varied += _VARIANTS

    def _telling(self, rule: Rule, *, every_type: bool) -> Iterator[Made]:
        for plan in telling_plans(rule, every_type=every_type):
            yield from drawn(lambda pick, plan=plan: self._built(plan, pick), 1)  # type: ignore[misc]

    def _built(self, plan: Plan, pick: Pick) -> Made:
        if not self._is_wanted(plan):
            plan = in_whole_numbers(plan, pick)
            if not self._is_wanted(plan):
                raise Unfit("other types are wanted")
        builder = Builder(pick, ())
        graph = builder.finish(builder.build(plan))
        if sum(_entries(graph.result_type(name)) for name in graph.inputs) > _MOST:
            raise Unfit("too many unknown numbers")
        if any(d["value"].size > MOST_CONSTANT for _, d in graph.nodes(data=True) if d["type"] == "constant"):
            raise Unfit("a constant of too many numbers")
        if not all(
            _holds(graph.result_type(n), d["value"]) for n, d in graph.nodes(data=True) if d["type"] == "constant"
        ):
            raise Unfit("a constant beyond its format")  # a format of one bit with a sign has no 1
        return plan, graph

    def _is_wanted(self, plan: Plan) -> bool:
        kinds = {element_kind(kind.element) for leaf, kind in plan.types.items() if not leaf.constant}
        return self._elements is None or kinds <= self._elements


def _holds(kind: Type, array: Any) -> bool:
    limits = limits_of(kind)
    return limits is None or not array.size or bool(limits[0] <= array.min() and array.max() <= limits[1])


def _entries(kind: Type) -> int:
    return prod(evaluate_size(size, dict.fromkeys(symbols(size), BATCH)) for size in kind.shape)


def _all(pick: Pick) -> Pick:
    return pick


def _partly(pick: Pick) -> Pick:
    """Return a pick that leaves some choices at the simplest: wholly random ones seldom fit together."""
    share = pick(_SHARES)

    def choose(options: Sequence[T], /) -> T:
        return pick(options) if len(options) > 1 and not pick(range(share)) else options[0]

    return choose


def _are_sizes(options: Sequence[Any]) -> bool:
    return {*SIZES} <= {o for o in options if type(o) is int} and len(options) <= len(SIZES) + 1


def _longer_first(pick: Pick) -> Pick:
    """Return a pick for which 2 is the simplest size."""

    def choose(options: Sequence[T], /) -> T:
        return pick(sorted(options, key=lambda o: o != _LONGER) if _are_sizes(options) else options)

    return choose


def _longer(pick: Pick) -> Pick:
    """Return a pick that makes all sizes 2: exchanged operands then have the same type, and other values."""

    def choose(options: Sequence[T], /) -> T:
        return pick([o for o in options if o == _LONGER][:1] if _are_sizes(options) else options)

    return choose


def _whole_first(pick: Pick) -> Pick:
    """Return a pick that tries whole numbers first among kinds of results."""

    def choose(options: Sequence[T], /) -> T:
        if len(options) > 1 and all(isinstance(o, tuple) and len(o) == 2 and o[0] in _ELEMENTS for o in options):
            options = sorted(dict.fromkeys(options), key=lambda o: o[0] in FAMILIES["float"])  # type: ignore[index]
        return pick(options)

    return choose
