"""Plans at which a rule does what it seldom does, found beforehand, so that graphs can be made near to them.

What a rule asks below its yield cannot be read from its pattern. So it is asked: of many instances, those are kept at
which its code takes another way, or it gives another reason, and more are looked for near to these.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import suppress
from itertools import chain, cycle, islice
from typing import Any, NamedTuple
from weakref import WeakKeyDictionary

import numpy as np

from graphrewrite.graph import Graph
from graphrewrite.rewriting.facts.observation import observing
from graphrewrite.rewriting.rule.declaration import Rule
from graphrewrite.rewriting.rule.outcome import Declined
from graphrewrite.testing.branches import Branches, watched
from graphrewrite.testing.generation.attribute_changes import every_attribute_changed
from graphrewrite.testing.generation.builder import Builder
from graphrewrite.testing.generation.comparing import Noted, compared
from graphrewrite.testing.generation.constant_changes import every_constant_changed, pinned, with_arrays
from graphrewrite.testing.generation.demand import Pick, Unfit, seeded, some
from graphrewrite.testing.generation.instance import plan_instance
from graphrewrite.testing.generation.leading import towards
from graphrewrite.testing.generation.plan import Plan
from graphrewrite.testing.generation.richness import Sketch, extent, least_telling, sequences_hiding
from graphrewrite.testing.generation.steering import mentioned_by, near, steer
from graphrewrite.testing.generation.varying import in_each_layout, with_layout

__all__ = ["Telling", "explored", "explored_together", "telling_plans"]

_FIRST = 24
"""Instances to ask of first: a rule that fires at most of them, and always alike, need not be explored."""
_MANY = 96
"""So many without anything new are enough where there are many types and layouts, or code that has not run."""
_ALL, _MOST = 320, 640
"""Instances to ask in all, and if a rule has hardly fired until then: of several rules, beside the first of each."""
_HARDLY = 4
_KEPT = 24
"""Plans to keep of each answer."""
_EMPTY = 2
"""Those of them with a value that has no entries, at which conditions on all entries hold."""
_CENTRES, _TURNS, _ENTRIES = 4, 2, 12
"""Of each answer where it fires, plans around which each attribute is changed in turn, and how often, and constants."""
_SHARE = 2
"""Half as many plans as are looked at beside those at which it fires are further away."""
_OFTEN = 0.4
"""A rule that fires at such a part of its instances is met often enough without."""
_NEAR_FIRING = 1
"""Of four turns, the one that looks near to where the rule fires."""
_VARIED = 5
"""Of eight turns, the one of these at which no comparison is followed."""
_STEPS = (1, 1, 2, 3, 4)
"""Comparisons to follow one after the other."""
_ANSWERS = 48
"""Different answers to tell apart."""
_Answer = tuple[str | None, frozenset[Any], frozenset[str]]
"""What a rule says where it declines, the branches of its code on the way, and layouts of images at which it fires."""


class Telling(NamedTuple):
    """What was found of a rule.

    Attributes
    ----------
    plans : tuple of Plan
        At which it answers as it seldom does; none of a rule that does the same everywhere.
    seldom : bool
        Whether it fires at few of its instances.
    """

    plans: tuple[Plan, ...]
    seldom: bool


_FOUND: WeakKeyDictionary[Rule, dict[bool, Telling]] = WeakKeyDictionary()


def explored(rule: Rule, *, every_type: bool = False) -> Telling:
    """Return what is found of a rule, once."""
    known = _FOUND.setdefault(rule, {})
    if every_type not in known:
        (known[every_type],) = _explored((rule,), every_type)
    return known[every_type]


def explored_together(rules: Sequence[Rule]) -> tuple[Telling, ...]:
    """Return what is found of each of several rules, with hardly more instances than for one.

    After the first ones of each, the next go to the rule that was the last to answer as it had not before.
    """
    return (explored(rules[0]),) if len(rules) == 1 else _explored(rules, every_type=False)


def _explored(rules: Sequence[Rule], every_type: bool) -> tuple[Telling, ...]:
    walks = [_Walk(rule, every_type=every_type) for rule in rules]
    for walk in walks:
        walk.go_on(_FIRST)
    _share(walks, _ALL - _FIRST)
    _share([walk for walk in walks if walk.fired < _HARDLY], _MOST - _ALL, until=_HARDLY)
    return tuple(walk.told(_MOST // len(walks)) for walk in walks)


def _share(walks: list[_Walk], turns: int, until: int | None = None) -> None:
    """Let those of some walks go on that find most, for so many turns in all."""
    while turns > 0:
        going = [walk for walk in walks if not walk.is_over and (until is None or walk.fired < until)]
        if not going:
            return
        best = min(going, key=lambda walk: walk.since)
        turns -= best.go_on(min(turns, _FIRST if len(going) > 1 else turns), until)


def telling_plans(rule: Rule, *, every_type: bool = False) -> tuple[Plan, ...]:
    """Return plans of instances of a rule's pattern at which it answers as it seldom does: half of them where it fires.

    Examples
    --------
    >>> from graphrewrite import decline, op
    >>> from graphrewrite import rule as make_rule
    >>> @make_rule
    ... def drop_reverse(x):
    ...     "Axes of which all but one have the size 1 have one order."
    ...     turned = op.transpose(x)
    ...     yield turned
    ...     return op.identity(x) if turned.type == x.type and len(x.shape) == 3 else decline("other axes")
    >>> len(telling_plans(drop_reverse)) > 0
    True
    """
    return explored(rule, every_type=every_type).plans


class _Walk:
    """A walk through instances of a rule's pattern, on which it may be stopped and go on.

    Attributes
    ----------
    fired : int
        At how many of them the rule has fired.
    since : int
        So many turns ago it gave an answer that was new.
    is_over : bool
        Whether more would show nothing.
    """

    def __init__(self, rule: Rule, *, every_type: bool) -> None:
        self.rule, self.every_type = rule, every_type
        self.branches = Branches([rule.function])
        self.followed, self.mentioned = watched(rule, self.branches), mentioned_by(rule)
        self.by_element = len(self.mentioned.elements) > 1
        self.answers: dict[_Answer, list[Sketch]] = {}
        self.hits: Counter[_Answer] = Counter()
        self.lines: dict[Any, None] = {}
        self.all_ran = not self.branches.are_there
        self.turn = self.fired = self.since = self.met = self.drawn = 0
        self.hidden: set[tuple[int, str]] = set()
        self.shown: set[tuple[int, str]] = set()
        self.is_over = False

    def go_on(self, turns: int, until: int | None = None) -> int:
        """Take so many turns, or fewer if it is over, or has fired so often; return how many."""
        first = self.turn
        while self.turn < first + turns and not self.is_over and (until is None or self.fired < until):
            self._step(self.turn)
            self.turn += 1
        return self.turn - first

    def _step(self, turn: int) -> None:
        pick = seeded(turn)
        self.since += 1
        is_drawn = turn < _FIRST or turn % 4 == 0 or not self.answers
        try:
            ranks = self._ranks(turn) if is_drawn else ()
            plan = self._drawn(pick, ranks) if is_drawn else self._found(turn, pick)
            plan = steer(plan, pick, self.mentioned) if turn % 2 == 0 and turn % 8 else plan
            plan, graph = self._made(plan, turn)
        except Unfit:
            return
        reason = _answer(self.followed, graph)
        ran = self.branches.take()
        if not self.lines.keys() >= ran.keys():
            self.lines.update(ran)
            self.all_ran = not self.branches.never_run(self.lines)
        self.fired += reason is None
        counts = is_drawn and not ranks  # graphs are drawn of any number of axes
        self.drawn += counts
        self.met += counts and reason is None
        if reason is None:
            there, plain = sequences_hiding(plan)
            self.hidden |= plain
            self.shown |= there - plain
        is_whole = self.all_ran and (self.hidden <= self.shown or turn >= _MANY) and not self.every_type
        if turn >= _FIRST and self.is_often and self.since > (_FIRST if is_whole else _MANY):
            self.is_over = True
            return
        answer = reason, frozenset(ran), _layouts(plan) if reason is None else frozenset()
        self.hits[answer] += 1
        if answer not in self.answers:
            self.since = 0
        if answer in self.answers or len(self.answers) < _ANSWERS:
            same = self.answers.setdefault(answer, [])
            _keep(plan, same, by_element=self.by_element and reason is None)

    def _made(self, plan: Plan, seed: int) -> tuple[Plan, Graph]:
        """Return a graph of a plan, and the plan with its constants where the rule looks at their entries."""
        builder = Builder(seeded(seed), (), known=self.mentioned.limits)
        graph = builder.finish(builder.build(plan))
        return pinned(plan, builder.built) if "value" in self.mentioned.attributes else plan, graph

    def _near(self, plan: Plan, pick: Pick) -> Plan:
        return near(plan, pick, moderate=self.mentioned.moderate, every_type=self.every_type)

    def _ranks(self, turn: int) -> tuple[int, ...]:
        """Numbers of axes to draw: half of the time those that the code compares a length with."""
        return self.mentioned.lengths if turn // 4 % 2 else ()

    def _drawn(self, pick: Pick, ranks: tuple[int, ...]) -> Plan:
        return plan_instance(self.rule.pattern, pick, every_type=self.every_type, ranks=ranks)

    def _found(self, turn: int, pick: Pick) -> Plan:
        """A plan near to one of an answer that seldom was given."""
        good = [answer for answer in self.answers if answer[0] is None]
        known = good if good and turn % 4 == _NEAR_FIRING else list(self.answers)
        seldom = min(pick(known), pick(known), key=lambda answer: self.hits[answer])
        same = self.answers[seldom]
        plan = min(pick(same), pick(same), key=lambda sketch: sketch.plainness).plan
        if turn % 8 == _VARIED:
            return with_layout(plan, pick) if self.every_type else self._near(plan, pick)
        return _led(self.rule, plan, pick, turn) if turn % 2 else self._near(plan, pick)

    @property
    def is_often(self) -> bool:
        """Whether the rule fires at many instances that are drawn."""
        return self.met >= _OFTEN * self.drawn

    def _onward(self, turns: int) -> Iterator[Plan]:
        """Yield plans near to those at which it fires, those found on the way as well: several changes are far away."""
        pick = seeded(turns)
        for _ in range(turns):
            firing = [same for (reason, *_), same in self.answers.items() if reason is None]
            with suppress(Unfit):
                plan = self._near(pick(pick(some(firing))).plan, pick)
                yield steer(plan, pick, self.mentioned) if pick((False, True)) else plan

    def _neighbours(self, sketches: list[Sketch]) -> Iterator[Plan]:
        """Yield plans that differ from some of these in one attribute, constant or layout: none is left to luck.

        Rules are wrong in what they do not ask of, and of that a walk which looks for other answers sees little.
        """
        pick = seeded(len(sketches))
        for sketch in sorted(sketches, key=lambda sketch: sketch.plainness)[:_CENTRES]:
            for changed in every_attribute_changed(sketch.plan, pick, _TURNS):
                yield with_arrays(changed, sketch.plan)
            yield from every_constant_changed(sketch.plan, pick, _ENTRIES, moderate=self.mentioned.moderate)
            if self.every_type:
                yield from in_each_layout(sketch.plan, pick)

    def told(self, most: int) -> Telling:
        """Return what was found, after a look at so many plans beside those at which the rule fires."""
        answers = self.answers
        fires = [answer for answer in answers if answer[0] is None]
        if len(fires) == len(answers) == 1 and self.is_often:
            return Telling((), seldom=False)  # it does the same everywhere, and is met often enough without
        each = (self._neighbours(answers[answer]) for answer in fires)
        beside = islice(chain.from_iterable(each), most)
        for number, plan in enumerate(chain(beside, self._onward(most // _SHARE))):
            try:
                made, graph = self._made(plan, number)
            except Unfit:
                continue
            reason, ran = _answer(self.followed, graph), self.branches.take()
            if reason is None:
                same = answers.setdefault((None, frozenset(ran), _layouts(made)), [])
                _keep(made, same, by_element=self.by_element)
        firing = [same for (reason, *_), same in answers.items() if reason is None]
        declining = [same for (reason, *_), same in answers.items() if reason is not None]
        return Telling(tuple(_weighed(firing, declining)), seldom=not self.is_often)


def _keep(plan: Plan, same: list[Sketch], *, by_element: bool) -> None:
    """Add a plan to those of one answer, if it shows more than they do, and drop what then shows least."""
    sketch = Sketch(plan)
    if any(sketch.is_like(other, by_element=by_element) for other in same):
        return
    if sketch.is_empty and sum(other.is_empty for other in same) >= _EMPTY:
        return
    same.append(sketch)
    if len(same) > _KEPT:
        del same[least_telling(same)]


def _weighed(firing: list[list[Sketch]], declining: list[list[Sketch]]) -> Iterator[Plan]:
    """Yield plans of each answer, as often as it counts."""
    # Each way in which it fires counts as much; all in which it does not count half as much as these.
    each = _KEPT * max(1, -(-2 * len(declining) // max(len(firing), 1)))
    for count, groups in ((each, firing), (_KEPT, declining)):
        for same in groups:
            rich = sorted(same, key=lambda sketch: (sketch.plainness + sketch.units, -extent(sketch.plan)))
            rich = rich[: -(-len(same) // 3)]
            yield from (sketch.plan for sketch in islice(cycle([*rich, *rich, *same]), count))


def _layouts(plan: Plan) -> frozenset[str]:
    """Which layouts the images of a plan have: at each of them, a rule is to find the axes that it means."""
    layouts = (getattr(kind, "layout", None) for leaf, kind in plan.types.items() if not leaf.constant)
    return frozenset(layout for layout in layouts if layout is not None)


def _led(rule: Rule, plan: Plan, pick: Pick, seed: int) -> Plan:
    """Return a plan in which comparisons of the rule come out otherwise: the last one, which decided, or any."""
    for _ in range(pick(_STEPS)):
        builder = Builder(seeded(seed), ())
        graph = builder.finish(builder.build(plan))
        nodes = {value.node: port for port, values in builder.built.items() for value in values}
        found = [each for each in _comparisons(rule, graph) if each.node in nodes]
        chosen = pick((found[-1], found[-1], pick(found))) if found else None
        if chosen is None:
            break
        led = towards(plan, chosen, nodes[chosen.node], pick)
        plan = led if chosen.path == ("value",) else with_arrays(led, plan)
    return plan


def _comparisons(rule: Rule, graph: Graph) -> list[Noted]:
    with observing(graph), suppress(Exception), np.errstate(all="ignore"):
        for node in graph.in_order():
            for match in rule.matches_at(graph, node):
                return compared(rule, graph, match)
    return []


def _answer(rule: Rule, graph: Graph) -> str | None:
    """Why the rule declines at its instance; None where it fires, or fails."""
    said = "no match"
    try:
        with observing(graph), np.errstate(all="ignore"):  # rules compute with generated constants
            for node in graph.in_order():
                for match in rule.matches_at(graph, node):
                    outcome = rule.edit(graph, match, fresh=graph.fresh)
                    if not isinstance(outcome, Declined):
                        return None
                    said = outcome.reason
    except Exception:  # whatever a user's rule raises: it is found again, and then reported
        return None
    return said
