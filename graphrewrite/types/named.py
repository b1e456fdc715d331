"""Element types that have a name: floats, integers and bool."""

from __future__ import annotations

from typing import Any

import numpy as np

from graphrewrite.errors import TypeMismatchError, did_you_mean
from graphrewrite.types.small_floats import SMALL_FLOATS

__all__ = ["HELD_WIDER", "NAMES", "SHORT_INTEGERS", "USUAL_NAMES", "check_name", "integer_limits", "named_dtype"]

_DTYPES: dict[str, np.dtype[Any]] = {
    "f16": np.dtype(np.float16),
    "f32": np.dtype(np.float32),
    "f64": np.dtype(np.float64),
    "bf16": np.dtype(np.float32),
    "bool": np.dtype(np.bool_),
    "i4": np.dtype(np.int8),
    **{f"i{bits}": np.dtype(f"int{bits}") for bits in (8, 16, 32, 64)},
    "u4": np.dtype(np.uint8),
    **{f"u{bits}": np.dtype(f"uint{bits}") for bits in (8, 16, 32, 64)},
    **{name: np.dtype(np.float32) for name in SMALL_FLOATS},
    "i2": np.dtype(np.int8),
    "u2": np.dtype(np.uint8),
}

NAMES: tuple[str, ...] = tuple(_DTYPES)
"""All element types that are written as one word."""

USUAL_NAMES: tuple[str, ...] = (
    *("f32", "f16", "f64", "bf16", "bool"),
    *("i4", "i8", "i16", "i32", "i64"),
    *("u4", "u8", "u16", "u32", "u64"),
)
"""Element types of most models: without integers of two bits and floats of eight or four."""

SHORT_INTEGERS: frozenset[str] = frozenset({"i2", "i4", "u2", "u4"})
"""Integers of fewer than eight bits, stored in eight."""

HELD_WIDER: frozenset[str] = SHORT_INTEGERS | {"bf16", *SMALL_FLOATS}
"""Element types without a dtype in numpy; they are stored in a wider one, from which they cannot be recognised."""


def named_dtype(name: str) -> np.dtype[Any]:
    """Return the numpy dtype that holds the values of a named element type.

    numpy has no bfloat16, no smaller floats and no integers below 8 bits: they are stored in a wider type.

    Examples
    --------
    >>> named_dtype("bf16"), named_dtype("u4")
    (dtype('float32'), dtype('uint8'))
    """
    return _DTYPES[name]


def check_name(name: object) -> None:
    """Raise unless an element type has that name.

    Examples
    --------
    >>> check_name("f32")
    """
    if not isinstance(name, str) or name not in _DTYPES:
        raise TypeMismatchError(
            f"unknown element type {name!r}; known are {', '.join(NAMES)}, FixedPoint and Quantised"
            + did_you_mean(str(name), NAMES)
        )


def integer_limits(name: str) -> tuple[int, int] | None:
    """Return the least and the greatest number of a named integer type; None if it is not one.

    Examples
    --------
    >>> integer_limits("i4"), integer_limits("u8"), integer_limits("f32")
    ((-8, 7), (0, 255), None)
    """
    if name[0] not in "iu":
        return None
    bits = int(name[1:])
    return (-(1 << (bits - 1)), (1 << (bits - 1)) - 1) if name[0] == "i" else (0, (1 << bits) - 1)
