"""Quantised numbers with scales as operands: against the cases of ONNX, its reference, and exact arithmetic."""

from __future__ import annotations

from typing import Any

import numpy as np
import onnx
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as npst
from onnx.reference import ReferenceEvaluator

from graphrewrite import Graph, Tensor, evaluate, op, verify
from graphrewrite.errors import TypeMismatchError
from graphrewrite.summary import multiply_accumulates
from graphrewrite.types import HELD_WIDER, element_dtype, hold, integer_limits, parse_type
from tests.support.node_cases import Case, assert_case, cases_of

OPS = {
    "QuantizeLinear": "quantize_linear",
    "DequantizeLinear": "dequantize_linear",
    "DynamicQuantizeLinear": "dynamic_quantize_linear",
    "QLinearConv": "qlinear_conv",
    "QLinearMatMul": "qlinear_matmul",
    "ConvInteger": "conv_integer",
    "MatMulInteger": "matmul_integer",
}


def attributes_of(kind: str, case: Case) -> dict[str, Any]:
    """Ours of a case."""
    found = {k: tuple(v) if isinstance(v, list) else v for k, v in case.attributes.items()}
    found.pop("kernel_shape", None)
    found.pop("output_dtype", None)
    if "saturate" in found:
        found["saturate"] = bool(found["saturate"])
    target = case.elements[-1]
    if kind == "QuantizeLinear" and (target in HELD_WIDER or len(case.operands) == 2):
        found["element"] = target
    return found


@pytest.mark.parametrize("kind", OPS)
def test_every_case_of_onnx(kind):
    for case in cases_of(kind):
        attributes, tested = attributes_of(kind, case), getattr(op, OPS[kind])
        assert_case(tested(*case.operands, **attributes), case)
        g = Graph("g")
        kinds = [Tensor(e, x.shape) for e, x in zip(case.elements, case.operands, strict=False)]
        values = [g.input(f"x{i}", kind_) for i, kind_ in enumerate(kinds)]
        made = tested(*values, **attributes)
        for i, result in enumerate(made if isinstance(made, tuple) else (made,)):
            g.output(f"y{i}", result)
            assert result.type == Tensor(case.elements[len(kinds) + i], case.results[i].shape)
        verify(g)
        found = evaluate(g, {f"x{i}": x for i, x in enumerate(case.operands)})
        assert_case(tuple(found[f"y{i}"] for i in range(len(case.results))), case)


def reference(kind: str, operands: list[np.ndarray], **attributes: Any) -> np.ndarray:
    """What the reference of ONNX computes."""
    names = [f"x{i}" for i in range(len(operands))]
    node = onnx.helper.make_node(kind, names, ["y"], **attributes)
    graph = onnx.helper.make_graph(
        [node],
        "g",
        [
            onnx.helper.make_tensor_value_info(n, onnx.helper.np_dtype_to_tensor_dtype(x.dtype), x.shape)
            for n, x in zip(names, operands, strict=True)
        ],
        [onnx.helper.make_value_info("y", onnx.TypeProto())],
    )
    model = onnx.helper.make_model(graph, opset_imports=[onnx.helper.make_opsetid("", 23)])
    return ReferenceEvaluator(model).run(None, dict(zip(names, operands, strict=True)))[0]


