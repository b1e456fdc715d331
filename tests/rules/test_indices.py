"""Indices keep their numbers whatever their type is, and models that cast them lose the cast."""

from __future__ import annotations

import numpy as np
import pytest

from graphrewrite import Graph, evaluate, rewrite, rules
from graphrewrite.rules import FOLDING, RULES

CAST = """graph g
x = input() : f32[5,3]
i = input() : i32[N]
wide = cast(i, element="i64")
r = {0}(x, wide)
y = output(r)"""

CONSTANT = """graph g
x = input() : f32[5]
i = constant(value=[4, -5, 1]) : i64[3]
r = gather(x, i)
y = output(r)"""


@pytest.mark.parametrize("taken", ["gather", "gather_nd"])
def test_a_widened_index_is_used_as_it_was(taken):
    text = CAST.format(taken).replace("i32[N]", "i32[N,1]" if taken == "gather_nd" else "i32[N]")
    graph = Graph.parse(text)
    after = rewrite(graph, RULES)
    assert [after.nodes[node]["type"] for node in after.in_order()] == ["input", "input", taken, "output"]
    inputs = {"x": np.arange(15.0).reshape(5, 3), "i": np.array([4, -1, 0]).reshape(-1, *[1] * (taken == "gather_nd"))}
    np.testing.assert_array_equal(evaluate(graph, inputs)["y"], evaluate(after, inputs)["y"])


def test_constants_are_stored_in_half_the_room():
    graph = Graph.parse(
        "graph g\nx = input() : f32[5]\ni = constant(value=[4, -5, 1]) : i64[3]\nr = gather(x, i)\ny = output(r)"
    )
    after = rewrite(graph, [rules.narrow_constant_indices, *RULES, *FOLDING])
    (index,) = (after.nodes[node]["value"] for node in after if after.nodes[node]["type"] == "constant")
    assert index.dtype == np.int32
    np.testing.assert_array_equal(after(np.arange(5.0)), graph(np.arange(5.0)))
