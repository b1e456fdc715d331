"""Arithmetic, elementary functions, comparisons and logic: ONNX's cases, numpy's or Python's numbers as an oracle."""

from __future__ import annotations

import math
import operator
from fractions import Fraction

import numpy as np
import onnx
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from graphrewrite import FixedPoint, Graph, Tensor, evaluate, op
from graphrewrite.errors import TypeMismatchError
from tests.support import node_cases
from tests.support.node_cases import Case, assert_case, cases_of

node_cases.ELEMENTS.setdefault(onnx.TensorProto.STRING, "string")

OURS = {
    "Abs": op.abs,
    "Acos": op.acos,
    "Acosh": op.acosh,
    "Add": op.add,
    "Asin": op.asin,
    "Asinh": op.asinh,
    "Atan": op.atan,
    "Atanh": op.atanh,
    "Ceil": op.ceil,
    "Cos": op.cos,
    "Cosh": op.cosh,
    "Div": op.div,
    "Equal": op.equal,
    "Erf": op.erf,
    "Exp": op.exp,
    "Floor": op.floor,
    "Greater": op.greater,
    "Less": op.less,
    "Log": op.log,
    "Mean": op.mean,
    "Mod": op.mod,
    "Mul": op.mul,
    "Neg": op.neg,
    "Pow": op.pow,
    "Reciprocal": op.reciprocal,
    "Round": op.round,
    "Sign": op.sign,
    "Sin": op.sin,
    "Sinh": op.sinh,
    "Sqrt": op.sqrt,
    "Sub": op.sub,
    "Sum": op.sum,
    "Tan": op.tan,
    "Where": op.where,
    "Max": op.maximum,
    "Min": op.minimum,
    "IsNaN": op.is_nan,
    "IsInf": op.is_inf,
    "LessOrEqual": op.less_or_equal,
    "GreaterOrEqual": op.greater_or_equal,
    "And": op.logical_and,
    "Or": op.logical_or,
    "Xor": op.logical_xor,
    "Not": op.logical_not,
    "BitwiseAnd": op.bitwise_and,
    "BitwiseOr": op.bitwise_or,
    "BitwiseXor": op.bitwise_xor,
    "BitwiseNot": op.bitwise_not,
    "BitShift": op.bit_shift,
}
INTEGERS = [np.dtype(f"{kind}{size}") for kind in "iu" for size in (1, 2, 4, 8)]


def usable(tested, case: Case) -> bool:
    """A case without strings, and of as many operands as ours has."""
    return "string" not in case.elements and (tested.variadic or len(case.operands) == len(tested.operands))


@pytest.mark.parametrize(("kind", "tested"), OURS.items())
def test_onnx_s_cases(kind, tested):
    for case in (case for case in cases_of(kind) if usable(tested, case)):
        words = {k: v.decode().lower() if isinstance(v, bytes) else v for k, v in case.attributes.items()}
        assert_case(tested(*case.operands, **words), case)
        kinds = [Tensor(e, x.shape) for e, x in zip(case.elements, case.operands, strict=False)]
        (result,) = tested.infer(*kinds, **words)
        assert (result.element, result.shape) == (case.elements[-1], case.results[0].shape)


def whole(x: int, dtype: np.dtype) -> int:
    """A whole number modulo the range of a type."""
    bits = 8 * dtype.itemsize
    low = x % 2**bits
    return low - 2**bits if dtype.kind == "i" and low >= 2 ** (bits - 1) else low


@st.composite
def integers(draw, *, same: bool = True):
    """Two arrays of integers."""
    first = draw(st.sampled_from(INTEGERS))
    second = first if same else draw(st.sampled_from(INTEGERS))
    return tuple(draw(hnp.arrays(kind, (3,))) for kind in (first, second))


@given(integers())
def test_integers_divide_towards_zero_and_leave_the_rest(pair):
    x, y = pair
    quotient, rest, signed = op.div(x, y), op.mod(x, y), op.mod(x, y, fmod=True)
    assert quotient.dtype == rest.dtype == signed.dtype == x.dtype
    for a, b, q, r, s in zip(*(v.tolist() for v in (x, y, quotient, rest, signed)), strict=True):
        if b == 0:
            assert (q, r, s) == (0, 0, 0)
        else:
            assert q == whole(math.trunc(Fraction(a, b)), x.dtype)
            assert r == a % b
            assert s == a - math.trunc(Fraction(a, b)) * b


