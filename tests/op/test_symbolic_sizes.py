"""Types with symbolic sizes say what evaluation gives, and what inference gives where numbers stand for the symbols."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from graphrewrite import Graph, Tensor, evaluate, op
from graphrewrite.errors import EvaluationError, GraphRewriteError, TypeMismatchError
from graphrewrite.execution.evaluator import evaluate_nodes
from graphrewrite.execution.program.size_values import sizes_of_inputs
from graphrewrite.graph.type_inference import infer
from graphrewrite.op.nn.convolution import spatial_sizes
from graphrewrite.op.nn.pooling import has_window_in_border
from graphrewrite.op.nn.transposed_convolution import transposed_sizes
from graphrewrite.op.tensor.slice_sizes import picked_size
from graphrewrite.testing import graphs, inputs_for
from graphrewrite.types import FixedPoint, Size, as_size, evaluate_size, parse_type, with_sizes, with_sizes_in

FAR = 2**63 - 1
OPS = (
    "add",
    "arg_max",
    "average_pool",
    "batch_norm",
    "compress",
    "concat",
    "constant_of_shape",
    "conv",
    "conv_transpose",
    "cum_sum",
    "depth_to_space",
    "einsum",
    "expand",
    "flatten",
    "gather",
    "gather_elements",
    "gemm",
    "global_average_pool",
    "layer_norm",
    "linear",
    "matmul",
    "max_pool",
    "mul",
    "one_hot",
    "pad",
    "reduce_sum",
    "relu",
    "reshape",
    "resize",
    "slice",
    "softmax",
    "space_to_depth",
    "split",
    "squeeze",
    "tile",
    "top_k",
    "transpose",
    "unsqueeze",
    "where",
)
"""Ops that make sizes of sizes, and some that keep them."""


UNRELATED = ("is outside of", "exceeds sequences of", "which no given input determines", "NaN has no")
"""What evaluation may refuse that no type says: indices, lengths, entries, and sizes in sums of two unknown ones."""


def results(graph, node):
    """The types of a node's results."""
    kinds = graph.nodes[node].get("result", ())
    return kinds if isinstance(kinds, tuple) else (kinds,)


def open_format(graph, node):
    """Whether an index is i64 because its axis is open: that of a fixed-point tensor of known size has a format."""
    return isinstance(graph.result_type(*graph.operands(node)[0]).element, FixedPoint)


def with_numbers(graph, sizes):
    """The graph with numbers in its inputs and attributes, and types that are inferred anew."""
    bound = graph.copy()
    for node, data in bound.nodes(data=True):
        if data["type"] == "input":
            data["result"] = with_sizes(data["result"], sizes)
        elif data["type"] != "output":
            data.update({key: with_sizes_in(data[key], sizes) for key in bound.op(node).sized & data.keys()})
    infer(bound)
    return bound


@given(graphs(ops=OPS, open_sizes=True).flatmap(lambda g: st.tuples(st.just(g), inputs_for(g))))
@settings(max_examples=max(150, settings.default.max_examples))
def test_every_node_has_the_shape_of_its_type(case):
    graph, inputs = case
    # What only the data decides has no name that an input could give a number to.
    assume(not any(graph.result_type(name).unknowns for name in graph.inputs))
    assume(not any(graph.nodes[n]["type"] in ("arg_max", "arg_min") and open_format(graph, n) for n in graph))
    sizes = sizes_of_inputs({name: graph.result_type(name) for name in graph.inputs}, inputs)
    nodes = [n for n in graph.in_order() if graph.nodes[n]["type"] != "output"]
    try:
        bound = with_numbers(graph, sizes)
    except GraphRewriteError:  # these sizes do not fit, so that evaluation must refuse them as well
        with np.errstate(all="ignore"), pytest.raises(GraphRewriteError):
            evaluate_nodes(graph, inputs, nodes)
        return
    with np.errstate(all="ignore"):
        try:
            values = evaluate_nodes(graph, inputs, nodes)
        except EvaluationError as error:
            assume(not any(reason in str(error) for reason in UNRELATED))
            assume(not any(kind.unknowns for node in nodes for kind in results(graph, node)))  # they may be 0
            raise
    for node in nodes:
        kinds = [with_sizes(kind, sizes) for kind in results(graph, node)]
        for kind, concrete in zip(kinds, results(bound, node), strict=True):
            assert len(kind.shape) == len(concrete.shape)
            for size, number in zip(kind.shape, concrete.shape, strict=True):
                assert size == number or str(size).startswith("?"), f"{node}: {kind} against {concrete}"
        if len(kinds) == 1 and isinstance(kinds[0], Tensor):
            assert len(kinds[0].shape) == values[node].ndim
            assert all(
                isinstance(d, str) or d == size for d, size in zip(kinds[0].shape, values[node].shape, strict=True)
            )


