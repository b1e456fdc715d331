"""Generated graphs contain every form of the pattern language, in every way that it can be read."""

from __future__ import annotations

import networkx as nx
import pytest
from hypothesis import HealthCheck, Phase, find, given, settings

from graphrewrite import decline, op, rule
from graphrewrite.errors import GraphRewriteError
from graphrewrite.rewriting.digraph_rules import from_graphs
from graphrewrite.testing import assert_preserves, check, graphs
from tests.support import rule_forms as forms
from tests.support.profiles import fewer_examples
from tests.support.rule_combinations import COMBINATIONS

pytestmark = pytest.mark.slow

by_name = pytest.mark.parametrize("form", forms.FORMS, ids=lambda form: form.name)
combined = pytest.mark.parametrize("form", [*forms.FORMS, *COMBINATIONS], ids=lambda form: form.name)


def matches(form, graph):
    return [match for node in graph.in_order() for match in form.matches_at(graph, node)]


@combined
def test_what_is_generated_contains_the_form(form):
    with fewer_examples():

        @given(graphs(containing=form))
        def examine(graph):
            assert matches(form, graph), str(graph)

    examine()


@pytest.mark.slow(cases=3)
@by_name
def test_a_right_rule_is_not_refuted(form):
    with fewer_examples():
        assert_preserves(form)


def kind(graph, match, index=0):
    return graph.nodes[match.nodes[index]]["type"]


def entries(graph, match):
    """The entries of the constants that the first node reads."""
    data = [graph.nodes[o.node] for o in graph.operands(match.nodes[0])]
    return {float(v) for d in data if d["type"] == "constant" for v in d["value"].ravel()}


READINGS = {
    "the first op": (forms.several_ops, lambda g, m: kind(g, m) == "linear"),
    "the second op": (forms.several_ops, lambda g, m: kind(g, m) == "matmul"),
    "any op of one operand": (forms.any_of_them, lambda g, m: len(m.bindings["xs"]) == 1),
    "any op of three operands": (forms.any_of_them, lambda g, m: len(m.bindings["xs"]) == 3),
    "no other operands": (forms.variadic, lambda g, m: not m.bindings["xs"] and not m.bindings["zs"]),
    "operands before": (forms.variadic, lambda g, m: len(m.bindings["xs"]) == 2),
    "operands on both sides": (forms.variadic, lambda g, m: m.bindings["xs"] and m.bindings["zs"]),
    "a bias": (forms.optional_bias, lambda g, m: m.bindings["b"] is not None),
    "no bias": (forms.optional_bias, lambda g, m: m.bindings["b"] is None),
    "one of a set": (forms.literal_set, lambda g, m: entries(g, m) == {1.0}),
    "another of a set": (forms.literal_set, lambda g, m: entries(g, m) == {-1.0}),
    "several of a set": (forms.literal_set, lambda g, m: entries(g, m) == {-1.0, 1.0}),
    "the first option": (forms.either_operand, lambda g, m: kind(g, m) == "neg"),
    "the second option": (forms.either_operand, lambda g, m: kind(g, m) == "identity"),
    "the last option": (forms.either_operand, lambda g, m: len(m.nodes) == 1),
    "the shortest chain": (forms.chain, lambda g, m: len(m.nodes) == 2),
    "a longer chain": (forms.chain, lambda g, m: len(m.nodes) >= 3),
    "the smallest group": (forms.group, lambda g, m: len(m.nodes) == 2),
    "a larger group": (forms.group, lambda g, m: len(m.nodes) >= 3),
    "an attribute of a set": (forms.attributes_that_fit, lambda g, m: len(g.attributes(m.nodes[0])["pads"]) == 2),
    "a number that is not one": (
        forms.condition_on_a_constant,
        lambda g, m: g.nodes[m.bindings["c"].node]["value"].item() not in (0, 1),
    ),
    "both results, read": (forms.results_of_one, lambda g, m: len(g.succ[m.nodes[0]]) > 1),
}


SOME = settings(max_examples=500, database=None, phases=[Phase.generate], suppress_health_check=list(HealthCheck))
"""Any example will do: none is made smaller."""


@pytest.mark.parametrize("reading", READINGS)
def test_every_reading_is_reached(reading):
    form, wanted = READINGS[reading]
    assert find(graphs(containing=form), lambda g: any(wanted(g, m) for m in matches(form, g)), settings=SOME)


