"""Why something is no arithmetic of bit-vectors."""

from __future__ import annotations

__all__ = ["RoundedSum", "Undefined", "Untranslatable"]


class Untranslatable(Exception):
    """What an op computes has no form in bit-vectors; the verdict is then "unknown", with this reason.

    An inner signal: `prove` never raises it. It is no ``TypeError`` or ``ValueError``, so that no op takes it for one
    of its own.
    """


class Undefined(Untranslatable):
    """For some inputs, numpy does not say what it computes: nobody can keep that."""


class RoundedSum(Untranslatable):
    """A sum of floats may be rounded, in an order that numpy does not say."""
