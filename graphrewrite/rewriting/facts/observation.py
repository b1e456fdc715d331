"""Observation: which nodes rules have looked at beyond their pattern, and so where to look again after an edit."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any

from graphrewrite.graph import Graph
from graphrewrite.graph.edit import Edit
from graphrewrite.rewriting.facts.analysis import Analysis
from graphrewrite.rewriting.facts.table import FactTable

__all__ = ["Observer", "fact_at", "observer_of", "observing", "observing_with"]


class Observer:
    """Keeps the facts of one graph while rules run on it, and who has looked at what.

    Attributes
    ----------
    root : node, optional
        The node at which a rule is being tried, if it is one that looks around.
    surprised : callable, optional
        Called when a rule looks around of which that was not expected.
    """

    surprised: Callable[[], None] | None = None

    def __init__(self, graph: Graph) -> None:
        self.graph = graph
        self.root: Any = None
        self.tables: dict[int, FactTable] = {}
        self.readers_of_facts: dict[tuple[int, Any], dict[Any, None]] = {}
        self.readers_of_nodes: dict[Any, dict[Any, None]] = {}

    def fact(self, analysis: Analysis[Any], node: str, result: int) -> Any:
        """Return a fact, and note who has asked for it."""
        table = self.tables.get(id(analysis))
        if table is None:
            table = self.tables[id(analysis)] = FactTable(self.graph, analysis)
        found = table.of(node, result)
        self._note(self.readers_of_facts, (id(analysis), node))
        return found

    def look_at(self, node: Any) -> None:
        """Note that somebody has looked at the edges or the data of a node."""
        self._note(self.readers_of_nodes, node)

    def _note(self, readers: dict[Any, dict[Any, None]], key: Any) -> None:
        if self.root is not None:
            readers.setdefault(key, {})[self.root] = None
        elif self.surprised is not None:
            self.surprised()

    def is_concerned(self, matched: Iterable[Any]) -> bool:
        """Tell whether a step that replaces some nodes may change what anybody has asked for.

        What reads a node that is replaced has been computed from its facts, if it has any that depend on them.
        """
        if self.readers_of_nodes:
            return True
        for table in self.tables.values():  # in loops, for this is asked at each step
            facts = table.facts
            for node in matched:
                if node in facts:
                    return True
        return False

    def follow(self, edit: Edit) -> Iterable[Any]:
        """Keep the facts along an edit; return the nodes at which a rule has looked at what it changes."""
        again: dict[Any, None] = {}
        for key, table in self.tables.items():
            for node in table.follow(edit):
                again.update(self.readers_of_facts.pop((key, node), {}))
        if self.readers_of_nodes:
            for node in _touched(edit):
                again.update(self.readers_of_nodes.pop(node, {}))
        return [node for node in again if node in self.graph._node]

    def forget(self) -> None:
        """Forget all facts: the graph has changed in unknown ways, and all of it is looked at again."""
        self.tables.clear()
        self.readers_of_facts.clear()
        self.readers_of_nodes.clear()


def _touched(edit: Edit) -> dict[Any, None]:
    """Return the nodes whose edges or data an edit has changed, those that went included."""
    touched = [name for name, _ in edit.changed]
    touched += [end for source, reader, *_ in (*edit.linked, *edit.unlinked) for end in (source, reader)]
    touched += [end for entry in edit.lost if len(entry) == 4 for end in (entry[0], *entry[2], *entry[3])]
    touched += [end for entry in edit.lost if len(entry) == 3 for end in entry[:2]]
    return dict.fromkeys(touched)


_OBSERVER: ContextVar[Observer | None] = ContextVar("observer", default=None)


@contextmanager
def observing_with(observer: Observer) -> Iterator[Observer]:
    """Let an observer keep the facts of its graph, and note who looks at what."""
    token = _OBSERVER.set(observer)
    try:
        yield observer
    finally:
        _OBSERVER.reset(token)


def observing(graph: Any) -> Any:
    """Keep the facts of a graph that does not change meanwhile."""
    return observing_with(observer_of(graph) or Observer(graph))


def observer_of(graph: Any) -> Observer | None:
    """Return the observer of a graph, if there is one."""
    observer = _OBSERVER.get()
    return observer if observer is not None and observer.graph is graph else None


def fact_at(graph: Graph, analysis: Analysis[Any], node: str, result: int = 0) -> Any:
    """Return what an analysis knows of a value of a graph."""
    observer = _OBSERVER.get()
    if observer is None or observer.graph is not graph:
        return FactTable(graph, analysis).of(node, result)
    return observer.fact(analysis, node, result)
