"""Evidence: what a test compared, and what verdict that supports."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, fields
from typing import Any

from graphrewrite.formats.text import format_attribute
from graphrewrite.rewriting.pattern import Variable
from graphrewrite.rewriting.rule.declaration import Rule
from graphrewrite.testing.firing import Firing

__all__ = ["FEW", "Evidence", "EvidenceWarning", "collect", "gaps", "merged"]

_NONE: Counter[Any] = Counter()
FEW = 5
"""With fewer comparisons, what is wrong in every second case is missed one time in sixteen, or more often."""
_SHARE = 0.03
"""Of the graphs, of which a rule alone is compared in more than that."""
_COMPARABLE = 0.2
"""Of the graphs on which a rule fired and that may be compared, the share that should be."""
_SHOWN, _VALUES, _KINDS = 6, 3, 7
"""Number of attributes that are shown, of the values of each, and of the kinds of numbers of a constant."""


class EvidenceWarning(UserWarning):
    """A property holds as far as it was tested, and that is not far: it says what was not compared."""


@dataclass
class Evidence:
    """What was compared of one rule, pass or function, at the places where it fired.

    A graph is compared where the rule changed something that an output depends on, and the outputs were computed before
    and after. Others count apart.

    Attributes
    ----------
    compared : int
        Graphs that were compared.
    dead : int
        Graphs in which it changed only what no output depends on.
    cleared : int
        Graphs from which it removed nodes that no output depends on, and nothing else changed.
    empty : int
        Graphs in which what it changed has no entries.
    unchanged : int
        Graphs that it left as they were, though it took a step.
    timed : int
        Graphs of streams of which deadlock and cycles were compared, too.
    formed : int
        Graphs without values, of which only the form was checked.
    failed : Counter
        Graphs that could not be evaluated before it fired, by reason.
    attributes, made : dict of str to Counter
        In how many of the compared graphs each value of an attribute was at a node that it found, or that it made.
    refused : dict of str to Counter
        The same of the nodes of its ops in graphs in which it declined a match.
    operands : dict of str to Counter
        In how many of them each optional operand was there, and missing.
    constants : dict of str to Counter
        In how many of them a constant that a variable bound held what kinds of numbers: "negative", "zero", "NaN".
    alike : dict of str to Counter
        In how many of them two variables of the rule bound one value, and not: ``"x and y"``.
    declined : int
        Graphs in which it declined a match.
    elements, ranks : Counter
        Of the results of the nodes that it found.
    meanings : Counter
        Of the compared graphs, as text.

    Examples
    --------
    >>> from graphrewrite.rules import merge_clips
    >>> from graphrewrite.testing import check
    >>> evidence = check(merge_clips, seed=0).evidence["merge_clips"]
    >>> evidence.compared > 20, len(evidence.attributes["clip.low"]) > 3
    (True, True)
    """

    compared: int = 0
    dead: int = 0
    cleared: int = 0
    empty: int = 0
    unchanged: int = 0
    timed: int = 0
    formed: int = 0
    failed: Counter[str] = field(default_factory=Counter)
    attributes: dict[str, Counter[Any]] = field(default_factory=dict)
    made: dict[str, Counter[Any]] = field(default_factory=dict)
    refused: dict[str, Counter[Any]] = field(default_factory=dict)
    operands: dict[str, Counter[bool]] = field(default_factory=dict)
    constants: dict[str, Counter[str]] = field(default_factory=dict)
    alike: dict[str, Counter[bool]] = field(default_factory=dict)
    declined: int = 0
    elements: Counter[str] = field(default_factory=Counter)
    ranks: Counter[int] = field(default_factory=Counter)
    meanings: Counter[str] = field(default_factory=Counter)

    def then(self, later: Evidence) -> Evidence:
        """Return this evidence and that of other graphs.

        Examples
        --------
        >>> both = Evidence(compared=2, ranks=Counter({1: 2})).then(Evidence(compared=1, ranks=Counter({1: 1, 3: 1})))
        >>> both.compared, dict(both.ranks)
        (3, {1: 3, 3: 1})
        """
        sums: dict[str, Any] = {}
        for each in fields(self):
            mine, more = getattr(self, each.name), getattr(later, each.name)
            if isinstance(mine, dict) and not isinstance(mine, Counter):
                sums[each.name] = {name: mine.get(name, _NONE) + more.get(name, _NONE) for name in {**mine, **more}}
            else:
                sums[each.name] = mine + more
        return Evidence(**sums)

    def refuse(self, values: Mapping[str, Iterable[Any]]) -> None:
        """Note the attributes of nodes in a graph in which a match was declined."""
        self.declined += 1
        _count(self.refused, values)

    def note(self, firings: Iterable[Firing], meaning: str | None = None) -> None:
        """Note a graph that was compared, given what fired alive in it, and its meaning as text, if it has one."""
        self.compared += 1
        self.meanings.update(() if meaning is None else (meaning,))
        matched, made = dict[str, set[Any]](), dict[str, set[Any]]()
        operands, constants, alike = dict[str, set[Any]](), dict[str, set[Any]](), dict[str, set[Any]]()
        elements, ranks = set[str](), set[int]()
        for firing in firings:
            for into, values in ((matched, firing.matched), (made, firing.made), (constants, firing.constants)):
                for name, found in values.items():
                    into.setdefault(name, set()).update(found)
            for into, facts in ((operands, firing.operands), (alike, firing.alike)):
                for name, holds in facts.items():
                    into.setdefault(name, set()).add(holds)
            elements |= firing.elements
            ranks |= firing.ranks
        _count(self.attributes, matched)
        _count(self.made, made)
        _count(self.operands, operands)
        _count(self.alike, alike)
        _count(self.constants, constants)
        self.elements.update(elements)
        self.ranks.update(ranks)

    @property
    def judged(self) -> int:
        """Graphs on which the verdict rests: compared, else those that it cleaned up, else those without entries."""
        return self.compared or self.cleared or self.empty

    @property
    def apart(self) -> str:
        """What it fired on beside what was compared, in words; empty if there is nothing."""
        cut = [f"{self.dead} where no output depends on it"] if self.dead else []
        cut += [f"{self.cleared} from which only dead nodes went"] if self.cleared else []
        cut += [f"{self.empty} where it has no entries"] if self.empty else []
        cut += [f"{self.unchanged} that stayed as they were"] if self.unchanged else []
        cut += [f"{self.formed} of which only the form was checked"] if self.formed else []
        if self.failed:
            reason, _ = _by_count(self.failed)[0]
            cut.append(f"{sum(self.failed.values())} that cannot be evaluated, such as {reason}")
        return "; ".join(cut)

    def shown(self) -> list[str]:
        """Return at what it was compared, in words: element types, ranks, operands, constants, and attributes."""
        parts = [f"{len(self.meanings)} meanings"] if len(self.meanings) > 1 else []
        parts += [_counts(self.elements, _VALUES)] if self.elements else []
        parts += [f"rank {_counts(self.ranks, 6)}"] if self.ranks else []
        for name, counts in self.operands.items():
            parts.append(f"{name} there {counts[True]}, not {counts[False]}")
        parts += [f"constant {name} {_counts(counts, _KINDS)}" for name, counts in self.constants.items()]
        parts += [f"{name} {_counts(counts, _VALUES)}" for name, counts in list(self.attributes.items())[:_SHOWN]]
        rest = len(self.attributes) - _SHOWN
        return [*parts, f"{rest} more attributes"] if rest > 0 else parts


def collect(
    evidence: dict[str, Evidence],
    firings: Iterable[Firing],
    *,
    failure: str = "",
    unchanged: bool = False,
    meaning: str | None = None,
) -> None:
    """Note a graph in the evidence of all that fired in it.

    Parameters
    ----------
    evidence : dict of str to Evidence
        By member.
    firings : iterable of Firing
        What fired.
    failure : str
        Why the graph could not be evaluated; empty if it was compared.
    unchanged : bool
        Whether the graph is what it was.
    meaning : str, optional
        What the graph means, as text, if that was compared: it may depend on all of the graph, and not on outputs only.
    """
    by_member: dict[str, list[Firing]] = {}
    for firing in firings:
        by_member.setdefault(firing.member, []).append(firing)
    for name, own in by_member.items():
        found = evidence.setdefault(name, Evidence())
        alive = [firing for firing in own if firing.is_alive or meaning is not None]
        if unchanged:
            found.unchanged += 1
        elif not alive and not any(firing.is_clearing for firing in own):
            found.dead += 1
        elif failure:
            found.failed[failure] += 1
        elif alive and meaning is None and all(firing.is_empty for firing in alive):
            found.empty += 1
        elif alive:
            found.note(alive, meaning)
        else:
            found.cleared += 1


def merged(one: Mapping[str, Evidence], other: Mapping[str, Evidence]) -> dict[str, Evidence]:
    """Return the evidence of two numbers of graphs, by member."""
    both = dict(one)
    for name, evidence in other.items():
        both[name] = both[name].then(evidence) if name in both else evidence
    return both


def gaps(member: Any, evidence: Evidence, graphs: int, share: float = 1.0) -> Iterator[str]:
    """Yield what is thin about evidence, in words: too few graphs, or what never varied.

    Parameters
    ----------
    member : object
        The rule, pass or function.
    evidence : Evidence
        Of it.
    graphs : int
        How many were tried.
    share : float
        Part of them that were meant for it.

    Examples
    --------
    >>> from graphrewrite.rules import merge_clips
    >>> list(gaps(merge_clips, Evidence(compared=2), 200))
    ['it was compared on 2 of 200 graphs']
    """
    least = max(FEW, share * _SHARE * graphs)
    if evidence.judged < least:
        yield f"it was compared on {evidence.judged} of {graphs} graphs"
        return
    if not (evidence.compared or evidence.cleared):
        yield "what it changed never had an entry, so that types alone were compared"
    failed = evidence.failed.total()
    if evidence.judged < _COMPARABLE * (evidence.judged + failed):
        reason, _ = _by_count(evidence.failed)[0]
        yield f"it fired on {failed} graphs that cannot be evaluated, and was compared on {evidence.judged}: {reason}"
    if len(evidence.meanings) == 1:
        yield f"every graph had the same meaning, {next(iter(evidence.meanings))}"
    for name in _open_attributes(member):
        counts = evidence.attributes.get(name, _NONE) + evidence.refused.get(name, _NONE)
        # One op of dozens that a pattern takes is in too few of the graphs to judge.
        if len(counts) == 1 and counts.total() >= least:
            yield f"{name} was always {_written(*counts)}"
    for name, there in evidence.operands.items():
        if len(there) == 1:
            yield f"the operand {name} was {'always' if there[True] else 'never'} there"
    for names, alike in evidence.alike.items():
        if not evidence.declined and len(alike) == 1 and alike[True] >= least:  # a rule may want one value
            yield f"{names} were always one value"


def _open_attributes(member: Any) -> Iterator[str]:
    """Yield the attributes that the pattern of a rule leaves open."""
    if not isinstance(member, Rule):
        return
    closed: set[str] = set()
    names: dict[str, None] = {}
    for node in member.pattern.nodes:
        for op in node.ops:
            for name in op.attributes:
                held = node.attributes.get(name)
                is_open = name not in node.attributes or (isinstance(held, Variable) and held.condition is None)
                names[f"{op.name}.{name}"] = None
                closed |= set() if is_open else {f"{op.name}.{name}"}
    yield from (name for name in names if name not in closed)


def _count(into: dict[str, Counter[Any]], values: Mapping[str, Iterable[Any]]) -> None:
    for name, found in values.items():
        into.setdefault(name, Counter()).update(found)


def _by_count(counted: Counter[Any]) -> list[tuple[Any, int]]:
    return sorted(counted.items(), key=lambda entry: (-entry[1], str(entry[0])))


def _counts(counted: Counter[Any], most: int) -> str:
    entries = _by_count(counted)
    shown = ", ".join(f"{_written(value)} ({count})" for value, count in entries[:most])
    return f"{shown} and {len(entries) - most} others" if len(entries) > most else shown


def _written(value: Any) -> str:
    return value if isinstance(value, str) else format_attribute(value)
