"""Views: any set of nodes of a graph as a part with its own ordered inputs and outputs."""

from graphrewrite.graph_view.graph_view import GraphView, make_view

__all__ = ["GraphView", "make_view"]
