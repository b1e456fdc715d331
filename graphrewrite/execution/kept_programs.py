"""Programs that graphs keep from one evaluation to the next, as long as nothing in the graph changes."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from typing import Any
from weakref import ref

import networkx as nx
import numpy as np

from graphrewrite.execution.implementation import Implementations, check_implementations
from graphrewrite.execution.program import Program, compile_graph
from graphrewrite.execution.snapshot import Snapshot
from graphrewrite.graph.arguments import as_graph, check_digraph

__all__ = ["program_of", "session_of"]

_PLACE = "_programs"
_GRAPHS, _PROGRAMS = 64, 4
"""So many graphs keep programs, and each so many of them, for different nodes or implementations."""
_FEW = 32
"""With fewer frames, translating a graph to instructions takes longer than it saves in one evaluation."""
_KEEPING: deque[ref[nx.DiGraph]] = deque()
"""The graphs that keep programs, the first of which gives them up when there are too many."""


class _Kept:
    """The programs of a graph, with what the graph held when they were compiled; copies and pickles have none."""

    def __init__(self) -> None:
        self.programs: dict[Any, tuple[Snapshot, Any, Any]] = {}

    def __reduce__(self) -> Any:
        return type(None), ()


def program_of(
    graph: nx.DiGraph,
    nodes: Iterable[str] | None,
    implementations: Implementations | None,
    frames: int,
    *,
    reals: bool = True,
) -> Program:
    r"""Return a program for a graph, perhaps the one of an earlier evaluation.

    Numbers of frames for which instructions do not pay in a single evaluation get them in the second one.

    Parameters
    ----------
    graph : networkx.DiGraph
        Any graph of ops; it keeps the program.
    nodes, implementations
        As for `compile_graph`.
    frames : int
        The number of frames that it is going to compute.
    reals : bool
        As of `Program`.

    Examples
    --------
    >>> from graphrewrite import Graph
    >>> g = Graph.parse("graph g\nx = input() : f32[N]\nr = clip(x, low=0)\ny = output(r)")
    >>> program = program_of(g, None, None, 32)
    >>> program_of(g, None, None, 32) is program
    True
    >>> g.nodes["r"]["low"] = 1
    >>> program_of(g, None, None, 32) is program
    False
    """
    check_digraph(graph, "that can be evaluated")
    library = None
    if isinstance(implementations, Mapping):
        library = implementations
    elif implementations is not None:
        implementations = check_implementations(implementations)
    wanted = None if nodes is None else tuple(nodes)
    by = tuple(map(id, implementations)) if isinstance(implementations, tuple) else id(implementations)
    key = wanted, by, reals
    kept = vars(graph).get(_PLACE)
    found = None if kept is None else kept.programs.get(key)
    if found is not None:
        snapshot, _, program = found
        if snapshot.holds(graph):
            if not program.instructions:
                program = program.translated
                kept.programs[key] = snapshot, implementations, program
            return program  # type: ignore[no-any-return]  # sessions are kept as well
    snapshot = Snapshot(graph, library)
    many = frames >= _FEW
    program = compile_graph(graph, wanted, instructions=many, implementations=implementations)
    if not reals:
        program = replace(program, reals=False)
    if not many and program.is_in_kernels(frames):
        program = program.translated  # which real numbers are rounded by, so that all evaluations are alike
    if snapshot.is_whole:
        _keep(graph, key, (snapshot, implementations, program))
    return program


def session_of(graph: nx.DiGraph, backend: str) -> Callable[[Mapping[str, np.ndarray]], dict[str, np.ndarray]]:
    """Return what computes a graph by another engine, perhaps that of an earlier evaluation."""
    kept = vars(graph).get(_PLACE)
    found = None if kept is None else kept.programs.get(backend)
    if found is not None and found[0].holds(graph):
        return found[2]  # type: ignore[no-any-return]  # programs are kept as well
    snapshot = Snapshot(graph)
    session: Callable[[Mapping[str, np.ndarray]], dict[str, np.ndarray]]
    session = as_graph(graph, "that can be evaluated")._session()
    if snapshot.is_whole:
        _keep(graph, backend, (snapshot, None, session))
    return session


def _keep(graph: nx.DiGraph, key: Any, entry: tuple[Snapshot, Any, Any]) -> None:
    kept = vars(graph).get(_PLACE)
    if kept is None:
        kept = vars(graph)[_PLACE] = _Kept()
        _KEEPING.append(ref(graph))
        while len(_KEEPING) > _GRAPHS:
            first = _KEEPING.popleft()()
            if first is not None:
                vars(first).pop(_PLACE, None)
    programs = kept.programs
    programs.pop(key, None)
    for old in list(programs)[: 1 - _PROGRAMS]:
        programs.pop(old, None)
    programs[key] = entry
