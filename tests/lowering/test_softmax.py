"""Probabilities in hardware: within the stated bound of the real softmax, and the same bits in integers and streams."""

from __future__ import annotations

import numpy as np
import pytest

from graphrewrite import Graph, evaluate
from graphrewrite.hdl import cosimulate, emit
from graphrewrite.lowering import (
    LoweringError,
    from_onnx,
    partition,
    quantise,
    softmax_bounds,
    softmax_in_hardware,
    to_integer,
    to_stream,
)
from graphrewrite.lowering.integer.classifier_heads import probabilities
from graphrewrite.models import path
from tests.support.lowering_networks import mlp, weights


@pytest.fixture(scope="module")
def integer() -> Graph:
    return to_integer(quantise(from_onnx(mlp(softmax=True)), weights(20, 4, scale=1.0)))


@pytest.mark.parametrize("sizes", [{}, {"width": 9}, {"width": 24, "table_bits": 12}, {"table_bits": 4}])
def test_probabilities_are_within_their_bound(integer: Graph, sizes: dict[str, int]) -> None:
    made, x = softmax_in_hardware(integer, **sizes), {"x": weights(400, 4, seed=5, scale=4.0)}
    (bound,) = softmax_bounds(made).values()
    found, (score,) = evaluate(made, x)["y"], (integer.operands(n)[0].node for n in integer.outputs)
    (reading,) = integer.operands(score)
    scores = integer.copy()
    scores.output("scores", scores.value(reading.node))
    powers = np.exp(evaluate(scores, x)["scores"].astype(np.float64))
    error = np.abs(found - powers / powers.sum(axis=1, keepdims=True)).max()
    assert 0 < error <= bound
    parts, stream = partition(made), to_stream(made, parallelism=2)
    decoded = parts.decode(evaluate(stream, parts.encode(x)))
    np.testing.assert_array_equal(decoded["y"], found)


@pytest.mark.ghdl
def test_it_equals_ghdl(integer: Graph) -> None:
    report = cosimulate(emit(to_stream(softmax_in_hardware(integer, width=12), parallelism=2), frames=3))
    assert report.equal, str(report)


def test_probabilities_of_a_shipped_network() -> None:
    """Of all its test images the same bits, in integers and streams, and each near the softmax of its scores."""
    file = path("digits")
    with np.load(file.with_suffix(".npz")) as samples:
        calibration, test = samples["calibration_x"], samples["test_x"]
    whole = to_integer(quantise(probabilities(from_onnx(file)), calibration))
    made, x = softmax_in_hardware(whole), {whole.inputs[0]: test}
    (bound,) = softmax_bounds(made).values()
    (found,), (wanted,) = (evaluate(each, x).values() for each in (made, whole))
    assert 0 < np.abs(found - wanted).max() <= bound + 1e-6
    clear = np.ptp(np.sort(wanted, axis=1)[:, -2:], axis=1) > 2 * bound
    assert clear.mean() > 0.98
    np.testing.assert_array_equal(found[clear].argmax(axis=1), wanted[clear].argmax(axis=1))
    parts, stream = partition(made), to_stream(made, parallelism="folded")
    (decoded,) = parts.decode(evaluate(stream, parts.encode(x))).values()
    np.testing.assert_array_equal(decoded, found)


def test_what_is_no_width(integer: Graph) -> None:
    with pytest.raises(LoweringError, match="width=25: a probability has 2 to 24 bits"):
        softmax_in_hardware(integer, width=25)
