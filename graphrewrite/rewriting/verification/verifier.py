"""Find what is wrong with a graph or a module, and name it."""

from __future__ import annotations

import inspect
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from graphrewrite.errors import GraphRewriteError, RewriteError, RuleError, VerificationError
from graphrewrite.graph import Graph
from graphrewrite.graph.arguments import as_graph
from graphrewrite.rewriting.engine.members import GraphRewriting, Member, PatternRule
from graphrewrite.rewriting.rule.replacement import Declined
from graphrewrite.rewriting.verification.checks import Check, Fault
from graphrewrite.rewriting.verification.reading import reading_once
from graphrewrite.rewriting.verification.table import CHECKS

__all__ = ["Checks", "Table", "faults", "verify"]

Checks = Iterable[Check | Member]
"""A table of checks; a rule is one that every match breaks."""


def verify(graph: Any, checks: Checks = CHECKS) -> None:
    r"""Raise unless a graph, or every graph of a module, is well formed.

    Parameters
    ----------
    graph : Graph, networkx.DiGraph or Module
        Anything that has nodes with types, or named graphs of them.
    checks : iterable of Check and Rule
        What must hold. A rule among them is broken wherever it matches.

    Raises
    ------
    VerificationError
        Naming every fault with its node; its ``faults`` are the same as data.

    Examples
    --------
    >>> g = Graph.parse("graph g\nx = input() : f32[N,2]\nr = relu(x)\ny = output(r)")
    >>> verify(g)
    >>> del g.edges["x", "r"]["slots"]
    >>> verify(g)
    Traceback (most recent call last):
    ...
    graphrewrite.errors.VerificationError: node 'r': the slots of its operands are missing or collide: ...
    """
    Table(checks).verify(graph)


def faults(graph: Any, checks: Checks = CHECKS) -> tuple[Fault, ...]:
    r"""Return what is wrong with a graph, or with the graphs of a module, in the order of nodes and then of checks.

    Parameters
    ----------
    graph : Graph, networkx.DiGraph or Module
        Anything that has nodes with types, or named graphs of them.
    checks : iterable of Check and Rule
        What must hold.

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
    return Table(checks).faults(graph)


class Table:
    """Checks, by what they look at.

    Examples
    --------
    >>> from graphrewrite.rewriting.verification import CHECKS
    >>> Table(CHECKS).faults(Graph("empty"))
    ()
    """

    def __init__(self, checks: Checks) -> None:
        if not isinstance(checks, Iterable):
            raise RuleError(f"{checks!r} is no table of checks; write (*CHECKS, mine), or [mine] for it alone")
        members = tuple(checks)
        for member in members:
            if not isinstance(member, Check | PatternRule | GraphRewriting):
                raise RuleError(f"{member!r} is neither a check nor a rule; decorate it with @check")
        own = [m for m in members if isinstance(m, Check)]
        self.rules = [m for m in members if not isinstance(m, Check)]
        self.nodes = [c for c in own if c.scope == "node"]
        self.graphs = [c for c in own if c.scope == "graph"]
        self.modules = [c for c in own if c.scope == "module"]
        self.by_type: dict[Any, list[Check]] = {}

    def verify(self, graph: Any, *, after: str | None = None) -> None:
        """Raise unless a graph fulfils all of them."""
        found = self.faults(graph)
        if found:
            blamed = "" if after is None else f"{after} left a graph that is not well formed:\n"
            raise VerificationError(blamed + "\n".join(map(str, found)), faults=found)

    def faults(self, graph: Any) -> tuple[Fault, ...]:
        """Return what is wrong with a graph or a module."""
        if not isinstance(graph, Mapping):
            return tuple(self.faults_of(graph))
        inside = [replace(f, graph=name) for name, member in graph.items() for f in self.faults_of(member)]
        return (*inside, *self.module_faults(graph))

    def faults_of(self, given: Any) -> list[Fault]:
        """Return the faults of one graph."""
        graph = as_graph(given, "that can be verified")
        found: list[Fault] = []
        with reading_once(graph):
            for node, data in graph._node.items():
                kind = data.get("type")
                for check in self.for_type(kind if isinstance(kind, str) else None):
                    said = _said(check, (graph, node), found, node)
                    if said:
                        found += [Fault(check.name, node, message) for message in said]
            for check in self.graphs:
                for said in _said(check, (graph,), found):
                    node, message = said if isinstance(said, tuple) else (None, said)
                    found.append(Fault(check.name, node, message))
        for rule in self.rules:
            found += _matches(rule, graph, found)
        return found

    def module_faults(self, module: Any) -> list[Fault]:
        """Return the faults of a module apart from its graphs."""
        found: list[Fault] = []
        for check in self.modules:
            for said in _said(check, (module,), found):
                *where, message = said if isinstance(said, tuple) else (said,)
                name, node = (*where, None, None)[:2]
                found.append(Fault(check.name, node, message, name))
        return found

    def for_type(self, kind: str | None) -> list[Check]:
        """Return the checks that look at nodes of a type."""
        found = self.by_type.get(kind)
        if found is None:
            found = self.by_type[kind] = [c for c in self.nodes if c.types is None or kind in c.types]
        return found


def _said(check: Check, subject: tuple[Any, ...], found: list[Fault], node: Any = None) -> Sequence[Any]:
    """Return what a check says. One that stumbles over what other checks have found says nothing."""
    try:
        said = check.function(*subject)
        if not said:
            return ()
        return (said,) if isinstance(said, str) else list(said)
    except GraphRewriteError as error:
        is_known = found and (node is None or found[-1].node == node)
        return [] if is_known else [str(error).removeprefix(f"node {node!r}: ")]
    except Exception as error:
        file, line = inspect.getsourcefile(check.function), check.function.__code__.co_firstlineno
        place = "" if node is None else f" at {node!r}"
        raise RuleError(
            f"check {check.name!r} ({file}:{line}): fails{place}: {type(error).__name__}: {error}"
        ) from error


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
        if not found:  # else it stumbled over what other checks have found
            yield Fault(rule.name, error.node, str(error).removeprefix(f"node {error.node!r}: "))
    except Exception as error:
        if not found:
            raise RuleError(f"rule {rule.name!r} fails: {type(error).__name__}: {error}") from error


def _declines(rule: Any, graph: Graph, match: Any) -> bool:
    try:
        return isinstance(rule.edit(graph, match), Declined)
    except RewriteError:
        return False  # it matches, even if what it would put there could not stand
