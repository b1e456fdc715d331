"""Rules and passes as the viewer shows them: where they are written, what they say, and their source."""

from __future__ import annotations

import inspect
from pathlib import Path
from typing import Any

from graphrewrite.rewriting.digraph_rules import GraphRule
from graphrewrite.rewriting.traces import Step, Trace
from graphrewrite.view.plain import plain
from graphrewrite.view.source import written_source
from graphrewrite.view.stepper.content import Card

__all__ = ["Cards"]

_LINES = 120
_LETTERS = 200


class Cards:
    """The rules and passes of a trace, in the order in which they fired for the first time."""

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
            place=plain(_short(step.source, member), _LETTERS),
            doc=plain_lines(getattr(member, "__doc__", None) or ""),
            source=plain_lines(written_source(member)),
            pattern=plain(member, 400) if is_rule else "",
            fired=self.counts[step.rule],
        )


def plain_lines(text: str) -> str:
    """Return a text of several lines of which nothing is invisible."""
    lines = [plain(line.expandtabs(4), _LETTERS) for line in inspect.cleandoc(text).splitlines()]
    return "\n".join([*lines[:_LINES], *(["…"] if len(lines) > _LINES else [])])


def _short(place: str, member: Any) -> str:
    """A place by the file's name in its package: no page tells how the machine that made it is laid out."""
    parts = Path(place).parts
    module = getattr(getattr(member, "function", member), "__module__", None)  # None of what `exec` made
    if isinstance(member, GraphRule) or module in (None, "__main__"):
        return "/".join(parts[-2:])
    depth = module.count(".") + 1 + parts[-1].startswith("__init__.py") if parts else 0
    return "/".join(parts[-depth:])
