"""The numpy meaning of what works number by number against its definition, and what such components refuse."""

import math
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from graphrewrite.errors import TypeMismatchError
from graphrewrite.hdl.checking.case import Case
from graphrewrite.hdl.component import Site
from graphrewrite.hdl.components.add import add
from graphrewrite.hdl.components.affine import affine
from graphrewrite.hdl.components.argmax import argmax
from graphrewrite.hdl.components.concat import concat
from graphrewrite.hdl.components.interpolate import interpolate
from graphrewrite.hdl.components.lookup import lookup
from graphrewrite.hdl.components.multiply import multiply
from graphrewrite.hdl.components.requantise import requantise
from graphrewrite.hdl.components.select_lanes import select
from graphrewrite.hdl.components.split import split
from graphrewrite.hdl.components.threshold import threshold
from graphrewrite.op.op import Op
from graphrewrite.types import FixedPoint, Stream
from tests.hdl.configurations import cases


def _each(case: Case, number: Callable[..., int]) -> np.ndarray:
    """Apply a function of a channel and of its numbers (Python integers) everywhere."""
    result = np.empty(case.inputs[0].shape, object)
    for at in np.ndindex(result.shape):
        result[at] = number(at[1], *(int(x[at]) for x in case.inputs))
    return result


def _of_channel(values: Any, channel: int) -> int:
    numbers = np.ravel(values).tolist()
    return int(numbers[channel % len(numbers)])


ROUNDED: dict[str, Callable[[Fraction], int]] = {
    "half_even": round,
    "half_up": lambda v: math.floor(v + Fraction(1, 2)),
    "down": math.floor,
    "to_zero": math.trunc,
}


def _requantise(case: Case) -> np.ndarray:
    at, element = case.site.attributes, case.site.results[0].element
    low = element.minimum if at["low"] is None else max(at["low"], element.minimum)
    high = element.maximum if at["high"] is None else min(at["high"], element.maximum)

    def number(channel: int, x: int) -> int:
        exact = Fraction(x) / Fraction(2) ** _of_channel(at["shift"], channel)
        return max(low, min(ROUNDED[at["rounding"]](exact) + at["offset"], high))

    return _each(case, number)


def _affine(case: Case) -> np.ndarray:
    at = case.site.attributes
    return _each(case, lambda c, x: x * _of_channel(at["gain"], c) + _of_channel(at["bias"], c))


def _lookup(case: Case) -> np.ndarray:
    at = case.site.attributes
    tables = np.atleast_2d(at["table"]).tolist()

    def number(channel: int, x: int) -> int:
        table = tables[channel % len(tables)]
        return int(table[max(0, min(x - at["low"], len(table) - 1))])

    return _each(case, number)


def _interpolate(case: Case) -> np.ndarray:
    at = case.site.attributes
    bases, slopes = np.atleast_2d(at["base"]).tolist(), np.atleast_2d(at["slope"]).tolist()

    def number(channel: int, x: int) -> int:
        base, slope = bases[channel % len(bases)], slopes[channel % len(slopes)]
        segment, within = divmod(x - at["low"], 2 ** at["rest"])
        return math.floor(Fraction(base[segment] + slope[segment] * within, 2 ** at["shift"]))

    return _each(case, number)


def _threshold(case: Case) -> np.ndarray:
    at = case.site.attributes
    rows = np.asarray(at["levels"]).tolist()
    return _each(case, lambda c, x: at["offset"] + at["step"] * sum(x >= level for level in rows[c % len(rows)]))


DEFINITIONS: dict[str, Callable[[Case], np.ndarray]] = {
    "requantise": _requantise,
    "affine": _affine,
    "lookup": _lookup,
    "interpolate": _interpolate,
    "threshold": _threshold,
    "multiply": lambda case: _each(case, lambda _, x, y: x * y),
}


@pytest.mark.parametrize("name", DEFINITIONS)
def test_the_meaning_equals_its_definition(name: str) -> None:
    for case in cases(name):
        got = case.component.op(*case.inputs, **case.site.attributes)
        assert got.dtype == case.site.results[0].element.dtype, case
        assert np.array_equal(got.astype(object), DEFINITIONS[name](case)), case


def test_channels_are_moved_and_not_changed() -> None:
    for case in cases("concat"):
        (x, y), given, axis = case.inputs, case.site.attributes, case.site.attributes["axis"]
        got = concat(x, y, **given)
        assert [part.tolist() for part in np.moveaxis(got, axis, 0)] == [
            part.tolist() for operand in (x, y) for part in np.moveaxis(operand, axis, 0)
        ]
        repeated = np.repeat(y[:1], len(x), axis=0)
        assert np.array_equal(concat(x, y[:1], **given), concat(x, repeated, **given))  # as of a constant
    for case in cases("split"):
        parts = split(*case.inputs, **case.site.attributes)
        assert [part.shape[1:] for part in parts] == [result.shape for result in case.site.results]
        assert np.array_equal(np.concatenate(parts, axis=1), case.inputs[0])
    for case in cases("select_lanes"):
        got = select(*case.inputs, **case.site.attributes)
        for to, source in enumerate(case.site.attributes["order"]):
            assert np.array_equal(got[:, to], case.inputs[0][:, source])


S8, U4 = FixedPoint(True, 8), FixedPoint(False, 4)
X = Stream(S8, (6, 5))
FOLDED = Stream(S8, (6, 5), 2)