SIZES = ("N", "N + 2", "2*N")
BOUNDS = (0, 1, 2, 5, -1, -2, -5, FAR, -FAR)


@pytest.mark.parametrize("size", SIZES)
def test_a_slice_picks_as_many_entries_as_its_size_says(size):
    for start, end, step in itertools.product(BOUNDS, BOUNDS, (1, 2, -1, -3)):
        found = picked_size(size, start, end, step)
        for n in range(8):
            number = evaluate_size(size, {"N": n})
            assert evaluate_size(found, {"N": n}) == picked_size(number, start, end, step), (start, end, step, n)


@pytest.mark.parametrize(
    ("size", "start", "end", "step", "expected"),
    [
        ("N", 0, FAR, 1, "N"),
        ("N", -1, -FAR, -1, "N"),
        ("N", 0, 5, 1, "min(5, N)"),
        ("N", -3, FAR, 1, "min(3, N)"),
        ("2*N - 1", 0, FAR, 2, "N"),
        ("2*N - 1", -1, -FAR, -1, "2*N - 1"),
        ("N", 0, FAR, 2, "(N + 1)//2"),
        (512, 0, "seq", 1, "seq"),
        (512, "past", "past + seq", 1, "seq"),
        ("N", "k", FAR, 1, "N - k"),
        ("N", "-k", FAR, 1, "k"),
    ],
)
def test_a_symbolic_position_of_a_slice_lies_inside(size, start, end, step, expected):
    assert picked_size(size, start, end, step) == expected


windows = st.fixed_dictionaries(
    {
        "kernel": st.tuples(st.integers(1, 4)),
        "strides": st.tuples(st.integers(1, 4)),
        "pads": st.tuples(st.integers(0, 5), st.integers(0, 5)),
        "dilations": st.tuples(st.integers(1, 3)),
    }
)


def _same(symbolic, number):
    """What a function says for a symbol, with a number in its place, is what it says for that number or refuses."""
    try:
        (found,) = symbolic()
    except TypeMismatchError:
        for n in range(24):
            with pytest.raises(TypeMismatchError):
                number(n)
        return
    for n in range(24):
        try:
            (expected,) = number(n)
        except TypeMismatchError:
            continue
        assert evaluate_size(found, {"H": n}) == expected, (found, n)


@given(windows, st.booleans())
def test_windows_move_over_open_positions(attributes, ceil_mode):
    _same(
        lambda: spatial_sizes(("H",), **attributes, ceil_mode=ceil_mode),
        lambda n: spatial_sizes((n,), **attributes, ceil_mode=ceil_mode),
    )


@given(windows, st.booleans())
def test_a_window_may_lie_in_the_border_if_it_does_for_some_size(attributes, ceil_mode):
    for n in range(1, 24):
        try:
            found = has_window_in_border((n,), **attributes, ceil_mode=ceil_mode)
        except TypeMismatchError:
            continue
        assert not found or has_window_in_border(("H",), **attributes, ceil_mode=ceil_mode)


@given(windows, st.integers(0, 2))
def test_transposed_windows_move_over_open_positions(attributes, extra):
    _same(
        lambda: transposed_sizes(("H",), **attributes, output_padding=(extra,)),
        lambda n: transposed_sizes((n,), **attributes, output_padding=(extra,)),
    )


