"""Apply checks to a graph or a module, and report the faults."""

from __future__ import annotations

import inspect
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from typing import Any

from graphrewrite.errors import GraphRewriteError, RewriteError, RuleError, VerificationError
from graphrewrite.graph import Graph
from graphrewrite.graph.arguments import as_graph
from graphrewrite.hierarchy.graph_ops import nested_once
from graphrewrite.hierarchy.implementations import Library
from graphrewrite.rewriting.engine.members import GraphRewriting, Member, PatternRule
from graphrewrite.rewriting.rule.outcome import Declined
from graphrewrite.rewriting.verification.checks import Check, Fault
from graphrewrite.rewriting.verification.fields import Views, check_views, field_faults
from graphrewrite.rewriting.verification.modules import implementations_are_there, misfits
from graphrewrite.rewriting.verification.reading import reading_once
from graphrewrite.rewriting.verification.table import CHECKS

__all__ = ["Checks", "Table", "faults", "verify"]

Checks = Iterable[Check | Member]
"""A table of checks; a rule is one that fails at every match."""


def verify(
    graph: Any, checks: Checks = CHECKS, *, nodes: Views | None = None, implementations: Library | None = None
) -> None:
    r"""Raise unless a graph, or every graph of a module, is well formed.

    Parameters
    ----------
    graph : Graph, networkx.DiGraph or Module
        Anything that has nodes with types, or named graphs of them.
    checks : iterable of Check and Rule
        The requirements. A rule among them fails wherever it matches.
    nodes : view class or mapping of str to view class, optional
        Of all nodes but inputs, outputs and constants, or of each node that is named: classes of `graphrewrite.Node` or
        `graphrewrite.IrData`, whose required fields must be there, and all fields of the types that they declare.
    implementations : mapping of str to Graph, Op or Component, optional
        Where names that nodes have in their annotation ``implementation`` are looked up first, then in the module of
        the graph. Of a graph of no module they are checked only where this is given.

    Raises
    ------
    VerificationError
        With a message for every fault and its node; its ``faults`` are the same as data.

    Examples
    --------
    >>> g = Graph.parse("graph g\nx = input() : f32[N,2]\nr = relu(x)\ny = output(r)")
    >>> verify(g)
    >>> del g.edges["x", "r"]["slots"]
    >>> verify(g)
    Traceback (most recent call last):
    ...
    graphrewrite.errors.VerificationError: node 'r': the slots of its operands are missing or collide: ...

    A pass that gives its nodes a latency says so in one place:

    >>> from graphrewrite.graph.node import Node
    >>> class Timed(Node):
    ...     latency: int
    >>> g = Graph.parse("graph g\nx = input() : f32[N,2]\nr = relu(x)\ny = output(r)")
    >>> g.node("r", Timed).latency = 3
    >>> verify(g, nodes=Timed)
    >>> g.nodes["r"]["latency"] = "three"
    >>> verify(g, nodes=Timed)
    Traceback (most recent call last):
    ...
    graphrewrite.errors.VerificationError: node 'r': latency: expected int, got str 'three'
    """
    Table(checks, nodes, implementations).verify(graph)


def faults(graph: Any, checks: Checks = CHECKS, *, nodes: Views | None = None) -> tuple[Fault, ...]:
    r"""Return the faults of a graph, or of the graphs of a module, in the order of nodes and then of checks.

    Parameters
    ----------
    graph : Graph, networkx.DiGraph or Module
        Anything that has nodes with types, or named graphs of them.
    checks : iterable of Check and Rule
        The requirements.
    nodes : view class or mapping of str to view class, optional
        As for `verify`.

    Raises
    ------
    GraphError
        If it is no graph.
    RuleError
        If a member of the table is no check, or fails.

    Examples
    --------
    >>> g = Graph.parse("graph g\nx = input() : f32[N,2]\nr = relu(x)\ny = output(r)")
    >>> g.nodes["r"].update(type="rellu", alpha=1)
    >>> [(fault.check, fault.node) for fault in faults(g)]
    [('ops_are_known', 'r')]
    """
    return Table(checks, nodes).faults(graph)