@pytest.mark.parametrize(
    ("op", "operands", "attributes", "told"),
    [
        (add, (X, FOLDED), {"element": FixedPoint(True, 9)}, "differ in shape or lanes; give equal shapes and refold"),
        (multiply, (X, FOLDED), {"element": FixedPoint(True, 16)}, "differ in shape or lanes"),
        (multiply, (X, X), {"element": S8}, r"products of -16256 to 16384 exceed s8f0; give s16f0 or wider"),
        (
            multiply,
            (X, X),
            {"element": FixedPoint(True, 16), "stages": 4},
            "stages=4: .* has use for 1 to 3 pipeline stages",
        ),
        (affine, (X,), {"gain": [1, 2], "element": S8}, r"gains int64\[2\] do not fit the 6 channels"),
        (affine, (X,), {"gain": 0.5, "element": S8}, r"affine.gain: expected int"),
        (affine, (X,), {"gain": 2**30, "element": S8}, "a gain exceeds 30 bits; quantise"),
        (affine, (X,), {"gain": 2, "element": S8}, "results of -256 to 254 exceed s8f0; give s9f0 or wider"),
        (argmax, (X,), {"element": FixedPoint(False, 2)}, "s?u2f0 does not hold an index of 6 channels; give u3f0"),
        (argmax, (FOLDED,), {"element": U4, "stages": 3}, "stages=3: .* 1 to 2 pipeline stages"),
        (requantise, (X,), {"shift": [1, 2], "element": S8}, "2 shifts do not fit the channels .*; give one, or 6"),
        (
            requantise,
            (X,),
            {"shift": 1, "element": S8, "rounding": "up"},
            "rounding is half_even, .* or to_zero, not 'up'",
        ),
        (requantise, (X,), {"shift": 1, "element": S8, "offset": 2**50}, "offset 1125899906842624 exceeds 48 bits"),
        (requantise, (FOLDED,), {"shift": 1, "element": S8, "stages": 3}, "stages=3: .* 1 to 2 pipeline stages"),
        (
            lookup,
            (Stream(FixedPoint(True, 13), (6,)),),
            {"table": [1], "element": S8},
            "requantise to 12 bits, or use i",
        ),
        (lookup, (X,), {"table": [[1]], "element": S8}, "1 tables do not fit .*; give one, or 6"),
        (lookup, (X,), {"table": [0.5], "element": S8}, r"float64\[1\] is no vector or matrix of whole numbers"),
        (lookup, (X,), {"table": [128], "element": S8}, "entries of 128 to 128 exceed s8f0; give u8f0 or wider"),
        (threshold, (X,), {"levels": [[1], [2]], "element": S8}, "a row of whole numbers for all channels, or 6 rows"),
        (threshold, (X,), {"levels": [[1] * 16], "element": U4}, "results of 0 to 16 exceed u4f0; give u5f0"),
        (
            threshold,
            (X,),
            {"levels": [[1]], "element": U4, "method": "fast"},
            "method is parallel or search, not 'fast'",
        ),
        (
            threshold,
            (X,),
            {"levels": [[1] * 9], "element": U4, "method": "search", "stages": 2},
            "1 to 1 pipeline stages",
        ),
        (concat, (X, Stream(U4, (6, 5))), {}, "differ in format; requantise"),
        (concat, (X, Stream(S8, (6, 4))), {}, "differ in their positions"),
        (concat, (X, Stream(S8, (5, 4))), {"axis": 2}, "differ in their channels or positions; .* but for axis 2"),
        (concat, (X, X), {"axis": 3}, "have no axis 3 in common; give 1 for channels"),
        (concat, (X, X), {"axis": 0}, "have no axis 0 in common"),
        (concat, (X, FOLDED), {}, "differ in lanes; refold one"),
        (concat, (X, FOLDED), {"axis": 2}, "differ in lanes; refold one"),
        (split, (X,), {"at": 6}, "leaves one of two parts of .* empty; give 1 to 5"),
        (split, (FOLDED,), {"at": 3}, "cannot be split at 3 within a beat; refold it to a divisor of 3 lanes"),
        (select, (X,), {"order": [0, 1, 6]}, "are no channels of .*; give numbers from 0 to 5"),
        (select, (FOLDED,), {"order": [5, 4, 3, 2, 1, 0]}, "several beats; refold it to 6 lanes first"),
    ],
)
def test_a_component_refuses_what_it_cannot_do(
    op: Op, operands: tuple[Stream, ...], attributes: dict[str, Any], told: str
) -> None:
    with pytest.raises(TypeMismatchError, match=told):
        Site.of(op, *operands, **attributes)


LINES = {"base": [0, 0], "slope": [0, 0], "rest": 7, "shift": 0, "low": -128, "element": S8}


@pytest.mark.parametrize(
    ("wrong", "told"),
    [
        ({"rest": 6}, "2 segments of 6 bits from -128 on are not the range of s8f0"),
        ({"low": 0}, "and low=-128"),
        ({"slope": [1]}, r"slopes int64\[1\] are no lines"),
        ({"base": [0.0, 0.0]}, "are no lines; give vectors of whole numbers"),
        ({"base": [[0, 64]], "slope": [[0, 1]]}, "lines of 1 channels do not fit .*; give one, or"),
        ({"shift": 48}, "the shift exceeds 48 bits"),
        ({"slope": [2, 0]}, "results of 0 to 254 exceed s8f0; give u8f0 or wider"),
        ({"stages": 3}, "1 to 2 pipeline stages"),
    ],
)
def test_lines_have_to_fit_the_range_of_the_operand(wrong: dict[str, Any], told: str) -> None:
    with pytest.raises(TypeMismatchError, match=told):
        Site.of(interpolate, X, **{**LINES, **wrong})
