"""All orders in which rules can be applied to a graph: what they lead to, and by which steps."""

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
"""So many graphs are looked at before orders are tried one by one."""
_WALKS = 4
"""So many orders are tried where there are too many to try all of them."""


class Orders:
    r"""What can be made of a graph: graphs, equal ones taken for one whatever their nodes are called, and steps.

    Where there are too many of them, all those near the graph that is given are there, and some ways to the end.

    Attributes
    ----------
    graphs : dict
        Hash to graph, the start first.
    steps : dict
        Hash to the steps from there, each with the hash of what it makes; of a graph at an end, none.
    is_whole : bool
        Whether nothing is missing.

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
        self.start = self._met(graph)
        work = deque([self.start])
        while work and len(self.steps) < most:
            work += self._look_around(work.popleft())
        self.is_whole = not work
        if not self.is_whole:
            for number in range(_WALKS):
                self._walk(self._arrangement(number), most=2 * most)

    # ------------------------------------------------------------------ what is there

    @property
    def fired(self) -> set[str]:
        """Names of the members that took a step."""
        return {step.rule for steps in self.steps.values() for step, _ in steps}

    @cached_property
    def ends(self) -> list[str]:
        """Graphs at which no rule applies; or of which only graphs can be made from which there is a way back."""
        if not self.is_whole:
            return [found for found, steps in self.steps.items() if not steps]
        return [group[0] for number, group in self._groups.items() if not self._condensed.succ[number]]

    @cached_property
    def rounds(self) -> list[str]:
        """Graphs that recur: the smallest of each set of graphs that can be made of each other."""
        found = [g for g in self._groups.values() if len(g) > 1 or self._plain.has_edge(g[0], g[0])]
        return [min(group, key=lambda each: len(self.graphs[each])) for group in found]

    def path(self, source: str, destination: str) -> list[Step]:
        """Return the fewest steps from one graph to another; at least one."""
        before: dict[str, tuple[str, Step]] = {}
        work = deque([source])
        while work and destination not in before:
            found = work.popleft()
            for step, to in self.steps.get(found, ()):
                if to not in before:
                    before[to] = (found, step)
                    work.append(to)
        path: list[Step] = []
        while not path or destination != source:
            destination, step = before[destination]
            path.insert(0, step)
        return path

    def parting(self, kinds: dict[str, int]) -> tuple[str, list[str]]:
        """Return a small graph from which ends of several kinds can be reached, and one end of each."""
        reached: dict[str, dict[int, str]] = {found: {} for found in self.graphs}
        for number in reversed(list(nx.topological_sort(self._condensed))):
            group = self._groups[number]
            ends = {kinds[each]: each for each in group if each in kinds}
            for each in group:
                for _, to in self.steps.get(each, ()):
                    ends = {**reached[to], **ends}
            reached.update(dict.fromkeys(group, ends))
        several = [found for found in self.graphs if len(reached[found]) > 1]
        smallest = min(several, key=lambda found: (len(self.graphs[found]), len(nx.descendants(self._plain, found))))
        return smallest, [end for _, end in sorted(reached[smallest].items())]

    # ------------------------------------------------------------------ how it is found

    def _met(self, graph: Any) -> str:
        found = structure_hash(graph, names=False)
        self.graphs.setdefault(found, graph)
        return found

    def _look_around(self, found: str) -> list[str]:
        """Take all steps from a graph; return the graphs that are met for the first time."""
        known = set(self.graphs)
        self.steps[found] = [(step, self._met(step.graph)) for step in steps_from(self.graphs[found], self.members)]
        return list(dict.fromkeys(to for _, to in self.steps[found] if to not in known))

    def _walk(self, arranged: Callable[[list[Any]], list[Any]], *, most: int) -> None:
        """Go on from the start to an end, or for so many steps."""
        found = self.start
        for _ in range(most):
            step = next(steps_from(self.graphs[found], self.members, arranged=arranged), None)
            known = self.steps.setdefault(found, [])
            if step is None:
                return
            found = self._met(step.graph)
            known.append((step, found))

    def _arrangement(self, number: int) -> Callable[[list[Any]], list[Any]]:
        """Return an order of what is tried: from the first, from the last, then by chance, the same in every run."""
        rng = random.Random(number)
        return (list, lambda items: items[::-1])[number] if number < 2 else lambda items: rng.sample(items, len(items))

    @cached_property
    def _plain(self) -> nx.DiGraph:
        plain = nx.DiGraph()
        plain.add_nodes_from(self.graphs)
        plain.add_edges_from((found, to) for found, steps in self.steps.items() for _, to in steps)
        return plain

    @cached_property
    def _condensed(self) -> nx.DiGraph:
        """The sets of graphs that can be made of each other, by number, and which can be made of which."""
        return nx.condensation(self._plain)

    @cached_property
    def _groups(self) -> dict[int, list[str]]:
        """These sets; they, and what is in them, in the order in which it was met."""
        rank = {found: place for place, found in enumerate(self.graphs)}
        groups = {n: sorted(data["members"], key=rank.__getitem__) for n, data in self._condensed.nodes(data=True)}
        return dict(sorted(groups.items(), key=lambda item: rank[item[1][0]]))
