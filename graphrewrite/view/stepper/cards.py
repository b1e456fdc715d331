"""Rules and passes as the viewer shows them: source location, docstring and source."""

from __future__ import annotations

import inspect

from graphrewrite.rewriting.traces import Trace
from graphrewrite.view.plain import plain
from graphrewrite.view.source import place_of, written_source
from graphrewrite.view.stepper.content import Card

__all__ = ["card_of"]

_LINES = 120
_LETTERS = 200


def card_of(trace: Trace, name: str, fired: int) -> Card:
    """Return the card of a rule or pass of a trace that fired in so many steps."""
    member, is_rule = trace.members.get(name), name in trace.profile
    return Card(
        name=plain(name, _LETTERS),
        kind="rule" if is_rule else "pass",
        place=plain(place_of(member), _LETTERS),
        doc=plain_lines(getattr(member, "__doc__", None) or ""),
        source=plain_lines(written_source(member)),
        pattern=plain(member, 400) if is_rule else "",
        fired=fired,
    )


def plain_lines(text: str) -> str:
    """Return a text of several lines without invisible characters."""
    lines = [plain(line.expandtabs(4), _LETTERS) for line in inspect.cleandoc(text).splitlines()]
    return "\n".join([*lines[:_LINES], *(["…"] if len(lines) > _LINES else [])])
