"""A strategy of plain networkx digraphs with attributes, with instances of pattern graphs where asked."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping, Sequence
from functools import partial
from operator import itemgetter
from typing import Any

import networkx as nx
from hypothesis import HealthCheck, Phase, assume, currently_in_test_context, find, note, settings
from hypothesis import strategies as st
from hypothesis.errors import NoSuchExample, Unsatisfiable

from graphrewrite.errors import RuleError
from graphrewrite.rewriting.digraph_rules import GraphPattern, GraphRule
from graphrewrite.rewriting.rule.outcome import decline
from graphrewrite.testing.failure.code import graph_code
from graphrewrite.testing.generation.demand import Unfit
from graphrewrite.testing.generation.instance import NoInstanceError
from graphrewrite.testing.strategies.anything import EDGE_DATA, GRAPH_DATA, NAMES, NODE_DATA
from graphrewrite.testing.strategies.embedding import Site, matches, vocabulary
from graphrewrite.testing.strategies.sending import made_by_call

__all__ = ["digraphs"]

Attributes = Mapping[Hashable, st.SearchStrategy[Any] | Iterable[Any]] | st.SearchStrategy[dict[Any, Any]]
Containing = GraphRule | GraphPattern
_LINKS = 4
"""So many edges at most a node brings along."""
_ROW = 4
"""So many nodes at most are insisted on, beside those that must be there."""
_STAYS = st.sampled_from([False, True, True, True])
"""Whether a node stays. To go is simpler: shrinking leaves a node out, and all others mean what they meant."""
_ATTEMPTS = 20


@made_by_call
def digraphs(
    *,
    node_attributes: Attributes | None = None,
    edge_attributes: Attributes | None = None,
    names: st.SearchStrategy[Any] | Iterable[Hashable] | None = None,
    containing: Containing | Sequence[Containing] | None = None,
    acyclic: bool = False,
    min_size: int = 0,
    max_size: int | None = None,
) -> st.SearchStrategy[nx.DiGraph]:
    """Return a strategy of digraphs with attributes, for what works on any of them.

    Without arguments, they are whatever a digraph can be that this library can read and write: names, attributes and
    values of any kind, with loops, cycles and nodes without edges.

    Shrinks to few nodes without edges, the first of all values, and no attributes where any will do; around an instance
    of a pattern, to nothing.

    Parameters
    ----------
    node_attributes, edge_attributes : mapping or strategy of dict, optional
        What every node and every edge has: of each attribute, a strategy of its values or the values themselves; or a
        strategy of all attributes. ``{}`` is none. Where not given: with `containing`, what its patterns speak of, with
        the values that they name and others; else anything.
    names : strategy or iterable of hashable, optional
        Names of nodes. Where not given: with `containing`, like those of the patterns; else texts, numbers and pairs.
    containing : GraphRule, GraphPattern, or list of them, optional
        Every graph has an instance of each, and nodes around them: readers outside of the matches, and what would be a
        match but for an attribute or an edge. Instances of several patterns share nodes where they can.
    acyclic : bool
        Whether there are no cycles, and so no loops.
    min_size, max_size : int, optional
        How many nodes there are, where nothing is to be contained.

    Raises
    ------
    NoInstanceError
        If no graph was found that contains what should be contained, with what hinders it.

    Examples
    --------
    >>> from hypothesis import find, strategies as st
    >>> coloured = digraphs(node_attributes={"colour": ["red", "blue"]}, edge_attributes={"weight": st.integers(1, 9)},
    ...                     names=range(100), acyclic=True)
    >>> found = find(coloured, lambda graph: graph.number_of_edges() > 0)
    >>> print(found.nodes(data=True), found.edges(data=True))
    [(0, {'colour': 'red'}), (1, {'colour': 'red'})] [(0, 1, {'weight': 1})]

    >>> from graphrewrite.rewriting.digraph_rules import from_graphs
    >>> drop = from_graphs(nx.DiGraph([("s", "x"), ("x", "e")]), nx.DiGraph([("s", "e")]), name="drop",
    ...                    interface=["s", "e"])
    >>> list(find(digraphs(containing=drop), lambda graph: True).edges)
    [('s', 'x'), ('x', 'e')]
    """
    known = None if names is None else _strategy(names)
    if containing is None:
        nodes = NODE_DATA if node_attributes is None else _attributes(node_attributes)
        edges = EDGE_DATA if edge_attributes is None else _attributes(edge_attributes)
        whole = GRAPH_DATA if node_attributes is None else st.just({})
        links = st.lists(st.tuples(st.integers(0, 15), st.booleans(), edges), max_size=_LINKS)
        node = st.tuples(NAMES if known is None else known, nodes, links, _STAYS)
        most = max_size if known is None or isinstance(names, st.SearchStrategy) else _at_most(names, max_size)
        return st.builds(partial(_joined, acyclic=acyclic, least=min_size), _listed(node, min_size, most), whole).map(
            _noted
        )
    rules = tuple(map(_as_rule, containing if isinstance(containing, list | tuple) else [containing]))
    patterns = [rule.pattern for rule in rules]
    told = [_told(vocabulary(patterns, edges=edges)) for edges in (False, True)]
    node_data = told[0] if node_attributes is None else _attributes(node_attributes)
    edge_data = told[1] if edge_attributes is None else _attributes(edge_attributes)
    reasons: list[str] = []
    strategy = _around(rules, (node_data, edge_data, known), acyclic, reasons).map(_noted)
    if not currently_in_test_context():  # where Hypothesis runs no test inside of another
        _check_instances(rules, strategy, reasons)
    return strategy


def _listed(node: st.SearchStrategy[Any], least: int, most: int | None) -> st.SearchStrategy[list[Any]]:
    """Rows of nodes with different names; of lists alone, half would be empty."""
    leasts = range(least, (least + _ROW if most is None else min(most, least + _ROW)) + 1)
    rows = [st.lists(node, min_size=count, max_size=most, unique_by=itemgetter(0)) for count in leasts]
    return st.sampled_from(rows).flatmap(lambda row: row)


def _strategy(values: Any) -> st.SearchStrategy[Any]:
    if isinstance(values, st.SearchStrategy):
        return values
    # A set has no order of its own, and which values are simple must not depend on the hash seed.
    return st.sampled_from(sorted(values, key=repr) if isinstance(values, set | frozenset) else list(values))


def _at_most(names: Any, max_size: int | None) -> int:
    count = len(set(names))
    return count if max_size is None else min(count, max_size)


def _attributes(given: Attributes) -> st.SearchStrategy[dict[Any, Any]]:
    if isinstance(given, st.SearchStrategy):
        return given
    keys = list(given)  # in this order, which those of `fixed_dictionaries` are not
    return st.tuples(*map(_strategy, given.values())).map(lambda found: dict(zip(keys, found, strict=True)))


def _told(words: dict[Any, list[Any]]) -> st.SearchStrategy[dict[Any, Any]]:
    """Attributes that patterns speak of, there or not."""
    return st.fixed_dictionaries({}, optional={key: st.sampled_from(values) for key, values in words.items()})


def _as_rule(given: Any) -> GraphRule:
    if isinstance(given, GraphRule):
        return given
    if not isinstance(given, GraphPattern):
        raise RuleError(f"{given!r} is no rule of graphs; of a rule made of ops, graphs(containing=...) has instances")
    return GraphRule("instance", given, lambda match: decline("it is only looked for"), file=__file__, line=0)


def _joined(listed: list[tuple[Any, ...]], data: dict[Any, Any], *, acyclic: bool, least: int) -> nx.DiGraph:
    """Return a graph of nodes that each say how far back in the row those are that they are joined to."""
    graph = nx.DiGraph()
    graph.graph.update(data)
    order = [name for name, *_ in listed]
    for name, attributes, _, _ in listed:
        graph.add_node(name)
        graph.nodes[name].update(attributes)
    for index, (name, _, links, _) in enumerate(listed):
        for back, forward, edge in links:
            if acyclic and not index:
                break
            # The one before is the simplest, and the node itself the last of all.
            other = order[index - 1 - back % (index + (not acyclic))] if index else name
            source, destination = (other, name) if acyclic or not forward else (name, other)
            graph.add_edge(source, destination)
            graph.edges[source, destination].update(edge)
    leaving = [name for name, *_, stays in listed if not stays]
    graph.remove_nodes_from(leaving[: max(0, len(listed) - least)])
    return graph


class _Code:
    """Code that makes a digraph, whose class has no text of its own; written when it is printed."""

    def __init__(self, graph: nx.DiGraph) -> None:
        self.graph = graph

    def __repr__(self) -> str:
        return f"graph = {graph_code(self.graph, name='graph')}"


def _noted(graph: nx.DiGraph) -> nx.DiGraph:
    """Let Hypothesis show a graph where it shows what has failed."""
    if currently_in_test_context():
        note(_Code(graph))
    return graph


@st.composite
def _around(
    draw: Any, rules: tuple[GraphRule, ...], options: tuple[Any, ...], acyclic: bool, reasons: list[str]
) -> nx.DiGraph:
    site = Site(draw, *options, acyclic=acyclic)
    try:
        for count, rule in enumerate(rules, start=1):
            site.add(rule.pattern, share=count > 1, holds=partial(_all_in, rules[:count]))
    except Unfit as error:
        reasons.append(str(error))
        assume(False)
    bare = site.graph.copy()
    try:
        site.surround([rule.pattern for rule in rules])
    except Unfit:
        return bare
    return site.graph if _all_in(rules, site.graph) else bare


def _all_in(rules: tuple[GraphRule, ...], graph: nx.DiGraph) -> bool:
    return all(matches(rule, graph) for rule in rules)


def _check_instances(rules: tuple[GraphRule, ...], strategy: st.SearchStrategy[nx.DiGraph], reasons: list[str]) -> None:
    """Raise if there seems to be no graph that contains some patterns."""
    checks = [check for check in HealthCheck if check is not HealthCheck.differing_executors]
    quick = settings(
        max_examples=_ATTEMPTS,
        phases=[Phase.generate],
        database=None,
        derandomize=True,
        deadline=None,
        suppress_health_check=checks,
    )
    try:
        find(strategy, lambda graph: True, settings=quick)
    except (NoSuchExample, Unsatisfiable):
        names = ", ".join(rule.name for rule in rules)
        reason = max(dict.fromkeys(reasons), key=reasons.count)
        raise NoInstanceError(
            f"no digraph that contains the pattern of {names} was found ({reason}); say which values attributes have, "
            "node_attributes=... and edge_attributes=..., or pass a strategy of your own"
        ) from None
    reasons.clear()
