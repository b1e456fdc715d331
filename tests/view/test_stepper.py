"""The rewrite viewer's data: what each frame shows, held against the graphs between the steps."""

from __future__ import annotations

import json
import re
import shutil
from collections import Counter
from html import unescape

import networkx as nx
import pytest
from hypothesis import given, settings

from graphrewrite import Graph, Tensor, op, pass_, rule, show, trace
from graphrewrite.formats.text import line_of
from graphrewrite.rewriting.digraph_rules import from_graphs
from graphrewrite.rewriting.passes import Pipeline
from graphrewrite.rewriting.traces import Trace
from graphrewrite.rules import RULES
from graphrewrite.testing import graphs
from graphrewrite.view.plain import plain
from graphrewrite.view.scene import scene_of
from graphrewrite.view.stepper import Frame, Stepper, show_trace
from graphrewrite.view.written import PictureError
from tests.support.enabling import ENABLING, random_graph

drawn = pytest.mark.skipif(shutil.which("dot") is None, reason="Graphviz is missing (Debian: apt-get install graphviz)")
HOSTILE = "</script></svg><script>alert(1)</script>'\"&\u202e\x00\ud800"


@rule
def drop_double_negation(x):
    "Minus minus x is x."
    inner = op.neg(x)
    yield op.neg(inner)
    return x


@rule
def relu_by_abs(x):
    "Stands for any rule."
    yield op.relu(x)
    return op.abs(x)


def chain(*kinds: str, names: tuple[str, ...] = ()) -> Graph:
    graph = Graph("chain")
    value = graph.input("x", Tensor("f32", ("N", 4)))
    for i, kind in enumerate(kinds):
        value = graph.add(getattr(op, kind), [value], **({"name": names[i]} if names else {}))
    graph.output("y", value)
    return graph


def arrows_of(graph: nx.DiGraph, names: set[str]) -> Counter:
    """Arrows of a picture of a graph between boxes of these names."""
    scene = scene_of(graph)
    ends = [(scene.boxes[a.source].name, scene.boxes[a.destination].name, a) for a in scene.arrows]
    return Counter((s, d, a.result, a.port, a.label) for s, d, a in ends if {s, d} <= names)


def check(found: Trace, shown: Stepper) -> None:
    """Hold every frame against the graphs before and after its step."""
    before = found.graph_after(0)
    for frame, step in zip(shown.frames, found.steps, strict=True):
        after = found.graph_after(frame.number)
        check_frame(frame, shown, step, (before, after))
        before = after


def check_frame(frame: Frame, shown: Stepper, step, sides: tuple[nx.DiGraph, nx.DiGraph]) -> None:
    before, after = sides

    def named(nodes):
        return [shown.nodes[node] for node in nodes]

    assert (frame.nodes_before, frame.nodes_after) == (len(before), len(after))
    assert sorted(named(frame.removed)) == sorted(set(before) - set(after))
    assert sorted(named(frame.added)) == sorted(set(after) - set(before))
    assert named(frame.matched) == list(step.match.nodes if step.match else ())
    assert shown.cards[frame.card].name == step.rule
    lines = [Counter(line_of(graph, node) for node in graph) for graph in sides]
    told = [Counter(line.text for line in frame.diff if line.sign == sign) for sign in "-+"]
    assert told == [lines[0] - lines[1], lines[1] - lines[0]]
    for which, graph in enumerate(sides):
        boxes = {box.name: box for box in scene_of(graph).boxes}
        here = {shown.nodes[s.node]: (s.before, s.after)[which] for s in frame.shapes}
        assert all(box == boxes.get(name) for name, box in here.items())
        wanted = [*named(frame.matched), *named(frame.removed)] if which == 0 else named(frame.added)
        missing = {name for name in wanted if name in boxes} - here.keys()
        assert len(missing) == frame.left_out[which]
        names = {name for name, box in here.items() if box is not None}
        state = ("removed", "added")[which]
        links = Counter(
            (*(shown.nodes[frame.shapes[end].node] for end in (k.source, k.destination)), k.result, k.port, label)
            for k in frame.links
            for label in [(k.before, k.after)[which]]
            if k.state in ("kept", state)
        )
        assert links == arrows_of(graph, names)
    for shape in frame.shapes:
        name = shown.nodes[shape.node]
        assert shape.mark_before == ("removed" if name not in after else "matched" if shape.is_matched else "")
        assert shape.mark_after == ("added" if name not in before else "")
        assert shape.is_matched == (shape.node in frame.matched)
        assert shape.before is not None or shape.after is not None


