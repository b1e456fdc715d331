"""Rules and passes as the viewer shows them: where they are written, what they say, and their source."""

from __future__ import annotations

import inspect
import linecache
import textwrap
from collections.abc import Callable
from typing import Any

from graphrewrite.trace import Step, Trace
from graphrewrite.view.plain import plain
from graphrewrite.view.stepper.content import Card

__all__ = ["Cards"]

_LINES = 120
_LETTERS = 200


class Cards:
    """The rules and passes of a trace, in the order in which they fired for the first time.

    Parameters
    ----------
    trace : Trace
    """

    def __init__(self, trace: Trace) -> None:
        self.counts = trace.counts
        self.members = trace.members
        self.places: dict[str, int] = {}
        self.made: list[Card] = []

    def __call__(self, step: Step) -> int:
        """Return the position of a step's rule."""
        if step.rule not in self.places:
            self.places[step.rule] = len(self.made)
            self.made.append(self._card(step))
        return self.places[step.rule]

    def _card(self, step: Step) -> Card:
        is_rule = step.match is not None
        member = step.match.rule if is_rule else self.members.get(step.rule)
        return Card(
            name=plain(step.rule, _LETTERS),
            kind="rule" if is_rule else "pass",
            place=plain(step.source, _LETTERS),
            doc=plain_lines(getattr(member, "__doc__", None) or ""),
            source=plain_lines(_source(member)),
            pattern=plain(member, 400) if is_rule else "",
            fired=self.counts[step.rule],
        )


def plain_lines(text: str) -> str:
    """Return a text of several lines of which nothing is invisible.

    Parameters
    ----------
    text : str
        Its indentation is taken away; what is beyond some lines is left out.

    Returns
    -------
    str
    """
    lines = [plain(line.expandtabs(4), _LETTERS) for line in inspect.cleandoc(text).splitlines()]
    return "\n".join([*lines[:_LINES], *(["…"] if len(lines) > _LINES else [])])


def _source(member: Any) -> str:
    function: Callable[..., Any] | None = getattr(member, "function", member if inspect.isfunction(member) else None)
    if function is None:
        return _statement(getattr(member, "file", ""), getattr(member, "line", 0))
    try:
        return textwrap.dedent(inspect.getsource(function))
    except (OSError, TypeError):
        return ""


def _statement(file: str, line: int) -> str:
    """Return the statement that a line belongs to: of a rule that is no function, the call that made it."""
    lines = [text.rstrip("\n") for text in linecache.getlines(file)[line - 1 :]] if line > 0 else []
    depth = 0
    for count, text in enumerate(lines[:_LINES], start=1):
        depth += sum(text.count(c) for c in "([{") - sum(text.count(c) for c in ")]}")
        if depth <= 0:
            return textwrap.dedent("\n".join(lines[:count]))
    return textwrap.dedent("\n".join(lines[:1]))
