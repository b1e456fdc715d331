"""Rules compared by other engines: onnxruntime and C for models, GHDL for designs."""

from __future__ import annotations

import numpy as np
import pytest

from graphrewrite import Graph, op, rule
from graphrewrite.errors import RuleError
from graphrewrite.hdl.components.fifo import fifo
from graphrewrite.testing import assert_refines, check
from graphrewrite.testing.comparison import NoVerdictError
from graphrewrite.testing.engines import engine_of
from tests.support.c_programs import needs_cc
from tests.support.profiles import fewer_graphs

SEED = 0


@rule
def two_signs(x):
    """Minus minus x is x."""
    yield op.neg(op.neg(x))
    return x


@rule
def two_relus(x):
    """A relu of a relu is the relu."""
    yield op.relu(op.relu(x))
    return op.relu(x)


@needs_cc
def test_c_sees_what_differs():
    before = Graph.parse("graph g\nx = input() : f32[3]\nr = relu(x)\ny = output(r)")
    after = Graph.parse("graph g\nx = input() : f32[3]\nr = neg(x)\ny = output(r)")
    inputs = {"x": np.array([0, 1, 2], np.float32)}
    by_c = engine_of("c")
    assert by_c(before, before, inputs) is None
    assert "output y[1] was 1.0 and became -1.0" in by_c(before, after, inputs).reason
    texts = Graph.parse("graph g\nx = input() : string[3]\ny = output(x)")
    with pytest.raises(NoVerdictError, match="C cannot compute it"):
        by_c(texts, texts, {"x": np.array(["a", "b", "c"])})


@pytest.mark.slow(cases=0)
@needs_cc
def test_a_rule_is_compared_in_c():
    graph = Graph.parse("graph g\nx = input() : f32[N,3]\nr = relu(x)\ns = relu(r)\ny = output(s)")
    with fewer_graphs():
        assert check(two_relus, on=graph, against="c", seed=SEED).verdict == "preserved"


@needs_cc
def test_a_lowering_is_refined_in_c_within_its_error_and_states_cycle_by_cycle():
    @rule
    def nearly(x):
        """A relu, and a little more."""
        yield op.relu(x)
        return op.add(op.clip(x, low=0.0), 0.125)

    graph = Graph.parse("graph g\nx = input() : f32[N,3]\nd = delay(x, cycles=2)\nr = relu(d)\ny = output(r)")
    with fewer_graphs():
        assert_refines(nearly, graph, error=0.13, against="c", seed=SEED)
    stateless = Graph.parse("graph g\nx = input() : f32[N,3]\nr = relu(x)\ny = output(r)")
    by_c, inputs = engine_of("c"), {"x": np.float32([[1, 2, 3]])}
    assert by_c(stateless, nearly(stateless), inputs, 0.13) is None
    assert "was 1.0 and became 1.125" in by_c(stateless, nearly(stateless), inputs).reason


@pytest.mark.parametrize("subject", [two_signs, two_relus], ids=lambda r: r.name)
def test_a_right_rule_is_preserved_by_another_engine(subject):
    pytest.importorskip("onnxruntime")
    report = check(subject, against="onnxruntime", seed=SEED)
    assert report.verdict == "preserved", report
    assert report.evidence[subject.name].compared > 10


def test_an_engine_sees_what_differs():
    pytest.importorskip("onnxruntime")
    before = Graph.parse("graph g\nx = input() : f32[3]\nr = relu(x)\ny = output(r)")
    after = Graph.parse("graph g\nx = input() : f32[3]\nr = neg(x)\ny = output(r)")
    inputs = {"x": np.array([0, 1, 2], np.float32)}
    run = engine_of("onnxruntime")
    assert run(before, before, inputs) is None
    assert "output y[1] was 1.0 and became -1.0" in run(before, after, inputs).reason


def test_what_an_engine_cannot_compute_is_not_compared():
    pytest.importorskip("onnxruntime")
    graph = Graph.parse("graph g\nx = input() : s8f4[N]\nr = relu(x)\ns = relu(r)\ny = output(s)")
    report = check(two_relus, on=graph, against="onnxruntime", seed=SEED)
    assert report.verdict == "not compared"
    assert "onnxruntime cannot compute it" in str(report)


def test_an_unknown_engine_is_refused_with_those_there_are():
    with pytest.raises(RuleError, match=r"no engine 'onnxruntim'; did you mean 'onnxruntime'.*'ghdl'"):
        check(two_signs, against="onnxruntim")
    with pytest.raises(RuleError, match=r"'litert' is no engine: .*never written as; there are 'onnxruntime', 'c'"):
        check(two_signs, against="litert")


@rule
def one_store(x):
    """A store in two parts is one of as many places."""
    outer = fifo(fifo(x, depth=2), depth=3)
    yield outer
    return fifo(x, depth=5)


@pytest.mark.ghdl
@pytest.mark.slow
def test_a_design_is_run_by_ghdl():
    lines = ("x = input() : stream s8f4[2,3]", "a = fifo(x, depth=2)", "b = fifo(a, depth=3)", "y = output(b)")
    graph = Graph.parse("\n".join(["graph g", *lines]), ops=[fifo])
    run = engine_of("ghdl")
    assert run(graph, one_store(graph), {}) is None
    with pytest.raises(NoVerdictError, match="no part of the result is a design"):
        run(graph, Graph.parse("graph g\nx = input() : f32[3]\ny = output(x)"), {})