def check_places(shown: Stepper) -> None:
    """Boxes have places, and none lies on another; arrows run from box to box."""
    for frame in shown.frames:
        assert len(frame.places) == len(frame.shapes)
        for i, a in enumerate(frame.places):
            for b in frame.places[:i]:
                apart = abs(a.x - b.x) * 2 >= a.width + b.width - 4 or abs(a.y - b.y) * 2 >= a.height + b.height - 4
                assert apart
        for link, curve in zip(frame.links, frame.curves, strict=True):
            for end, point in ((link.source, curve[:2]), (link.destination, curve[-2:])):
                place = frame.places[end]
                assert abs(point[0] - place.x) <= place.width / 2 + 3
                assert abs(point[1] - place.y) <= place.height / 2 + 3


@drawn
@pytest.mark.parametrize("seed", range(8))
def test_frames_show_the_graphs_between_the_steps(seed):
    found = trace(random_graph(seed), ENABLING)
    shown = found.show().data
    check(found, shown)
    check_places(shown)


@given(graphs())
@settings(max_examples=15)
def test_frames_of_the_library_s_rules_and_passes(graph):
    found = trace(graph, RULES)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("graphrewrite.view.stepper.page.placed", list)  # what is shown, not where
        check(found, found.show().data)


@drawn
def test_a_large_graph_is_shown_around_what_is_touched():
    found = trace(chain(*["exp"] * 60, "neg", "neg", *["exp"] * 60), [drop_double_negation])
    shown = show_trace(found).data
    (frame,) = shown.frames
    check(found, shown)
    names = [shown.nodes[shape.node] for shape in frame.shapes]
    assert names == ["exp_59", "exp_60", "neg_1", "neg_2", "exp_61", "exp_62"]
    edge = frame.shapes[0]
    assert (edge.hidden_before, edge.hidden_after) == ((1, 0), (1, 0))
    assert [shape.mark_before for shape in frame.shapes[2:4]] == ["removed", "removed"]
    assert shown.title == "124 → 122 nodes in 1 step"


def test_a_pass_that_removes_hundreds_is_bounded():
    @pass_
    def drop_all_dead(graph):
        "Takes away what reaches no output."
        dead = sorted(graph.dead_nodes())
        graph.remove_nodes_from(dead)
        return dead

    graph = chain("relu")
    for _ in range(350):
        graph.add(op.abs, [graph.value("x")])
    found = trace(graph, [drop_all_dead])
    shown = show_trace(found).data
    (frame,) = shown.frames
    assert len(frame.shapes) <= 40
    assert len(frame.removed) == 350
    assert frame.left_out == (350 - sum(s.mark_before == "removed" for s in frame.shapes), 0)
    assert frame.diff[-1].text == "… 150 more"
    (card,) = shown.cards
    assert (card.name, card.kind, card.doc) == ("drop_all_dead", "pass", "Takes away what reaches no output.")
    assert "graph.remove_nodes_from(dead)" in card.source
    assert re.search(r"test_stepper\.py:\d+$", card.place)


