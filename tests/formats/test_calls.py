"""Lists of ordered calls say all that graphs compute."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import assume, given, settings

from graphrewrite import Graph, Tensor, op
from graphrewrite.errors import SerialError
from graphrewrite.formats import CallList, from_calls, to_calls
from graphrewrite.testing import graphs


def again(calls, **others):
    """What is read where calls are printed."""
    return from_calls(CallList.parse(str(calls), name=calls.name, arrays=calls.arrays, bodies=calls.bodies), **others)


@given(graphs())
@settings(max_examples=30)
def test_a_graph_is_its_calls(graph):
    text = str(graph)
    assume(not any(mark in text for mark in (" = ?", "^", "?")))  # generic nodes, order beside data, unknown sizes
    read = again(to_calls(graph), ops=graph.ops.values())
    for node in graph:
        for key in [*graph.annotations(node)]:
            del graph.nodes[node][key]
    assert read == graph


def test_several_results_constants_and_branches():
    graph = Graph("g")
    x = graph.input("x", Tensor("f32", (2, 4)))
    left, right = op.split(x, sizes=(2, 2), axis=1)
    chosen = op.cond(
        op.greater(op.reduce_sum(x, keep_dims=False), np.float32(0)), left, right, then=_add(), otherwise=_sub()
    )
    graph.output("y", op.mul(chosen, np.float32([[1, 2], [3, 4]])))
    calls = to_calls(graph)
    assert [call.values["outputs"] for call in calls.calls if call.op == "split"] == [("split_1", "split_1:1")]
    read = again(calls)
    assert read == graph
    data = np.arange(8, dtype=np.float32).reshape(2, 4)
    assert np.array_equal(read(data), graph(data))


def _add():
    return Graph.parse("graph a\nx = input() : f32[2,2]\ny = input() : f32[2,2]\nz = add(x, y)\no = output(z)")


def _sub():
    return Graph.parse("graph s\nx = input() : f32[2,2]\ny = input() : f32[2,2]\nz = sub(x, y)\no = output(z)")


def test_lines_that_are_left_out():
    text = '# net\n\ninput(outputs=("x",), types=("f32[2]",))\n  # end\noutput(inputs=("x",), outputs=("y",))'
    assert str(from_calls(CallList.parse(text, name="g"))) == "graph g\nx = input() : f32[2]\ny = output(x)"


@pytest.mark.parametrize(
    ("line", "told"),
    [
        ('relu(inputs=("x",), outputs=("y",)', "line 2: character"),
        ('relo(inputs=("x",), outputs=("y",))', "call 2: relo: there is no such op"),
        ('relu(inputs=("z",), outputs=("y",))', "no call before it gives 'z'"),
        ('relu(inputs=("x",))', "names no outputs"),
        ('relu(inputs=("x", "x"), outputs=("y",))', "relu"),
        ('relu(inputs=("x",), outputs=("x",))', "x"),
        ('relu(inputs=(1,), outputs=("y",))', "named by texts"),
        ('split(inputs=("x",), outputs=("y",), integers=(0, 1, 1))', "2 results, and 1 names"),
        ('relu(inputs=("x",), outputs=("y",), integers=(1,))', "relu has no integers"),
        ('constant(outputs=("c",), types=("f32[1]",))', "no array 'c'"),
        ('constant(outputs=("c",))', "types"),
        ('constant(outputs=("c",), types=("f3[1]",))', "f3"),
    ],
)
def test_calls_that_are_wrong(line, told):
    with pytest.raises(SerialError) as caught:
        from_calls(CallList.parse(f'input(outputs=("x",), types=("f32[2]",))\n{line}\n'))
    assert told in str(caught.value)


def test_generic_nodes_have_no_descriptor():
    graph = Graph("g")
    x = graph.input("x", Tensor("f32", (2,)))
    graph.output("y", graph.add(op.generic("acme.Swirl"), [x], {"result": x.type}))
    with pytest.raises(SerialError, match="Swirl' is generic"):
        to_calls(graph)
