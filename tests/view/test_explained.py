"""Explanations as displays: what fits is green, what hinders is red, in the graph and in the pattern."""

from __future__ import annotations

import copy
import pickle
import re

import networkx as nx
import pytest

from graphrewrite import Graph, Tensor, decline, op, rule, show, trace
from graphrewrite.rewriting.digraph_rules import from_graphs
from graphrewrite.rules import inline
from tests.support.hostile_names import HOSTILE, Page
from tests.support.sources import rule_of

GRAPH = Graph.parse("""graph g
x = input() : f32[N]
c = constant(value=2.0) : f32[]
a = relu(x)
m = mul(a, c)
b = abs(m)
d = sub(m, x)
e = add(b, d)
y = output(e)""")


@rule
def deep(x, k: rule.Constant):
    yield op.add(op.abs(op.mul(op.neg(x), k)), op.sub(x, x))
    return x


@rule
def double_product(x):
    yield op.mul(x, 3.0)
    return x


@rule
def unread(x):
    top = op.mul(op.relu(x), rule.where(lambda v: True, "any"))
    yield top, ~op.abs(top)
    return top


@rule
def unwilling(x):
    yield op.abs(x)
    return rule.decline("it is Monday", at=x)


def marks(drawing) -> dict[str, str]:
    return {box.name or box.kind: box.mark for box in drawing.scenes[0].boxes if box.mark}


@pytest.mark.parametrize(
    ("tried", "at", "graph", "pattern"),
    [
        (deep, "e", {"e": "fits", "b": "fits", "m": "fits", "a": "obstacle"},
         {"add": "fits", "abs": "fits", "mul": "fits", "neg": "obstacle"}),
        # A constant is a line of its reader, which is marked in its place.
        (double_product, "m", {"a": "fits", "m": "obstacle"}, {"x": "fits", "mul": "obstacle"}),
        (unread, "m", {"x": "fits", "a": "fits", "m": "fits", "b": "obstacle"},
         {"x": "fits", "relu": "fits", "top": "fits", "abs": "obstacle"}),
        (unwilling, "b", {"b": "fits", "m": "obstacle"}, {"x": "fits", "abs": "fits"}),
        (unwilling, "a", {"a": "obstacle"}, {"abs": "obstacle"}),
    ],
    ids=["deep", "constant", "forbidden", "declined", "root"],
)  # fmt: skip
def test_the_furthest_partial_match_and_the_first_obstacle(tried, at, graph, pattern):
    found = tried.explain(GRAPH, at=at)
    page = found.show().data
    assert marks(page.graph) == graph
    assert marks(page.pattern) == pattern
    assert page.sentence == str(found) == found
    assert not page.is_match
    assert found.match is None


def test_a_match_is_all_green():
    graph = Graph.parse("graph g\nx = input() : f32[N]\na = relu(x)\nb = neg(a)\ny = output(b)")

    @rule
    def fits(x):
        yield op.neg(op.relu(x))
        return x

    found = fits.explain(graph, at="b")
    page = found.show().data
    assert (page.is_match, found.is_match, found.match.nodes) == (True, True, ("a", "b"))
    assert set(marks(page.graph).values()) == set(marks(page.pattern).values()) == {"fits"}
    assert page.fits == (("relu", "a"), ("neg", "b"), ("x", "x"))
    assert found._repr_html_() == show(found)._repr_html_()


@pytest.mark.parametrize(
    ("pattern", "text", "fits"),
    [
        ("op.neg(op.relu(x) | op.exp(x))", "r = exp(x)\nn = neg(r)", {"neg": "n", "exp": "r", "x": "x"}),
        ("op.neg(op.relu(x) | op.exp(x))", "r = abs(x)\nn = neg(r)", {"neg": "n"}),
        ("op.sub(x, ~op.neg(x))", "n = sub(x, x)", {"sub": "n", "x": "x"}),
        ("rule.repeated(x, op.neg, least=2)", "r = neg(x)\nn = neg(r)", {"x": "x"}),
        ("rule.every(x, op.neg, least=1)", "n = neg(x)", {"x": "x"}),
    ],
)  # fmt: skip
def test_forms_that_are_no_nodes_have_no_name(pattern, text, fits):
    tested = rule_of(f"@rule\ndef r(x):\n  yield {pattern}\n  return x")
    graph = Graph.parse(f"graph g\nx = input() : f32[2]\n{text}\ny = output(n)")
    found = tested.explain(graph, at="n")
    assert dict(found.show().data.fits) == fits
    assert str(found).replace("'", "&#39;") in found._repr_html_()


