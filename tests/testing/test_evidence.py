"""A verdict says what was compared, and never more."""

from __future__ import annotations

import pytest

from graphrewrite import Graph, op, pass_, rule
from graphrewrite.testing import (
    assert_preserves,
    check,
)


@rule
def drop_double_negation(x):
    """Minus minus x is x."""
    yield op.neg(op.neg(x))
    return x


@pass_
def drop_dilations(graph):
    """Wrong, and tried where nobody looks."""
    dilated = [n for n, data in graph.nodes.items() if "dilations" in data]
    for node in dilated:
        del graph.nodes[node]["dilations"]
    return dilated


DEAD = Graph.parse("""
graph g
x = input() : f32[N,1,5,5]
w = constant(value=[[[[1.0]]]]) : f32[1,1,1,1]
c = conv(x, w, dilations=[2, 2]) : f32[N,1,5,5]
y = output(x)
""")


def test_what_no_output_depends_on_is_not_compared():
    report = check(drop_dilations, on=DEAD, seed=0)
    assert (report.verdict, bool(report)) == ("not compared", False)
    assert report.evidence["drop_dilations"].dead == report.graphs
    assert "where no output depends on it" in str(report)
    with pytest.raises(AssertionError, match="not compared"):
        assert_preserves(drop_dilations, on=DEAD)


@pass_
def renames_nothing(graph):
    """Says that it changed something, and did not, once."""
    first = not graph.graph.get("seen")
    return list(graph.nodes)[:1] if graph.nodes and first and not graph.graph.update(seen=True) else []


@rule
def gather_twice(x, i, j):
    """Two gathers are one, of gathered indices."""
    yield op.gather(op.gather(x, i, axis=0), j, axis=0)
    return op.gather(x, op.gather(i, j, axis=0), axis=0)


OUT_OF_RANGE = Graph.parse("""
graph g
x = input() : f32[4]
i = input() : i64[N]
j = constant(value=[5]) : i64[1]
a = gather(x, i) : f32[N]
b = gather(a, j) : f32[1]
y = output(b)
""")


@pytest.mark.parametrize("seed", range(3))
def test_a_graph_that_cannot_be_evaluated_is_no_fault_of_the_rule(seed):
    assert check(gather_twice, seed=seed).verdict in ("preserved", "weak")
