r"""Pictures of graphs and rules: as the last line of a notebook cell, and as files.

Graphviz lays them out; pydot writes its language. Where one of the two is missing, everything shows its text instead.

Examples
--------
>>> from graphrewrite import Graph
>>> from graphrewrite import show
>>> show(Graph.parse("graph g\nx = input() : f32[N,2]\nr = relu(x)\ny = output(r)"))
graph g
x = input() : f32[N,2]
r = relu(x) : f32[N,2]
y = output(r)
"""

from typing import TYPE_CHECKING, NoReturn

from graphrewrite.errors import no_attribute
from graphrewrite.view.dispatch import show, to_svg
from graphrewrite.view.graphs.before_after import before_after
from graphrewrite.view.graphs.difference import show_diff
from graphrewrite.view.layout.dot import to_dot
from graphrewrite.view.picture import Picture
from graphrewrite.view.rules.explained import explained
from graphrewrite.view.rules.sketch import rule_picture

__all__ = ["Picture", "before_after", "explained", "rule_picture", "show", "show_diff", "to_dot", "to_svg"]


def __dir__() -> list[str]:
    return sorted(__all__)


if not TYPE_CHECKING:

    def __getattr__(name: str) -> NoReturn:
        raise no_attribute(__name__, name, __all__)
