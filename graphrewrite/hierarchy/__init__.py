"""Graphs in graphs: modules, graphs as ops, regions of a graph, and graphs built of parts."""

from typing import TYPE_CHECKING, NoReturn

from graphrewrite.errors import no_attribute
from graphrewrite.hierarchy import layers
from graphrewrite.hierarchy.blocks import Block, blocks_of, flattened
from graphrewrite.hierarchy.building import Built, parallel, residual, sequential
from graphrewrite.hierarchy.composition import compose
from graphrewrite.hierarchy.expansion import expand, flatten
from graphrewrite.hierarchy.graph_ops import GraphOp, graph_op
from graphrewrite.hierarchy.implementations import implemented
from graphrewrite.hierarchy.module import Module
from graphrewrite.hierarchy.operator import Operator
from graphrewrite.hierarchy.region import GraphView
from graphrewrite.hierarchy.region_conversion import converted
from graphrewrite.hierarchy.shared import Shared

__all__ = [
    "Block",
    "Built",
    "GraphOp",
    "GraphView",
    "Module",
    "Operator",
    "Shared",
    "blocks_of",
    "compose",
    "converted",
    "expand",
    "flatten",
    "flattened",
    "graph_op",
    "implemented",
    "layers",
    "parallel",
    "residual",
    "sequential",
]


def __dir__() -> list[str]:
    return sorted(__all__)


if not TYPE_CHECKING:

    def __getattr__(name: str) -> NoReturn:
        raise no_attribute(__name__, name, __all__)
