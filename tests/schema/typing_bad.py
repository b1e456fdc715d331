"""Wrong use of typed data; each line with a mark is an error to mypy, and no other is. Nothing here is run."""

from __future__ import annotations

from pathlib import PurePosixPath
from typing import Generic, Literal, TypeVar

from graphrewrite.graph import Graph
from graphrewrite.graph.node import Node
from graphrewrite.schema import IrData, field

T = TypeVar("T")


class Shape(IrData):
    channels: int
    length: int = 1


def define() -> None:
    class Wrong(IrData):
        name: str = 3  # error: [assignment]
        size: int = field(default="x")  # error: [assignment]
        both: int = field(default=1, factory=int)  # error: [call-overload]
        pads: list[int] = field(factory=dict)  # error: [arg-type]


class Layer(IrData):
    name: str
    shape: Shape
    path: PurePosixPath = field(set_convert=str, get_convert=PurePosixPath)
    pads: list[int] = field(factory=list)
    ports: dict[str, Shape] = field(default={})
    mode: Literal["a", "b"] | None = None


class Box(IrData, Generic[T]):
    item: T


class Conv(Node):
    strides: tuple[int, ...]


def construct(layer: Layer) -> None:
    Shape()  # error: [call-arg]
    Shape(3)  # error: [call-arg]
    Shape(channels="x")  # error: [arg-type]
    Shape(channels=1, lenght=2)  # error: [call-arg]
    Shape({"channels": 1})  # error: [call-arg] [arg-type]
    Box[int](item="x")  # error: [arg-type]
    Layer.of(3)  # error: [arg-type]


def write(layer: Layer) -> None:
    layer.name = 3  # error: [assignment]
    layer.shape.length = "x"  # error: [assignment]
    layer.shape.lenght = 3  # error: [attr-defined]
    layer.shape = {"channels": 3}  # error: [assignment]
    layer.path = "a/b"  # error: [assignment]
    layer.pads.append("x")  # error: [arg-type]
    layer.ports["x"] = 3  # error: [assignment]
    layer.mode = "c"  # error: [assignment]
    layer.data = {}  # error: [misc]


def read(layer: Layer, graph: Graph) -> None:
    print(layer.nmae)  # error: [attr-defined]
    layer.name + 1  # error: [operator]
    if layer.mode.upper():  # error: [union-attr]
        print()
    graph.node("a", Conv).strides = 3  # error: [assignment]
    graph.node("a", Shape(channels=1))  # error: [call-overload]
