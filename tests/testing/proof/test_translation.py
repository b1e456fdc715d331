"""Graphs with unknown inputs: what is translated gives, for any numbers, what numpy computes."""

from __future__ import annotations

from itertools import chain, islice

import numpy as np
import pytest

from graphrewrite import FixedPoint, Graph, Stream, Tensor, define_op, evaluate, op, rewrite
from graphrewrite.errors import GraphRewriteError
from graphrewrite.hdl.components import COMPONENTS
from graphrewrite.hierarchy.graph_ops import graph_op
from graphrewrite.lowering import LOWER_BINARY_POINTS, LOWER_TO_STREAM
from graphrewrite.op import LIBRARY
from graphrewrite.op.domain import MANTISSAS
from graphrewrite.testing.proof.array import SymbolicArray
from graphrewrite.testing.proof.instances import Instances
from graphrewrite.testing.proof.refusal import Untranslatable
from graphrewrite.testing.proof.solver import possible
from graphrewrite.testing.proof.translation import Inputs, Translation
from tests.support.profiles import some_of
from tests.testing.proof.values import values_of


def translated(graph):
    inputs = Inputs.of(graph)
    values = Translation(lambda condition: possible(inputs.constraints, condition)).values(graph, inputs.arrays)
    return inputs, {name: SymbolicArray.of(values[name][0]) for name in graph.outputs}


