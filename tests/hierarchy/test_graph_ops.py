"""Graphs as ops: types, values, what becomes of them when their graph changes, and what they refuse."""

from __future__ import annotations

import copy
import pickle
import pydoc
import re

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from graphrewrite import Graph, GraphRewriteError, Tensor, define_op, evaluate, op, rewrite, rule, verify
from graphrewrite.errors import (
    EvaluationError,
    GraphError,
    TypeMismatchError,
    UnknownGraphError,
    UnknownOpError,
    VerificationError,
)
from graphrewrite.hierarchy.expansion import flatten
from graphrewrite.hierarchy.graph_ops import GraphOp, check_nesting, graph_op, nested_ops
from graphrewrite.op.generic_op import generic
from graphrewrite.testing import graphs, inputs_for

X = Tensor("f32", ("N", 4))


def block(name: str = "block") -> Graph:
    """Two inputs that agree in a symbolic size, two results."""
    graph = Graph(name)
    x, y = graph.input("x", X), graph.input("y", Tensor("f32", ("N", "M")))
    graph.output("scaled", x * np.float32(2))
    graph.output("rectified", op.relu(y))
    return graph


def using(body: Graph, *types: Tensor) -> Graph:
    graph = Graph("main")
    made = graph_op(body)(*[graph.input(f"in_{i}", kind) for i, kind in enumerate(types)])
    for i, value in enumerate(made if isinstance(made, tuple) else (made,)):
        graph.output(f"out_{i}", value)
    return graph


def test_results_have_the_sizes_that_the_operands_bind() -> None:
    graph = using(block(), Tensor("f32", (8, 4)), Tensor("f32", (8, "K")))
    assert [str(graph.result_type("block_1", i)) for i in range(2)] == ["f32[8,4]", "f32[8,K]"]
    verify(graph)


@pytest.mark.parametrize(
    ("types", "said"),
    [
        (("f32[8,4]", "f32[9,3]"), "its input 'y' is f32[N,M] where N is 8, got f32[9,3]"),
        (("f32[8,5]", "f32[8,3]"), "its input 'x' is f32[N,4], got f32[8,5]"),
        (("f32[N,K]", "f32[N,3]"), "its input 'x' is f32[N,4], got f32[N,K]"),
        (("f32[8,4,1]", "f32[8,3]"), "its input 'x' is f32[N,4], got f32[8,4,1]"),
        (("f16[8,4]", "f32[8,3]"), "its input 'x' is f32[N,4], got f16[8,4]"),
        (("s8f0[8,4]", "f32[8,3]"), "its input 'x' is f32[N,4], got s8f0[8,4]"),
        (("f32[8,4] NC", "f32[8,3]"), "its input 'x' is f32[N,4], got f32[8,4] NC"),
        (("f32[8,4]",), "block needs operand 'y'"),
        (("f32[8,4]", "f32[8,3]", "f32[8,3]"), "block takes at most 2 operands (x, y), got 3"),
    ],
)
def test_what_does_not_fit_is_refused_and_nothing_changes(types: tuple[str, ...], said: str) -> None:
    from graphrewrite.types import parse_type

    graph = Graph("main")
    values = [graph.input(f"in_{i}", parse_type(kind)) for i, kind in enumerate(types)]
    before = graph.copy()
    with pytest.raises(TypeMismatchError, match=re.escape(said)):
        graph_op(block())(*values)
    assert graph == before
    assert not graph.ops


def test_help_shows_its_inputs() -> None:
    block = Graph("block")
    block.output("y", -block.input("x", Tensor("f32", ("N", 2))))
    shown = pydoc.plain(pydoc.render_doc(graph_op(block)))
    assert "block(x)" in shown
    assert "x : array\n        f32[N,2]." in shown


def test_it_computes_on_arrays_and_inside_of_a_graph() -> None:
    body = block()
    x, y = np.float32([[1, -1, 2, -2]]), np.float32([[-3, 3]])
    scaled, rectified = graph_op(body)(x, y)
    assert scaled.tolist() == [[2, -2, 4, -4]]
    assert rectified.tolist() == [[0, 3]]
    graph = using(body, X, Tensor("f32", ("N", 2)))
    for frames in (1, 40):  # few are computed node by node, many by instructions
        found = evaluate(graph, {"in_0": np.tile(x, (frames, 1)), "in_1": np.tile(y, (frames, 1))})
        assert found["out_0"].tolist() == [[2, -2, 4, -4]] * frames
        assert found["out_1"].tolist() == [[0, 3]] * frames


