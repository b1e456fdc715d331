"""Type inference as an analysis: what is known of a value is its type."""

from __future__ import annotations

from typing import Any

from graphrewrite.graph.unknown_sizes import settled
from graphrewrite.rewriting.facts.analysis import Analysis, AppliedOp
from graphrewrite.types import EdgeType, Stream, Tensor

__all__ = ["types"]


def _inferred(node: AppliedOp) -> Any:
    if not node.sources:  # inputs and constants say what they are
        return node.results if len(node.results) > 1 else node.type
    # Which unknown size of the graph a new one is, only the graph says.
    found = settled(node.op.result_types(node.facts, dict(node.attributes)), node.results)
    return found if len(found) > 1 else found[0]


types: Analysis[Any] = Analysis(
    "types",
    unknown=lambda declared: declared,
    kind=(Tensor, Stream, EdgeType),
    otherwise=_inferred,
)
r"""The types of values, inferred from those of inputs and constants; what is declared in between does not count.

Examples
--------
>>> from graphrewrite import Graph
>>> from graphrewrite.rewriting.facts import facts_of
>>> g = Graph.parse("graph g\nx = input() : f32[N,4]\nr = relu(x)\ny = output(r)")
>>> print(facts_of(g, types)["r"])
f32[N,4]
"""
