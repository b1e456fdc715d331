"""Graphs that contain an op, also where its attributes follow from the whole of its operand's format."""

from __future__ import annotations

from hypothesis import strategies as st

from graphrewrite import Graph, op, rule
from graphrewrite.op.op import Op
from graphrewrite.testing import graphs


@rule
def keep_lines(x):
    """The pattern from which the generator goes backwards to an operand and attributes that fit each other."""
    made = op.integer_interpolate(x)
    yield made
    return op.identity(made)


FROM_A_PATTERN = {"integer_interpolate": keep_lines}


def graphs_with(tested: Op) -> st.SearchStrategy[Graph]:
    """Random graphs with an op in them."""
    found = FROM_A_PATTERN.get(tested.name)
    return graphs(ops=[tested]) if found is None else graphs(containing=found)
