"""What generated graphs reach: every op of the library, every branch of its attributes, pairs of adjacent ops."""

from __future__ import annotations

import subprocess
import sys
from collections import Counter
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, Phase, given, seed, settings

from graphrewrite import FixedPoint, Stream
from graphrewrite.errors import TypeMismatchError
from graphrewrite.hdl.components import COMPONENTS
from graphrewrite.hierarchy.graph_ops import nested_graphs
from graphrewrite.op import LIBRARY
from graphrewrite.op.domain import TEXTS
from graphrewrite.testing import graphs
from graphrewrite.testing.generation.experience import taken
from graphrewrite.testing.generation.palette import other_ops, usual_ops
from graphrewrite.testing.generation.proposing import sources
from graphrewrite.types import Quantised
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
OTHERS = [
    op
    for op in LIBRARY.values()
    if op not in IN_PAIRS and op.name not in STRUCTURE and op.level != "memory" and op.elements != TEXTS
]
"""Ops that are drawn one by one; generated graphs hold numbers."""
OPS = IN_PAIRS + OTHERS
BRANCHING = [op for op in OPS if op not in HARDWARE]
"""Ops of which every branch of every attribute is reached."""
IMPOSSIBLE = {("fork", "branches", "another")}
"""Branches that are there by their annotation, and that inference refuses."""

DEFAULTS = 1000
"""Graphs of which it is counted what those have that are drawn where no ops are named."""
ALL = {op.name for op in (*usual_ops(), *other_ops())}
NARROW = {"f8e4m3fn", "f16", "bf16", "u8", "u16", "u32", "u64", "i4", "u4", "i16"}


def _types_of(graph):
    results = [data["result"] for data in graph.nodes.values() if data.get("result") is not None]
    return [kind for result in results for kind in (result if isinstance(result, tuple) else (result,))]


PARTS = {
    "only usual ops": lambda g: {d["type"] for d in g.nodes.values()} - STRUCTURE <= {op.name for op in usual_ops()},
    "another op": lambda g: bool({d["type"] for d in g.nodes.values()} & {op.name for op in other_ops()}),
    "annotations": lambda g: any(g.annotations(n) for n in g),
    "an origin": lambda g: any("layer.0" in d.get("origin", ()) for d in g.nodes.values()),
    "an edge that only orders": lambda g: any(g.controls(n) for n in g),
    "a graph inside": lambda g: len(list(nested_graphs(g))) > 1,
    "several results": lambda g: any(isinstance(d.get("result"), tuple) for d in g.nodes.values()),
    "an empty axis": lambda g: any(0 in kind.shape for kind in _types_of(g)),
    "five axes": lambda g: any(len(kind.shape) == 5 for kind in _types_of(g)),
    "no axes": lambda g: any(not kind.shape for kind in _types_of(g)),
    "a size that only the data decide": lambda g: any(kind.unknowns for kind in _types_of(g)),
    "a rare element type": lambda g: any(kind.element in NARROW for kind in _types_of(g)),
    "bools": lambda g: any(kind.element == "bool" for kind in _types_of(g)),
    "quantised numbers": lambda g: any(isinstance(kind.element, Quantised) for kind in _types_of(g)),
    "a layout": lambda g: any(getattr(kind, "layout", None) for kind in _types_of(g)),
    "a negative axis": lambda g: any(isinstance(d.get("axis"), int) and d["axis"] < 0 for d in g.nodes.values()),
}
"""What a graph may have."""
FEW_OF_ALL = DEFAULTS // 100


@pytest.mark.slow(cases=0)
def test_default_graphs_have_nearly_all_ops_and_in_a_few_of_200_what_most_have_not():
    seen, ops = Counter(), Counter()

    def add(graph):
        seen.update(part for part, has in PARTS.items() if has(graph))
        ops.update({data["type"] for data in graph.nodes.values()})

    for first in range(0, DEFAULTS, SLICE):
        each(add, graphs(), SLICE, first)
    print(f"\n{len(ops.keys() & ALL)} of {len(ALL)} ops in {DEFAULTS} graphs; {dict(seen)}")
    assert len(ops.keys() & ALL) > 0.9 * len(ALL)
    assert {part for part in PARTS if seen[part] < FEW_OF_ALL} == set()
    assert seen["only usual ops"] > DEFAULTS / 3


def test_slices_end_beyond_their_axes_and_begin_before_them():
    seen = Counter()

    def add(graph):
        for node, data in graph.nodes.items():
            if data["type"] == "slice":
                shape = graph.result_type(*graph.operands(node)[0]).shape
                axes = data.get("axes") or range(len(shape))
                for axis, start, end in zip(axes, data["starts"], data["ends"], strict=False):
                    size = shape[axis]
                    seen.update(beyond=isinstance(size, int) and end > size, negative=start < 0 or end < 0)

    each(add, graphs(ops=["slice"]), SLICE, 0)
    assert min(seen["beyond"], seen["negative"]) > 10


COLD = """
import time
from hypothesis import HealthCheck, given, settings
from graphrewrite.testing import graphs

begun = time.process_time()

@settings(max_examples=10, database=None, suppress_health_check=list(HealthCheck))
@given(graphs())
def draw(graph):
    pass

draw()
print(time.process_time() - begun)
"""


def cold_start() -> float:
    """How many seconds the first graphs of a new process take."""
    root = str(Path(__file__).parents[2])
    done = subprocess.run(
        [sys.executable, "-c", COLD], capture_output=True, text=True, env={"PYTHONPATH": root}, check=True
    )
    return float(done.stdout)


def test_the_first_graphs_of_a_process_take_less_time_than_a_health_check_allows():
    assert any(cold_start() < 1 for _ in range(3))  # what else runs can make one of them slower


def drawn(found, ops, count, first=0):
    each(found.add, graphs(ops=ops, every_type=True), count, first)


def each(add, strategy, count, first):
    """Call a function with each of some graphs."""

    @seed(first)
    @settings(
        max_examples=count,
        database=None,
        deadline=None,
        phases=[Phase.generate],
        suppress_health_check=list(HealthCheck),
    )
    @given(strategy)
    def draw(graph):
        add(graph)

    draw()


@pytest.mark.parametrize("op", OPS, ids=lambda op: op.name)
def test_every_op_has_cases(op):
    assert taken(op) if op.operands else sources(op)


@pytest.mark.slow(cases=0)
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
