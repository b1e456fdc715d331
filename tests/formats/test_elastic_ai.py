"""Dictionaries of elastic-ai.creator."""

from __future__ import annotations

import copy
import json
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from graphrewrite import Graph, Module, Tensor, op, verify
from graphrewrite.errors import SerialError
from graphrewrite.formats import from_dict, load, to_dict
from graphrewrite.formats.elastic_ai import is_elastic_ai
from graphrewrite.hierarchy.graph_ops import nested_graphs
from graphrewrite.hierarchy.renaming import renamed
from graphrewrite.testing import graphs

PRIMITIVES = (
    st.booleans() | st.integers(-9, 9) | st.floats(allow_nan=False, allow_infinity=False) | st.text("ab", max_size=3)
)
VALUES = st.recursive(
    PRIMITIVES, lambda v: st.lists(v, max_size=3) | st.dictionaries(st.sampled_from("uvw"), v, max_size=2)
)
ATTRIBUTES = st.dictionaries(
    st.sampled_from(["input_shape", "weight", "in_features", "src_dst_indices"]), VALUES, max_size=3
)


@st.composite
def written(draw: st.DrawFn) -> dict[str, Any]:
    """Draw a graph as elastic-ai.creator's serialiser writes it."""
    names = [f"n{i}" for i in range(draw(st.integers(0, 4)))]
    kinds = ("input", "output", "mac", "linear", "conv1d", "relu")
    nodes = {name: {"type": draw(st.sampled_from(kinds)), **draw(ATTRIBUTES)} for name in names}
    edges: dict[str, Any] = {}
    for i, source in enumerate(names):
        below = {target: draw(ATTRIBUTES) for target in names[i + 1 :] if draw(st.booleans())}
        if below:
            edges[source] = below
    return {"nodes": nodes, "edges": edges, "attributes": {"type": "net", **draw(ATTRIBUTES)}}


@given(written(), st.booleans())
def test_what_is_read_is_written_again(data: dict[str, Any], legacy: bool) -> None:
    if legacy:
        data = {**data.pop("attributes"), **data}
    for form in (data, {"root": data, "0": copy.deepcopy(data)}):
        read = from_dict(json.loads(json.dumps(form)))
        assert isinstance(read, Module if "root" in form else Graph)
        made = to_dict(read, form="elastic-ai-legacy" if legacy else "elastic-ai")
        assert json.loads(json.dumps(made)) == form
        assert from_dict(to_dict(read)) == read


@given(graphs())
def test_graphs_of_this_library_come_back(graph: Graph) -> None:
    for form in ("elastic-ai", "elastic-ai-legacy"):
        if len(list(nested_graphs(graph))) > 1:  # for which it has no form
            with pytest.raises(SerialError, match=r"cannot be stored|has no place"):
                to_dict(graph, form=form)
            continue
        data = json.loads(json.dumps(to_dict(graph, form=form)))
        assert is_elastic_ai(data)
        back = from_dict(data)
        verify(back)
        assert back == graph


def test_lists_of_nodes_and_pairs_of_names_are_read(tmp_path: Any) -> None:
    nodes = [
        {"name": "x", "type": "input"},
        {"name": "fc", "type": "linear", "in_features": 2},
        {"name": "y", "type": "output"},
    ]
    edges = [{"src": "x", "dst": "fc"}, {"src": "fc", "dst": "y"}]
    listed = from_dict({"nodes": nodes, "edges": edges, "type": "net"})
    by_pairs = {("x", "fc"): {"src": "x", "dst": "fc"}, ("fc", "y"): {}}
    named = from_dict({"nodes": {node["name"]: node for node in nodes}, "edges": by_pairs, "type": "net"})
    assert listed == named
    assert listed.operands("y")[0].node == "fc"
    assert listed.nodes["fc"]["in_features"] == 2
    (tmp_path / "net.json").write_text(json.dumps({"nodes": nodes, "edges": edges}))
    assert load(tmp_path / "net.json").outputs == ("y",)


def test_attributes_and_arrays_keep_their_form() -> None:
    g = Graph("g")
    x = g.input("x", Tensor("f32", ("N", 3, 8, 8)))
    y = op.conv(x, np.ones((2, 3, 3, 3), np.float32), stride=2)
    g.output("y", op.sub(y, y))
    g.nodes["conv_1"]["latency"] = [3]
    back = from_dict(json.loads(json.dumps(to_dict(g, form="elastic-ai"))))
    assert back == g
    assert (back.nodes["conv_1"]["strides"], back.nodes["conv_1"]["latency"]) == ((2, 2), [3])


