"""Each way in which a transformation can be wrong is told in a sentence of its own; whatever transforms is taken."""

from __future__ import annotations

import itertools
from functools import partial

import networkx as nx
import numpy as np
import pytest

from graphrewrite import Constant, Graph, Pass, Pipeline, Tensor, decline, op, pass_, rule
from graphrewrite.errors import RewriteError, RuleError
from graphrewrite.lowering import LOWER_TO_INTEGER, LoweringError, quantise, to_integer
from graphrewrite.rewriting.digraph_rules import from_graphs
from graphrewrite.rules import RULES, drop_identity, merge_clips
from graphrewrite.testing import assert_idempotent, assert_preserves, assert_refines, check, graphs, prove
from tests.support.profiles import fewer_graphs

NEGATIONS = graphs(ops=["neg", "add"])


@rule
def drop_double_negation(x):
    """Minus minus x is x."""
    yield op.neg(op.neg(x))
    return x


@rule
def negate_by_subtracting(x):
    """Wrong for -0."""
    yield op.neg(x)
    return op.sub(0, x)


def negations(graph):
    return [n for n, data in graph.nodes.items() if data["type"] == "neg"]


def on_copy(change):
    """A function that changes a copy of a graph where it has negations."""

    def function(graph: Graph) -> Graph:
        new = graph.copy()
        return change(new) or new if negations(new) else graph

    function.__name__ = change.__name__
    return function


@on_copy
def renames_an_output(graph):
    nx.relabel_nodes(graph, {graph.outputs[0]: "other"}, copy=False)


@on_copy
def drops_outputs(graph):
    graph.remove_nodes_from(graph.outputs)


@on_copy
def forgets_its_name(graph):
    del graph.graph["name"]


@on_copy
def renames_the_graph(graph):
    graph.graph["name"] = "other"


@on_copy
def gives_nothing(graph):
    return 3


@on_copy
def gives_a_plain_digraph(graph):
    return nx.DiGraph(graph)


@on_copy
def loses_an_operand(graph):
    graph.remove_edges_from(list(graph.in_edges(negations(graph)[0])))


@on_copy
def writes_a_type_that_is_none(graph):
    graph.nodes[negations(graph)[0]]["result"] = 3


@on_copy
def divides_by_zero(graph):
    return 1 // 0


@on_copy
def complains(graph):
    raise RewriteError("no idea", node="x")


def changes_its_argument(graph):
    for node in negations(graph):
        graph.nodes[node]["type"] = "identity"
    return graph


def writes_into_constants(graph):
    for data in graph.nodes.values():
        if data["type"] == "constant":
            data["value"][...] = 0
    return graph


NUMBERS = itertools.count()


@rule
def another_every_time(x):
    """Right, but of two forms."""
    yield op.neg(x)
    return op.mul(x, -1) if next(NUMBERS) % 2 else op.mul(-1, x)


@pass_
def keeps_what_was_added_first(graph):
    """Merges negations of one value into that which was added first."""
    first, gone = {}, []
    for node in list(graph):
        if graph.nodes[node]["type"] == "neg":
            key = graph.operands(node)
            kept = first.setdefault(key, node)
            if kept != node:
                for reader, data in list(graph.succ[node].items()):
                    there = graph.succ[kept].get(reader, {}).get("slots", ())
                    graph.add_edge(kept, reader, slots=(*there, *data["slots"]))
                graph.remove_node(node)
                gone.append(node)
    return gone


@pass_
def says_nothing(graph):
    """Changes a graph, and does not say so."""
    for node in negations(graph):
        graph.nodes[node]["type"] = "abs"
    return []


@rule
def goes_round(x):
    yield op.neg(x)
    return op.mul(x, -1)


@rule
def comes_back(x):
    yield op.mul(x, -1)
    return op.neg(x)


TOLD = {
    renames_an_output: r"the outputs were y: .* and became other: ",
    drops_outputs: r"the outputs were y: .* and became none",
    forgets_its_name: r"the graph's attribute 'name' was 'generated' and is gone",
    renames_the_graph: r"the graph's attribute 'name' was 'generated' and became 'other'",
    gives_nothing: r"it gave int, and no graph; return the new graph",
    gives_a_plain_digraph: r"gives_a_plain_digraph gave a DiGraph for a Graph",
    loses_an_operand: r"loses_an_operand leaves an edge dangling: node 'neg_1': neg needs operand 'x'",
    writes_a_type_that_is_none: (
        r"gives a graph that is not well formed:\nnode 'neg_1': its result must be a type, got 3"
    ),
    divides_by_zero: r"divides_by_zero failed: ZeroDivisionError",
    complains: r"complains failed: node 'x': no idea",
    changes_its_argument: r"changes_its_argument changed the graph that it was given: 'type' of the node 'neg_1'",
    another_every_time: r"another_every_time gave two different graphs for one",
    keeps_what_was_added_first: r"gives another graph where nodes and edges were added in another order",
    says_nothing: r"output y.* was .* and became",
    negate_by_subtracting: r"output y.* was -0\.0 and became 0\.0",
}


