"""Operands that hold indices or lengths, which lie within an axis, and amounts of shifts, which go up to all bits."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from graphrewrite.graph import Graph
from graphrewrite.op import LIBRARY
from graphrewrite.op.op import Op
from graphrewrite.types import Dimension, Tensor, Type, integer_limits

__all__ = ["Limits", "bits_shifted", "limits_in", "limits_of_operand", "within"]

Limits = tuple[int, int]
"""The least and the greatest number."""
_ALONG_AXIS = frozenset({"gather", "gather_elements", "scatter_elements"})
_PLACES = frozenset({"gather_nd", "scatter_nd"})
_TIME = frozenset({"rnn", "gru", "lstm"})
_NAMES = _ALONG_AXIS | _PLACES | _TIME | {"max_unpool", "nll_loss", "reverse_sequence", "roi_align", "tensor_scatter"}


def limits_of_operand(op: Op, position: int, types: Sequence[Type], attributes: Mapping[str, Any]) -> Limits | None:
    """Return between which numbers the entries of an operand must lie; None where any will do.

    Examples
    --------
    >>> from graphrewrite import op
    >>> limits_of_operand(op.gather, 1, [Tensor("f32", (2, 5)), Tensor("i64", ("N",))], {"axis": 1})
    (-5, 4)
    """
    if op.name not in _NAMES or LIBRARY[op.name] is not op or not 0 < position < len(op.operands):
        return None
    found, shape = {**op.attributes, **attributes}, types[0].shape
    word = op.operands[position]
    if word == "sequence_lens" and isinstance(types[0], Tensor):
        at = found["time_axis"] if op.name == "reverse_sequence" else int(found.get("layout", 0) == 1)
        return (0 if op.name == "reverse_sequence" else 1), _least([shape[at]])
    if word == "target":
        return 0, _least([shape[1]]) - 1
    if word != "indices":
        return None
    if op.name == "max_unpool":
        whole = op.infer(*types, **{**attributes, "size": None})[0].shape  # what is beyond the windows has no place
        return 0, math.prod(s for s in whole if isinstance(s, int)) - 1
    if op.name == "tensor_scatter":
        at = found["axis"]
        own, new = shape[at], types[1].shape[at]
        return 0, max(own - new, 0) if isinstance(own, int) and isinstance(new, int) else 0
    if op.name == "roi_align":
        sizes: Sequence[Dimension] = [shape[0]]
    elif op.name in _ALONG_AXIS:
        sizes = [shape[found["axis"]]]
    else:
        last, batch = types[position].shape[-1], found.get("batch_dims", 0)
        sizes = shape[batch : batch + last] if isinstance(last, int) else shape
    size = _least(sizes)
    return -size, size - 1


def bits_shifted(op: Op, position: int, types: Sequence[Type]) -> int | None:
    """Return how many bits there are where an operand says by how many they are shifted; None of any other operand.

    Examples
    --------
    >>> from graphrewrite import op
    >>> bits_shifted(op.bit_shift, 1, [Tensor("u8", ("N",)), Tensor("u8", ())])
    8
    """
    element = types[0].element if types else None
    if op is not LIBRARY["bit_shift"] or position != 1 or not isinstance(element, str):
        return None
    low, high = integer_limits(element) or (0, 0)
    return (high - low).bit_length()


def _least(sizes: Sequence[Dimension]) -> int:
    """The least size; one that run time decides may be 1, and of what the data decide nothing may be left."""
    return min((int("?" not in size) if isinstance(size, str) else size for size in sizes), default=1)


def limits_in(graph: Graph) -> dict[str, Limits]:
    """Return the inputs of a graph that hold indices or lengths, and between which numbers they must lie."""
    found: dict[str, Limits] = {}
    for node, data in graph.nodes(data=True):
        if data.get("type") not in _NAMES:
            continue
        operands = graph.operands(node)
        types = [graph.result_type(*operand) for operand in operands]
        for position, operand in enumerate(operands):
            limits = limits_of_operand(graph.op(node), position, types, graph.attributes(node))
            if limits is not None and operand.node in graph.inputs:
                low, high = found.get(operand.node, limits)
                found[operand.node] = max(low, limits[0]), min(high, limits[1])
    return found


def within(array: np.ndarray, limits: Limits) -> np.ndarray:
    """Return integers between limits: those outside wrap around.

    Parameters
    ----------
    limits : tuple of int
        The least and the greatest number, as far as the element type has them.

    Examples
    --------
    >>> within(np.array([7, 0, -3]), (-2, 1)).tolist()
    [-1, 0, 1]
    >>> within(np.array([120, 7], np.uint8), (-2, 511)).tolist()
    [120, 7]
    """
    ends = np.iinfo(array.dtype)
    low, high = max(limits[0], int(ends.min)), min(limits[1], int(ends.max))
    if high < low:
        return np.zeros_like(array)
    span = high - low + 1
    small = array % np.uint64(span) if array.dtype == np.uint64 else array
    return np.asarray(((small.astype(np.int64) - low) % span + low).astype(array.dtype))
