"""What generated graphs reach: every op of the library, every branch of its attributes, every pair of adjacent ops."""

from __future__ import annotations

import pytest
from hypothesis import HealthCheck, Phase, given, settings

from graphrewrite import FixedPoint, Stream
from graphrewrite.errors import TypeMismatchError
from graphrewrite.hdl.components import COMPONENTS
from graphrewrite.op import LIBRARY
from graphrewrite.testing import graphs
from graphrewrite.testing.generation.experience import taken
from graphrewrite.testing.generation.proposing import sources
from tests.testing.reach import Reached, branches_of, possible_pairs

GRAPHS = 5000
STRUCTURE = {"input", "output", "constant"}
"""What every graph has, and no op computes."""
OPS = [op for op in LIBRARY.values() if op.name not in STRUCTURE] + [component.op for component in COMPONENTS]
IMPOSSIBLE = {("fork", "branches", "another")}
"""Branches that are there by their annotation, and that inference refuses."""


@pytest.fixture(scope="module")
def reached():
    found = Reached(OPS)

    @settings(
        max_examples=GRAPHS,
        derandomize=True,
        database=None,
        deadline=None,
        phases=[Phase.generate],
        suppress_health_check=list(HealthCheck),
    )
    @given(graphs(ops=OPS, every_type=True))
    def draw(graph):
        found.add(graph)

    draw()
    print(f"\n{found.graphs} graphs of {found.nodes / found.graphs:.1f} ops each reach")
    return found


@pytest.mark.parametrize("op", OPS, ids=lambda op: op.name)
def test_every_op_has_cases(op):
    assert taken(op) if op.operands else sources(op)


def test_every_op_is_reached(reached):
    wanted = {op.name for op in OPS}
    print(reached.line("ops", wanted))
    assert reached.missing(wanted) == []


def test_every_branch_of_every_attribute_is_reached(reached):
    wanted = {branch for op in OPS for branch in branches_of(op)} - IMPOSSIBLE
    print(reached.line("branches of attributes", wanted))
    assert reached.missing(wanted) == []


def test_every_pair_of_adjacent_ops_is_reached(reached):
    wanted = possible_pairs(OPS)
    print(reached.line("pairs of adjacent ops", wanted))
    assert reached.missing(wanted) == []


def test_most_pairs_are_possible_and_those_of_two_levels_are_not():
    found = possible_pairs(OPS)
    floats = ("relu", "add", "softmax", "conv", "linear", "reshape", "batch_norm")
    assert {(one, other) for one in floats for other in ("relu", "add", "softmax", "reshape")} <= found
    assert {("to_fixed", "requantise"), ("requantise", "integer_linear"), ("fork", "stream_add")} <= found
    assert not {("relu", "window"), ("window", "relu"), ("softmax", "requantise"), ("conv", "fork")} & found


def test_what_counts_as_impossible_is_refused():
    fork = next(op for op in OPS if op.name == "fork")
    for branches in (0, 1, 3):
        with pytest.raises(TypeMismatchError, match="two branches"):
            fork.infer(Stream(FixedPoint(True, 8), (2,)), branches=branches)