@given(integers(same=False))
def test_integers_to_whole_powers_are_those_of_python(pair):
    x, y = pair
    for a, b, found in zip(x.tolist(), y.tolist(), op.pow(x, y).tolist(), strict=True):
        if b < 0:
            assert found == (a ** (b % 2) if abs(a) == 1 else 0)
        else:
            assert found == whole(pow(a, b, 2**64), x.dtype)
    assert op.pow(x, y).dtype == x.dtype


@given(st.sampled_from(INTEGERS), st.lists(st.integers(0, 100), min_size=1), st.floats(-2, 3))
def test_integers_to_real_powers_are_truncated(dtype, numbers, exponent):
    found = op.pow(np.array(numbers, dtype), np.array(exponent))
    assert found.dtype == dtype
    for a, power in zip(numbers, found.tolist(), strict=True):
        exact = a**exponent if a or exponent >= 0 else math.inf
        expected = np.iinfo(dtype).max if exact > np.iinfo(dtype).max else math.trunc(exact)
        assert power == pytest.approx(expected, rel=1e-12, abs=1)


@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64])
def test_floats_take_powers_of_any_type(dtype):
    x = np.array([0.5, 2.0, -3.0, 0.0], dtype)
    for exponent in (np.int8(3), np.uint64(3), np.float64(3.0), np.int64(3)):
        found = op.pow(x, np.asarray(exponent))
        assert found.dtype == dtype
        assert found.tolist() == [0.125, 8.0, -27.0, 0.0]
    assert op.pow(np.array([300.0], np.float16), np.array(4, np.int64)).tolist() == [np.inf]


def test_a_power_has_the_type_of_its_base():
    base, exponent = Tensor("i8", ("N", 3), "NC"), Tensor("f32", (1, 1))
    assert op.pow.infer(base, exponent) == (base,)
    g = Graph("g")
    g.output("y", op.pow(g.input("x", Tensor("i4", ("N",))), np.array(2.0)))
    assert evaluate(g, {"x": [-3, 2]})["y"].tolist() == [-7, 4]


@given(hnp.arrays(np.float64, (4,), elements=st.floats(-8, 8)))
def test_the_error_function_is_exact(x):
    for number, found in zip(x.tolist(), op.erf(x).tolist(), strict=True):
        assert found == pytest.approx(math.erf(number), rel=1e-15, abs=1e-320)


FUNCTIONS = [
    *(op.reciprocal, op.erf, op.sin, op.cos, op.tan, op.asin, op.acos, op.atan, op.sinh, op.cosh, op.asinh, op.acosh),
    *(op.atanh, op.floor, op.ceil, op.round, op.sign, op.sum, op.mean, op.is_nan, op.is_inf),
]


@pytest.mark.parametrize("tested", FUNCTIONS, ids=lambda tested: tested.name)
@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64])
@pytest.mark.parametrize("shape", [(), (0, 2), (5,)])
def test_nothing_warns_and_the_type_stays(tested, dtype, shape):
    special = np.array([-np.inf, np.nan, 0.0, np.finfo(dtype).max, 1.0], dtype)
    y = np.asarray(tested(special[: math.prod(shape)].reshape(shape)))
    assert (y.dtype, y.shape) == (bool if tested in (op.is_nan, op.is_inf) else dtype, shape)


@given(st.lists(hnp.arrays(np.float64, st.sampled_from([(3,), (2, 1), ()]), elements=st.floats(-9, 9)), min_size=1))
def test_sums_and_means_of_many(xs):
    shape = np.broadcast_shapes(*(x.shape for x in xs))
    stacked = np.stack([np.broadcast_to(x, shape) for x in xs])
    np.testing.assert_allclose(op.sum(*xs), stacked.sum(axis=0), atol=1e-9)
    np.testing.assert_allclose(op.mean(*xs), stacked.mean(axis=0), atol=1e-9)


