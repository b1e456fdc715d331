"""What generated graphs reach: every op of the library, every branch of its attributes, pairs of adjacent ops."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import HealthCheck, Phase, given, seed, settings

from graphrewrite import FixedPoint, Stream
from graphrewrite.errors import TypeMismatchError
from graphrewrite.hdl.components import COMPONENTS
from graphrewrite.op import LIBRARY
from graphrewrite.op.domain import TEXTS
from graphrewrite.testing import graphs
from graphrewrite.testing.generation.experience import taken
from graphrewrite.testing.generation.proposing import sources
from tests.hdl.configurations import BY_NAME, configurations_of
from tests.support.central_ops import CENTRAL_OPS
from tests.support.generator_reach import Reached, branches_in, branches_of, possible_pairs
from tests.support.profiles import some_of

pytestmark = pytest.mark.slow

GRAPHS, SLICE, FEW, MORE, CONFIGURATIONS = 10_000, 250, 6, 80, 60
STRUCTURE = {"input", "output", "constant"}
"""What every graph has, and no op computes."""
FIRST = {"add", "argmax", "clip", "fifo", "fork", "matvec", "maximum", "requantise", "reshape", "window"}
HARDWARE = [c.op for c in COMPONENTS if c.op.name.removeprefix("stream_") in FIRST]
"""The first components: how all of them stand beside each other, tests/support/growing_designs.py tries."""
IN_PAIRS = [*some_of([LIBRARY[name] for name in sorted(CENTRAL_OPS) if name not in STRUCTURE]), *HARDWARE]
"""Ops of which every pair is reached."""
OTHERS = [op for op in LIBRARY.values() if op not in IN_PAIRS and op.name not in STRUCTURE and op.elements != TEXTS]
"""Ops that are drawn one by one; generated graphs hold numbers."""
OPS = IN_PAIRS + OTHERS
BRANCHING = [op for op in OPS if op not in HARDWARE]
"""Ops of which every branch of every attribute is reached."""
IMPOSSIBLE = {("fork", "branches", "another")}
"""Branches that are there by their annotation, and that inference refuses."""


def drawn(found, ops, count, first=0):
    @seed(first)
    @settings(
        max_examples=count,
        database=None,
        deadline=None,
        phases=[Phase.generate],
        suppress_health_check=list(HealthCheck),
    )
    @given(graphs(ops=ops, every_type=True))
    def draw(graph):
        found.add(graph)

    draw()


@pytest.mark.parametrize("op", OPS, ids=lambda op: op.name)
def test_every_op_has_cases(op):
    assert taken(op) if op.operands else sources(op)


def test_every_op_every_branch_of_its_attributes_and_every_pair_of_adjacent_ops_is_reached():
    branches, pairs = {branch for op in BRANCHING for branch in branches_of(op)} - IMPOSSIBLE, possible_pairs(IN_PAIRS)
    wanted = {*pairs, *(b for op in IN_PAIRS if op in BRANCHING for b in branches_of(op))} - IMPOSSIBLE
    reached = Reached(OPS)
    for first in range(0, GRAPHS, SLICE):
        drawn(reached, IN_PAIRS, SLICE, first)
        if not reached.missing(wanted):
            break
    for op in OTHERS:
        for first, count in ((0, FEW), (0, MORE // 4), (1, MORE)):
            drawn(reached, [op], count, first)
            if not reached.missing({op.name, *branches_of(op)} - IMPOSSIBLE):
                break
    print(f"\n{reached.graphs} graphs of {reached.nodes / reached.graphs:.1f} ops each reach")
    for what, all_of in (("ops", {op.name for op in OPS}), ("branches of attributes", branches), ("pairs", pairs)):
        print(reached.line(what, all_of))
        assert reached.missing(all_of) == []


@pytest.mark.parametrize("name", BY_NAME)
def test_every_branch_of_a_component_s_attributes_is_among_its_configurations(name):
    op, found, random = BY_NAME[name].op, configurations_of(name), np.random.default_rng(0)
    sites = [*found.corners(), *(found.draw(random) for _ in range(CONFIGURATIONS))]
    taken = {branch for site in sites for branch in branches_in(op, dict(site.attributes))}
    assert sorted({*branches_of(op)} - taken - IMPOSSIBLE) == []


def test_most_pairs_are_possible_and_those_of_two_levels_are_not():
    floats = ("relu", "add", "softmax", "conv", "linear", "reshape", "batch_norm")
    found = possible_pairs([LIBRARY[n] for n in (*floats, "to_fixed", "requantise", "integer_linear")] + HARDWARE)
    assert {(one, other) for one in floats for other in ("relu", "add", "softmax", "reshape")} <= found
    assert {("to_fixed", "requantise"), ("requantise", "integer_linear"), ("fork", "stream_add")} <= found
    assert not {("relu", "window"), ("window", "relu"), ("softmax", "requantise"), ("conv", "fork")} & found


def test_what_counts_as_impossible_is_refused():
    fork = next(op for op in OPS if op.name == "fork")
    for branches in (0, 1, 3):
        with pytest.raises(TypeMismatchError, match="two branches"):
            fork.infer(Stream(FixedPoint(True, 8), (2,)), branches=branches)
