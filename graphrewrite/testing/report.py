"""Report of a property test: a verdict, statistics, and the smallest counterexample."""

from __future__ import annotations

import textwrap
from collections import Counter
from dataclasses import dataclass, field
from typing import Any

from graphrewrite.graph import Graph
from graphrewrite.rewriting.rule.declaration import Rule
from graphrewrite.testing.counterexample import Counterexample
from graphrewrite.testing.evidence import Evidence, gaps
from graphrewrite.testing.failure.culprit import members_of, name_of
from graphrewrite.testing.failure.obstacles import obstacles
from graphrewrite.testing.failure.page import Bar, ReportPage
from graphrewrite.testing.generation.instance import NoInstanceError, feasible_kinds
from graphrewrite.view.display import Display

__all__ = ["Report"]

_WIDTH = 110
_OPS = 12
"""Maximum number of ops that are listed."""
_LINES = 5
"""Maximum number of lines of code that are listed."""
_BINS = 16
"""Maximum number of bars of the histogram of sizes."""
_BLOCKS = "▁▂▃▄▅▆▇█"


@dataclass
class Report:
    """The result of `check`; true if the property holds as far as it was tested, and it was tested.

    Attributes
    ----------
    name : str
        What was tested.
    members : tuple of str
        Names of all rules and passes.
    graphs : int
        Graphs tried.
    fired : Counter
        On how many of them each rule or pass changed something.
    ops : Counter
        Ops in the graphs.
    sizes : Counter
        Numbers of nodes.
    counterexample : Counterexample or None
        The smallest one.
    asked : str
        What was asked, in a word: "preserved", "refined", "idempotent", "confluent", "terminating".
    rules : object
        The tested rules, as passed.
    seed : int or None
        Of the search.
    declined : dict of str to Counter
        By member, how often it refused a match, by reason.
    samples : list of Graph
        Some of the graphs that were tried last, to see why what never fired did not.
    evidence : dict of str to Evidence
        By member, what was compared: graphs, values of attributes, element types, ranks.
    is_of_one_graph : bool
        Whether it was asked of one graph, with many inputs.
    never_run : dict of str to bool or None
        Places in the rules' code, below the yield, that did not run, and whether they may change what a rule does, or
        only decline or raise; None where that was not measured, for a debugger or another tracer is active.
    attacked : int
        Graphs for which inputs with the greatest difference were looked for.
    without_gradient : Counter
        Reasons why that was not done for others.
    terms : dict of str to str
        How it was compared, by a word, where that is not bit for bit in numpy alone: within what, against what.

    Examples
    --------
    >>> report = Report("mine", ("drop", "fold"), 40, Counter(drop=38), Counter(relu=50), Counter({4: 30, 9: 10}))
    >>> report.verdict, report.idle, bool(report)
    ('never fired', ('fold',), False)
    >>> report
    <report: mine, never fired: fold; 40 graphs>
    """

    name: str
    members: tuple[str, ...] = ()
    graphs: int = 0
    fired: Counter[str] = field(default_factory=Counter)
    ops: Counter[str] = field(default_factory=Counter)
    sizes: Counter[int] = field(default_factory=Counter)
    counterexample: Counterexample | None = None
    asked: str = "preserved"
    rules: Any = None
    seed: int | None = None
    declined: dict[str, Counter[str]] = field(default_factory=dict)
    samples: list[Graph] = field(default_factory=list, repr=False)
    evidence: dict[str, Evidence] = field(default_factory=dict, repr=False)
    is_of_one_graph: bool = False
    never_run: dict[str, bool] | None = field(default_factory=dict)
    attacked: int = 0
    without_gradient: Counter[str] = field(default_factory=Counter)
    terms: dict[str, str] = field(default_factory=dict)

    @property
    def idle(self) -> tuple[str, ...]:
        """Rules and passes that never fired."""
        return tuple(m for m in self.members if not self.fired[m])

    @property
    def verdict(self) -> str:
        """What was measured, in a word or two.

        "refuted" with a counterexample; "never fired" if a rule did not; "not compared" if one fired and there were no
        values to compare, or none that it could have changed; "well formed only" of graphs that compute nothing; "weak"
        if there was little to compare, see `gaps`; else the property, such as "preserved".
        """
        if self.counterexample is not None:
            return self.counterexample.conclusion
        if self.idle:
            return "never fired"
        found = [self.evidence.get(name, Evidence()) for name in self.members]
        if not all(each.judged or each.formed for each in found):
            return "not compared"
        if not all(each.judged for each in found):
            return "well formed only"
        return "weak" if self.gaps else self.asked

    def __bool__(self) -> bool:
        return self.verdict not in ("refuted", "never fired", "not compared")

    @property
    def gaps(self) -> tuple[str, ...]:
        """What was compared rarely, at one value only, not run, or only on drawn inputs where others were asked for."""
        blind: tuple[str, ...] = ()
        if self.without_gradient and not self.attacked:
            blind = (f"no gradient, only drawn inputs: {_by_count(self.without_gradient)[0][0]}",)
        if self.is_of_one_graph:
            return blind
        members = {name_of(member): member for member in members_of(self.rules)}
        several = len(self.members) > 1
        untried = tuple(place for place, matters in (self.never_run or {}).items() if matters)
        thin = tuple(
            f"{name}: {gap}" if several else gap
            for name in self.members
            if name in self.evidence
            for gap in gaps(members.get(name), self.evidence[name], self.graphs, 1 / len(self.members))
        )
        return (*blind, *thin, *([f"never run: {_listed(untried, _LINES)}"] if untried else ()))

    def why_idle(self, name: str) -> str:
        """Return the most frequent reason why a rule never fired.

        Parameters
        ----------
        name : str
            One of `idle`.

        Returns
        -------
        str
            Empty of a pass, which says nothing, or where no graphs were kept.
        """
        if self.declined.get(name):
            return self._refusals(name)
        member = next((m for m in members_of(self.rules) if getattr(m, "name", None) == name), None)
        if isinstance(member, Rule):
            try:
                feasible_kinds(member.pattern)
            except NoInstanceError as error:
                return str(error)
        reasons = obstacles(member, self.samples) if member is not None and self.samples else Counter()
        if not reasons:
            return ""
        reason, count = _by_count(reasons)[0]
        often = f", {count} times in {len(self.samples)} graphs" if count > 1 else ""
        return f"its pattern matches nowhere{often}: {reason}"

    def _refusals(self, name: str) -> str:
        """Return how many matches a rule declined, and why most of them."""
        declined = self.declined[name]
        reason, count = _by_count(declined)[0]
        total = sum(declined.values())
        mostly = "" if count == total else f", {count} of them"
        return f"it declined {total} matches{mostly}: {reason!r}"

    # ------------------------------------------------------------------ displays

    @property
    def headline(self) -> str:
        """The verdict in a line."""
        seed = "" if self.seed is None else f", seed {self.seed}"
        if self.counterexample is not None:
            return f"{self.name}: {self.verdict}: {self.counterexample.reason}"
        if self.idle:
            return f"{self.name}: {_listed(self.idle, 6)} never fired in {self.graphs} graphs{seed}"
        tried = f"{self.graphs} graphs of up to {max(self.sizes, default=0)} nodes{seed}"
        verdict = self.verdict
        if verdict == "not compared":
            return f"{self.name}: not compared in {tried}"
        if verdict == "well formed only":
            return f"{self.name}: well formed only in {tried}: such graphs have no values that could be compared"
        return f"{self.name}: {'' if verdict == self.asked else f'{verdict}: '}{self.asked} in {tried}"

    @property
    def advice(self) -> tuple[str, ...]:
        """The reason why a rule was not compared, or rarely, or never fired, and a remedy."""
        if self.counterexample is not None:
            return ()
        if self.verdict == "weak":
            refusals = [f"{name}: {self._refusals(name)}" for name in self.members if self.declined.get(name)]
            return (*self.gaps, *refusals, "say on which graphs there is more of it: on=graphs(...)")
        if self.verdict == "not compared":
            found = [(name, self.evidence.get(name, Evidence())) for name in self.members]
            return tuple(
                f"{name} fired on {self.fired[name]} graphs: {evidence.apart or 'none was compared'}"
                for name, evidence in found
                if not evidence.judged
            )
        if self.verdict == "well formed only":
            return ("say what such a graph means, which must stay as it is: meaning=...",)
        if not self.idle:
            return ()
        reasons = [f"{name}: {why}" for name in self.idle if (why := self.why_idle(name))]
        return (*reasons, "repair the pattern or its conditions, or say on which graphs it fires: on=graphs(...)")

    def __str__(self) -> str:
        if self.counterexample is not None:
            return f"{self.name}: {self.verdict}: {self.counterexample}"
        lines = [self.headline, *self.advice]
        for title, text in self._statistics():
            lines += textwrap.wrap(text, _WIDTH, initial_indent=f"  {title:<10}", subsequent_indent=" " * 12)
        return "\n".join(lines)

    def __repr__(self) -> str:
        which = f": {_listed(self.idle, 3)}" if self.verdict == "never fired" else ""
        return f"<report: {self.name}, {self.verdict}{which}; {self.graphs} graphs>"

    def _statistics(self) -> list[tuple[str, str]]:
        """Return rows of statistics, each with its title."""
        if not self.graphs:
            return []
        rows = [("fired", _counted(self.fired, len(self.fired)) or "nothing")]
        declined = "; ".join(f"{name} {count}: {reason!r}" for name, (reason, count) in self._reasons())
        rows += [("declined", declined)] if declined else []
        rows += self._compared()
        rows += self.terms.items()
        if self.attacked or self.without_gradient:
            reasons = f"; {sum(self.without_gradient.values())} without a gradient" if self.without_gradient else ""
            rows.append(("attacked", f"{self.attacked} graphs, along the gradient of the difference{reasons}"))
        if self.never_run is None:
            rows.append(("branches", "not measured: another tracer is active"))
        elif self.never_run:
            rows.append(("never run", _listed(tuple(self.never_run), _LINES)))
        rows.append(("sizes", f"{min(self.sizes)} {''.join(_bars(self.sizes))} {max(self.sizes)} nodes"))
        rows.append(("ops", _counted(self.ops, _OPS)))
        return rows

    def _compared(self) -> list[tuple[str, str]]:
        """Return what was compared."""
        rows = []
        for name in self.members if len(self.members) <= _OPS else ():
            if name in self.evidence:
                evidence = self.evidence[name]
                timed = f", {evidence.timed} of them in time, too" if evidence.timed else ""
                told = "; ".join([f"{evidence.compared} graphs{timed}", *([evidence.apart] if evidence.apart else [])])
                parts = [told, *evidence.shown()]
                rows.append(("compared", f"{f'{name}: ' if len(self.members) > 1 else ''}{', '.join(parts)}"))
        return rows

    def _reasons(self) -> list[tuple[str, tuple[str, int]]]:
        """Return the most frequent reason for declining, by member."""
        return [(name, _by_count(self.declined[name])[0]) for name in sorted(self.declined) if self.declined[name]]

    @property
    def page(self) -> ReportPage:
        """The content of the display, as data."""
        rows = tuple(self._statistics())
        if self.counterexample is not None:
            rows = (("graphs", str(self.graphs)), *rows)
            return ReportPage(f"{self.name}: {self.verdict}", statistics=rows, counterexample=self.counterexample.page)
        counts = _binned(self.sizes)
        most = max((count for _, count in counts), default=1)
        return ReportPage(
            self.headline,
            self.advice,
            tuple(row for row in rows if row[0] != "sizes"),
            tuple(Bar(name, count, round(100 * count / most)) for name, count in counts),
            (str(min(self.sizes, default="")), str(max(self.sizes, default=""))),
        )

    def show(self) -> Display:
        """Return the display of it: a small table; of what was refuted, the counterexample."""
        return Display(self.page, str(self), template="report.html", title=self.headline)

    def _repr_html_(self) -> str:
        """Let Jupyter show it."""
        return self.show()._repr_html_()


