"""What random rules have found, made small."""

from __future__ import annotations

from typing import Any, NamedTuple

import pytest

from graphrewrite import Graph, Module, Tensor, decline, define_op, op, rewrite, rule, trace
from graphrewrite.errors import GraphError, RewriteError, RuleError
from graphrewrite.rewriting.engine.engine import Engine
from tests.rewriting.test_fused import at_once, ordinary_way, whole  # noqa: F401  # a fixture
from tests.support.sources import OWN_OPS, affine, scale

VECTOR = Tensor("f32", (3,))


@pytest.fixture(params=["fused", "ordinary"])
def way(request, monkeypatch) -> Any:
    if request.param == "fused":
        yield
    else:
        with ordinary_way(monkeypatch):
            yield


@pytest.mark.usefixtures("way")
def test_a_constant_goes_that_replaces_what_nothing_reads():
    @rule
    def drop(x):
        yield op.relu(x)
        return x

    graph = Graph("g")
    op.relu(graph.constant([1, 2, 3], type=VECTOR))
    graph.output("y", graph.input("x", VECTOR))
    assert set(rewrite(graph, [drop])) == {"x", "y"}
    made = rewrite(graph.copy(), [drop], copy=False)
    assert set(made) == {"x", "y"}
    assert set(trace(graph, [drop]).steps[0].removed) == {"relu_1", "constant_1"}


@pytest.mark.usefixtures("way")
def test_new_nodes_are_named_in_the_order_of_operands_wherever_they_are_written():
    @rule
    def spread(x):
        yield op.relu(x)
        right = op.neg(op.exp(x))
        left = op.neg(op.abs(x))
        return op.sub(left, right)

    graph = Graph("g")
    graph.output("y", op.relu(graph.input("x", VECTOR)))
    made = rewrite(graph, [spread])
    assert [operand.node for operand in made.operands("sub_1")] == ["neg_1", "neg_2"]
    assert [made.operands(name)[0].node for name in ("neg_1", "neg_2")] == ["abs_1", "exp_1"]
    assert list(made) == ["x", "y", "abs_1", "neg_1", "exp_1", "neg_2", "sub_1"]


@pytest.mark.usefixtures("way")
def test_once_is_once_even_where_a_value_has_got_new_readers():
    @rule
    def drop(x):
        yield op.relu(x)
        return x

    @rule
    def nothing_left(x):
        yield op.maximum(x, x)
        return x

    graph = Graph.parse("graph g\nx = input() : f32[3]\nr = relu(x)\nm = maximum(x, r)\ny = output(m)")
    assert [step.rule for step in trace(graph, [drop, nothing_left], once=True, order="top-down").steps] == ["drop"]
    made = rewrite(graph, [drop, nothing_left], once=True, order="top-down")
    assert "m" in made
    assert "m" not in rewrite(graph, [drop, nothing_left], order="top-down")


def test_a_node_of_literals_alone_stands_in_a_pattern():
    @rule
    def known(x):
        yield op.add(x, op.neg(1))
        return op.sub(x, 1)

    @rule
    def fast(x):
        yield op.mul(x, op.neg(1))
        return op.neg(x)

    assert fast.definition.fused() is not None
    lines = "graph g\nx = input() : f32[3]\nc = constant(value=1.0) : f32[]\nn = neg(c)\na = add(x, n)\nm = mul(a, n)"
    graph = Graph.parse(f"{lines}\ny = output(m)")
    made = rewrite(graph, [known, fast])
    assert made == graph, "the negation has two readers"
    graph = Graph.parse(f"{lines}\ny = output(a)".replace("\nm = mul(a, n)", ""))
    assert "sub_1" in rewrite(graph, [known, fast])
    graph = Graph.parse(f"{lines}\ny = output(m)".replace("a = add(x, n)\nm = mul(a, n)", "m = mul(x, n)"))
    fused = rewrite(graph, [known, fast])
    assert fused.operands("neg_1")[0].node == "x"
    with ordinary_way(pytest.MonkeyPatch()):
        assert whole(rewrite(graph, [known, fast])) == whole(fused)


@pytest.mark.usefixtures("way")
def test_a_new_node_has_the_attributes_of_a_matched_one_but_for_those_that_are_said():
    @rule
    def tighter(x):
        inner = op.clip(x)
        yield op.neg(inner)
        return op.neg(op.relu(op.clip(x, like=inner, high=3.0)))

    graph = Graph.parse("graph g\nx = input() : f32[3]\nc = clip(x, low=-1.5, high=8)\nn = neg(c)\ny = output(n)")
    made = rewrite(graph, [tighter], once=True)
    assert made.attributes("clip_1") == {"low": -1.5, "high": 3.0}
    graph = Graph.parse("graph g\nx = input() : f32[3]\nc = clip(x, low=-1.5)\nn = neg(c)\ny = output(n)")
    assert rewrite(graph, [tighter], once=True).attributes("clip_1") == {"low": -1.5, "high": 3.0}


