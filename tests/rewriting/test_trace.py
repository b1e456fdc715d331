"""What a rewrite did: each step, the graph between two steps, what each rule did, and how to take it back."""

from __future__ import annotations

import datetime

import networkx as nx
import pytest
from hypothesis import given
from hypothesis import strategies as st

from graphrewrite import Graph, Rule, Tensor, decline, define_op, diff, op, rewrite, rule, trace, verify
from graphrewrite.graph.edit import Edit, apply_edit, difference, revert_edit
from graphrewrite.rewriting.digraph_rules import from_graphs
from graphrewrite.rules import RULES, eliminate_independent_nodes, merge_equal_nodes
from graphrewrite.testing import graphs
from tests.support.enabling import ENABLING, random_graph


def shape(graph: nx.DiGraph) -> tuple:
    """Nodes, data and edges, in no order; without origins, which are written down at the end."""
    nodes = {n: {k: repr(v) for k, v in d.items() if k != "origin"} for n, d in graph.nodes(data=True)}
    return nodes, {(a, b): sorted(d["slots"]) for a, b, d in graph.edges(data=True)}


@pytest.mark.parametrize("seed", range(20))
def test_steps_lead_from_the_graph_that_came_in_to_the_one_that_came_out(seed):
    graph = random_graph(seed)
    found = trace(graph, ENABLING)
    assert shape(found.graph_after(0)) == shape(graph)
    assert shape(found.graph_after(len(found.steps))) == shape(found.graph)
    here = set(graph)
    for i, step in enumerate(found.steps, start=1):
        assert set(step.removed) <= here
        here = (here - set(step.removed)) | set(step.added)
        assert set(found.graph_after(i)) == here
        assert all(line.startswith(f"{name} = ") for name, line in {**step.removed, **step.added}.items())


@given(graphs())
def test_passes_are_steps_as_well(graph):
    found = trace(graph, RULES)
    assert shape(found.graph_after(len(found.steps))) == shape(found.graph) == shape(rewrite(graph, RULES))


def test_graphs_between_steps_know_the_ops_that_rules_have_made():
    @define_op(infer=lambda x: x)
    def twice(x):
        return x + x

    @rule
    def double(x):
        yield op.neg(x)
        return twice(x)

    graph = Graph.parse("graph g\nx = input() : f32[N]\na = neg(x)\nb = neg(a)\ny = output(b)")
    found = trace(graph, [double])
    assert [found.graph_after(i).op(n).name for i, n in ((1, "twice_1"), (2, "twice_2"))] == ["twice", "twice"]


def test_what_is_done_to_a_graph_later_does_not_change_its_trace():
    graph = Graph.parse("graph g\nx = input() : f32[N]\na = neg(x)\nb = neg(a)\nc = relu(b)\ny = output(c)")

    @rule
    def cancel(x):
        yield op.neg(op.neg(x))
        return op.identity(x)

    found = trace(graph, [cancel])
    before = str(found)
    found.graph.nodes["identity_1"]["type"] = "relu"
    for _, _, data in found.graph.edges(data=True):
        data["slots"] = ()
    assert str(found) == before
    assert found.graph_after(1).nodes["identity_1"]["type"] == "identity"


def test_a_step_says_rule_place_bindings_and_time():
    graph = Graph.parse("graph g\nx = input() : f32[N]\na = neg(x)\nb = neg(a)\ny = output(b)")

    @rule
    def cancel(x):
        yield op.neg(op.neg(x))
        return x

    (step,) = trace(graph, [cancel]).steps
    assert step.rule == "cancel"
    assert step.source.rpartition(":")[0].endswith("test_trace.py")
    assert step.bindings == "cancel at b with x=x"
    assert step.match.nodes == ("a", "b")
    assert step.removed == {"b": "b = neg(a) : f32[N]", "a": "a = neg(x) : f32[N]"}
    assert step.added == {}
    assert step.seconds >= 0


def test_the_profile_tells_dead_rules_from_rules_that_decline():
    @rule
    def never(x):
        yield op.tanh(x)
        return x

    @rule
    def refuses(x):
        yield op.neg(x)
        return decline("on principle")

    @rule
    def misses(x):
        yield op.neg(op.abs(x))
        return x

    @rule
    def fires(x):
        yield op.relu(x)
        return op.abs(x)

    graph = Graph.parse("graph g\nx = input() : f32[N]\nn = neg(x)\nr = relu(n)\ny = output(r)")
    found = trace(graph, [never, refuses, misses, fires]).profile
    assert "never" in found.never_met
    assert "refuses" not in found.never_met
    assert found.dead == ("never", "refuses", "misses")
    assert found["refuses"].declined == {"on principle": 1}
    assert (found["fires"].matched, found["fires"].fired) == (1, 1)
    assert found["fires"].microseconds > 0
    assert "refuses declined 1 times: on principle" in str(found)


@given(graphs(), st.data())
def test_an_edit_can_be_planned_carried_out_and_taken_back(graph, data):
    places = [(r, m) for r in RULES if isinstance(r, Rule) for m in r.find(graph)]
    if not places:
        return
    tried, match = data.draw(st.sampled_from(places))
    before = shape(graph)
    planned = tried.edit(graph, match)
    assert isinstance(planned, Edit)
    assert shape(graph) == before, "planning changes nothing"
    apply_edit(graph, planned)
    after = shape(graph)
    assert after != before
    revert_edit(graph, planned)
    assert shape(graph) == before
    apply_edit(graph, planned)
    assert shape(graph) == after


