"""Checks: requirements on graphs, each a named function that yields messages about faults."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any, overload

__all__ = ["Check", "Fault", "check"]


@dataclass(frozen=True)
class Fault:
    """A fault of a graph.

    Attributes
    ----------
    check : str
        The name of the check that found it.
    node : str or None
        Its node; None where it concerns the whole graph.
    message : str
        The fault and the remedy.
    graph : str or None
        Name of the graph, where a module was verified.

    Examples
    --------
    >>> print(Fault("attributes_fit", "r", "relu has no attribute 'alpha'"))
    node 'r': relu has no attribute 'alpha'
    """

    check: str
    node: Any
    message: str
    graph: str | None = None

    def __str__(self) -> str:
        graph = "" if self.graph is None else f"graph {self.graph!r}: "
        node = "" if self.node is None else f"node {self.node!r}: "
        return f"{graph}{node}{self.message}"


@dataclass(frozen=True, eq=False)
class Check:
    """A requirement on every graph; made by the decorator `check`.

    Attributes
    ----------
    name : str
        The function's name.
    doc : str
        The requirement.
    function : callable
        Yields, or returns, messages about faults, or a single one, or nothing.
    scope : {"node", "graph", "module"}
        Its arguments: a graph and one of its nodes, a graph, or a module.
    types : frozenset of str or None
        Types of the nodes that it looks at; None for all of them.
    """

    name: str
    doc: str
    function: Callable[..., Any]
    scope: str = "node"
    types: frozenset[str] | None = None

    def __call__(self, *subject: Any) -> Any:
        """Call the function."""
        return self.function(*subject)

    def __repr__(self) -> str:
        return f"<check {self.name}>"


@overload
def check(function: Callable[..., Any], /) -> Check: ...
@overload
def check(
    *, whole: bool = ..., module: bool = ..., types: Iterable[str] | None = ...
) -> Callable[[Callable[..., Any]], Check]: ...
def check(
    function: Callable[..., Any] | None = None,
    /,
    *,
    whole: bool = False,
    module: bool = False,
    types: Iterable[str] | None = None,
) -> Check | Callable[[Callable[..., Any]], Check]:
    r"""Make a check of a function ``(graph, node)`` that yields, or returns, a message for each fault.

    Parameters
    ----------
    function : callable
        Its docstring states the requirement.
    whole : bool
        Whether it looks at a whole graph: it takes the graph, and yields messages or pairs of a node and a message.
    module : bool
        Whether it looks at a module: it takes the module, and yields messages, pairs of a graph's name and a message,
        or triples of a graph's name, a node and a message.
    types : iterable of str, optional
        Types of the nodes that it looks at; all nodes where not given.

    Returns
    -------
    Check
        A member for the tuple of checks that `verify` takes.

    Examples
    --------
    >>> from graphrewrite import Graph
    >>> from graphrewrite.rewriting.verification import CHECKS, verify
    >>> @check(types=["relu"])
    ... def relus_are_cheap(graph, node):
    ...     "The target has few units that clip."
    ...     if len(graph.readers(node)) > 1:
    ...         yield "is read more than once; clip the readers' results instead"
    >>> g = Graph.parse("graph g\nx = input() : f32[N]\nr = relu(x)\ny = output(r)\nz = output(r)")
    >>> verify(g, (*CHECKS, relus_are_cheap))
    Traceback (most recent call last):
    ...
    graphrewrite.errors.VerificationError: node 'r': is read more than once; clip the readers' results instead
    """

    def wrap(body: Callable[..., Any]) -> Check:
        scope = "module" if module else "graph" if whole else "node"
        return Check(
            body.__name__, inspect.getdoc(body) or "", body, scope, None if types is None else frozenset(types)
        )

    return wrap if function is None else wrap(function)
