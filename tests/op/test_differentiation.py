"""The product of an op's Jacobian: its types, its meaning and where it has none."""

from __future__ import annotations

import copy
import pickle

import numpy as np
import pytest

from graphrewrite import Dialect, Graph, Tensor, define_op, evaluate, op
from graphrewrite.errors import EvaluationError, TypeMismatchError


def test_it_computes_the_difference_quotient():
    x, w = np.random.default_rng(0).normal(size=(2, 1, 1, 4, 4))[0][None], np.ones((1, 1, 2, 2))
    g = np.ones((1, 1, 3, 3))
    made = op.conv.vjp(g, x.reshape(1, 1, 4, 4), w, wrt=0)
    assert made.round(6).reshape(4, 4).tolist() == [[1, 2, 2, 1], [2, 4, 4, 2], [2, 4, 4, 2], [1, 2, 2, 1]]


def test_single_precision_is_computed_in_double():
    x = np.float32([0.1, 3.0])
    made = op.exp.vjp(np.float32([1, 1]), x)
    assert made.dtype == np.float32
    assert np.array_equal(made, np.exp(x.astype(np.float64)).astype(np.float32))


@pytest.mark.parametrize(
    ("product", "x"),
    [
        (op.relu, 0.0),
        (op.relu, 1e-9),
        (op.floor, 2.0),
        (op.sign, 0.0),
        (op.reciprocal, 0.0),
        (op.sqrt, 0.0),
        (op.log, -1.0),
    ],
)
def test_it_has_no_value_where_there_is_no_slope(product, x):
    with pytest.raises(EvaluationError, match="has a kink or a pole at the entry"):
        product.vjp(np.float64(1), np.float64(x))


@pytest.mark.parametrize(
    ("types", "attributes", "message"),
    [
        (
            [("f32", ("N", 2)), *[("f32", ("N", 3))] * 2],
            {"wrt": 0},
            r"the gradient of a result f32\[N,3\] is of that type",
        ),
        ([("f32", (3,))] * 3, {"wrt": 2}, "wrt is the position of an operand, 0 to 1, got 2"),
        ([("f16", (3,))] * 3, {"wrt": 0}, "gradients are of f32 and f64, got f16"),
        ([("f32", (3,))] * 3, {}, "needs the attribute 'wrt'"),
    ],
)
def test_types_that_do_not_fit_are_refused(types, attributes, message):
    with pytest.raises(TypeMismatchError, match=message):
        op.mul.vjp.infer(*(Tensor(*each) for each in types), **attributes)


def test_axis_names_are_refused():
    kind = Tensor("f32", ("N", 2, 3), "NCW")
    with pytest.raises(TypeMismatchError, match="without axis names"):
        op.relu.vjp.infer(kind, kind)


def test_it_is_one_op_that_is_copied_printed_and_parsed():
    graph = Graph("g")
    x = graph.input("x", Tensor("f32", ("N", 1, 5)))
    g = graph.input("g", Tensor("f32", ("N", 1, 2)))
    graph.output("y", op.max_pool.vjp(g, x, kernel=2, strides=2))
    first, second = op.max_pool.vjp, op.max_pool.vjp
    assert first is second
    assert pickle.loads(pickle.dumps(op.max_pool.vjp)) is op.max_pool.vjp
    assert copy.deepcopy(op.max_pool.vjp) is op.max_pool.vjp
    assert Graph.parse(str(graph), ops=[op.max_pool.vjp]) == graph
    again = pickle.loads(pickle.dumps(graph))
    inputs = {"x": [[[1, 2, 4, 3, 9]]], "g": [[[5, 7]]]}
    assert evaluate(again, inputs)["y"].round(6).tolist() == [[[0, 5, 7, 0, 0]]]


def test_an_op_of_a_dialect_has_one():
    sig = Dialect("sig")

    @define_op(dialect=sig)
    def gain(x, *, db=0.0):
        """Louder by some decibels."""
        return x * 10 ** (db / 20)

    assert gain.vjp.name == "vjp_sig_gain"
    assert gain.vjp(np.array([1.0]), np.array([3.0]), db=20.0).round(6).tolist() == [10.0]


def test_a_parameter_of_the_same_name_is_refused():
    @define_op
    def odd(x, *, wrt=0):
        """An op with a parameter of the name."""
        return x + wrt

    with pytest.raises(TypeMismatchError, match="a parameter 'wrt' of its own; rename it"):
        _ = odd.vjp


def test_a_gradient_has_the_shape_that_its_result_has_at_run_time():
    x, first = np.array([[0.0, 1.0]]), np.array([True])
    np.testing.assert_allclose(op.compress.vjp(np.ones((1, 1)), x, first, axis=1, wrt=0), [[1, 0]], atol=1e-6)
    with pytest.raises(EvaluationError, match=r"the result of compress has the shape \[1, 1\]"):
        op.compress.vjp(x, x, first, axis=1, wrt=0)
