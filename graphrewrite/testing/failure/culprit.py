"""The rule that caused a failure: the first step of a rewrite after which the outputs differ."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

import networkx as nx
import numpy as np

from graphrewrite.errors import GraphRewriteError
from graphrewrite.graph import Graph
from graphrewrite.graph.dataflow import Operand
from graphrewrite.rewriting.engine.entry import GraphRewriting
from graphrewrite.rewriting.passes import Pass, Pipeline
from graphrewrite.rewriting.rule.declaration import Rule
from graphrewrite.rewriting.traces import trace
from graphrewrite.testing.equality import agreeing
from graphrewrite.testing.failure.formats import out_of_format
from graphrewrite.testing.failure.values import Values, evaluated
from graphrewrite.testing.snapshot import interface
from graphrewrite.view.source import place_of

__all__ = ["Culprit", "culprit_of", "members_of", "name_of", "ports"]


@dataclass(frozen=True, eq=False)
class Culprit:
    """A step of a rewrite.

    Attributes
    ----------
    name : str
        The rule or the pass.
    place : str
        File and line of its definition; empty if unknown.
    step, steps : int
        Number of the step, from 1, and of all steps; 0 and 0 for the only rule of a transformation without a trace.
    before, after : Graph or None
        The graph just before and just after the step.
    """

    name: str
    place: str
    step: int = 0
    steps: int = 0
    before: Any = None
    after: Any = None

    def __str__(self) -> str:
        which = f", in step {self.step} of {self.steps}" if self.steps > 1 else ""
        return f"{self.name}{f' ({self.place})' if self.place else ''}{which}"


def members_of(rules: Any) -> tuple[Any, ...]:
    """Return the rules, passes and functions of a transformation.

    Examples
    --------
    >>> from graphrewrite.rules import RULES
    >>> members_of(Pipeline(RULES)) == RULES
    True
    """
    if isinstance(rules, Pipeline):
        return tuple(member for phase in rules.phases for member in members_of(phase))
    if isinstance(rules, Rule | GraphRewriting | Pass) or not isinstance(rules, Iterable):
        return () if rules is None else (rules,)
    return tuple(rules)


def culprit_of(
    rules: Any,
    before: Any,
    inputs: Mapping[str, np.ndarray],
    bound: float | None = None,
    cycles: int | None = None,
    changed: Callable[[Any, Any], object] | None = None,
) -> Culprit | None:
    r"""Return the first step after which a graph computes other values; None if there is no such step.

    Parameters
    ----------
    changed : callable, optional
        Tells whether the second of two graphs is another than the first, instead of their values.

    Examples
    --------
    >>> from graphrewrite import op, rule
    >>> @rule
    ... def drop_identity(x):
    ...     yield op.identity(x)
    ...     return x
    >>> @rule
    ... def forget_sign(x):
    ...     yield op.neg(x)
    ...     return op.identity(x)
    >>> g = Graph.parse("graph g\nx = input() : f32[N]\na = identity(x)\nb = neg(a)\ny = output(b)")
    >>> rules = (drop_identity, forget_sign)
    >>> print(culprit_of(rules, g, {"x": np.float32([1])}))
    forget_sign (..., in step 2 of 3
    """
    members = members_of(rules)
    alone = Culprit(name_of(members[0]), place_of(members[0])) if len(members) == 1 else None
    if changed is None and not isinstance(before, Graph):
        return alone
    try:
        steps = list(_steps(rules, before))
    except Exception as error:  # tested code may raise anything
        named = [m for m in members if repr(name_of(m)) in str(error)]
        return alone or (Culprit(name_of(named[0]), place_of(named[0])) if len(named) == 1 else None)
    if changed is not None:
        for index, (member, source, result) in enumerate(steps, start=1):
            if changed(before, result):
                return Culprit(name_of(member), place_of(member), index, len(steps), source, result)
        return alone
    old = evaluated(before, inputs, cycles)
    for index, (member, source, result) in enumerate(steps, start=1):
        if _differ(before, old, result, evaluated(result, inputs, cycles), bound) or ports(source) != ports(result):
            return Culprit(name_of(member), place_of(member), index, len(steps), source, result)
    return alone


def name_of(member: Any) -> str:
    """Return the name of a rule, a pass or a function.

    Examples
    --------
    >>> name_of(len)
    'len'
    """
    while isinstance(member, partial):
        member = member.func
    return str(getattr(member, "name", None) or getattr(member, "__name__", None) or type(member).__name__)


def _steps(rules: Any, graph: Any) -> Iterator[tuple[Any, Any, Any]]:
    """Yield each step of a rewrite: the member, the graph before and the graph after."""
    if isinstance(rules, Pipeline):
        for phase in rules.phases:
            after = graph
            for member, before, after in _steps(phase, graph):
                yield member, before, after
            graph = after
        return
    members = members_of(rules)
    if len(members) == 1 and not isinstance(members[0], Rule | GraphRewriting | Pass):
        after = members[0](graph.copy())
        if isinstance(after, nx.DiGraph):
            yield members[0], graph, after
        return
    done = trace(graph, members, limit=20 + 5 * len(graph))
    by_name = {name_of(member): member for member in members}
    before = graph
    for index, fired in enumerate(done.steps, start=1):
        after = done.graph_after(index) if index < len(done.steps) else done.graph
        yield by_name[fired.rule], before, after
        before = after


def _differ(before: Graph, old: Values, after: Graph, new: Values, bound: float | None) -> bool:
    """Tell whether an output differs, or only the second graph exceeds a format."""
    for name in before.outputs if old.arrays else ():
        a, b = old.arrays.get(Operand(name)), new.arrays.get(Operand(name))
        if a is None or b is None or a.shape != b.shape or a.dtype != b.dtype:
            return a is not None
        if not agreeing(a, b, bound).all():
            return True
    return _out_of_format(after, new) is not None and _out_of_format(before, old) is None


def _out_of_format(graph: Graph, values: Values) -> str | None:
    return out_of_format(graph, {at.node: array for at, array in values.arrays.items() if not at.result})


def ports(graph: Graph) -> dict[str, list[tuple[str, str]]] | None:
    """Return names and types of the inputs and outputs of a graph; None if it is malformed."""
    try:
        return interface(graph)
    except (GraphRewriteError, IndexError):
        return None
