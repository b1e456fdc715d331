"""Comparisons as displays: marks, counts, lines and tables."""

from __future__ import annotations

import networkx as nx
import pytest

from graphrewrite import Graph, Module, Tensor, diff, op, show
from graphrewrite.view.written import PictureError
from tests.support.hostile_names import HOSTILE, Page

BEFORE = Graph.parse("""graph g
x = input() : f32[N]
c = constant(value=2.0) : f32[]
a = relu(x)
m = mul(a, c)
b = abs(m)
d = sub(m, x)
e = add(b, d)
y = output(e)""")
AFTER = Graph.parse("""graph g
x = input() : f32[N]
c = constant(value=3.0) : f32[]
a = sigmoid(x)
m = mul(a, c)
z = neg(m)
d = sub(z, x)
e = add(z, d)
y = output(e)
w = output(a)""")


def marks(scene) -> dict[str, str]:
    return {box.name: box.mark for box in scene.boxes if box.mark}


def test_what_differs_is_marked_in_both_graphs():
    before, after = show(diff(BEFORE, AFTER)).data.drawing.scenes
    assert marks(before) == {"a": "changed", "m": "changed", "b": "removed", "d": "moved", "e": "moved"}
    assert marks(after) == {
        "a": "changed", "m": "changed", "z": "added", "d": "moved", "e": "moved", "w": "added",
    }  # fmt: skip


def test_counts_tables_and_lines():
    found = diff(BEFORE, AFTER)
    page = found.show().data
    assert page.counts == (("kept", 3), ("inserted", 2), ("removed", 1), ("changed", 2), ("moved", 2))
    assert page.attributes.rows == (("outputs", "y", "y, w"),)
    assert page.changes.rows == (("a", "type", "relu", "sigmoid"), ("c", "value", "2.0", "3.0"))
    assert "\n".join(line for _, line in page.lines) == str(found)
    assert [kind for kind, line in page.lines if line.startswith(("+", "-", "> d", "~ a"))] == [
        "differs", "removed", "added", "moved", "added",
    ]  # fmt: skip


def test_what_a_notebook_and_a_prompt_show():
    found = diff(BEFORE, AFTER)
    assert repr(found) == "<diff: 2 inserted, 1 removed, 2 changed, 2 moved, 1 of the graph itself>"
    assert repr(diff(BEFORE, BEFORE)) == "<diff: no difference>"
    page = Page(found._repr_html_())
    assert "2 inserted" in page.text
    assert "sigmoid" in page.text
    assert page.classes("removed") >= 2
    assert str(show(found)) == str(found)


def test_no_difference_is_no_picture():
    shown = show(diff(BEFORE, BEFORE))
    assert shown.data.drawing is None
    assert "no difference" in Page(shown._repr_html_()).text


def test_a_renamed_node_has_both_names():
    after = Graph.parse(str(BEFORE).replace("a = relu", "r = relu").replace("mul(a", "mul(r"))
    before, new = show(diff(BEFORE, after)).data.drawing.scenes
    assert marks(before) == {"a": "moved"}
    assert marks(new) == {"r": "moved"}


@pytest.mark.parametrize("ending", ["html", "txt", "svg", "dot"])
def test_files(ending, tmp_path):
    assert show(diff(BEFORE, AFTER)).save(tmp_path / f"diff.{ending}").read_text(encoding="utf-8")


def test_nothing_to_draw_is_no_file(tmp_path):
    with pytest.raises(PictureError, match="nothing to draw"):
        show(diff(BEFORE, BEFORE)).save(tmp_path / "diff.svg")


def test_many_differences_are_not_drawn():
    other = Graph.parse(str(BEFORE).replace("relu", "neg"))
    shown = show(diff(BEFORE, other), max_nodes=0)
    assert shown.data.drawing is None
    assert "more than max_nodes=0" in shown.data.hints[0]


def test_modules():
    one, other = Module("m"), Module("m")
    one["both"], other["both"] = BEFORE.copy(), AFTER.copy()
    one["gone"], other["new"] = BEFORE.copy(), AFTER.copy()
    found = diff(one, other)
    page = found.show().data
    assert page.counts == (("inserted", 1), ("removed", 1), ("changed", 1))
    assert (page.inserted, page.removed) == (("new",), ("gone",))
    assert [name for name, _ in page.graphs] == ["both"]
    assert page.graphs[0][1] == diff(BEFORE, AFTER).show().data
    assert repr(found) == "<diff of modules: 1 changed, 1 inserted, 1 removed>"
    text = Page(found._repr_html_()).text
    assert "+ graph new" in text
    assert "- graph gone" in text


def test_plain_digraphs():
    before, after = nx.DiGraph([(1, 2)]), nx.DiGraph([(1, 3)])
    before.nodes[1]["size"], after.nodes[1]["size"] = 2, {"a": [1]}
    page = diff(before, after).show().data
    assert page.changes.rows == (("1", "size", "2", "{'a': [1]}"),)


@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_names_and_attributes_are_text(name):
    text = HOSTILE[name]
    graph = Graph(text)
    graph.output("y", op.relu(graph.input(text, Tensor("f32", ("N",)))))
    other = graph.copy()
    other.graph["note"] = text
    other.nodes[text]["said"] = text
    other.output(f"{text}2", other.value(text))
    found = diff(graph, other)
    page = Page(found._repr_html_())
    Page(found.show().document)
    if name == "script":
        assert "<script>alert(1)</script>" in page.text
