"""Checks of types and constants: every value has a type that follows from those before it; constants hold theirs."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from graphrewrite.errors import GraphRewriteError
from graphrewrite.graph.dataflow import PREDICATE
from graphrewrite.graph.type_inference import infer_node
from graphrewrite.op.reserved_keys import attributes_in
from graphrewrite.rewriting.verification.checks import check
from graphrewrite.rewriting.verification.reading import kind_of, known_op, operands_or_fault, results_of
from graphrewrite.rewriting.verification.structure import attributes_fit, operands_fit
from graphrewrite.types import Stream, Tensor, Type, contradiction

__all__ = [
    "constants_hold",
    "predicates_fit",
    "results_are_there",
    "results_follow",
    "shared_constants_are_kept",
    "values_are_typed",
]


@check
def values_are_typed(graph: Any, node: Any) -> str | None:
    """Every node but the outputs declares the types of its results."""
    if results_of(graph, node) is not None:
        return None
    kind, result = kind_of(graph, node), graph._node[node].get("result")
    if result is not None:
        return f"its result must be a type, got {result!r}; give a Tensor or a Stream, or a tuple of them"
    if kind == "input":
        return "inputs need a declared type as their `result`"
    return None if kind == "output" else "has no result type; infer(graph) gives every node one"


@check
def results_are_there(graph: Any, node: Any) -> list[str] | None:
    """A node reads results that exist."""
    operands = operands_or_fault(graph, node)
    if isinstance(operands, str):
        return None
    messages = []
    for source, result in operands:
        if kind_of(graph, source) == "output":
            messages.append(f"reads {source!r}, which is an output and gives nothing; read what it reads")
            continue
        declared = graph._node[source].get("result")
        if isinstance(declared, tuple):
            count = len(declared)
        else:
            op = known_op(graph, source) if declared is None else None
            count = 1 if op is None else op.number_of_results(attributes_in(graph._node[source], op))
        if result >= count:
            messages.append(f"reads result {result} of {source!r}, which has fewer: {count}")
    return messages


@check
def predicates_fit(graph: Any, node: Any) -> list[str] | None:
    """A node has one predicate at most: a vector; an input or a constant has none."""
    found = [source for source, edge in graph._pred[node].items() if "kind" in edge and edge["kind"] == PREDICATE]
    if not found:
        return None
    if len(found) > 1:
        return [f"has several predicates: {', '.join(map(repr, found))}; keep one of them"]
    (source,), messages = found, []
    result, types = graph._pred[node][source].get("result", 0), results_of(graph, source) or ()
    if kind_of(graph, node) in ("input", "constant"):
        messages.append(f"has the predicate {source!r}, but nothing is computed for it; remove that edge")
    if type(result) is not int or not 0 <= result < len(types):
        missing = f"its predicate is result {result!r} of {source!r}, which is not there"
        messages.append(f"{missing}; set_predicate(…) sets another")
    elif isinstance(types[result], Tensor) and len(types[result].shape) > 1:
        wrong = f"its predicate {source!r} is {types[result]}"
        messages.append(f"{wrong}; a predicate is a vector, with an entry for each sample")
    return messages


@check
def results_follow(graph: Any, node: Any) -> str | None:
    """The type that a node declares is the one that its op infers from operands and attributes, layout included."""
    op, declared = known_op(graph, node), results_of(graph, node)
    if op is None or op.name in ("input", "constant") or (declared is None and op.name != "output"):
        return None
    operands = operands_or_fault(graph, node)
    if isinstance(operands, str):
        return None
    types: list[Type] = []
    for source, result in operands:
        source_types = results_of(graph, source)
        if source_types is None or result >= len(source_types):
            return None  # another check reports it
        types.append(source_types[result])
    try:
        inferred = infer_node(graph, node, op, operands, tuple(types))
    except GraphRewriteError as error:
        if operands_fit(graph, node) or attributes_fit(graph, node):
            return None
        return str(error).removeprefix(f"node {node!r}: ")
    if declared is None or inferred == declared:
        return None
    texts = [", ".join(map(str, types)) or "nothing" for types in (inferred, declared)]
    return f"{op.name} gives {texts[0]}, and the node is declared {texts[1]}"


@check(types=["constant"])
def constants_hold(graph: Any, node: Any) -> str | None:
    """A constant holds an array of the shape, dtype and range of its type."""
    data = graph._node[node]
    declared = data.get("result")
    if "value" not in data or declared is None:
        return None  # other checks report it
    if not isinstance(declared, Tensor):
        is_type = isinstance(declared, Stream | tuple)
        return f"holds one array and is declared {declared!s}; a constant is a Tensor" if is_type else None
    try:
        return contradiction(declared, data["value"])
    except Exception:
        return f"its value must be an array of numbers, got {data['value']!r}"  # numpy cannot convert it


@check(module=True)
def shared_constants_are_kept(module: Any) -> Iterator[tuple[str, Any, str]]:
    """A constant that is shared holds the module's array: to change it for one graph, give that one its own."""
    for name, graph in module.items():
        for node, data in graph.nodes(data=True):
            shared = data.get("shared")
            if shared is None or kind_of(graph, node) != "constant":
                continue
            if shared not in module.constants:
                yield name, node, f"shares the constant {shared!r}, which the module does not have"
            elif data.get("value") is not module.constants[shared]:
                message = f"holds another array than the constant {shared!r} that it shares; remove its `shared`"
                yield name, node, message
