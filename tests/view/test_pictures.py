"""Dot, SVG, files, and what is shown where nothing can be drawn."""

from __future__ import annotations

import builtins
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from xml.etree import ElementTree

import networkx as nx
import pytest

import graphrewrite
from graphrewrite import FixedPoint, Graph, Tensor, decline, op, rule
from graphrewrite.errors import GraphError, MissingDependencyError
from graphrewrite.hierarchy.graph_ops import graph_op
from graphrewrite.view import before_after, rule_picture, show, to_dot, to_svg
from graphrewrite.view.colour import DARK, HIGHLIGHTS, look_of
from graphrewrite.view.layout.program import find_program, laid_out
from graphrewrite.view.page import asset
from graphrewrite.view.written import PictureError

pydot = pytest.importorskip("pydot")


def programs() -> list[str]:
    """Those that draw, as far as they are installed: the system's, and the one that pip brings."""
    pure = shutil.which("graphviz-pure", path=str(Path(sys.executable).parent))
    return [name for name in (shutil.which("dot"), pure) if name is not None]


drawn = pytest.mark.skipif(not programs(), reason="Graphviz is missing (pip install graphviz-pure)")
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
    assert edges == [
        ("n0", "n1", "<&#160;f32[N,4]>"),
        ("n1", "n2", "<&#160;f32[N,4]>"),
        ("n2", "n3", "<&#160;f32[N,4]>"),
    ]


def test_operands_enter_at_their_ports():
    graph = Graph("g")
    a, b = (graph.input(name, Tensor("f32", ("N",))) for name in "ab")
    graph.output("y", b - a)
    ends = {edge.get_destination() for edge in to_dot(graph).get_edges()}
    assert {"n2:i0:n", "n2:i1:n"} <= ends


TAGS = {"svg", "style", "g", "title", "polygon", "path", "text", "ellipse", "polyline"}


@pytest.fixture(params=programs() or [None], ids=lambda path: Path(path or "none").name)
def program(request, monkeypatch):
    """Each program that draws, in turn."""
    monkeypatch.setattr("graphrewrite.view.layout.program.find_program", lambda: request.param)
    return request.param


def check_safe(svg: str, nodes: int) -> ElementTree.Element:
    """Nothing but shapes and text, nothing that runs and nothing that is fetched."""
    root = ElementTree.fromstring(svg)
    assert {element.tag.removeprefix(SVG) for element in root.iter()} <= TAGS
    assert not [key for element in root.iter() for key in element.attrib if key.startswith("on") or "href" in key]
    assert not [text for text in (root.find(f"{SVG}style").text,) if "url(" in text or "@import" in text]
    groups = [g for g in root.iter(f"{SVG}g") if g.get("class", "").split()[:1] == ["node"]]
    assert len(groups) == nodes
    return root


@pytest.mark.slow
@drawn
@pytest.mark.parametrize("name", HOSTILE, ids=range(len(HOSTILE)))
@pytest.mark.parametrize("direction", ["TB", "LR"])
def test_hostile_names_are_text(name, direction, program):
    graph = chain("first", name)
    graph.nodes[name]["origin"] = (name,)
    plain = nx.DiGraph([(name, "other")], name=name)
    plain.nodes[name]["type"] = name
    plain.nodes["other"][name] = name
    for shown in (graph, plain):
        picture = show(shown, direction=direction)
        check_safe(picture.svg, len(shown))
        # What a user hands to pydot holds the tooltips as well, and is one graph.
        assert len(pydot.graph_from_dot_data(to_dot(shown).to_string())) == 1


@drawn
def test_hostile_frames_stubs_titles_and_values_are_text(program, tmp_path):
    for name in HOSTILE[:7]:
        body = Graph(name)
        body.output(f"y{name}", op.relu(body.input(f"x{name}", Tensor("f32", ("N", 4)))))
        graph = Graph(name)
        value = graph_op(body)(graph.input("in", Tensor("f32", ("N", 4))))
        value = graph.add(op.exp, [op.neg(value)], name=name)
        graph.output("out", value)
        whole = show(graph)
        assert len(whole.scenes[0].frames) == 1
        check_safe(whole.svg, len(whole.scenes[0].boxes))
        part = show(graph, around=name, depth=0)
        check_safe(part.svg, 3)
        assert part.save(tmp_path / "part.png").read_bytes().startswith(b"\x89PNG")
        check_safe(before_after(graph, graph.copy(), titles=(name, name)).svg, 10)
        html = whole.html + part.html
        assert "<script" not in html
        assert "\u202e" not in html
        whole.save(tmp_path / "whole.html").read_text(encoding="utf-8")


@drawn
def test_svg_is_deterministic_and_has_tooltips():
    svg = to_svg(chain("a"))
    assert svg == to_svg(chain("a"))
    titles = [element.text for element in ElementTree.fromstring(svg).iter(f"{SVG}title")]
    assert titles[1] == "a: relu, level nn\nresult: f32[N,4]"