def test_arrays_of_a_wrong_shape_are_refused_by_the_name_of_the_input() -> None:
    with pytest.raises(EvaluationError, match="the input 'x' is f32"):
        graph_op(block())(np.zeros((2, 5)), np.zeros((2, 1)))


def test_it_is_a_pattern_of_a_rule() -> None:
    body = Graph.parse("graph block\nx = input() : f32[N]\nr = relu(x)\ny = output(r)")
    known = graph_op(body)

    @rule
    def unpack(x):
        yield known(op.neg(x))
        return op.relu(op.neg(x))

    graph = Graph("g")
    graph.output("y", known(-graph.input("x", Tensor("f32", (3,)))))
    assert {data["type"] for _, data in rewrite(graph, unpack).nodes(data=True)} == {"input", "neg", "relu", "output"}


def test_a_rule_makes_nodes_of_it() -> None:
    known = graph_op(Graph.parse("graph block\nx = input() : f32[N]\nr = relu(x)\ny = output(r)"))

    @rule
    def pack(x):
        yield op.relu(x)
        return known(x)

    made = rewrite(Graph.parse("graph g\nx = input() : f32[3]\nr = relu(x)\ny = output(r)"), pack)
    assert made.operands("y")[0].node == "block_1"
    verify(made)
    assert evaluate(made, {"x": [-1, 0, 1]})["y"].tolist() == [0, 0, 1]


def test_the_view_of_a_node_knows_the_names_of_the_inputs() -> None:
    graph = using(block(), X, X)
    node = graph.node("block_1")
    assert (node.x.node, node.y.node, node.type) == ("in_0", "in_1", "block")
    assert [str(kind) for kind in node.result] == ["f32[N,4]", "f32[N,4]"]


def test_what_becomes_of_the_graph_shows() -> None:
    body = Graph.parse("graph block\nx = input() : f32[N]\nr = relu(x)\ny = output(r)")
    graph = using(body, Tensor("f32", (2,)))
    body.nodes["r"]["type"] = "neg"
    assert evaluate(graph, {"in_0": [1, -1]})["out_0"].tolist() == [-1, 1]
    body.nodes["x"]["result"] = Tensor("f32", (3,))
    with pytest.raises(VerificationError, match=re.escape("its input 'x' is f32[3], got f32[2]")):
        verify(graph)
    body.output("z", body.value("r"))
    assert nested_ops(graph)[0].results == 2


def test_a_state_inside_is_a_state_outside() -> None:
    @define_op(stateful=True)
    def noise(x):
        """Whatever."""
        return x

    inner, outer = Graph("inner"), Graph("outer")
    inner.output("y", noise(inner.input("x", X)))
    outer.output("y", graph_op(inner)(outer.input("x", X)))
    assert graph_op(outer).stateful
    assert not graph_op(block()).stateful
    assert graph_op(block()).level == "nn"


# ---------------------------------------------------------------------- graphs that contain themselves


def test_a_graph_cannot_be_put_into_itself() -> None:
    graph = Graph("g")
    graph.output("y", graph.input("x", X))
    before = graph.copy()
    with pytest.raises(GraphError, match="would contain itself: g -> g"):
        graph_op(graph)(graph.value("x"))
    with pytest.raises(GraphError, match="would contain itself: g -> g"):
        graph.add(graph_op(graph), [np.zeros((1, 4), np.float32)])
    assert graph == before


def test_a_graph_cannot_be_put_into_one_that_it_contains() -> None:
    a, b, c = Graph("a"), Graph("b"), Graph("c")
    a.output("y", a.input("x", X))
    b.output("y", graph_op(a)(b.input("x", X)))
    c.output("y", graph_op(b)(c.input("x", X)))
    with pytest.raises(GraphError, match="'a' would contain itself: a -> c -> b -> a"):
        graph_op(c)(a.value("x"))


def cyclic() -> Graph:
    """A graph that came to contain itself by hand."""
    a, b = Graph("a"), Graph("b")
    a.output("y", a.input("x", X))
    b.output("y", graph_op(a)(b.input("x", X)))
    a.ops["b"] = graph_op(b)
    a.add_node("again", type="b", result=X, origin=())
    a.add_edge("x", "again", slots=((0, 0),))
    a.output("z", a.value("again"))
    return b


