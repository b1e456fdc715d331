"""Quantising and dequantising by scales and zero points."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from graphrewrite import Graph, evaluate, rewrite
from graphrewrite.lowering.composite.quantised import LOWER_QUANTISED
from graphrewrite.rules import MOVE_INTEGERS, RULES
from graphrewrite.rules.quantised import MERGE_ROUNDINGS, drop_limit_before_quantising, drop_quantise_again
from tests.support.quantised_networks import quantised_networks


def kinds(graph):
    return sorted(graph.nodes[node]["type"] for node in graph if graph.nodes[node]["type"] not in ("constant", "input"))


def parse(lines, element="u8", scale=0.1, zero=3):
    return Graph.parse(f"""graph g
x = input() : {element}[N,4]
s = constant(value={scale}) : f32[]
z = constant(value={zero}) : {element}[]
d = dequantize_linear(x, s, z)
{lines}
y = output(last)""")


def test_stored_numbers_are_not_stored_again():
    assert kinds(rewrite(parse("last = quantize_linear(d, s, z)"), RULES)) == ["output"]


@pytest.mark.parametrize("scale", [1e-46, 1e38])
def test_unless_the_scale_leaves_the_floats(scale):
    graph = parse("last = quantize_linear(d, s, z)", scale=scale)
    assert len(rewrite(graph, drop_quantise_again)) == len(graph)


@settings(max_examples=settings().max_examples // 2)
@given(quantised_networks())
def test_rules_keep_the_bits_of_quantised_networks(graph):
    x = np.random.default_rng(0).normal(size=(3, *graph.result_type("x").shape[1:])).astype(np.float32)
    (wanted,) = evaluate(graph, {"x": x}).values()
    for rules in ([*RULES, *MOVE_INTEGERS], LOWER_QUANTISED):
        (found,) = evaluate(rewrite(graph, rules), {"x": x}).values()
        np.testing.assert_array_equal(found, wanted)


@pytest.mark.parametrize(("axis", "reading"), [(0, 1), (1, 2)])
def test_numbers_with_scales_along_another_axis_are_read_at_once(axis, reading):
    graph = Graph.parse(f"""graph g
x = input() : i8[3,3]
w = input() : i8[3,3]
s = constant(value=[0.5, 0.25, 2.0]) : f32[3]
a = dequantize_linear(x, s)
b = dequantize_linear(w, s)
c = concat(a, b, axis={axis})
y = output(c)""")
    after = rewrite(graph, [*RULES, *MOVE_INTEGERS], verify=True)
    assert kinds(after).count("dequantize_linear") == reading
    given = dict(zip("xw", np.arange(18, dtype=np.int8).reshape(2, 3, 3), strict=True))
    np.testing.assert_array_equal(evaluate(after, given)["y"], evaluate(graph, given)["y"])


def test_integers_move_instead_of_floats():
    after = rewrite(
        parse("""r = reshape(d, shape=[-1, 2, 2])
c = concat(r, r, axis=1)
last = quantize_linear(c, s, z)"""),
        [*RULES, *MOVE_INTEGERS],
    )
    assert kinds(after) == ["concat", "output", "reshape"]
    assert {after.result_type(node).element for node in after if after.nodes[node]["type"] == "reshape"} == {"u8"}


def test_a_rounding_past_what_moves_is_the_last_one():
    graph = parse("""t = constant(value=0.3) : f32[]