def batch(graph, inputs, seed):
    """Extremes and anything between."""
    rng = np.random.default_rng(seed)
    arrays = {name: np.zeros(a.shape, a.dtype) for name, a in inputs.arrays.items()}
    for v in inputs.variables:
        low, high = v.number.low, v.number.high
        between = low + int(rng.integers(2**63)) * 2 % (high - low + 1)
        arrays[v.input][v.position] = (low, high, 0, between, high // 3)[rng.integers(5)]
    return arrays


def bits(variable):
    term = variable.number.term
    return (variable.name, (term if term.num_args() == 0 else term.arg(0)).size())


def takes_floats(graph):
    """Whether an input is of floats, with which nothing is computed."""
    return any(v.number.opaque for v in Inputs.of(graph).variables)


def check(graph, *, seeds=3):
    """Compare with numpy; return whether it could be translated."""
    if takes_floats(graph):
        return False
    try:
        inputs, found = translated(graph)
    except Untranslatable:
        return False
    for seed in range(seeds):
        arrays = batch(graph, inputs, seed)
        numbers = {bits(v): int(arrays[v.input][v.position]) for v in inputs.variables if not v.number.is_known}
        with np.errstate(all="ignore"):
            numpys = evaluate(graph, arrays)
        for name, expected in numpys.items():
            got = values_of(found[name], numbers)
            assert got.dtype == expected.dtype
            assert got.shape == expected.shape
            assert (got == expected).all(), f"{graph}\n{arrays}\n{got}\n{expected}"
    return True


NUMBERS = MANTISSAS | {"bool"}
INTEGERS = (
    FixedPoint(True, 8, 4),
    FixedPoint(False, 3, 5),
    FixedPoint(True, 1),
    FixedPoint(True, 32, 16),
    "i8",
    "u4",
    "i64",
    "bool",
)
GRAPHS = {
    "add": "a = add(x, y)",
    "sub": "a = sub(x, y)",
    "mul": "a = mul(x, y)",
    "fma": "a = fma(x, y, x)",
    "maximum": "a = maximum(x, y)\nb = minimum(a, x)",
    "neg": "a = neg(x)\nb = abs(a)",
    "pow": "c = constant(value=3)\na = pow(x, c)",
    "relu": "a = relu(x)",
    "clip": "a = clip(x, low=-1, high=5)",
    "identity": "a = identity(x)",
    "reshape": "a = reshape(x, shape=(-1, 2, 1))",
    "flatten": "a = flatten(x, axis=1)",
    "transpose": "a = transpose(x, perm=(1, 0))",
    "squeeze": "a = unsqueeze(x, axes=(1,))\nb = squeeze(a, axes=(1,))",
    "concat": "a = concat(x, y, x, axis=1)",
    "pad": "a = pad(x, pads=(0, 1, 0, 2), fill=1)\nb = pad(a, pads=(0, -1, 0, 0))",
    "arg_max": "a = arg_max(x, axis=1)\nb = arg_max(y, axis=0, keep_dims=False)",
    "cast": "a = cast(x, element='u8')\nb = cast(a, element='i4')\nc = cast(b, element='bool')",
    "cast_to_float": "a = cast(x, element='f32')",
    "integer_add": "a = integer_add(x, y, element=s60f0, shifts=(3, 0))",
    "requantise": "a = requantise(x, shift=(2, -1), element=s6f0)\nb = requantise(x, shift=3, element=u4f0, low=1)",
    "from_fixed": "a = from_fixed(x, fraction=3)\nb = to_fixed(a, element=s6f1)\nc = quantise(a, element=u3f0, high=4)",
    "fractions": "a = from_fixed(x, fraction=3)\nb = quantise(a, element=s8f0, fractions=(1, 4), axis=1)",
    "scaled": "c = constant(value=0.375) : f32[]\nd = from_fixed(x, fraction=3)\na = mul(d, c)\n"
    "b = quantise(a, element=s6f2)",
    "integer_linear": "w = constant(value=[[3, -2], [1, 7], [0, 0]]) : i64[3,2]\n"
    "b = constant(value=[5, 0, -1]) : i64[3]\na = integer_linear(x, w, b, element=s60f0)",
    "gemm": "w = constant(value=[[1, 2], [3, -1]]) : {x}[2,2]\na = gemm(x, w, trans_b=True, alpha=2, beta=3)",
    "integer_sub": "a = integer_sub(x, y, shifts=(1, 0))",
    "integer_mul": "a = integer_mul(x, y)",
    "matmul": "w = constant(value=[[1, 0, 1], [1, 1, 0]]) : {x}[2,3]\na = matmul(x, w)",
    "div": "a = div(x, y)",
    "mod": "a = mod(x, y)",
    "equal": "a = equal(x, y)",
    "less": "a = less(x, y)",
    "less_or_equal": "a = less_or_equal(x, y)",
    "greater": "a = greater(x, y)",
    "greater_or_equal": "a = greater_or_equal(x, y)",
    "logical_and": "a = logical_and(x, y)",
    "logical_or": "a = logical_or(x, y)",
    "logical_xor": "a = logical_xor(x, y)",
    "bitwise_and": "a = bitwise_and(x, y)",
    "bitwise_or": "a = bitwise_or(x, y)",
    "bitwise_xor": "a = bitwise_xor(x, y)",
    "prelu": "a = prelu(x, y)",
    "sum": "a = sum(x, y)",
    "sign": "a = sign(x)",
    "logical_not": "a = logical_not(x)",
    "bitwise_not": "a = bitwise_not(x)",
    "reduce_sum": "a = reduce_sum(x)",
    "reduce_mean": "a = reduce_mean(x)",
    "reduce_max": "a = reduce_max(x)",
    "reduce_min": "a = reduce_min(x)",
    "reduce_prod": "a = reduce_prod(x)",
    "reduce_l1": "a = reduce_l1(x)",
    "reduce_sum_square": "a = reduce_sum_square(x)",
    "arg_min": "a = arg_min(x)",
    "size": "a = size(x)",
    "shape": "a = shape(x)",
    "eye_like": "a = eye_like(x)",
    "bit_shift": "a = bit_shift(x, y, direction='left')",
    "where": "c = less(x, y)\na = where(c, x, y)",
    "einsum": "a = einsum(x, y, equation='ij,ij->i')",
    "slice": "a = slice(x, starts=(1,), ends=(2,), axes=(1,))",
    "expand": "a = expand(x, shape=(3, 1, 2))",
    "tile": "a = tile(x, repeats=(1, 2))",
    "gather": "i = constant(value=[1, 0]) : i64[2]\na = gather(x, i, axis=1)",
    "gather_nd": "t = transpose(x, perm=(1, 0))\ni = constant(value=[[1]]) : i64[1,1]\na = gather_nd(t, i)",
    "scatter_nd": "t = transpose(x, perm=(1, 0))\n"
    "i = constant(value=[[1, 0]]) : i64[1,2]\n"
    "u = constant(value=[1]) : {x}[1]\n"
    "a = scatter_nd(t, i, u)",
    "one_hot": "v = constant(value=[0, 1]) : {x}[2]\na = one_hot(x, v, depth=3)",
    "depth_to_space": "r = reshape(x, shape=(0, 2, 1, 1))\n"
    "c = concat(r, r, axis=1)\n"
    "a = depth_to_space(c, block_size=2)\n"
    "b = space_to_depth(a, block_size=2)",
    "channel_shuffle": "r = reshape(x, shape=(0, 2, 1))\na = channel_shuffle(r, groups=2)",
    "range": "a = range(limit=3)",
    "constant_of_shape": "a = constant_of_shape(shape=(2,), value=1, element='i8')",
    "global_max_pool": "r = reshape(x, shape=(0, 1, 2))\na = global_max_pool(r)",
    "conv_transpose": "r = reshape(x, shape=(0, 1, 2))\n"
    "w = constant(value=[[[1, 1]]]) : {x}[1,1,2]\n"
    "a = conv_transpose(r, w)",
    "dequantize_linear": "c = constant(value=0.5) : f32[]\na = dequantize_linear(x, c)",
    "resize": "r = reshape(x, shape=(0, 1, 2))\na = resize(r, scales=(1.0, 1.0, 2.0))",
}


def parsed(name, element):
    """A graph of these lines, or None where an op does not compute with the type."""
    lines = GRAPHS[name].format(x=element)
    outputs = [line.partition(" =")[0] for line in lines.splitlines() if "constant(" not in line]
    inputs = [f"{v} = input() : {element}[N,2]" for v in "xy"]
    try:
        return Graph.parse("\n".join(["graph g", *inputs, lines, *(f"o{o} = output({o})" for o in outputs)]))
    except GraphRewriteError:
        return None


CASES = {f"{n}-{e}": graph for n in GRAPHS for e in INTEGERS if (graph := parsed(n, e)) is not None}


@pytest.mark.slow
@pytest.mark.parametrize("graph", CASES.values(), ids=CASES)
def test_ops_of_the_library(graph):
    assert check(graph), translated(graph)


def test_every_graph_computes_with_some_type():
    assert {case.partition("-")[0] for case in CASES} == set(GRAPHS)
    assert len(CASES) > 120


OTHERS = {
    # in windows, which the next test has
    *("conv", "max_pool", "average_pool", "global_average_pool", "integer_conv", "linear"),
    # what no value of an input decides, or no number is made of
    *("input", "output", "counter", "transfer", "name_axes", "to_quantised", "from_quantised"),
    # not translated: the proof says so
    *("cum_prod", "cum_sum", "trilu", "top_k", "reduce_l2", "conv_integer", "matmul_integer", "max_pool_with_indices"),
    *("gather_elements", "scatter_elements", "reverse_sequence", "split", "lookup", "integer_threshold", "rescale"),
    *("integer_interpolate", "integer_softmax", "cond", "loop", "scan", "bit_cast", "fold", "max_unpool"),
    *("nonzero", "compress", "unique", "tensor_scatter", "encode_labels", "tfidf_vectorize", "grid_sample"),
    # of cycles, and not of values
    *("register", "delay"),
    # floats, and lengths or indices that are whole
    *("gru", "lstm", "rnn", "linear_attention", "attention", "nll_loss", "roi_align", "stft"),
    # what no operand decides
    *("mel_weight_matrix", "rand_like", "randn_like"),
    # numbers of formats that a scale says
    *("quantize_linear", "dynamic_quantize_linear", "qlinear_conv", "qlinear_matmul", "quant", "quantise", "trunc"),
    *("bipolar_quant", "multi_threshold", "multiply_fixed_point", "round_half_away", "fixed_point_softmax"),
    # of memory: they compute what the ops do that they name
    *("alloc", "copy", "extract", "insert", "into", "view"),
}


def test_every_op_for_whole_numbers_is_among_them():
    """What is left computes with floats only."""
    named = {line.split("= ")[1].split("(")[0] for lines in GRAPHS.values() for line in lines.splitlines()}
    whole = {name for name, found in LIBRARY.items() if found.elements is None or found.elements & {"integer", "fixed"}}
    assert whole <= named | OTHERS


WINDOWS = [
    ("s4f2", "a = max_pool(x, kernel=(2, 2), strides=(2, 1), pads=(1, 0, 0, 1))"),
    ("i8", "a = max_pool(x, kernel=(1, 3), strides=(2, 1), pads=(1, 0, 0, 1))"),
    ("i8", "a = conv(x, w, strides=(1, 2), pads=(1, 1, 1, 1), dilations=(2, 1))"),
    ("i32", "a = conv(x, v, b, groups=2)"),
    ("s4f2", "a = integer_conv(x, v, b, groups=2, pads=(0, 1, 1, 0), element=s40f0)"),
    ("s4f2", "a = average_pool(x, kernel=(2, 2))"),
    ("i8", "a = average_pool(x, kernel=(1, 4), pads=(0, 0, 0, 1), count_include_pad=True)"),
]


@pytest.mark.parametrize(("element", "line"), WINDOWS)
def test_windows(element, line):
    graph = Graph.parse(f"""graph g
x = input() : {element}[N,2,3,4]
w = constant(value={np.arange(-6, 10).reshape(2, 2, 2, 2).clip(-8, 7).tolist()}) : {element}[2,2,2,2]
v = constant(value={np.arange(-4, 4).reshape(2, 1, 2, 2).tolist()}) : {element}[2,1,2,2]
b = constant(value=[3, -2]) : {element}[2]
{line}
y = output(a)""")
    assert check(graph)


def with_replacement(rule, graph):
    """The graph and what becomes of it; nothing where the rule refuses it."""
    try:
        made = rewrite(graph, rule, once=True)
    except GraphRewriteError:  # no component can do it
        return None
    return (graph, made) if made != graph else None


# Rules of models that come quantised read and compute floats; tables are read at places that the input says.
TABLES = {"map_threshold", "map_lookup", "map_interpolate", "map_softmax"}
INTO_NUMBERS = [r for r in (*LOWER_BINARY_POINTS, *LOWER_TO_STREAM) if r.name not in TABLES]


@pytest.mark.slow(cases=2)
@pytest.mark.parametrize("rule", some_of(INTO_NUMBERS), ids=lambda rule: rule.name)
def test_instances_of_lowerings_and_what_becomes_of_them(rule):
    instances = chain(Instances(rule, 240, NUMBERS), Instances(rule, 240))  # some read nothing but floats: constants
    lowered = (pair for graph in instances if not takes_floats(graph) and (pair := with_replacement(rule, graph)))
    done = [check(graph, seeds=2) for pair in islice(lowered, 6) for graph in pair]
    assert len(done) == 12
    assert sum(done) >= 8  # floats that are made of whole numbers may round, and those of edge values do


@define_op(level="integer", infer=lambda x, *, table: x)
def look_up(x, *, table):
    """A table, read at the last three bits."""
    return np.take(np.asarray(table, x.dtype), x & 7)


@define_op(infer=lambda x: x)
def written_in_place(x):
    """Every other entry, doubled where it is odd, by a loop, a mask and an assignment."""
    result = np.zeros(x.shape, x.dtype)
    for i in range(0, x.shape[1], 2):
        result[:, i] = np.where(x[:, i] % 2 == 1, x[:, i] * 2, x[:, i])
    result[:, 1:] += x[:, :-1]
    return result


@define_op(infer=lambda x: x)
def decided_by_code(x):
    """An `if` on a value."""
    if (x > 2).any():
        return x - x.min()
    if x.sum() == 3:
        raise AssertionError("never: the sum of numbers up to 2 may be 3")
    return np.abs(x)


@define_op(infer=lambda x: x)
def contracted(x):
    """Products by several functions."""
    square = np.einsum("ni,nj->nij", x, x)
    return np.tensordot(square, np.ones(x.shape[1], x.dtype), axes=1) + np.dot(x, np.eye(x.shape[1], dtype=x.dtype))


@define_op(infer=lambda x: x)
def sorted_entries(x):
    """What depends on the order of the entries."""
    return np.sort(x, axis=1)


@define_op(infer=lambda x: x)
def counted(x):
    """A number of times that depends on a value."""
    return x + len(range(int(x.max())))


@pytest.mark.parametrize("own", [lambda x: look_up(x, table=(5, 2, 0, 7, 1, 1, 3, 6)), written_in_place, contracted])
@pytest.mark.parametrize("element", ["i8", "u8", "i32"])
def test_ops_of_users(own, element):
    graph = Graph("g")
    graph.output("y", own(graph.input("x", Tensor(element, ("N", 3)))))
    assert check(graph)


@pytest.mark.parametrize(
    ("own", "why"),
    [
        (sorted_entries, r"sorted_entries\(i8\[N,2\]\): np.sort is not translated"),
        (counted, r"counted\(i8\[N,2\]\): it needs to know a number that depends on the input"),
        (decided_by_code, "it raises AssertionError: never"),
    ],
)
def test_an_op_that_is_no_formula_says_why(own, why):
    graph = Graph("g")
    graph.output("y", own(graph.input("x", Tensor("i8", ("N", 2)))))
    with pytest.raises(Untranslatable, match=why):
        translated(graph)


def test_an_op_that_raises_for_no_input_is_translated():
    @define_op(infer=lambda x: x)
    def guarded(x):
        "Refuses what the format has not."
        if (x > 100).any():
            raise ValueError("beyond the format")
        return x + 1 if (x < 0).all() else x - 1

    graph = Graph("g")
    graph.output("y", guarded(graph.input("x", Tensor(FixedPoint(True, 5), ("N", 2)))))
    assert check(graph)


def test_a_graph_that_is_an_op():
    inner = Graph("block")
    inner.output("y", op.relu(-inner.input("x", Tensor("i8", ("N", 2)))))
    graph = Graph("g")
    graph.output("y", graph_op(inner)(graph.input("x", Tensor("i8", ("N", 2)))))
    assert check(graph)


def test_every_component_has_a_stream_rule_or_is_tested_here():
    graph = Graph("g")
    x = graph.input("x", Stream(FixedPoint(True, 4), (2,)))
    fork = next(c.op for c in COMPONENTS if c.op.name == "fork")
    fifo = next(c.op for c in COMPONENTS if c.op.name == "fifo")
    first, second = fork(x)
    graph.output("y", fifo(first, depth=2))
    graph.output("z", second)
    assert check(graph)
