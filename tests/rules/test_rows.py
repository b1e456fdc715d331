"""Layers of all rows at once."""

from __future__ import annotations

import pytest

from graphrewrite import op
from graphrewrite.rules import FOLDING, ROWS
from tests.rules.matrix_graphs import SEQUENCES, graph_of, ops, rewritten, weights


@pytest.mark.parametrize("shape", [("N", 5, 4), (2, "N", "S", 4), ("N", "S", 3, 4)])
def test_rows_are_one_matrix(shape):
    graph = graph_of(lambda x: op.matmul(x, weights(4, 6)) + weights(6), shape)
    assert ops(rewritten(graph, [*FOLDING, *ROWS])) == ["reshape", "linear", "reshape"]


def test_rows_stay_a_matrix_between_layers():
    def perceptron(x):
        inner = op.gelu(op.matmul(x, weights(4, 6)) + weights(6))
        return op.layer_norm(op.matmul(inner, weights(6, 4)) + weights(4) + x, weights(4), weights(4))

    after = rewritten(graph_of(perceptron, SEQUENCES), [*FOLDING, *ROWS])
    assert ops(after) == ["reshape", "linear", "gelu", "linear", "add", "layer_norm", "reshape"]
