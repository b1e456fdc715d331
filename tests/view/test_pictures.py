"""Dot, SVG, files, and what is shown where nothing can be drawn."""

from __future__ import annotations

import builtins
import os
import shutil
import subprocess
import sys
from xml.etree import ElementTree

import networkx as nx
import pytest

import graphrewrite
from graphrewrite import Graph, Tensor, decline, op, rule
from graphrewrite.errors import GraphError, MissingDependencyError
from graphrewrite.view import before_after, rule_picture, show, to_dot, to_svg
from graphrewrite.view.written import PictureError

pydot = pytest.importorskip("pydot")
drawn = pytest.mark.skipif(shutil.which("dot") is None, reason="Graphviz is missing (Debian: apt-get install graphviz)")
# pydot's parser calls pyparsing by names that are deprecated.
pytestmark = pytest.mark.filterwarnings("ignore::DeprecationWarning")
SVG = "{http://www.w3.org/2000/svg}"
HOSTILE = (
    "</svg><script>alert(1)</script>",
    "\"quotes' & <b>bold</b>",
    "\\N \\G \\",
    "a\nb\tc\x00\x1b",
    "\u202eltr\u200f",
    "\ud800",
    "x" * 10_000,
    "<>",
    "node",
    "naïve 层",
    "n0:p",
)


def chain(*names: str) -> Graph:
    graph = Graph("chain")
    value = graph.input("in", Tensor("f32", ("N", 4)))
    for name in names:
        value = graph.add(op.relu, [value], name=name)
    graph.output("out", value)
    return graph


def test_dot_has_the_nodes_the_edges_and_the_labels():
    graph = chain("a", "b")
    (parsed,) = pydot.graph_from_dot_data(to_dot(graph).to_string())
    nodes = {node.get_name(): node.get_label() or "" for node in parsed.get_nodes()}
    assert [key for key in nodes if key.startswith("n") and key[1:].isdigit()] == ["n0", "n1", "n2", "n3"]
    assert "<B>relu</B>" in nodes["n1"]
    assert ">a<" in nodes["n1"]
    edges = [(edge.get_source(), edge.get_destination(), edge.get_label()) for edge in parsed.get_edges()]
    assert edges == [("n0", "n1", "< f32[N,4]>"), ("n1", "n2", "< f32[N,4]>"), ("n2", "n3", "< f32[N,4]>")]


def test_operands_enter_at_their_ports():
    graph = Graph("g")
    a, b = (graph.input(name, Tensor("f32", ("N",))) for name in "ab")
    graph.output("y", b - a)
    ends = {edge.get_destination() for edge in to_dot(graph).get_edges()}
    assert {"n2:i0:n", "n2:i1:n"} <= ends


@drawn
@pytest.mark.parametrize("name", HOSTILE, ids=range(len(HOSTILE)))
@pytest.mark.parametrize("direction", ["TB", "LR"])
def test_hostile_names_are_text(name, direction):
    graph = chain("first", name)
    graph.nodes[name]["origin"] = (name,)
    plain = nx.DiGraph([(name, "other")])
    plain.nodes[name]["type"] = name
    plain.nodes["other"][name] = name
    for shown in (graph, plain):
        root = ElementTree.fromstring(to_svg(shown, direction=direction))
        tags = {element.tag.removeprefix(SVG) for element in root.iter()}
        assert tags <= {"svg", "g", "title", "polygon", "path", "text", "ellipse", "polyline"}
        assert not [key for element in root.iter() for key in element.attrib if key.startswith("on") or "href" in key]
        repr(show(shown))
        assert len(root.findall(f".//{SVG}g[@class='node']")) == len(shown)
        # What a user hands to pydot holds the tooltips as well, and is one graph.
        assert len(pydot.graph_from_dot_data(to_dot(shown).to_string())) == 1


@drawn
def test_svg_is_deterministic_and_has_tooltips():
    svg = to_svg(chain("a"))
    assert svg == to_svg(chain("a"))
    titles = [element.text for element in ElementTree.fromstring(svg).iter(f"{SVG}title")]
    assert titles[1] == "a: relu, level nn\nresult: f32[N,4]"


@drawn
def test_the_hash_seed_does_not_matter():
    code = (
        "from graphrewrite import *; g = Graph.parse('graph g\\nx = input() : f32[N]\\na = add(x, x)\\ny = output(a)')"
    )
    outputs = {
        subprocess.run(
            [sys.executable, "-c", f"{code}; print(show(g).svg, show(g).dot.to_string())"],
            env={**os.environ, "PYTHONHASHSEED": seed, "PYTHONPATH": os.pathsep.join(sys.path)},
            capture_output=True,
            check=True,
        ).stdout
        for seed in ("1", "2")
    }
    assert len(outputs) == 1


