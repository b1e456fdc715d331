"""Which nodes are as an op makes them: what is written of them says all that they are."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from graphrewrite.marks import MARKS, attributes_in
from graphrewrite.op.generic import Generic
from graphrewrite.op.op import Op
from graphrewrite.text.edges import Reads
from graphrewrite.types import Stream, Tensor

__all__ = ["is_regular"]

_OWN = {
    "input": {"type", "index", "result", "origin"} | MARKS,
    "output": {"type", "index", "origin"} | MARKS,
    "constant": {"type", "value", "result", "origin"} | MARKS,
}
"""Keys of nodes that no op makes."""


def is_regular(
    data: Mapping[str, Any], reads: Reads, op: Op | None, position: int | None, types: Callable[[Any], Any]
) -> bool:
    """Tell whether a node is as its op makes it of its operands and attributes.

    Parameters
    ----------
    data : mapping
        Its attributes.
    reads : Reads
        The edges into it.
    op : Op or None
        The op that its type names; None where nobody knows it.
    position : int or None
        Of an input or output, how many stand before it; None if that does not matter.
    types : callable
        Gives the `result` of another node.

    Returns
    -------
    bool
    """
    kind = data.get("type")
    if reads.others or op is None or isinstance(op, Generic) or not all(isinstance(key, str) for key in data):
        return False
    if kind in _OWN:
        return _is_regular_port(str(kind), data, reads, position, types)
    attributes = attributes_in(data, op.attributes)
    try:
        op.check(len(reads.operands), attributes)
        if op.stored(attributes).keys() != attributes.keys():
            return False
        operands = []
        for source, result in reads.operands:
            found = types(source)
            found = found if isinstance(found, tuple) else (found,)
            operands.append(found[result])
        if not all(isinstance(each, Tensor | Stream) for each in operands):
            return False
        inferred = op.result_types(tuple(operands), attributes)
    except Exception:  # whatever an op says to attributes and types that are not its own
        return False
    given = data.get("result")
    return bool(given == (inferred[0] if len(inferred) == 1 else inferred))


def _is_regular_port(
    kind: str, data: Mapping[str, Any], reads: Reads, position: int | None, types: Callable[[Any], Any]
) -> bool:
    """Whether an input, output or constant is as a graph makes it."""
    if not data.keys() <= _OWN[kind] or len(reads.operands) != (kind == "output"):
        return False
    if kind == "constant":
        value = data.get("value")
        return type(value) is np.ndarray and isinstance(data.get("result"), Tensor)
    if type(data.get("index")) is not int or position not in (None, data["index"]):
        return False
    if kind == "input":
        return isinstance(data.get("result"), Tensor | Stream)
    ((source, result),) = reads.operands
    found = types(source)
    return found is None or result < (len(found) if isinstance(found, tuple) else 1)