class Table:
    """Checks, by their scope.

    Examples
    --------
    >>> from graphrewrite.rewriting.verification import CHECKS
    >>> Table(CHECKS).faults(Graph("empty"))
    ()
    """

    def __init__(self, checks: Checks, views: Views | None = None, implementations: Library | None = None) -> None:
        if not isinstance(checks, Iterable):
            raise RuleError(f"{checks!r} is no table of checks; write (*CHECKS, mine), or [mine] for it alone")
        members = tuple(checks)
        for member in members:
            if not isinstance(member, Check | PatternRule | GraphRewriting):
                raise RuleError(f"{member!r} is neither a check nor a rule; decorate it with @check")
        own = [m for m in members if isinstance(m, Check)]
        if implementations is not None:
            given = replace(implementations_are_there, function=lambda graph: misfits(graph, implementations))
            own = [given if m is implementations_are_there else m for m in own]
        self.rules = [m for m in members if not isinstance(m, Check)]
        self.nodes = [c for c in own if c.scope == "node"]
        self.graphs = [c for c in own if c.scope == "graph"]
        self.modules = [c for c in own if c.scope == "module"]
        self.by_type: dict[Any, list[Check]] = {}
        if views is not None:
            check_views(views)
        self.views = views

    def verify(self, graph: Any, *, after: str | None = None) -> None:
        """Raise unless a graph fulfils all of them."""
        faults = self.faults(graph)
        if faults:
            blamed = "" if after is None else f"{after} left a graph that is not well formed:\n"
            raise VerificationError(blamed + "\n".join(map(str, faults)), faults=faults)

    def faults(self, graph: Any) -> tuple[Fault, ...]:
        """Return the faults of a graph or a module."""
        with nested_once():
            if not isinstance(graph, Mapping):
                return tuple(self.faults_of(graph))
            inside = [replace(f, graph=name) for name, member in graph.items() for f in self.faults_of(member)]
        return (*inside, *self.module_faults(graph))

    def faults_of(self, argument: Any) -> list[Fault]:
        """Return the faults of one graph."""
        graph = as_graph(argument, "that can be verified")
        faults: list[Fault] = []
        with reading_once(graph):
            for node, data in graph._node.items():
                kind = data.get("type")
                _examine(self.for_type(kind if isinstance(kind, str) else None), (graph, node), faults)
            _examine(self.graphs, (graph,), faults)
        if self.views is not None:
            faults += field_faults(graph, self.views)
        # Rules come last: on a malformed graph, matching may fail.
        for rule in self.rules:
            faults += _matches(rule, graph, faults)
        return faults

    def module_faults(self, module: Any) -> list[Fault]:
        """Return the faults of a module apart from its graphs."""
        faults: list[Fault] = []
        _examine(self.modules, (module,), faults)
        return faults

    def for_type(self, kind: str | None) -> list[Check]:
        """Return the checks of nodes of a type."""
        if kind not in self.by_type:
            self.by_type[kind] = [c for c in self.nodes if c.types is None or kind in c.types]
        return self.by_type[kind]


def _examine(checks: Iterable[Check], subject: tuple[Any, ...], faults: list[Fault]) -> None:
    """Append the faults that checks of one scope find in their subject: a graph and a node of it, a graph, or a module.

    A check that fails because of faults that other checks have found says nothing.
    """
    for check in checks:
        try:
            messages = check.function(*subject)
            if messages:
                faults += [_fault(check, subject, m) for m in ((messages,) if isinstance(messages, str) else messages)]
        except GraphRewriteError as error:
            node = subject[-1] if check.scope == "node" else None
            # A graph that is broken elsewhere may make any function fail: that is no second fault.
            if not faults or (node is not None and faults[-1].node != node):
                faults.append(_fault(check, subject, str(error).removeprefix(f"node {node!r}: ")))
        except Exception as error:
            file, line = inspect.getsourcefile(check.function), check.function.__code__.co_firstlineno
            at = f" at {subject[-1]!r}" if check.scope == "node" else ""
            reason = f"{type(error).__name__}: {error}"
            raise RuleError(f"check {check.name!r} ({file}:{line}): fails{at}: {reason}") from error


def _fault(check: Check, subject: tuple[Any, ...], entry: Any) -> Fault:
    """Return the fault that an entry stands for: a message, after the graph or the node where the subject has many."""
    *names, message = entry if isinstance(entry, tuple) else (entry,)
    if check.scope == "module":
        graph, node = (*names, None, None)[:2]
        return Fault(check.name, node, message, graph)
    return Fault(check.name, subject[-1] if check.scope == "node" else next(iter(names), None), message)


def _matches(rule: Any, graph: Graph, found: list[Fault]) -> Iterator[Fault]:
    """Yield a fault for every match of a rule that the rule does not decline."""
    kinds = rule.definition.root_kinds if isinstance(rule, PatternRule) else rule.kinds
    reason = f"{rule.name} matches here, which it must not"
    if isinstance(rule, PatternRule) and rule.__doc__:
        reason += f": {inspect.cleandoc(rule.__doc__).splitlines()[0]}"
    try:
        for node, data in list(graph._node.items()):
            kind = data.get("type")
            if kinds is not None and (not isinstance(kind, str) or kind not in kinds):
                continue
            for match in rule.matches_at(graph, node):
                if not _declines(rule, graph, match):
                    yield Fault(rule.name, node, reason)
    except RuleError:
        raise
    except GraphRewriteError as error:
        if not found:  # else a fault that other checks have found may be the reason
            yield Fault(rule.name, error.node, str(error).removeprefix(f"node {error.node!r}: "))
    except Exception as error:
        if not found:
            raise RuleError(f"rule {rule.name!r} fails: {type(error).__name__}: {error}") from error


def _declines(rule: Any, graph: Graph, match: Any) -> bool:
    try:
        return isinstance(rule.edit(graph, match), Declined)
    except RewriteError:
        return False  # it matches, even if its replacement would corrupt the graph
