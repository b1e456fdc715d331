"""Identities with limits, at the numbers where two signs of zero can be told apart."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest

from graphrewrite import Graph, Tensor, evaluate, op, rewrite
from graphrewrite.rules.limits import merge_clips

LIMITS = [None, -1.0, -0.0, 0.0, 1.0]
NUMBERS = [-2.0, -1.0, -0.5, -0.0, 0.0, 0.5, 1.0, 2.0, np.nan, np.inf, -np.inf]


@pytest.mark.parametrize("element", ["f16", "f32", "f64"])
def test_merged_limits_keep_the_sign_of_zero(element):
    x = np.array(NUMBERS, {"f16": np.float16, "f32": np.float32, "f64": np.float64}[element])
    merged = 0
    for a, b, c, d in product(LIMITS, repeat=4):
        graph = Graph("limits")
        graph.output("y", op.clip(op.clip(graph.input("x", Tensor(element, ("N",))), low=a, high=b), low=c, high=d))
        after = rewrite(graph, merge_clips)
        merged += len(after) < len(graph)
        before, found = evaluate(graph, {"x": x})["y"], evaluate(after, {"x": x})["y"]
        assert str(before.tolist()) == str(found.tolist()), (a, b, c, d)
    assert merged > 100
