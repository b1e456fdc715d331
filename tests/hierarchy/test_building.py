"""Graphs built from parts, and parts that are graphs."""

from __future__ import annotations

from functools import partial

import networkx as nx
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from graphrewrite import Graph, Tensor, evaluate, op, rewrite, rule, verify
from graphrewrite.errors import GraphError, TypeMismatchError
from graphrewrite.hierarchy.building import parallel, residual, sequential
from graphrewrite.hierarchy.composition import compose
from graphrewrite.hierarchy.graph_ops import graph_op
from graphrewrite.testing import graphs, inputs_for

F = Tensor("f32", ("N", 4))
UNARY = [op.neg, op.relu, op.abs, lambda x: x * 2.0, partial(op.clip, low=-1.0, high=1.0)]


def body() -> Graph:
    graph = Graph("body")
    x = graph.input("x", F)
    graph.output("y", op.relu(x * np.float32([1, 2, 3, 4])))
    return graph


def built(part) -> Graph:
    graph = Graph("g")
    found = part(graph.input("x", F))
    for i, value in enumerate(found if isinstance(found, tuple) else (found,)):
        graph.output(f"y{i}", value)
    verify(graph)
    return graph


def nested(inner):
    some = st.lists(inner, min_size=1, max_size=3)
    return st.one_of(
        some.map(lambda parts: sequential(*parts)),
        some.map(lambda parts: residual(*parts)),
        some.map(lambda parts: sequential(parallel(*parts), lambda *xs: sum(xs[1:], xs[0]))),
        st.tuples(inner, inner, inner).map(lambda p: sequential(parallel(p[0], p[1]), parallel(p[1], p[2]), op.sub)),
    )


parts = st.recursive(st.sampled_from([*UNARY, body(), graph_op(body())]), nested, max_leaves=6)


@given(parts.map(sequential), st.integers(0, 99))
def test_on_values_it_builds_what_it_computes_on_arrays(part, seed):
    x = np.random.default_rng(seed).integers(-4, 5, (3, 4)).astype(np.float32)
    wanted = part(x)
    found = evaluate(built(part), {"x": x})
    np.testing.assert_array_equal(found["y0"], wanted)


def test_a_shared_operand_is_shared():
    graph = built(parallel(op.neg, op.relu, op.abs))
    assert len(graph.readers("x")) == 3
    assert graph.outputs == ("y0", "y1", "y2")


def test_it_is_a_pattern():
    block = sequential(op.neg, parallel(op.relu, op.abs), op.add)

    @rule
    def fold(x):
        """relu(-x) + |-x| is written as a product."""
        yield block(x)
        return op.mul(x, x)

    graph = built(sequential(op.exp, block, op.neg))
    assert [data["type"] for _, data in rewrite(graph, fold).nodes(data=True)].count("mul") == 1

    @rule
    def fold_graph(x):
        """The body is an exponential."""
        yield sequential(body_without_constants())(x)
        return op.exp(x)

    graph = built(sequential(op.abs, body_without_constants()))
    assert "exp_1" in rewrite(graph, fold_graph)


def body_without_constants() -> Graph:
    graph = Graph("plain")
    graph.output("y", op.relu(op.neg(graph.input("x", F))))
    return graph


def test_operands_by_name_and_results_in_order():
    w = np.eye(4, dtype=np.float32)
    graph = built(sequential(partial(op.linear, w=w, b=np.zeros(4, np.float32)), parallel(op.neg, op.relu), op.sub))
    assert graph.operands("sub_1")[0].node == "neg_1"
    assert [o.node for o in graph.operands("linear_1")] == ["x", "constant_1", "constant_2"]
    assert parallel(op.neg, op.relu)(np.float32(1), np.float32(2)) == (-1, 2)
    assert residual(op.neg, shortcut=op.abs, join=op.sub)(np.float32(-3)) == 0


def test_what_a_part_that_is_a_graph_says_of_its_nodes_stays():
    graph = Graph("g")
    x = graph.input("x", F)
    graph.output("y", op.generic("Swirl")(x, turns=2, result=Tensor("f32", ("N", 2))))
    graph.nodes["Swirl_1"]["backend"] = "gpu"
    made = built(sequential(graph))
    assert made.nodes["Swirl_1"]["backend"] == "gpu"
    assert str(made.result_type("Swirl_1")) == "f32[N,2]"


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        (sequential, "at least one part"),
        (lambda: sequential(op.neg, [op.relu]), r"put its members into sequential\(…\) or parallel\(…\)"),
        (lambda: parallel(3), "ops, functions and graphs, got 3"),
        (lambda: parallel(op.neg, op.relu)(1, 2, 3), r"one operand, or 2 \(one per part\), got 3"),
        (lambda: sequential(lambda x: None)(1), "returns no value"),
        (lambda: built(sequential(op.neg, partial(op.linear, b=np.zeros(4)))), "linear needs operand 'w'"),
        (lambda: sequential(body())(1, 2), "takes the operands x, got 2"),
        (lambda: body_on(Tensor("f32", ("N", 5))), "input 'x' is f32"),
    ],
)
def test_wrong_parts_are_refused(wrong, message):
    with pytest.raises((GraphError, TypeMismatchError), match=message):
        wrong()


def body_on(kind: Tensor) -> None:
    sequential(body())(Graph("g").input("x", kind))


# ------------------------------------------------------------------ composing


def one(text: str) -> Graph:
    return Graph.parse(text)


