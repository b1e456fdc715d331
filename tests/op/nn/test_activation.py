"""Activations against ONNX's cases and against their formulas, written in another way."""

from __future__ import annotations

import math
from functools import partial

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from graphrewrite import Tensor, op
from graphrewrite.errors import TypeMismatchError
from graphrewrite.op.nn.activation import limited, rectified
from graphrewrite.types import NAMES, element_dtype, element_kind
from tests.support.node_cases import assert_case, cases_of

OURS = {
    "Elu": op.elu,
    "Selu": op.selu,
    "Celu": op.celu,
    "HardSigmoid": op.hard_sigmoid,
    "HardSwish": op.hard_swish,
    "Gelu": op.gelu,
    "Softplus": op.softplus,
    "Softsign": op.softsign,
    "PRelu": op.prelu,
    "Mish": op.mish,
    "ThresholdedRelu": op.threshold,
    "Swish": op.silu,
    "LeakyRelu": op.leaky_relu,
    "Relu": op.relu,
    "Sigmoid": op.sigmoid,
    "Tanh": op.tanh,
}
UNARY = [tested for name, tested in OURS.items() if name != "PRelu"] + [op.hard_tanh]
FORMULAS = {
    op.elu: lambda x: x if x > 0 else math.exp(x) - 1,
    op.selu: lambda x: 1.0507009873554805 * (x if x > 0 else 1.6732632423543772 * (math.exp(x) - 1)),
    op.celu: lambda x: max(x, 0) + min(0, math.exp(min(x, 1)) - 1),
    op.hard_sigmoid: lambda x: sorted((0, x / 5 + 0.5, 1))[1],
    op.hard_swish: lambda x: x * sorted((0, x / 6 + 0.5, 1))[1],
    op.gelu: lambda x: x * math.erfc(-x / math.sqrt(2)) / 2,
    op.softplus: lambda x: max(x, 0) + math.log1p(math.exp(-abs(x))),
    op.softsign: lambda x: x / (1 + abs(x)),
    op.mish: lambda x: x * math.tanh(max(x, 0) + math.log1p(math.exp(-abs(x)))),
    op.threshold: lambda x: x if x > 1 else 0,
    op.silu: lambda x: x * (1 + math.tanh(x / 2)) / 2,
    op.hard_tanh: lambda x: sorted((-1, x, 1))[1],
}


@pytest.mark.parametrize(("kind", "tested"), OURS.items())
def test_onnx_s_cases(kind, tested):
    for case in cases_of(kind):
        attributes = {k: v.decode() if isinstance(v, bytes) else v for k, v in case.attributes.items()}
        if "bf16" in case.elements:
            np.testing.assert_allclose(tested(*case.operands, **attributes), case.results[0], rtol=2**-7)
        else:
            assert_case(tested(*case.operands, **attributes), case)


@pytest.mark.parametrize("tested", FORMULAS, ids=lambda tested: tested.name)
@given(st.lists(st.floats(-50, 50), max_size=5))
def test_formulas(tested, numbers):
    x = np.array(numbers)
    expected = np.array([FORMULAS[tested](number) for number in numbers], np.float64)
    np.testing.assert_allclose(tested(x), expected, rtol=1e-7, atol=1e-12)


@pytest.mark.parametrize("tested", UNARY, ids=lambda tested: tested.name)
@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64])
@pytest.mark.parametrize("shape", [(), (0,), (7,), (7, 1)])
def test_every_number_has_a_value_of_the_same_type_and_nothing_warns(tested, dtype, shape):
    greatest = np.finfo(dtype).max
    special = np.array([-np.inf, -greatest, -1000, -0.0, 1000, greatest, np.inf], dtype)
    x = special[: math.prod(shape)].reshape(shape)
    y = np.asarray(tested(x))
    assert (y.dtype, y.shape) == (dtype, shape)
    assert not np.isnan(y).any()
    assert np.isnan(tested(np.array([np.nan], dtype))).all() or tested is op.threshold
    wide = np.asarray(tested(x.astype(np.float64)))
    with np.errstate(over="ignore"):
        np.testing.assert_allclose(y, wide.astype(dtype), rtol=4 * np.finfo(dtype).eps, atol=1e-6)


def _digits(found, exact):
    """How far float32 numbers are from exact ones, in units of their last digit."""
    return np.abs(found - exact) / np.spacing(np.abs(exact).astype(np.float32))


def test_single_precision_keeps_its_digits():
    x = np.concatenate([np.linspace(-11, 11, 20001), np.geomspace(1e-30, 1, 101)]).astype(np.float32)
    exact = {
        op.erf: np.array([math.erf(each) for each in x.tolist()]),
        op.gelu: np.array([each * math.erfc(-each / math.sqrt(2)) / 2 for each in x.tolist()]),
    }
    for tested, wanted in exact.items():
        assert _digits(tested(x), wanted).max() < 0.7
    wide = x.astype(np.float64)
    for tested in (op.sigmoid, op.silu, op.softplus, op.mish):
        assert _digits(tested(x), tested(wide)).max() < 6
    with np.errstate(over="ignore"):
        steep = wide / (1 + np.exp(-2 * math.sqrt(2 / math.pi) * (wide + 0.044715 * wide**3)))
    near, tanh = np.abs(wide) < 3, partial(op.gelu, approximate="tanh")
    assert _digits(tanh(x), steep)[near].max() < 16  # parts through tanh have lost 4 of 7 digits there
    np.testing.assert_allclose(tanh(x), steep, rtol=1e-5, atol=1e-12)


