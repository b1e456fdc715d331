"""Casts and quantised numbers, against the ONNX runtime and against exact fractions."""

from __future__ import annotations

from fractions import Fraction

import ml_dtypes
import numpy as np
import onnx
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as npst

from graphrewrite import FixedPoint, Graph, Tensor, evaluate, op, verify
from graphrewrite.errors import EvaluationError, TypeMismatchError
from graphrewrite.testing import types
from graphrewrite.types import NAMES, TEXT, Quantised, contradiction, element_dtype, element_kind, hold, integer_limits
from tests.support.sessions import session_of

ONNX = {
    "f16": onnx.TensorProto.FLOAT16,
    "f32": onnx.TensorProto.FLOAT,
    "f64": onnx.TensorProto.DOUBLE,
    "bool": onnx.TensorProto.BOOL,
    **{f"i{bits}": getattr(onnx.TensorProto, f"INT{bits}") for bits in (8, 16, 32, 64)},
    **{f"u{bits}": getattr(onnx.TensorProto, f"UINT{bits}") for bits in (8, 16, 32, 64)},
}


def in_onnx(kind: str, operands: dict[str, np.ndarray], **attributes: int) -> np.ndarray:
    """What the ONNX runtime computes."""
    inputs = [
        onnx.helper.make_tensor_value_info(n, onnx.helper.np_dtype_to_tensor_dtype(a.dtype), a.shape)
        for n, a in operands.items()
    ]
    node = onnx.helper.make_node(kind, list(operands), ["y"], **attributes)
    graph = onnx.helper.make_graph([node], "g", inputs, [onnx.helper.make_value_info("y", onnx.TypeProto())])
    model = onnx.helper.make_model(graph, opset_imports=[onnx.helper.make_opsetid("", 21)], ir_version=10)
    session = session_of(model.SerializeToString())
    (found,) = session.run(None, operands)
    return found


def numbers(element: str) -> np.ndarray:
    """Numbers of an element type: small, large, and between two others."""
    kind = element_kind(element)
    if kind == "bool":
        return np.array([False, True])
    limits = integer_limits(element)
    if limits is not None:
        low, high = limits
        return np.array([low, low + 1, 0, 1, min(5, high), high - 1, high], element_dtype(element))
    return hold(element, np.array([0.0, -0.0, 0.5, 1.5, -1.5, 2.75, -2.75, 7.9, 100.3, 1e-7]))


@pytest.mark.parametrize("to", [name for name in NAMES if name in ONNX])
@pytest.mark.parametrize("given_", [name for name in NAMES if name in ONNX])
def test_a_cast_is_that_of_onnx(given_, to):
    x = numbers(given_)
    limits = integer_limits(to)
    if element_kind(given_) == "float" and limits is not None:  # beyond them ONNX leaves it open
        whole = np.trunc(x.astype(np.float64))
        x = x[(whole >= limits[0]) & (whole <= limits[1])]
    np.testing.assert_array_equal(op.cast(x, element=to), in_onnx("Cast", {"x": x}, to=ONNX[to]))


@pytest.mark.parametrize("given_", ["f16", "f32", "f64", "i8", "i64", "u64", "bool"])
def test_the_text_of_a_number_is_that_of_onnxruntime(given_):
    beyond = [np.inf, -np.inf, np.nan, 1 / 3, 1e30] if given_ in ("f32", "f64") else []
    x = np.concatenate([numbers(given_), np.array(beyond, element_dtype(given_))])
    texts = op.cast(x, element=TEXT)
    assert texts.tolist() == in_onnx("Cast", {"x": x}, to=onnx.TensorProto.STRING).tolist()
    np.testing.assert_array_equal(op.cast(texts, element="f64"), np.array([float(text) for text in texts]))


@pytest.mark.parametrize("to", ["f32", "f64", "i8", "u8", "i32", "u64", "bool"])
def test_the_number_of_a_text_is_that_of_onnxruntime(to):
    texts = np.array([" 7 ", "-5", "+300", "1e3", "NaN", "-INF"][: 6 if to in ("f32", "f64") else 3])
    np.testing.assert_array_equal(op.cast(texts, element=to), in_onnx("Cast", {"x": texts}, to=ONNX[to]))
    with pytest.raises(ValueError, match=f"'one'; texts that are cast to {to} are numbers"):
        op.cast(np.array(["one"]), element=to)


