"""Names of ops in other libraries."""

from __future__ import annotations

import pytest

from graphrewrite import Graph, op, rule
from graphrewrite.errors import GraphRewriteError, RuleError
from graphrewrite.op import LIBRARY
from graphrewrite.op.other_names import OTHER_NAMES


def test_each_means_ops_of_the_library_and_is_none():
    assert not OTHER_NAMES.keys() & LIBRARY.keys()
    assert {name for meant in OTHER_NAMES.values() for name in meant} <= LIBRARY.keys()


def test_what_is_meant_is_said_wherever_an_op_is_named():
    for name, meant in OTHER_NAMES.items():
        with pytest.raises(AttributeError, match=rf"unknown op '{name}'; did you mean '{meant[0]}'"):
            getattr(op, name)
    with pytest.raises(GraphRewriteError, match="did you mean 'transpose'"):
        Graph.parse("graph g\nx = input() : f32[2,3]\ny_1 = permute(x) : f32[3,2]\ny = output(y_1)")
    with pytest.raises(RuleError, match="did you mean 'maximum' or 'reduce_max'"):

        @rule
        def wrong(x):
            yield op.relu(x)
            return op.max(x, 0.0)
