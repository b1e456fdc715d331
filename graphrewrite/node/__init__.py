"""Typed views of nodes, made from the definitions of their ops."""

from graphrewrite.node.node import Node, node_view

__all__ = ["Node", "node_view"]