@pytest.mark.parametrize("to", NAMES)
@pytest.mark.parametrize("given_", NAMES)
def test_a_cast_in_a_graph_gives_what_its_type_says(given_, to):
    x = numbers(given_)
    g = Graph("g")
    g.output("y", op.cast(g.input("x", Tensor(given_, ("N",), "N")), element=to))
    verify(g)
    assert g.result_type("cast_1") == Tensor(to, ("N",), "N")
    found = evaluate(g, {"x": x})["y"]
    assert contradiction(Tensor(to, x.shape), found) is None
    if given_ == to:
        np.testing.assert_array_equal(found, x)


@given(npst.arrays(np.float32, 5), st.sampled_from(["i8", "u16", "i32", "i64", "u64"]))
def test_floats_are_truncated_and_saturate(x, to):
    low, high = integer_limits(to)
    wanted = [
        0 if np.isnan(v) else high if v == np.inf else low if v == -np.inf else min(max(int(v), low), high) for v in x
    ]
    assert op.cast(x, element=to).tolist() == wanted


@given(st.lists(st.floats(-(2.0**62), 2.0**62)), st.sampled_from(["i2", "i4", "u2", "u4"]))
def test_floats_are_truncated_and_wrap_to_less_than_a_byte(values, to):
    low, high = integer_limits(to)
    wanted = [(int(v) - low) % (high - low + 1) + low for v in values]
    assert op.cast(np.array(values, np.float64), element=to).tolist() == wanted


@given(st.lists(st.integers(-(2**63), 2**63 - 1)), st.sampled_from(["i4", "u4", "i8", "u8", "i16", "u32"]))
def test_integers_wrap_around(values, to):
    low, high = integer_limits(to)
    wanted = [(v - low) % (high - low + 1) + low for v in values]
    assert op.cast(np.array(values, np.int64), element=to).tolist() == wanted


@given(npst.arrays(np.float32, 6), npst.arrays(np.float32, 6))
def test_bfloat16_computes_as_ml_dtypes_does(a, b):
    g = Graph("g")
    x, y = (g.input(n, Tensor("bf16", ("N",))) for n in "xy")
    g.output("sum", op.add(x, y))
    g.output("product", op.mul(x, y))
    with np.errstate(all="ignore"):
        narrow = [v.astype(ml_dtypes.bfloat16) for v in (a, b)]
        found = evaluate(g, {"x": a, "y": b})
        wanted = {"sum": narrow[0] + narrow[1], "product": narrow[0] * narrow[1]}
    for name, array in wanted.items():
        np.testing.assert_array_equal(found[name], array.astype(np.float32))


def test_four_bits_wrap_in_a_graph():
    g = Graph("g")
    x = g.input("x", Tensor("i4", ("N",)))
    g.output("y", op.add(x, 3))
    g.output("z", op.mul(x, x))
    verify(g)
    found = evaluate(g, {"x": [-8, 0, 6, 7]})
    assert found["y"].tolist() == [-5, 3, -7, -6]
    assert found["z"].tolist() == [0, 0, 4, 1]
    with pytest.raises(TypeMismatchError, match=r"the operand 8 holds 8, but i4 ranges from -8 to 7"):
        op.add(x, 8)


@pytest.mark.parametrize("storage", ["i8", "u8", "i16", "u16"])
@pytest.mark.parametrize("axis", [None, 0, 1])
@given(x=npst.arrays(np.float32, (2, 3), elements=st.floats(-(2.0**40), 2.0**40, width=32)), data=st.data())
def test_quantising_is_that_of_onnx(storage, axis, x, data):
    low, high = integer_limits(storage)
    count = () if axis is None else x.shape[axis]
    scale = data.draw(npst.arrays(np.float32, count, elements=st.floats(2.0**-20, 2.0**20, width=32)))
    zero_point = data.draw(npst.arrays(element_dtype(storage), count, elements=st.integers(low, high)))
    each = (float(scale), int(zero_point)) if axis is None else (scale, zero_point)
    element = Quantised(storage, *each, axis=axis)
    operands = {"scale": scale, "zero_point": zero_point}
    along = {} if axis is None else {"axis": axis}
    stored = in_onnx("QuantizeLinear", {"x": x, **operands}, **along)
    found = op.to_quantised(x, element=element)
    assert found.dtype == stored.dtype
    np.testing.assert_array_equal(found, stored)
    with np.errstate(over="ignore"):
        real = in_onnx("DequantizeLinear", {"x": stored, **operands}, **along)
    np.testing.assert_array_equal(op.from_quantised(stored, source=element), real)


