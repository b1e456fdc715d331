"""Programs in C as a whole: names, memory, networks, what they refuse."""

from __future__ import annotations

import re

import numpy as np
import pytest

from graphrewrite import Graph, Tensor, evaluate, models, op
from graphrewrite.errors import EvaluationError, MissingDependencyError
from graphrewrite.execution.sequence import evaluate_sequence
from graphrewrite.hierarchy.graph_ops import graph_op
from graphrewrite.lowering import (
    C,
    UnsupportedOpsError,
    from_onnx,
    lower_to_memory,
    optimise,
    quantise,
    run_c,
    to_c,
    to_integer,
)
from graphrewrite.lowering.c.identifiers import name_table
from graphrewrite.op import LIBRARY
from graphrewrite.types.storage import hold
from tests.support.c_programs import TRAPPING, computed, needs_cc
from tests.support.control_flow import CONTROLLED, controlled_inputs

SAMPLES = np.random.default_rng(0).uniform(0, 1, (7, 1, 8, 8)).astype(np.float32)


def source(graph: Graph, **options) -> str:
    design = to_c(graph, **options)
    return design.files[f"{design.name}.c"]


@needs_cc
@pytest.mark.parametrize("approximate", [False, True])
def test_a_float_network_is_equal_within_rounding_frame_by_frame(approximate):
    network = from_onnx(models.path("digits"))
    design = to_c(optimise(network, C, approximate=approximate))
    want, got = evaluate(network, {"input": SAMPLES})["output"], run_c(design, {"input": SAMPLES})["output"]
    np.testing.assert_allclose(got, want, rtol=0, atol=1e-5 * np.abs(want).max())


@needs_cc
def test_an_integer_network_has_the_same_bits():
    network = from_onnx(models.path("digits"))
    integer = to_integer(quantise(network, {"input": SAMPLES}, bits=8))
    design = to_c(optimise(integer, C))
    want = evaluate(integer, {"input": SAMPLES})
    np.testing.assert_array_equal(run_c(design, {"input": SAMPLES})["output"], want["output"])
    assert "int8_t integer_conv_1_w[72]" in design.files[f"{design.name}.c"]


@needs_cc
def test_products_of_wide_numbers_have_64_bits():
    g = Graph.parse("""graph g
x = input() : s20f0[N,2]
a = rescale(x, multiplier=994743, shift=27, element=u8f0, addend=67100672, rounding="down")
b = rescale(x, multiplier=[994743, -3], shift=[27, 1], element=s16f0)
y = output(a)
z = output(b)""")
    inputs = {"x": np.array([[-524288, 524287], [70001, -70001]], np.int32)}
    want, got = evaluate(g, inputs), run_c(to_c(g), inputs)
    for name in want:
        np.testing.assert_array_equal(got[name], want[name])


def test_values_share_memory_and_operands_are_overwritten():
    g = Graph.parse("""graph chain
x = input() : f32[1,64]
a = neg(x)
b = exp(a)
c = tanh(b)
d = transpose(c, perm=[1, 0])
e = softmax(d)
y = output(e)""")
    design = to_c(g)
    assert design.description["arena"] == 64 * 4
    text = design.files["chain.c"]
    assert "malloc" not in text
    assert "a[i0] = expf(a[i0]);" in text


def test_a_program_is_the_same_every_time():
    network = from_onnx(models.path("digits"))
    assert to_c(network).files == to_c(network.copy()).files


def test_a_program_over_memory_is_written_as_it_is():
    g = Graph.parse("graph g\nx = input() : f32[1,4]\na = neg(x)\nb = reshape(a, shape=[4])\ny = output(b)")
    assert "reshape" in source(lower_to_memory(g))
    with_variable = Graph.parse("graph g\nx = input() : f32[2]\ns = input() : f32[2]\nn = add(x, s)\ny = output(n)")
    design = to_c(lower_to_memory(with_variable, inout={"s": "y"}))
    assert "void g(const float x[2], float s[2]);" in design.files["g.h"]