@pytest.mark.parametrize(
    ("name", "operands", "attributes", "expected"),
    [
        ("reshape", ["f32[batch,4,3]"], {"shape": (-1, 3)}, "f32[4*batch,3]"),
        ("reshape", ["f32[N,seq,768]"], {"shape": (0, "seq", 12, 64)}, "f32[N,seq,12,64]"),
        ("reshape", ["f32[N,heads,seq,64]"], {"shape": (-1, "heads*seq", 64)}, "f32[N,heads*seq,64]"),
        ("reshape", ["f32[N,seq,12,64]"], {"shape": (0, 0, -1)}, "f32[N,seq,768]"),
        ("flatten", ["f32[N,seq,4]"], {}, "f32[N,4*seq]"),
        ("flatten", ["f32[N,seq,4]"], {"axis": 2}, "f32[N*seq,4]"),
        ("concat", ["f32[N,4]", "f32[N,past]", "f32[N,seq]"], {"axis": 1}, "f32[N,past + seq + 4]"),
        (
            "conv",
            ["f32[N,3,H,W]", "f32[8,3,3,3]"],
            {"strides": (2, 2), "pads": (1,) * 4},
            "f32[N,8,(H + 1)//2,(W + 1)//2]",
        ),
        ("conv", ["f32[N,C,H]", "f32[O,C,K]"], {}, "f32[N,O,H - K + 1]"),
        ("max_pool", ["f32[N,3,H]"], {"kernel": (2,), "strides": (2,), "ceil_mode": True}, "f32[N,3,(H + 1)//2]"),
        ("conv_transpose", ["f32[N,3,H]", "f32[3,8,4]"], {"strides": (2,), "pads": (1, 1)}, "f32[N,8,2*H]"),
        ("resize", ["f32[N,3,H,W]"], {"scales": (1, 1, 2, 0.5)}, "f32[N,3,2*H,W//2]"),
        ("resize", ["f32[N,3,H]"], {"sizes": ("2*H",), "axes": (2,)}, "f32[N,3,2*H]"),
        ("resize", ["f32[N,3,H]"], {"scales": (0.3,), "axes": (2,)}, "f32[N,3,?c]"),
        ("depth_to_space", ["f32[N,8,H,W]"], {"block_size": 2}, "f32[N,2,2*H,2*W]"),
        ("space_to_depth", ["f32[N,2,2*H,W]"], {"block_size": 2}, "f32[N,8,H,W//2]"),
        ("pad", ["f32[N,seq]"], {"pads": (0, 1, 0, "k")}, "f32[N,k + seq + 1]"),
        ("pad", ["f32[N,seq]"], {"pads": (0, -1, 0, 0)}, "f32[N,seq - 1]"),
        ("tile", ["f32[N,4]"], {"repeats": (2, "seq")}, "f32[2*N,4*seq]"),
        ("expand", ["f32[1,4]"], {"shape": ("N", 1)}, "f32[N,4]"),
        ("matmul", ["f32[N,heads,seq,64]", "f32[N,heads,64,past + seq]"], {}, "f32[N,heads,seq,past + seq]"),
        ("einsum", ["f32[b,s,h]", "f32[b,t,h]"], {"equation": "bsh,bth->bst"}, "f32[b,s,t]"),
        ("one_hot", ["i64[N,seq]", "f32[2]"], {"depth": "classes"}, "f32[N,seq,classes]"),
        ("gather", ["f32[vocabulary,64]", "i64[N,seq]"], {}, "f32[N,seq,64]"),
        ("range", [], {"limit": "2*seq", "delta": 2}, "i64[seq]"),
        ("range", [], {"start": "past", "limit": "past + 3"}, "i64[3]"),
        ("constant_of_shape", [], {"shape": ("N", 3)}, "f32[N,3]"),
        ("reduce_sum", ["f32[N,seq,4]"], {"axes": (1,)}, "f32[N,1,4]"),
        ("quantize_linear", ["f32[N,seq]", "f32[N,(seq + 1)//2]"], {"axis": 1, "block_size": 2}, "u8[N,seq]"),
    ],
)
def test_sizes_are_expressions(name, operands, attributes, expected):
    (found,) = op.LIBRARY[name].infer(*map(parse_type, operands), **attributes)
    element, _, shape = expected.partition("[")
    assert (found.element, list(found.shape)) == (element, [as_size(size) for size in shape.rstrip("]").split(",")])