def test_bindings_rule_and_reasons():
    found = trace(chain("neg", "neg", "relu", "neg"), [drop_double_negation, relu_by_abs])
    shown = show_trace(found).data
    first = shown.frames[0]
    assert [(b.name, b.text, [shown.nodes[n] for n in b.nodes]) for b in first.bindings] == [
        ("x", "x", ["x"]),
        ("inner", "neg_1", ["neg_1"]),
    ]
    card = shown.cards[first.card]
    assert (card.name, card.kind, card.doc, card.fired) == ("drop_double_negation", "rule", "Minus minus x is x.", 1)
    assert card.source.splitlines()[:2] == ["@rule", "def drop_double_negation(x):"]
    assert card.place.startswith("tests/view/test_stepper.py:")
    assert card.pattern.startswith("drop_double_negation")
    table = {row[0]: row[1:5] for row in shown.table.rows}
    assert table["relu_by_abs"] == ("1", "1", "0", "1")
    assert table["drop_double_negation"][3] == "1"


def test_plain_digraphs_and_rules_made_of_graphs():
    pattern = nx.DiGraph([("s", "m"), ("m", "e")])
    pattern.nodes["m"]["type"] = "hop"
    skip = from_graphs(pattern, nx.DiGraph([("s", "e")]), name="skip", interface=["s", "e"])
    graph = nx.DiGraph([(1, 2), (2, 3), (3, 4)])
    graph.nodes[2]["type"] = graph.nodes[3]["type"] = "hop"
    found = trace(graph, [skip])
    shown = show_trace(found).data
    frame = shown.frames[0]
    assert [shown.nodes[n] for n in frame.removed] == ["2"]
    assert {shown.nodes[s.node] for s in frame.shapes if s.is_matched} == {"1", "2", "3"}
    assert [(b.name, b.text) for b in frame.bindings] == [("s", "1"), ("m", "2"), ("e", "3")]
    links = [
        (shown.nodes[frame.shapes[k.source].node], shown.nodes[frame.shapes[k.destination].node], k.state)
        for k in frame.links
    ]
    assert {("1", "2", "removed"), ("2", "3", "removed"), ("1", "3", "added"), ("3", "4", "kept")} == set(links)
    assert "from_graphs(" in shown.cards[0].source


def test_pipelines_are_traced_phase_by_phase():
    def renamed(graph):
        "Another graph."
        return Graph.parse(str(graph).replace("abs_1", "other"))

    pipeline = Pipeline((relu_by_abs,), renamed, drop_double_negation)
    found = trace(chain("relu", "neg", "neg"), pipeline)
    assert [step.rule for step in found.steps] == ["relu_by_abs", "renamed", "drop_double_negation"]
    assert found.graph == pipeline(chain("relu", "neg", "neg"))
    shown = show_trace(found).data
    assert [card.kind for card in shown.cards] == ["rule", "pass", "rule"]
    assert shown.cards[1].doc == "Another graph."
    check(found, shown)


def test_a_choice_of_steps():
    found = trace(chain(*["relu"] * 12), [relu_by_abs])
    shown = show_trace(found, steps=slice(3, 9), most=4).data
    assert [frame.number for frame in shown.frames] == [4, 5, 6, 7]
    assert "Shown are 4 of 12 steps, from 4 to 7" in shown.notice
    assert show_trace(found).data.notice == ""


def test_what_a_trace_says_of_itself(tmp_path):
    found = trace(chain("neg", "neg"), [drop_double_negation])
    assert repr(found) == "<Trace: 4 -> 2 nodes in 1 step>"
    assert repr(show(found)) == str(found)
    page = found.save(tmp_path / "trace.html").read_text()
    assert page.startswith("<!DOCTYPE html>")
    assert found.save(tmp_path / "trace.txt").read_text() == f"{found}\n"
    with pytest.raises(PictureError, match="ends in"):
        found.save(tmp_path / "trace.pdf")
    assert "<iframe" in found._repr_html_()
    assert "<script" not in found._repr_html_().split("<iframe")[0]


