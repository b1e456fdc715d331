"""What quantising loses is found in the layer that loses it."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest

from graphrewrite import FixedPoint, Graph, Tensor, op
from graphrewrite.lowering import QuantisationWarning, quantise
from graphrewrite.lowering.quantisation.guards import _bits_of, _lost, findings
from tests.support.lowering_networks import weights

X = np.random.default_rng(5).normal(size=(60, 6))


def network(first: np.ndarray, second: np.ndarray) -> Graph:
    """Two layers: as many channels as rows."""
    g = Graph("g")
    x = g.input("x", Tensor("f64", ("N", first.shape[1])))
    h = op.relu(op.linear(x, first, np.full(len(first), 0.5)))
    g.output("y", op.linear(h, second, np.zeros(len(second))))
    for node, name in (("linear_1", "fc1"), ("linear_2", "fc2")):
        g.nodes[node]["origin"] = (name,)
    return g


def found(g: Graph, x: np.ndarray = X, test: np.ndarray | None = None, **how: Any) -> list[tuple[str, str]]:
    rows = findings(g, quantise(g, x, **how), {"x": x if test is None else test})
    json.dumps([row.as_dict() for row in rows], allow_nan=False)
    for row in rows:
        assert 0 < row.share <= 1
    return [(row.layer, row.kind) for row in rows]


FIRST, SECOND = weights(5, 6, seed=2).astype(float), weights(3, 5, seed=3).astype(float)


@pytest.mark.parametrize("bits", [8, 6])
def test_a_sound_network_has_none(bits: int) -> None:
    assert found(network(FIRST, SECOND), bits=bits) == []


def test_what_a_function_reads_may_saturate_where_that_is_flat() -> None:
    g = Graph("g")
    bent = op.tanh(op.linear(g.input("x", Tensor("f64", ("N", 6))), 4 * FIRST, np.zeros(5)))
    g.output("y", op.linear(bent, SECOND, np.zeros(3)))
    assert found(g, bits=6) == []


def test_rows_of_weights_that_vanish() -> None:
    second = SECOND * [[1], [1], [1e-4]]
    assert found(network(FIRST, second)) == []  # an output of other units
    first = FIRST * np.where(np.arange(5) == 4, 1e-3, 1)[:, None]
    assert found(network(first, SECOND), equalise=False) == [("fc1", "channels")]
    first = np.where(np.arange(5)[:, None] > 1, 0.06, FIRST)
    assert ("fc1", "weights") in found(network(first, SECOND), bits=4, equalise=False)


def test_clipped_samples_are_found_where_they_enter() -> None:
    assert found(network(FIRST, SECOND), test=9 * X)[0] == ("x", "clipped")


def test_noise_is_found_in_the_first_layer_that_has_it() -> None:
    """Two channels that are almost equal, of which the next layer takes the difference."""
    first = np.tile(FIRST[:1], (2, 1)) * [[1], [1.01]]
    (row,) = findings(g := network(first, np.array([[100.0, -100.0]])), quantise(g, X, bits=6), {"x": X})
    assert (row.layer, row.kind) == ("fc2", "noise")
    assert "dB above the noise" in row.text
    assert "--bits fc" in row.remedy


def test_samples_of_one_kind_and_single_ones_say_nothing() -> None:
    assert found(network(FIRST, SECOND), test=X[:1]) == []
    assert found(network(FIRST, SECOND), x=np.zeros((20, 6))) == []


def test_a_layer_that_is_lost_is_warned_of_at_once() -> None:
    """Its values are far above what they vary by."""
    g = Graph("g")
    x = g.input("x", Tensor("f64", ("N", 1)))
    g.output("y", op.linear(op.sigmoid(op.linear(x, np.full((1, 1), 1e-3), np.full(1, 2.0))), np.eye(1), np.zeros(1)))
    with pytest.warns(QuantisationWarning, match="lost everything: linear_1: its quantised values never vary; give"):
        quantise(g, X[:, :1])


@pytest.mark.parametrize("shifted", [False, True])
def test_a_loss_is_a_share(shifted: bool) -> None:
    """Also where a scale brings less back than the mean is."""
    random = np.random.default_rng(0)
    wanted = random.normal(5, 1, (3, 20))
    for values in (random.integers(-1, 2, (3, 20)), np.zeros((3, 20)), -wanted):
        assert 0.5 < _lost(wanted, values, shifted=shifted) <= 1
    assert _lost(wanted, 3 * wanted, shifted=shifted) <= 1e-9


@pytest.mark.parametrize("element", [FixedPoint(True, 4, 1), FixedPoint(False, 4, 2), FixedPoint(True, 6, 0)], ids=str)
@pytest.mark.parametrize("spread", [0.3, 1.5, 6.0, 40.0])
def test_shares_are_those_of_the_values(element: FixedPoint, spread: float) -> None:
    """Counted one by one: beyond a step and a half of the ends, and rounded to zero; the float network is the same."""
    values = np.random.default_rng(0).normal(scale=spread, size=(400, 1))
    g, fixed = Graph("g"), Graph("g")
    g.output("y", op.identity(g.input("x", Tensor("f64", ("N", 1)))))
    fixed.output("y", op.quantise(fixed.input("x", Tensor("f64", ("N", 1))), element=element))
    low = (element.minimum - 1.5) * element.step if element.signed else -np.inf
    high = (element.maximum + 1.5) * element.step
    clipped = [not low <= v <= high for v in values.flat]
    numbers = [v for v in values.flat if element.signed or v > 0]
    vanished = [abs(v) <= element.step / 2 for v in numbers]
    wanted = {
        kind: share
        for kind, share, most in (("clipped", np.mean(clipped), 0.02), ("vanished", np.mean(vanished), 0.5))
        if share > most
    }
    found = {row.kind: row for row in findings(g, fixed, {"x": values}, most_noise=1.0)}
    assert {kind: row.share for kind, row in found.items()} == pytest.approx(wanted)
    for row in found.values():
        assert row.layer == "x"
        assert f"{row.share:.1%}" in row.text
        assert f"--bits x={element.width + 2}" in row.remedy


def shares(element: FixedPoint, values: list[float]) -> dict[str, float]:
    """What is found in values that get a format, by its kind."""
    g, fixed = Graph("g"), Graph("g")
    g.output("y", op.identity(g.input("x", Tensor("f64", ("N", 1)))))
    fixed.output("y", op.quantise(fixed.input("x", Tensor("f64", ("N", 1))), element=element))
    batch = np.array(values, np.float64).reshape(-1, 1)
    return {row.kind: row.share for row in findings(g, fixed, {"x": batch}, most_noise=1.0)}


@pytest.mark.parametrize(
    ("element", "values", "wanted"),
    [
        (FixedPoint(True, 4, 0), [*[1.0] * 49, 9.0], {}),  # just as many as may be
        (FixedPoint(True, 4, 0), [*[1.0] * 48, 9.0, -9.75], {"clipped": 0.04}),
        (FixedPoint(True, 4, 0), [*[1.0] * 46, 8.5, 8.5, -9.5, -9.5], {}),  # just as far as may be
        (FixedPoint(True, 4, 0), [1.0, 2.0, 0.25, -0.25], {}),
        (FixedPoint(True, 4, 0), [1.0, 0.25, -0.25], {"vanished": 2 / 3}),
        (FixedPoint(True, 4, 0), [0.0, 0.0, 0.0], {}),  # nothing vanishes that is zero
        (FixedPoint(False, 4, 4), [0.5, 0.25, 0.75, -3.0], {}),  # what is below zero is cut off
        (FixedPoint(False, 4, 0), [0.25, 0.25, 0.5, 2.0], {"vanished": 0.75}),
        (FixedPoint(True, 2, 0), [7.0, 7.0, 1.0, 0.0], {"clipped": 0.5}),
        (FixedPoint(True, 1, 0), [7.0, 7.0, -1.0, -0.9], {}),  # a sign
        (FixedPoint(True, 4, 0), [], {}),
    ],
)
def test_shares_at_their_bounds(element: FixedPoint, values: list[float], wanted: dict[str, float]) -> None:
    assert shares(element, values) == pytest.approx(wanted)


POINTS: dict[str, tuple[Any, str]] = {
    "the input": (lambda x: x, "x"),
    "a layer": (lambda x: op.linear(x, FIRST, np.zeros(5)), "layer"),
    "a layer behind others": (lambda x: op.relu(op.neg(op.linear(op.relu(x), FIRST, np.zeros(5)))), "layer"),
    "a layer with a factor": (lambda x: op.mul(op.linear(x, FIRST, np.zeros(5)), np.float64(3)), "layer"),
    "a sum": (
        lambda x: op.relu(op.add(op.linear(x, FIRST, np.zeros(5)), op.linear(x, FIRST[::-1], np.ones(5)))),
        "add_1",
    ),
    "the input behind others": (lambda x: op.relu(op.neg(x)), "x"),
}


@pytest.mark.parametrize("kind", POINTS)
def test_a_loss_has_the_name_of_the_layer_that_people_know(kind: str) -> None:
    """That of the matrix, whatever stands between; of several operands, that of what joins them; or of the input."""
    build, name = POINTS[kind]
    g = Graph("g")
    g.output("y", build(g.input("x", Tensor("f64", ("N", 6)))))
    fixed = g.copy()
    for graph, origin in ((g, ("layer",)), (fixed, ("bias", "layer"))):  # a bias was added to it
        for node in graph:
            if graph.nodes[node]["type"] == "linear":
                graph.nodes[node]["origin"] = origin
    (last,) = fixed.operands("y")
    fixed.remove_node("y")
    narrow = op.quantise(fixed.value(*last), element=FixedPoint(True, 3, 0))
    fixed.nodes[narrow.node]["origin"] = fixed.origin(last.node)
    fixed.output("y", narrow)
    (row,) = findings(g, fixed, {"x": X}, most_noise=1e-6)[:1]
    assert row.layer == name


def test_a_loss_behind_numbers_that_are_quantised_already_has_their_name() -> None:
    """As no layer is between them: they come from where a network was rectified, and are exact."""
    g = Graph("g")
    y = op.mul(op.relu(g.input("x", Tensor("f64", ("N", 3)))), np.float64(0.375))
    g.output("y", y)
    fixed = Graph("g")
    whole = op.quantise(op.relu(fixed.input("x", Tensor("f64", ("N", 3)))), element=FixedPoint(True, 8, 0))
    narrow = op.quantise(op.mul(whole, np.float64(0.375)), element=FixedPoint(True, 4, 0))
    fixed.output("y", narrow)
    fixed.nodes[whole.node]["origin"], fixed.nodes[narrow.node]["origin"] = ("relu_1",), ("mul_1",)
    found = findings(g, fixed, {"x": np.arange(-9.0, 12).reshape(-1, 3)}, most_noise=1e-6)
    assert [(row.layer, row.kind) for row in found] == [("relu_1", "noise")]


@pytest.mark.parametrize("bits", [2, 3, 8, 16])
def test_weights_have_as_many_bits_as_their_grid(bits: int) -> None:
    most = 2 ** (bits - 1) - 1
    for exponent in (-60, -5, 0, 3):
        assert _bits_of(np.ldexp([0.0, -1, most], exponent)) == bits
        assert _bits_of(np.ldexp([[0.5, 0], [-most / 2, 0]], exponent)) == bits
        assert _bits_of(np.ldexp([4.0, 4 * most], exponent)) == bits
    assert _bits_of(np.zeros(3)) == 2