def test_results_of_several():
    first, second = op.split.infer(Tensor("f32", ("N", "2*seq")), axis=1, sizes=("seq", "seq"))
    assert first == second == Tensor("f32", ("N", "seq"))
    values, indices = op.top_k.infer(Tensor("f32", ("N", "seq")), k="k")
    assert (values.shape, indices.shape) == (("N", "k"), ("N", "k"))
    x, w, state = Tensor("f32", ("seq", "N", 3)), Tensor("f32", (1, 8, 3)), Tensor("f32", (1, "N", 2))
    r, b, p = Tensor("f32", (1, 8, 2)), Tensor("f32", (1, 16)), Tensor("f32", (1, 6))
    outputs, last, _ = op.lstm.infer(x, w, r, b, state, state, p, hidden_size=2)
    assert (outputs.shape, last.shape) == (("seq", 1, "N", 2), (1, "N", 2))


@pytest.mark.parametrize(
    ("name", "operands", "attributes", "message"),
    [
        (
            "add",
            ["f32[N,4]", "f32[M,4]"],
            {},
            "N against M; where 'N' and 'M' are the same size, give both the same name",
        ),
        ("add", ["f32[N,4]", "f32[3,4]"], {}, "N against 3; where 'N' is always 3, give that number instead"),
        ("matmul", ["f32[N,s]", "f32[t,4]"], {}, "where 's' and 't' are the same size"),
        ("gemm", ["f32[N,s]", "f32[t,4]"], {}, "where 's' and 't' are the same size"),
        ("concat", ["f32[N,2]", "f32[M,2]"], {"axis": 1}, "where 'N' and 'M' are the same size"),
        ("einsum", ["f32[N,s]", "f32[t]"], {"equation": "ij,j->i"}, "where 's' and 't' are the same size"),
        ("squeeze", ["f32[N,H]"], {"axes": (1,)}, "where 'H' is always 1"),
        ("reshape", ["f32[N,3]"], {"shape": ("M", 3)}, "'M', but .* does not; .* give both the same name"),
        ("reshape", ["f32[N,3]"], {"shape": ("N", 4)}, r"3\*N against 4\*N entries"),
        ("split", ["f32[2*N]"], {"sizes": ("N", 1)}, r"do not add up to the 2\*N"),
        ("conv", ["f32[N,3,4]", "f32[2,3,H + 5]"], {}, "does not fit the padded size 4"),
        ("channel_shuffle", ["f32[N,2*C + 1]"], {"groups": 2}, r"2\*C \+ 1 channels"),
        ("range", [], {"start": 0.5, "limit": "N"}, "is not a range of whole numbers"),
        ("top_k", ["f32[N]"], {"k": "N + 1"}, r"fewer than k=N \+ 1"),
    ],
)
def test_what_cannot_hold_names_the_sizes(name, operands, attributes, message):
    with pytest.raises(TypeMismatchError, match=message):
        op.LIBRARY[name].infer(*map(parse_type, operands), **attributes)


@pytest.mark.parametrize(
    ("build", "shape"),
    [
        (lambda x: op.space_to_depth(x, block_size=2), (1, 1, 3, 4)),
        (lambda x: op.reshape(x, shape=(-1, 5)), (1, 1, 3, 4)),
        (lambda x: op.pad(x, pads=(0, 0, -2, 0, 0, 0, -2, 0)), (1, 1, 3, 4)),
        (lambda x: op.top_k(x, k=4, axis=2)[0], (1, 1, 3, 4)),
        (lambda x: op.conv(x, np.ones((1, 1, 5, 5), np.float32)), (1, 1, 3, 4)),
        (lambda x: op.slice(x, starts=(0,), ends=("H",), axes=(3,)), (1, 1, 5, 4)),
    ],
)
def test_what_evaluation_finds_out_is_an_error_that_names_the_node(build, shape):
    g = Graph("g")
    g.output("y", build(g.input("x", Tensor("f32", ("N", 1, "H", "W")))))
    with pytest.raises(EvaluationError, match="node '"):
        evaluate(g, {"x": np.zeros(shape, np.float32)})


def test_a_size_in_an_attribute_may_be_written_freely():
    g = Graph("g")
    x = g.input("x", Tensor("f32", ("N", "seq*2", 3)))
    y = op.reshape(x, shape=("2 * N*seq", 3))
    g.output("y", y)
    assert y.type == Tensor("f32", (Size("2*N*seq"), 3))
    assert evaluate(g, {"x": np.zeros((2, 4, 3), np.float32)})["y"].shape == (8, 3)