def test_a_trace_without_steps_is_a_table():
    found = trace(chain("exp"), [drop_double_negation])
    shown = show_trace(found)
    assert shown.data.title == "3 → 3 nodes in 0 steps"
    assert shown.data.idle == ("drop_double_negation",)
    assert "<iframe" not in shown.html
    assert "<script" not in shown.document


def test_without_graphviz_all_but_the_pictures_is_there(monkeypatch):
    monkeypatch.setenv("PATH", "")
    monkeypatch.setattr("sys.executable", "/nowhere/python")
    monkeypatch.setattr("sysconfig.get_path", lambda *_: "/nowhere")
    found = trace(chain("neg", "neg"), [drop_double_negation])
    shown = show_trace(found)
    (frame,) = shown.data.frames
    assert "Graphviz" in shown.data.hint
    assert (frame.shapes, frame.links) == ((), ())
    assert [line.sign for line in frame.diff] == ["-", "-", " ", "-", "+"]
    assert frame.bindings
    assert "Graphviz" in shown.html


def data_in(page: str) -> dict:
    (text,) = re.findall(r'<script type="application/json" id="data">(.*?)</script>', page, re.DOTALL)
    return json.loads(text)


def test_hostile_names_are_data_and_never_markup():
    names = tuple(f"{i}{HOSTILE}" for i in range(3))
    graph = chain("neg", "neg", "relu", names=names)
    graph.name = HOSTILE
    shown = show_trace(trace(graph, [drop_double_negation, relu_by_abs]))
    for page in (shown.document, unescape(re.findall(r"srcdoc='([^']*)'", shown.html)[0])):
        assert "<script>alert" not in page
        assert page.count("<script") == 2
        assert {plain(name) for name in names} <= set(data_in(page)["nodes"])
    long = show_trace(trace(chain("neg", "neg", names=("a" * 10_000, "b" * 10_000)), [drop_double_negation]))
    assert len(long.document) < 200_000


def test_the_page_holds_what_the_data_say():
    found = trace(chain("relu", "neg", "neg"), [drop_double_negation, relu_by_abs])
    shown = show_trace(found)
    data = data_in(shown.document)
    texts = data["texts"]
    assert [frame[0] for frame in data["frames"]] == [frame.number for frame in shown.data.frames]
    for row, frame in zip(data["frames"], shown.data.frames, strict=True):
        assert [(sign, texts[text]) for sign, text, _ in row[7]] == [(line.sign, line.text) for line in frame.diff]
        assert row[5] == [list(frame.matched), list(frame.removed), list(frame.added), list(frame.changed)]
        rows = [row[8][i : i + 14] for i in range(0, len(row[8]), 14)]
        assert [(r[0], *r[10:]) for r in rows] == [
            (s.node, *place) for s, place in zip(frame.shapes, frame.places, strict=True)
        ]
        heads = [[texts[data["boxes"][b][0]] if b >= 0 else None for b in r[1:3]] for r in rows]
        kinds = [[box and (box.name if box.round else box.kind) for box in (s.before, s.after)] for s in frame.shapes]
        assert heads == kinds


def test_the_page_is_the_same_again():
    pages = []
    for _ in range(2):
        found = trace(chain("relu", "neg", "neg"), [drop_double_negation, relu_by_abs])
        page = show_trace(found).document
        pages.append(re.sub(r"\d\.\d{4}<|,\d+,\[(?=\d+,\d+\],\[\[)", "", page))
    assert pages[0] == pages[1]


def test_rules_without_a_module_or_a_file_are_shown():
    scope: dict = {}
    exec("from graphrewrite import op, rule\n@rule\ndef typed(x):\n    yield op.neg(op.neg(x))\n    return x", scope)
    shown = trace(chain("neg", "neg"), [scope["typed"]]).show()
    (card,) = shown.data.cards
    assert (card.name, card.place, card.source) == ("typed", "<string>:2", "")
    (gallery,) = show((scope["typed"],)).data.cards
    assert (gallery.name, gallery.family) == ("typed", "")
