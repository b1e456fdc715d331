"""All orders in which rules can be applied to a graph: the graphs that they lead to, and the steps."""

from __future__ import annotations

import random
from collections import deque
from collections.abc import Callable, Sequence
from functools import cached_property
from typing import Any

import networkx as nx

from graphrewrite.compare.equality import structure_hash
from graphrewrite.testing.steps import Step, steps_from

__all__ = ["Orders"]

_MOST = 24
"""Number of graphs that are explored before orders are tried one by one."""
_WALKS = 4
"""Number of orders that are tried if there are too many to try all."""


class Orders:
    r"""Graphs that rules can make of a graph, up to the names of their nodes, and the steps between them.

    Of too many graphs, those near the start are kept, and some paths to an end.

    Attributes
    ----------
    graphs : dict
        Hash to graph, the start first.
    steps : dict
        Hash to the steps from there, each with the hash of its result; none at an end.
    is_whole : bool
        Whether all graphs are kept.

    Examples
    --------
    >>> from graphrewrite import Graph
    >>> from graphrewrite.rules import drop_identity
    >>> g = Graph.parse("graph g\nx = input() : f32[N]\ni = identity(x)\nj = identity(i)\ny = output(j)")
    >>> orders = Orders(g, [drop_identity])
    >>> len(orders.graphs), [str(step) for step in orders.path(orders.start, orders.ends[0])]
    (3, ["drop_identity at 'i'", "drop_identity at 'j'"])
    """

    def __init__(self, graph: Any, members: Sequence[Any], *, most: int = _MOST) -> None:
        self.members = members
        self.graphs: dict[str, Any] = {}
        self.steps: dict[str, list[tuple[Step, str]]] = {}
        self.start = self._key_of(graph)
        work = deque([self.start])
        while work and len(self.steps) < most:
            work += self._explore(work.popleft())
        self.is_whole = not work
        if not self.is_whole:
            for number in range(_WALKS):
                self._walk(self._arrangement(number), most=2 * most)

    # ------------------------------------------------------------------ results

    @property
    def fired(self) -> set[str]:
        """Names of the members that took a step."""
        return {step.rule for steps in self.steps.values() for step, _ in steps}

    @cached_property
    def ends(self) -> list[str]:
        """Graphs to which no rule applies, or from which every path leads back."""
        if not self.is_whole:
            return [key for key, steps in self.steps.items() if not steps]
        return [group[0] for number, group in self._groups.items() if not self._condensed.succ[number]]

    @cached_property
    def rounds(self) -> list[str]:
        """Graphs that recur: the smallest of each strongly connected component."""
        cycles = [g for g in self._groups.values() if len(g) > 1 or self._plain.has_edge(g[0], g[0])]
        return [min(group, key=lambda each: len(self.graphs[each])) for group in cycles]

    def path(self, source: str, destination: str) -> list[Step]:
        """Return the fewest steps from one graph to another; at least one."""
        before: dict[str, tuple[str, Step]] = {}
        work = deque([source])
        while work and destination not in before:
            key = work.popleft()
            for step, to in self.steps.get(key, ()):
                if to not in before:
                    before[to] = (key, step)
                    work.append(to)
        path: list[Step] = []
        while not path or destination != source:
            destination, step = before[destination]
            path.insert(0, step)
        return path

    def parting(self, kinds: dict[str, int]) -> tuple[str, list[str]]:
        """Return a small graph from which ends of several kinds can be reached, and one end of each."""
        reached: dict[str, dict[int, str]] = {key: {} for key in self.graphs}
        for number in reversed(list(nx.topological_sort(self._condensed))):
            group = self._groups[number]
            ends = {kinds[each]: each for each in group if each in kinds}
            for each in group:
                for _, to in self.steps.get(each, ()):
                    ends = {**reached[to], **ends}
            reached.update(dict.fromkeys(group, ends))
        several = [key for key in self.graphs if len(reached[key]) > 1]
        smallest = min(several, key=lambda key: (len(self.graphs[key]), len(nx.descendants(self._plain, key))))
        return smallest, [end for _, end in sorted(reached[smallest].items())]

    # ------------------------------------------------------------------ exploration

    def _key_of(self, graph: Any) -> str:
        key = structure_hash(graph, names=False)
        self.graphs.setdefault(key, graph)
        return key

    def _explore(self, key: str) -> list[str]:
        """Take all steps from a graph; return the graphs that are new."""
        explored = set(self.graphs)
        self.steps[key] = [(step, self._key_of(step.graph)) for step in steps_from(self.graphs[key], self.members)]
        return list(dict.fromkeys(to for _, to in self.steps[key] if to not in explored))

    def _walk(self, arranged: Callable[[list[Any]], list[Any]], *, most: int) -> None:
        """Take steps from the start to an end, or at most so many."""
        key = self.start
        for _ in range(most):
            step = next(steps_from(self.graphs[key], self.members, arranged=arranged), None)
            steps = self.steps.setdefault(key, [])
            if step is None:
                return
            key = self._key_of(step.graph)
            steps.append((step, key))

    def _arrangement(self, number: int) -> Callable[[list[Any]], list[Any]]:
        """Return an order of trials: from the first, from the last, then random, the same in every run."""
        rng = random.Random(number)
        return (list, lambda items: items[::-1])[number] if number < 2 else lambda items: rng.sample(items, len(items))

    @cached_property
    def _plain(self) -> nx.DiGraph:
        plain = nx.DiGraph()
        plain.add_nodes_from(self.graphs)
        plain.add_edges_from((key, to) for key, steps in self.steps.items() for _, to in steps)
        return plain

    @cached_property
    def _condensed(self) -> nx.DiGraph:
        """The graph of strongly connected components, by number."""
        return nx.condensation(self._plain)

    @cached_property
    def _groups(self) -> dict[int, list[str]]:
        """The components; they and their members in the order of exploration."""
        rank = {key: index for index, key in enumerate(self.graphs)}
        groups = {n: sorted(data["members"], key=rank.__getitem__) for n, data in self._condensed.nodes(data=True)}
        return dict(sorted(groups.items(), key=lambda item: rank[item[1][0]]))
