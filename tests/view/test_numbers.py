"""The table of an evaluation: what its rows say, as a page and as text."""

from __future__ import annotations

import numpy as np
import pytest

from graphrewrite import Graph, evaluation, show
from graphrewrite.errors import GraphError
from tests.support.hostile_names import HOSTILE, Page


def graph(*names: str) -> Graph:
    names = names or ("x", "r", "y")
    made = Graph(names[0])
    source = Graph.parse("graph g\nx = input() : s8f4[N,2]\nr = requantise(x, shift=2, element=u4f2)\ny = output(r)")
    label = dict(zip(("x", "r", "y"), names, strict=True))
    for node, data in source.nodes(data=True):
        made.add_node(label[node], **data)
    for a, b, data in source.edges(data=True):
        made.add_edge(label[a], label[b], **data)
    return made


def rows(found, **options):
    return {row.node: row for row in show(found, **options).data.rows}


INPUTS = {"x": [[6, 10], [-1, 127]]}


def test_rows():
    found = rows(evaluation(graph(), INPUTS, {"r": [[0.375, 0.625], [0, 7.9375]]}))
    assert list(found) == ["x", "r"]
    row = found["r"]
    assert (row.kind, row.type, row.low, row.high, row.mean) == ("requantise", "u4f2[N,2]", "0", "3.75", "1.188")
    assert (row.limits, row.bits, row.clipped, row.is_clipped) == ("0 … 3.75", "4 of 4", "1 (25.0 %)", True)
    assert (row.span, row.zero, row.zeros) == ((0.0, 1.0), 0.0, "1 (25.0 %)")
    assert (row.error, row.against, row.is_far) == ("≤ 4.2, mean 1.1, 3 (75.0 %) differ", "r", True)
    assert row.length == 1.0
    assert len(row.bars) == 16
    assert max(row.bars) == 1.0
    assert found["x"].error == ""


def test_page_and_text():
    shown = evaluation(graph(), INPUTS, graph()).show()
    page = Page(shown.html)
    assert [tag for tag, _ in page.tags].count("tr") == 3
    assert "range of the format" in page.text
    assert "equal" in page.text
    assert page.classes("warn") == 2  # both are at their limits
    lines = shown.text.splitlines()
    assert lines[0] == "x: 2 frames, compared with graph 'x'"
    assert lines[1].split() == ["node", "op", "type", "low", "high", "bits", "at", "limits", "zeros", "error"]
    assert len(lines) == 4
    assert repr(shown) == shown.text == str(evaluation(graph(), INPUTS, graph()))
    assert Page(evaluation(graph(), INPUTS)._repr_html_()).text.count("x") > 0


def test_chosen_nodes_orders_and_constants():
    lines = "graph g\nx = input() : f32[N]\nc = constant(value=3.0) : f32[]\na = mul(x, c)\nb = neg(a)\ny = output(b)"
    found = evaluation(Graph.parse(lines), {"x": [1.0, 2.0]}, {"x": [1.0, 2.0], "a": [3.0, 6.5], "b": [0.0, 9.0]})
    assert list(rows(found)) == ["x", "a", "b"]
    assert list(rows(found, constants=True)) == ["x", "c", "a", "b"]
    assert list(rows(found, nodes="b")) == ["b"]
    assert list(rows(found, nodes=["b", "c"])) == ["b", "c"]
    assert list(rows(found, order="error")) == ["b", "a", "x"]
    assert list(rows(found, order="clipped")) == ["x", "a", "b"]
    assert "2 more edges: raise most=1" in found.show(most=1).text
    with pytest.raises(GraphError, match="has no numbers of 'd'"):
        found.show(nodes="d")
    with pytest.raises(GraphError, match="there is no order 'errors'; did you mean 'error'"):
        found.show(order="errors")


@pytest.mark.parametrize("values", [[np.nan, np.inf], [np.inf, -np.inf], [1e308, -1e308], [5e-324, 0.0], [0.0, 0.0]])
def test_numbers_that_are_none_or_extreme(values):
    lines = "graph g\nx = input() : f64[N]\nb = neg(x)\ny = output(b)"
    found = evaluation(Graph.parse(lines), {"x": values}, {"x": [1.0, -1e308]})
    page = Page(found.show().document)
    assert "nan" not in "".join(value or "" for tag, a in page.tags for value in a.values() if tag in ("path", "rect"))
    assert "inf" not in "".join(a.get("width") or "" for tag, a in page.tags if tag == "rect")
    assert found.show().text.count("\n") == 3


def test_of_nothing():
    assert Page(evaluation(Graph("empty"), {}).show().html).text.startswith("empty 0 frames")


@pytest.mark.parametrize("name", HOSTILE.values(), ids=HOSTILE)
def test_hostile_names(name):
    found = evaluation(graph(name, f"{name} r", f"{name} y"), {name: INPUTS["x"]}, {f"{name} r": np.ones((2, 2))})
    shown = found.show()
    page = Page(shown.document)
    assert len(shown.html) < 40_000
    assert len(shown.text) < 2_000
    assert shown.text.isprintable() or all(line.isprintable() for line in shown.text.splitlines())
    if name == HOSTILE["script"]:
        assert "<script>alert(1)</script>" in page.text


def test_large_ones_are_quick_and_small():
    lines = ["graph g", "r0 = input() : f32[N]", *(f"r{i + 1} = relu(r{i})" for i in range(1000)), "y = output(r1000)"]
    found = evaluation(Graph.parse("\n".join(lines)), {"r0": np.linspace(-1, 1, 1000)})
    shown = found.show()
    assert len(shown.data.rows) == 100
    assert "901 more edges" in shown.text
    assert len(shown.html) < 400_000
