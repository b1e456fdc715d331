"""Effects: they stay, in one order, through rewriting, nesting and formats; the kit refutes rules that change them."""

from __future__ import annotations

import copy
import json
import pickle
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from graphrewrite import FixedPoint, Graph, Tensor, define_op, evaluate, evaluation, op, rewrite, rule, verify
from graphrewrite.errors import EvaluationError, VerificationError
from graphrewrite.formats import from_dict, to_dict
from graphrewrite.hierarchy import compose, flatten, graph_op
from graphrewrite.rules import FOLDING, RULES, eliminate_dead_nodes, inline, outline_nodes, unroll_loops
from graphrewrite.testing import check, prove


@define_op(effects=True)
def write(x: np.ndarray, *, label: str = "") -> np.ndarray:
    """The operand, which is written to a log."""
    return x


@define_op(stateful=True)
def noise(x: np.ndarray) -> np.ndarray:
    """The operand; it has a state, and no effect."""
    return x


INPUTS = {"x": np.float32([[1, -2, 3], [-4, 5, 0], [7, 0, 9]]), "c": np.int64([0])}


def trace(graph: Graph) -> list[str]:
    """Return the effects of a graph, as text."""
    verify(graph)
    return list(map(str, evaluation(graph, {name: INPUTS[name] for name in graph.inputs}).effects))


def _random(random: Any, name: str = "random", *, deep: bool = True) -> Graph:
    """Return a graph of logs, read or not, of nested graphs with logs, and of ops for which there are rules."""
    graph = Graph(name, ops=[write])
    values = [graph.input("x", Tensor("f32", (3, 3)))]
    for index in range(random.randint(2, 8)):
        x = random.choice(values)
        makers = [
            lambda x: write(x, label=str(index)),  # noqa: B023  # called at once
            write,
            lambda x: op.clip(op.clip(x, low=-3.0), high=5.0),
            lambda x: op.transpose(op.transpose(x, perm=(1, 0)), perm=(1, 0)),
            lambda x: op.mul(x, np.float32(random.randint(1, 2))),
            lambda x: write(graph.constant(np.float32([1, 2]))),
            lambda x: op.sub(x, np.float32(2)),
        ]
        if deep:
            bodies = [_random(random, f"nested_{index}_{i}", deep=False) for i in range(2)]
            condition = np.bool_(random.choice([True, False]))
            makers.append(lambda x: op.cond(condition, x, then=bodies[0], otherwise=bodies[1]))  # noqa: B023
            makers.append(graph_op(bodies[0]))
        value = random.choice(makers)(x)
        if value.type == values[0].type:
            values.append(value)
    graph.output("y", random.choice(values))
    return graph


@given(st.randoms(use_true_random=False))
def test_rewriting_keeps_effects(random: Any) -> None:
    """What happens, with what and in which order is the same after the rules, inlining, and all copies and formats."""
    graph = _random(random)
    wanted = trace(graph)
    for result in (
        rewrite(graph, RULES + FOLDING, verify=True),
        rewrite(graph, (inline, *RULES), verify=True),
        flatten(graph),
        from_dict(json.loads(json.dumps(to_dict(graph))), ops=[write]),
        pickle.loads(pickle.dumps(copy.deepcopy(graph))),
    ):
        assert trace(result) == wanted


def test_effects_are_alive_and_states_are_not() -> None:
    graph = Graph.parse(
        "graph g\nx = input() : f32[N]\nn = noise(x)\na = neg(x)\nb = write(a)\nc = write(x)\ny = output(x)",
        ops=[write, noise],
    )
    assert graph.effects == ("b", "c")
    assert graph.controls("c") == (("b", "effect"),)
    assert graph.dead_nodes() == {"n"}
    assert set(eliminate_dead_nodes(graph)) == {"x", "a", "b", "c", "y"}
    assert Graph.parse(str(graph), ops=[write, noise]) == graph


def test_loops_with_effects_are_unrolled_in_their_place() -> None:
    graph = Graph("g", ops=[write])
    x = graph.input("x", Tensor("f32", (3, 3)))
    write(x, label="before")
    looped = op.loop(np.int64(3), np.bool_(True), x, body=_loop_body())
    write(x, label="after")
    graph.output("y", looped)
    wanted = trace(graph)
    assert [line.rpartition("label=")[2] for line in wanted] == ["'before')", *["'inside')"] * 3, "'after')"]
    result = rewrite(graph, (unroll_loops, *RULES), verify=True)
    assert trace(result) == wanted
    assert all(data["type"] != "loop" for _, data in result.nodes(data=True))


def _loop_body() -> Graph:
    """Return a body that takes its index and its state."""
    body = Graph("body", ops=[write])
    body.input("i", Tensor("i64", ()))
    state = body.input("state", Tensor("f32", (3, 3)))
    body.output("go_on", body.constant(np.bool_(True)))
    body.output("next", write(state + state, label="inside"))
    return body


# ---------------------------------------------------------------------- rules


@rule
def keep(x, label):  # type: ignore[no-untyped-def]
    """A log is negated twice for nothing."""
    yield op.neg(op.neg(write(x, label=label)))
    return write(x, label=label)


