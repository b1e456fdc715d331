"""Checks of types: every value has one, and each follows from those before it."""

from __future__ import annotations

from typing import Any

from graphrewrite.errors import GraphRewriteError
from graphrewrite.infer import infer_node
from graphrewrite.types import Type
from graphrewrite.verify.check import check
from graphrewrite.verify.reading import kind_of, known_op, op_attributes, operands_or_fault, results_of
from graphrewrite.verify.structure import attributes_fit, operands_fit

__all__ = ["results_are_there", "results_follow", "values_are_typed"]


@check
def values_are_typed(graph: Any, node: Any) -> str | None:
    """Every node but the outputs declares the types of its results."""
    if results_of(graph, node) is not None:
        return None
    kind, result = kind_of(graph, node), graph._node[node].get("result")
    if result is not None:
        return f"its result is no type but {result!r}; give a Tensor or a Stream, or a tuple of them"
    if kind == "input":
        return "an input needs a result type: what it carries, as its `result`"
    return None if kind == "output" else "has no result type; infer(graph) gives every node one"


@check
def results_are_there(graph: Any, node: Any) -> list[str] | None:
    """A node reads results that there are."""
    operands = operands_or_fault(graph, node)
    if isinstance(operands, str):
        return None
    found = []
    for source, result in operands:
        if kind_of(graph, source) == "output":
            found.append(f"reads {source!r}, which is an output and gives nothing; read what it reads")
            continue
        given = graph._node[source].get("result")
        if isinstance(given, tuple):
            count = len(given)
        else:
            op = known_op(graph, source) if given is None else None
            count = 1 if op is None else op.number_of_results(op_attributes(graph, source, op))
        if result >= count:
            found.append(f"reads result {result} of {source!r}, which has fewer: {count}")
    return found


@check
def results_follow(graph: Any, node: Any) -> str | None:
    """What a node declares is what its op gives for the operands and attributes that it has; layouts included."""
    op, declared = known_op(graph, node), results_of(graph, node)
    if op is None or op.name in ("input", "constant") or (declared is None and op.name != "output"):
        return None
    operands = operands_or_fault(graph, node)
    if isinstance(operands, str):
        return None
    types: list[Type] = []
    for source, result in operands:
        given = results_of(graph, source)
        if given is None or result >= len(given):
            return None  # said by another check
        types.append(given[result])
    try:
        inferred = infer_node(graph, node, op, operands, tuple(types))
    except GraphRewriteError as error:
        if operands_fit(graph, node) or attributes_fit(graph, node):
            return None
        return str(error).removeprefix(f"node {node!r}: ")
    if declared is None or inferred == declared:
        return None
    shown, wanted = (", ".join(map(str, found)) or "nothing" for found in (inferred, declared))
    return f"{op.name} gives {shown}, and the node is declared {wanted}"