@pytest.mark.parametrize("tested", [op.erf, *UNARY], ids=lambda tested: tested.name)
def test_the_bits_depend_on_neither_batch_nor_layout(tested):
    x = np.random.default_rng(0).normal(0, 30, (50, 1000)).astype(np.float32)
    x[7, :3] = np.nan, np.inf, -np.inf
    whole = np.asarray(tested(x))
    for other in (tested(np.asfortranarray(x)), np.concatenate([tested(row[None]) for row in x])):
        np.testing.assert_array_equal(other.view(np.uint32), whole.view(np.uint32))


def test_gelu_s_approximation_is_near_it():
    x = np.linspace(-6, 6, 101)
    np.testing.assert_allclose(op.gelu(x, approximate="tanh"), op.gelu(x), atol=1e-3)


@given(st.lists(st.floats(-10, 10), min_size=1, max_size=4), st.floats(-2, 2))
def test_silu_of_another_steepness_is_the_usual_one_of_a_multiple(numbers, alpha):
    x = np.array(numbers)
    np.testing.assert_allclose(op.silu(x, alpha=alpha) * alpha, op.silu(x * alpha), atol=1e-12)


@pytest.mark.parametrize("element", NAMES)
def test_a_slope_multiplies_what_is_negative(element):
    kind = Tensor(element, (2, 3))
    if element_kind(element) == "bool":
        with pytest.raises(TypeMismatchError, match="first"):
            op.prelu.infer(kind, kind)
        return
    assert op.prelu.infer(kind, Tensor(element, (3,))) == (kind,)
    x = np.array([[0, 1, 1]]).astype(element_dtype(element))
    assert op.prelu(x, np.full(3, 2, x.dtype)).tolist() == [[0, 1, 1]]
    if element[0] not in "ub":
        assert op.prelu(-x, np.full(3, 3, x.dtype)).tolist() == [[0, -3, -3]]


def test_refusals():
    x = Tensor("f32", ("N", 3))
    with pytest.raises(TypeMismatchError, match=r"prelu.*do not broadcast to f32\[N,3\]"):
        op.prelu.infer(x, Tensor("f32", (4, 1, 3)))
    with pytest.raises(TypeMismatchError, match=r"'none' or 'tanh', got 'tan'; did you mean 'tanh'"):
        op.gelu.infer(x, approximate="tan")
    with pytest.raises(TypeMismatchError, match=r"op\.relu\(x\) is the limit"):
        op.celu.infer(x, alpha=0.0)
    with pytest.raises(TypeMismatchError, match="are in the wrong order"):
        op.hard_tanh.infer(x, low=1.0, high=-1.0)
    for tested in UNARY:
        if tested is not op.relu:
            with pytest.raises(TypeMismatchError, match="gives floats first"):
                tested.infer(Tensor("i8", (3,)))


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("stride", [1, 2])
@pytest.mark.parametrize(
    ("low", "high"), [(0, 6), (0, None), (-0.0, 6), (None, 0), (-3, 3), (None, 2), (2, 1), (0, np.nan)]
)
def test_limits_in_one_pass_have_the_bits_of_those_in_two(dtype, stride, low, high):
    special = np.array([0, -0.0, np.nan, -np.nan, np.inf, -np.inf, 6, -6, 3, -3, 1e-310, 1e-40, -1e-40, 2, 1], dtype)
    for count in (1, 7, 33, 100):
        x = np.resize(special, count * stride)[::stride]
        wanted = x if low is None else np.maximum(x, np.asarray(low, dtype))
        wanted = wanted if high is None else np.minimum(wanted, np.asarray(high, dtype))
        assert limited(x, low, high).tobytes() == wanted.tobytes()
        y = x.copy()
        limited(y, low, high, out=y)
        assert y.tobytes() == wanted.tobytes()


def test_many_numbers_are_rectified_as_few_are():
    x = np.resize(np.array([0, -0.0, np.nan, np.inf, -np.inf, 6, -6], np.float32), 40_000)
    assert op.relu(x).tobytes() == np.maximum(x, np.float32(0)).tobytes()


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("shape", [(7,), (33, 31), (70, 60, 9)])
@pytest.mark.parametrize("is_turned", [False, True])
def test_rectified_numbers_have_the_bits_of_a_maximum_with_zero(dtype: type, shape: tuple[int, ...], is_turned: bool):
    x = np.random.default_rng(0).normal(size=shape).astype(dtype)
    x.reshape(-1)[::5] = -0.0
    x.reshape(-1)[1::7] = np.nan
    x = x.T if is_turned else x
    wanted = np.where(np.isnan(x), x, np.where(x > 0, x, dtype(0))).tobytes()
    assert rectified(x).tobytes() == op.relu(x).tobytes() == wanted
    assert rectified(y := x.copy(order="K"), out=y) is y
    assert y.tobytes() == wanted