def test_a_cycle_that_came_about_otherwise_is_found_and_never_followed() -> None:
    graph = cyclic()
    for attempt in (
        lambda: check_nesting(graph),
        lambda: flatten(graph),
        lambda: evaluate(graph, {"x": np.zeros((1, 4), np.float32)}),
        lambda: graph_op(graph)(np.zeros((1, 4), np.float32)),
    ):
        with pytest.raises(GraphRewriteError, match=r"contain itself: (a -> b -> a|b -> a -> b)"):
            attempt()
    assert not graph_op(graph).stateful
    assert graph_op(graph).infer(X) == (X,)


def test_deep_nesting_needs_no_deep_stack() -> None:
    inner = Graph("level_0")
    inner.output("y", op.relu(inner.input("x", X)))
    for depth in range(1, 600):
        outer = Graph(f"level_{depth}")
        made = outer.input("x", X)
        outer.add_node("inner", type=inner.name, result=X, origin=())
        outer.ops[inner.name] = graph_op(inner)
        outer.add_edge("x", "inner", slots=((0, 0),))
        outer.output("y", outer.value("inner"))
        inner = outer
    assert made.type == X
    check_nesting(inner)
    assert not graph_op(inner).stateful
    found = evaluate(inner, {"x": [[-1, 2, -3, 4]]})["y"]
    assert found.tolist() == [[0, 2, 0, 4]]


# ---------------------------------------------------------------------- names, copies


@pytest.mark.parametrize("name", ["", "relu", "input"])
def test_a_graph_without_a_name_of_its_own_is_no_op(name: str) -> None:
    with pytest.raises(GraphError, match="rename the graph"):
        graph_op(Graph(name))


def test_a_graph_that_is_not_there() -> None:
    with pytest.raises(UnknownGraphError, match=r"no graph 'blok'.*did you mean 'block'"):
        GraphOp("blok", {"block": block()})


def test_two_graphs_of_one_name_are_not_confused() -> None:
    graph = using(block(), X, X)
    other = block()
    other.nodes["mul_1"]["type"] = "add"
    before = graph.copy()
    with pytest.raises(GraphError, match="has another op named 'block'"):
        graph_op(other)(graph.value("in_0"), graph.value("in_1"))
    assert graph == before
    graph_op(block())(graph.value("in_0"), graph.value("in_1"))  # an equal one is the same


def test_an_op_that_is_generic_inside_is_refused_when_it_computes() -> None:
    body = Graph("block")
    body.output("y", generic("Swirl")(body.input("x", X)))
    graph = using(body, X)
    with pytest.raises(UnknownOpError, match="in the graph 'block': unknown ops: Swirl"):
        evaluate(graph, {"in_0": np.zeros((1, 4))})


@pytest.mark.parametrize("copied", [copy.copy, copy.deepcopy, Graph.copy, lambda g: pickle.loads(pickle.dumps(g))])
def test_copies(copied) -> None:
    graph = using(using(block(), X, X), X, X)
    graph.name = "outer"
    made = copied(graph)
    assert made == graph
    verify(made)
    x = np.float32([[1, -1, 2, -2]])
    before = evaluate(graph, {"in_0": x, "in_1": x})
    assert np.array_equal(before["out_0"], evaluate(made, {"in_0": x, "in_1": x})["out_0"])
    body = nested_ops(made)[0].body
    is_own = copied in (copy.copy, Graph.copy)
    assert (body is nested_ops(graph)[0].body) == is_own


@given(data=st.data())
def test_any_graph_is_an_op_that_gives_what_the_graph_gives(data: st.DataObject) -> None:
    body = data.draw(graphs().filter(lambda graph: graph.inputs))  # without one, calling it computes it
    body.name = "body"
    outer = Graph("outer", ops=body.ops.values())
    made = graph_op(body)(*[outer.input(name, body.result_type(name)) for name in body.inputs])
    for name, value in zip(body.outputs, made if isinstance(made, tuple) else (made,), strict=True):
        outer.output(name, value)
    verify(outer)
    inputs = data.draw(inputs_for(body))
    flat = flatten(outer)
    with np.errstate(all="ignore"):
        wanted, found, again = (evaluate(graph, inputs) for graph in (body, outer, flat))
    assert all(found[name].tobytes() == wanted[name].tobytes() for name in wanted)
    verify(flat)
    assert not nested_ops(flat)
    assert all(again[name].tobytes() == wanted[name].tobytes() for name in wanted)


@pytest.mark.parametrize("thing", [3, None, "block"])
def test_what_is_no_graph_is_no_op(thing):
    with pytest.raises(GraphError, match=r"only a Graph can be an op, got"):
        graph_op(thing)
