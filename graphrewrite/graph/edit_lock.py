"""Locks on graphs that are rewritten in place: no second rewrite, no other edits, no copies in other threads."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from threading import get_ident
from typing import Any, NoReturn

import networkx as nx

from graphrewrite.errors import RewriteError

__all__ = ["check_readable", "claimed", "frozen", "without_lock"]

_OWNER = "_rewritten_by"
_EDITS = (
    *("add_node", "add_nodes_from", "remove_node", "remove_nodes_from", "clear", "clear_edges", "update"),
    *("add_edge", "add_edges_from", "add_weighted_edges_from", "remove_edge", "remove_edges_from"),
)
"""Methods that edit a graph."""


class _Owner:
    """The thread that rewrites a graph in place; copies and pickles of the graph have none."""

    def __init__(self) -> None:
        self.thread = get_ident()

    def __reduce__(self) -> Any:
        return type(None), ()


@contextmanager
def claimed(graph: nx.DiGraph) -> Iterator[None]:
    """Let nobody else rewrite a graph in place within a with-block.

    Raises
    ------
    RewriteError
        If a rewrite in place is under way, in another thread or in this one, by a rule's function or a watcher.
    """
    owner = _Owner()
    found = vars(graph).setdefault(_OWNER, owner)  # one step: of two threads, one finds the other
    if found is None:  # a copy that was made meanwhile
        vars(graph)[_OWNER] = owner
    elif found is not owner:
        raise _refusal("it cannot be rewritten in place again")
    try:
        yield
    finally:
        vars(graph).pop(_OWNER, None)


def check_readable(graph: Any) -> None:
    """Raise if another thread rewrites a graph in place."""
    owner = getattr(graph, _OWNER, None)
    if owner is not None and owner.thread != get_ident():
        raise _refusal("it cannot be read as a whole")


@contextmanager
def frozen(graph: nx.DiGraph) -> Iterator[None]:
    """Refuse edits of a graph by its methods within a with-block, in any thread, as `networkx.freeze` does."""
    state = vars(graph)
    own = {name: state[name] for name in _REFUSED.keys() & state.keys()}  # of a graph that somebody froze
    state.update(_REFUSED)
    try:
        yield
    finally:
        for name in _REFUSED:
            state.pop(name, None)
        state.update(own)


def without_lock(state: dict[str, Any]) -> dict[str, Any]:
    """Return the state of a copy or pickle of a graph, which anybody may edit though the graph itself was frozen."""
    return {name: value for name, value in state.items() if value is not _refuse}


def _refuse(*_: Any, **__: Any) -> NoReturn:
    raise _refusal("it cannot be edited by anything but the replacements of rules")


def _refusal(what: str) -> RewriteError:
    return RewriteError(
        f"the graph is being rewritten, and {what} until that has ended; rewrite a copy, which is the default "
        "(copy=True), and let threads that share a graph wait for each other"
    )


_REFUSED = dict.fromkeys(_EDITS, _refuse)
