"""Graphs as ops: a graph that is a node of another one, and what it is made of."""

from graphrewrite.nested.expansion import expand, flatten
from graphrewrite.nested.graph_op import GraphOp, check_nesting, graph_op, nested_ops

__all__ = ["GraphOp", "check_nesting", "expand", "flatten", "graph_op", "nested_ops"]
