"""Eight trained networks keep their points at few bits, on samples that no quantiser has seen."""

from __future__ import annotations

import pytest

from graphrewrite import evaluate
from graphrewrite.lowering import from_onnx, quantise
from graphrewrite.lowering.quantisation.sample_review import weak_samples
from tests.support.learnt_networks import NETWORKS, learnt
from tests.support.profiles import some_of

WIDTHS = (8, 6, 5, 4)
POINTS = {
    "digits_mlp": (95.0, 95.2, 94.8, 94.3, 94.0),
    "digits_cnn": (95.8, 95.8, 96.0, 95.8, 95.7),
    "signals_cnn": (87.0, 87.2, 87.0, 85.0, 83.2),
    "cancer": (98.0, 98.0, 98.0, 98.0, 97.5),
    "cancer_raw": (98.0, 98.0, 98.0, 98.0, 98.0),
    "friedman": (99.1, 99.1, 98.8, 98.0, 95.8),
    "autoencoder": (64.7, 64.7, 64.4, 63.4, 60.5),
    "wine_heads": (89.0, 88.9, 88.7, 89.6, 87.1),
}
"""Right answers or explained variance in percent: in floats, and at 8, 6, 5 and 4 bits."""
CHANCE = 1.5
"""Points by which another processor's sums may move a training."""


@pytest.mark.slow(cases=3)
@pytest.mark.parametrize("name", NETWORKS)
def test_points_at_few_bits(name: str) -> None:
    network = learnt(name)
    graph = from_onnx(network.model)
    chosen = dict(some_of([*zip(WIDTHS, POINTS[name][1:], strict=True)]))
    fixed = [quantise(graph, network.calibration, bits=bits) for bits in chosen]
    found = [network.points(evaluate(each, {"x": network.test})) for each in (graph, *fixed)]
    wanted = [POINTS[name][0], *chosen.values()]
    assert all(a > b - CHANCE for a, b in zip(found, wanted, strict=True)), f"{found}, not {wanted}"


@pytest.mark.parametrize("name", NETWORKS)
def test_a_sample_that_is_a_fault_is_named(name: str) -> None:
    network = learnt(name)
    graph, samples = from_onnx(network.model), network.calibration.copy()
    assert not [str(each) for each in weak_samples(graph, {"x": samples}) if "as far as usual" in str(each)]
    samples[7] *= 100
    found = [str(each) for each in weak_samples(graph, {"x": samples})]
    assert any(f"1 of {len(samples)} calibration samples reaches" in text for text in found), found
