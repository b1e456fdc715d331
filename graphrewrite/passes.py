"""Passes: whole-graph functions that stand beside rules in a rule set, and pipelines of both."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import dataclass

from graphrewrite.graph import Graph

__all__ = ["Pass", "pass_"]


@dataclass(frozen=True, eq=False)
class Pass:
    """A transformation of whole graphs, for what no bounded pattern can say.

    Made by the decorator `pass_`.

    Attributes
    ----------
    name : str
        The function's name.
    function : callable
        Takes a graph that it may change, returns the names of the nodes that it removed or replaced.
    keeps : str
        As for rules: ``"exact"``, ``"rounding"`` or ``"assumes"``.
    """

    name: str
    function: Callable[[Graph], list[str]]
    keeps: str = "exact"
    __doc__: str | None = None

    def __call__(self, graph: Graph) -> Graph:
        """Return the transformed graph; the argument is untouched."""
        new = graph.copy()
        self.apply_in_place(new)
        return new

    def apply_in_place(self, graph: Graph) -> list[str]:
        """Transform a graph that may be changed; return the names of the nodes that went."""
        return self.function(graph)

    def __repr__(self) -> str:
        return f"<pass {self.name}>"


def pass_(function: Callable[[Graph], list[str]], /, *, keeps: str = "exact") -> Pass:
    """Make a pass of a function that changes the graph that it is given and returns the nodes that went.

    Parameters
    ----------
    function : callable
        Takes a graph, changes it, returns the names of the nodes that it removed or replaced.
    keeps : {"exact", "rounding", "assumes"}
        What it keeps.

    Returns
    -------
    Pass

    Examples
    --------
    >>> @pass_
    ... def nothing(graph):
    ...     "Change nothing."
    ...     return []
    >>> nothing(Graph("g"))
    <Graph 'g': 0 nodes, 0 edges>
    """
    return Pass(function.__name__, function, keeps, inspect.getdoc(function))
