"""Annotations in the formats: data beside the attributes of an op, which every format carries."""

from __future__ import annotations

import pickle
import re

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from graphrewrite import Graph, Tensor, diff, evaluate, op, verify
from graphrewrite.errors import ParseError, SerialError
from graphrewrite.formats.json.decode_graph import from_dict
from graphrewrite.formats.json.encode_graph import to_dict
from graphrewrite.formats.json_file import load, save
from graphrewrite.formats.text import to_text
from graphrewrite.graph.type_inference import infer

SCALARS = st.sampled_from([np.float32(0.1), np.int8(3), np.float64(0.5), np.bool_(True), np.str_("a")])
SETS = st.sets(st.integers(0, 2) | st.just("a") | st.just((1, 2)), max_size=2)
LEAVES = (
    SCALARS
    | SETS
    | SETS.map(frozenset)
    | st.none()
    | st.booleans()
    | st.integers(-9, 9)
    | st.text(max_size=3)
    | st.just(Tensor("f32", ("N", 2)))
)
VALUES = st.recursive(
    LEAVES,
    lambda inner: (
        st.lists(inner, max_size=2)
        | st.lists(inner, max_size=2).map(tuple)
        | st.dictionaries(st.text(max_size=2), inner, max_size=2)
    ),
    max_leaves=5,
)
KEYS = st.sampled_from(["latency", "a b", "x", "strids", "annotations", 7, "value", "index", "low"])
MARKS = st.dictionaries(st.sampled_from(["backend", "use_kernel"]), st.sampled_from(["cpu", "dsp"]), max_size=1)


def net() -> Graph:
    graph = Graph("net")
    x = graph.input("x", Tensor("f32", ("N", 2)))
    graph.output("y", op.clip(x * np.float32([2, 3]), low=0, high=6))
    return graph


@given(st.data())
def test_every_format_carries_them_and_ops_ignore_them(tmp_path_factory, data):
    graph, plain = net(), net()
    for node in graph:
        own = {*graph.op(node).attributes, "type"}
        added = data.draw(st.dictionaries(KEYS, VALUES, max_size=2)) | data.draw(MARKS)
        graph.nodes[node].update({key: value for key, value in added.items() if key not in own})
        assert graph.attributes(node).keys() == plain.attributes(node).keys()
        assert graph.nodes[node].keys() - plain.nodes[node].keys() == graph.annotations(node).keys()
    verify(graph)
    assert infer(graph) == ()
    x = np.float32([[1, -2]])
    assert evaluate(graph, {"x": x}, implementations=None)["y"].tolist() == [[2, 0]]
    path = tmp_path_factory.mktemp("files") / "g.json"
    save(graph, path, arrays="npz")
    for again in (
        Graph.parse(to_text(graph, whole=True)),
        load(path),
        from_dict(to_dict(graph)),
        pickle.loads(pickle.dumps(graph)),
        graph.copy(),
    ):
        assert again == graph
        assert [again.annotations(node) for node in graph] == [graph.annotations(node) for node in graph]
    changed = [node for node in graph if graph.annotations(node)]
    assert [entry.name for entry in diff(plain, graph).changed] == changed
    assert (graph == plain) == (not changed)


def test_the_text_has_them_in_braces_and_older_texts_have_marks_among_the_attributes():
    graph = net()
    graph.nodes["clip_1"].update(latency=3, backend="dsp", taps=[1, (2,)])
    line = "clip_1 = clip(mul_1, low=0, high=6) {backend='dsp', latency=3, taps=[1, (2,)]} : f32[N,2]"
    assert line in str(graph)
    older = (
        str(graph).replace(" {backend='dsp', latency=3, taps=[1, (2,)]}", "").replace("high=6", "high=6, backend='dsp'")
    )
    assert Graph.parse(older).annotations("clip_1") == {"backend": "dsp"}


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("r = relu(x, latency=3)", "relu has no attribute 'latency'"),
        ("r = clip(x) {low=3}", "'low' is an attribute of clip: write it in the parentheses"),
        ("r = relu(x) {origin=3}", "'origin' is a reserved key, not an annotation"),
        ("r = relu(x, backend='a') {backend='b'}", "duplicate annotation 'backend'"),
        ("r = ?Foo(x, a=1) {a=2} : f32[N]", "'a' is an attribute of Foo"),
        ("r = relu(x) {3}", "expected annotation=value"),
        ("r = relu(x) {backend=[1]}", "expected a string or a number as backend"),
    ],
)
def test_what_is_in_the_wrong_place_of_a_text(line, message):
    with pytest.raises(ParseError, match=re.escape(message)):
        Graph.parse(f"x = input() : f32[N]\n{line}\ny = output(r)")


def test_json_tells_annotations_from_attributes_and_version_1_did_not():
    graph = net()
    graph.nodes["clip_1"]["latency"] = 3
    document = to_dict(graph)
    assert document["nodes"]["clip_1"]["annotations"] == {"latency": 3}
    clip = document["nodes"]["clip_1"]
    for wrong, message in (
        ({**clip, "lwo": 1}, r"nodes\.clip_1\.lwo: clip has no attribute 'lwo'; did you mean 'low'"),
        ({**clip, "annotations": {"low": 1}}, r"nodes\.clip_1\.annotations\.low: is no annotation"),
        ({**clip, "annotations": [1]}, r"nodes\.clip_1\.annotations: expected an object"),
    ):
        with pytest.raises(SerialError, match=message):
            from_dict({**document, "nodes": {**document["nodes"], "clip_1": wrong}})
    del clip["annotations"]
    older = {**document, "version": 1, "nodes": {**document["nodes"], "clip_1": {**clip, "latency": 3}}}
    assert from_dict(older) == graph
