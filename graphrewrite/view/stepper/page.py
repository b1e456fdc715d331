"""Show a trace: as a page in a file, and in a notebook as that page within a frame of its own."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import cached_property

from graphrewrite.errors import MissingDependencyError
from graphrewrite.rewriting.traces import Trace
from graphrewrite.runtime.gc_pause import gc_paused
from graphrewrite.view.display import Display
from graphrewrite.view.page import as_it_is, asset, document, environment, fragment
from graphrewrite.view.plain import plain
from graphrewrite.view.stepper.cards import card_of
from graphrewrite.view.stepper.compact import compact, script_data
from graphrewrite.view.stepper.content import Frame, Numbers, Stepper
from graphrewrite.view.stepper.geometry import placed
from graphrewrite.view.stepper.replay import frames_of
from graphrewrite.view.table import Table
from graphrewrite.view.written import PictureError

__all__ = ["StepperDisplay", "show_trace", "stepper_of"]

_NAME = 300


class StepperDisplay(Display):
    """The rewrite viewer: in a notebook a frame with its own style and script, as a file one document."""

    data: Stepper

    @cached_property
    def html(self) -> str:
        """The number of steps of each rule, and the steps within a frame."""
        # Within single quotes, only two characters of a page must be escaped.
        page = self._page(is_framed=True).replace("&", "&amp;").replace("'", "&#39;") if self.data.frames else ""
        return fragment("trace.html", data=self.data, frame=as_it_is(page))

    @cached_property
    def document(self) -> str:
        """The rewrite viewer as one self-contained HTML document."""
        return self._page(is_framed=False) if self.data.frames else document(self.title, self.html)

    def _page(self, *, is_framed: bool) -> str:
        data = script_data(compact(self.data))
        template = environment().get_template("stepper.html")
        body = template.render(data=self.data, script_data=as_it_is(data), is_framed=is_framed)
        return document(self.title, body, head=f"<style>{asset('stepper.css')}</style>")


def show_trace(trace: Trace, *, steps: slice | None = None, most: int = 2000) -> StepperDisplay:
    r"""Return the rewrite viewer: each step with the graph before and after, its rule, bindings and difference.

    Parameters
    ----------
    steps : slice, optional
        The steps to show, counted from 0; all where not given.
    most : int
        The greatest number of steps.

    Returns
    -------
    StepperDisplay
        A notebook draws its ``data``, a terminal prints its text, ``save`` writes a file.

    Examples
    --------
    >>> from graphrewrite import Graph, op, rule, trace
    >>> @rule
    ... def drop_identity(x):
    ...     "The identity is its operand."
    ...     yield op.identity(x)
    ...     return x
    >>> g = Graph.parse("graph g\nx = input() : f32[N]\ni = identity(x)\ny = output(i)")
    >>> shown = show_trace(trace(g, [drop_identity]))
    >>> shown.data.title
    '3 → 2 nodes in 1 step'
    >>> for line in shown.data.frames[0].diff:
    ...     print(line.sign, line.text)
    - i = identity(x) : f32[N]
      and of nodes that stay:
    - y = output(i)
    + y = output(x)
    """
    shown = stepper_of(trace, range(len(trace.steps))[steps or slice(None)], most=most)
    return StepperDisplay(shown, str(trace), template="trace.html", title=f"{shown.graph or 'trace'}: {shown.title}")


def stepper_of(trace: Trace, chosen: Sequence[int], *, most: int) -> Stepper:
    """Return the content of the viewer for a trace."""
    numbers, rules = Numbers(), Numbers()
    hint = ""
    with gc_paused():
        shown = sorted(chosen)[:most]
        try:
            frames = placed(frames_of(trace, shown, rules, numbers))
        except (MissingDependencyError, PictureError) as error:
            hint = f"no graphs are drawn: {error}"  # the viewer shows bindings and differences all the same
            numbers, rules = Numbers(), Numbers()
            undrawn = frames_of(trace, shown, rules, numbers)
            frames = [replace(frame, shapes=(), links=(), left_out=(0, 0)) for frame in undrawn]
    count, fired = len(trace.steps), trace.counts
    return Stepper(
        title=trace.headline.replace("->", "→"),
        graph=plain(trace.before.graph.get("name", ""), 120),
        notice=_left_out(frames, count),
        table=_table(trace),
        reasons=_reasons(trace),
        idle=tuple(plain(name, _NAME) for name in trace.profile.never_met),
        cards=tuple(card_of(trace, name, fired[name]) for name in rules),
        nodes=tuple(plain(node, _NAME) for node in numbers),
        frames=tuple(frames),
        hint=hint,
    )


def _left_out(frames: Sequence[Frame], count: int) -> str:
    if len(frames) == count or not frames:
        return ""
    first, last = frames[0].number, frames[-1].number
    return (
        f"Shown are {len(frames):,} of {count:,} steps, from {first:,} to {last:,}; "
        f"show others: trace.show(steps=slice({last}, {min(last + len(frames), count)}))"
    )


def _table(trace: Trace) -> Table:
    profile = trace.profile
    tried = {name: rule for name, rule in profile.items() if rule.tried}
    rows: list[tuple[str, ...]] = [
        (name, *(f"{n:,}" for n in (p.tried, p.matched, sum(p.declined.values()), p.fired)), f"{p.seconds:.4f}")
        for name, p in sorted(tried.items(), key=lambda entry: (-entry[1].fired, -entry[1].matched))
    ]
    runs = {name: fired for name, fired in trace.counts.items() if name not in profile}
    spent = {name: sum(step.seconds for step in trace.steps if step.rule == name) for name in runs}
    rows += [(f"{name} (pass)", "", "", "", f"{fired:,}", f"{spent[name]:.4f}") for name, fired in runs.items()]
    return Table(("rule", "tried", "matched", "declined", "fired", "seconds"), tuple(rows), frozenset(range(1, 6)))


def _reasons(trace: Trace) -> Table:
    rows = [
        (name, f"{count:,}", reason)
        for name, rule in trace.profile.items()
        for reason, count in rule.declined.most_common()
    ]
    return Table(("declined", "times", "because"), tuple(rows), frozenset({1}))