a = sigmoid(d)
q = quantize_linear(a, s, z)
m = reshape(q, shape=[-1, 1, 2, 2])
n = transpose(m, perm=[0, 2, 3, 1])
e = dequantize_linear(n, s, z)
last = quantize_linear(e, t, z)""")
    rules = [*RULES, *MERGE_ROUNDINGS, *MOVE_INTEGERS]
    assert kinds(rewrite(graph, rules)) == ["dequantize_linear", "output", "quantize_linear", "reshape", "sigmoid"]


@pytest.mark.parametrize(
    ("limit", "zero", "is_dropped"),
    [
        ("relu(a)", 0, True),
        ("relu(a)", 1, False),
        ("clip(a, low=-0.3)", 3, True),
        ("clip(a, low=-0.26)", 3, True),  # which rounds to the least number as well
        ("clip(a, low=-0.2)", 3, False),
        ("clip(a, low=-0.3, high=25.2)", 3, True),
        ("clip(a, low=-0.3, high=25.0)", 3, False),
    ],
)
def test_limits_beyond_those_of_the_stored_type_are_dropped(limit, zero, is_dropped):
    graph = Graph.parse(f"""graph g
a = input() : f32[N]
s = constant(value=0.1) : f32[]
z = constant(value={zero}) : u8[]
c = {limit}
y = quantize_linear(c, s, z)
out = output(y)""")
    after = rewrite(graph, drop_limit_before_quantising)
    assert (len(after) < len(graph)) == is_dropped
    inputs = {"a": np.linspace(-40, 40, 4001, dtype=np.float32)}
    assert np.array_equal(evaluate(graph, inputs)["out"], evaluate(after, inputs)["out"])


def test_of_two_roundings_the_last_one_is_left_if_one_asks_for_it():
    graph = parse("""t = constant(value=0.3) : f32[]
q = quantize_linear(d, t, z)
e = dequantize_linear(q, t, z)
r = sigmoid(e)
last = quantize_linear(r, s, z)""")
    assert kinds(rewrite(graph, RULES)).count("quantize_linear") == 2
    assert kinds(rewrite(graph, [*RULES, *MERGE_ROUNDINGS])).count("quantize_linear") == 1


STEPS = st.sampled_from([0.25, 0.5, 1.0, 3.0])
GRIDS = st.tuples(STEPS, st.sampled_from(["i8", "u8"]), st.sampled_from([0, 3, 127]))


@given(GRIDS, GRIDS, st.sampled_from(["stored", "moved", "read", "of activation"]))
def test_the_limits_of_a_grid_stay_where_its_rounding_goes(inner, outer, way):
    """Quantisers leave an activation out where the grid behind it ends at the same number."""
    begin = "a = relu(x)" if way == "of activation" else "a = identity(x)"
    lines = {
        "stored": "e = dequantize_linear(q, s, z)\nlast = quantize_linear(e, t, u)",
        "moved": "m = unsqueeze(q, axes=[0])\ne = dequantize_linear(m, s, z)\nlast = quantize_linear(e, t, u)",
        "read": "last = dequantize_linear(q, s, z)",
    }
    first = "b = quantize_linear(a, t, u)\nc = dequantize_linear(b, t, u)" if way == "read" else "c = identity(a)"
    graph = Graph.parse(f"""graph g
x = input() : f32[N]
s = constant(value={inner[0]}) : f32[]
z = constant(value={inner[2]}) : {inner[1]}[]
t = constant(value={outer[0]}) : f32[]
u = constant(value={outer[2]}) : {outer[1]}[]
{begin}
{first}
q = quantize_linear(c, s, z)
{lines.get(way, lines["stored"])}
y = output(last)""")
    after = rewrite(graph, MERGE_ROUNDINGS, verify=True)
    assert len(after) < len(graph)
    x = np.linspace(-1200, 1200, 4801, dtype=np.float32)
    for step, element, zero in (inner, outer) if way == "read" else (inner,):
        info = np.iinfo(element.replace("i", "int").replace("u", "uint"))
        low, high = (info.min - zero) * step, (info.max - zero) * step
        if low and high:
            x = np.clip(x, low, high)  # no activation ends there: what is beyond is assumed not to be
    found, wanted = (evaluate(each, {"x": x})["y"].astype(float) for each in (after, graph))
    step = 1.0 if way == "read" else outer[0]
    assert np.abs(found - wanted).max() * step <= max(inner[0], outer[0])
