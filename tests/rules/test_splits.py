"""Splits and slices: one form among the rules, one op at the end."""

from __future__ import annotations

import numpy as np
import pytest

from graphrewrite import evaluate, op
from graphrewrite.lowering import optimise
from graphrewrite.rules import join_slices
from tests.rules.declines.parts import cut
from tests.support.rewritten import graph_of, left


def parts(x, *sizes):
    return op.split(x, sizes=sizes, axis=1)


def test_slices_of_slices_are_joined():
    def body(x):
        rest = cut(x, 2, 6)
        return op.concat(cut(x, 0, 2), cut(rest, 0, 2), cut(rest, 2, 4), axis=1)

    graph = graph_of(body, "f32[N,6]")
    assert kinds(join_slices(graph)) == ["split", "split", "concat"]


def kinds(graph):
    found = [graph.nodes[node]["type"] for node in graph.in_order()]
    return [kind for kind in found if kind not in ("input", "output", "constant")]


@pytest.mark.parametrize(
    ("body", "ops"),
    [
        (lambda x: op.concat(*parts(x, 2, 1, 3), axis=1), []),
        (lambda x: parts(x, 2, 4)[1], ["slice"]),
        (lambda x: op.add(*parts(op.concat(x, op.relu(x), axis=1), 6, 6)), ["relu", "add"]),
        (lambda x: op.concat(*parts(parts(x, 4, 2)[0], 1, 3), parts(x, 4, 2)[1], axis=1), []),
        (lambda x: op.sub(parts(x, 2, 2, 2)[0], parts(x, 2, 2, 2)[2]), ["split", "sub"]),
        (lambda x: op.mul(cut(x, 0, 3), cut(x, 3, 6)), ["split", "mul"]),
    ],
)
def test_a_split_is_read_as_slices_and_slices_are_joined(body, ops):
    before = graph_of(body, "f32[N,6]")
    after = optimise(before)
    assert kinds(after) == ops
    given = {"x0": np.arange(18, dtype=np.float32).reshape(3, 6)}
    np.testing.assert_array_equal(evaluate(after, given)["y"], evaluate(before, given)["y"])


@pytest.mark.parametrize(
    "body",
    [
        lambda x: op.add(cut(x, 0, 3), cut(x, 2, 5)),  # they overlap
        lambda x: op.add(cut(x, 0, 1), cut(x, 5, 6)),  # the rest is more
        lambda x: op.add(cut(x, 0, 3), op.slice(x, starts=(1,), ends=(6,), axes=(1,), steps=(2,))),
    ],
)
def test_other_slices_stay(body):
    assert left(body, ["f32[N,6]"], [join_slices]) == ["slice", "slice", "add"]
