"""What an output is decides how its levels are compared."""

from __future__ import annotations

import json

import numpy as np
import pytest

from graphrewrite import Graph
from graphrewrite.lowering import QuantisationError
from graphrewrite.lowering.quantisation.agreement import Reference

VECTOR = np.eye(3)[[0, 1, 2, 0]] + 0.25


def through(ops: str, shape: str = "N,3") -> Graph:
    """A network that is the last ops of one: `ops` reads x, and gives r."""
    return Graph.parse(f"graph g\nx = input() : f64[{shape}]\n{ops}\ny = output(r)")


def kind(ops: str, x: np.ndarray, labels: object = None) -> str:
    shape = ",".join(["N", *map(str, x.shape[1:])])
    return Reference(through(ops, shape), {"x": x}, labels).kinds["y"]


@pytest.mark.parametrize(
    ("ops", "x", "labels", "wanted"),
    [
        ("r = softmax(x)", VECTOR, None, "classes"),
        ("s = softmax(x)\nr = unsqueeze(s, axes=(2,))", VECTOR, None, "classes"),
        ("r = softmax(x, axis=1)", np.zeros((2, 4, 3, 3)), None, "classes"),
        ("r = arg_max(x)", VECTOR, None, "classes"),
        ('a = arg_max(x)\nr = cast(a, element="f32")', VECTOR, None, "classes"),
        ("r = slice(x, starts=(0,), ends=(2,), axes=(1,))", VECTOR, None, "classes"),
        ("r = relu(x)", VECTOR, None, "numbers"),  # as long as the input, as an autoencoder's is
        ("r = relu(x)", VECTOR, [0, 1, 2, 0], "classes"),
        ("r = relu(x)", VECTOR, [[0], [1], [2], [0]], "classes"),
        ("r = relu(x)", VECTOR, np.eye(3)[[0, 1, 2, 0]], "classes"),
        ("r = relu(x)", VECTOR, [[0, 1, 1], [0, 0, 0], [1, 1, 1], [1, 0, 0]], "decisions"),
        ("r = relu(x)", VECTOR, VECTOR + 0.3, "numbers"),
        ("r = sigmoid(x)", VECTOR, None, "numbers"),
        ("r = sigmoid(x)", VECTOR[:, :1], None, "decisions"),
        ("r = sigmoid(x)", VECTOR[:, :1], [0.5, 0.25, 0.5, 0.75], "numbers"),
        ("r = relu(x)", VECTOR[:, :1], None, "numbers"),
        ("r = relu(x)", VECTOR[:, :1], [0, 1, 1, 1], "decisions"),
        ("r = relu(x)", VECTOR[:, :1], [[-1], [1], [1], [-1]], "decisions"),
        ("r = relu(x)", VECTOR[:, :1], [151, 75, 141, 206], "numbers"),
        ("r = greater(x, x)", VECTOR[:, :1], None, "decisions"),
        ("r = relu(x)", np.zeros((2, 1, 4, 4)), None, "numbers"),
    ],
)
def test_kinds(ops: str, x: np.ndarray, labels: object, wanted: str) -> None:
    assert kind(ops, x, labels) == wanted


def test_one_sigmoid_decides_at_a_half_and_a_logit_at_zero() -> None:
    x, labels = np.array([[2.0], [0.3], [-0.3], [-1.0]]), [1, 1, 0, 0]
    for ops, moved in (("r = sigmoid(x)", [[0.9], [0.49], [0.3], [0.2]]), ("r = relu(x)", [[2], [0], [0], [0]])):
        (exact,) = (reference := Reference(through(ops, "N,1"), {"x": x}, labels)).agreement(reference.outputs)
        assert (exact.accuracy, exact.equal, exact.loss, exact.snr) == (1, 1, 0, np.inf)
        (row,) = reference.agreement({"y": np.array(moved)})
        assert (row.kind, row.accuracy, row.equal, row.loss) == ("decisions", 0.75, 0.75, 0.25)


@pytest.mark.parametrize(("low", "high", "right"), [(0.0, 1.0, 1), (0.0, 2.0, 0.75), (-1.0, 1.0, 0.75)])
def test_a_number_that_is_clipped_to_a_share_decides_at_a_half(low: float, high: float, right: float) -> None:
    reference = Reference(
        through(f"r = clip(x, low={low}, high={high})", "N,1"),
        {"x": np.array([[2], [0.6], [0.3], [-1]])},
        [1, 1, 0, 0],
    )
    (exact,) = reference.agreement(reference.outputs)
    assert (exact.kind, exact.accuracy) == ("decisions", right)


def test_labels_of_minus_one_and_one_mean_no_and_yes() -> None:
    reference = Reference(through("r = tanh(x)", "N,1"), {"x": [[2.0], [-0.3]]}, [1, -1])
    assert reference.agreement(reference.outputs)[0].accuracy == 1


