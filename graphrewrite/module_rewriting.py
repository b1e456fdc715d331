"""Rewrite all graphs of a module."""

from __future__ import annotations

from collections.abc import Callable

from graphrewrite.errors import GraphRewriteError, RewriteError
from graphrewrite.graph import Graph
from graphrewrite.module import Module
from graphrewrite.module.membership import rebind
from graphrewrite.nested import check_nesting

__all__ = ["rewrite_graphs"]


def rewrite_graphs(module: Module, rewrite: Callable[[Graph], Graph]) -> Module:
    """Return a module with every graph rewritten, and with the graphs that this brings along.

    Parameters
    ----------
    module : Module
        Untouched.
    rewrite : callable
        From a graph to a new one; the graph ops that it makes nodes of come into the module.

    Returns
    -------
    Module

    Raises
    ------
    RewriteError
        If ever more graphs come along.
    GraphError
        If a graph would contain itself.

    Examples
    --------
    >>> module = Module("net")
    >>> main = module.graph("main")
    >>> rewrite_graphs(module, lambda graph: graph.copy()) == module
    True
    """
    new = module.copy()
    done: set[str] = set()
    most = 1000 + 100 * len(module)
    while left := [name for name in new if name not in done]:
        if len(new) > most:
            raise RewriteError(
                f"the rules do not end: there are more than {most} graphs, and each brings another along"
            )
        for name in left:
            done.add(name)
            try:
                made = rewrite(new[name])
                rebind(made, new, of=module)
                new[name] = made
            except GraphRewriteError as error:
                error.add_note(f"in the graph {name!r} of the module {module.name!r}")
                raise
    for graph in new.values():
        check_nesting(graph)
    return new
