"""Find the matches of a pattern graph: one node after the other, without recursion."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator
from typing import Any

import networkx as nx

from graphrewrite.rewriting.digraph_rules.naming import order_key
from graphrewrite.rewriting.digraph_rules.pattern import GraphPattern
from graphrewrite.rewriting.digraph_rules.plan import Absence, Plan, Side, Step
from graphrewrite.rewriting.digraph_rules.requirements import DataTest, Fault, PredicateError, blamed_by, reason_of
from graphrewrite.rewriting.match import Obstacle

__all__ = ["Search"]

_PATIENCE = 256
"""So many nodes are tried in vain for each node of the pattern before `Search.domains_of` filters the others."""


class Search:
    """One search for a pattern in a graph that does not change meanwhile."""

    def __init__(
        self,
        pattern: GraphPattern,
        plan: Plan,
        sides: tuple[Side, ...],
        absences: tuple[Absence, ...],
        graph: nx.DiGraph,
        obstacle: Obstacle | None = None,
    ) -> None:
        self.pattern, self.plan, self.sides, self.absences, self.obstacle = pattern, plan, sides, absences, obstacle
        self.node, self.pred, self.succ = graph._node, graph._pred, graph._succ
        self.slack = len(pattern.single)
        self.most_patience = self.patience = _PATIENCE * (1 + len(plan.steps))
        self.domains: dict[Hashable, set[Any]] | None = None
        self.anywhere: dict[Hashable, list[Any]] = {}

    def matches(self, anchors: Iterable[Any]) -> Iterator[dict[Hashable, Any]]:
        """Yield the bindings of every match that has one of some nodes as its anchor."""
        firsts = list(anchors)
        for image in self.embeddings(self.plan, firsts, {}, set(), narrow=True):
            fault, members = self.complete(image)
            if fault is None:
                yield {name: members[name] if name in members else image[name] for name in self.pattern.graph}
            elif self.obstacle is not None:
                self.blame(self.obstacle, len(self.plan.steps) + 1, fault, image)

    def embeddings(
        self, plan: Plan, firsts: list[Any] | None, image: dict[Hashable, Any], used: set[Any], narrow: bool = False
    ) -> Iterator[dict[Hashable, Any]]:
        """Yield every injective assignment that extends `image` by the nodes of a plan: one dictionary, changed.

        A depth-first search. Level ``i`` of the stack holds the candidates for step ``i`` that are not tried yet; the
        steps below it are in ``image``.
        """
        steps = plan.steps
        if not steps:
            yield image
            return
        stack = [iter(self.candidates(steps[0], image, used, firsts))]
        while stack:
            name = steps[len(stack) - 1].name
            if name in image:  # back from the levels above it, with nothing found: the next candidate
                used.remove(image.pop(name))
            for candidate in stack[-1]:
                if narrow and self.domains is not None and candidate not in self.domains[name]:
                    continue
                image[name] = candidate
                if len(stack) == len(steps):
                    self.patience = self.most_patience  # matches are found: the search is not in vain
                    yield image
                    del image[name]
                    continue
                used.add(candidate)
                if narrow and self.patience < 0 and self.domains is None and plan.connected:
                    self.domains = self.domains_of(plan, firsts or [])
                    placed = steps[: len(stack)]
                    back = next((i for i, s in enumerate(placed) if image[s.name] not in self.domains[s.name]), None)
                    if back is not None:  # an earlier node is in no match, so go back to its level at once
                        used.difference_update(image.pop(step.name) for step in placed[back + 1 :])
                        del stack[back + 1 :]
                        break
                stack.append(iter(self.candidates(steps[len(stack)], image, used, None)))
                break
            else:
                stack.pop()

    def candidates(self, step: Step, image: dict[Hashable, Any], used: set[Any], firsts: list[Any] | None) -> list[Any]:
        """Return the nodes that fit a step, in an order that follows from their names; `firsts` as they are."""
        # The smallest pool that holds all candidates: the neighbours of one matched node, or, without any, all nodes.
        pool: Any = firsts
        if firsts is None and not step.backs:
            pool = self.anywhere.get(step.name)
            if pool is None:
                fitting = [node for node in self.node if self.obstacle or self.local_fault(step, node) is None]
                pool = self.anywhere[step.name] = sorted(fitting, key=order_key)
        for index, (other, forward, _) in enumerate(step.backs):
            near = (self.succ if forward else self.pred)[image[other]]
            if index == 0 or len(near) < len(pool):
                pool = near
        self.patience -= len(pool)
        if self.obstacle is not None:
            self.note(step, image, used, pool)
        fitting = [node for node in pool if self.fault(step, node, image, used) is None]
        if len(fitting) > 1 and step.backs:
            fitting.sort(key=order_key)
        return fitting

    def note(self, step: Step, image: dict[Hashable, Any], used: set[Any], pool: Iterable[Any]) -> None:
        """Note why no node, or not each, fits a step."""
        assert self.obstacle is not None
        free = sorted((node for node in pool if node not in used), key=order_key)
        if not free:
            self.blame(self.obstacle, len(image), ("missing", step), image)
        for node in free:
            fault = self.fault(step, node, image, used)
            if fault is not None:
                self.blame(self.obstacle, len(image), fault, image)

    def blame(self, obstacle: Obstacle, progress: int, fault: Fault, image: dict[Hashable, Any]) -> None:
        """Note the first fault at this depth of the pattern; no other is put into words."""
        if progress > obstacle.progress:
            name, node = blamed_by(fault, image)
            obstacle.note(progress, node, reason_of(fault), term=name, images=image)

    def fault(self, step: Step, node: Any, image: dict[Hashable, Any], used: set[Any]) -> Fault | None:
        """Return the first fault of a node for a step; None if it fits."""
        if node in used:
            return ("used", step.name, node)
        # Tests that need this node only come first: they cost least and fail most often.
        fault = self.local_fault(step, node)
        if fault is not None:
            return fault
        succ, pred = self.succ[node], self.pred[node]
        for other, forward, test in step.backs:
            near, end = (pred if forward else succ), image[other]
            edge = (end, node) if forward else (node, end)
            if end not in near:
                return ("no edge", (other, step.name) if forward else (step.name, other), edge)
            if test.required and (key := test.failing(near[end], edge)) is not None:
                return ("edge", (other, step.name) if forward else (step.name, other), edge, key, near[end], test)
        # An induced pattern has no edge there, so that the graph must have none.
        for other, forward in step.apart:
            if image[other] in (pred if forward else succ):
                edge = (image[other], node) if forward else (node, image[other])
                return ("extra edge", (other, step.name) if forward else (step.name, other), edge)
        return None

    def local_fault(self, step: Step, node: Any) -> Fault | None:
        """Return the first fault of a node for a step that does not depend on the other nodes."""
        key = step.test.failing(self.node[node], node)
        if key is not None:
            return ("node", step.name, node, key, self.node[node], step.test)
        succ, pred = self.succ[node], self.pred[node]
        # Degrees reject a node before any of its edges is looked at.
        if len(pred) < step.least[0] or len(succ) < step.least[1]:
            return ("few", step.name, node, len(pred) < step.least[0], step.least, (len(pred), len(succ)))
        # To explain which edge is one too many, the whole match must be found first: a few more do not reject it.
        most = step.most if self.obstacle is None else (step.most[0] + self.slack, step.most[1] + self.slack)
        if len(pred) > most[0] or len(succ) > most[1]:
            return ("many", step.name, node, len(pred) > most[0], most, (len(pred), len(succ)))
        if step.bare and node in succ:
            return ("extra edge", (step.name, step.name), (node, node))
        if step.loop is not None:
            if node not in succ:
                return ("no edge", (step.name, step.name), (node, node))
            key = step.loop.failing(succ[node], (node, node))
            if key is not None:
                return ("edge", (step.name, step.name), (node, node), key, succ[node], step.loop)
        return None

    def is_possible(self, step: Step, node: Any) -> bool:
        """Tell whether a node can fit a step; a predicate that fails here may never be called by a search."""
        try:
            return self.local_fault(step, node) is None
        except PredicateError:
            return True

    # ------------------------------------------------------------------ nodes that cannot be part of any match

    def domains_of(self, plan: Plan, firsts: Iterable[Any]) -> dict[Hashable, set[Any]]:
        """Return for each node of a pattern a superset of the nodes that it has in matches: arc consistency.

        Each member has a fitting edge to a member of the domain of each neighbour in the pattern. Where the pattern is
        a tree, a search in the domains goes back only where a node would be used twice. One pass forwards and one
        backwards take time in proportion to the edges of the graph times those of the pattern.
        """
        domains: dict[Hashable, set[Any]] = {}
        for step in plan.steps:
            if not step.backs:
                pool = set(firsts)
            else:
                pool = None
                for other, forward, test in step.backs:
                    reached = self.reached(domains[other], forward, test)
                    pool = reached if pool is None else pool & reached
            domains[step.name] = {node for node in pool or () if self.is_possible(step, node)}
        for step in reversed(plan.steps):
            for other, forward, test in step.backs:
                domains[other] &= self.reached(domains[step.name], not forward, test)
        return domains

    def reached(self, nodes: set[Any], forward: bool, test: DataTest) -> set[Any]:
        """Return the nodes at the other end of fitting edges that go out of some nodes, or come in."""
        near = self.succ if forward else self.pred
        ends = set()
        for node in nodes:
            for other, data in near[node].items():
                try:
                    if test.failing(data, (node, other) if forward else (other, node)) is None:
                        ends.add(other)
                except PredicateError:  # a search may never call it
                    ends.add(other)
        return ends

    # ------------------------------------------------------------------ when all nodes are found

    def complete(self, image: dict[Hashable, Any]) -> tuple[Fault | None, dict[Hashable, tuple[Any, ...]]]:
        """Return the first fault of a whole match, if there is one, and the nodes of each group."""
        named = {node: name for name, node in image.items()}
        used = set(named)
        members: dict[Hashable, dict[Any, None]] = {group: {} for group in self.pattern.groups}
        for side in self.sides:
            node = image[side.name]
            near = (self.succ if side.forward else self.pred)[node]
            known = (self.pattern.graph.succ if side.forward else self.pattern.graph.pred)[side.name]
            # All edges of an interior node are known: those of the pattern, and those to the members of a group.
            for other in near:
                edge = (node, other) if side.forward else (other, node)
                if other in named:
                    if named[other] not in known:
                        return ("inner", side.name, node, edge), {}
                    continue
                if side.group is None:
                    return ("outside", side.name, node, edge), {}
                key = side.node.failing(self.node[other], other)
                if key is not None:
                    return ("node", side.group, other, key, self.node[other], side.node), {}
                key = side.edge.failing(near[other], edge)
                if key is not None:
                    ends = (side.name, side.group) if side.forward else (side.group, side.name)
                    return ("edge", ends, edge, key, near[other], side.edge), {}
                members[side.group][other] = None
        # Sorted by name: the order of neighbours depends on the edits before.
        groups = {group: tuple(sorted(nodes, key=order_key)) for group, nodes in members.items()}
        used.update(*groups.values())
        for index, absence in enumerate(self.absences):
            forbidden = self.present(absence, image, used)
            if forbidden is not None:
                return ("present", index, forbidden), {}
        return None, groups

    def present(self, absence: Absence, image: dict[Hashable, Any], used: set[Any]) -> dict[Hashable, Any] | None:
        """Return the nodes of a graph that must not be there beside a match; None if it is not there."""
        for name, test in absence.nodes:
            if test.failing(self.node[image[name]], image[name]) is not None:
                return None
        for source, destination, test in absence.edges:
            a, b = image[source], image[destination]
            if b not in self.succ[a] or test.failing(self.succ[a][b], (a, b)) is not None:
                return None
        obstacle, self.obstacle = self.obstacle, None  # that it is not found is no obstacle
        try:
            present = next(self.embeddings(absence.plan, None, dict(image), set(used)), None)
        finally:
            self.obstacle = obstacle
        return None if present is None else {name: present[name] for name in absence.graph}
