"""Rules and passes as the viewer shows them: source location, docstring and source."""

from __future__ import annotations

import inspect

from graphrewrite.rewriting.traces import Step, Trace
from graphrewrite.view.plain import plain
from graphrewrite.view.source import place_of, written_source
from graphrewrite.view.stepper.content import Card

__all__ = ["Cards"]

_LINES = 120
_LETTERS = 200


class Cards:
    """The rules and passes of a trace, in the order in which they fired for the first time."""

    def __init__(self, trace: Trace) -> None:
        self.counts = trace.counts
        self.members = trace.members
        self.numbers: dict[str, int] = {}
        self.cards: list[Card] = []

    def __call__(self, step: Step) -> int:
        """Return the position of a step's rule."""
        if step.rule not in self.numbers:
            self.numbers[step.rule] = len(self.cards)
            self.cards.append(self._card(step))
        return self.numbers[step.rule]

    def _card(self, step: Step) -> Card:
        is_rule = step.match is not None
        member = step.match.rule if is_rule else self.members.get(step.rule)
        return Card(
            name=plain(step.rule, _LETTERS),
            kind="rule" if is_rule else "pass",
            place=plain(place_of(member), _LETTERS),
            doc=plain_lines(getattr(member, "__doc__", None) or ""),
            source=plain_lines(written_source(member)),
            pattern=plain(member, 400) if is_rule else "",
            fired=self.counts[step.rule],
        )


def plain_lines(text: str) -> str:
    """Return a text of several lines without invisible characters."""
    lines = [plain(line.expandtabs(4), _LETTERS) for line in inspect.cleandoc(text).splitlines()]
    return "\n".join([*lines[:_LINES], *(["…"] if len(lines) > _LINES else [])])
