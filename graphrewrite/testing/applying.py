"""Apply a transformation to a graph, and check the properties of the result that do not depend on values."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any

from graphrewrite.errors import GraphRewriteError, VerificationError
from graphrewrite.graph import Graph
from graphrewrite.graph.dataflow import PREDICATE
from graphrewrite.rewriting.verification import faults, verify
from graphrewrite.rewriting.verification.memory import programs_keep_what_is_read
from graphrewrite.testing.counterexample import Counterexample
from graphrewrite.testing.failure.claims import ARGUMENT, DETERMINISTIC, INTERFACE, SAME_ORDER, WELL_FORMED
from graphrewrite.testing.firing import firing_between
from graphrewrite.testing.snapshot import first_change, interface, snapshot
from graphrewrite.testing.subject import Outcome, Subject

__all__ = ["Applied", "Refuted", "applied", "check_interface", "check_repeatable", "rebuilt"]

_ABOUT_EDGES = frozenset({"slots_are_numbered", "operands_fit"})
"""Checks that fail if a node has lost an operand."""
_FOLLOWING = frozenset({"views"})
"""Graph attributes that name nodes, and change with them."""

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
"""The kind of a refutation by the values of a graph; after a comma follows a restriction."""


class Refuted(AssertionError):
    """Raised with a counterexample, to leave a search.

    Parameters
    ----------
    kind : str
        Kind of the failure; a smaller counterexample must be of the same kind.
    """

    def __init__(self, counterexample: Counterexample, kind: str = "") -> None:
        self.counterexample, self.kind = counterexample, kind
        self.inputs: dict[str, Any] | None = None
        """A batch that was looked for and shows it, where that is not the drawn one."""
        super().__init__(counterexample.reason)

    @property
    def is_error(self) -> bool:
        """Whether the transformation raised an error."""
        return self.kind.startswith("failed")

    @property
    def is_faint(self) -> bool:
        """Whether only signs of zeros, infinities or NaN differ."""
        return self.kind.startswith(f"{VALUES}, ")


@dataclass
class Applied(Outcome):
    """The result of applying a transformation to a graph, and whether it is another graph.

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
    """Apply a transformation to a graph, which must not change; the result must be well formed.

    Raises
    ------
    Refuted
        If it fails, does not end, changes its argument, or if after one of its steps the verifier finds a fault.
    """
    old = snapshot(graph)
    argument = graph.copy()
    try:
        outcome = subject.apply(argument)
    except Exception as error:  # rules and functions should raise no error at all
        raise _failed(subject, graph, error) from None
    result = outcome.graph
    left = snapshot(argument)
    if left != old or list(argument) != list(graph):
        reason = f"{subject.name} changed the graph that it was given: {first_change(old, left)} is not what it was"
        raise Refuted(Counterexample(graph, argument, reason, claim=ARGUMENT), "argument")
    new = snapshot(result)
    changed = bool(outcome.fired) or new != old
    if new != old and not outcome.firings and len(subject.names) == 1:  # of a pass that does not tell what it changed
        outcome.fired[subject.names[0]] += 1
        outcome.firings.append(firing_between(graph, result, subject.names[0]))
    if changed and (subject.is_deaf or not outcome.fired):
        _check_form(subject, graph, result)
    return Applied(result, outcome.fired, outcome.declined, outcome.firings, changed, old, new)


def _failed(subject: Subject, graph: Any, error: Exception) -> Refuted:
    message = str(error) if isinstance(error, GraphRewriteError) else f"{type(error).__name__}: {error}"
    reason, kind = f"{subject.name} failed: {message}", f"failed {type(error).__name__}"
    if isinstance(error, VerificationError):
        lost = [fault for fault in error.faults if fault.check in _ABOUT_EDGES]
        form = (
            message
            if " left a graph" in message
            else f"{subject.name} gives a graph that is not well formed:\n{message}"
        )
        reason = f"{subject.name} leaves an edge dangling: {lost[0]}" if lost else form
        kind = "dangling" if lost else "not well formed"
    elif _is_refused_write(error):
        reason = f"{subject.name} writes into an array of the graph that it was given: {message}"
    return Refuted(Counterexample(graph, None, reason, claim=WELL_FORMED), kind)


def _is_refused_write(error: Exception) -> bool:
    """Tell whether numpy refused to write into an array, here or where an error came from."""
    return "read-only" in str(error) and "ValueError" in f"{type(error).__name__} {error}"


def _check_form(subject: Subject, graph: Any, result: Any) -> None:
    """Refute a result that the verifier refuses."""
    if not isinstance(result, Graph):
        return
    try:
        verify(result)
    except VerificationError as error:
        if faults(graph) and all(each.check == programs_keep_what_is_read.name for each in error.faults):
            return  # a program that was not sound before
        refuted = _failed(subject, graph, error)
        raise Refuted(replace(refuted.counterexample, after=result), refuted.kind) from None


def check_repeatable(subject: Subject, graph: Any, done: Applied, *, rebuilding: bool) -> None:
    """Refute a transformation with different results for one graph, or for the graph built in another order.

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
    # Twice: of two forms in turn, the first one is the same.
    if rebuilding and all(snapshot(subject.apply_quickly(graph.copy())) == done.new for _ in range(2)):
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
    """Refute a result with other inputs, outputs or graph attributes, or without the order of its control edges."""
    result = done.graph
    for key, value in done.old["graph"].items():
        if key not in _FOLLOWING and (key not in result.graph or done.new["graph"][key] != value):
            became = f"became {result.graph[key]!r}" if key in result.graph else "is gone"
            reason = f"the graph's attribute {key!r} was {graph.graph[key]!r} and {became}"
            raise Refuted(Counterexample(graph, result, reason), f"attribute {key}")
    if not isinstance(graph, Graph):
        return
    if not isinstance(result, Graph):
        reason = f"{subject.name} gave a {type(result).__name__} for a Graph"
        raise Refuted(Counterexample(graph, result, reason, claim=INTERFACE), "class")
    old, new = interface(graph), interface(result, graph)
    for kind, ports in old.items():
        if new[kind] != ports:
            reason = f"the {kind} were {_listed(ports)} and became {_listed(new[kind])}"
            raise Refuted(Counterexample(graph, result, reason, claim=INTERFACE), kind)
    constants = {node for node, data in graph.nodes(data=True) if data.get("type") == "constant"}
    for first, second, edge in graph.edges(data=True):
        # Of memory that is overwritten, the verifier says what has to come later.
        is_order = edge.get("kind", PREDICATE) not in (PREDICATE, "overwrite") and constants.isdisjoint((first, second))
        if is_order and first in result and second in result and second not in result.downstream(first):
            reason = f"{second!r} came after {first!r} by a control edge, and need not any more"
            raise Refuted(Counterexample(graph, result, reason, claim=SAME_ORDER), "control")


def _listed(ports: list[tuple[str, str]]) -> str:
    return ", ".join(f"{name}: {kind}" for name, kind in ports) or "none"
