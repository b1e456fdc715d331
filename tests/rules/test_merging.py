"""Products that share an operand."""

from __future__ import annotations

from graphrewrite import op, rewrite
from graphrewrite.rules import MERGE_PRODUCTS
from tests.rules.matrix_graphs import SEQUENCES, graph_of, ops, rewritten, weights


def test_layers_of_one_operand_are_one():
    def three(x):
        return tuple(op.linear(x, weights(n, 4), weights(n)) for n in (2, 3, 5))

    assert ops(rewritten(graph_of(three, ("N", 4)), MERGE_PRODUCTS)) == ["linear", "split"]


def test_products_of_one_operand_are_one_whoever_else_reads_it():
    graph = graph_of(lambda x: (op.matmul(x, weights(4, 2)), op.relu(x), op.matmul(x, weights(4, 3))), SEQUENCES)
    assert sorted(ops(rewritten(graph, MERGE_PRODUCTS))) == ["matmul", "relu", "split"]


def test_sums_of_products_of_one_operand_are_one():
    def three(x):
        return tuple(op.add(op.matmul(x, weights(4, n)), weights(n)) for n in (2, 3, 5))

    assert ops(rewritten(graph_of(three, SEQUENCES), MERGE_PRODUCTS)) == ["matmul", "add", "split"]


def test_products_without_addends_are_merged_with_those_that_have_some():
    def three(x):
        first, second, third = (op.matmul(x, weights(4, n)) for n in (2, 3, 5))
        return op.add(first, weights(2)), op.relu(second), op.add(third, weights(5))

    found = ops(rewritten(graph_of(three, SEQUENCES), MERGE_PRODUCTS))
    assert sorted(found) == ["add", "matmul", "relu", "split", "split"]


def test_products_of_one_matrix_are_one():
    graph = graph_of(lambda x, y, z, w: tuple(op.matmul(each, w) for each in (x, y, z)), (2, 4), (3, 4), (1, 4), (4, 6))
    assert ops(rewritten(graph, MERGE_PRODUCTS)) == ["concat", "matmul", "split"]


def test_products_with_computed_matrices_are_one():
    graph = graph_of(lambda x, v, w: (op.matmul(x, v), op.matmul(x, op.relu(w))), SEQUENCES, (4, 6), (4, 5))
    assert ops(rewritten(graph, MERGE_PRODUCTS)) == ["relu", "concat", "matmul", "split"]


def test_products_that_need_each_other_stay():
    graph = graph_of(lambda x, w: op.matmul(op.relu(op.matmul(x, w)), w), (2, 4), (4, 4))
    assert rewrite(graph, MERGE_PRODUCTS) == graph
