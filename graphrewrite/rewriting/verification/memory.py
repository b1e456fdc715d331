"""Checks of programs over memory: what is read is still there, and nothing writes what it must not."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from graphrewrite.errors import GraphRewriteError
from graphrewrite.graph import Graph
from graphrewrite.graph.regions import Content, Regions, reads_of
from graphrewrite.rewriting.verification.checks import check

__all__ = ["programs_keep_what_is_read"]

_WRITING = frozenset({"into", "copy", "insert", "extract", "alloc", "view"})


@check(whole=True)
def programs_keep_what_is_read(graph: Graph) -> Iterator[tuple[str, str]]:
    """What is read from a region is still there in every order of the nodes; constants and inputs are not written."""
    kinds = (data.get("type") for data in graph._node.values())
    if not any(isinstance(kind, str) and kind in _WRITING for kind in kinds):
        return
    try:
        regions = Regions(graph)
    except (GraphRewriteError, KeyError, TypeError, ValueError):
        return  # it is no program yet: other checks say what is wrong with its nodes and edges
    yield from _unwritten(regions)
    yield from _forbidden(regions)
    yield from _of_outputs(regions)
    for a, b in regions.conflicts():
        yield _lost(regions, a, b)


def _unwritten(regions: Regions) -> Iterator[tuple[str, str]]:
    """Yield reads of regions in which nothing is; a move to where its operand lies reads nothing."""
    graph = regions.graph
    for node in regions.order:
        if graph._node[node]["type"] != "output" and not regions.is_instruction(node):
            continue
        for value in reads_of(graph, node):
            if not regions.visible[value] and regions.locations[value].size != 0:
                yield node, f"reads {value.node!r}, into which nothing is written; let it read what is computed into it"


def _forbidden(regions: Regions) -> Iterator[tuple[str, str]]:
    """Yield writes into constants, and into inputs that are no variables."""
    graph = regions.graph
    variables = {graph._node[output].get("region") for output in graph.outputs}
    for root, contents in regions.contents.items():
        kind = graph._node[root.node]["type"]
        if kind not in ("input", "constant") or (kind == "input" and root.node in variables):
            continue
        for content in contents:
            if content.writer is not None:
                remedy = "allocate a region for it" + (
                    ", or make the input a variable: give the output that has its value then the annotation "
                    f"region={root.node!r}"
                    if kind == "input"
                    else ""
                )
                yield content.writer, f"writes the {kind} {root.node!r}, which is only read; {remedy}"


def _of_outputs(regions: Regions) -> Iterator[tuple[str, str]]:
    """Yield outputs that do not have one whole region each."""
    graph = regions.graph
    for root, outputs in regions.outputs.items():
        for index, output in enumerate(outputs):
            shared: Any = graph._node[output].get("region")
            where = regions.locations[graph.operands(output)[0]]
            if shared is not None and shared != root.node:
                yield output, f"is said to lie in the region of {shared!r}, and lies in that of {root.node!r}; copy it"
            elif index:
                yield output, f"lies in the same region as the output {outputs[0]!r}; copy one of them"
            elif where != regions.locations[root]:
                yield output, f"is a part of the region {root.node!r}; copy it into one of its own"
            elif shared is None and graph._node[root.node]["type"] in ("input", "constant"):
                yield output, f"is {root.node!r} itself; copy it into a region of its own"


def _lost(regions: Regions, a: Content, b: Content) -> tuple[str, str]:
    """Return what is lost where two contents may be written over each other."""
    first, second = (a, b) if b.writer is not None else (b, a)
    assert second.writer is not None
    late = [
        node
        for node in regions.readers(first)
        if node != second.writer and not regions.before[second.writer] & regions.bits[node]
    ]
    what = f"what {first.writer!r} writes" if first.writer else "its first content"
    region = second.location.root.node
    if not late and not regions.is_in_place(second.writer):
        return (
            second.writer,
            f"reads the region {region!r} while it writes over it, and not entry by entry; copy it first",
        )
    if not late:
        return second.writer, (
            f"may write the region {region!r} before or after {what} is written there; let one of them read the "
            "other's version"
        )
    return second.writer, (
        f"writes over {what} in the region {region!r}, which {late[0]!r} may read later; let that come before it, by "
        f"graph.add_control({late[0]!r}, {second.writer!r}, 'overwrite'), or compute into another region"
    )
