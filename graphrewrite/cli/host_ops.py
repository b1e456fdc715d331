"""Ops that the host computes, as the option `--host` says, and where a network can be cut."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from graphrewrite import Graph
from graphrewrite.cli.failures import wrong_usage
from graphrewrite.cli.heads import head_behind
from graphrewrite.cli.sources import network_in
from graphrewrite.lowering import LoweringError, QuantisationError, UnsupportedOpsError
from graphrewrite.lowering.host_cut import HostCut, cut_for_host, cuts, names_of, without_hardware

__all__ = ["cut_for", "cut_lines", "offering_the_host"]


def cut_for(graph: Graph, names: tuple[str, ...], head: str, notes: list[str]) -> tuple[HostCut, str]:
    """Return a network cut where the host computes ops, and its head; note what cannot be evaluated here."""
    if not names:
        return HostCut(graph, (), ()), head
    with wrong_usage():
        cut = cut_for_host(graph, names)
    known = cut.known()
    if len(known.before) < len(cut.before):
        notes.append(f"the host's first ops are unknown here: samples are those of {', '.join(known.core.inputs)}")
    if len(known.after) < len(cut.after):
        notes.append("the host's last ops are unknown here: what is compared are their operands")
    return known, head_behind(cut, head)


def cut_lines(model: Path, plugins: tuple[str, ...] = ()) -> list[str]:
    """Return the places where the network in a file can be cut, a line each, and the ops that have no hardware."""
    graph = network_in(model, plugins)
    missing = without_hardware(graph)
    lines = [f"behind {cut.named(graph)}" for cut in cuts(graph)] or ["no single value divides the network"]
    return [*lines, f"without hardware: {', '.join(names_of(graph, missing)) or 'nothing'}"]


@contextmanager
def offering_the_host(graph: Graph, names: tuple[str, ...]) -> Iterator[None]:
    """Say in an error about ops without hardware how to leave them to the host."""
    try:
        yield
    except (UnsupportedOpsError, LoweringError, QuantisationError) as error:
        further = [name for name in names_of(graph, without_hardware(graph)) if name not in names]
        if not further:
            raise
        raise type(error)(f"{error}; {_hint(graph, [*names, *further])}") from None


def _hint(graph: Graph, named: list[str]) -> str:
    try:
        cut_for_host(graph, named)
    except LoweringError as reason:
        return str(reason)
    return f"--host {','.join(named)} leaves to the host what has no hardware"