@pytest.mark.parametrize(
    "subject", TOLD, ids=lambda subject: getattr(subject, "__name__", getattr(subject, "name", ""))
)
def test_what_does_not_hold_is_said(subject):
    on = NEGATIONS if not isinstance(subject, type(drop_identity)) else None
    report = check(subject, on=on)
    assert report.verdict == "refuted"
    with pytest.raises(AssertionError, match=TOLD[subject]):
        raise AssertionError(report.counterexample.reason)


def test_the_smallest_graph_is_told():
    assert len(check(loses_an_operand, on=NEGATIONS).counterexample.before) == 3
    assert len(check(keeps_what_was_added_first, on=NEGATIONS).counterexample.before) <= 5


@rule
def doubles_in_place(x, w: Constant):
    yield op.add(x, w)
    doubled = w.value
    doubled *= 2
    return op.sub(x, doubled)


@rule
def notes_in_place(x):
    n = op.neg(x)
    yield n
    n.data["note"] = 3
    return op.sub(0.0, x)


def test_who_writes_into_a_matched_node_is_refuted():
    assert "the data of a matched node cannot be changed" in check(notes_in_place).counterexample.reason


@pytest.mark.parametrize("subject", [writes_into_constants, doubles_in_place])
def test_who_writes_into_arrays_is_refuted(subject):
    found = check(subject, on=graphs(ops=["add"])).counterexample
    assert "writes into an array of the graph that it was given" in found.reason


def test_lists_that_were_changed_are_told_and_shown_as_they_were():
    def lengthens(graph):
        graph.graph.setdefault("steps", []).append(3)
        return graph

    found = check(lengthens, on=graphs(ops=["add"])).counterexample
    assert found.reason == "lengthens changed the graph that it was given: the attribute 'steps' is not what it was"
    assert "steps" not in found.before.graph


def _ordered() -> Graph:
    graph = Graph("ordered")
    x = graph.input("x", Tensor("f32", ("N",)))
    for name, value in (("y", op.neg(x)), ("z", op.relu(op.abs(x))), ("w", op.exp(x))):
        graph.output(name, value)
    graph.add_control("neg_1", "relu_1", "memory")
    graph.add_control("relu_1", "exp_1", "memory")
    graph.add_control("neg_1", "exp_1", "memory")
    return graph


def _without(graph, first, second):
    if not graph.has_edge(first, second):
        return []
    graph.remove_edge(first, second)
    return [second]


@pass_
def forgets_order(graph):
    """Forgets a control edge."""
    return _without(graph, "relu_1", "exp_1")


@pass_
def reduces_order(graph):
    """Leaves out what follows from other control edges."""
    return _without(graph, "neg_1", "exp_1")


def test_the_order_of_control_edges_is_kept_by_other_ones_or_lost():
    assert check(reduces_order, on=_ordered()).counterexample is None
    found = check(forgets_order, on=_ordered()).counterexample
    assert found.reason == "'exp_1' came after 'relu_1' by a control edge, and need not any more"
    space = {"forgets_order": forgets_order}
    exec(found.code, space)
    with pytest.raises(AssertionError):
        space["test_forgets_order"]()


def test_what_does_not_end_is_told():
    report = check((goes_round, comes_back))
    assert "the rules do not end" in report.counterexample.reason


@pytest.mark.slow
def test_what_never_fires_fails():
    @rule
    def never(x):
        yield op.neg(x)
        return decline("not today")

    report = check(never)
    assert report.verdict == "never fired"
    assert report.declined["never"]["not today"] > 10
    with pytest.raises(AssertionError, match="never fired"):
        assert_preserves(never)
    with pytest.raises(AssertionError, match="never fired"):
        assert_preserves([drop_double_negation, never])


# ---------------------------------------------------------------------- whatever transforms


@pytest.mark.slow
def test_a_pipeline_is_tested_as_a_whole():
    simplify = Pipeline((drop_double_negation,), drop_identity, lambda graph: graph.copy(), name="simplify")
    with fewer_graphs():
        report = check(simplify, on=graphs(ops=["neg", "identity"]))
    assert report.name == "simplify"
    assert report.counterexample is None
    assert report.members == ("drop_double_negation", "drop_identity", "<lambda>")
    assert report.fired["drop_identity"]
    assert report.fired["drop_double_negation"]


def test_a_wrong_phase_is_found():
    wrong = Pipeline((drop_double_negation,), (negate_by_subtracting,), name="wrong")
    found = check(wrong).counterexample
    assert len(found.before) == 3
    assert sorted(data["type"] for data in found.before.nodes.values()) == ["input", "neg", "output"]


