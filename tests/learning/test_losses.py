"""Losses as ops, and their forms for training and for inference."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import strategies as st

from graphrewrite import Graph, Tensor, differentiate, evaluate, op, rewrite
from graphrewrite.errors import EvaluationError, TypeMismatchError
from graphrewrite.learning import INFERENCE_FORMS, TRAINING_FORMS, loss
from graphrewrite.learning.losses import cross_entropy, hinge, soft_cross_entropy, squared_error
from graphrewrite.testing import assert_preserves
from tests.support.profiles import fewer_graphs


@st.composite
def _with_loss(draw: st.DrawFn, *, both: bool = True) -> Graph:
    """Graphs of one loss, of scores that are small."""
    graph, element = Graph("g"), draw(st.sampled_from(("f32", "f64")))
    shape = draw(st.sampled_from((("N", 3), ("N", 2, 2), (2, 4))))
    x = op.tanh(graph.input("x", Tensor(element, shape)))
    made = draw(st.sampled_from((squared_error, cross_entropy, soft_cross_entropy, hinge)))
    if made in (squared_error, soft_cross_entropy):
        target = graph.input("t", Tensor(element, shape))
    else:
        given = graph.input("t", Tensor("bool", (shape[0], *shape[2:])))
        target = op.cast(given, element="i64")
    prediction, error = made(x, target)
    graph.output("y", prediction)
    if both:
        graph.output("error", error)
    return graph


def test_the_form_for_training_computes_the_same():
    with fewer_graphs():
        assert_preserves(TRAINING_FORMS, on=_with_loss())


def test_the_form_for_inference_computes_the_same():
    with fewer_graphs():
        assert_preserves(INFERENCE_FORMS, on=_with_loss(both=False))


def test_a_loss_that_is_read_stays():
    text = "graph g\nx = input() : f32[N,3]\nt = input() : i64[N]\np = loss.cross_entropy(x, t)\ny = output(p)"
    graph = Graph.parse(text, ops=[loss])
    graph.output("z", graph.value("p", 1))
    assert rewrite(graph, INFERENCE_FORMS) == graph


def test_the_gradient_of_the_cross_entropy_is_the_distance_to_the_label():
    graph = Graph("g")
    x, t = graph.input("x", Tensor("f64", ("N", 3))), graph.input("t", Tensor("i64", ("N",)))
    graph.output("loss", cross_entropy(x, t)[1])
    scores, labels = np.random.default_rng(0).normal(size=(4, 3)), np.array([0, 2, 1, 1])
    found = evaluate(differentiate(graph), {"x": scores, "t": labels})["d_x"]
    assert np.allclose(found, (op.softmax(scores, axis=1) - np.eye(3)[labels]) / 4)


def test_a_label_that_is_no_class_is_named():
    with pytest.raises(EvaluationError, match="the target 3 is outside"):
        cross_entropy(np.zeros((1, 3)), np.array([3]))


@pytest.mark.parametrize(
    ("made", "types"),
    [
        (squared_error, [Tensor("f32", ("N", 2)), Tensor("f32", ("N",))]),
        (cross_entropy, [Tensor("f32", ("N", 2)), Tensor("f32", ("N",))]),
        (hinge, [Tensor("f32", ("N", 2)), Tensor("i64", ("N", 2))]),
    ],
)
def test_targets_of_another_type_are_refused(made, types):
    with pytest.raises(TypeMismatchError):
        made.infer(*types)