@pytest.mark.parametrize("labels", [[1, 0, 2, 0], np.eye(3)[[1, 0, 2, 0]], np.eye(3)[[1, 0, 2, 0]] * 0.8 + 0.1])
@pytest.mark.parametrize("ops", ["r = softmax(x)", "r = arg_max(x)"])
def test_labels_of_classes_may_have_a_column_for_each(ops: str, labels: object) -> None:
    reference = Reference(through(ops), {"x": VECTOR}, labels)
    assert reference.agreement(reference.outputs)[0].accuracy == 0.5


def test_a_level_that_is_right_more_often_loses_nothing() -> None:
    reference = Reference(through("r = softmax(x)"), {"x": VECTOR}, [1, 1, 2, 0])
    (row,) = reference.agreement({"y": np.eye(3)[[1, 1, 2, 0]]})
    assert (row.accuracy, row.equal, row.loss) == (1, 0.75, 0)


@pytest.mark.parametrize("labels", [None, np.arange(20) % 2])
def test_one_of_twenty_is_five_percent(labels: object) -> None:
    right = np.eye(2)[np.arange(20) % 2]
    wrong = np.where(np.arange(20)[:, None] == 0, 1 - right, right)
    reference = Reference(through("r = softmax(x)", "N,2"), {"x": right}, labels)
    assert reference.loss({"y": wrong}) == 0.05


def test_the_best_five_of_many_classes() -> None:
    scores = np.arange(12.0)[None].repeat(2, 0)
    reference = Reference(through("r = softmax(x)", "N,12"), {"x": scores}, [7, 2])
    (row,) = reference.agreement({"y": scores})
    assert (row.accuracy, row.top5) == (0, 0.5)


def test_numbers_have_errors_and_a_ratio() -> None:
    x = np.array([[0.0, 5.0], [2.0, 5.0], [4.0, 5.0]])
    reference = Reference(through("r = relu(x)", "N,2"), {"x": x}, x + np.array([0, 0.5]))
    (exact,) = reference.agreement(reference.outputs)
    assert exact.r2 == pytest.approx(1 - 0.75 / 8)
    (row,) = reference.agreement({"y": x + np.array([[0.2, 0], [0, 0], [0, 0]])})
    assert row.loss == pytest.approx(0.2**2 / 8)  # the means of the columns are no signal
    assert row.snr == pytest.approx(10 * np.log10(200))
    assert (row.largest_error, row.mean_error) == pytest.approx((0.2, 0.2 / 6))
    assert row.equal is row.accuracy is None
    (lost,) = reference.agreement({"y": np.full_like(x, np.nan)})
    assert lost.loss == 1
    json.dumps([row.as_dict(), exact.as_dict(), lost.as_dict()], allow_nan=False)


def test_several_outputs_are_compared_each_by_itself() -> None:
    g = Graph.parse("graph g\nx = input() : f64[N,3]\ns = softmax(x)\na = output(s)\nr = relu(x)\nb = output(r)")
    reference = Reference(g, {"x": VECTOR}, {"a": [0, 1, 2, 0]})
    assert reference.kinds == {"a": "classes", "b": "numbers"}
    assert [row.accuracy for row in reference.agreement(reference.outputs)] == [1, None]
    assert reference.loss({"a": VECTOR[[1, 0, 2, 0]], "b": VECTOR}) == 0.5
    with pytest.raises(QuantisationError, match="one output; give a mapping with a, b"):
        Reference(g, {"x": VECTOR}, [0, 1, 2, 0])
    with pytest.raises(QuantisationError, match="'aa', not an output; did you mean 'a'"):
        Reference(g, {"x": VECTOR}, {"aa": [0, 1, 2, 0]})


@pytest.mark.parametrize(
    ("labels", "told"),
    [
        ([0, 1, 2], r"shape \[3\]; give a class for each of 4 samples"),
        ([1, 2, 3, 1], "hold 3, and the network has the classes 0 to 2; number them from 0"),
        ([0, 0.5, 1, 2], "hold 0.5"),
        ([[0, 1], [1, 0], [0, 1], [1, 0]], r"shape \[4, 2\]"),
        ([0, 1, np.nan, 0], "NaN or infinity"),
        (["a", "b", "c", "a"], "<U1"),
        (0, r"shape \[\]"),
    ],
)
@pytest.mark.parametrize("ops", ["r = softmax(x)", "r = arg_max(x)"])
def test_labels_that_do_not_fit(ops: str, labels: object, told: str) -> None:
    with pytest.raises(QuantisationError, match=told):
        Reference(through(ops), {"x": VECTOR}, labels)


def test_a_single_value_counts_for_all_samples() -> None:
    graph = Graph.parse("graph g\nx = input() : f32[N,2]\ns = input() : f32[]\nm = mul(x, s)\ny = output(m)")
    reference = Reference(graph, {"x": np.ones((3, 2), np.float32), "s": np.float32(2)})
    assert reference.outputs["y"].tolist() == [[2, 2]] * 3
