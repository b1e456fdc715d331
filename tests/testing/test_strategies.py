from __future__ import annotations

import ast
import subprocess
import sys
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, Phase, find, given, settings
from hypothesis import strategies as st

from graphrewrite import FixedPoint, Graph, Stream, Tensor, define_op, op, rule, verify
from graphrewrite.hdl.components.add import add
from graphrewrite.testing import assert_idempotent, assert_preserves, assert_refines, check, graphs, inputs_for
from graphrewrite.testing.generation.tables import DEFAULT_OPS

FEATURES = {
    "several inputs": lambda g: len(g.inputs) > 2,
    "several outputs": lambda g: len(g.outputs) > 2,
    "a shared value": lambda g: any(len(g.succ[n]) > 1 for n in g if g.nodes[n]["type"] not in ("input", "constant")),
    "a repeated operand": lambda g: any(len(d["slots"]) > 1 for _, _, d in g.edges(data=True)),
    "a dead node": lambda g: bool(g.dead_nodes() - set(g.inputs)),
    "a constant": lambda g: any(d["type"] == "constant" for d in g.nodes.values()),
    "an independent node": lambda g: any(
        g.nodes[n]["type"] not in ("constant", "output") for n in g.independent_nodes()
    ),
    "an optional operand": lambda g: any(d["type"] == "conv" and len(g.operands(n)) == 3 for n, d in g.nodes.items()),
    "broadcasting": lambda g: any(
        d["type"] == "add" and len({g.result_type(*o) for o in g.operands(n)}) > 1 for n, d in g.nodes.items()
    ),
}


SOME = settings(max_examples=1000, database=None, phases=[Phase.generate], suppress_health_check=list(HealthCheck))
"""Any example will do: none is made smaller."""


@pytest.mark.parametrize("feature", FEATURES)
def test_graphs_have(feature):
    assert find(graphs(), FEATURES[feature], settings=SOME)


def test_every_op_is_reached():
    seen: Counter[str] = Counter()

    @settings(max_examples=500)
    @given(graphs())
    def examine(graph):
        verify(graph)
        seen.update(data["type"] for data in graph.nodes.values())

    examine()
    assert set(DEFAULT_OPS) <= set(seen)


def test_ops_of_one_s_own_need_no_generator():
    @define_op
    def cube(x):
        """The third power."""
        return x * x * x

    @rule(keeps="rounding")
    def unroll(x):
        yield cube(x)
        return op.mul(op.mul(x, x), x)

    assert_preserves(unroll)
    assert find(graphs(ops=[cube]), lambda g: "cube_1" in g, settings=SOME)


@rule(shared="keep")
def outer_only(x):
    yield op.abs(op.neg(x))
    return op.abs(x)


@rule
def turned(x, y):
    """A sum, which takes numbers and streams of any shape."""
    total = op.add(x, y)
    yield total
    return op.add(y, x)


@rule
def turned_streams(x, y):
    """A sum of streams."""
    total = add(x, y)
    yield total
    return add(y, x, like=total)


@pytest.mark.parametrize("member", [turned, turned_streams], ids=lambda member: member.name)
def test_operands_of_one_type_are_one_value_or_several(member):
    """Of fixed types they may be constants, which are several; those of open types and streams must be inputs."""
    seen: Counter[bool] = Counter()

    @settings(max_examples=60)
    @given(graphs(containing=member))
    def examine(graph):
        for match in member.find(graph):
            x, y = graph.operands(match.nodes[0])
            both = [(graph.nodes[each.node]["type"], graph.result_type(each.node)) for each in (x, y)]
            if both[0] == both[1] and both[0][0] == "input":
                seen[x == y] += 1

    examine()
    assert min(seen[True], seen[False]) > 2, seen


def test_the_pattern_is_embedded_with_readers_outside():
    inner = [0]

    @settings(max_examples=50)
    @given(graphs(containing=outer_only))
    def examine(graph):
        assert outer_only.find(graph)
        inner[0] += any(len(graph.succ[m.nodes[0]]) > 1 for m in outer_only.find(graph))

    examine()
    assert inner[0] > 3