@rule
def drop(x):  # type: ignore[no-untyped-def]
    """A log is dropped."""
    yield op.relu(write(x))
    return op.relu(x)


@rule
def repeat(x):  # type: ignore[no-untyped-def]
    """A log is written twice."""
    yield op.relu(write(x))
    write(x)
    return op.maximum(write(x), np.float32(0))


@rule
def swap(x, y):  # type: ignore[no-untyped-def]
    """Two logs change places."""
    yield op.add(write(x, label="a"), write(y, label="b"))
    second, first = write(y, label="b"), write(x, label="a")
    return op.sub(first, op.neg(second))


@rule
def later(x):  # type: ignore[no-untyped-def]
    """Something else is logged."""
    yield op.relu(write(x))
    return write(op.relu(x))


def test_the_kit_compares_effects() -> None:
    assert check(keep, seed=1).verdict == "preserved"
    for wrong in (drop, repeat, swap):
        report = check(wrong, seed=1)
        assert report.verdict == "refuted", wrong
        assert "effect" in str(report.counterexample)
    assert prove(drop).verdict == "refuted"


def _logs() -> Graph:
    graph = Graph("g", ops=[write])
    x = graph.input("x", Tensor("f32", (3, 3)))
    write(x, label="a")
    r = op.relu(write(op.neg(x)))
    write(r, label="c")
    graph.output("y", r)
    return graph


def test_new_effects_take_the_place_of_those_that_go() -> None:
    result = rewrite(_logs(), later, once=True, verify=True)
    assert [result.nodes[n].get("label", "") for n in result.effects] == ["a", "", "c"]
    result = rewrite(_logs(), drop, verify=True)
    assert [result.nodes[n]["label"] for n in result.effects] == ["a", "c"]


def test_new_effects_come_before_those_that_depend_on_them() -> None:
    @rule
    def probe(x):  # type: ignore[no-untyped-def]
        """What is negated is logged."""
        yield op.neg(x)
        return op.mul(write(x, label="new"), np.float32(-1))

    result = rewrite(_logs(), probe, verify=True)
    assert [result.nodes[n].get("label", "") for n in result.effects] == ["a", "new", "", "c"]


def test_an_effect_does_not_move_past_another() -> None:
    """Two logs with another one between are not merged; a reason says so."""

    @rule
    def merge(x, y):  # type: ignore[no-untyped-def]
        """Two logs are one."""
        yield op.add(write(x, label="a"), write(y, label="c"))
        return write(op.add(x, y))

    graph = Graph("g", ops=[write])
    x = graph.input("x", Tensor("f32", (3, 3)))
    a = write(x, label="a")
    write(x, label="b")
    graph.output("y", a + write(-x, label="c"))
    assert merge(graph) == graph
    assert "would move past that of 'write_2'" in str(merge.explain(graph, at="add_1"))
    graph.remove_node("write_2")
    with pytest.raises(VerificationError, match="nothing says which comes first"):
        verify(graph)
    graph.add_control("write_1", "write_3", kind="effect")
    assert len(verified(merge(graph)).effects) == 1


def verified(graph: Graph) -> Graph:
    """Return a graph that is sound."""
    verify(graph)
    return graph


def test_effects_of_graphs_that_are_put_together() -> None:
    first, second = _logs(), _logs()
    composed = compose(first, second)
    assert [composed.nodes[n].get("label", "") for n in verified(composed).effects] == ["a", "", "c"] * 2
    outlined, _ = outline_nodes(first, ["write_2", "relu_1", "write_3"], name="part")
    assert trace(outlined) == trace(first)
    assert verified(outlined).effects == ("write_1", "part_1")
    assert evaluate(outlined, {"x": INPUTS["x"]})["y"].tolist() == evaluate(first, {"x": INPUTS["x"]})["y"].tolist()


@pytest.mark.parametrize("results", [0, 1])
def test_a_function_that_returns_nothing(results: int) -> None:
    """It is an effect, whose node stays; a value that it should have given is an error where something reads it."""
    seen: list[int] = []

    @define_op(effects=True, results=results)
    def see(x: np.ndarray) -> None:
        seen.append(len(x))

    graph = Graph("g", ops=[see])
    x = graph.input("x", Tensor("f32", ("N", 3)))
    value = see(x)
    graph.output("y", op.relu(x))
    verify(graph)
    for each in (
        graph,
        Graph.parse(str(graph), ops=[see]),
        from_dict(to_dict(graph), ops=[see]),
        rewrite(graph, RULES),
    ):
        assert each == graph
        assert evaluate(each, np.ones((2, 3), np.float32))["y"].shape == (2, 3)
        assert len(evaluation(each, {"x": np.ones((2, 3), np.float32)}).effects) == 1
    assert seen == [2] * 8
    if results:
        graph.output("z", op.relu(value))
        with pytest.raises(EvaluationError, match="'see_1': the function of see returned nothing; return its result"):
            evaluate(graph, np.ones((2, 3), np.float32))
    else:
        assert value == ()
        see(graph.input("m", Tensor(FixedPoint(True, 8), ("N",))))  # it computes nothing, with anything
