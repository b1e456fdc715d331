"""Correct use of typed data, as static type checkers see it: `test_typing.py` runs mypy on it. Nothing here is run."""

from __future__ import annotations

import enum
from pathlib import PurePosixPath
from typing import Any, Generic, Literal, TypeVar, assert_type

import networkx as nx
import numpy as np

from graphrewrite.graph import Graph
from graphrewrite.graph.node import Node
from graphrewrite.schema import IrData, field

T = TypeVar("T")


class Padding(enum.Enum):
    SAME = "same"


class Shape(IrData):
    channels: int
    length: int = 1


class Layer(IrData):
    name: str
    shape: Shape
    path: PurePosixPath = field(set_convert=str, get_convert=PurePosixPath, default=PurePosixPath("."))
    pads: list[int] = field(factory=list, doc="Begins, then ends.")
    ports: dict[str, Shape] = field(default={})
    padding: Padding = Padding.SAME
    mode: Literal["a", "b"] | None = None
    weight: np.ndarray | None = None
    extra: Any = None


class VhdlLayer(Layer):
    implementation: str


class Box(IrData, Generic[T]):
    item: T


class Conv(Node):
    strides: tuple[int, ...]


def construct() -> None:
    layer = Layer(name="a", shape=Shape(channels=3))
    assert_type(layer.name, str)
    assert_type(layer.shape.length, int)
    assert_type(layer.path, PurePosixPath)
    assert_type(layer.pads, list[int])
    assert_type(layer.ports["x"].channels, int)
    assert_type(layer.padding, Padding)
    assert_type(layer.data, dict[str, Any])
    layer.shape.length = 5
    layer.pads.append(3)
    layer.mode = "b"
    layer.weight = np.zeros(3)
    layer.extra = {"anything": [1]}
    assert_type(VhdlLayer.like(layer, implementation="x"), VhdlLayer)
    assert_type(VhdlLayer.of(layer).implementation, str)
    assert_type(Box(item=3).item, int)


def wrap(graph: nx.DiGraph, ours: Graph) -> None:
    layer = Layer.of(graph.nodes["a"])
    assert_type(layer, Layer)
    missing = layer.get_missing_required_fields()
    assert_type(missing, dict[str, str])
    node = ours.node("conv_1")
    assert_type(node, Node)
    node.strides = (1, 1)
    print(node.in_channels + 1, node.name.upper())
    assert_type(ours.node("conv_1", Conv).strides, tuple[int, ...])