@pytest.mark.usefixtures("way")
def test_a_rule_is_tried_again_at_a_node_that_has_lost_a_reader():
    @rule
    def first(x, y):
        yield op.maximum(x, y)
        return x

    @rule
    def alone(x):
        root = op.exp(x)
        yield root
        return op.neg(x) if root.readers == 1 else decline("others read it")

    lines = "x = input() : f32[3]\ne = exp(x)\nr = relu(e)\nm = maximum(x, e)\ny = output(r)\nz = output(m)"
    graph = Graph.parse(f"graph g\n{lines}")
    assert "exp" in kinds(rewrite(graph, [alone]))
    assert sorted(kinds(rewrite(graph, [alone, first]))) == ["input", "neg", "output", "output", "relu"]


@pytest.mark.usefixtures("way")
def test_a_node_that_a_graph_computes_since_a_step_is_left_alone():
    @rule
    def hand_over(x):
        yield op.exp(x)
        return op.abs(x, annotations={"implementation": "own"})

    @rule
    def melt(x):
        yield op.neg(op.abs(x))
        return op.relu(x)

    lines = "x = input() : f32[3]\na = abs(x)\nb = neg(a)\nc = exp(b)\nd = neg(c)\ny = output(d)"
    module = Module("m")
    module["own"] = Graph.parse("graph own\nx = input() : f32[3]\na = abs(x)\ny = output(a)")
    module["main"] = Graph.parse(f"graph main\n{lines}")
    assert kinds(rewrite(module["main"], [hand_over, melt])) == ["input", "neg", "output", "relu", "abs"]


@pytest.mark.usefixtures("way")
def test_an_op_that_a_graph_does_not_know_is_complained_about():
    @define_op
    def scale(x, *, by=1):
        return x * by

    @rule
    def unscaled(x, k):
        yield op.neg(scale(x, by=k))
        return scale(op.neg(x), by=k)

    lines = "x = input() : f32[3]\na = scale(x, by=2)\nb = neg(a)\ny = output(b)"
    known = Graph.parse(f"graph g\n{lines}", ops=[scale])
    graph = Graph("g")
    graph.add_nodes_from(known.nodes(data=True))
    graph.add_edges_from(known.edges(data=True))
    with pytest.raises(GraphError, match="unknown op 'scale'"):
        rewrite(graph, [unscaled])


@pytest.mark.usefixtures("way")
def test_a_named_tuple_is_a_tuple():
    class Results(NamedTuple):
        value: float

    @rule
    def zero(x):
        yield op.neg(op.neg(x))
        return x if x.op_name == "input" else Results(0.0)

    lines = "x = input() : f64[1]\na = neg(x)\nb = neg(a)\nc = abs(b)\nd = neg(c)\ne = neg(d)\ny = output(e)"
    with pytest.raises(RewriteError, match=r"f64\[1\] would be replaced by f64\[\]"):
        rewrite(Graph.parse(f"graph g\n{lines}"), [zero])


def test_what_a_predicate_raises_is_told_alike_by_both_ways(monkeypatch):
    @rule
    def odd(x: rule.where(lambda v: v.op_name == "input" or 1 / 0, "an input"), y):
        yield op.sub(op.neg(x), y)
        return op.abs(x)

    lines = "x = input() : f32[3]\na = neg(x)\nb = sub(a, x)\nc = neg(b)\nd = sub(c, x)\ny = output(d)"
    graph = Graph.parse(f"graph g\n{lines}")
    told = []
    for _ in range(2):
        with pytest.raises(RuleError, match=r"rule 'odd'.*'an input' raised ZeroDivisionError: .*; let it") as failure:
            rewrite(graph, [odd])
        told.append(str(failure.value))
        monkeypatch.setattr(Engine, "fused", lambda *_: None)
    assert told[0] == told[1]


@pytest.mark.usefixtures("way")
def test_roots_that_have_an_operand_in_common_that_is_missing_are_found():
    @rule
    def pair(x, y, b=None):
        yield op.neg(affine(x, x, b)), op.abs(affine(x, y, b))
        return op.relu(x), op.exp(y)

    @rule
    def apart(x, y, b=None):
        yield affine(x, x, b), scale(affine(y, y, b))
        return op.relu(x), op.exp(y)

    lines = "x = input() : f32[3]\na = affine(x, x)\nb = neg(a)\nc = affine(x, b)\nd = abs(c)\ne = affine(d, d)"
    graph = Graph.parse(f"graph g\n{lines}\nf = affine(x, x)\ng = scale(e)\nh = sub(f, g)\ny = output(h)", ops=OWN_OPS)
    assert [step.rule for step in trace(graph, [pair, apart]).steps] == ["apart"]
    assert [step.rule for step in trace(graph, [pair], once=True).steps] == ["pair"]


def kinds(graph: Graph) -> list[str]:
    return [data["type"] for data in graph.nodes.values()]