def test_inputs_hold_zeros_ties_extremes_and_nan_where_the_type_has_them():
    graph = Graph("g")
    graph.output("y", graph.input("x", Tensor("f32", ("N", 4))))
    graph.output("z", graph.input("s", Stream(FixedPoint(True, 8, 4), (2, 3))))
    graph.input("w", Tensor("f32", (3,)))

    @given(inputs_for(graph), inputs_for(graph, moderate=True))
    def examine(wild, moderate):
        assert (wild["x"][0] == 0).all()
        assert np.isnan(wild["x"]).any() or np.isinf(wild["x"]).any() or (np.abs(wild["x"]) > 1e20).any()
        assert np.abs(moderate["x"]).max() <= 8
        assert wild["s"].shape[1:] == (2, 3)
        assert wild["s"].min() >= -128
        assert wild["w"].shape == (3,)
        assert {a.dtype for a in (wild["x"], wild["w"])} == {np.dtype(np.float32)}
        assert wild["s"].dtype == np.int8

    examine()


def test_a_report_counts():
    report = check(outer_only)
    assert report
    assert report.verdict == "preserved"
    assert report.fired["outer_only"] > 10
    assert report.ops["abs"] >= report.graphs
    assert "outer_only: preserved in" in str(report)
    assert "<table" in report._repr_html_()


def test_idempotence_and_refinement_are_refuted():
    @rule
    def peel(x):
        yield op.neg(op.neg(op.neg(x)))
        return op.neg(x)

    assert_idempotent(peel)

    def halve(graph):
        """One negation less each time."""
        new = graph.copy()
        for node in new.in_order():
            if new.nodes[node]["type"] == "neg":
                new.nodes[node]["type"] = "identity"
                return new
        return new

    with pytest.raises(AssertionError, match="halve changes its own result"):
        assert_idempotent(halve, on=graphs(ops=["neg"]))

    @rule
    def coarse(x):
        yield op.quantise(x)
        return x

    with pytest.raises(AssertionError, match=r"they may differ by 0\.001"):
        assert_refines(coarse, error=1e-3)

    @rule
    def line(x):
        yield op.tanh(x)
        return op.clip(x, low=-1.0, high=1.0)

    assert_refines(line, graphs(containing=line, ops=[]), error=0.4)  # 0.24 each, of at most two one after the other


def test_the_argument_on_says_where():
    with pytest.raises(AssertionError, match="never fired"):
        assert_preserves(outer_only, on=st.just(Graph.parse("graph g\nx = input() : f32[N]\ny = output(x)")))


def test_counterexamples_are_the_same_every_time():
    @rule
    def wrong(x, y):
        yield op.sub(x, y)
        return op.add(x, y)

    first, second = check(wrong), check(wrong)
    assert str(first) == str(second)


def test_a_missing_hypothesis_is_said_in_one_line():
    code = "import sys; sys.modules['hypothesis'] = None\nimport graphrewrite.testing"
    root = str(Path(__file__).parents[2])
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, env={"PYTHONPATH": root}, check=False
    )
    last = done.stderr.splitlines()[-1]
    assert "tests of rules need the extra 'testing': pip install 'graphrewrite[testing]'" in last


def test_hypothesis_shows_graphs_and_inputs_as_code():
    """A failing test prints what makes its graph and its inputs again, in a tuple and drawn inside of a test alike."""

    @settings(
        max_examples=20,
        database=None,
        phases=[Phase.generate],
        print_blob=False,
        suppress_health_check=list(HealthCheck),
    )
    @given(graphs(), st.data())
    def fails(graph, data):
        drawn = data.draw(
            graphs(ops=["concat", "clip"], every_type=True).flatmap(lambda g: st.tuples(st.just(g), inputs_for(g)))
        )
        if len(graph) > 5 and drawn[1]:
            found[:] = [graph, *drawn]
            raise AssertionError

    found: list[Any] = []
    with pytest.raises(AssertionError) as caught:
        fails()
    notes = "\n".join(caught.value.__notes__)
    shown = notes.partition("fails(")[2]
    call, _, draw = shown.partition("Draw 1: ")
    tree = ast.parse("fails(" + call.strip())
    code = [
        next(k.value for k in tree.body[0].value.keywords if k.arg == "graph"),
        *ast.parse(draw.strip()).body[0].value.elts,
    ]
    again = [eval(ast.unparse(each), {"Graph": Graph, "np": np}) for each in code]
    assert again[:2] == found[:2]
    assert {n: a.tobytes() for n, a in again[2].items()} == {n: a.tobytes() for n, a in found[2].items()}
