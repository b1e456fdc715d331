"""Graphs with state over sequences: each output in each cycle is what delays of whole sequences say."""

from __future__ import annotations

from functools import partial

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from graphrewrite import FixedPoint, Graph, Tensor, define_op, op
from graphrewrite.errors import EvaluationError, TypeMismatchError
from graphrewrite.execution import evaluate_sequence
from graphrewrite.hierarchy.graph_ops import graph_op


@define_op(level="structure", step=lambda state, x: ((x if state is None else state + x),) * 2)
def running_sum(x):
    """All operands until now."""
    raise EvaluationError("its values are those of cycles")


def delayed(sequence: np.ndarray, cycles: int, initial: float) -> np.ndarray:
    first = np.full((min(cycles, len(sequence)), *sequence.shape[1:]), initial, sequence.dtype)
    return np.concatenate([first, sequence[: len(sequence) - len(first)]])


@given(st.data())
def test_nodes_with_state_shift_sequences(data: st.DataObject):
    graph = Graph("g", ops=[running_sum])
    x = graph.input("x", Tensor("f64", ("N", 2)))
    frames = np.array(data.draw(st.lists(st.tuples(st.integers(-4, 4), st.integers(-4, 4)), min_size=1, max_size=5)))
    cycles = data.draw(st.integers(1, 12))
    known = [(x, frames[np.arange(cycles) % len(frames)].astype(float))]
    for _ in range(data.draw(st.integers(1, 5))):
        value, sequence = data.draw(st.sampled_from(known))
        other, added = data.draw(st.sampled_from(known))
        many, initial = data.draw(st.integers(1, 4)), data.draw(st.integers(-2, 2))
        known.append(
            data.draw(
                st.sampled_from(
                    [
                        (op.delay(value, cycles=many, initial=initial), delayed(sequence, many, initial)),
                        (op.register(value, initial=initial), delayed(sequence, 1, initial)),
                        (running_sum(value), np.cumsum(sequence, axis=0)),
                        (op.relu(op.add(value, other)), np.maximum(sequence + added, 0)),
                    ]
                )
            )
        )
    for number, (value, _) in enumerate(known):
        graph.output(f"y{number}", value)
    found = evaluate_sequence(graph, {"x": frames}, cycles=cycles)
    for number, (_, sequence) in enumerate(known):
        assert found[f"y{number}"].tolist() == sequence[:, None].tolist()


def test_counters_wrap_and_constants_are_delayed():
    lines = (
        "c = counter(element=s3f0)",
        "k = constant(value=7)",
        "d = delay(k, cycles=2)",
        "y = output(c)",
        "z = output(d)",
    )
    found = evaluate_sequence(Graph.parse("\n".join(["graph g", *lines])), {}, cycles=6)
    assert found["y"].tolist() == [0, 1, 2, 3, -4, -3]
    assert found["z"].tolist() == [0, 0, 7, 7, 7, 7]


def test_each_use_of_a_nested_graph_has_its_own_state():
    inner = Graph.parse("graph inner\nx = input() : f32[N]\nr = register(x)\ny = output(r)")
    graph = Graph.parse("graph g\nx = input() : f32[N]")
    graph.output("y", graph_op(inner)(graph_op(inner)(graph.value("x"))))
    assert evaluate_sequence(graph, [1, 2, 3, 4])["y"].ravel().tolist() == [0, 0, 1, 2]


def test_every_sequence_begins_in_the_initial_state():
    graph = Graph.parse("graph g\nx = input() : f32[N]\nr = register(x, initial=5.0)\ny = output(r)")
    for _ in range(2):
        assert evaluate_sequence(graph, {"x": [1, 2]})["y"].tolist() == [[5], [1]]
    with pytest.raises(EvaluationError, match="no frame"):
        evaluate_sequence(graph, {"x": []})
    with pytest.raises(EvaluationError, match="evaluate_sequence"):
        graph.evaluate([1.0])


@pytest.mark.parametrize("state", [op.register, partial(op.delay, cycles=2)], ids=["register", "delay"])
def test_an_initial_value_is_one_of_its_element_type(state):
    x = Graph("g").input("x", Tensor(FixedPoint(False, 1), ()))
    assert state(x, initial=1).type == x.type
    with pytest.raises(TypeMismatchError, match="u1f0 has no number -1 to begin with"):
        state(x, initial=-1)
