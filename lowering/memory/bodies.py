"""Graphs that a node runs as programs of their own, for the types of its operands."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from graphrewrite import Graph, Tensor
from graphrewrite.hierarchy.bound_sizes import bind_sizes
from graphrewrite.lowering.errors import LoweringError
from graphrewrite.types import Type

__all__ = ["RUNNING", "programs_of"]

RUNNING = frozenset({"cond", "loop", "scan"})
"""Ops whose graphs become programs."""

_Lowering = Callable[..., Graph]


def programs_of(graph: Graph, node: str, lower: _Lowering) -> dict[str, Graph]:
    """Return the programs of the graphs of a node; what an iteration hands to the next one shares its region."""
    kind, own = graph.nodes[node]["type"], graph.attributes(node)
    types = [graph.result_type(*each) for each in graph.operands(node)]
    found = {}
    for key in ("then", "otherwise") if kind == "cond" else ("body",):
        body = own[key]
        inner, carried = _interface(kind, own, types, body)
        try:
            sized = body.copy().with_sizes(bind_sizes(body, inner))
            sized.name = body.name or f"{node}_{key}"
            found[key] = lower(sized, inout=carried).as_body()
        except LoweringError as error:
            raise LoweringError(f"its {key} has no program: {error}", node=node) from None
    return found


def _interface(
    kind: str, own: Mapping[str, Any], types: list[Type], body: Graph
) -> tuple[tuple[Type, ...], dict[str, str]]:
    """Return the types of the inputs of a graph that a node runs, and the inputs that outputs follow."""
    if kind == "cond":
        return tuple(types[1:]), {}
    if kind == "loop":
        carried = len(types) - 2 if own["carried"] is None else own["carried"]
        kept = zip(body.inputs[1 : 1 + carried], body.outputs[1 : 1 + carried], strict=True)
        return (Tensor("i64", ()), *types[2:]), dict(kept)
    carried, sequences = own["carried"], own["sequences"]
    rows = [Tensor(each.element, each.shape[1:]) for each in types[carried : carried + sequences]]
    inner = (*types[:carried], *rows, *types[carried + sequences :])
    return inner, dict(zip(body.inputs[:carried], body.outputs[:carried], strict=True))
