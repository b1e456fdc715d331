"""What rewriting says to the last name, for comparing one run with another; imports little, for it is started often."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from graphrewrite import Graph, Tensor, op, trace
from graphrewrite.formats.text import to_text
from graphrewrite.rules import FOLDING, RULES
from tests.support.enabling import ENABLING, random_graph

__all__ = ["layers", "results", "step_line"]


def layers() -> Graph:
    """A graph for the library's own rules."""
    graph = Graph("layers")
    x, z = (graph.input(n, Tensor("f32", ("N", 4, 4))) for n in "xz")
    for i in range(6):
        a, b = op.transpose(x, perm=(0, 2, 1)), op.transpose(z, perm=(0, 2, 1))
        x = op.identity(op.transpose(a + b, perm=(0, 2, 1))) * 1
        z = op.relu(op.relu(op.transpose(b, perm=(0, 2, 1))))
        graph.output(f"o{i}", op.flatten(x - z))
    return graph


def results() -> Iterable[str]:
    """What rewriting says, to the last name: the text form, the order of nodes and edges, and each step."""
    for graph, rules in [
        *((random_graph(seed, size=24), ENABLING) for seed in range(10)),
        (layers(), (*RULES, *FOLDING)),
    ]:
        found = trace(graph, rules)
        yield to_text(found.graph, whole=True)
        yield str(list(found.graph.nodes))
        yield str(list(found.graph.edges(data=True)))
        yield "\n".join(map(step_line, found.steps))
        yield str([str(match) for found in ENABLING for match in found.find(graph)])


def step_line(step: Any) -> str:
    return f"{step.rule} -{list(step.removed)} +{list(step.added)}"