HOSTILE = ("*/ int main(void) { abort(); } /*", "int", "x-y", "x y", "é", "exp", "i0", "??/", "a\nb", "__FILE__", "v0")


@needs_cc
def test_no_name_of_a_model_becomes_code(tmp_path):
    g = Graph("main")
    values = [g.input(f"in {name}", Tensor("f32", ("N", 3))) for name in HOSTILE]
    for name, value in zip(HOSTILE, values, strict=True):
        node = g.add(op.mul, [value, g.constant(np.float32([2, 3, 4]), name=f"w{name}")], name=name)
        g.output(f"out {name}", node)
    inputs = {f"in {name}": np.full((1, 3), i, np.float32) for i, name in enumerate(HOSTILE)}
    design = to_c(g)
    (found,) = computed([(design, inputs)], tmp_path)
    for i, name in enumerate(HOSTILE):
        np.testing.assert_array_equal(found[f"out {name}"], i * np.float32([[2, 3, 4]]))
    names = re.findall(r"(?:float|_t) (\w+)\[", design.files[f"{design.name}.h"])
    assert len(set(names)) == len(names) == 2 * len(HOSTILE)


@needs_cc
def test_other_layouts_and_nested_graphs_and_several_results():
    inner = Graph.parse("""graph block
x = input() : f32[N,4,6,2] NHWC
p = max_pool(x, kernel=[2, 2], strides=[2, 2]) : f32[N,2,3,2] NHWC
y = output(p)""")
    g = Graph.parse("graph g\nx = input() : f32[N,4,6,2] NHWC")
    pooled = graph_op(inner)(g.value("x"))
    for index, part in enumerate(op.split(pooled, axis=2, sizes=(1, 2))):
        g.output(f"y{index}", part)
    inputs = {"x": np.random.default_rng(1).normal(size=(5, 4, 6, 2)).astype(np.float32)}
    want, got = evaluate(g, inputs), run_c(to_c(g), inputs)
    for name in want:
        np.testing.assert_array_equal(got[name], want[name])


def test_all_that_c_lacks_is_said_at_once():
    g = Graph.parse("""graph g
x = input() : f32[N,4]
a = det(x0)
b = nonzero(x)
h = cast(x, element="f16")
y = output(a)
z = output(b)
w = output(h)
x0 = input() : f32[N,2,2]""")
    with pytest.raises(UnsupportedOpsError, match=r"2 nodes cannot be written in C: det \(a\), nonzero \(b\)"):
        to_c(g)
    small = Graph.parse("graph g\nx = input() : f32[N,4]\nh = cast(x, element='f8e5m2')\ny = output(h)")
    with pytest.raises(UnsupportedOpsError, match=r"C has no type for f8e5m2; op.cast\(x, element='f32'\)"):
        to_c(small)


def test_open_sizes_are_asked_for():
    g = Graph.parse("graph g\nx = input() : f32[N,length]\na = softmax(x)\ny = output(a)")
    with pytest.raises(UnsupportedOpsError, match=r"sizes=\{'length': ...\}"):
        to_c(g)
    assert "const float x[12]" in source(g, sizes={"length": 4, "N": 3})


@needs_cc
def test_what_does_not_fit_a_program_is_said():
    design = to_c(Graph.parse("graph g\nx = input() : f32[N,4]\na = relu(x)\ny = output(a)"))
    with pytest.raises(EvaluationError, match=r"'x' has frames of the shape \[1, 4\], got \[2, 3\]"):
        run_c(design, {"x": np.zeros((2, 3))})
    with pytest.raises(EvaluationError, match="the input 'x' is missing"):
        run_c(design, {"X": np.zeros((2, 4))})
    with pytest.raises(MissingDependencyError, match="there is no C compiler 'none'"):
        run_c(design, {"x": np.zeros((2, 4))}, compiler="none")


