"""The engine: apply rules until none matches, at a cost that follows the number of rewrites."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import nullcontext
from typing import Any, Protocol, TypeVar, runtime_checkable

import networkx as nx

from graphrewrite.attempt import Change
from graphrewrite.edit import Edit
from graphrewrite.engine import Engine
from graphrewrite.errors import RuleError
from graphrewrite.following import Following, followed
from graphrewrite.fused import Record
from graphrewrite.garbage import uncollected
from graphrewrite.given import check_digraph
from graphrewrite.graph import Graph
from graphrewrite.interruption import held
from graphrewrite.journal import Journal
from graphrewrite.module import Module
from graphrewrite.module_rewriting import rewrite_graphs
from graphrewrite.place import located
from graphrewrite.replacement import Declined
from graphrewrite.rule import Rule
from graphrewrite.strategy import Strategy
from graphrewrite.verify import Checks

__all__ = ["GraphRewriting", "Member", "Rules", "Watcher", "WholeGraph", "rewrite"]

G = TypeVar("G", bound=nx.DiGraph | Module)


@runtime_checkable
class WholeGraph(Protocol):
    """A member of a rule set that works on whole graphs, such as a `graphrewrite.passes.Pass`."""

    @property
    def name(self) -> str:
        """What it is called in messages and traces."""

    def apply_in_place(self, graph: Graph) -> list[str]:
        """Change a graph; return the names of the nodes that went."""


@runtime_checkable
class GraphRewriting(Protocol):
    """A member of a rule set that is no `Rule` but finds places and plans edits, such as a rule made of two graphs."""

    name: str
    file: str
    line: int

    @property
    def kinds(self) -> frozenset[str] | None:
        """Types of the node at which a match is found; None for any."""

    @property
    def radius(self) -> int | None:
        """How far from there, along edges in either direction, a node can be that decides; None for anywhere."""

    def matches_at(self, graph: Any, node: Any, obstacle: Any = None) -> Iterator[Any]:
        """Yield the matches that are found at a node."""

    def edit(self, graph: Any, match: Any) -> Edit | Declined:
        """Plan the rewrite of a match."""

    def enabled_by(self, graph: Any, edit: Edit) -> Iterable[Any]:
        """Return the nodes at which an edit that was carried out may have enabled a match."""


class Watcher(Protocol):
    """Is told of every step of a rewrite; `graphrewrite.trace.trace` is one."""

    def tried(self, member: Any, node: Any, outcome: Any) -> None:
        """Learn that a rule was tried at a node: nothing was found, or it declined, or what was planned."""

    def rewritten(self, graph: Any, member: Any, change: Change | Record) -> None:
        """Look at the graph just after a match was rewritten; match and edit of the change are made when asked for."""

    def passing(self, graph: Graph) -> None:
        """Look at the graph just before a pass runs."""

    def passed(self, graph: Graph, name: str, removed: list[str]) -> None:
        """Look at the graph just after a pass changed it."""


Member = Rule | GraphRewriting
Rules = Iterable[Rule | GraphRewriting | WholeGraph] | Rule | GraphRewriting | WholeGraph
"""A rule set: rules and passes; or one of them."""


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

    Rules come first, at each place in the order of the set; then each pass runs once; and again, until nothing changes.

    Parameters
    ----------
    graph : Graph, networkx.DiGraph or Module
        Any graph; what comes out is of its class. Of a module, every graph is rewritten, those included that a rule
        brings along as graph ops.
    rules : iterable of Rule and Pass
        A rule set.
    at : node or list of nodes, optional
        Apply rules there only, and at each of them once.
    once : bool
        Whether to visit each node of the graph once instead of coming back to what has become possible.
    order : {"bottom-up", "top-down"}
        From operands to readers, or from outputs to operands.
    first : {"place", "rule"}
        Whether the first place counts, where the first rule that matches is applied; or the first rule, at the first
        place where it matches: rules are then priorities.
    measure : callable, optional
        From a node's data to a number. A rewrite whose new nodes do not sum up to less than those that go is declined,
        so that two rules which undo each other come to an end.
    copy : bool
        Whether to edit a copy. If false, the graph itself is edited and returned, which saves the time and the memory
        of the copy; if anything fails or somebody interrupts it (Ctrl-C, or the button of a notebook), all is taken
        back, unless it was done already. Passes need a copy.
    verify : bool or iterable of Check and Rule
        Whether to check the whole graph after every step; and by which checks, where not by `verify.CHECKS`.
    limit : int, optional
        Steps after which a rule set counts as endless; a multiple of the graph's size where not given.
    watcher : Watcher, optional
        Is told of every step.

    Returns
    -------
    Graph, networkx.DiGraph or Module

    Raises
    ------
    RewriteError
        If the rule set does not end, or a rule would corrupt the graph.
    RuleError
        If two rules have one name, or a rule fails.

    Examples
    --------
    >>> from graphrewrite import op
    >>> from graphrewrite.rule import rule
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
        members = _checked(rules)
        options: dict[str, Any] = {"once": once, "order": order, "first": first, "measure": measure}
        options.update(verify=verify, limit=limit, watcher=watcher)
        return rewrite_graphs(graph, lambda each: rewrite(each, members, **options))  # type: ignore[return-value]
    check_digraph(graph, "that can be rewritten")
    strategy = Strategy(at=at, once=once, order=order, first=first, measure=measure)
    members = _checked(rules)
    own: list[Any] = [m for m in members if isinstance(m, Rule | GraphRewriting)]
    passes: list[Any] = [m for m in members if not isinstance(m, Rule | GraphRewriting)]
    if passes and not copy:
        raise RuleError(
            f"{passes[0].name!r} is a pass, which cannot be taken back; rewrite with copy=True, or leave it out"
        )
    strategy.check(graph, own, limit)
    most = 1000 + 100 * len(graph) if limit is None else limit
    options = {"verify": verify, "limit": most}
    foreign = not isinstance(graph, Graph) and any(isinstance(m, Rule) or m in passes for m in members)
    journal = None
    with nullcontext() if copy else held() as hold:
        try:
            with uncollected():
                edited: Any = Graph(graph) if foreign else graph.copy() if copy else graph
                journal = Journal(graph) if not copy and not foreign else None
                names = graph._node if journal is None else journal.names
                options["watcher"] = follower = followed(edited, watcher)
                options.update(names=names, journal=journal, held=None if journal is None else hold)
                Engine(edited, own, passes, strategy, **options).run()
                if isinstance(follower, Following):
                    follower.settle()
            if hold is not None and foreign:
                hold.come()  # as yet, what was given is untouched
        except BaseException:
            if hold is not None:
                hold.is_open = False
            if journal is not None:
                journal.take_back()
            raise
        if foreign:
            return _like(graph, edited, copy)  # type: ignore[no-any-return]  # of the class that came in
        return edited  # type: ignore[no-any-return]  # of the class that came in


def _like(given: Any, edited: Graph, copy: bool) -> Any:
    """Return a graph of the class of the one that was given, or that one itself, with other nodes and edges."""
    made = given.__class__(**edited.graph) if copy else given
    if not copy:
        made.remove_nodes_from(list(made))
        made.graph.update(edited.graph)  # views have followed
    made.add_nodes_from(edited.nodes(data=True))
    made.add_edges_from(edited.edges(data=True))
    return made


def _checked(rules: Rules) -> list[Any]:
    """Return the members of a rule set, each once; one rule is a set of its own."""
    members: dict[int, Any] = {}
    names: dict[str, Any] = {}
    for member in rules if isinstance(rules, Iterable) else (rules,):
        if hasattr(member, "phases"):
            raise RuleError(f"{member!r} is a pipeline; call it on the graph")
        if not isinstance(member, Rule | WholeGraph | GraphRewriting):
            raise RuleError(f"{member!r} is neither a rule nor a pass; decorate it with @rule")
        members[id(member)] = member
        other = names.setdefault(member.name, member)
        if other is not member:
            place = ", ".join(located(m.file, m.line) for m in (other, member) if isinstance(m, Rule | GraphRewriting))
            raise RuleError(f"two rules of the set are called {member.name!r} ({place}); rename one, or leave one out")
    return list(members.values())
