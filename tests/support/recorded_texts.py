"""Texts of graphs and of code with real numbers in them, compared with recorded ones."""

from __future__ import annotations

import base64
import re

import numpy as np

_ARRAY = re.compile(r"array\('(<f[248])', (\[[^]]*\]), '([^']*)'\)")
"""How longer arrays of real numbers stand in texts of graphs."""
_REAL = re.compile(r"-?\d+\.\d+(?:e[-+]?\d+)?")


def without_reals(text: str) -> str:
    """A text without its real numbers: functions of numpy differ in the last bits from one processor to another."""
    return _REAL.sub("#", text)


def assert_near(text: str, recorded: str) -> None:
    """Fail unless two texts differ in the last digits of real numbers only, and not in the sign of a zero."""
    text, recorded = (_ARRAY.sub(_listed, each) for each in (text, recorded))
    assert without_reals(text) == without_reals(recorded)
    found, wanted = (np.array(_REAL.findall(each), float) for each in (text, recorded))
    np.testing.assert_allclose(found, wanted, rtol=1e-4, atol=1e-4)
    is_zero = (found == 0) & (wanted == 0)
    np.testing.assert_array_equal(np.signbit(found[is_zero]), np.signbit(wanted[is_zero]))


def _listed(array: re.Match[str]) -> str:
    """An array with its numbers."""
    numbers = np.frombuffer(base64.b64decode(array[3]), array[1])
    return f"array({array[1]}, {array[2]}, [{', '.join(f'{each:.9e}' for each in numbers)}])"