@st.composite
def digraphs(draw):
    graph = nx.DiGraph()
    names = draw(st.lists(st.sampled_from("abcdef"), unique=True))
    graph.add_nodes_from((n, {"k": draw(st.integers(0, 1))}) for n in names)
    if names:
        for a, b in draw(st.lists(st.tuples(st.sampled_from(names), st.sampled_from(names)))):
            graph.add_edge(a, b, k=draw(st.integers(0, 1)))
    return graph


class Counting(nx.DiGraph):
    """A subclass that sees every edge that is added."""

    def add_edge(self, a, b, **data):
        self.graph["added"] = self.graph.get("added", 0) + 1
        super().add_edge(a, b, **data)


@given(digraphs(), digraphs())
def test_the_difference_of_two_graphs_leads_from_one_to_the_other_directly_and_through_public_calls(old, new):
    for kind in (nx.DiGraph, Counting):
        graph = kind(old)
        edit = difference(old, new)
        fresh = Edit(edit.added, edit.linked, edit.unlinked, edit.changed, edit.removed)
        apply_edit(graph, fresh)
        assert nx.utils.graphs_equal(nx.DiGraph(graph.edges), nx.DiGraph(new.edges)) or set(graph.edges) == set(
            new.edges
        )
        assert dict(graph.nodes(data=True)) == dict(new.nodes(data=True))
        assert {(a, b): d for a, b, d in graph.edges(data=True)} == {(a, b): d for a, b, d in new.edges(data=True)}
        revert_edit(graph, fresh)
        assert dict(graph.nodes(data=True)) == dict(old.nodes(data=True))
        assert {(a, b): d for a, b, d in graph.edges(data=True)} == {(a, b): d for a, b, d in old.edges(data=True)}


def test_a_subclass_that_overrides_how_edges_are_added_is_edited_through_its_methods():
    class Watched(Graph):
        def add_edge(self, a, b, **data):
            self.graph["added"] = self.graph.get("added", 0) + 1
            super().add_edge(a, b, **data)

    graph = Watched("g")
    x = graph.input("x", Tensor("f32", ("N",)))
    graph.output("y", op.neg(op.neg(x)))

    @rule
    def cancel(x):
        yield op.neg(op.neg(x))
        return op.identity(x)

    made = rewrite(graph, [cancel])
    assert type(made) is Watched
    assert [made.nodes[n]["type"] for n in made.in_order()] == ["input", "identity", "output"]
    assert made.graph["added"] > graph.graph["added"]


def test_a_duplicated_node_is_the_match_s_own():
    @rule(shared="duplicate")
    def own(x):
        inner = op.neg(x)
        yield op.relu(inner)
        return op.abs(inner)

    graph = Graph.parse("graph g\nx = input() : f32[N]\nn = neg(x)\nr = relu(n)\ny = output(r)\nz = output(n)")
    assert str(own(graph)).splitlines()[2:] == [
        "neg_1 = neg(x) : f32[N]",
        "abs_1 = abs(neg_1) : f32[N]",
        "n = neg(x) : f32[N]",
        "y = output(abs_1)",
        "z = output(n)",
    ]


def test_nothing_replaces_what_nobody_reads():
    @rule
    def drop(x):
        yield op.relu(x)
        return rule.nothing

    graph = Graph.parse("graph g\nx = input() : f32[N]\na = relu(x)\nb = relu(x)\ny = output(a)")
    assert "b" not in drop(graph)
    assert "it would be replaced by nothing, but 'y' reads it" in drop.explain(graph, at="a")


@pytest.mark.parametrize("middle", [frozenset({4}), ("a", frozenset()), datetime.date(2020, 1, 1), 1.5, b"x"], ids=str)
def test_nodes_of_other_people_s_digraphs_may_be_anything(middle):
    direct = nx.DiGraph([("a", "c")])
    drop_halt = from_graphs(nx.DiGraph([("a", "b"), ("b", "c")]), direct, name="drop_halt", interface=["a", "c"])
    line = nx.DiGraph([(1, middle), (middle, "\x1b")])
    found = trace(line, [drop_halt])
    _, step, gone, new = str(found).splitlines()
    assert step == f"1. drop_halt at {middle!r} with a=1, b={middle!r}, c='\\x1b'"
    assert gone.startswith("- ")
    assert gone.endswith(" = ?(~1)")
    assert new == r"+ 1 -> '\x1b'"
    assert list(found.steps[0].removed) == [middle]
    assert len(found.show().data.frames) == 1
    assert str(diff(line, found.graph)).splitlines()[0] == gone


def test_what_a_pass_does_later_changes_no_record_of_an_earlier_one():
    graph = Graph.parse(
        "c = constant(value=1.0) : f32[]\na = neg(c)\nb = neg(c) {mine=([1],)}\ny = output(a)\nz = output(b)"
    )
    found = trace(graph, (eliminate_independent_nodes, merge_equal_nodes))
    assert list(found.counts) == ["eliminate_independent_nodes", "merge_equal_nodes"]
    verify(found.graph_after(1))
    found.graph_after(0).nodes["b"]["mine"][0].append(2)  # a list in a tuple is nobody else's either
    assert graph.nodes["b"]["mine"] == ([1],)
