"""Facts from outside of rules: what an analysis knows of the values of a graph."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import networkx as nx

from graphrewrite.errors import not_there
from graphrewrite.graph import Graph
from graphrewrite.graph.arguments import as_graph
from graphrewrite.rewriting.facts.analysis import Analysis
from graphrewrite.rewriting.facts.numbers import numbers
from graphrewrite.rewriting.facts.table import FactTable

__all__ = ["Facts", "facts_of"]


class Facts(Mapping[str, Any]):
    """What is known of the values of a graph as it is: node to fact, of several results to a tuple of them."""

    def __init__(self, graph: Graph, analysis: Analysis[Any]) -> None:
        self.graph, self.analysis = graph, analysis
        self._table = FactTable(graph, analysis)

    def __getitem__(self, node: str) -> Any:
        if node not in self.graph._node:
            raise not_there(node, self.graph._node)
        if isinstance(self.graph._node[node].get("result"), tuple):
            return tuple(self._table.of(node, i) for i in range(len(self.graph._node[node]["result"])))
        return self._table.of(node)

    def __iter__(self) -> Iterator[str]:
        return (node for node, data in self.graph._node.items() if data.get("result") is not None)

    def __len__(self) -> int:
        return sum(1 for _ in self)

    def __str__(self) -> str:
        return "\n".join(f"{node}: {self.shown(node)}" for node in self.graph.in_order() if node in self)

    def shown(self, node: str) -> str:
        """Return what is known of a node's results, in words."""
        fact = self[node]
        several = isinstance(self.graph._node[node].get("result"), tuple)
        return "; ".join(map(str, fact)) if several else str(fact)

    def __contains__(self, node: object) -> bool:
        return self.graph._node.get(node, {}).get("result") is not None

    def __repr__(self) -> str:
        return f"<facts of {self.graph.name!r}: {self.analysis.name}>"


def facts_of(graph: nx.DiGraph, analysis: Analysis[Any] = numbers) -> Facts:
    r"""Return what is known of the values of a graph, whatever its inputs are.

    Parameters
    ----------
    graph : Graph or networkx.DiGraph
        Any graph of ops; the facts are computed when they are asked for, and are those of the graph as it is then.
    analysis : Analysis
        What is wanted; ranges and other facts of numbers by default.

    Examples
    --------
    >>> g = Graph.parse('''graph g
    ... x = input() : u8[N]
    ... c = constant(value=12) : u8[]
    ... m = bitwise_and(x, c)
    ... y = output(m)''')
    >>> print(facts_of(g))
    x: 0 to 255
    c: 12, constant
    m: 0 to 12, bits ..00??00
    """
    return Facts(as_graph(graph, "of which anything can be known"), analysis)