def _by_count(counted: Counter[str]) -> list[tuple[str, int]]:
    """Return entries, the most frequent first, equally frequent ones by name."""
    return sorted(counted.items(), key=lambda entry: (-entry[1], entry[0]))


def _counted(counted: Counter[str], most: int) -> str:
    entries = _by_count(counted)
    shown = ", ".join(f"{name} {count}" for name, count in entries[:most])
    return f"{shown} and {len(entries) - most} others" if len(entries) > most else shown


def _listed(names: tuple[str, ...], most: int) -> str:
    return ", ".join(names[:most]) + (f" and {len(names) - most} others" if len(names) > most else "")


def _binned(sizes: Counter[int]) -> list[tuple[str, int]]:
    """Return bins of sizes, each with its range and its count."""
    if not sizes:
        return []
    low, high = min(sizes), max(sizes)
    step = -(-(high - low + 1) // _BINS)
    bins = []
    for start in range(low, high + 1, step):
        end = min(start + step - 1, high)
        count = sum(sizes[size] for size in range(start, end + 1))
        bins.append((str(start) if start == end else f"{start} to {end}", count))
    return bins


def _bars(sizes: Counter[int]) -> list[str]:
    """Return a bar for each bin, a space for an empty one."""
    counts = [count for _, count in _binned(sizes)]
    return [_BLOCKS[(count * len(_BLOCKS) - 1) // max(counts)] if count else " " for count in counts]