COMPARISONS = {
    op.equal: operator.eq,
    op.less: operator.lt,
    op.less_or_equal: operator.le,
    op.greater: operator.gt,
    op.greater_or_equal: operator.ge,
}


@pytest.mark.parametrize("tested", COMPARISONS, ids=lambda tested: tested.name)
@pytest.mark.parametrize("element", ["f16", "bf16", "f64", "i4", "u8", "i64", FixedPoint(True, 5, 2)], ids=str)
def test_comparisons_are_true_or_false(tested, element):
    g = Graph("g")
    kind = Tensor(element, ("N", 3), "NC")
    made = tested(g.input("x", kind), g.input("y", kind))
    assert made.type == Tensor("bool", ("N", 3), "NC")
    g.output("z", made)
    found = evaluate(g, {"x": [[1, 2, 3]], "y": [[2, 2, 2]]})["z"]
    assert found.tolist() == [[COMPARISONS[tested](a, 2) for a in (1, 2, 3)]]
    assert not tested(np.array([np.nan]), np.array([np.nan])).any()


@given(st.sampled_from(INTEGERS), st.integers(-2, 70), st.sampled_from(["left", "right"]), st.data())
def test_shifts_are_products_and_quotients(dtype, count, direction, data):
    x = data.draw(hnp.arrays(dtype, (3,)))
    assume(count >= 0 or dtype.kind == "i")
    found = op.bit_shift(x, np.asarray(count, dtype), direction=direction)
    assert found.dtype == dtype
    for a, shifted in zip(x.tolist(), found.tolist(), strict=True):
        count = count if count >= 0 else 99
        assert shifted == (whole(a << count, dtype) if direction == "left" else a >> count)


@given(hnp.arrays(np.bool_, (4,)), hnp.arrays(np.bool_, (4,)), hnp.arrays(np.int16, (4,)))
def test_logic(x, y, z):
    assert op.where(x, z, op.bitwise_not(z)).tolist() == [a if c else -1 - a for c, a in zip(x, z, strict=True)]
    both, either = op.logical_and(x, y), op.logical_or(x, y)
    np.testing.assert_array_equal(op.logical_not(both), op.logical_or(op.logical_not(x), op.logical_not(y)))
    np.testing.assert_array_equal(op.logical_xor(x, y), either & ~both)


def test_refusals():
    x, truth = Tensor("f32", ("N", 3)), Tensor("bool", ("N", 3))
    with pytest.raises(
        TypeMismatchError, match=r"where.*the condition must be bool, got f32\[N,3\].*op.cast\(condition"
    ):
        op.where.infer(x, x, x)
    with pytest.raises(TypeMismatchError, match="different element types f32 and i8"):
        op.where.infer(truth, x, Tensor("i8", ()))
    with pytest.raises(TypeMismatchError, match="different element types"):
        op.less.infer(x, Tensor("i8", ()))
    with pytest.raises(TypeMismatchError, match="gives numbers first"):
        op.less.infer(truth, truth)
    with pytest.raises(TypeMismatchError, match=r"'left' or 'right', got 'LEFT'; did you mean 'left'"):
        op.bit_shift.infer(Tensor("u8", ()), Tensor("u8", ()), direction="LEFT")
    with pytest.raises(TypeMismatchError, match="does not compute with f32"):
        op.bitwise_and.infer(x, x)
    with pytest.raises(TypeMismatchError, match="does not compute with f32"):
        op.logical_not.infer(x)
    with pytest.raises(TypeMismatchError, match="does not compute with bool"):
        op.div.infer(truth, truth)


@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64])
def test_the_power_of_one_is_the_number(dtype):
    numbers = np.random.default_rng(0).normal(size=100_000).astype(dtype) * dtype(10)
    special = np.array([np.nan, np.inf, -np.inf, 0.0, -0.0], dtype)
    for exponent in (np.ones(1, dtype), np.ones(1, np.float16), np.ones((), np.int64)):
        for each in (np.abs(numbers), special):
            found = op.pow(each, exponent)
            assert found.dtype == dtype
            assert found.tobytes() == each.tobytes()