@given(types(elements=[Quantised], shapes=[()]).map(lambda kind: kind.element), st.data())
def test_what_is_stored_is_the_nearest_number(element, data):
    stored = data.draw(st.integers(element.minimum, element.maximum))
    offset = data.draw(st.floats(-0.49, 0.49))
    if abs(stored - element.zero_point) > 2**20:  # float64 tells the neighbours of larger ones apart no more exactly
        offset = 0.0
    real = float((Fraction(stored) - element.zero_point + Fraction(offset)) * Fraction(element.scale))
    assert op.to_quantised(np.array([real]), element=element).tolist() == [stored]
    exact = (Fraction(stored) - element.zero_point) * Fraction(element.scale)
    found = op.from_quantised(np.array([stored], element.dtype), source=element, element="f64")
    assert abs(Fraction(found[0]) - exact) <= abs(exact) * Fraction(1, 2**52)


def test_quantised_numbers_in_a_graph():
    element = Quantised("i8", (0.5, 0.25), (3, -1), axis=1)
    g = Graph("g")
    q = op.to_quantised(g.input("x", Tensor("f32", ("N", 2, 3), "NCW")), element=element)
    assert str(q.type) == "i8<0.5:3, 0.25:-1 @1>[N,2,3] NCW"
    r = op.from_quantised(op.max_pool(q, kernel=(2,), strides=(1,), pads=(0, 0)), source=element)
    g.output("y", r)
    g.output("q", op.transpose(q, perm=(0, 2, 1)))
    verify(g)
    x = np.array([[[0.6, 1.1, -3.0], [0.3, 100.0, -100.0]]], np.float32)
    assert evaluate(g, {"x": x})["y"].tolist() == [[[1.0, 1.0], [32.0, 32.0]]]
    assert str(g.result_type("transpose_1")) == "i8<0.5:3, 0.25:-1 @2>[N,3,2] NWC"


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        (lambda x, q, m: op.cast(x, element="f99"), "unknown element type 'f99'"),
        (lambda x, q, m: op.cast(x, element=FixedPoint(True, 8)), "op.to_fixed"),
        (lambda x, q, m: op.cast(x, element=Quantised("i8", 0.5)), "op.to_quantised"),
        (lambda x, q, m: op.cast(q, element="f32"), "op.from_quantised"),
        (lambda x, q, m: op.cast(m, element="f32"), "op.from_fixed"),
        (lambda x, q, m: op.to_fixed(x, element="i8"), "expected FixedPoint.* for example element=FixedPoint"),
        (lambda x, q, m: op.to_quantised(x, element="i8"), "expected Quantised.* for example element=Quantised"),
        (lambda x, q, m: op.to_quantised(q, element=Quantised("i8", 0.5)), "op.from_quantised.* dequantises first"),
        (
            lambda x, q, m: op.from_quantised(q, source=Quantised("i8", 0.25)),
            "the operand has the element type i8<0.5:0>",
        ),
        (lambda x, q, m: op.from_quantised(q, source="i8"), "expected Quantised"),
        (
            lambda x, q, m: op.from_quantised(q, source=Quantised("i8", 0.5), element="i32"),
            "dequantisation gives floats",
        ),
        (lambda x, q, m: op.add(q, q), "op.from_quantised.* dequantises first"),
        (lambda x, q, m: op.relu(q), "op.from_quantised.* dequantises first"),
        (lambda x, q, m: op.pad(q, pads=(0, 1, 0, 0)), "op.from_quantised.* dequantises first"),
        (lambda x, q, m: op.add(x, op.cast(x, element="f64")), "different element types f32 and f64; cast one of them"),
        (lambda x, q, m: op.exp(op.cast(x, element="i8")), r"op.cast\(x, element='f32'\) gives floats first"),
        (lambda x, q, m: op.neg(op.cast(x, element="bool")), r"op.cast\(x, element='f32'\) gives numbers first"),
        (lambda x, q, m: op.add(m, m), "an op of the integer level"),
        (lambda x, q, m: op.requantise(x, shift=1, element=FixedPoint(True, 8)), "op.to_fixed.* gives the mantissas"),
        (lambda x, q, m: op.concat(q, x, axis=1), "different element types"),
    ],
)
def test_what_does_not_convert_says_what_does(wrong, message):
    g = Graph("g")
    x = g.input("x", Tensor("f32", ("N", 4)))
    q = g.input("q", Tensor(Quantised("i8", 0.5), ("N", 4)))
    m = g.input("m", Tensor(FixedPoint(True, 8), ("N", 4)))
    before = str(g)
    with pytest.raises(TypeMismatchError, match=message):
        wrong(x, q, m)
    assert "cast" in str(g) or str(g) == before


