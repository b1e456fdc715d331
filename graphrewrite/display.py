"""How a graph shows itself: text, table, picture. What draws it is loaded when asked for."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from graphrewrite.summary import Summary

__all__ = ["Displayed"]


class Displayed:
    """Mixin of graphs that print and draw themselves."""

    def summary(self: Any) -> Summary:
        """Return a table of the nodes with types, parameters and multiply-accumulates; see `graphrewrite.summary`."""
        from graphrewrite.summary import summary  # built on graphs

        return summary(self)

    def show(self: Any, **options: Any) -> Any:
        """Return a picture: all, ``around=`` a node, ``between=`` two, a ``search=``, with ``values=``.

        See `graphrewrite.view.graphs.graph_picture` for all options.
        """
        from graphrewrite.view import show  # the view is a leaf that knows graphs, loaded when asked for

        return show(self, **options)

    def __str__(self: Any) -> str:
        from graphrewrite.text import to_text  # the text form is built on graphs

        return to_text(self)

    def __repr__(self: Any) -> str:
        return f"<Graph {self.name!r}: {len(self)} nodes, {self.number_of_edges()} edges>"

    def _repr_svg_(self: Any) -> str | None:
        """Let what shows no HTML draw the graph, where pydot and Graphviz are there."""
        from graphrewrite.view import show  # the view is a leaf that knows graphs, loaded when asked for

        svg: str | None = show(self)._repr_svg_()
        return svg

    def _repr_html_(self: Any) -> str:
        """Let Jupyter draw the graph, or show its text and a hint where nothing can be drawn."""
        from graphrewrite.view import show  # see above

        return str(show(self)._repr_html_())
