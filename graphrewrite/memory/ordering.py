"""Order of steps: operands first, and the memory that is needed at a time as small as can be."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType

from graphrewrite.errors import ScheduleError
from graphrewrite.memory.cuts import least_needed
from graphrewrite.memory.joining import joined
from graphrewrite.memory.list_scheduling import freeing_early, least_first, operands_first
from graphrewrite.memory.narrow_search import searched
from graphrewrite.memory.parts import Part, parts_of
from graphrewrite.memory.running import peak_of
from graphrewrite.memory.span import Span
from graphrewrite.memory.step import Read, Step, Steps, steps_of
from graphrewrite.runtime.display import Displayed

__all__ = ["Schedule", "best_order", "order"]

_LEAST, _EACH = 15_000, 10
"""Cuts of a search of which no number is given: so many, or so many for each step."""
_REPEATED = 4
"""How often a fast order is made anew from itself, as long as it gets better."""


@dataclass(frozen=True, slots=True)
class Schedule(Displayed, shown_by="charts.schedule_chart.show_schedule"):
    """An order of steps, and what it needs.

    Attributes
    ----------
    order : tuple of str
        The steps.
    peak : int
        Greatest sum of the sizes of values that live at the same time.
    bound : int
        The greatest size of which it is proved that no order needs less.
    cuts : int
        Number of cuts that a search looked at; 0 where fast orders were enough.
    spans : mapping of (str, int) to Span
        Life of each value, by the name of its step and the index of its result: from the place of its step in the
        order until after that of its last reader. Given values live from 0 on, kept ones until after the last step.
        A span lies over that of the operand that its step overwrites.
    """

    order: tuple[str, ...]
    peak: int
    bound: int
    cuts: int
    spans: Mapping[tuple[str, int], Span] = field(repr=False)

    @property
    def is_optimal(self) -> bool:
        """Whether it is proved that no order needs less."""
        return self.peak == self.bound

    @property
    def gap(self) -> float:
        """By which part of the peak another order may be lower; 0 for the best one."""
        return (self.peak - self.bound) / self.peak if self.peak else 0.0

    @property
    def loads(self) -> tuple[int, ...]:
        """Sum of the sizes of values that live, at each step and after the last one."""
        change = [0] * (len(self.order) + 2)
        for span in self.spans.values():
            change[span.begin] += span.size
            change[span.end] -= span.size
            if span.over is not None:  # its memory counts once while both live
                change[span.begin] -= span.size
                change[span.begin + 1] += span.size
        loads: list[int] = []
        for each in change[:-1]:
            loads.append((loads[-1] if loads else 0) + each)
        return tuple(loads)


def order(
    steps: Mapping[str, Step],
    *,
    given: Mapping[str, int] | None = None,
    keep: Iterable[Read] = (),
    cuts: int | None = None,
    as_given: bool = False,
) -> Schedule:
    """Return an order of steps in which the values that live at the same time are small together.

    A value lives from the step that writes it until after the last one that reads it; while a step runs, its operands
    and its results live. The order is split where all steps come before or after one. Fast orders come first; where
    none of them reaches the lower bound, a search over cuts follows, which finds the best order or ends after a number
    of cuts, not after a time: the same steps have the same order on every machine.

    Parameters
    ----------
    steps : mapping of str to Step
        The steps by name. Where several orders need the same, those that come first here come first.
    given : mapping of str to int, optional
        Sizes of values that are there before the first step.
    keep : iterable of str, or (str, int)
        Values that live until after the last step, whoever reads them.
    cuts : int, optional
        Greatest number of cuts of the search, each a set of steps that have run; 0 for fast orders alone, and 1,000,000
        where the best order is worth ten seconds and more. If not given, 10 for each step, and at least 15,000: about
        a second for a thousand steps. A cut takes 0.01 to 0.05 ms; one from which many steps can be next counts
        several times.
    as_given : bool
        Whether the order stays as the steps are given, to see what it needs beside the lower bound.

    Returns
    -------
    Schedule
        The order, its peak, a lower bound of all peaks, and the spans of values, which `place` gives offsets.

    Raises
    ------
    ScheduleError
        If steps read what does not exist, come after themselves, or overwrite what they do not read; if the order is to
        stay as given, and a step comes before what it reads.

    Examples
    --------
    >>> from graphrewrite.memory import Step, order
    >>> steps = {
    ...     "small": Step(128, reads=("x",)),
    ...     "turned": Step(6400),
    ...     "part": Step(64, reads=("turned",)),
    ...     "joined": Step(192, reads=("small", "part")),
    ... }
    >>> found = order(steps, given={"x": 64}, keep=["joined"])
    >>> found.order, found.peak, found.is_optimal
    (('turned', 'part', 'small', 'joined'), 6528, True)
    """
    if cuts is None:
        cuts = max(_LEAST, _EACH * len(steps))
    if cuts < 0:
        raise ScheduleError(f"a number of cuts is 0 or more, got {cuts}")
    given = dict(given or {})
    problem, index = steps_of(steps, given, keep)
    names = tuple(steps)
    found, bound, taken = _as_given(problem, names) if as_given else best_order(problem, cuts)
    spans = _spans(problem, found)
    return Schedule(
        tuple(names[step] for step in found),
        peak_of(problem, found),
        bound,
        taken,
        MappingProxyType({value: spans[i] for value, i in index.items()}),
    )


def _as_given(steps: Steps, names: Sequence[str]) -> tuple[list[int], int, int]:
    """Return the order that is given, a lower bound of all peaks, and no cuts."""
    for step, before in enumerate(steps.before):
        if (late := max(before, default=-1)) > step:
            raise ScheduleError(f"comes before {names[late]!r}, which it needs; let the order change", node=names[step])
    whole, _ = joined(steps)
    return list(range(len(steps))), _bound(whole, list(parts_of(whole))), 0


def _bound(steps: Steps, parts: Sequence[Part]) -> int:
    """Return a lower bound of all peaks."""
    return max([steps.start(), *(least_needed(part.steps) for part in parts)])


def best_order(steps: Steps, limit: int) -> tuple[list[int], int, int]:
    """Return an order, a lower bound of all peaks, and the number of cuts that were looked at, within a limit.

    Examples
    --------
    >>> found, _ = steps_of({"a": Step(8), "b": Step(2), "c": Step(1, reads=("a",))}, {}, ["b", "c"])
    >>> best_order(found, 100)
    ([0, 2, 1], 9, 0)
    """
    whole, members = joined(steps)
    parts = list(parts_of(whole))
    orders, peaks = [], []
    for part in parts:
        peak, found = _fast(part.steps)
        orders.append(found)
        peaks.append(peak)
    bound, left = _bound(whole, parts), limit
    # The part with the highest peak first: no other needs to be lower than its bound.
    for i in sorted(range(len(parts)), key=lambda i: (-peaks[i], i)):
        if peaks[i] > bound and left:
            outcome = searched(parts[i].steps, bound, peaks[i], left)
            left -= outcome.cuts
            bound = max(bound, outcome.bound)
            if outcome.order is not None:
                orders[i] = list(outcome.order)
                peaks[i] = peak_of(parts[i].steps, orders[i])
    names: list[int] = []
    for part, found, peak in zip(parts, orders, peaks, strict=True):
        names += [part.names[step] for step in freeing_early(part.steps, found, peak)]
    return [step for each in names for step in members[each]], bound, limit - left


def _fast(steps: Steps) -> tuple[int, list[int]]:
    """Return the best of some orders, in which steps come as soon as they leave no more alive, and its peak."""
    given = list(range(len(steps)))
    candidates = [given] if given == steps.in_order() else []
    candidates += [least_first(steps), operands_first(steps)]
    peak, order = min(((peak_of(steps, found), found) for found in candidates), key=lambda pair: pair[0])
    for _ in range(_REPEATED):
        found = freeing_early(steps, order, peak)
        if (lower := peak_of(steps, found)) >= peak:
            break
        peak, order = lower, found
    return peak, order


def _spans(steps: Steps, order: list[int]) -> list[Span]:
    """Return the span of each value."""
    place = {step: i for i, step in enumerate(order)}
    begins, ends = [0] * len(steps.values), [0] * len(steps.values)
    over: list[int | None] = [None] * len(steps.values)
    for step, writes in enumerate(steps.writes):
        for v in writes:
            begins[v], ends[v] = place[step], place[step] + 1
    for v, value in enumerate(steps.values):
        if value.is_kept:
            ends[v] = len(order) + 1
        elif value.readers:
            ends[v] = max(place[reader] for reader in value.readers) + 1
    for step, operands in enumerate(steps.over):
        for v in operands:
            if ends[v] == place[step] + 1 and over[steps.writes[step][0]] is None:
                over[steps.writes[step][0]] = v
    return [Span(value.size, begins[v], ends[v], over=over[v]) for v, value in enumerate(steps.values)]