def test_what_is_left_open_stays():
    first = one("graph a\nx = input() : f32[N,2]\nr = relu(x)\ny = output(r)\nz = output(x)")
    second = one("graph b\nz = input() : f32[M,2]\nx = input() : f32[M,2]\nr = add(x, z)\nw = output(r)")
    made = compose(first, second, {"y": "x"})
    verify(made)
    assert (made.inputs, made.outputs) == (("x", "z_1"), ("z", "w"))
    assert [o.node for o in made.operands("add_1")] == ["r", "z_1"]
    assert str(made.result_type("z_1")) == "f32[N,2]"
    both = compose(first, second, {"y": ["x", "z"]}, name="both")
    assert (both.name, both.inputs, both.outputs) == ("both", ("x",), ("z", "w"))
    verify(compose(first, compose(second, second, {"w": "z"}), {"y": "z"}))


def test_views_controls_marks_and_sizes_come_along():
    first = one("graph a\nx = input() : f32[3,2]\nr = relu(x)\ny = output(r)")
    second = one("graph b\nx = input() : f32[M,2]\nr = reshape(x, shape=['M', 1, 2])\ns = neg(r)\ny = output(s)")
    for graph in (first, second):
        graph.view("v", ["r"])
    second.add_control("r", "y")
    second.nodes["s"]["backend"] = "gpu"
    made = compose(first, second)
    verify(made)
    assert str(made.result_type("s")) == "f32[3,1,2]"
    assert made.nodes["s"]["backend"] == "gpu"
    assert made.controls("y") == (("reshape_1", "control"),)
    assert made.view("v_2").nodes == {"reshape_1"}
    assert [v.node for v in made.view("v_2").input_operands] == ["r"]


@pytest.mark.parametrize(
    ("wires", "error", "message"),
    [
        ({"yy": "x"}, GraphError, "graph 'a' has no output 'yy'; did you mean 'y'"),
        ({"y": "xx"}, GraphError, "graph 'b' has no input 'xx'; did you mean 'x'"),
        ({"y": ["x", "x"]}, GraphError, "connected twice"),
        (None, GraphError, "state the connections as"),
        (
            {"y": "x", "z": "w"},
            TypeMismatchError,
            r"output 'z' of graph 'a' is f32\[3,3\], and the input 'w' of graph 'b' takes f32\[M,3\], where M is N",
        ),
        ({"z": "x"}, TypeMismatchError, r"output 'z' of graph 'a' is f32\[3,3\], and the input 'x'"),
    ],
)
def test_what_does_not_fit_is_named_at_both_ends(wires, error, message):
    first = one("graph a\nx = input() : f32[N,2]\nu = input() : f32[3,3]\nr = relu(x)\ny = output(r)\nz = output(u)")
    second = one(
        "graph b\nx = input() : f32[M,2]\nw = input() : f32[M,3]\nq = input() : f32[2]\n"
        "y = output(x)\nz = output(w)\nv = output(q)"
    )
    before = first.copy(), second.copy()
    with pytest.raises(error, match=message):
        compose(first, second, wires)
    assert (first, second) == before


@given(graphs().flatmap(lambda g: st.tuples(st.just(g), inputs_for(g, moderate=True))))
def test_a_composition_computes_one_after_the_other(case):
    graph, inputs = case
    last = Graph("last", ops=graph.ops.values())
    for i, name in enumerate(graph.outputs):
        source = graph.operands(name)[0]
        last.output(f"z{i}", op.identity(last.input(name, graph.result_type(*source))))
    made = compose(graph, last)
    verify(made)
    with np.errstate(all="ignore"):
        wanted, found = evaluate(graph, inputs), evaluate(made, inputs)
    for name, value in zip(graph.outputs, found.values(), strict=True):
        np.testing.assert_array_equal(value, wanted[name])


@pytest.mark.parametrize(
    ("first", "second", "wires", "message"),
    [
        (3, Graph(), None, "int is not a graph that can be connected"),
        (Graph(), {"a": 1}, None, "dict is not a graph that can be connected"),
        (one("x = input() : f32[N]\ny = output(x)"), nx.DiGraph(), {"y": "x"}, "has no input 'x'"),
        (one("x = input() : f32[N]\ny = output(x)"), Graph(), ["y"], r"are given as .*, got \['y'\]"),
        (one("x = input() : f32[N]\ny = output(x)"), Graph(), {"y": 3}, "has no input 3"),
    ],
)
def test_what_cannot_be_connected_is_refused(first, second, wires, message):
    with pytest.raises(GraphError, match=message):
        compose(first, second, wires)


def test_building_that_fails_builds_nothing():
    graph = Graph("g")
    x = op.neg(graph.input("x", F))
    before = graph.copy()
    inner = Graph("inner")
    inner.output("y", op.tanh(inner.input("x", F)))
    narrow = partial(op.linear, w=np.ones((2, 4), np.float32))
    part = sequential(op.relu, graph_op(inner), op.generic("Swirl"), residual(op.neg, narrow))
    with pytest.raises(TypeMismatchError, match=r"shapes \[N,2\] and \[N,4\] do not broadcast") as caught:
        part(x)
    assert caught.value.__notes__ == ["in residual(neg, linear)", f"in {part!r}"]
    assert graph == before
    assert graph.ops == {}
    assert [op.neg(x).node, op.relu(x).node] == ["neg_2", "relu_1"]


def test_a_part_that_is_a_graph_keeps_its_order():
    part = one("graph p\nx = input() : f32[N,4]\na = neg(x, ^x:late)\nb = exp(x, ^a)\ny = output(a)\nz = output(b)")
    graph = built(sequential(op.relu, part))
    assert graph.controls("exp_1") == (("neg_1", "control"),)
    assert graph.controls("neg_1") == (("relu_1", "late"),)