@pytest.mark.parametrize(("layout", "shape"), [(None, ("N", 3, 8)), ("NLC", ("N", 8, 3))])
def test_a_border_of_another_value_is_one_node_there_and_two_here(layout: Any, shape: Any) -> None:
    g = Graph("g")
    x = g.input("x", Tensor("f32", shape, layout))
    g.output("y", op.conv(x, np.ones((2, 3, 3), np.float32), padding=(1, 2), padding_value=0.5, stride=2, name="c"))
    as_it_is = to_dict(g, form="elastic-ai")
    assert "pad_1" in as_it_is["nodes"]
    assert from_dict(as_it_is) == g
    named = renamed(g, {"pad_1": "c.border"})
    assert "c.border" in to_dict(named, form="elastic-ai")["nodes"]  # its origin would be lost
    named.nodes["c.border"]["origin"] = ()
    data = json.loads(json.dumps(to_dict(named, form="elastic-ai")))
    assert "c.border" not in data["nodes"]
    assert (data["nodes"]["c"]["pads"], data["nodes"]["c"]["padding_value"]) == ([1, 2], 0.5)
    read = from_dict(data)
    verify(read)
    assert read == named
    assert to_dict(read, form="elastic-ai") == data
    other = copy.deepcopy(data)
    other["nodes"]["c"]["padding"] = other["nodes"]["c"].pop("pads")
    assert from_dict(other) == named
    other["nodes"]["c"]["padding_value"] = "a"
    with pytest.raises(SerialError, match=r"^nodes\.c: .*padding_value: expected a number, got 'a'"):
        from_dict(other)


@pytest.mark.parametrize(
    "border",
    [
        {"pads": (0, 0, 1, 0, 0, 1)},
        {"pads": (0, 0, 1, 0, 0, 1), "fill": True},
        {"pads": (0, 0, 1, 0, 0, 1), "fill": 0.5, "mode": "edge"},
        {"pads": (1, 0, 1, 0, 0, 1), "fill": 0.5},
        {"pads": (0, 0, 1, 0, 0, -1), "fill": 0.5},
        {"pads": (0, 0, "B", 0, 0, 1), "fill": 0.5},
    ],
    ids=str,
)
def test_any_pad_of_the_name_of_a_border_comes_back(border: dict[str, Any]) -> None:
    g = Graph("g")
    x = g.input("x", Tensor("f32", ("N", 3, 8)))
    padded = op.pad(x, **border, name="c.border")
    g.output("y", op.conv(padded, np.ones((2, 3, 3), np.float32), name="c"))
    assert from_dict(json.loads(json.dumps(to_dict(g, form="elastic-ai")))) == g
    g.output("z", padded)
    assert from_dict(json.loads(json.dumps(to_dict(g, form="elastic-ai")))) == g


@pytest.mark.parametrize(
    ("data", "message"),
    [
        ({"nodes": {"x": {}}, "edges": {}}, "^nodes.x.type: expected a string"),
        ({"nodes": {"x": 3}, "edges": {}}, "^nodes.x: expected an object"),
        ({"nodes": {}, "edges": {"x": {"y": {}}}}, "^edges.x.y: there is no node 'x'"),
        ({"nodes": [{"type": "mac"}], "edges": {}}, "^nodes.0.name: expected a string"),
        ({"nodes": {"x": {"type": "mac", "result": 3}}, "edges": {}}, "^nodes.x"),
        ({"nodes": {"x": {"type": "a"}}, "edges": {"x": {"x": {"slots": 3}}}}, "^edges.x.x"),
        ({"nodes": {"x": {"type": "a"}}, "edges": {"x": {"x": {"slots": [3]}}}}, "^edges.x.x"),
    ],
)
def test_what_is_no_such_graph_is_refused_with_its_path(data: Any, message: str) -> None:
    with pytest.raises(SerialError, match=message):
        from_dict(data)
    with pytest.raises(SerialError, match=message.replace("^", "^root.")):
        from_dict({"root": data})
    with pytest.raises(SerialError, match="form"):
        to_dict(Graph("g"), form="elastic")  # type: ignore[arg-type]
