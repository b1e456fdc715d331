"""Apply a transformation to a graph, and check all that must hold of the result whatever it computes."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from graphrewrite.errors import GraphRewriteError, VerificationError
from graphrewrite.graph import Graph
from graphrewrite.rewriting.verification import verify
from graphrewrite.testing.counterexample import Counterexample
from graphrewrite.testing.failure.claims import ARGUMENT, DETERMINISTIC, INTERFACE, WELL_FORMED
from graphrewrite.testing.snapshot import interface, snapshot
from graphrewrite.testing.subject import Outcome, Subject

__all__ = ["Applied", "Refuted", "applied", "check_interface", "check_repeatable", "rebuilt"]

_ABOUT_EDGES = frozenset({"slots_are_numbered", "operands_fit"})
"""Checks that fail where a node has lost what it read."""
_FOLLOWING = frozenset({"views"})
"""Graph attributes that name nodes, so that they follow what becomes of these."""

_ORDER = """\
other = before.copy()
other.clear()
other.graph.update(before.graph)
other.add_nodes_from(reversed(list(before.nodes(data=True))))
other.add_edges_from(reversed(list(before.edges(data=True))))
before, first = other, {made}
assert first == {made}
"""


VALUES = "values"
"""The kind of a refutation by what a graph computes; behind a comma stands what is special about the values."""


class Refuted(AssertionError):
    """A counterexample, on its way out of a search.

    Parameters
    ----------
    kind : str
        In which way it does not; a smaller counterexample must be of the same kind.
    """

    def __init__(self, found: Counterexample, kind: str = "") -> None:
        self.found, self.kind = found, kind
        super().__init__(found.reason)

    @property
    def is_faint(self) -> bool:
        """Whether only signs of zeros differ, or what is no number."""
        return self.kind.startswith(f"{VALUES}, ")


@dataclass
class Applied(Outcome):
    """What a transformation made of a graph, and whether that is another graph.

    Attributes
    ----------
    changed : bool
        Whether anything is new, if only that a step was taken that changed nothing.
    old, new : dict
        Snapshots of the graph and of the result.
    """

    changed: bool = False
    old: dict[str, Any] = field(default_factory=dict, repr=False)
    new: dict[str, Any] = field(default_factory=dict, repr=False)


def applied(subject: Subject, graph: Any) -> Applied:
    """Apply a transformation to a graph that must stay as it is; the result must be well formed.

    Raises
    ------
    Refuted
        If it fails, does not end, changes its argument, or if after one of its steps the verifier finds a fault.
    """
    old = snapshot(graph)
    given = graph.copy()
    try:
        outcome = subject.apply(given)
    except Exception as error:  # whatever a rule or a function may raise, it should not
        raise _failed(subject, graph, error) from None
    made = outcome.graph
    if snapshot(given) != old or list(given) != list(graph):
        _restore(graph, old)
        reason = f"{subject.name} changed the graph that it was given"
        raise Refuted(Counterexample(graph, given, reason, claim=ARGUMENT), "argument")
    new = snapshot(made)
    changed = bool(outcome.fired) or new != old
    if changed and (subject.is_deaf or not outcome.fired):
        _check_form(subject, graph, made)
    return Applied(made, outcome.fired, outcome.declined, changed, old, new)


def _failed(subject: Subject, graph: Any, error: Exception) -> Refuted:
    told = str(error) if isinstance(error, GraphRewriteError) else f"{type(error).__name__}: {error}"
    reason, kind = f"{subject.name} failed: {told}", f"failed {type(error).__name__}"
    if isinstance(error, VerificationError):
        lost = [fault for fault in error.faults if fault.check in _ABOUT_EDGES]
        form = told if " left a graph" in told else f"{subject.name} gives a graph that is not well formed:\n{told}"
        reason = f"{subject.name} leaves an edge dangling: {lost[0]}" if lost else form
        kind = "dangling" if lost else "not well formed"
    return Refuted(Counterexample(graph, None, reason, claim=WELL_FORMED), kind)


def _restore(graph: Any, old: dict[str, Any]) -> None:
    """Undo what was written into arrays that a graph shares with its copy."""
    for node, data in graph._node.items():
        for key, value in data.items():
            if isinstance(value, np.ndarray) and value.dtype != object:
                dtype, shape, content = old["nodes"][node][key]
                data[key] = np.frombuffer(content, dtype).reshape(shape).copy()


def _check_form(subject: Subject, graph: Any, made: Any) -> None:
    """Refute a result that the verifier refuses."""
    if not isinstance(made, Graph):
        return
    try:
        verify(made)
    except VerificationError as error:
        refuted = _failed(subject, graph, error)
        raise Refuted(replace(refuted.found, after=made), refuted.kind) from None


def check_repeatable(subject: Subject, graph: Any, done: Applied, *, rebuilding: bool) -> None:
    """Refute a transformation that makes two graphs of one, or of one that was built in another order.

    Parameters
    ----------
    rebuilding : bool
        Whether to apply it to a graph that was built in another order; else to the same, byte for byte.
    """
    try:
        again = subject.apply_quickly(rebuilt(graph) if rebuilding else graph.copy())
    except Exception as error:
        raise _failed(subject, graph, error) from None
    if snapshot(again) == done.new and (rebuilding or list(again) == list(done.graph)):
        return
    if rebuilding:
        same = subject.apply_quickly(graph.copy())
        if snapshot(same) == done.new:
            reason = f"{subject.name} gives another graph where nodes and edges were added in another order"
            raise Refuted(Counterexample(graph, done.graph, reason, claim=_ORDER), "order")
    reason = f"{subject.name} gave two different graphs for one"
    raise Refuted(Counterexample(graph, done.graph, reason, claim=DETERMINISTIC), "deterministic")


def rebuilt(graph: Any) -> Any:
    r"""Return an equal graph whose nodes and edges were added in the opposite order.

    Examples
    --------
    >>> g = Graph.parse("graph g\nx = input() : f32[N]\nr = relu(x)\ny = output(r)")
    >>> list(rebuilt(g)), rebuilt(g) == g
    (['y', 'r', 'x'], True)
    """
    new = graph.copy()
    nodes, edges = list(new._node.items()), list(new.edges(data=True))
    attributes = dict(new.graph)
    new.clear()
    new.graph.update(attributes)
    new.add_nodes_from(reversed(nodes))
    for source, destination, data in reversed(edges):
        new.add_edge(source, destination, **data)
    return new


def check_interface(subject: Subject, graph: Any, done: Applied) -> None:
    """Refute a result with other inputs, outputs or graph attributes."""
    made = done.graph
    for key, value in done.old["graph"].items():
        if key not in _FOLLOWING and (key not in made.graph or done.new["graph"][key] != value):
            became = f"became {made.graph[key]!r}" if key in made.graph else "is gone"
            reason = f"the graph's attribute {key!r} was {graph.graph[key]!r} and {became}"
            raise Refuted(Counterexample(graph, made, reason), f"attribute {key}")
    if not isinstance(graph, Graph):
        return
    if not isinstance(made, Graph):
        reason = f"{subject.name} gave a {type(made).__name__} for a Graph"
        raise Refuted(Counterexample(graph, made, reason, claim=INTERFACE), "class")
    old, new = interface(graph), interface(made)
    for kind, ports in old.items():
        if new[kind] != ports:
            reason = f"the {kind} were {_listed(ports)} and became {_listed(new[kind])}"
            raise Refuted(Counterexample(graph, made, reason, claim=INTERFACE), kind)


def _listed(ports: list[tuple[str, str]]) -> str:
    return ", ".join(f"{name}: {kind}" for name, kind in ports) or "none"
