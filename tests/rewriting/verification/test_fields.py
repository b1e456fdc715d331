"""Fields that typed views declare, annotations of nodes, and what is wrong with them."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from graphrewrite import FixedPoint, Graph, IrData, Module, Tensor, evaluate, op, rewrite, verify
from graphrewrite.errors import DataError, FieldError, GraphError, VerificationError
from graphrewrite.formats.text import to_text
from graphrewrite.graph import Node
from graphrewrite.rewriting.verification import faults
from graphrewrite.rules import FOLDING, RULES


class Timing(IrData):
    latency: int
    interval: int = 1


class VhdlNode(Node):
    latency: int
    entity: str = "work.unit"
    timing: Timing
    table: np.ndarray | None = None


def net() -> Graph:
    graph = Graph("net")
    x = graph.input("x", Tensor("f32", ("N", 3)))
    graph.output("y", op.clip(x + np.float32([1, 2, 3]), low=0))
    return graph


def annotated() -> Graph:
    graph = net()
    for i, name in enumerate(("add_1", "clip_1")):
        node = graph.node(name, VhdlNode)
        node.latency, node.timing = i, Timing(latency=2)
    return graph


def test_what_a_view_declares_is_checked_and_goes_the_whole_way():
    graph = annotated()
    verify(graph, nodes=VhdlNode)
    verify(graph, nodes={"clip_1": VhdlNode})
    assert graph.annotations("clip_1") == {"latency": 1, "timing": {"latency": 2, "interval": 1}}
    assert graph.node("clip_1").annotations == graph.annotations("clip_1")
    x = {"x": np.float32([[1, -5, 0]])}
    assert evaluate(graph, x)["y"].tolist() == evaluate(net(), x)["y"].tolist() == [[2, 0, 3]]
    verify(rewrite(graph, (*RULES, *FOLDING)), nodes=VhdlNode)
    again = Graph.parse(to_text(graph, whole=True))
    assert again == graph
    verify(again, nodes=VhdlNode)
    assert again.node("add_1", VhdlNode).timing.interval == 1
    view = graph.node("clip_1")
    view.latency = 7
    assert graph.nodes["clip_1"]["latency"] == 7 == view.latency
    with pytest.raises(FieldError, match=r"has no 'latensy' .*did you mean 'latency'"):
        view.latensy = 3
    with pytest.raises(FieldError, match=r"has no 'zone' .*an annotation is new data: write data\['zone'\]"):
        view.zone = 3


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda d: d.pop("latency"), r"has no latency, which VhdlNode requires: int; write nodes\['clip_1'\]"),
        (lambda d: d.update(latency="3"), "latency: expected int, got str '3'"),
        (lambda d: d.update(entity=["a"]), "entity: expected str, got list"),
        (lambda d: d.update(table=[1]), "table: expected .*numpy.ndarray"),
        (lambda d: d.update(timing=3), "timing: expected Timing, got int 3"),
        (lambda d: d.update(timing={"latency": 2, "interval": "x"}), "timing.interval: expected int, got str 'x'"),
        (lambda d: d.update(timing={}), "has no timing.latency, which VhdlNode requires: int"),
    ],
)
def test_a_field_that_is_missing_or_wrong(change, message):
    graph = annotated()
    change(graph.nodes["clip_1"])
    verify(graph)  # nobody declares anything
    with pytest.raises(VerificationError, match=f"^node 'clip_1': {message}"):
        verify(graph, nodes=VhdlNode)
    assert [(fault.check, fault.node) for fault in faults(graph, nodes=VhdlNode)] == [("fields_fit", "clip_1")]


class Shadowing(Node):
    low: str
    x: int
    high: Any
    input_shape: tuple[int | str, ...]


def test_a_field_that_has_the_name_of_an_attribute_or_operand():
    messages = [fault.message for fault in faults(net(), nodes={"clip_1": Shadowing})]
    assert messages[0].startswith("low: expected str, got int 0; Shadowing declares it as str, and it is an attribute")
    assert messages[1].startswith("x: expected int, got Value")
    assert "an operand of clip: rename the field" in messages[1]
    assert len(messages) == 2
    assert net().node("clip_1", Shadowing).get_missing_required_fields() == {}


@pytest.mark.parametrize("value", [object(), [1, {"a": print}], np.array([None])], ids=lambda v: type(v).__name__)
def test_an_annotation_that_cannot_be_stored(value):
    graph = net()
    graph.nodes["clip_1"]["mine"] = value
    with pytest.raises(VerificationError, match=r"node 'clip_1': mine.* (cannot be stored|expected numpy.ndarray)"):
        verify(graph)


def test_an_annotation_that_contains_itself():
    graph = net()
    endless: list[Any] = []
    endless.append(endless)
    graph.nodes["clip_1"]["mine"] = endless
    with pytest.raises(VerificationError, match="node 'clip_1': mine: is nested too deeply, or contains itself"):
        verify(graph)
    with pytest.raises(DataError, match="mine: is nested too deeply, or contains itself"):
        graph.copy()
    graph.nodes["clip_1"]["mine"] = 1
    with pytest.raises(DataError, match="data cannot contain itself"):
        graph.node("clip_1").mine = [graph.nodes["clip_1"]]


def test_types_and_formats_are_data():
    graph = net()
    graph.nodes["clip_1"].update(format=FixedPoint(True, 8, 4), result_of=Tensor("f32", ("N",)), sizes={1, 2})
    verify(graph)


def test_what_is_no_view():
    graph = annotated()
    for wrong in (3, {"clip_1": int}):
        with pytest.raises(GraphError, match="is not a view class; derive it from Node or from IrData"):
            verify(graph, nodes=wrong)
    with pytest.raises(GraphError, match=r"'clip_2'.*did you mean 'clip_1'"):
        verify(graph, nodes={"clip_2": VhdlNode})


def test_a_module_is_verified_graph_by_graph():
    module = Module("m")
    module["net"] = annotated()
    verify(module, nodes=VhdlNode)
    del module["net"].nodes["add_1"]["latency"]
    with pytest.raises(VerificationError, match=r"graph 'net': node 'add_1': has no latency"):
        verify(module, nodes=VhdlNode)
