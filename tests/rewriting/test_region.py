"""Rewriting in a region: to the end inside, nothing outside, and the region follows."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from graphrewrite import Graph, Rule, Tensor, evaluate, op, rewrite, rule, show, trace, verify
from graphrewrite.errors import EvaluationError, GraphError, RuleError
from graphrewrite.execution.implementation import Implementation
from graphrewrite.hierarchy import Operator
from graphrewrite.rules import RULES
from graphrewrite.testing import graphs, inputs_for

OWN = tuple(each for each in RULES if isinstance(each, Rule))
CHAIN = "graph g\nx = input() : f32[N]\na = neg(x)\nb = neg(a)\nc = neg(b)\nd = neg(c)\ny = output(d)"


@rule
def drop_minus_minus(x):
    """Minus minus x is x."""
    yield op.neg(op.neg(x))
    return x


@given(graphs(containing=drop_minus_minus) | graphs(), st.data())
def test_only_the_region_changes_and_all_of_it_does(graph, data):
    nodes = [n for n in graph if graph.nodes[n]["type"] not in ("input", "output", "constant")]
    chosen = data.draw(st.lists(st.sampled_from(nodes), unique=True)) if nodes else []
    rules = (drop_minus_minus, *OWN)
    view = graph.view("part", chosen)
    after = rewrite(graph, rules, at=view, verify=True)
    outside = [n for n in nodes if n not in chosen]
    assert all(n in after and after.nodes[n] == graph.nodes[n] for n in outside)
    assert after.view("part").nodes.isdisjoint(outside)
    inputs = data.draw(inputs_for(graph, moderate=True))
    for name, array in graph.evaluate(inputs).items():
        np.testing.assert_array_equal(after.evaluate(inputs)[name], array)
    everything = rewrite(graph, rules, at=graph.view("whole", graph))
    assert everything.equals(rewrite(graph, rules), names=False)


def test_a_view_is_rewritten_until_no_rule_matches_in_it():
    graph = Graph.parse(CHAIN)
    view = graph.view("tail", ["b", "c", "d"])
    after = rewrite(graph, (drop_minus_minus, *RULES), at=view)
    assert str(after.view("tail")) == "<view tail: 1 node, (a) -> (d)>"
    assert len(trace(graph, drop_minus_minus, at=view).steps) == 1
    assert rewrite(graph, drop_minus_minus, at=view, copy=False) is graph
    with pytest.raises(RuleError, match="of another graph"):
        rewrite(Graph.parse(CHAIN), drop_minus_minus, at=view)


def test_an_operator_is_a_region_too():
    graph = Graph("g")
    minus = Operator(graph, op.neg, name="minus")
    graph.output("y", -minus(minus(-graph.input("x", Tensor("f32", ("N",))))))
    assert rewrite(graph, drop_minus_minus, at=minus).operands("y")[0].node == "neg_4"
    assert len(show(minus).scenes[0].boxes) == 4  # two nodes, and stubs of what is around
    assert "<svg" in minus._repr_html_() or "neg" in minus._repr_html_()
    minus.set(backend="gpu", implementation="fast")
    assert all(graph.annotations(n)["implementation"] == "fast" for n in minus.nodes)
    minus.set(implementation=None)
    assert graph.annotations("neg_2") == {"operator": "minus", "backend": "gpu"}
    verify(graph)
    with pytest.raises(GraphError, match="the backend is a string or None, got 3"):
        minus.set(backend=3)


def test_views_are_evaluated_with_implementations():
    graph = Graph.parse(CHAIN)
    view = graph.view("tail", ["c", "d"])
    assert evaluate(view, {"b": [1, 2]})["d"].tolist() == [1, 2]
    doubled = Implementation("neg", lambda x: 2 * x)
    assert evaluate(view, [1, 2], implementations=[doubled])["d"].tolist() == [4, 8]
    assert view.evaluate([1, 2])["d"].tolist() == view.evaluate(b=[1, 2])["d"].tolist() == [1, 2]
    for wrong, said in (((), "the input 'b' is missing"), (({"bb": 1},), "no input 'bb'; did you mean 'b'")):
        with pytest.raises(EvaluationError, match=said):
            view.evaluate(*wrong)
    graph.nodes["c"]["implementation"] = "loud"
    assert view.evaluate({"b": [1, 2]}, implementations={"loud": op.exp})["d"][0] == -np.exp(np.float32(1))
    assert "<svg" in view._repr_html_() or "neg" in view._repr_html_()


def test_settings_of_a_whole_graph():
    graph = Graph.parse(CHAIN)
    on_gpu = graph.set(backend="gpu", element="f16")
    assert {data.get("backend") for _, data in on_gpu.nodes(data=True) if data["type"] in ("neg", "cast")} == {"gpu"}
    assert str(on_gpu.result_type("d")) == "f16[N]"
    assert evaluate(on_gpu, [1, 2], implementations=None)["y"].tolist() == [1, 2]
    assert graph.set(backend="gpu").set(backend=None) == graph
    here = [Implementation(each, each.function, backend="gpo") for each in (op.neg, op.cast)]
    with pytest.raises(EvaluationError, match="has the backend 'gpu'; did you mean 'gpo'"):
        evaluate(on_gpu, [1, 2], implementations=here)
    with pytest.raises(GraphError, match=r"settings are backend, .*, got 'backnd'; did you mean 'backend'"):
        graph.set(backnd="gpu")