@drawn
@pytest.mark.parametrize("ending", ["svg", "png", "dot"])
def test_save(tmp_path, ending):
    path = show(chain("a")).save(tmp_path / f"picture.{ending}")
    start = {"svg": b"<svg", "png": b"\x89PNG", "dot": b"digraph"}[ending]
    assert path.read_bytes().startswith(start)


def test_save_refuses_with_the_remedy(tmp_path):
    with pytest.raises(PictureError, match=r"ends in \.svg, \.png or \.dot"):
        show(chain("a")).save(tmp_path / "picture.gif")
    with pytest.raises(PictureError, match="choose a folder"):
        show(chain("a")).save(tmp_path / "nowhere" / "picture.dot")


def test_highlight_marks_a_match_or_names():
    @rule
    def halve(x):
        yield op.relu(op.relu(x))
        return op.relu(x)

    graph = chain("a", "b", "c")
    match = halve.find(graph)[0]
    assert [box.name for box in show(graph, highlight=match).scenes[0].boxes if box.mark] == list(match.nodes)
    assert show(graph, highlight="c").scenes[0].box("c").mark == "matched"
    with pytest.raises(GraphError, match="did you mean 'a'"):
        show(graph, highlight=["aa"])


def test_large_graphs_show_their_summary():
    graph = chain(*(f"r{i}" for i in range(300)))
    picture = show(graph)
    assert picture._repr_svg_() is None
    assert "max_nodes=200" in repr(picture)
    assert "300 operations" in repr(picture)
    assert "<pre>" in picture._repr_html_()
    with pytest.raises(PictureError, match="max_nodes"):
        picture.save("picture.dot")
    assert show(graph, max_nodes=302).scenes


def test_before_after_marks_what_went_and_what_came():
    picture = before_after(chain("a", "b"), chain("a", "c"))
    marks = [{box.name: box.mark for box in scene.boxes if box.mark} for scene in picture.scenes]
    assert marks == [{"b": "removed"}, {"c": "added"}]
    assert [scene.title for scene in picture.scenes] == ["before: 2 operations", "after: 2 operations"]
    (parsed,) = pydot.graph_from_dot_data(picture.dot.to_string())
    assert len(parsed.get_subgraphs()) == 2
    assert repr(picture).count("graph chain") == 2


def test_a_rule_shows_both_sides():
    @rule
    def merge(x, p, q):
        inner = op.transpose(x, perm=p)
        yield op.transpose(inner, perm=q)
        if not inner.shape:
            return decline("a scalar")
        return op.transpose(x, perm=tuple(p[i] for i in q))

    before, after = rule_picture(merge).scenes
    assert [(box.name, box.kind, box.notes) for box in before.boxes][1:3] == [
        ("inner", "transpose", ("perm = p",)),
        ("", "transpose", ("perm = q",)),
    ]
    assert [box.notes for box in after.boxes if box.kind] == [("perm = computed",)]
    assert after.title == "⇒ replacement (sketch)"
    assert before.box("x").look == after.box("x").look


def test_a_rule_that_computes_shows_its_source():
    @rule
    def odd(x):
        yield op.relu(x)
        if len(x.shape) == 1:
            return decline("a vector")
        return x

    _, after = show(odd).scenes
    assert after.boxes[0].code == ("if len(x.shape) == 1:", '    return decline("a vector")', "return x")


def test_every_shipped_rule_has_a_picture():
    from graphrewrite.rules import FOLDING, RULES

    for each in (*RULES, *FOLDING):
        if isinstance(each, graphrewrite.Rule):
            assert len(show(each).scenes) == 2
            assert show(each).dot.to_string() == show(each).dot.to_string()


def test_without_graphviz_there_is_text_and_a_hint(monkeypatch):
    monkeypatch.setattr(shutil, "which", lambda name: None)
    picture = show(chain("a"))
    with pytest.raises(MissingDependencyError, match="apt-get install graphviz"):
        picture.save("picture.svg")
    assert picture._repr_svg_() is None
    assert "apt-get install graphviz" in picture._repr_html_()
    assert "a = relu(in)" in repr(picture)
    assert chain("a")._repr_svg_() is None


def test_without_pydot_there_is_text_and_a_hint(monkeypatch):
    real = builtins.__import__

    def missing(name, *rest):
        if name == "pydot":
            raise ImportError(name)
        return real(name, *rest)

    monkeypatch.setattr(builtins, "__import__", missing)
    with pytest.raises(MissingDependencyError, match=r"pip install 'graphrewrite\[view\]'"):
        to_dot(chain("a"))
    assert "graphrewrite[view]" in show(chain("a"))._repr_html_()


def test_the_public_names_lead_here():
    graph = chain("a")
    assert graphrewrite.show(graph).scenes == graph.show().scenes == show(graph).scenes
    assert repr(show(Graph("empty"))).startswith("graph empty")
