"""Where rules are applied, in which order, how often, and what stops them."""

from __future__ import annotations

import networkx as nx
import pytest

from graphrewrite import Graph, Pipeline, op, rewrite, rule, trace
from graphrewrite.errors import GraphError, RewriteError, RuleError
from graphrewrite.rules import eliminate_dead_nodes

CHAIN = Graph.parse("""graph g
x = input() : f32[N]
a = neg(x)
b = neg(a)
c = neg(b)
y = output(c)""")


@rule
def cancel(x):
    """Minus minus x is x."""
    yield op.neg(op.neg(x))
    return x


@rule
def negation_as_difference(x):
    """Minus x is zero minus x."""
    yield op.neg(x)
    return op.sub(0, x)


@rule
def difference_as_negation(x):
    """Zero minus x is minus x."""
    yield op.sub(0, x)
    return op.neg(x)


@rule
def absolute_of_negation(x):
    """The absolute value does not see a sign."""
    yield op.abs(op.neg(x))
    return op.abs(x)


def kinds(graph: nx.DiGraph) -> list[str]:
    return [graph.nodes[n]["type"] for n in graph.in_order()]


def test_bottom_up_takes_the_lowest_place_first_and_top_down_the_highest():
    assert str(rewrite(CHAIN, [cancel])).splitlines()[1:] == [
        "x = input() : f32[N]",
        "c = neg(x) : f32[N]",
        "y = output(c)",
    ]
    made = rewrite(CHAIN, [cancel], order="top-down")
    assert str(made).splitlines()[1:] == ["x = input() : f32[N]", "a = neg(x) : f32[N]", "y = output(a)"]


def test_once_visits_each_place_of_the_graph_once():
    made = rewrite(CHAIN, [negation_as_difference, difference_as_negation], once=True)
    assert kinds(made).count("sub") == 3
    with pytest.raises(RewriteError, match="do not end"):
        rewrite(CHAIN, [negation_as_difference, difference_as_negation])


def test_at_one_place_only_that_place_changes():
    made = rewrite(CHAIN, [negation_as_difference], at="b")
    assert [made.operands(n)[0].node for n in ("c", "y")] == ["sub_1", "c"]
    assert kinds(rewrite(CHAIN, [negation_as_difference], at=["a", "c"])).count("sub") == 2
    with pytest.raises(GraphError, match=r"'d': is not in the graph"):
        rewrite(CHAIN, [cancel], at="d")


def test_the_first_rule_goes_before_the_first_place_where_rules_are_priorities():
    graph = Graph.parse("graph g\nx = input() : f32[N]\nn = neg(x)\na = abs(n)\nb = relu(a)\ny = output(b)")
    set_ = [absolute_of_negation, negation_as_difference]
    assert [s.rule for s in trace(graph, set_).steps] == ["negation_as_difference"]
    assert [s.rule for s in trace(graph, set_, first="rule").steps] == ["absolute_of_negation"]


def test_a_measure_that_must_fall_ends_rules_that_undo_each_other():
    def cost(data):
        return {"sub": 2, "constant": 1, "neg": 1}.get(data["type"], 0)

    both = [negation_as_difference, difference_as_negation]
    made = rewrite(rewrite(CHAIN, [negation_as_difference]), both, measure=cost)
    assert kinds(made) == ["input", "neg", "neg", "neg", "output"]
    profile = trace(made, both, measure=cost).profile
    assert profile["negation_as_difference"].declined == {"it would not lower the measure: 3 after 1": 3}


def test_phases_run_one_after_the_other():
    phases = Pipeline(
        (negation_as_difference,), cancel, eliminate_dead_nodes, [difference_as_negation], name="there and back"
    )
    assert kinds(phases(CHAIN)) == ["input", "neg", "neg", "neg", "output"]
    assert repr(phases) == "<pipeline there and back: 4 phases>"


def test_rule_sets_are_tuples_and_add_up():
    first, second = (cancel,), (negation_as_difference, cancel)
    made = rewrite(CHAIN, first + second, first="rule")
    assert kinds(made) == ["input", "constant", "sub", "output"]


@pytest.mark.parametrize("options", [{"order": "sideways"}, {"first": "last"}])
def test_a_misspelt_strategy_is_refused(options):
    with pytest.raises(RuleError, match="order is 'bottom-up' or 'top-down', and first is 'place' or 'rule'"):
        rewrite(CHAIN, [cancel], **options)


def test_two_rules_of_one_name_are_refused_and_one_rule_twice_is_one():
    def another():
        @rule
        def cancel(x):
            yield op.relu(x)
            return x

        return cancel

    with pytest.raises(
        RuleError, match=r"two rules of the set are named 'cancel' \(.*test_strategy.py:\d+, .*\d+\); rename"
    ):
        rewrite(CHAIN, [cancel, another()])
    assert rewrite(CHAIN, [cancel, cancel]) == rewrite(CHAIN, [cancel])


