"""Digraphs with the attributes that a function asks them for, beside those that a pattern speaks of."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any

import networkx as nx
from hypothesis import HealthCheck, Phase, currently_in_test_context, given, settings
from hypothesis import strategies as st

from graphrewrite.rewriting.digraph_rules import GraphRule
from graphrewrite.testing.generation.instance import NoInstanceError
from graphrewrite.testing.mentioning import code_used
from graphrewrite.testing.strategies.digraph_strategy import digraphs
from graphrewrite.testing.strategies.embedding import vocabulary

__all__ = ["digraphs_for"]

_ROUNDS = 4
"""What a function asks for next may depend on what it was given."""
_EXAMPLES = 60
_FAMILIES: tuple[tuple[Any, ...], ...] = ((False, True), ("a", "b", ""), (1, 0, 2))
_DRAWS = 6
"""So many graphs are drawn until a function does not fail."""
_LONGEST = 16
"""Letters of a text in the code of a function that may be a value."""


@dataclass
class _Asked:
    """What a function asks for, of nodes or of edges.

    Attributes
    ----------
    keys : dict of key to bool
        Whether it fails without.
    good : dict of key to set of type
        Classes of the values with which it gave something.
    """

    keys: dict[Any, bool] = field(default_factory=dict)
    good: dict[Any, set[type]] = field(default_factory=dict)


class _Asking(dict[Any, Any]):
    """Attributes that note what they are asked for."""

    def __init__(self, data: dict[Any, Any], asked: _Asked) -> None:
        super().__init__(data)
        self.asked = asked

    def __getitem__(self, key: Any) -> Any:
        self.asked.keys[key] = self.asked.keys.get(key, False) or not super().__contains__(key)
        return super().__getitem__(key)

    def __contains__(self, key: object) -> bool:
        self.asked.keys.setdefault(key, False)
        return super().__contains__(key)

    def get(self, key: Any, default: Any = None) -> Any:
        """Return the value of an attribute."""
        self.asked.keys.setdefault(key, False)
        return super().get(key, default)


@lru_cache(maxsize=64)
def digraphs_for(rule: GraphRule, function: Callable[[Any], Any]) -> st.SearchStrategy[nx.DiGraph]:
    """Return a strategy of digraphs that contain a rule's pattern, and have what a function asks nodes and edges for.

    What it asks for is found out by calling it; which values, by those with which it gives something, and by the texts
    in its code.

    Examples
    --------
    >>> from hypothesis import find
    >>> from graphrewrite.rewriting.digraph_rules import from_graphs
    >>> drop = from_graphs(nx.DiGraph([("s", "x"), ("x", "e")]), nx.DiGraph([("s", "e")]), name="drop",
    ...                    interface=["s", "e"])
    >>> def total(graph):
    ...     return sum(graph.edges[edge]["weight"] + 1 for edge in graph.edges)
    >>> found = find(digraphs_for(drop, total), lambda graph: True)
    >>> all("weight" in data for _, _, data in found.edges(data=True))
    True
    """
    asked = _Asked(), _Asked()
    strategy = digraphs(containing=rule)
    if currently_in_test_context():  # Hypothesis runs no test inside of another
        return strategy
    texts = list(dict.fromkeys(_texts_in(function)))
    for _ in range(_ROUNDS):
        known = [dict(each.keys) for each in asked]
        _try(strategy, function, asked)
        nodes, edges = (_attributes(rule, each, texts, edges=which) for which, each in enumerate(asked))
        strategy = digraphs(containing=rule, node_attributes=nodes, edge_attributes=edges)
        with suppress(NoInstanceError):  # the pattern is a cycle
            strategy |= digraphs(containing=rule, node_attributes=nodes, edge_attributes=edges, acyclic=True)
        if known == [each.keys for each in asked]:
            break
    return _liked(strategy, function)


@st.composite
def _liked(draw: Any, strategy: st.SearchStrategy[nx.DiGraph], function: Callable[[Any], Any]) -> nx.DiGraph:
    """Graphs of which most are such that a function does not fail."""
    for _ in range(_DRAWS):
        graph: nx.DiGraph = draw(strategy)
        with suppress(Exception):  # as above
            function(graph.copy())
            break
    return graph


def _try(strategy: st.SearchStrategy[nx.DiGraph], function: Callable[[Any], Any], asked: tuple[_Asked, _Asked]) -> None:
    """Call a function with some graphs, and note what it asks for."""
    of_nodes, of_edges = asked

    def call(graph: nx.DiGraph) -> None:
        asking = nx.DiGraph()
        asking.graph.update(graph.graph)
        asking.add_nodes_from(graph)
        for node, data in graph.nodes.items():
            asking._node[node] = _Asking(data, of_nodes)
        for a, b in graph.edges:
            asking._succ[a][b] = asking._pred[b][a] = _Asking(graph.edges[a, b], of_edges)
        try:
            function(asking)
        except Exception:  # it may raise anything at a graph without a meaning
            return
        for each, items in ((of_nodes, graph.nodes.values()), (of_edges, graph.edges.values())):
            for data in items:
                for key, value in data.items():
                    each.good.setdefault(key, set()).add(type(value))

    run = settings(
        max_examples=_EXAMPLES,
        phases=[Phase.generate],
        database=None,
        derandomize=True,
        deadline=None,
        suppress_health_check=list(HealthCheck),
    )(given(strategy)(call))
    run()


def _attributes(
    rule: GraphRule, asked: _Asked, texts: Sequence[str], *, edges: int
) -> st.SearchStrategy[dict[Any, Any]]:
    """Return a strategy of attributes: of each, all values of a graph are of one family."""
    told = vocabulary([rule.pattern], edges=bool(edges))
    words = [text for text in texts if text not in asked.keys]
    choices: dict[Any, tuple[bool, st.SearchStrategy[Any]]] = {}
    for key in dict.fromkeys((*told, *asked.keys)):
        named = told.get(key, [])
        families = [list(family) for family in (*_FAMILIES, words) if family]
        good = asked.good.get(key, set())
        families = [f for f in families if type(f[0]) in good] or families
        if named:
            families = [[*named, *f] for f in families if {*map(type, f)} & {*map(type, named)}] or [named]
        family = st.shared(st.sampled_from(families), key=f"{rule.name} {edges} {key!r}")
        choices[key] = asked.keys.get(key, False), family
    return _drawn(choices)


@st.composite
def _drawn(draw: Any, choices: dict[Any, tuple[bool, st.SearchStrategy[Any]]]) -> dict[Any, Any]:
    found = {}
    for key, (is_needed, family) in choices.items():
        if is_needed or draw(st.booleans()):
            found[key] = draw(st.sampled_from(draw(family)))
    return found


def _texts_in(function: Callable[..., Any]) -> Iterator[str]:
    """Yield the short texts in the code of a function, and those of the tables that it names."""
    for used in code_used(function):
        for step in used.steps:
            value = used.value(step)
            for each in value if isinstance(value, dict | set | frozenset | tuple | list) else (value,):
                if isinstance(each, str) and len(each) <= _LONGEST:
                    yield each
