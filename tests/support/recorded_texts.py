"""Texts of graphs and of code with real numbers in them, compared with recorded ones."""

from __future__ import annotations

import re

import numpy as np

_REAL = re.compile(r"-?\d+\.\d+(?:e[-+]?\d+)?")


def without_reals(text: str) -> str:
    """A text without its real numbers: functions of numpy differ in the last bits from one processor to another."""
    return _REAL.sub("#", text)


def assert_near(text: str, recorded: str) -> None:
    """Fail unless two texts differ in the last digits of real numbers only, and not in the sign of a zero."""
    assert without_reals(text) == without_reals(recorded)
    found, wanted = (np.array(_REAL.findall(each), float) for each in (text, recorded))
    np.testing.assert_allclose(found, wanted, rtol=1e-4, atol=1e-4)
    is_zero = wanted == 0
    np.testing.assert_array_equal(np.signbit(found[is_zero]), np.signbit(wanted[is_zero]))
