"""Passes: whole-graph functions that stand beside rules in a rule set, and pipelines of both."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any, overload

from graphrewrite.errors import RuleError
from graphrewrite.graph import Graph
from graphrewrite.op.op import Op
from graphrewrite.rewriting.engine.entry import rewrite
from graphrewrite.rewriting.rule.levels import KINDS
from graphrewrite.rewriting.verification import Checks
from graphrewrite.runtime.display import Displayed

__all__ = ["Pass", "Pipeline", "pass_"]


@dataclass(frozen=True, eq=False)
class Pass(Displayed):
    """A transformation of whole graphs, for changes that no bounded pattern describes.

    Made by the decorator `pass_`.

    Attributes
    ----------
    name : str
        The function's name.
    function : callable
        Takes a graph that it may change, returns the names of the nodes that it removed or replaced.
    keeps : str
        As for rules: ``"exact"``, ``"rounding"`` or ``"assumes"``.
    kind : str
        As for rules: ``"transformation"`` or ``"lowering"``.
    kinds : frozenset of str, optional
        Types of nodes: a graph that has none of them is left as it is, without a look at it. None for all graphs.
    """

    name: str
    function: Callable[[Graph], list[str]]
    keeps: str = "exact"
    __doc__: str | None = None
    kind: str = "transformation"
    kinds: frozenset[str] | None = None

    def __post_init__(self) -> None:
        if self.kind not in KINDS:
            raise RuleError(f"pass {self.name!r}: kind is 'transformation' or 'lowering', not {self.kind!r}")
        object.__setattr__(self, "__module__", self.function.__module__)

    def __call__(self, graph: Graph) -> Graph:
        """Return the transformed graph; the argument is untouched."""
        return rewrite(graph, self, once=True)

    def apply_in_place(self, graph: Graph) -> list[str]:
        """Transform a graph that may be changed; return the names of the removed nodes."""
        return self.function(graph)

    def __reduce__(self) -> str:
        return str(self.function.__qualname__)  # as a function, it is copied and pickled by its name

    def __repr__(self) -> str:
        return f"<pass {self.name}>"


@overload
def pass_(function: Callable[[Graph], list[str]], /) -> Pass: ...


@overload
def pass_(
    *, keeps: str = "exact", kind: str = "transformation", ops: Iterable[Op] | None = None
) -> Callable[[Callable[[Graph], list[str]]], Pass]: ...


def pass_(
    function: Callable[[Graph], list[str]] | None = None,
    /,
    *,
    keeps: str = "exact",
    kind: str = "transformation",
    ops: Iterable[Op] | None = None,
) -> Pass | Callable[[Callable[[Graph], list[str]]], Pass]:
    """Make a pass of a function that changes a graph in place and returns the removed nodes.

    Parameters
    ----------
    function : callable, optional
        Takes a graph, changes it, returns the names of the nodes that it removed or replaced. A decorator with options
        gets none.
    keeps : {"exact", "rounding", "assumes"}
        Which values it preserves.
    kind : {"transformation", "lowering"}
        Whether it stays on its level, or goes to a more specific one.
    ops : iterable of Op, optional
        What it is about: a graph without any of them is left as it is. Where not given, it is called for all.

    Examples
    --------
    >>> @pass_
    ... def nothing(graph):
    ...     "Change nothing."
    ...     return []
    >>> nothing(Graph("g"))
    <Graph 'g': 0 nodes, 0 edges>
    """
    kinds = None if ops is None else frozenset(op.name for op in ops)

    def made(function: Callable[[Graph], list[str]]) -> Pass:
        return Pass(function.__name__, function, keeps, inspect.getdoc(function), kind, kinds)

    return made if function is None else made(function)


@dataclass(frozen=True, init=False, eq=False)
class Pipeline(Displayed):
    """Phases in a row: rule sets, each to its fixed point before the next begins, and passes.

    Parameters
    ----------
    *phases : iterable of Rule and Pass, Rule, Pass or Pipeline
        In order.
    name : str
        Its name in messages.

    Examples
    --------
    >>> from graphrewrite import op, rule
    >>> @rule
    ... def subtract_as_add(x, y):
    ...     "A difference is a sum."
    ...     yield op.sub(x, y)
    ...     return op.add(x, op.neg(y))
    >>> @rule
    ... def drop_double_negation(x):
    ...     "Minus minus x is x."
    ...     yield op.neg(op.neg(x))
    ...     return x
    >>> simplify = Pipeline((subtract_as_add,), (drop_double_negation,), name="simplify")
    >>> g = Graph.parse('''graph g
    ... x = input() : f32[N]
    ... n = neg(x)
    ... d = sub(x, n)
    ... y = output(d)''')
    >>> print(simplify(g))
    graph g
    x = input() : f32[N]
    add_1 = add(x, x) : f32[N]
    y = output(add_1)
    """

    phases: tuple[Any, ...]
    name: str

    def __init__(self, *phases: Any, name: str = "pipeline") -> None:
        object.__setattr__(self, "phases", phases)
        object.__setattr__(self, "name", name)

    def __call__(self, graph: Graph, *, verify: bool | Checks = False) -> Graph:
        """Return the graph with every phase applied; the argument is untouched."""
        for phase in self.phases:
            graph = phase(graph) if callable(phase) else rewrite(graph, phase, verify=verify)
        return graph

    def __repr__(self) -> str:
        return f"<pipeline {self.name}: {len(self.phases)} phases>"
