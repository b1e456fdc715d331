"""What the ops of the library came to take after the graphs of many tests had been settled.

Graphs of the ops that nobody names are drawn as if they had not: tests whose examples are always the same ones stay as
sharp as they were measured to be. Where an op is named, by a test or by a rule, all of it is drawn.
"""

from __future__ import annotations

from collections.abc import Mapping

from graphrewrite.op.op import Op

__all__ = ["drawn_kinds", "gained_by", "least_rank", "mostly_given"]

_ATTRIBUTES: Mapping[str, frozenset[str]] = {
    "arg_max": frozenset({"select_last_index"}),
    "average_pool": frozenset({"dilations", "ceil_mode"}),
    "cast": frozenset({"saturate", "round_mode"}),
    "max_pool": frozenset({"dilations", "ceil_mode"}),
    "pad": frozenset({"mode"}),
    "reshape": frozenset({"allow_zero"}),
}
_GIVEN: Mapping[str, frozenset[str]] = {"squeeze": frozenset({"axes"})}
"""Attributes that came to have a default, and mostly are given all the same."""
_KINDS: Mapping[str, frozenset[str]] = {"div": frozenset({"float"})}
"""Kinds of elements that graphs have of an op which takes more: integers are divided by zero too often."""

_RANKS: Mapping[str, int] = {"matmul": 2}
"""Fewest axes of operands in graphs; rules that name the op are varied beyond that."""


def gained_by(op: Op) -> frozenset[str]:
    """Return the attributes that an op came to have later.

    Examples
    --------
    >>> from graphrewrite import op
    >>> sorted(gained_by(op.pad)), sorted(gained_by(op.conv))
    (['mode'], [])
    """
    return _ATTRIBUTES.get(op.name, frozenset()) & op.attributes.keys()


def mostly_given(op: Op) -> frozenset[str]:
    """Return the attributes that came to have a default."""
    return _GIVEN.get(op.name, frozenset()) & op.attributes.keys()


def drawn_kinds(op: Op) -> frozenset[str] | None:
    """Return the kinds of elements with which graphs have an op; None where it is all that it takes."""
    return _KINDS.get(op.name)


def least_rank(op: Op) -> int:
    """Return how many axes the operands of an op have in graphs, at least."""
    return _RANKS.get(op.name, 0)
