"""Layouts: an op of channels means the same in every order of the axes; element-wise ops take layouts that agree."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from graphrewrite import FixedPoint, Graph, Tensor, evaluate, op, verify
from graphrewrite.errors import EvaluationError, TypeMismatchError
from graphrewrite.execution.evaluator import evaluate_nodes
from graphrewrite.execution.program import compile_graph
from graphrewrite.testing import graphs, inputs_for
from graphrewrite.types import Quantised, permutation
from tests.support.central_ops import examples_of

WITH_AXES = [found for found in op.LIBRARY.values() if found.axes is not None]
LETTERS = {0: "", 1: "N", 2: "NC", 3: "NCW", 4: "NCHW", 5: "NCDHW"}


@pytest.mark.parametrize("tested", WITH_AXES, ids=lambda tested: tested.name)
def test_in_every_order_of_the_axes_it_is_the_op_between_transposes(tested):
    reached = []

    @examples_of(tested)
    @given(graphs(ops=[tested]).flatmap(lambda g: st.tuples(st.just(g), inputs_for(g))), st.data())
    def examine(case, data):
        graph, inputs = case
        nodes = [n for n in graph if graph.nodes[n]["type"] == tested.name]
        assume(nodes)
        node = data.draw(st.sampled_from(nodes))
        operands = graph.operands(node)
        names = list(dict.fromkeys([node, *(o.node for o in operands)]))
        with np.errstate(all="ignore"):
            values = evaluate_nodes(graph, inputs, names)
        first, *rest = (graph.result_type(*o) for o in operands)
        letters = LETTERS[len(first.shape)]
        perm = data.draw(st.permutations(range(len(letters))))
        given_type = Tensor(first.element, first.shape, letters).permuted(perm)

        moved = Graph("moved")
        x = moved.input("x", given_type)
        others = [moved.input(f"x{i}", kind) for i, kind in enumerate(rest)]
        made = tested(x, *others, **graph.attributes(node))
        made = made[0] if isinstance(made, tuple) else made  # the first result stands for all
        moved.output("y", made)
        verify(moved)
        assert made.type.layout == given_type.layout
        wanted = graph.result_type(node)
        assert made.type == Tensor(wanted.element, wanted.shape, letters or None).permuted(perm)
        with np.errstate(all="ignore"):
            arrays = {"x": np.transpose(values[operands[0].node], perm)}
            arrays |= {x.node: values[o.node] for x, o in zip(others, operands[1:], strict=True)}
            found = evaluate(moved, arrays)["y"]
        np.testing.assert_array_equal(found, np.transpose(values[node], perm))
        reached.append(node)

    examine()
    assert reached


def network(layout: str, rng: np.random.Generator, *, named: bool = True) -> Graph:
    """A small convolutional network whose input has a layout."""
    g = Graph("net")
    x = g.input("x", Tensor("f32", ("N", 2, 6, 5), "NCHW" if named else None))
    if layout != "NCHW":
        x = g.nodes["x"].update(result=Tensor("f32", ("N", 2, 6, 5), "NCHW").permuted(permutation("NCHW", layout)))
        x = g.value("x")
    w = rng.normal(size=(4, 2, 3, 3)).astype(np.float32)
    y = op.conv(x, w, rng.normal(size=4).astype(np.float32), pads=(1, 1, 1, 1), strides=(1, 2))
    y = op.max_pool(op.relu(y), kernel=(2, 1), strides=(2, 1))
    statistics = [rng.uniform(0.5, 2, 4).astype(np.float32) for _ in range(4)]
    y = op.batch_norm(y, *statistics)
    y = op.add(y, op.global_average_pool(y))
    g.output("y", op.average_pool(y, kernel=(3, 1)))
    return g


@given(st.permutations("NCHW"), st.integers(0, 2**32 - 1))
def test_a_network_means_the_same_in_every_layout(letters, seed):
    layout = "".join(letters)
    reference, moved = (network(to, np.random.default_rng(seed)) for to in ("NCHW", layout))
    verify(moved)
    x = np.random.default_rng(seed).normal(size=(3, 2, 6, 5)).astype(np.float32)
    perm = permutation("NCHW", layout)
    wanted = evaluate(reference, {"x": x})["y"].transpose(perm)
    np.testing.assert_array_equal(evaluate(moved, {"x": x.transpose(perm)})["y"], wanted)
    assert moved.result_type("average_pool_1").layout == layout


def test_what_is_not_named_is_channels_first():
    named, plain = (network("NCHW", np.random.default_rng(0), named=n) for n in (True, False))
    assert all(plain.result_type(n).layout is None for n in plain if n != "y")
    x = np.random.default_rng(1).normal(size=(2, 2, 6, 5))
    np.testing.assert_array_equal(evaluate(named, {"x": x})["y"], evaluate(plain, {"x": x})["y"])


@given(st.permutations("NCHW"), st.integers(1, 40), st.integers(0, 2**32 - 1))
def test_instructions_compute_what_the_functions_compute_in_every_layout(letters, batch, seed):
    layout, rng = "".join(letters), np.random.default_rng(seed)
    kind = Tensor(FixedPoint(True, 8), ("N", 2, 5, 4), "NCHW").permuted(permutation("NCHW", layout))
    g = Graph("net")
    x = g.input("x", kind)
    w = g.constant(rng.integers(-7, 8, (3, 2, 2, 2)).astype(np.int8), type=Tensor(FixedPoint(True, 4), (3, 2, 2, 2)))
    b = g.constant(rng.integers(-7, 8, 3).astype(np.int8), type=Tensor(FixedPoint(True, 8), (3,)))
    y = op.integer_conv(x, w, b, element=FixedPoint(True, 20))
    y = op.requantise(y, shift=(1, 2, 3), element=FixedPoint(True, 8))
    y = op.max_pool(op.relu(y), kernel=(2, 2))
    y = op.transpose(y, perm=permutation(layout, "NCHW"))
    g.output("y", op.requantise(y, shift=1, element=FixedPoint(True, 4)))
    array = rng.integers(-128, 128, (batch, 2, 5, 4)).transpose(permutation("NCHW", layout)).astype(np.int8)
    found, wanted = (compile_graph(g, instructions=with_them)({"x": array})["y"] for with_them in (True, False))
    assert found.dtype == wanted.dtype
    np.testing.assert_array_equal(found, wanted)


ELEMENT_WISE = [op.add, op.mul, op.sub, op.maximum, op.fma, op.div]


@pytest.mark.parametrize("tested", ELEMENT_WISE, ids=lambda tested: tested.name)
def test_layouts_that_disagree_are_refused_with_the_transpose_that_helps(tested):
    a, b = Tensor("f32", ("N", 3, 4, 4), "NCHW"), Tensor("f32", ("N", 4, 4, 3), "NHWC")
    square = Tensor("f32", (4, 4, 4, 4), "NHWC")
    with pytest.raises(
        TypeMismatchError, match=r"the layouts NCHW and NHWC do not agree; cast the layout with op.transp"
    ):
        tested.infer(Tensor("f32", (4, 4, 4, 4), "NCHW"), square, *[square] * (tested.required - 2))
    helped = op.transpose.infer(b, perm=(0, 3, 1, 2))[0]
    assert tested.infer(a, helped, *[a] * (tested.required - 2)) == (a,)


@pytest.mark.parametrize(
    ("kinds", "layout"),
    [
        ([("N", 4, 4, 3, "NHWC"), (3, "C")], "NHWC"),
        ([("N", 4, 4, 3, "NHWC"), (4, 3, None)], "NHWC"),
        ([("N", 4, 4, 3, None), (4, 3, "WC")], None),
        ([(4, 3, "WC"), ("N", 4, 4, 3, "NHWC")], "NHWC"),
        ([("N", 3, None), ("N", 3, "NC")], "NC"),
        ([("N", 3, None), ("N", 3, None)], None),
    ],
)
def test_layouts_are_aligned_from_the_right(kinds, layout):
    types = [Tensor("f32", tuple(kind[:-1]), kind[-1]) for kind in kinds]
    assert op.add.infer(*types)[0].layout == layout


def test_moving_entries_moves_the_names_of_their_axes():
    x = Tensor("f32", ("N", 1, 4, 5), "NCHW")
    assert str(op.transpose.infer(x, perm=(0, 2, 3, 1))[0]) == "f32[N,4,5,1] NHWC"
    assert str(op.squeeze.infer(x, axes=(1,))[0]) == "f32[N,4,5] NHW"
    assert str(op.unsqueeze.infer(x, axes=(1,))[0]) == "f32[N,1,1,4,5]"
    assert str(op.reshape.infer(x, shape=("N", 20))[0]) == "f32[N,20]"
    assert str(op.reshape.infer(x, shape=("N", 1, 4, 5))[0]) == "f32[N,1,4,5]"
    assert str(op.arg_max.infer(x, axis=2)[0]) == "i64[N,1,1,5] NCHW"
    assert str(op.arg_max.infer(x, axis=2, keep_dims=False)[0]) == "i64[N,1,5] NCW"
    assert str(op.concat.infer(x, x, axis=1)[0]) == "f32[N,2,4,5] NCHW"
    assert str(op.pad.infer(x, pads=(0, 0, 1, 1, 0, 0, 1, 1))[0]) == "f32[N,1,6,7] NCHW"
    with pytest.raises(TypeMismatchError, match="do not agree"):
        op.concat.infer(Tensor("f32", (2, 2), "NC"), Tensor("f32", (2, 2), "CN"), axis=0)
    assert str(op.matmul.infer(Tensor("f32", (2, 3), "NC"), Tensor("f32", (3, 4)))[0]) == "f32[2,4]"


def test_axes_get_names_and_lose_them():
    x = Tensor("f32", ("N", 3, 4), None)
    named = op.name_axes.infer(x, layout="NCW")[0]
    assert str(named) == "f32[N,3,4] NCW"
    assert op.name_axes.infer(named, layout="NCW") == (named,)
    assert op.name_axes.infer(named, layout=None) == (x,)
    with pytest.raises(TypeMismatchError, match=r"the layout is NCW already; op.transpose"):
        op.name_axes.infer(named, layout="NWC")
    with pytest.raises(TypeMismatchError, match="2 axes"):
        op.name_axes.infer(Tensor("f32", (2, 3)), layout="NCW")


@pytest.mark.parametrize("layout", ["ABCD", "CHWX", "NHWD"])
def test_axes_that_an_op_needs_are_asked_for(layout):
    x, w = Tensor("f32", (2, 3, 4, 4), layout), Tensor("f32", (2, 3, 1, 1))
    with pytest.raises(TypeMismatchError, match=rf"the layout {layout} does not have the axes NC\*; name the axes"):
        op.conv.infer(x, w)


def test_shifts_of_channels_need_channels():
    narrow = FixedPoint(True, 4)
    x = Tensor(FixedPoint(True, 8), ("N", 2), "NT")
    assert op.requantise.infer(x, shift=1, element=narrow) == (Tensor(narrow, ("N", 2), "NT"),)
    with pytest.raises(TypeMismatchError, match="do not fit the no channels"):
        op.requantise.infer(x, shift=(1, 2), element=narrow)


def test_weights_have_one_order():
    x, w = Tensor("f32", (2, 3, 4, 4), "NHWC"), Tensor("f32", (5, 4, 1, 1), "OIHW")
    assert str(op.conv.infer(x, w)[0]) == "f32[2,3,4,5] NHWC"
    with pytest.raises(TypeMismatchError, match=r"operand 1 is HWIO and must be OIHW.*perm=\(3, 2, 0, 1\)"):
        op.conv.infer(x, w.permuted((2, 3, 1, 0)))


def test_channels_of_quantised_numbers_go_with_their_axis():
    kind = Tensor(Quantised("i8", (0.5, 0.25), (1, 2), axis=1), ("N", 2, 4, 4), "NCHW")
    moved = op.transpose.infer(kind, perm=(0, 2, 3, 1))[0]
    assert str(moved) == "i8<0.5:1, 0.25:2 @3>[N,4,4,2] NHWC"
    pooled = op.max_pool.infer(moved, kernel=(2, 2), strides=(2, 2))[0]
    assert str(pooled) == "i8<0.5:1, 0.25:2 @3>[N,2,2,2] NHWC"
    assert (
        op.max_pool.infer(kind, kernel=(4, 4))[0].permuted((0, 2, 3, 1)) == op.max_pool.infer(moved, kernel=(4, 4))[0]
    )


def test_evaluating_a_graph_whose_layouts_are_wrong_says_where():
    g = network("NHWC", np.random.default_rng(0))
    g.nodes["x"]["result"] = Tensor("f32", ("N", 6, 5, 2), "ABXY")
    with pytest.raises(EvaluationError, match=r"node 'conv_1'.*does not have the axes"):
        evaluate(g, {"x": np.zeros((1, 6, 5, 2))})
