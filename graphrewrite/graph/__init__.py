"""Graphs: networkx digraphs with ordered operands, and everything that reads or edits one of them."""

from graphrewrite.graph.dataflow import Operand
from graphrewrite.graph.graph import Graph
from graphrewrite.graph.node import Node
from graphrewrite.graph.value import Value

__all__ = ["Graph", "Node", "Operand", "Value"]
