"""Reasons why a computation has no form that z3 decides: inner signals, which `prove` never raises."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

__all__ = ["Raised", "RoundedSum", "Undefined", "Untranslatable", "attentive", "is_watched"]

_REASONS: ContextVar[list[str] | None] = ContextVar("_REASONS", default=None)


class Untranslatable(Exception):
    """A computation has no form in bit-vectors; the verdict is then "unknown", with this reason.

    An inner signal: `prove` never raises it. It is no ``TypeError`` or ``ValueError``, so that no op takes it for one
    of its own. Code that swallows it is not followed either, see `attentive`.
    """

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        reasons = _REASONS.get()
        if reasons is not None:
            reasons.append(reason)


@contextmanager
def attentive() -> Iterator[None]:
    """Raise in the end what code has swallowed: after it, a symbol may have gone another way than its values.

    Raises
    ------
    Untranslatable
        With the first reason that was given inside.
    """
    reasons: list[str] = []
    token = _REASONS.set(reasons)
    try:
        yield
    except Untranslatable:
        raise
    except Exception as error:
        if reasons:  # one that came of it
            raise Untranslatable(reasons[0]) from error
        raise
    finally:
        _REASONS.reset(token)
    if reasons:
        raise Untranslatable(reasons[0])


def is_watched() -> bool:
    """Tell whether code is running whose questions count."""
    return _REASONS.get() is not None


class Raised(Untranslatable):
    """The code of an op raises an error, whatever the inputs are."""


class Undefined(Untranslatable):
    """For some inputs, numpy leaves the result undefined, so that no rule can keep it."""


class RoundedSum(Untranslatable):
    """A sum of floats may be rounded, in an order that numpy leaves open."""
