"""Composite ops as simpler ones: on ONNX's own cases, with attributes that generated graphs seldom have, per target."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from graphrewrite import Graph, Tensor, evaluate, op, rewrite, verify
from graphrewrite.errors import GraphRewriteError, TypeMismatchError, UnknownOpError
from graphrewrite.lowering import LOWER_COMPOSITE, lower_composite
from graphrewrite.lowering.composite import lowered_ops
from graphrewrite.lowering.composite.activations import write_gelu_by_erf
from graphrewrite.lowering.composite.attention import write_attention_by_softmax
from graphrewrite.lowering.composite.fixed_point import (
    write_fixed_point_softmax_by_divisions,
    write_lookup_by_gather,
    write_multiply_fixed_point_by_divisions,
)
from graphrewrite.lowering.composite.movement import write_constant_where_by_expand, write_split_by_slices
from graphrewrite.lowering.composite.products import write_conv_transpose_by_conv, write_pointwise_conv_by_matmul
from graphrewrite.lowering.composite.quantised import write_quantize_linear_by_round
from graphrewrite.lowering.composite.recurrent import unroll_lstm, unroll_rnn
from graphrewrite.lowering.composite.reductions import write_hardmax_by_arg_max, write_reduce_mean_by_sum
from tests.lowering.exchange.suite import imported, some_of_each_op

COMPOSITE = frozenset().union(*map(lowered_ops, LOWER_COMPOSITE))


def kinds(graph: Graph) -> set[str]:
    return {data["type"] for _, data in graph.nodes(data=True)}


def compare(before: Graph, after: Graph, inputs: dict[str, np.ndarray], tolerance: float = 1e-5) -> None:
    verify(after)
    with np.errstate(all="ignore"):  # infinities among the operands
        wanted, found = evaluate(before, inputs), evaluate(after, inputs)
    for name, array in wanted.items():
        assert found[name].dtype == array.dtype
        step = 1e-3 if array.dtype == np.float16 else tolerance
        np.testing.assert_allclose(found[name], array, rtol=step, atol=step)


def test_cases_of_onnx_give_the_same_numbers_and_nothing_composite_is_left():
    lowered, met = 0, set()
    for case in some_of_each_op():
        try:
            graph, fed = imported(case)
            with np.errstate(all="ignore"):
                evaluate(graph, fed)
        except (GraphRewriteError, KeyError):  # ops that nobody knows, or a size that no input says
            continue
        if not kinds(graph) & COMPOSITE:
            continue
        after = lower_composite(graph)
        compare(graph, after, fed)
        # A choice whose condition is computed, windows of more than one position, and borders that mirror are simple.
        assert kinds(after) & COMPOSITE <= {"where", "conv", "pad"}, case.name
        met |= kinds(graph) & COMPOSITE
        lowered += 1
    assert lowered > 90
    assert len(met) > 45


def test_a_target_keeps_what_it_has():
    g = Graph.parse("graph g\nx = input() : f32[N,6]\na = softmin(x)\nb = gelu(a)\nc = silu(b)\ny = output(c)")
    assert kinds(lower_composite(g, keep=(op.silu, "softmax"))) == {
        *("input", "neg", "softmax", "constant", "mul", "erf", "add", "silu", "output"),
    }
    assert lower_composite(g, keep=COMPOSITE) == g
    steps = []
    compare(g, lower_composite(g, steps=steps), {"x": np.linspace(-3, 3, 12, dtype=np.float32).reshape(2, 6)})
    assert [step.rule for step in steps][:1] == ["write_softmin_by_softmax"]


def test_what_is_to_be_kept_must_be_an_op():
    with pytest.raises(UnknownOpError, match="keep names 'softmx', which is not an op; did you mean 'softmax'"):
        lower_composite(Graph("g"), keep=["softmx"])


images = st.tuples(st.integers(1, 5), st.integers(1, 5))
pairs = st.tuples(st.integers(1, 3), st.integers(1, 3))
borders = st.tuples(*[st.integers(-1, 2)] * 4)


@given(images, pairs, pairs, pairs, borders, pairs, st.integers(1, 2), st.booleans())
def test_a_transposed_convolution_of_any_form(size, kernel, strides, dilations, pads, more, groups, biased):
    random = np.random.default_rng(0)
    x, w, b = (
        random.normal(size=s).astype(np.float32) for s in ((2, 2 * groups, *size), (2 * groups, 3, *kernel), 3 * groups)
    )
    g = Graph("g")
    attributes = {"strides": strides, "dilations": dilations, "pads": pads, "groups": groups}
    operands = (g.input("x", Tensor("f32", ("N", *x.shape[1:]))), w, *([b] if biased else []))
    try:
        y = op.conv_transpose(*operands, output_padding=(more[0] - 1, more[1] - 1), **attributes)
    except TypeMismatchError:
        return  # these pads leave nothing
    g.output("y", y)
    after = write_conv_transpose_by_conv(g)
    assert "conv" in kinds(after) or "crop all" in write_conv_transpose_by_conv.explain(g, at=y.node)
    compare(g, after, {"x": x}, 1e-4)


def test_a_single_position_is_not_spread_however_far_the_next_one_were() -> None:
    g = Graph("g")
    x = np.arange(4, dtype=np.float32).reshape(1, 2, 2, 1)
    y = op.conv_transpose(g.input("x", Tensor("f32", x.shape)), np.ones((2, 1, 1, 2), np.float32), strides=(1, 1 << 30))
    g.output("y", y)
    after = write_conv_transpose_by_conv(g)
    assert "conv" in kinds(after)
    compare(g, after, {"x": x}, 0)


@given(images, pairs, st.tuples(*[st.integers(0, 2)] * 4), st.integers(1, 2), st.booleans())
def test_a_convolution_without_windows_of_any_form(size, strides, pads, groups, biased):
    random = np.random.default_rng(0)
    x, w, b = (random.normal(size=s).astype(np.float32) for s in ((2, 2 * groups, *size), (4, 2, 1, 1), 4))
    g = Graph("g")
    operands = (g.input("x", Tensor("f32", ("N", *x.shape[1:]))), w, *([b] if biased else []))
    g.output("y", op.conv(*operands, strides=strides, pads=pads, groups=groups))
    after = write_pointwise_conv_by_matmul(g)
    assert "conv" not in kinds(after)
    compare(g, after, {"x": x})


@pytest.mark.parametrize(
    ("shape", "scale", "attributes"),
    [
        ((3, 4), (3,), {"axis": 0}),
        ((3, 4), (4,), {}),
        ((3, 4), (3, 2), {"block_size": 3}),
        ((2, 2), (2,), {"axis": 0}),
        ((3, 2, 2), (2,), {"axis": -2}),
        ((1, 5), (1,), {"axis": 0}),
        ((3, 4, 2), (2, 4, 2), {"axis": 0, "block_size": 2}),
        ((2, 5, 2), (2, 2, 2), {"axis": 1, "block_size": 3}),
        ((4,), (4,), {"axis": 0}),
        ((4,), (4,), {"axis": -1}),
    ],
)
@pytest.mark.parametrize("element", ["u8", "i16", "i4"])
def test_scales_along_an_axis_and_of_blocks(shape, scale, attributes, element):
    random = np.random.default_rng(0)
    x, factor = random.normal(size=shape).astype(np.float32), random.uniform(0.1, 1, scale).astype(np.float32)
    g = Graph("g")
    zero = g.constant(
        random.integers(0, 5, scale).astype("u1" if element == "u8" else "i2" if element == "i16" else "i1")
    )
    if element == "i4":
        zero = op.cast(zero, element="i4")
        attributes = {**attributes, "element": "i4"}
    stored = op.quantize_linear(g.input("x", Tensor("f32", shape)), factor, zero, **attributes)
    g.output("y", op.dequantize_linear(stored, factor, zero, **{k: v for k, v in attributes.items() if k != "element"}))
    after = lower_composite(g)
    assert not kinds(after) & {"quantize_linear", "dequantize_linear"}
    compare(g, after, {"x": x}, 0.0)


@pytest.mark.parametrize("direction", ["forward", "reverse", "bidirectional"])
@pytest.mark.parametrize("layout", [0, 1])
@pytest.mark.parametrize("lengths", [None, [3, 1, 2]])
def test_a_recurrent_layer_of_any_form(direction, layout, lengths):
    random = np.random.default_rng(0)
    count = 2 if direction == "bidirectional" else 1
    w, r, b, p = (random.normal(size=(count, *s)).astype(np.float32) for s in ((8, 4), (8, 2), (16,), (6,)))
    p = p * (layout == 0)  # without peepholes, gates are computed together
    x = random.normal(size=(3, 3, 4)).astype(np.float32)
    h, c = (random.normal(size=(3, count, 2) if layout else (count, 3, 2)).astype(np.float32) for _ in range(2))
    g = Graph("g")
    operands = [
        g.input("x", Tensor("f32", x.shape)),
        w,
        r,
        b,
        h,
        c,
        p,
        *([] if lengths is None else [np.array(lengths)]),
    ]
    activations = ("sigmoid", "Tanh", "ScaledTanh") * count
    numbers = {"activation_alpha": (0.5,) * count, "activation_beta": (2.0,) * count}
    attributes = {"direction": direction, "layout": layout, "activations": activations, "clip": 2.0, **numbers}
    attributes["input_forget"] = lengths is None
    for name, value in zip("yhc", op.lstm(*operands, hidden_size=2, **attributes), strict=True):
        g.output(name, value)
    after = unroll_lstm(g)
    assert "lstm" not in kinds(after)
    compare(g, after, {"x": x})


def test_a_split_keeps_no_part_that_nobody_reads():
    g = Graph.parse(
        "graph g\nx = input() : f32[2,6]\na = split(x, axis=-1, sizes=[1, 2, 3]) : f32[2,1], f32[2,2], f32[2,3]\n"
        "b = mul(a:0, a:2)\ny = output(b)\nz = output(a:2)"
    )
    after = rewrite(g, write_split_by_slices)
    assert sorted(data["type"] for _, data in after.nodes(data=True)) == [
        *("input", "mul", "output", "output", "slice", "slice")
    ]
    compare(g, after, {"x": np.arange(12, dtype=np.float32).reshape(2, 6)}, 0.0)


@pytest.mark.parametrize("causal", [False, True])
@pytest.mark.parametrize("element", ["f16", "f32", "f64"])
@pytest.mark.parametrize("mask", [None, "bool", "same"])
def test_attention_of_open_sizes_and_shared_heads(element, causal, mask):
    g, random = Graph("g"), np.random.default_rng(0)
    shapes = {"q": ("N", 4, "T", 3), "k": ("N", 2, "S", 3), "v": ("N", 2, "S", 5), "m": ("T", "S")}
    sizes, given = {"N": 2, "T": 3, "S": 4}, {}
    for name, shape in shapes.items():
        kind = element if name != "m" or mask != "bool" else "bool"
        g.input(name, Tensor(kind, shape))
        array = random.normal(size=[sizes.get(size, size) for size in shape])
        given[name] = array > 0.5 if kind == "bool" else array.astype(f"f{int(element[1:]) // 8}")
    operands = [g.value(name) for name in ("q", "k", "v", *["m"] * (mask is not None))]
    g.output("y", op.attention(*operands, is_causal=causal))
    after = write_attention_by_softmax(g)
    assert "attention" not in kinds(after)
    compare(g, after, given)


DECLINED = [
    (
        write_attention_by_softmax,
        "q = input() : f32[N,1,2,D]\nb = attention(q, q, q)",
        "only run time tells its scale",
    ),
    (write_reduce_mean_by_sum, "b = reduce_mean(x, axes=[0])", "only run time tells how many entries there are"),
    (write_hardmax_by_arg_max, "b = hardmax(x, axis=0)", "only run time tells how many"),
    (write_gelu_by_erf, 'b = gelu(x, approximate="tanh")', "approximate"),
    (write_constant_where_by_expand, "c = greater(x, x)\nb = where(c, x, x)", "constant"),
    (
        unroll_rnn,
        "w = input() : f32[1,2,4]\nr = input() : f32[1,2,2]\nc = input() : f32[1,4]\nh = input() : f32[1,3,2]\n"
        "b = rnn(x, w, r, c, h, hidden_size=2)",
        "only run time tells how many steps there are",
    ),
    (
        write_quantize_linear_by_round,
        "s = input() : f32[N,3,M]\nb = quantize_linear(x, s, axis=1, block_size=1)",
        "symbolic, or there are no blocks",
    ),
    (
        write_multiply_fixed_point_by_divisions,
        "i = input() : i32[N,3]\nm = constant(value=3) : i32[]\ne = constant(value=0) : i32[]\n"
        "b = multiply_fixed_point(i, m, e, left_shift=63)",
        "out of their word",
    ),
    (
        write_fixed_point_softmax_by_divisions,
        "i = input() : i8[N,M]\nb = fixed_point_softmax(i, scale=1.0)",
        "there may be no entries",
    ),
    (
        write_lookup_by_gather,
        "i = input() : i8[N,3]\nt = input() : i8[3,9]\nb = lookup(i, t)",
        "a table for each channel",
    ),
]


@pytest.mark.parametrize(("rule", "lines", "reason"), DECLINED, ids=lambda value: getattr(value, "name", ""))
def test_a_rule_that_does_not_apply_says_why(rule, lines, reason):
    size = "M" if rule is write_quantize_linear_by_round else "4"
    graph = Graph.parse(f"graph g\nx = input() : f32[N,3,{size}]\n{lines}\ny = output(b)")
    assert rewrite(graph, rule) == graph
    assert reason in rule.explain(graph, at="b")
