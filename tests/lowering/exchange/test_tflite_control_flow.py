"""Branches and loops of TensorFlow Lite become one op each, or are written out; values are those of further cases."""

from __future__ import annotations

import numpy as np
import pytest

from graphrewrite import GraphRewriteError, evaluate
from graphrewrite.lowering import from_tflite
from graphrewrite.lowering.exchange.tflite import importer
from tests.support.tflite_files import Node, Part, T, model
from tests.support.tflite_state_cases import branch, loop
from tests.support.tflite_tensors import f

RNG = np.random.default_rng(0)


def test_a_branch_and_a_loop_are_one_op() -> None:
    (chosen, _), (repeated, inputs) = branch(RNG), loop(RNG)
    assert [d["type"] for _, d in from_tflite(chosen).nodes(data=True)].count("cond") == 1
    graph = from_tflite(repeated)
    assert [d["type"] for _, d in graph.nodes(data=True)].count("loop") == 1
    x = inputs["x"]
    for first in range(5):
        expected = x * np.float32(0.5 ** max(3 - first, 0))
        np.testing.assert_array_equal(evaluate(graph, {"i": np.int32(first), "x": x})["y"], expected)


def test_a_loop_whose_sizes_depend_on_the_step_is_written_out() -> None:
    graph = from_tflite(loop(RNG, by_step=True)[0])
    assert "loop" not in {d["type"] for _, d in graph.nodes(data=True)}
    found = evaluate(graph, {"x": np.ones((4, 2), np.float32)})["y"]
    np.testing.assert_array_equal(found[:, 0], [0.25, 0.5, 1, 1])  # rows before the step are halved


def called(*targets: int, second: tuple[int, int] = (2, 2), kind: str = "CUSTOM 'Own'") -> bytes:
    """A branch, and subgraphs of which the first runs others."""
    x, c, y = f("x", (2,)), T("c", (), "bool"), f("y", (2,))
    options = dict(zip(("then_subgraph_index", "else_subgraph_index"), second, strict=True))
    outer: Part = ([c, x, y], [Node("IF", ["c", "x"], ["y"], options)], ["c", "x"], ["y"])
    inner: Part = ([c, x, y], [Node(kind, ["c", "x"], ["y"])], ["c", "x"], ["y"])
    node = Node("IF", ["c", "c", "x"], ["y"], dict(zip(options, targets, strict=True)))
    return model([c, x, y], [node], ["c", "x"], ["y"], subgraphs=[outer, inner])


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (called(1, 9), "it runs subgraph 9 of 3"),
        (called(1, 0), "it runs subgraph 0 of 3"),
        (called(1, 1, second=(1, 2)), "subgraph 1 runs itself"),
        (called(1, 1), r"'y' \(CUSTOM 'Own'\): the library has no entry"),
        (called(1, 1, second=(2, 2), kind="CALL_ONCE"), "variables inside of branches and loops are not supported"),
        (called(1, 2, kind="LESS"), r"'y' \(IF\): .*a value is passed|IF"),
    ],
    ids=range(6),
)
def test_what_is_wrong_is_named(data: bytes, message: str) -> None:
    with pytest.raises(GraphRewriteError, match=message):
        from_tflite(data)


def test_subgraphs_that_run_others_again_and_again_are_not_all_written_out() -> None:
    x, c, y = f("x", (2,)), T("c", (), "bool"), f("y", (2,))
    parts: list[Part] = []
    for at in range(29):
        options = {"then_subgraph_index": at + 1, "else_subgraph_index": at + 1}
        parts.append(([c, x, y], [Node("IF", ["c", "c", "x"], ["y"], options)], ["c", "x"], ["y"]))
    parts.append(([c, x, y], [Node("RELU", ["x"], ["y"])], ["c", "x"], ["y"]))
    with pytest.raises(GraphRewriteError, match=r"nested in each other more than 8 times"):
        from_tflite(model(*parts[0], subgraphs=parts[1:]))


def test_a_loop_of_many_steps_is_not_written_out(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(importer, "_MOST_RUN", 20)
    with pytest.raises(GraphRewriteError, match=r"more than 20 operators, written out"):
        from_tflite(loop(RNG, by_step=True)[0])
