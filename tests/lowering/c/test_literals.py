"""Numbers in C: each is read back as itself, in the type that it is for (C11, 6.4.4 and 7.20)."""

from __future__ import annotations

import re

import numpy as np
import pytest

from graphrewrite.lowering.c.arrays import literal
from graphrewrite.lowering.c.emission import _library


@pytest.mark.parametrize(
    ("number", "dtype", "text"),
    [
        (200, "uint8", "200"),
        (60000, "uint16", "60000"),
        (60000, "uint32", "60000u"),
        (60000, "uint64", "60000u"),
        ((1 << 32) - 1, "uint64", "4294967295u"),
        (1 << 32, "uint64", "UINT64_C(4294967296)"),
        (1, "bool", "1"),
        (-128, "int8", "-128"),
        (-(1 << 15), "int16", "-32768"),
        (-(1 << 31), "int32", "INT32_MIN"),
        (-(1 << 63), "int64", "INT64_MIN"),
        ((1 << 31) - 1, "int64", "2147483647"),
        (1 - (1 << 31), "int64", "-2147483647"),
        (1 << 31, "int64", "INT64_C(2147483648)"),
        (-(1 << 31), "int64", "(-INT64_C(2147483648))"),
        (1.0, "float16", "0x3c00"),
        (0.1, "float32", "0.1f"),
        (0.1, "float64", "0.1"),
        (np.nan, "float32", "NAN"),
        (np.inf, "float32", "INFINITY"),
        (-np.inf, "float64", "-INFINITY"),
    ],
)
def test_a_number_has_the_type_that_it_is_for(number: float, dtype: str, text: str) -> None:
    assert literal(number, np.dtype(dtype)) == text


@pytest.mark.parametrize("element", [f"{sign}{bits}" for sign in ("int", "uint") for bits in (8, 16, 32, 64)])
def test_conversions_of_real_numbers_end_at_the_limits(element: str) -> None:
    """The greatest one of 64 bits is no double: the first one above it is, and is cut off as well."""
    ends, text = np.iinfo(element), _library()[f"{element}_of"]
    found = [float(re.findall(rf"x {sign} ([^ );]+)", text)[0]) for sign in ("<=", ">=")]
    assert found == [float(ends.min or -1), float(ends.max)]