def test_nan_has_no_quantised_number():
    with pytest.raises(EvaluationError, match="NaN has no quantised value"):
        op.to_quantised(np.array([np.nan]), element=Quantised("i8", 0.5))


CHANNELS = Tensor(Quantised("i8", (0.5, 0.25), (3, 4), axis=1), ("N", 2, 3, 1))


@pytest.mark.parametrize(
    ("moved", "found"),
    [
        (lambda: op.reshape.infer(CHANNELS, shape=("N", 2, 1, 3)), "i8<0.5:3, 0.25:4 @1>[N,2,1,3]"),
        (lambda: op.reshape.infer(CHANNELS, shape=("N", 1, 2, 3)), "i8<0.5:3, 0.25:4 @2>[N,1,2,3]"),
        (lambda: op.unsqueeze.infer(CHANNELS, axes=(1,)), "i8<0.5:3, 0.25:4 @2>[N,1,2,3,1]"),
        (lambda: op.squeeze.infer(CHANNELS, axes=(-1,)), "i8<0.5:3, 0.25:4 @1>[N,2,3]"),
        (lambda: op.transpose.infer(CHANNELS, perm=(1, 0, 2, 3)), "i8<0.5:3, 0.25:4 @0>[2,N,3,1]"),
        (lambda: op.concat.infer(CHANNELS, CHANNELS, axis=2), "i8<0.5:3, 0.25:4 @1>[N,2,6,1]"),
        (lambda: op.concat.infer(CHANNELS, CHANNELS, axis=1), "i8<0.5:3, 0.25:4, 0.5:3, 0.25:4 @1>[N,4,3,1]"),
        (lambda: op.identity.infer(CHANNELS), "i8<0.5:3, 0.25:4 @1>[N,2,3,1]"),
        (lambda: op.arg_max.infer(CHANNELS, axis=2), "i64[N,2,1,1]"),
        (
            lambda: op.squeeze.infer(Tensor(Quantised("i8", (0.5,), 3, axis=1), ("N", 1, 3)), axes=(1,)),
            "i8<0.5:3>[N,3]",
        ),
    ],
)
def test_channels_are_followed(moved, found):
    assert str(moved()[0]) == found


@pytest.mark.parametrize(
    "lost",
    [
        lambda: op.reshape.infer(CHANNELS, shape=("N", 3, 2, 1)),
        lambda: op.flatten.infer(Tensor(CHANNELS.element, (1, 2, 3, 1))),
        lambda: op.arg_max.infer(CHANNELS, axis=1),
        lambda: op.max_pool.infer(Tensor(Quantised("i8", (0.5, 0.25), axis=2), ("N", 3, 2)), kernel=(2,)),
    ],
)
def test_channels_that_would_mix_are_refused(lost):
    with pytest.raises(TypeMismatchError, match=r"from_quantised(\(x, source=…\))? dequantises first"):
        lost()
