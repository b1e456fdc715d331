"""Rules are copied and pickled by their names, as functions are; what holds them shows itself afterwards as before."""

from __future__ import annotations

import copy
import pickle

import networkx as nx
import pytest

from graphrewrite import Graph, Pipeline, diff, op, pass_, rule, trace
from graphrewrite.rewriting.digraph_rules import from_graphs
from graphrewrite.rewriting.rule.explanation import Explanation
from graphrewrite.testing import check

GRAPH = Graph.parse("graph g\nx = input() : f32[N]\na = neg(x)\nb = neg(a)\nc = relu(b)\ny = output(c)")
LINE = nx.path_graph(4, nx.DiGraph)


@rule
def drop_double_negation(x):
    yield op.neg(op.neg(x))
    return x


@rule
def forgotten_sign(x, y):
    yield op.neg(op.sub(x, y))
    return op.sub(x, y)


@pass_
def as_it_is(graph):
    "Nothing."
    return []


SHORTER = from_graphs(
    nx.DiGraph([("a", "b"), ("b", "c")]), nx.DiGraph([("a", "c")]), name="shorter", interface=["a", "c"]
)


def copies(thing):
    return copy.copy(thing), copy.deepcopy(thing), pickle.loads(pickle.dumps(thing))


@pytest.mark.parametrize("thing", [drop_double_negation, as_it_is])
def test_rules_and_passes_stay_themselves(thing):
    assert all(each is thing for each in copies(thing))


def test_a_rule_without_a_name_in_a_module_is_not_pickled():
    @rule
    def local(x):
        yield op.neg(x)
        return x

    assert copy.deepcopy(local) is local
    with pytest.raises((pickle.PicklingError, AttributeError), match="local"):
        pickle.dumps(local)


@pytest.mark.parametrize(
    "thing",
    [
        Pipeline((drop_double_negation,), as_it_is),
        drop_double_negation.find(GRAPH)[0],
        drop_double_negation.explain(GRAPH, at="c"),
        trace(GRAPH, [drop_double_negation]),
        trace(GRAPH, [drop_double_negation]).profile,
        diff(GRAPH, drop_double_negation(GRAPH)),
        SHORTER.find(LINE)[0],
        SHORTER.explain(LINE, at=0),
        trace(LINE, [SHORTER]),
    ],
    ids=lambda thing: type(thing).__name__,
)
def test_what_holds_rules_shows_itself_as_before(thing):
    for each in copies(thing):
        assert (str(each), repr(each)) == (str(thing), repr(thing))
        if isinstance(thing, Explanation):  # drawn by what its terms are, and told
            assert each.show().data.sentence == str(thing)
        elif hasattr(thing, "_repr_html_"):
            assert each._repr_html_() == thing._repr_html_()


def test_a_rule_over_digraphs_works_on_from_where_it_is_unpickled():
    for each in copies(SHORTER):
        assert sorted(each(LINE).edges) == sorted(SHORTER(LINE).edges)


def test_a_report_keeps_its_counterexample():
    report = check(forgotten_sign, seed=0)
    for each in copies(report):
        assert str(each.counterexample) == str(report.counterexample)
        assert each.counterexample.code == report.counterexample.code
