"""The entry of the engine: apply rules until none matches, at a cost in proportion to the number of rewrites."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import nullcontext
from functools import partial
from typing import Any, Protocol, TypeVar

import networkx as nx

from graphrewrite.errors import GraphRewriteError, RewriteError, RuleError
from graphrewrite.graph import Graph
from graphrewrite.graph.arguments import check_digraph
from graphrewrite.graph.edit_lock import claimed
from graphrewrite.hierarchy.graph_ops import check_nesting, nested_once
from graphrewrite.hierarchy.membership import rebind
from graphrewrite.hierarchy.module import Module
from graphrewrite.hierarchy.region_tracking import RegionTracking, tracking_regions
from graphrewrite.rewriting.engine.attempt import Change
from graphrewrite.rewriting.engine.bodies import BodyRewriting
from graphrewrite.rewriting.engine.engine import Engine
from graphrewrite.rewriting.engine.journal import Journal
from graphrewrite.rewriting.engine.members import GraphRewriting, PatternRule, Rules, is_pass, members_of
from graphrewrite.rewriting.engine.strategy import Strategy
from graphrewrite.rewriting.fused import Record
from graphrewrite.rewriting.verification import Checks
from graphrewrite.runtime.gc_pause import gc_paused
from graphrewrite.runtime.interrupts import deferred_interrupts

__all__ = ["GraphRewriting", "Rules", "Watcher", "rewrite"]

G = TypeVar("G", bound=nx.DiGraph | Module)


class Watcher(Protocol):
    """Observer of every step of a rewrite; `graphrewrite.trace` is one."""

    def tried(self, member: Any, node: Any, outcome: Any) -> None:
        """Note that a rule was tried at a node; the outcome is None for no match, else `Declined` or an edit."""

    def rewritten(self, graph: Any, member: Any, change: Change | Record) -> None:
        """Look at the graph just after a step; match and edit of the change are computed on access."""

    def passing(self, graph: Graph) -> None:
        """Look at the graph just before a pass runs."""

    def passed(self, graph: Graph, name: str, removed: list[str]) -> None:
        """Look at the graph just after a pass changed it."""


def rewrite(
    graph: G,
    rules: Rules,
    *,
    at: Any = None,
    once: bool = False,
    order: str = "bottom-up",
    first: str = "place",
    measure: Callable[[dict[str, Any]], float] | None = None,
    copy: bool = True,
    verify: bool | Checks = False,
    limit: int | None = None,
    watcher: Watcher | None = None,
) -> G:
    r"""Return the graph with rules applied until none matches; the argument is untouched unless ``copy`` is false.

    Rules come first, at each node in the order of the set; then each pass runs once; and again, until nothing changes.

    Parameters
    ----------
    graph : Graph, networkx.DiGraph or Module
        Any graph; the result is of its class. Graphs that are attributes of its nodes are rewritten as well, unless
        `at` is given. Of a module, every graph is rewritten, those included that a rule brings along as graph ops.
    rules : iterable of Rule and Pass
        A rule set.
    at : node, list of nodes, GraphView or Operator, optional
        Apply rules there only, and at each of them once. In a view, or at the nodes of an operator, apply them until
        none matches that replaces nodes of it only; what replaces these belongs to it. Passes look at the whole graph,
        and are left out then.
    once : bool
        Whether to visit each node of the graph once instead of coming back to nodes where a step enabled a match.
    order : {"bottom-up", "top-down"}
        From operands to readers, or from outputs to operands.
    first : {"place", "rule"}
        Whether the first node counts, where the first rule that matches is applied; or the first rule, at the first
        node where it matches: rules are then priorities.
    measure : callable, optional
        From a node's data to a number. A rewrite whose new nodes do not sum up to less than the removed ones is
        declined, so that two rules which undo each other come to an end.
    copy : bool
        Whether to edit a copy. If false, the graph itself is edited and returned, which saves the time and the memory
        of the copy; if anything fails or somebody interrupts it (Ctrl-C, or the button of a notebook), all is
        undone, unless it was done already. Passes need a copy.
    verify : bool or iterable of Check and Rule
        Whether to check the whole graph after every step; and by which checks, where not by `verify.CHECKS`.
    limit : int, optional
        Steps after which a rule set counts as endless, or graphs that it adds to a module; a multiple of the size of
        the graph, or of the module, where not given.
    watcher : Watcher, optional
        Follows every step.

    Raises
    ------
    RewriteError
        If the rule set does not end, or a rule would corrupt the graph.
    RuleError
        If two rules have one name, or a rule fails.

    Examples
    --------
    >>> from graphrewrite import op
    >>> from graphrewrite import rule
    >>> @rule
    ... def drop_identity(x):
    ...     "The identity is its operand."
    ...     yield op.identity(x)
    ...     return x
    >>> g = Graph.parse("graph g\nx = input() : f32[N]\ni = identity(x)\nj = identity(i)\ny = output(j)")
    >>> print(rewrite(g, [drop_identity]))
    graph g
    x = input() : f32[N]
    y = output(x)
    >>> print(rewrite(g, [drop_identity], at="i"))
    graph g
    x = input() : f32[N]
    j = identity(x) : f32[N]
    y = output(j)
    """
    if isinstance(graph, Module):
        if at is not None or not copy:
            raise RuleError("a module is rewritten as a whole and into a new one; rewrite one of its graphs instead")
        members = members_of(rules)
        options: dict[str, Any] = {"once": once, "order": order, "first": first, "measure": measure}
        options.update(verify=verify, limit=limit, watcher=watcher)
        rewrite_graph = partial(rewrite, rules=members, **options)
        return _rewrite_graphs(graph, rewrite_graph, limit)  # type: ignore[return-value]
    # ---- check the arguments
    check_digraph(graph, "that can be rewritten")
    strategy = Strategy.of(graph, at, once=once, order=order, first=first, measure=measure)
    members = members_of(rules)
    own: list[Any] = [m for m in members if not is_pass(m)]
    passes: list[Any] = [m for m in members if is_pass(m)]
    if strategy.region is not None:
        passes = []
    if passes and not copy:
        raise RuleError(
            f"{passes[0].name!r} is a pass, which cannot be undone; rewrite with copy=True, or leave it out"
        )
    strategy.check(graph, own, limit)
    most = 1000 + 100 * len(graph) if limit is None else limit
    options = {"verify": verify, "limit": most}
    # ---- edit a copy, or the graph itself with a journal to undo it by
    # Rules made of ops, and passes, need a `Graph`: a plain digraph becomes one, and its own class again at the end.
    foreign = not isinstance(graph, Graph) and any(isinstance(m, PatternRule) or m in passes for m in members)
    journal = None
    with nullcontext() if copy else deferred_interrupts() as interrupts, nullcontext() if copy else claimed(graph):
        try:
            with gc_paused():
                edited: Any = Graph(graph) if foreign else graph.copy() if copy else graph
                journal = Journal(graph) if not copy and not foreign else None
                names = graph._node if journal is None else journal.names
                options["watcher"] = follower = tracking_regions(edited, watcher)
                options.update(names=names, journal=journal, interrupts=None if journal is None else interrupts)
                if isinstance(edited, Graph) and at is None:
                    again: dict[str, Any] = {"once": once, "order": order, "first": first, "measure": measure}
                    again.update(verify=verify, limit=limit)
                    options["bodies"] = BodyRewriting(lambda body: rewrite(body, members, **again), journal)
                with nullcontext() if edited is graph else claimed(edited):
                    Engine(edited, own, passes, strategy, **options).run()
                if isinstance(follower, RegionTracking):
                    follower.settle()
            if interrupts is not None and foreign:
                interrupts.deliver()  # the last moment at which the argument is untouched
        except BaseException:
            if interrupts is not None:
                interrupts.is_interruptible = False  # nothing may stop the undoing
            if journal is not None:
                journal.undo()
            raise
        if foreign:
            return _like(graph, edited, copy)  # type: ignore[no-any-return]  # of the class that came in
        return edited  # type: ignore[no-any-return]  # of the class that came in


def _rewrite_graphs(module: Module, rewrite_graph: Callable[[Graph], Graph], limit: int | None) -> Module:
    """Return a module with every graph rewritten, those that rules add included."""
    new = module.copy()
    done: set[str] = set()
    most = 1000 + 100 * len(module) if limit is None else len(module) + limit
    # Rules may add graph ops, whose graphs join the module and are rewritten in turn.
    while left := [name for name in new if name not in done]:
        if len(new) > most:
            raise RewriteError(f"the rules do not end: there are more than {most} graphs, and each adds another")
        for name in left:
            done.add(name)
            try:
                with nested_once():  # the graphs that are nested in this one stay as they are
                    rewritten = rewrite_graph(new[name])
                rebind(rewritten, new, of=module)
                new[name] = rewritten
            except GraphRewriteError as error:
                error.add_note(f"in the graph {name!r} of the module {module.name!r}")
                raise
    # A graph that contains itself can be noticed only when all of them are there.
    with nested_once():
        for graph in new.values():
            check_nesting(graph)
    return new


def _like(original: Any, edited: Graph, copy: bool) -> Any:
    """Return a graph of the class of the original, or the original itself, with the edited nodes and edges."""
    result = original.__class__(**edited.graph) if copy else original
    if not copy:
        result.remove_nodes_from(list(result))
        result.graph.update(edited.graph)  # with its views, which have been updated
    result.add_nodes_from(edited.nodes(data=True))
    result.add_edges_from(edited.edges(data=True))
    return result