@given(st.data(), st.sampled_from(["i8", "u8", "i16", "u16"]), st.sampled_from(["tensor", "axis", "block"]))
def test_quantising_and_back_is_that_of_onnx(data, name, granularity):
    rng = np.random.default_rng(data.draw(st.integers(0, 99)))
    x = rng.normal(scale=100, size=(2, 3, 5)).astype(np.float32)
    axis = data.draw(st.integers(-3, 2))
    block = data.draw(st.integers(1, 5)) if granularity == "block" else 0
    shape = {"tensor": (), "axis": (x.shape[axis],)}.get(granularity, x.shape)
    if block:
        shape = tuple(-(-d // block) if i == axis % 3 else d for i, d in enumerate(x.shape))
    low, high = integer_limits(name)
    scale = rng.uniform(0.01, 3, shape).astype(np.float32)
    zero = rng.integers(low, high, shape, endpoint=True).astype(element_dtype(name))
    attributes = {"axis": axis, **({"block_size": block} if block else {})}
    found = op.quantize_linear(x, scale, zero, **attributes)
    if x.shape[axis] % max(block, 1) == 0:  # the reference repeats scales of whole blocks only
        np.testing.assert_array_equal(found, reference("QuantizeLinear", [x, scale, zero], **attributes))
        back = reference("DequantizeLinear", [found, scale, zero], **attributes)
        np.testing.assert_array_equal(op.dequantize_linear(found, scale, zero, **attributes), back)
    for place in np.ndindex(x.shape):
        along = place[axis % 3]
        mine = {
            "tensor": (),
            "axis": (along,),
            "block": tuple(p // block if i == axis % 3 and block else p for i, p in enumerate(place)),
        }[granularity]
        whole = round(float(x[place] / scale[mine])) + int(zero[mine])
        assert found[place] == min(max(whole, low), high)
    kinds = Tensor("f32", x.shape), Tensor("f32", shape), Tensor(name, shape)
    assert op.quantize_linear.infer(*kinds, **attributes) == (Tensor(name, x.shape),)
    wanted = (Tensor("f32", x.shape),)
    assert op.dequantize_linear.infer(Tensor(name, x.shape), *kinds[1:], **attributes) == wanted


@given(
    npst.arrays(np.float32, 4, elements=st.floats(-100, 100, width=32)),
    st.sampled_from(sorted(HELD_WIDER - {"bf16", "f8e8m0"})),
)
def test_an_element_that_numpy_has_not_is_named_and_saturates(x, name):
    g = Graph("g")
    value, scale = g.input("x", Tensor("f32", ("N",))), np.array(0.5, np.float32)
    zero = g.input("zero", Tensor(name, ()))
    with pytest.raises(TypeMismatchError, match=f"give element='{name}' as well"):
        op.quantize_linear(value, scale, zero)
    stored = op.quantize_linear(value, scale, zero, element=name)
    g.output("stored", stored)
    g.output("back", op.dequantize_linear(stored, scale, zero))
    verify(g)
    found = evaluate(g, {"x": x, "zero": hold(name, np.zeros((), np.int8))})
    if name[0] in "iu":
        np.testing.assert_array_equal(found["stored"], np.clip(np.rint(x / scale), *integer_limits(name)))
    else:
        np.testing.assert_array_equal(found["stored"], op.cast(x / scale, element=name))
    np.testing.assert_array_equal(found["back"], found["stored"].astype(np.float32) * scale)


def test_floats_without_a_number_and_beyond_all():
    x = np.array([np.nan, np.inf, -np.inf, 1e30], np.float32)
    assert op.quantize_linear(x, np.array(1.0), np.array(3, np.int8)).tolist() == [3, 127, -128, 127]
    found = op.quantize_linear(x, np.array(1.0), element="f8e5m2", saturate=False)
    np.testing.assert_array_equal(found, [np.nan, np.inf, -np.inf, np.inf])
    assert op.dequantize_linear(np.array([200], np.uint8), np.array(0.5), element="f4e2m1").tolist() == [6.0]


@pytest.mark.parametrize(
    ("name", "kinds", "attributes", "message"),
    [
        ("quantize_linear", ["f32[N,3]", "i8[]"], {}, "scales are floats"),
        ("quantize_linear", ["i8[N,3]", "f32[]"], {}, "quantises floats or i32"),
        ("quantize_linear", ["f32[N,3]", "f32[3]", "u8[]"], {}, "need one shape"),
        ("quantize_linear", ["f32[N,3]", "f32[4]"], {}, "needs scales .3. along axis 1"),
        ("quantize_linear", ["f32[N,3]", "f32[3]"], {"axis": 2}, "axis=2 is not an axis"),
        ("quantize_linear", ["f32[N,3]", "f32[N,1]"], {"block_size": -1}, "is negative; give 0 for no blocks"),
        ("quantize_linear", ["f32[N,3]", "f32[1,3]"], {"axis": 0, "block_size": 2}, "needs scales"),
        ("quantize_linear", ["f32[N,3]", "f32[]", "u8[]"], {"element": "i8"}, "the zero point is u8"),
        ("quantize_linear", ["f32[N,3]", "f32[]"], {"element": "i64"}, "an integer of up to 32 bits"),
        ("dequantize_linear", ["f32[N,3]", "f32[]"], {}, "an integer of up to 32 bits"),
        ("dequantize_linear", ["i8[N,3]", "f32[]", "u8[]"], {}, "both must be equal"),
        ("dequantize_linear", ["i8[N,3]", "f32[]"], {"element": "i8"}, "dequantisation gives floats"),
        ("dynamic_quantize_linear", ["f64[N]"], {}, "computes in f32"),
        ("dynamic_quantize_linear", ["f32[0]"], {}, "and so no range"),
        ("matmul_integer", ["u8[2,3]", "u8[3,4]", "i8[]"], {}, "the zero point of a is i8"),
        ("matmul_integer", ["u8[2,3]", "u8[3,4]", "u8[3]"], {}, "one per row of"),
        ("matmul_integer", ["u8[2,3]", "u8[3,4]", "u8[]", "u8[2]"], {}, "one per column of"),
        ("matmul_integer", ["u8[2,3]", "u8[4,4]"], {}, "must be the last but one"),
        ("conv_integer", ["u8[N,3,5]", "u8[2,3,2]", "u8[3]"], {}, "is one number"),
        ("conv_integer", ["u8[N,3,5]", "u8[2,3,2]", "u8[]", "u8[3]"], {}, "one per output of"),
        ("conv_integer", ["u8[N,3,5]", "u8[2,2,2]"], {}, "need weights"),
    ],
)
def test_what_does_not_fit_is_refused(name, kinds, attributes, message):
    with pytest.raises(TypeMismatchError, match=message):
        getattr(op, name).infer(*map(parse_type, kinds), **attributes)


@given(npst.arrays(np.float32, (2, 3), elements=st.floats(-(2.0**99), 2.0**99, width=32)))
def test_dynamic_quantising_is_that_of_onnx(x):
    found = op.dynamic_quantize_linear(x)
    assert [r.dtype for r in found] == [np.uint8, np.float32, np.uint8]
    if (x == 0).all() or np.ptp(np.append(x, 0)) > 1e-35:  # below, the reference divides by what is not zero
        with np.errstate(all="ignore"):
            wanted = ReferenceEvaluator(onnx.helper.make_node("DynamicQuantizeLinear", ["x"], list("abc"))).run(
                None, {"x": x}
            )
        for ours, theirs in zip(found, wanted, strict=True):
            np.testing.assert_array_equal(ours, theirs)


def in_32_bits(number: int) -> int:
    return (number + 2**31) % 2**32 - 2**31


integers = st.sampled_from(["i8", "u8", "i16", "i64", "u64"])


@given(st.data(), integers, integers)
def test_integer_products_are_exact_modulo_32_bits(data, first, second):
    rng = np.random.default_rng(data.draw(st.integers(0, 99)))
    a, b = (
        rng.integers(*integer_limits(name), shape, element_dtype(name), endpoint=True)
        for name, shape in ((first, (2, 3, 4)), (second, (4, 5)))
    )
    rows = rng.integers(*integer_limits(first), (2, 3, 1), a.dtype, endpoint=True)
    columns = rng.integers(*integer_limits(second), 5, b.dtype, endpoint=True)
    found = op.matmul_integer(a, b, rows, columns)
    for n, i, j in np.ndindex(2, 3, 5):
        terms = ((int(a[n, i, k]) - int(rows[n, i, 0])) * (int(b[k, j]) - int(columns[j])) for k in range(4))
        assert found[n, i, j] == in_32_bits(sum(terms))
    kinds = Tensor(first, a.shape), Tensor(second, b.shape), Tensor(first, rows.shape), Tensor(second, (5,))
    assert op.matmul_integer.infer(*kinds) == (Tensor("i32", (2, 3, 5)),)
    w = b.reshape(5, 4)[:, :3, None]
    y = op.conv_integer(a, w, rows[0, 0, 0], columns, pads=(1, 0))
    assert not y[:, :, 0].any()  # the border is zero
    for n, o, i in np.ndindex(2, 5, 4):
        terms = ((int(a[n, k, i]) - int(rows[0, 0, 0])) * (int(w[o, k, 0]) - int(columns[o])) for k in range(3))
        assert y[n, o, i + 1] == in_32_bits(sum(terms))


@given(st.integers(0, 99), st.sampled_from(["i8", "u8"]), st.booleans())
def test_quantised_layers_are_rounded_layers(seed, name, per_output):
    rng = np.random.default_rng(seed)
    low, high = integer_limits(name)
    kind = element_dtype(name)
    x = rng.integers(low, high, (2, 4, 5), kind, endpoint=True)
    w = rng.integers(low, high, (6, 2, 3), kind, endpoint=True)
    count = (6,) if per_output else ()
    scales = [np.float32(0.5), rng.uniform(0.01, 1, count).astype(np.float32), np.float32(100)]
    zeros = [kind.type(3), rng.integers(low, high, count, kind), kind.type(7)]
    b = rng.integers(-99, 99, 6, np.int32)
    found = op.qlinear_conv(
        x, scales[0], zeros[0], w, scales[1], zeros[1], scales[2], zeros[2], b, groups=2, pads=(1, 1), strides=(2,)
    )
    each = (-1, 1, 1) if per_output else ()
    sums = op.conv(
        x.astype(np.float64) - 3,
        w.astype(np.float64) - zeros[1].astype(np.float64).reshape(each),
        b.astype(np.float64),
        groups=2,
        pads=(1, 1),
        strides=(2,),
    )
    factor = (np.float32(0.5) * scales[1] / np.float32(100)).astype(np.float64).reshape((-1, 1) if per_output else ())
    np.testing.assert_array_equal(found, np.clip(np.rint(sums * factor) + 7, low, high))
    assert found.dtype == kind


@pytest.mark.parametrize("whole", [False, True])
@pytest.mark.parametrize("first", [False, True], ids=["matrix times vector", "vector times matrix"])
def test_scales_of_a_matrix_beside_a_vector(first, whole):
    """Sums of a product with a vector lack an axis, and the scales of the matrix with them."""
    rng = np.random.default_rng(0)
    vector, matrix = rng.integers(0, 9, 3, np.uint8), rng.integers(0, 9, (3, 4) if first else (4, 3), np.uint8)
    scales = np.float32([0.5, 1, 2, 3])
    each = scales.reshape((1, 4) if first else (4, 1)) if whole else scales
    one, zero = np.float32(1), np.uint8(0)
    point = np.zeros(each.shape, np.uint8)
    pair = (vector, one, zero, matrix, each, point) if first else (matrix, each, point, vector, one, zero)
    found = op.qlinear_matmul(*pair, one, zero)
    sums = vector.astype(int) @ matrix if first else matrix.astype(int) @ vector
    np.testing.assert_array_equal(found, np.clip(np.rint(sums * scales), 0, 255))
    kinds = [Tensor(str(v.dtype).replace("uint", "u").replace("float", "f"), v.shape) for v in map(np.asarray, pair)]
    assert op.qlinear_matmul.infer(*kinds, Tensor("f32", ()), Tensor("u8", ()))[0].shape == found.shape


def test_layers_of_floats_of_eight_bits():
    rng = np.random.default_rng(0)
    a, b = (hold("f8e4m3fn", rng.normal(size=shape)) for shape in ((2, 3), (3, 4)))
    one, zero = np.float32(1), np.float32(0)
    found = op.qlinear_matmul(a, one, zero, b, one, zero, np.float32(2), zero, element="f8e4m3fn")
    np.testing.assert_array_equal(found, hold("f8e4m3fn", (a @ b) / 2))


def test_costs_are_those_of_the_layers():
    g = Graph("g")
    x, scale, zero = g.input("x", Tensor("u8", ("N", 4, 5))), np.float32(1), np.uint8(0)
    w = np.ones((6, 2, 3), np.uint8)
    g.output("a", op.conv_integer(x, w, groups=2, pads=(0, 0), strides=(1,)))
    g.output("b", op.qlinear_conv(x, scale, zero, w, scale, zero, scale, zero, groups=2))
    g.output("c", op.matmul_integer(x, np.ones((5, 7), np.uint8)))
    costs = {data["type"]: multiply_accumulates(g, n) for n, data in g.nodes(data=True)}
    assert (costs["conv_integer"], costs["qlinear_conv"], costs["matmul_integer"]) == (108, 108, 140)
