"""Python's operators and subscripts on values of graphs and in rules: the same as numpy's."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import array_shapes, basic_indices

from graphrewrite import Graph, Tensor, evaluate, op, rewrite, rule
from graphrewrite.errors import RuleError, TypeMismatchError

SHAPES_AND_INDICES = array_shapes(max_dims=4, max_side=4).flatmap(
    lambda shape: st.tuples(st.just(shape), basic_indices(shape, allow_ellipsis=True, allow_newaxis=True))
)


@given(SHAPES_AND_INDICES, st.booleans())
def test_a_subscript_picks_what_numpy_picks(case, is_open):
    shape, index = case
    g = Graph("g")
    x = g.input("x", Tensor("f32", ("N", *shape[1:]) if is_open else shape))
    picked = x[index]
    g.output("y", picked)
    array = np.arange(np.prod(shape), dtype=np.float32).reshape(shape)
    expected = array[index]
    np.testing.assert_array_equal(evaluate(g, {"x": array})["y"], expected)
    assert picked.ndim == expected.ndim
    assert all(isinstance(d, str) or d == n for d, n in zip(picked.shape, expected.shape, strict=True))


@given(array_shapes(max_dims=2, max_side=3))
def test_values_have_what_arrays_have(shape):
    g = Graph("g")
    x = g.input("x", Tensor("f32", shape))
    array = np.arange(1, 1 + np.prod(shape), dtype=np.float32).reshape(shape)
    assert (x.shape, x.dtype, x.ndim) == (array.shape, array.dtype, array.ndim)
    results = {
        "t": (x.T, array.T),
        "p": (x**2, array**2),
        "q": (2**x, np.exp2(array)),
        "m": (array @ x.T, array @ array.T),
    }
    for name, (value, _) in results.items():
        g.output(name, value)
    for name, found in evaluate(g, {"x": array}).items():
        np.testing.assert_allclose(found, results[name][1], rtol=1e-6)


@pytest.mark.parametrize(
    ("index", "message"),
    [
        (7, "7 lies outside of an axis of size 3"),
        ((0, 0, 0), "has 3 entries, and the value 2 axes"),
        ((..., ...), "has 0 entries"),
        (True, "whole numbers, slices"),
        ([0, 1], "take op.gather"),
        (slice(None, None, 0), "step of a slice must not be 0"),
    ],
)
def test_a_wrong_subscript_changes_nothing(index, message):
    g = Graph("g")
    x = g.input("x", Tensor("f32", (3, 4)))
    with pytest.raises(TypeMismatchError, match=message):
        x[index]
    assert list(g) == ["x"]


def test_subscripts_in_a_rule():
    @rule
    def first_of_greatest(x):
        """The first of the greatest entries is picked of all of them."""
        found = op.top_k(x, k=2)[0]
        yield op.relu(found)
        return op.relu(x[..., :2] * x.T[0, 0] ** 2) if x.ndim == 2 else op.relu(found)

    g = Graph("g")
    x = g.input("x", Tensor("f32", (3, 4)))
    g.output("y", op.relu(op.top_k(x, k=2)[0]))
    array = np.arange(-3, 9, dtype=np.float32).reshape(3, 4)
    found = evaluate(rewrite(g, [first_of_greatest]), {"x": array})["y"]
    np.testing.assert_array_equal(found, np.maximum(array[:, :2] * 9, 0))

    with pytest.raises(RuleError, match=r"known only below the yield; above it, write op\.slice"):

        @rule
        def never(x):
            """Never."""
            yield op.relu(x[0])
            return x
