"""Predicates on the way from a float network to streams."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from graphrewrite import Graph, Tensor, evaluate, op, verify
from graphrewrite.lowering import quantise, to_integer, to_stream
from graphrewrite.lowering.errors import QuantisationError
from graphrewrite.lowering.host_partition import partition
from graphrewrite.lowering.predicates import without_predicates
from graphrewrite.lowering.quantisation.width_search import search_widths

RNG = np.random.default_rng(0)
X = {"x": RNG.normal(size=(8, 1, 6, 6)).astype(np.float32)}
P = {"p": np.arange(8) % 2 == 0}


def net(*chosen: int) -> Graph:
    """Return a network whose nodes have no predicate, an input, one computed of the input, or one of a layer."""
    graph = Graph("net")
    p, x = graph.input("p", Tensor("bool", ("N",))), graph.input("x", Tensor("f32", ("N", 1, 6, 6)))
    bright = op.greater(op.reduce_max(op.flatten(x), axes=(1,), keep_dims=False), np.float32(0))
    rng = np.random.default_rng(1)
    conv = op.relu(op.conv(x, rng.normal(size=(2, 1, 3, 3)).astype(np.float32), np.zeros(2, np.float32)))
    seen = op.greater(op.reduce_max(conv, axes=(1, 2, 3), keep_dims=False), np.float32(0))
    pooled = op.flatten(op.max_pool(conv, kernel=(2, 2), strides=(2, 2)))
    graph.output("y", op.linear(pooled, rng.normal(size=(3, 8)).astype(np.float32), np.zeros(3, np.float32)))
    predicates = [None, p, op.logical_and(p, bright), seen]
    for node, index in zip(("relu_1", "conv_1", "linear_1"), [1, *(chosen or (1, 1))], strict=True):
        graph.set_predicate(node, predicates[index])
    verify(graph)
    return graph


@given(st.integers(0, 2), st.integers(0, 3))
def test_predicates_change_no_lowering(first: int, last: int) -> None:
    graph = net(first, last)
    plain = without_predicates(graph)
    assert not any(plain.predicate(node) for node in plain)
    assert plain.inputs == ("x",)
    fixed, wanted = quantise(graph, X), quantise(plain, X)
    integer = to_integer(fixed)
    for each in (fixed, integer):
        verify(each)
        assert evaluate(each, X)["y"].tolist() == evaluate(wanted, X)["y"].tolist()
        assert each.inputs == ("p", "x")
    assert without_predicates(fixed).equals(wanted, names=False)
    assert partition(integer).encode(X | P)["x"].tolist() == partition(to_integer(wanted)).encode(X)["x"].tolist()
    stream = to_stream(integer)
    assert stream.equals(to_stream(to_integer(wanted)), names=False)
    # What computes a predicate of a layer's result would find other numbers: then all is computed.
    wanted_last = None if last == 3 else graph.predicate("linear_1")
    assert [fixed.predicate(n) for n in ("conv_1", "linear_1")] == [graph.predicate("conv_1"), wanted_last]
    assert integer.predicate("integer_conv_1") == ("p", 0), "the relu after it decides"
    assert integer.predicate("integer_linear_1") == wanted_last


def test_what_computes_a_predicate_stays_as_it_is() -> None:
    graph = Graph("gated")
    flags, x = graph.input("flags", Tensor("f32", ("N", 3))), graph.input("x", Tensor("f32", ("N", 2)))
    score = op.generic("Odd")(op.linear(flags, np.float32([[1, 2, 3]]), np.float32([0])))
    needed = op.reshape(op.greater(score, np.float32(0)), shape=("N",))
    graph.output("y", op.linear(x, np.float32([[0.5, 0.25]]), np.float32([0])))
    graph.set_predicate("linear_2", needed)
    samples = np.random.default_rng(0).normal(size=(40, 2)).astype(np.float32)
    fixed = quantise(graph, samples)
    for each, node in ((fixed, "linear_2"), (to_integer(fixed), "integer_linear_1")):
        verify(each)
        assert each.predicate(node) == (needed.node, 0)
        assert [each.nodes[n] for n in ("linear_1", "Odd_1", "greater_1")] == [
            graph.nodes[n] | {"origin": graph.origin(n)} for n in ("linear_1", "Odd_1", "greater_1")
        ]
    assert search_widths(graph, samples, max_loss=0.5).keys() <= {"x", "linear_2"}


def test_nodes_that_become_one_are_computed_where_either_is_needed() -> None:
    graph = Graph("twice")
    p, x = graph.input("p", Tensor("bool", ("N",))), graph.input("x", Tensor("f32", ("N", 2)))
    w = np.float32([[0.5, 0.25]])
    graph.output("y", op.linear(x, w, np.float32([0])))
    graph.output("z", op.linear(x, w, np.float32([0])))
    graph.set_predicate("linear_1", p)
    fixed = quantise(graph, {"x": X["x"][:, 0, 0, :2]})
    for each in (fixed, to_integer(fixed)):
        needed = {o.node for o in each.operands("z")} | {
            o.node for n in each.operands("z") for o in each.operands(n.node)
        }
        assert not any(each.predicate(node) for node in needed)


def test_samples_are_for_what_is_computed() -> None:
    for samples in (X, X | P, X["x"]):
        assert quantise(net(), samples).predicate("conv_1") == ("p", 0)
    with pytest.raises(QuantisationError, match=r"name 'q', which is not an input$"):
        quantise(net(), X | {"q": P["p"]})
    with pytest.raises(QuantisationError, match=r"for the input 'x' are missing; pass a mapping with x$"):
        quantise(net(), P)