@drawn
def test_families_levels_marks_and_colours_are_classes(program):
    graph = Graph("g")
    x = graph.input("x", Tensor(FixedPoint(False, 8), ("N", 4)))
    graph.output("y", op.relu(op.from_fixed(op.requantise(x, shift=1, element=FixedPoint(False, 7)), fraction=0)))
    root = check_safe(show(graph, highlight="relu_1").svg, 5)
    classes = {
        g.find(f"{SVG}title").text.split(":")[0]: g.get("class")
        for g in root.iter(f"{SVG}g")
        if g.find(f"{SVG}title") is not None
    }
    assert classes == {
        "x": "node",
        "requantise_1": "node activation integer",
        "from_fixed_1": "node activation bridge",
        "relu_1": "node activation nn matched",
        "y": "node",
    }
    style = root.find(f"{SVG}style").text
    # Light as an attribute, for viewers without CSS; both themes in the style; the paper is the picture's own.
    shapes = [e for e in root.iter() if "f-activation" in e.get("class", "")]
    assert len(shapes) == 3
    assert {e.get("fill") for e in shapes} == {"#c9ebdd"}
    assert ".f-activation{fill:light-dark(#c9ebdd,#17473a)}" in style
    assert ".s-integer{stroke:light-dark(#d55e00,#ff9a4d)}" in style
    assert [e.get("fill") for e in root.iter() if e.get("class") == "paper"] == ["#ffffff"]
    for element in root.iter():
        for what in ("fill", "stroke"):
            colour = element.get(what)
            known = colour in (None, "none", "transparent") or element.get("class") == "paper"
            assert known or f"{what[0]}-" in element.get("class", ""), f"{colour} has no dark counterpart"


def test_pages_and_pictures_have_the_same_colours():
    """The style sheet of pages and the colours of pictures are written twice; they agree."""
    css = asset("theme.css")
    rules = re.findall(r"--gr-([a-z-]+): light-dark\((#[0-9a-f]{6}), (#[0-9a-f]{6})\)", css)
    page = {name: (light, dark) for name, light, dark in rules}
    ours = {name: (light, dark) for light, (name, dark) in DARK.items()}
    shared = page.keys() & ours.keys()
    assert {
        "weights",
        "activation",
        "integer",
        "stream",
        "bridge",
        "matched",
        "removed",
        "added",
        "ink",
        "dim",
    } <= shared
    assert {name: page[name] for name in shared} == {name: ours[name] for name in shared}
    every = {look.fill for look in map(look_of, op.LIBRARY, op.LIBRARY.values())} | {
        m.colour for m in HIGHLIGHTS.values()
    }
    assert every <= DARK.keys()


@pytest.mark.slow(cases=0)
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
@pytest.mark.parametrize("ending", ["svg", "png", "dot", "html", "txt"])
def test_save(tmp_path, ending, program):
    path = show(chain("a")).save(tmp_path / f"picture.{ending}")
    start = {"svg": b"<svg", "png": b"\x89PNG", "dot": b"digraph", "html": b"<!DOCTYPE html>", "txt": b"graph chain"}
    assert path.read_bytes().startswith(start[ending])


@drawn
def test_a_page_holds_the_picture_and_its_tooltips(program):
    html = show(chain("a"))._repr_html_()
    assert "<title>a: relu, level nn" in html
    assert 'class="node activation nn"' in html
    assert "<script" not in html


def test_save_refuses_with_the_remedy(tmp_path):
    with pytest.raises(PictureError, match=r"ends in \.svg, \.png, \.dot, \.html or \.txt"):
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
    html = picture._repr_html_()
    assert '<td>relu</td><td class="number">300</td>' in html
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

    _, after = rule_picture(odd).scenes
    assert after.boxes[0].code == ("if len(x.shape) == 1:", '    return decline("a vector")', "return x")


def test_every_shipped_rule_has_a_picture():
    from graphrewrite.rules import FOLDING, RULES

    for each in (*RULES, *FOLDING):
        if isinstance(each, graphrewrite.Rule):
            assert len(rule_picture(each).scenes) == 2
            assert rule_picture(each).dot.to_string() == rule_picture(each).dot.to_string()


def test_without_graphviz_there_is_text_and_a_hint(monkeypatch):
    monkeypatch.setattr(shutil, "which", lambda name, path=None: None)
    picture = show(chain("a"))
    with pytest.raises(MissingDependencyError, match="apt-get, dnf or brew install graphviz"):
        picture.save("picture.svg")
    assert picture._repr_svg_() is None
    assert "graphrewrite[view]" in picture._repr_html_()
    assert "a = relu(in)" in picture._repr_html_()
    assert "a = relu(in)" in repr(picture)
    assert chain("a")._repr_svg_() is None


def test_the_program_that_pip_brings_is_found_beside_python(tmp_path, monkeypatch):
    beside = tmp_path / ("graphviz-pure.exe" if os.name == "nt" else "graphviz-pure")
    beside.write_text("#!/bin/sh\n")
    beside.chmod(0o755)
    monkeypatch.setenv("PATH", "")
    monkeypatch.setattr(sys, "executable", str(tmp_path / "python"))
    assert find_program() == str(beside)
    if os.name != "nt":
        with pytest.raises(PictureError, match="failed: exit code 0"):
            laid_out("digraph {}", "svg")
        beside.write_text("no program")
        with pytest.raises(PictureError, match=r"cannot run .* install Graphviz anew"):
            laid_out("digraph {}", "svg")


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
