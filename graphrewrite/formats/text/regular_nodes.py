"""Regular nodes: those whose printed line determines all their data."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from graphrewrite.formats.text.node_edges import Reads
from graphrewrite.graph.unknown_sizes import settled
from graphrewrite.op.generic_op import Generic
from graphrewrite.op.op import Op
from graphrewrite.op.reserved_keys import attributes_in
from graphrewrite.types import Tensor, Type

__all__ = ["is_regular"]


def is_regular(
    data: Mapping[str, Any], reads: Reads, op: Op | None, position: int | None, types: Callable[[Any], Any]
) -> bool:
    """Tell whether a node's data are what its op infers from operands and attributes.

    `position` is the number of inputs or outputs before it (None if unknown), `types` returns the types of a node.
    """
    if reads.others or op is None or isinstance(op, Generic):
        return False
    if op.name in ("input", "output", "constant"):
        return _is_regular_port(op.name, data, reads, position, types)
    attributes = attributes_in(data, op)
    try:
        op.check(len(reads.operands), attributes)
        if op.stored(attributes).keys() != attributes.keys():  # a stored default would be lost by parsing
            return False
        operands = []
        for source, result in reads.operands:
            results = types(source)
            results = results if isinstance(results, tuple) else (results,)
            operands.append(results[result])
        if not all(isinstance(each, Type) for each in operands):
            return False
        declared = data.get("result")
        stated = declared if isinstance(declared, tuple) else (declared,)
        return bool(stated == settled(op.result_types(tuple(operands), attributes), stated))
    except Exception:  # inference of an op may raise anything for wrong attributes and types
        return False


def _is_regular_port(
    kind: str, data: Mapping[str, Any], reads: Reads, position: int | None, types: Callable[[Any], Any]
) -> bool:
    """Tell whether an input, output or constant is what `Graph` adds for it."""
    if len(reads.operands) != (kind == "output") or (kind == "output" and "result" in data):
        return False
    if kind == "constant":
        value = data.get("value")
        return type(value) is np.ndarray and isinstance(data.get("result"), Tensor)
    if type(data.get("index")) is not int or position not in (None, data["index"]):
        return False
    if kind == "input":
        return isinstance(data.get("result"), Type)
    ((source, result),) = reads.operands
    operand_type = types(source)
    return operand_type is None or result < (len(operand_type) if isinstance(operand_type, tuple) else 1)