def test_it_is_the_sentence_itself():
    found = deep.explain(GRAPH, at="e")
    assert isinstance(found, str)
    assert repr(found) == "<explanation: deep does not match at 'e'>"
    assert f"{found}" == "deep does not match at 'e': 'a' is relu, and the pattern needs neg."
    assert (found.node, found.reason, found.nodes) == ("a", "is relu, and the pattern needs neg", ("e", "b", "m"))
    assert copy.copy(found) == pickle.loads(pickle.dumps(str(found))) == found


def test_only_the_neighbourhood_is_drawn():
    graph = Graph("long")
    value = graph.input("x", Tensor("f32", ("N",)))
    for _ in range(300):
        value = op.neg(value)
    graph.output("y", value)

    @rule
    def pair(x):
        yield op.relu(op.neg(x))
        return x

    drawn = pair.explain(graph, at="neg_150").show().data.graph.scenes[0]
    assert [box.name for box in drawn.boxes if not box.stub] == ["neg_149", "neg_150", "neg_151"]


def test_of_a_rule_over_digraphs():
    pattern = nx.DiGraph([("s", "x"), ("x", "e")])
    drop = from_graphs(pattern, nx.DiGraph([("s", "e")]), name="drop", interface=["s", "e"])
    graph = nx.DiGraph([("a", "b"), ("b", "c"), ("d", "b")])
    found = drop.explain(graph, at="b")
    page = found.show().data
    assert (found.node, found.term, found.nodes) == ("b", "x", ("b", "a", "c"))
    assert marks(page.graph) == {"a": "fits", "b": "obstacle", "c": "fits"}
    assert marks(page.pattern) == {"s": "fits", "x": "obstacle", "e": "fits"}
    graph.remove_edge("d", "b")
    assert set(marks(drop.explain(graph, at="b").show().data.graph).values()) == {"fits"}


def test_of_a_rule_without_a_pattern():
    found = inline.explain(GRAPH, at="a")
    page = found.show().data
    assert page.pattern is None
    assert marks(page.graph) == {"a": "obstacle"}
    assert "'relu' is no graph" in Page(found._repr_html_()).text


def test_a_graph_that_has_changed_since_is_shown_as_it_is():
    graph = Graph.parse("graph g\nx = input() : f32[N]\na = relu(x)\ny = output(a)")
    found = unwilling.explain(graph, at="a")
    graph.clear()
    assert found.show().data.graph.scenes[0].boxes == ()
    assert str(found) in found._repr_html_().replace("&#39;", "'")


@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_names_are_text(name):
    graph = Graph(HOSTILE[name])
    value = op.relu(graph.input(HOSTILE[name], Tensor("f32", ("N",))))
    graph.output("y", value)

    @rule
    def pair(x):
        yield op.relu(op.neg(x))
        return x

    found = pair.explain(graph, at=value.node)
    page = Page(found._repr_html_())
    Page(found.show().document)
    if name == "script":
        assert "<script>alert(1)</script>" in page.text


def test_a_profile_is_a_table_with_the_reasons_of_rules_that_declined():
    @rule
    def unwilling(x):
        yield op.abs(x)
        return decline("x < 1 & it is <b>late</b>")

    @rule
    def idle(x):
        yield op.exp(x)
        return x

    found = trace(GRAPH, [unwilling, idle]).profile
    rows = [re.split(r"\s{2,}", line) for line in str(show(found)).splitlines()]
    assert [row[:5] for row in rows if row[0] in found] == [["unwilling", "1", "1", "1", "0"], ["idle", *"0000"]]
    page = Page(show(found).document)
    assert "unwilling" in page.text
    assert "1 times: x < 1 & it is <b>late</b>" in page.text
