"""Values of VHDL generics: constants beyond an integer, and how a value is written."""

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from graphrewrite.hdl.component import Generic

__all__ = ["literal", "long_integer", "long_vector"]

_INTEGER = 2**31 - 1
_SAFE = 2147483599  # GHDL 2.0 takes the thirty numbers above it for an overflow


def long_integer(name: str, value: int) -> dict[str, Generic]:
    """Return the generics that carry an integer of up to 48 bits: ``NAME_UPPER * 2**24 + NAME``.

    Examples
    --------
    >>> long_integer("LOW", -5), long_integer("LOW", 2**40 + 7)
    ({'LOW': -5}, {'LOW': 7, 'LOW_UPPER': 65536})
    """
    # Integers of VHDL have 32 bits; a longer one travels in two generics.
    if abs(value) <= _INTEGER:
        return {name: value}
    return {name: value & 0xFFFFFF, f"{name}_UPPER": value >> 24}


def long_vector(name: str, values: NDArray[np.int64], *, long: bool) -> dict[str, Generic]:
    """Return the generics that carry integers of up to 48 bits, split as by `long_integer` if ``long``.

    Examples
    --------
    >>> long_vector("BIAS", np.array([-1, 5]), long=True)
    {'BIAS': array([16777215, 5]), 'BIAS_UPPER': array([-1, 0])}
    """
    if not long:
        return {name: values}
    return {name: values & 0xFFFFFF, f"{name}_UPPER": values >> 24}


def literal(value: Generic, *, indent: int = 0, width: int = 120) -> str:
    """Return a value as VHDL writes it; a long vector is wrapped.

    Examples
    --------
    >>> literal(True), literal(-3), literal(np.array([1, -2])), literal(np.array([7]))
    ('true', '-3', '(1, -2)', '(0 => 7)')
    >>> literal(2**31 - 1), literal(-(2**31))
    ('2147483599 + 48', '-2147483599 - 49')
    >>> print(literal(np.arange(8), indent=2, width=16))
    (
      0, 1, 2, 3, 4,
      5, 6, 7
    )
    """
    if isinstance(value, bool | np.bool_):
        return str(bool(value)).lower()
    if isinstance(value, int | np.integer):
        return _number(int(value))
    words = [_number(number) for number in np.asarray(value).ravel().tolist()]
    if len(words) == 1:
        return f"(0 => {words[0]})"
    short = ", ".join(words)
    if len(short) + 2 + indent <= width:
        return f"({short})"
    margin = " " * indent
    return "(\n" + ",\n".join(margin + line for line in _lines(words, width - indent - 1)) + "\n" + margin[2:] + ")"


def _number(value: int) -> str:
    if abs(value) <= _SAFE:
        return str(value)
    sign = "-" if value < 0 else "+"
    return f"{sign.strip('+')}{_SAFE} {sign} {abs(value) - _SAFE}"


def _lines(words: list[str], width: int) -> Iterator[str]:
    line = words[0]
    for word in words[1:]:
        if len(line) + 2 + len(word) > width:
            yield line
            line = word
        else:
            line = f"{line}, {word}"
    yield line
