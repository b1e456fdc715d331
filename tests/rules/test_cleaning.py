"""Whole-graph clean-up where nodes are marked."""

from __future__ import annotations

import tracemalloc

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from graphrewrite import Graph, Tensor, define_op, evaluate, op, verify
from graphrewrite.rules import eliminate_independent_nodes, merge_equal_nodes

F = Tensor("f32", ("N", 2))


def test_equal_nodes_in_different_places_are_not_merged():
    graph = Graph("g")
    x = graph.input("x", F)
    graph.output("y", op.relu(x) + op.relu(x) + op.relu(x))
    graph.nodes["relu_1"]["backend"] = graph.nodes["relu_3"]["backend"] = "dsp"
    made = merge_equal_nodes(graph)
    assert {n: made.nodes[n].get("backend") for n in made if made.nodes[n]["type"] == "relu"} == {
        "relu_1": "dsp",
        "relu_2": None,
    }


def test_unknown_sizes_of_equal_nodes_are_one_size():
    graph = Graph.parse("""graph g
        x = input() : f32[N]
        which = input() : bool[N]
        one = compress(x, which) : f32[?1]
        other = compress(x, which) : f32[?2]
        a = relu(one) : f32[?1]
        b = neg(other) : f32[?2]
        c = reshape(b, shape=["?2", 1]) : f32[?2,1]
        y = output(a)
        z = output(c)""")
    made = merge_equal_nodes(graph)
    verify(made)
    assert "other" not in made
    assert str(made.result_type("c")) == "f32[?1,1]"
    assert made.nodes["c"]["shape"] == ("?1", 1)


def test_a_value_that_goes_to_two_places_goes_twice():
    graph = Graph("g")
    x = graph.input("x", F)
    graph.output("y", op.transfer(x, backend="dsp"))
    graph.output("z", op.transfer(x, backend="gpu"))
    graph.output("w", op.transfer(x, backend="gpu"))
    made = merge_equal_nodes(graph)
    assert [made.attributes(o.node)["backend"] for out in made.outputs for o in made.operands(out)] == [
        "dsp",
        "gpu",
        "gpu",
    ]
    assert sum(made.nodes[n]["type"] == "transfer" for n in made) == 2


def test_what_has_sizes_of_inputs_is_not_computed_once_and_for_all():
    graph = Graph("g")
    x = graph.input("x", F)
    token = op.neg(graph.constant(np.float32([[1, 2]])))
    graph.output("y", op.concat(op.expand(token, shape=("N", 2)), x, axis=1))
    made = eliminate_independent_nodes(graph)
    assert [made.nodes[n]["type"] for n in made.in_order()] == ["input", "constant", "expand", "concat", "output"]
    assert evaluate(made, {"x": [[3, 4]] * 2})["y"].tolist() == [[-1, -2, 3, 4]] * 2


@given(st.lists(st.tuples(st.integers(0, 9), st.sampled_from([0.0, -0.0, 1.0])), max_size=8))
@settings(max_examples=20)
def test_constants_are_merged_if_and_only_if_all_their_bits_are_equal(entries):
    arrays = [np.where(np.arange(10) == place, np.float32(value), np.float32(2)) for place, value in entries]
    graph = Graph("g")
    for i, array in enumerate(arrays):
        graph.output(f"y{i}", op.relu(graph.constant(array)))
    made = merge_equal_nodes(graph)
    assert len(made) - len(arrays) == 2 * len({array.tobytes() for array in arrays})
    assert evaluate(made, {}).keys() == set(made.outputs)


def test_weights_and_buffers_of_the_same_numbers_stay_apart():
    graph = Graph("g")
    for i, buffer in enumerate((False, True, False, True)):
        value = graph.constant(np.ones(3, np.float32))
        if buffer:
            graph.nodes[value.node]["trainable"] = False
        graph.output(f"y{i}", op.relu(value))
    made = merge_equal_nodes(graph)
    flags = [made.nodes[n].get("trainable", True) for n in made if made.nodes[n]["type"] == "constant"]
    assert sorted(flags) == [False, True]


def test_every_result_of_constants_is_computed():
    graph = Graph("parts")
    x = graph.input("x", Tensor("f32", ("N", 2)))
    constant = graph.constant(np.arange(5, dtype=np.float32))
    first, _, last = op.split(constant, axis=0, sizes=(2, 1, 2))
    values, places = op.top_k(constant, k=2)
    graph.output("y", op.mul(op.add(x, first), op.sub(last, values)))
    graph.output("z", places)
    after = eliminate_independent_nodes(graph)
    kinds = [after.nodes[node]["type"] for node in after if after.op(node).name not in ("input", "output")]
    assert sorted(kinds) == ["add", "constant", "constant", "constant", "mul"]
    inputs = {"x": np.ones((3, 2), np.float32)}
    before, found = evaluate(graph, inputs), evaluate(after, inputs)
    assert all(np.array_equal(found[name], before[name]) for name in before)


def test_what_is_computed_is_not_copied():
    graph = Graph.parse("""
        graph large
        x = input() : f32[N,262144]
        many = constant_of_shape(shape=(262144,), value=0.5) : f32[262144]
        sum = add(x, many)
        y = output(sum)
    """)
    tracemalloc.start()
    after = eliminate_independent_nodes(graph)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    (value,) = (data["value"] for _, data in after.nodes(data=True) if data["type"] == "constant")
    assert value.nbytes <= peak < 1.5 * value.nbytes
    assert not value.flags.writeable


def test_an_array_that_a_function_keeps_stays_its_own():
    kept = np.zeros(2, np.float32)

    @define_op(infer=lambda: Tensor("f32", (2,)))
    def given():
        return kept

    text = "graph kept\nx = input() : f32[N,2]\na = given()\nb = identity(a)\nc = add(x, b)\ny = output(c)"
    graph = Graph.parse(text, ops=[given])
    after = eliminate_independent_nodes(graph)
    kept += 1
    assert evaluate(after, {"x": np.zeros((1, 2), np.float32)})["y"].tolist() == [[0, 0]]


def test_equal_nodes_may_have_their_operands_in_another_order():
    graph = Graph.parse("""
        graph equal
        x = input() : f32[N]
        z = input() : f32[N]
        a = add(x, z)
        b = add(z, x)
        c = maximum(x, z)
        d = maximum(z, x)
        e = sub(a, b)
        f = sub(c, d)
        y = output(e)
        w = output(f)
    """)
    after = merge_equal_nodes(graph)
    assert {"b"} == set(graph) - set(after)  # which of 0 and -0 is the greater, the order decides


def test_order_goes_past_what_is_computed_once():
    graph = Graph.parse(
        """graph g
        x = input() : f32[N]
        a = relu(x)
        c = constant(^a, value=[1.0]) : f32[1]
        s = neg(c)
        b = exp(x, ^c, ^s)
        y = output(a)
        z = output(b)
        t = output(s)"""
    )
    after = eliminate_independent_nodes(graph)
    assert not {"s", "c"} & set(after)
    assert after.controls("b") == (("a", "control"),)


def test_a_repetition_that_no_memory_holds_is_kept():
    graph = Graph.parse("""graph g
        x = input() : f32[]
        c = constant(value=[1.0, 2.0]) : f32[2]
        t = tile(c, repeats=[100000000000]) : f32[200000000000]
        s = reduce_sum(t, keep_dims=False) : f32[]
        a = add(x, s)
        y = output(a)""")
    assert eliminate_independent_nodes(graph) == graph
