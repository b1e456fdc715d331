"""Widths that a search finds: within the loss, narrower than one width for all, exact in hardware."""

from __future__ import annotations

from collections.abc import Callable
from types import MappingProxyType

import numpy as np
import pytest

from graphrewrite import Graph, Tensor, evaluate, hdl, models, op
from graphrewrite.graph import Value
from graphrewrite.lowering import QuantisationLossError, from_onnx, quantise, search_widths, to_integer, to_stream
from graphrewrite.lowering.integer.classifier_heads import classify
from graphrewrite.lowering.quantisation.agreement import Reference
from tests.support.lowering_networks import mlp, weights


@pytest.mark.slow(cases=0)
def test_bits_go_as_long_as_the_loss_allows() -> None:
    graph, max_loss = from_onnx(models.path("classes")), 0.01
    with np.load(models.path("classes").with_suffix(".npz")) as data:
        samples, test, labels = (data[key] for key in ("calibration_x", "test_x", "test_y"))
    samples = samples[:128]
    found = search_widths(graph, samples, max_loss=max_loss)
    fixed = quantise(graph, samples, bits=found)
    (name,) = graph.inputs
    assert Reference(graph, {name: samples}).loss(evaluate(fixed, {name: samples})) <= max_loss
    # On samples that it has not seen, with the chance of a thousand of them.
    assert Reference(graph, {name: test}, labels).loss(evaluate(fixed, {name: test})) <= max_loss + 0.01
    assert list(found) == [name, *(f"/fc{i}/Gemm" for i in (1, 2, 3, 4))]
    assert not isinstance(found[name], tuple)
    assert any(isinstance(width, tuple) for width in found.values()), "weights may have other widths than results"
    widths = [w for width in found.values() for w in (width if isinstance(width, tuple) else (width,))]
    assert np.mean(widths) < 6.5


def test_it_is_the_same_again_and_leaves_its_arguments() -> None:
    graph, samples = from_onnx(mlp()), weights(30, 4, scale=1.0)
    before, kept = graph.copy(), samples.copy()
    found = search_widths(graph, MappingProxyType({"x": samples}), max_loss=0.1)
    assert found == search_widths(graph, samples, max_loss=0.1)
    assert graph == before
    np.testing.assert_array_equal(samples, kept)


@pytest.mark.ghdl
def test_mixed_widths_are_exact_in_hardware() -> None:
    graph, samples = from_onnx(mlp()), weights(60, 4, scale=1.0)
    found = search_widths(graph, samples, max_loss=0.02, labels=evaluate(graph, {"x": samples})["y"].argmax(axis=1))
    assert len({str(width) for width in found.values()}) > 1
    lowered = to_stream(to_integer(quantise(graph, samples, bits=found)))
    report = hdl.cosimulate(hdl.emit(lowered, frames=3))
    assert report.equal, str(report)


def test_more_than_one_output_and_numbers() -> None:
    g = Graph("g")
    x = g.input("x", Tensor("f64", ("N", 4)))
    h = op.relu(op.linear(x, weights(6, 4).astype(np.float64), np.zeros(6)))
    g.output("y", op.linear(h, weights(4, 6, seed=1).astype(np.float64), np.ones(4)))
    g.output("z", op.tanh(op.linear(h, weights(2, 6, seed=2).astype(np.float64), np.ones(2))))
    samples = {"x": weights(60, 4, scale=1.0).astype(np.float64)}
    found = search_widths(g, samples, max_loss=0.01)
    assert Reference(g, samples).loss(evaluate(quantise(g, samples, bits=found), samples)) <= 0.01


def test_a_limit_that_no_width_keeps() -> None:
    with pytest.raises(QuantisationLossError, match=r"even 16 bits lose .*, and no more than 0.00% are allowed"):
        search_widths(from_onnx(mlp()), weights(60, 4), labels=weights(60, 3, seed=3), max_loss=0)


def test_a_class_has_the_widths_of_its_scores() -> None:
    graph, samples = classify(from_onnx(mlp())), weights(60, 4, scale=1.0)
    found = search_widths(graph, samples, max_loss=0.1)
    assert list(found) == ["x", "fc1", "fc2"]  # though no bit of them changes one of so few classes
    fixed = quantise(graph, samples, bits=found)
    assert Reference(graph, {"x": samples}).loss(evaluate(fixed, {"x": samples})) <= 0.1


def test_what_is_implemented_elsewhere_is_computed_by_that() -> None:
    def network(function: Callable[[Value], Value]) -> Graph:
        g = Graph("g")
        hidden = function(g.input("x", Tensor("f64", ("N", 4))))
        g.output("y", op.linear(hidden, weights(3, 4).astype(np.float64), np.zeros(3)))
        return g

    graph, other = network(op.relu), Graph("other")
    graph.nodes["relu_1"]["implementation"] = "other"
    other.output("y", op.relu(op.neg(other.input("x", Tensor("f64", ("N", 4))))))
    samples = weights(60, 4, scale=1.0).astype(np.float64)
    found = search_widths(graph, samples, max_loss=0.01, implementations={"other": other})
    wanted = search_widths(network(lambda x: op.relu(op.neg(x))), samples, max_loss=0.01)
    assert list(found.values()) == list(wanted.values())  # names are longer within another graph
