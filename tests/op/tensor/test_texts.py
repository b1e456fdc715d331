"""Texts as values of a graph: moved, compared, mapped; through every format, and ONNX."""

from __future__ import annotations

import pickle

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from graphrewrite import Graph, Tensor, evaluate, op, verify
from graphrewrite.errors import EvaluationError, TypeMismatchError
from graphrewrite.formats import load
from graphrewrite.lowering import from_onnx, to_onnx

texts = st.text(st.characters(exclude_characters="\0", exclude_categories=["Cs"]), max_size=5)


def moving(constant):
    g = Graph("texts")
    x = g.input("x", Tensor("string", ("N", 2)))
    same = op.equal(x, g.constant(np.array(constant)))
    g.output("y", op.concat(op.where(same, x, g.constant(np.array(constant))), x, axis=1))
    g.output("z", op.encode_labels(x, keys=tuple(constant), values=(3, 4), default=-1, element="i64"))
    g.output(
        "w", op.encode_labels(op.gather(op.shape(x), np.array([1])), keys=(2,), values=("b",), default="", element=str)
    )
    return g


@given(st.tuples(texts, texts), st.lists(st.tuples(texts, texts), min_size=1, max_size=3))
def test_texts_come_through_every_format(constant, rows):
    graph = moving(constant)
    verify(graph)
    for again in (Graph.parse(str(graph)), pickle.loads(pickle.dumps(graph)), from_onnx(to_onnx(graph))):
        assert again == graph
    for given_rows in (rows, np.array(rows), np.array(rows, object)):
        found = evaluate(graph, {"x": given_rows})
        assert found["y"].tolist() == [[*constant, *row] for row in rows]
        last = dict(zip(constant, (3, 4), strict=True))
        assert found["z"].tolist() == [[last.get(text, -1) for text in row] for row in rows]
        assert found["w"].tolist() == ["b"]


@pytest.mark.parametrize("options", [{}, {"arrays": "npz"}])
def test_texts_are_saved_and_loaded(tmp_path, options):
    graph = moving(("ä", 'it\'s\n"quoted"'))
    graph.save(tmp_path / "graph.json", **options)
    assert load(tmp_path / "graph.json") == graph


def test_equal_texts_are_equal_however_wide_their_arrays_are():
    narrow, wide = Graph("g"), Graph("g")
    for graph, kind in ((narrow, "U1"), (wide, "U9")):
        graph.output("y", graph.constant(np.array(["a", "b"], kind)))
    assert narrow == wide


def test_what_is_no_text_is_refused():
    g = Graph("g")
    x = g.input("x", Tensor("string", (2,)))
    g.output("y", x)
    with pytest.raises(EvaluationError, match="1 is no text"):
        evaluate(g, {"x": [1, 2]})
    with pytest.raises(TypeMismatchError, match=r"does not compute with string; texts are moved and compared"):
        op.relu(x)
    with pytest.raises(TypeMismatchError, match=r"keys must be labels of type string, got 1"):
        op.encode_labels(x, keys=(1,), values=(2,), default=0, element="i64")
    with pytest.raises(TypeMismatchError, match=r"1 keys and 2 values"):
        op.encode_labels(x, keys=("a",), values=(2, 3), default=0, element="i64")
    with pytest.raises(TypeMismatchError, match=r"no regular expression"):
        op.regex_full_match(x, pattern="(")


@given(st.lists(st.sampled_from([0.0, 1.5, np.nan, -np.inf]), min_size=1, max_size=4))
def test_nan_is_a_label_like_others(labels):
    found = op.encode_labels(
        np.array(labels), keys=(np.nan, 1.5), values=("none", "some"), default="?", element="string"
    )
    assert found.tolist() == ["none" if label != label else "some" if label == 1.5 else "?" for label in labels]
