"""Softmaxes and other reductions as frameworks write them."""

from __future__ import annotations

import pytest

from graphrewrite import Graph, Tensor, op
from tests.rules.recognition.recognising import NUMPY, ops, recognised


def over_sum(shares, *axes):
    return shares / op.reduce_sum(shares, axes=axes or (-1,))


def from_most(x, axis=-1):
    return x - op.reduce_max(x, axes=(axis,))


def log_sum(x, axis=-1):
    return op.log(op.reduce_sum(op.exp(x), axes=(axis,)))


def spread(x, axis, *, keep=False):
    """Shares by a sum that is repeated along its axis before it is met."""
    shares = op.exp(x)
    total = op.reduce_sum(shares, axes=(axis,), keep_dims=keep)
    return shares / op.expand(total if keep else op.unsqueeze(total, axes=(axis,)), shape=x.type.shape)


def unit(x):
    squares = op.reduce_sum(x * x, axes=(2,))
    return x / op.expand(op.clip(op.sqrt(squares), low=1e-6), shape=x.type.shape)


FORMS = {
    "softmax": (["softmax"], lambda x: over_sum(op.exp(x))),
    "softmax, first axis": (["softmax"], lambda x: over_sum(op.exp(x), 1)),
    "softmax, stable": (["softmax"], lambda x: over_sum(op.exp(from_most(x)))),
    "softmax, reciprocal": (
        ["softmax"],
        lambda x: op.reciprocal(op.reduce_sum(op.exp(x), axes=(2,))) * op.exp(x),
    ),
    "softmax, repeated": (["softmax"], lambda x: spread(x, 2)),
    "softmax, repeated, kept": (["softmax"], lambda x: spread(x, 1, keep=True)),
    "log-softmax": (["log_softmax"], lambda x: x - log_sum(x)),
    "log-softmax, stable": (["log_softmax"], lambda x: from_most(x) - log_sum(from_most(x))),
    "log-softmax, in two": (["log_softmax"], lambda x: op.log(over_sum(op.exp(x), 1))),
    "reduce_log_sum_exp": (["reduce_log_sum_exp"], log_sum),
    "reduce_l1": (["reduce_l1"], lambda x: op.reduce_sum(op.abs(x), axes=(1, 2))),
    "mean by a quotient": (["reduce_mean"], lambda x: op.reduce_sum(x, axes=(2,)) / 3.0),
    "mean by a product": (["reduce_mean"], lambda x: (1 / 3.0) * op.reduce_sum(x, axes=(2,))),
    "reduce_l2": (["reduce_l2"], lambda x: op.sqrt(op.reduce_sum(x * x, axes=(1,)))),
    "lp_norm": (["lp_norm"], lambda x: x / op.clip(op.reduce_l1(x, axes=(1,)), low=1e-6)),
    "lp_norm as PyTorch writes it": (["lp_norm"], unit),
    "reduce_sum_square": (["reduce_sum_square"], lambda x: op.reduce_sum(op.pow(x, 2.0), axes=(1,), keep_dims=False)),
}


def upside_down(x):
    shares = op.exp(x)
    return op.reduce_sum(shares, axes=(2,)) / shares


def square(x):
    """Shares by the sum along one axis that meets the other one."""
    shares = op.exp(x)
    return shares / op.reduce_sum(shares, axes=(2,), keep_dims=False)


OTHERS = {
    "upside down": (("N", 2, 3), upside_down),
    "two axes": (("N", 2, 3), lambda x: over_sum(op.exp(x), 1, 2)),
    "another axis": ((3, 3, 3), square),
    "another operand": (("N", 2, 3), lambda x: op.exp(x) / op.reduce_sum(op.exp(op.relu(x)), axes=(2,))),
    "another maximum": (("N", 2, 3), lambda x: op.softmax(from_most(x, 1), axis=2)),
}


def graph_of(body, shape, element):
    graph = Graph("parts")
    graph.output("y", body(graph.input("x", Tensor(element, shape))))
    return graph


@pytest.mark.parametrize("folded", [False, True])
@pytest.mark.parametrize("element", NUMPY)
@pytest.mark.parametrize("name", FORMS)
def test_a_reduction_is_recognised(name, element, folded):
    kinds, body = FORMS[name]
    assert ops(recognised(graph_of(body, ("N", 2, 3), element), folded=folded)) == kinds


@pytest.mark.parametrize("name", OTHERS)
def test_what_is_another_function_stays(name):
    shape, body = OTHERS[name]
    graph = graph_of(body, shape, "f32")
    assert sorted(ops(recognised(graph))) == sorted(ops(graph))
