"""Single steps of rules and passes on a graph."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import networkx as nx
import numpy as np

from graphrewrite.graph import Graph
from graphrewrite.graph.edit import Edit, apply_edit
from graphrewrite.rewriting.digraph_rules import GraphRule
from graphrewrite.rewriting.passes import Pass
from graphrewrite.rewriting.rule.declaration import Rule
from graphrewrite.rewriting.rule.outcome import Declined

__all__ = ["Step", "in_words", "steps_from"]


@dataclass(frozen=True, eq=False)
class Step:
    """One rewrite of one match, or one run of a pass.

    Attributes
    ----------
    rule : str
        The name of the rule or the pass.
    at : object
        The node at which it matched; None for a pass.
    before : Graph or networkx.DiGraph
        What it is applied to.
    change : Edit, Graph or networkx.DiGraph
        The edit, or the result.
    """

    rule: str
    at: Any
    before: Any = field(default=None, repr=False)
    change: Any = field(default=None, repr=False)

    @cached_property
    def graph(self) -> Any:
        """The graph after the step."""
        if not isinstance(self.change, Edit):
            return self.change
        after = self.before.copy()
        apply_edit(after, self.change)
        return after

    def __str__(self) -> str:
        return self.rule if self.at is None else f"{self.rule} at {self.at!r}"


def steps_from(
    graph: Any, members: Iterable[Any], *, arranged: Callable[[list[Any]], list[Any]] = list
) -> Iterator[Step]:
    r"""Yield every step that can be taken from a graph: by each member, at each of its matches.

    Parameters
    ----------
    graph : Graph or networkx.DiGraph
        Any graph; a plain digraph becomes a `Graph` for rules of ops.
    arranged : callable
        Orders members, and the nodes of each, for trial.

    Examples
    --------
    >>> from graphrewrite.rules import drop_identity
    >>> g = Graph.parse("graph g\nx = input() : f32[N]\ni = identity(x)\nj = identity(i)\ny = output(j)")
    >>> for step in steps_from(g, [drop_identity]):
    ...     print(step, list(step.graph))
    drop_identity at 'i' ['x', 'j', 'y']
    drop_identity at 'j' ['x', 'i', 'y']
    """
    chosen = arranged(list(members))
    if not isinstance(graph, Graph) and any(not isinstance(member, GraphRule) for member in chosen):
        graph = Graph(graph)
    for member in chosen:
        with np.errstate(all="ignore"):  # rules compute with generated constants, and may divide by zero
            if isinstance(member, Pass):
                after = graph.copy()
                if member.apply_in_place(after):
                    yield Step(member.name, None, graph, after)
                continue
            for node in arranged(_places(graph, member)):
                for match in member.matches_at(graph, node):
                    planned = member.edit(graph, match)
                    if not isinstance(planned, Declined):
                        yield Step(member.name, node, graph, planned)


def _places(graph: nx.DiGraph, member: Any) -> list[Any]:
    """Return the nodes at which a rule may match."""
    kinds = member.definition.root_kinds if isinstance(member, Rule) else member.kinds
    nodes = graph.in_order() if isinstance(graph, Graph) else sorted(graph, key=repr)
    return [node for node in nodes if kinds is None or graph._node[node].get("type") in kinds]


def in_words(path: Sequence[Step], *, most: int) -> str:
    """Return a sequence of steps as words; of many, those in the middle are only counted.

    Examples
    --------
    >>> in_words([Step("merge", "a"), Step("clean", None)], most=3)
    "merge at 'a', clean"
    >>> in_words([Step("grow", i) for i in range(9)], most=3)
    'grow at 0, grow at 1, … (6 steps), grow at 8'
    """
    words = list(map(str, path))
    if len(words) > most:
        words[most - 1 : -1] = [f"… ({len(words) - most} steps)"]
    return ", ".join(words)