def test_a_rule_that_contains_its_own_pattern_is_refused_unless_something_ends_it():
    @rule
    def grow(x):
        yield op.relu(x)
        return op.neg(op.relu(x))

    graph = Graph.parse("graph g\nx = input() : f32[N]\nr = relu(x)\ny = output(r)")
    before = str(graph)
    with pytest.raises(RewriteError, match=r"rule 'grow' .*its replacement contains its own pattern.*once=True"):
        rewrite(graph, [grow])
    assert str(graph) == before
    assert kinds(rewrite(graph, [grow], once=True)) == ["input", "relu", "neg", "output"]
    assert kinds(rewrite(graph, [grow], at="r")) == ["input", "relu", "neg", "output"]


def test_a_commutative_swap_contains_its_own_pattern():
    @rule
    def swap(x, y):
        yield op.add(x, y)
        return op.add(y, x)

    graph = Graph.parse("graph g\nx = input() : f32[N]\na = add(x, x)\ny = output(a)")
    with pytest.raises(RewriteError, match="contains its own pattern"):
        rewrite(graph, [swap])


def test_a_cycle_in_a_dataflow_is_named():
    graph = Graph.parse("graph g\nx = input() : f32[N]\na = add(x, x)\nb = neg(a)\ny = output(b)")
    graph.edges["x", "a"]["slots"] = ((0, 0),)
    graph.add_edge("b", "a", slots=((1, 0),))
    with pytest.raises(GraphError, match=r"is on a cycle .*(a -> b|b -> a).*; rules go from operands to readers"):
        rewrite(graph, [cancel])


@pytest.mark.parametrize(("slots", "node"), [(None, "b"), (((1, 0),), "b"), (((0, 0), (0, 0)), "b")])
def test_slots_that_are_missing_or_collide_are_named_with_the_rule(slots, node):
    graph = CHAIN.copy()
    if slots is None:
        del graph.edges["a", "b"]["slots"]
    else:
        graph.edges["a", "b"]["slots"] = slots
    with pytest.raises(
        GraphError, match=rf"rule 'cancel' .*node '{node}': the slots of its operands are missing or collide"
    ):
        rewrite(graph, [cancel])


def test_a_predicate_that_raises_is_named_with_its_rule_and_node():
    @rule
    def careless(x: rule.where(lambda x: x.value > 1 / 0, "it is large")):
        yield op.neg(x)
        return x

    before = str(CHAIN)
    with pytest.raises(RuleError, match=r"rule 'careless' .*'a'.*"):
        rewrite(CHAIN, [careless])

    @rule
    def divides(x: rule.where(lambda x: 1 / 0, "it is large")):
        yield op.neg(x)
        return x

    with pytest.raises(RuleError, match=r"rule 'divides' .*'x': the predicate of 'it is large' raised Zero"):
        rewrite(CHAIN, [divides])
    assert str(CHAIN) == before


def test_a_plain_digraph_goes_in_and_comes_out():
    plain = nx.DiGraph(CHAIN)
    made = rewrite(plain, [cancel])
    assert type(made) is nx.DiGraph
    assert list(made.edges(data=True)) == [("x", "c", {"slots": ((0, 0),)}), ("c", "y", {"slots": ((0, 0),)})]
    assert len(plain) == 5


def test_one_rule_is_a_rule_set():
    assert rewrite(CHAIN, cancel) == rewrite(CHAIN, [cancel])
    assert trace(CHAIN, cancel).counts == {"cancel": 1}
    with pytest.raises(RuleError, match="is a pipeline; call it on the graph"):
        rewrite(CHAIN, Pipeline([cancel]))
    with pytest.raises(RuleError, match="is a pipeline; call it on the graph"):
        rewrite(CHAIN, [Pipeline([cancel])])


def test_nodes_without_types_are_named():
    plain = nx.DiGraph()
    plain.add_nodes_from([("x", {"type": "input"}), ("a", {"type": "neg"}), ("b", {"type": "neg"})])
    plain.add_edge("x", "a", slots=((0, 0),))
    plain.add_edge("a", "b", slots=((0, 0),))
    with pytest.raises(GraphError, match=r"rule 'cancel' .*'b': has no result type; .*give every other node"):
        rewrite(plain, [cancel])


@pytest.mark.parametrize("graph", [nx.Graph(), nx.MultiDiGraph()], ids=["undirected", "multigraph"])
def test_what_is_no_digraph_is_refused(graph):
    with pytest.raises(GraphError, match=r"is not a graph that can be rewritten; make it a networkx\.DiGraph"):
        rewrite(graph, [cancel])