def test_a_rule_that_refuses_readers_outside_still_finds_one_place():
    @rule
    def once(x):
        yield op.relu(op.neg(x))
        return op.relu(op.neg(op.identity(x)))

    @given(graphs(containing=once))
    def examine(graph):
        assert once.find(graph)

    examine()
    assert find(
        graphs(containing=once),
        lambda g: any(d["type"] == "neg" and len(g.succ[n]) > 1 for n, d in g.nodes.items()),
        settings=SOME,
    )


@pytest.mark.parametrize("shared", ["keep", "duplicate"])
def test_readers_outside_are_served(shared):
    @rule(keeps="assumes", shared=shared)
    def used_again(x):
        inner = op.neg(x)
        yield op.abs(inner)
        return op.maximum(inner, op.neg(inner))

    @rule(shared=shared)
    def used_no_more(x):
        yield op.abs(op.neg(x))
        return op.abs(x)

    assert_preserves(used_again)
    assert_preserves(used_no_more)


def test_what_nobody_reads_may_just_go():
    @rule
    def forget(x):
        yield op.relu(x)
        return rule.nothing

    report = check(forget, seed=0)
    assert report  # weak, perhaps, for most nodes have readers
    assert report.evidence["forget"].cleared


def test_a_bare_pattern_will_do():
    assert find(
        graphs(containing=forms.chain.pattern),
        lambda g: sum(d["type"] == "relu" for d in g.nodes.values()) > 2,
        settings=SOME,
    )


@rule
def asks_for_the_op(x: rule.where(lambda v: v.op_name == "softmax", "it is a softmax")):
    yield op.neg(x)
    return x


@rule
def asks_for_too_much(x):
    yield op.max_pool(x, kernel=rule.where(lambda k: sum(k) > 1000, "a window larger than any"))
    return x


@rule
def asks_by_a_wrong_name(x: rule.where(lambda v: len(v.shapes) == 2, "a matrix")):
    yield op.neg(x)
    return x


@rule
def asks_a_number_for_its_length(x):
    yield op.softmax(x, axis=rule.where(lambda axis: len(axis) == 1, "a single axis"))
    return x


@rule
def contradicts_itself(x):
    yield op.linear(op.is_nan(x), x)
    return x


@rule
def misspells_a_direction(x, places):
    yield op.bit_shift(x, places, direction="RIGHT")
    return x


@pytest.mark.parametrize(
    ("impossible", "words"),
    [
        (asks_for_the_op, "it is a softmax"),
        (asks_for_too_much, "kernel: .* a window larger than any"),
        (asks_by_a_wrong_name, "a matrix .it raises AttributeError: .*shapes"),
        (asks_a_number_for_its_length, "axis: .* a single axis .it raises TypeError"),
        (contradicts_itself, "linear"),
        (misspells_a_direction, "did you mean 'right'"),
    ],
)
def test_what_cannot_be_embedded_says_why_and_what_to_do(impossible, words):
    with pytest.raises(ValueError, match=f"no graph that contains .*{words}.*pass .*on=") as caught:
        graphs(containing=impossible)
    assert isinstance(caught.value, GraphRewriteError)


def test_a_condition_that_raises_is_a_condition_that_does_not_hold():
    @rule
    def careless(y, x: rule.where(lambda v: v.is_constant and v.value.ndim == 1, "a row")):
        yield op.add(op.neg(y), x)
        return decline("never")

    drawn = graphs(containing=careless)
    assert find(drawn, lambda g: any(d["type"] == "constant" for d in g.nodes.values()), settings=SOME)


def skip(kind):
    """Let the readers of a node read what it reads, as a rule over digraphs."""
    pattern = nx.DiGraph([("s", "n"), ("n", "e")])
    pattern.nodes["n"]["type"] = kind
    return from_graphs(pattern, nx.DiGraph([("s", "e")]), name=f"skip_{kind}", interface=["s"], groups=["e"])


def test_rules_over_digraphs_are_tested_on_graphs_that_are_given():
    some = graphs(ops=["identity", "neg"])
    assert_preserves(skip("identity"), on=some)
    report = check(skip("neg"), on=some)
    assert report.verdict == "refuted"
    assert report.name == "skip_neg"
    with pytest.raises(ValueError, match="has no pattern of ops; pass a strategy of your own, on="):
        graphs(containing=skip("neg"))
