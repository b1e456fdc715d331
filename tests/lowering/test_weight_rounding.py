"""Weights and biases that are fitted to samples: nearer results, on the same grids."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from graphrewrite import Graph, Tensor, evaluate, op
from graphrewrite.lowering import from_onnx, quantise
from graphrewrite.lowering.quantisation.fixed_point_formats import fractions_of, on_grid
from graphrewrite.lowering.quantisation.output_noise import relative_noise
from graphrewrite.lowering.quantisation.weight_rounding import ENOUGH, fitted, mean_shift, moments
from tests.support.lowering_networks import residual_cnn, weights
from tests.support.random_networks import numbers, widths

CONVOLUTION = {"strides": (2, 1), "pads": (1, 0, 0, 1), "dilations": (1, 1), "groups": 2}


def error(graph: Graph, x: np.ndarray, **how: object) -> float:
    found = evaluate(quantise(graph, x, **how), {"x": x})
    return sum(float(np.square(found[name] - y).mean()) for name, y in evaluate(graph, {"x": x}).items())


@given(st.integers(0, 2**32), widths(), st.integers(2, 40), st.booleans())
def test_each_weight_goes_to_a_neighbour_and_the_results_come_nearer(
    seed: int, width: int, count: int, per_channel: bool
) -> None:
    random = np.random.default_rng(seed)
    x, w = numbers(random, count, 4, 5, 3), numbers(random, 6, 2, 2, 2)
    wanted = op.conv.function(x, w, **CONVOLUTION)
    fractions = fractions_of(w, width, per_channel=per_channel)
    groups = moments(x, w, wanted, CONVOLUTION)
    found, points = fitted(w, groups, width, [fractions])
    step = np.ldexp(1.0, -points).reshape(-1, 1, 1, 1)
    np.testing.assert_array_equal(found, on_grid(found, points, width))
    limits = np.clip(w, -(2.0 ** (width - 1)) * step, (2.0 ** (width - 1) - 1) * step)
    assert (np.abs(found - limits) < step).all()
    assert set(points - fractions) <= {0, 1}

    def lost(some: np.ndarray) -> np.ndarray:
        wrong = op.conv.function(x, some, **CONVOLUTION) - wanted
        if count >= ENOUGH:
            shift = mean_shift(some, groups).reshape(-1, 1, 1)
            np.testing.assert_allclose((wrong + shift).mean(axis=(0, 2, 3)), 0, atol=1e-9)
            wrong = wrong + shift
        return np.square(wrong).mean(axis=(0, 2, 3))

    plain = lost(on_grid(w, fractions, width))
    # Its own measure is shrunk to the diagonal, the more the fewer samples there are.
    assert lost(found).sum() <= plain.sum() * (1.01 if count >= ENOUGH else 2) + 1e-12


def test_what_lies_on_the_grid_stays() -> None:
    g = Graph("g")
    x = g.input("x", Tensor("f64", ("N", 3)))
    w, b = np.array([[0.5, -1.0, 0.25], [1.0, 0.75, 0.0]]), np.array([0.5, 0.25])
    g.output("y", op.linear(x, w, b))
    fixed = quantise(g, weights(50, 3).astype(np.float64), bits=4)
    (layer,) = (n for n in fixed if fixed.nodes[n]["type"] == "linear")
    found = [fixed.nodes[o.node]["value"] for o in fixed.operands(layer)[1:]]
    np.testing.assert_array_equal(found[0], w)
    np.testing.assert_array_equal(found[1], b)


@pytest.mark.parametrize("count", [4, 200])
def test_a_network_has_less_noise_at_few_bits(count: int) -> None:
    graph, x = from_onnx(residual_cnn()), weights(count, 1, 6, 6, scale=1.0)
    assert error(graph, x, bits=4) < error(graph, x, bits=4, fit=False)


@given(st.integers(0, 2**32), widths(), st.booleans())
def test_points_by_channel_are_never_worse(seed: int, bits: int, fit: bool) -> None:
    random = np.random.default_rng(seed)
    g = Graph("g")
    x = g.input("x", Tensor("f64", ("N", 4)))
    hidden = op.relu(op.linear(x, numbers(random, 5, 4), numbers(random, 5)))
    g.output("y", op.linear(hidden, numbers(random, 3, 5), numbers(random, 3)))
    samples = numbers(random, 20, 4)
    real = evaluate(g, {"x": samples})
    own, common = (
        relative_noise(real, evaluate(quantise(g, samples, bits=bits, per_channel=p, fit=fit), {"x": samples}))
        for p in (True, False)
    )
    assert own <= common
