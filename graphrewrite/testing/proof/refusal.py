"""Reasons why a computation has no form that z3 decides: inner signals, which `prove` never raises."""

from __future__ import annotations

__all__ = ["Raised", "RoundedSum", "Undefined", "Untranslatable"]


class Untranslatable(Exception):
    """A computation has no form in bit-vectors; the verdict is then "unknown", with this reason.

    An inner signal: `prove` never raises it. It is no ``TypeError`` or ``ValueError``, so that no op takes it for one
    of its own.
    """


class Raised(Untranslatable):
    """The code of an op raises an error, whatever the inputs are."""


class Undefined(Untranslatable):
    """For some inputs, numpy leaves the result undefined, so that no rule can keep it."""


class RoundedSum(Untranslatable):
    """A sum of floats may be rounded, in an order that numpy leaves open."""
