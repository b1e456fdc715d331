"""Wrong use of the typed IR: a typed error that says where and what to do, and nothing half-done."""

from __future__ import annotations

import copy
import json
from contextlib import suppress

import numpy as np
import pytest

from graphrewrite import Graph, IrData, Module, Tensor, op
from graphrewrite.errors import DataError, FieldError, GraphError, ParseError, SerialError, TypeMismatchError
from graphrewrite.formats.json.decode_graph import from_dict
from graphrewrite.formats.json.encode_graph import to_dict
from graphrewrite.formats.json_file import load
from graphrewrite.hierarchy.composition import compose

F = Tensor("f32", ("N", 4))


class Size(IrData):
    length: int


class Layer(IrData):
    name: str
    size: Size


def chain() -> Graph:
    graph = Graph("chain")
    weights = graph.constant(np.ones(4, np.float32), name="w")
    graph.output("y", op.relu(graph.input("x", F) * weights))
    return graph


def test_a_field_of_the_wrong_type():
    layer = Layer(name="a", size=Size(length=3))
    before = copy.deepcopy(layer.data)
    for wrong in ("x", 1.5, True, None, [3], np.ones(2)):
        with pytest.raises(DataError, match=r"^Layer\.size\.length: expected int, got"):
            layer.size.length = wrong
    with pytest.raises(DataError, match=r"^Layer\.size"):
        layer.size = {"length": "x"}
    assert layer.data == before


def test_an_unknown_field():
    layer = Layer(name="a", size=Size(length=3))
    with pytest.raises(FieldError, match="did you mean 'name'"):
        layer.nam = "b"
    with pytest.raises(FieldError, match="did you mean 'length'"):
        layer.size.lenght = 3
    with pytest.raises(FieldError, match="did you mean 'name'"):
        _ = layer.nmae
    assert layer.data == {"name": "a", "size": {"length": 3}}


def test_a_field_that_is_missing_when_it_is_read():
    layer = Layer.of({"size": {}})
    with pytest.raises(FieldError, match=r"Layer\.name.*missing"):
        _ = layer.name
    with pytest.raises(FieldError, match=r"Layer\.size\.length.*missing"):
        _ = layer.size.length
    assert sorted(layer.get_missing_required_fields()) == ["name", "size.length"]


def test_graphs_that_would_contain_themselves():
    module = Module("net")
    for name in ("a", "b"):
        graph = module.add_graph(name)
        graph.output("y", op.relu(graph.input("x", F)))
    module.op("b")(module["a"].value("x"))
    before = str(module)
    with pytest.raises(GraphError, match="b -> a -> b"):
        module.op("a")(module["b"].value("x"))
    assert str(module) == before


def test_a_view_of_foreign_nodes():
    graph = chain()
    with pytest.raises(GraphError, match="did you mean 'relu_1'"):
        graph.view("head", ["x", "relu"])
    other = chain()
    other.input("elsewhere", F)
    with pytest.raises(GraphError, match=r"elsewhere.*is a view of another graph"):
        graph.view("head", ["x"]) | other.view("tail", ["elsewhere"])
    assert graph.views == ("head",)


def test_types_that_conflict_in_a_composition():
    second = Graph("second")
    second.output("z", op.relu(second.input("q", Tensor("f64", ("N", 4)))))
    before = str(second)
    with pytest.raises(TypeMismatchError, match=r"'y'.*f32\[N,4\].*'q'.*f64\[N,4\]"):
        compose(chain(), second, {"y": "q"})
    assert str(second) == before


@pytest.mark.parametrize(
    ("text", "place"),
    [
        ("graph g\nx = input() : f32[N\n", "line 2, column"),
        ("graph g\nx = input() : f32[N]\ny = relu(x", "line 3, column"),
        ("graph g\nx = input() : f32[N]\ny = rellu(x)", "line 3, column 5.*did you mean 'relu'"),
        ("graph g\nx = input() : f32[N]\ny = output(z)", "line 3, column 12"),
        ("graph g\nx = input() : f32[N]\nx = relu(x)", "line 3, column 1"),
        ("x := 3", "line 1, column"),
    ],
)
def test_text_that_is_no_graph(text, place):
    with pytest.raises(ParseError, match=f"(?s)^{place}"):
        Graph.parse(text)


def test_json_that_is_cut_off(tmp_path):
    file = tmp_path / "net.json"
    chain().save(file)
    whole = file.read_bytes()
    for length in range(0, len(whole) - 2, 11):
        file.write_bytes(whole[:length])
        with pytest.raises(SerialError, match=r"net\.json"):
            load(file)
    assert [p.name for p in tmp_path.iterdir()] == ["net.json"]


def stored() -> dict:
    data = json.loads(json.dumps(to_dict(chain())))
    assert from_dict(data) == chain()
    return data


@pytest.mark.parametrize("value", [None, 3, "x", [], {}, [[[]]], -1, 1e400, {"format": "other"}])
def test_json_in_which_any_one_thing_is_something_else(value):
    def places(data, path=()):
        items = data.items() if isinstance(data, dict) else enumerate(data) if isinstance(data, list) else ()
        for key, inside in items:
            yield (*path, key)
            yield from places(inside, (*path, key))

    for place in places(stored()):
        data = stored()
        owner = data
        for key in place[:-1]:
            owner = owner[key]
        owner[place[-1]] = value
        with suppress(SerialError):  # or it still says a graph
            assert isinstance(from_dict(data), Graph | Module), place


def test_sizes_that_are_absurd():
    with pytest.raises(TypeMismatchError, match="-3"):
        Tensor("f32", (2, -3))
    with pytest.raises(TypeMismatchError):
        Tensor("f32", (1,) * 1000)
    with pytest.raises(ParseError, match="line 2, column"):
        Graph.parse("graph g\nc = constant(value=[1]) : f32[999999999999]\ny = output(c)")
    text = json.dumps(stored())
    start = text.index("[4]")
    with pytest.raises(SerialError, match=r"nodes\.w"):
        from_dict(json.loads(text[:start] + "[999999999999]" + text[start + 3 :]))