def test_phases_are_tested_on_graphs_with_their_patterns():
    report = check(Pipeline((drop_double_negation,), (merge_clips,), name="both"))
    assert report
    assert report.fired["merge_clips"] > 0


def test_a_lowering_is_tested_where_it_has_something_to_lower():
    enter, absorb = (member for member in LOWER_TO_INTEGER if member.name in {"enter_fixed", "absorb_relu"})
    with fewer_graphs():
        report = check(to_integer, on=graphs(containing=enter) | graphs(containing=absorb))
    assert report.counterexample is None
    assert report.fired["to_integer"] > 0


def test_a_function_may_refuse_by_an_error_of_its_own():
    def cautious(graph):
        if len(graph.outputs) > 1:
            raise LoweringError("two outputs are too many")
        return graph.copy() if not negations(graph) else drop_double_negation(graph)

    report = check(cautious, on=graphs(containing=drop_double_negation))
    assert report
    assert report.declined["cautious"]["two outputs are too many"] > 0


def test_a_quantised_network_refines_its_float_network():
    samples = np.linspace(-8, 8, 33, dtype=np.float32)[:, None]

    def quantised(graph, bits):
        return quantise(graph, dict.fromkeys(graph.inputs, samples), bits=bits)

    @rule
    def wanted(x):
        yield op.relu(x)
        return decline("only its pattern is of interest")

    narrow = graphs(containing=wanted.pattern, ops=[]).filter(
        lambda graph: all(str(graph.result_type(n)) == "f32[N,1]" for n in graph.inputs)
    )
    assert_refines(partial(quantised, bits=16), narrow, error=0.01)
    with pytest.raises(AssertionError, match="refuted"):
        assert_refines(partial(quantised, bits=4), narrow, error=0.01)


def test_a_rule_of_two_graphs_is_tested_on_digraphs():
    pattern, replacement = nx.DiGraph(), nx.DiGraph()
    pattern.add_node("a", type="A")
    pattern.add_node("b", type="B")
    pattern.add_edge("a", "b")
    replacement.add_node("c", type="C")
    fuse = from_graphs(pattern, replacement, name="fuse")
    report = check(fuse)
    assert report
    assert report.fired["fuse"] == report.graphs

    def numbered(match):
        made = nx.DiGraph()
        made.add_node("c", type="C", number=next(NUMBERS))
        return made

    found = check(from_graphs(pattern, numbered, name="numbered")).counterexample
    assert "two different graphs" in found.reason
    assert sorted(data["type"] for data in found.before.nodes.values()) == ["A", "B"]


def test_idempotent():
    assert_idempotent(RULES[:3])

    @on_copy
    def grows(graph):
        graph.nodes[negations(graph)[0]]["origin"] = (*graph.nodes[negations(graph)[0]].get("origin", ()), "more")

    with pytest.raises(AssertionError, match="grows changes its own result"):
        assert_idempotent(grows, NEGATIONS)


def merge(graph, other, prefix=""):
    return graph.copy()


@pytest.mark.parametrize(
    ("given", "told"),
    [
        (3, "3 cannot be tested; pass a rule, a pass, a rule set, a Pipeline, or a function"),
        ("drop_identity", "'drop_identity' cannot be tested"),
        (Pass, "cannot be tested"),
        (Graph("g"), "cannot be tested"),
        ((), "is empty, so that there is nothing to test"),
        (Pipeline(), "is empty"),
        ([drop_identity, "merge_clips"], "'merge_clips' is neither a rule nor a pass"),
        ([drop_identity, Pipeline(drop_identity)], "put the pipeline and the rules into one Pipeline"),
        (merge, "cannot be called with a graph alone: missing a required argument: 'other'"),
        (partial(merge, prefix="a"), "missing a required argument: 'other'"),
    ],
)
def test_what_cannot_be_tested_is_refused(given, told):
    with pytest.raises(RuleError) as caught:
        check(given)
    assert told in str(caught.value)


class TestWhere:
    """What `on` may be."""

    GRAPH = Graph.parse("graph g\nx = input() : i32[N]\na = neg(x)\nb = neg(a)\ny = output(b)")

    def test_one_graph(self):
        assert check(drop_double_negation, on=self.GRAPH).verdict == "preserved"
        assert_preserves(drop_double_negation, on=self.GRAPH)
        assert prove(drop_double_negation, on=self.GRAPH)

    @pytest.mark.parametrize("on", [[GRAPH], "graphs()", 3])
    def test_what_is_neither_a_graph_nor_a_strategy_of_them(self, on):
        with pytest.raises(RuleError, match=r"on is a graph or a strategy of graphs, .*, not (list|str|int)"):
            check(drop_identity, on=on)

    def test_a_proof_takes_graphs(self):
        with pytest.raises(RuleError, match="on gives int; prove takes a graph, or a list of graphs"):
            prove(drop_identity, on=[3])