@needs_cc
def test_a_constant_an_input_and_one_value_twice_are_outputs():
    g = Graph.parse("""graph g
x = input() : f32[N,2]
c = constant(value=[[1.5, -2.0]]) : f32[1,2]
r = relu(x)
a = output(x)
b = output(c)
d = output(r)
e = output(r)""")
    inputs = {"x": np.float32([[-1, 3]])}
    want, got = evaluate(g, inputs), run_c(to_c(g), inputs)
    for name in want:
        np.testing.assert_array_equal(got[name], want[name])


@needs_cc
def test_choices_loops_and_scans_give_what_evaluate_gives(tmp_path):
    design = to_c(CONTROLLED)
    for go in (True, False):
        inputs = controlled_inputs(go=go)
        (found,) = computed([(design, inputs)], tmp_path, *TRAPPING)
        for name, array in evaluate(CONTROLLED, inputs).items():
            np.testing.assert_allclose(found[name], array, rtol=1e-5, atol=1e-6)


@needs_cc
def test_variables_are_kept_from_frame_to_frame():
    g = Graph.parse("""graph g
x = input() : s8f0[N,3]
r = register(x, initial=3)
q = register(r)
d = delay(x, cycles=3, initial=-2)
c = counter(element=u2f0)
m = input() {next='n', initial=[[1, 2, 3]]} : i32[1,3]
k = constant(value=2) : i32[]
p = mul(m, k)
y = output(q)
z = output(d)
w = output(c)
v = output(m)
n = output(p)""")
    inputs = {"x": np.random.default_rng(2).integers(-128, 128, (6, 3))}
    design = to_c(g)
    found = run_c(design, inputs)
    assert set(found) == {"y", "z", "w", "v"}
    assert [state["next"] for state in design.description["states"]][:3] == ["n", "r_after", "q_after"]
    wanted = evaluate_sequence(g, inputs)
    for name, array in found.items():
        np.testing.assert_array_equal(array.reshape(wanted[name].shape), wanted[name])


SEVERAL_STEPS = ("batch_norm", "celu", "elu", "fma", "hard_sigmoid", "hard_swish", "leaky_relu", "selu", "sigmoid")
ONE_STEP = ("add", "mul", "div", "sqrt", "relu", "clip", "concat", "cast")


@needs_cc
def test_half_floats_are_rounded_at_each_step(tmp_path):
    cases, rng = [], np.random.default_rng(3)
    for element in ("f16", "bf16"):
        g, inputs = Graph(element), {}
        for name in (*SEVERAL_STEPS, *ONE_STEP, "silu", "softsign", "sum"):
            numbers = [np.abs(rng.normal(size=(4, 40))) if i == 4 else 9 * rng.normal(size=(4, 40)) for i in range(5)]
            numbers[0].ravel()[:5] = 0, np.inf, -np.inf, np.nan, 1e-7
            values = []
            for i in range(3 if name in ("sum", "concat") else len(LIBRARY[name].operands)):
                port, array = f"{name}{i}", numbers[i] if i == 0 or name != "batch_norm" else numbers[i][0]
                inputs[port] = hold(element, array)
                values.append(g.input(port, Tensor(element, array.shape)))
            given = {"clip": {"low": -0.3}, "celu": {"alpha": 0.7}, "silu": {"alpha": 1.7}, "concat": {"axis": 1}}
            given["cast"] = {"element": "f64"}
            made = LIBRARY[name](*values, **given.get(name, {}))
            g.output(f"{name}_y", op.cast(made, element=element) if name == "cast" else made)
        cases.append((g, inputs))
    with np.errstate(all="ignore"):
        found = computed([(to_c(g), inputs) for g, inputs in cases], tmp_path)
        for (g, inputs), results in zip(cases, found, strict=True):
            for name, array in evaluate(g, inputs).items():
                np.testing.assert_array_equal(results[name], array, err_msg=f"{g.name} {name}")


@pytest.mark.parametrize("bits", [8, 16, 32, 64])
def test_no_name_is_that_of_a_type(bits):
    words = [f"{sign}int{bits}_{end}" for sign in ("", "u") for end in ("t", "of")]
    assert [name_table().give(word) for word in words] == [f"{word}_2" for word in words]
