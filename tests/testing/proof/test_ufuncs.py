"""Every translated ufunc computes what numpy computes: all dtypes, wrap-around included."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from graphrewrite.testing.proof.arithmetic import ELEMENTWISE
from graphrewrite.testing.proof.array import SymbolicArray, known
from graphrewrite.testing.proof.number import Number, unknown_number
from graphrewrite.testing.proof.refusal import Untranslatable
from tests.testing.proof.values import values_of

WHOLE = [np.dtype(f"{kind}int{bits}") for kind in ("", "u") for bits in (8, 16, 32, 64)]
DTYPES = [*WHOLE, np.dtype(bool)]
by_dtype = pytest.mark.parametrize("dtype", DTYPES, ids=str)
UFUNCS = sorted(ELEMENTWISE.keys() - {np.ldexp}, key=lambda ufunc: ufunc.__name__)  # its exponent must be known


def limits(dtype):
    return (0, 1) if dtype.kind == "b" else (int(np.iinfo(dtype).min), int(np.iinfo(dtype).max))


def interesting(dtype):
    low, high = limits(dtype)
    near = [low, 0, -1, 1, 63, 2, 7, high // 2, high, high - 1]
    return list(dict.fromkeys(n for n in near if low <= n <= high))


def symbolic(name, dtype):
    low, high = limits(dtype)
    return SymbolicArray(unknown_number(name, low, high), dtype)


def check(ufunc, arrays, dtypes):
    """Compare with numpy for all pairs of interesting numbers."""
    step = len(dtypes)  # of two operands every other number is enough
    for values in itertools.product(*(interesting(d)[::step] for d in dtypes)):
        concrete = [np.array(v, d) for v, d in zip(values, dtypes, strict=True)]
        with np.errstate(all="ignore"):
            expected = ufunc(*concrete)
        numbers = {(name, width(d)): v for name, d, v in zip("xy", dtypes, values, strict=False)}
        found = values_of(arrays, numbers)
        assert found.dtype == expected.dtype
        assert found == expected, (ufunc, values)


def width(dtype):
    return 1 if dtype.kind == "b" else 8 * dtype.itemsize


@by_dtype
@pytest.mark.parametrize("ufunc", UFUNCS, ids=lambda ufunc: ufunc.__name__)
def test_a_ufunc_computes_what_numpy_does(ufunc, dtype):
    dtypes = [dtype] * ufunc.nin
    names = [symbolic(name, d) for name, d in zip("xy", dtypes, strict=False)]
    try:
        found = ufunc(*names)
    except TypeError:
        with pytest.raises(TypeError):
            ufunc(*(np.ones((), d) for d in dtypes))
        return
    except Untranslatable:
        assert ufunc in (np.true_divide, np.power, np.floor_divide, np.remainder) or dtype.kind == "b"
        return
    check(ufunc, found, dtypes)


PAIRS = [("int8", "uint8"), ("uint16", "int32"), ("bool", "int8"), ("int64", "uint64"), ("uint64", "int64")]


@pytest.mark.parametrize("dtypes", PAIRS, ids=str)
@pytest.mark.parametrize("ufunc", [np.add, np.maximum, np.less, np.bitwise_and, np.not_equal])
def test_operands_of_two_dtypes(ufunc, dtypes):
    dtypes = [*map(np.dtype, dtypes)]
    try:
        found = ufunc(*(symbolic(name, d) for name, d in zip("xy", dtypes, strict=True)))
    except TypeError:
        with pytest.raises(TypeError):
            ufunc(*(np.ones((), d) for d in dtypes))
        return
    check(ufunc, found, dtypes)


@by_dtype
@pytest.mark.parametrize("target", DTYPES, ids=str)
def test_conversions_wrap_around(dtype, target):
    found = symbolic("x", dtype).astype(target)
    for value in interesting(dtype):
        assert values_of(found, {("x", width(dtype)): value}) == np.array(value, dtype).astype(target)


SHIFTS = [(d, p) for d in WHOLE for p in (-9, -1, 0, 1, 3, 7, 8, 31, 64) if limits(d)[0] <= p <= limits(d)[1]]


@pytest.mark.parametrize(("dtype", "places"), SHIFTS, ids=str)
@pytest.mark.parametrize("ufunc", [np.left_shift, np.right_shift])
def test_shifts_by_known_places(ufunc, dtype, places):
    by = dtype.type(places)
    found = ufunc(symbolic("x", dtype), by)
    for value in interesting(dtype):
        assert values_of(found, {("x", width(dtype)): value}) == ufunc(np.array(value, dtype), by)


@pytest.mark.parametrize("target", [np.float16, np.float32, np.float64])
@pytest.mark.parametrize("dtype", WHOLE, ids=str)
def test_whole_numbers_become_the_nearest_floats(dtype, target):
    array = symbolic("x", dtype)
    try:
        found = array.astype(target)
    except Untranslatable:
        assert target == np.float16  # beyond its greatest number
        return
    long = (16777217, 16777219, 2**53 + 1, 2**60 + 2**36 + 1)
    for value in (*interesting(dtype), *(v for v in long if v <= np.iinfo(dtype).max)):
        assert values_of(found, {("x", width(dtype)): value}) == np.array(value, dtype).astype(target)


@pytest.mark.parametrize("ufunc", [np.rint, np.floor, np.ceil, np.trunc, np.negative, np.abs, np.sign, np.square])
@pytest.mark.parametrize("fraction", [0, 1, 3, 9, -2])
def test_floats_that_are_mantissas_with_a_point(ufunc, fraction):
    x = np.arange(-128, 128).astype(np.int8)
    found = ufunc(np.ldexp(symbolic("x", np.dtype(np.int8)).astype(np.float64), -fraction))
    expected = ufunc(np.ldexp(x.astype(np.float64), -fraction))
    assert [float(values_of(found, {("x", 8): int(v)})) for v in x] == expected.tolist()


@pytest.mark.parametrize("kind", [np.float32, np.float64])
def test_sums_and_products_of_floats_are_rounded_once(kind):
    a = np.array([3, -5, 2**31 - 1, -(2**31), 123456789, 2**30 + 1], np.int32)
    x, y = (symbolic(name, np.dtype(np.int32)).astype(kind) for name in "xy")
    for ufunc in (np.add, np.subtract, np.multiply, np.maximum):
        found = ufunc(x, y)
        for v in a:
            for w in a:
                expected = ufunc(v.astype(kind), w.astype(kind))
                assert values_of(found, {("x", 32): int(v), ("y", 32): int(w)}) == expected


def test_what_is_known_is_computed_by_numpy():
    x = SymbolicArray.of(np.array([0.5, 2.0]))
    assert np.exp(x).tolist() == np.exp([0.5, 2.0]).tolist()
    assert known(SymbolicArray.of(np.array([-0.0, 1.5], np.float32))).tolist() == [-0.0, 1.5]


@pytest.mark.parametrize(
    ("compute", "why"),
    [
        (np.exp, "np.exp is no exact arithmetic"),
        (lambda x: x.astype(np.float32) / 3, "a quotient by 3 is rounded"),
        (lambda x: x.astype(np.float32) * np.inf, "an infinity"),
        (np.sort, "np.sort is not translated"),
        (lambda x: [1, 2, 3][x[0]], "depends? on the input"),
        (lambda x: np.arange(3)[x], "depend"),
        (lambda x: [1, 2, 3][x.tolist()[0]], "depends on the input"),
        (np.add.accumulate, "np.add.accumulate is not translated"),
        (lambda x: bool(x[0] > 0), "an `if` depends on the input"),
        (lambda x: np.sum(x.astype(np.float32) * np.float32(2**20 + 1)), "float32 holds 24 bits exactly, and a sum"),
    ],
)
def test_what_has_no_exact_form_says_why(compute, why):
    x = SymbolicArray(np.array([unknown_number(f"x{i}", -128, 127) for i in range(3)], object), np.int8)
    with pytest.raises(Untranslatable, match=why):
        compute(x)


@pytest.mark.parametrize("ufunc", [np.negative, np.rint, np.floor, np.ceil, np.trunc, np.abs])
def test_the_sign_of_a_zero_is_told_exactly(ufunc):
    x = np.arange(-8, 8).astype(np.int8)
    halves = np.ldexp(symbolic("x", np.dtype(np.int8)).astype(np.float64), -1)
    signs = np.signbit(ufunc(-halves))
    expected = np.signbit(ufunc(-np.ldexp(x.astype(np.float64), -1)))
    assert [bool(values_of(signs, {("x", 8): int(v)})) for v in x] == expected.tolist()


@pytest.mark.parametrize("ufunc", [np.add, np.subtract, np.multiply])
@pytest.mark.parametrize("other", [0.0, -0.0, -1.0, 2.0])
def test_the_sign_of_a_zero_of_two_operands(ufunc, other):
    x = np.arange(-3, 4).astype(np.int8)
    signs = np.signbit(ufunc(-symbolic("x", np.dtype(np.int8)).astype(np.float64), other))
    expected = np.signbit(ufunc(-x.astype(np.float64), other))
    assert [bool(values_of(signs, {("x", 8): int(v)})) for v in x] == expected.tolist()


def test_of_two_zeros_the_greater_has_either_sign():
    zero = -symbolic("x", np.dtype(np.uint8)).astype(np.float64)
    with pytest.raises(Untranslatable, match="asks for the sign of a zero"):
        np.signbit(np.maximum(zero, 0.0))


@pytest.mark.parametrize("initial", [0, -7, 100])
def test_reductions_may_start_with_a_number(initial):
    array = SymbolicArray(np.array([unknown_number("a", -8, 7), Number(3, 3)], object), np.int8)
    for reduce_ in (np.max, np.min, np.sum):
        least, most = (reduce_(np.array([end, 3], np.int8), initial=initial) for end in (-8, 7))
        found = reduce_(array, initial=initial).entries.item()
        assert (found.low, found.high) == (least, most)
