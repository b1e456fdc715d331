"""Nodes of TensorFlow, and the arrays that they hold."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np

from graphrewrite.lowering.errors import ModelError
from graphrewrite.lowering.exchange.rulesets.definitions import ELEMENTS, attribute_value, element_of_type

__all__ = ["Node", "array_of", "dtype_of_element"]

_DTYPES = {
    "bf16": "<u2",
    "bool": "?",
    **{name: f"<{name[0]}{int(name[1:]) // 8}" for name in ELEMENTS.values() if name[1:].isdigit()},
}
_FIELDS = ("half_val", "float_val", "double_val", "int_val", "int64_val", "bool_val", "uint32_val", "uint64_val")
_MOST_FILLED = 1 << 26
"""Most entries of a tensor that is written by fewer numbers: a short file cannot make a huge array."""


@dataclass(frozen=True)
class Node:
    """A node of a graph.

    Attributes
    ----------
    name, op : str
        Its name, and the name of its op.
    inputs : tuple of (str, int)
        The nodes that it reads, each with the index of a result.
    message : object
        Its attributes as they are stored.
    held : tuple of array and str, optional
        The array of a variable, and its element type.
    after : tuple of str
        The nodes that it waits for without reading them.
    """

    name: str
    op: str
    inputs: tuple[tuple[str, int], ...]
    message: Mapping[str, Any] = field(repr=False, default_factory=dict)
    held: tuple[np.ndarray, str] | None = field(repr=False, default=None)
    after: tuple[str, ...] = ()

    @cached_property
    def attributes(self) -> dict[str, Any]:
        """Attributes by name: numbers, texts, names of types, shapes, and tuples of these."""
        return {key: attribute_value(value) for key, value in self.message.items()}


def dtype_of_element(element: str) -> np.dtype:
    """Return the type in which numbers stand in a file, those of bfloat16 as their bits."""
    return np.dtype(_DTYPES[element])


def array_of(tensor: Any) -> tuple[np.ndarray, str]:
    """Return the array of a tensor that a node holds, and its element type."""
    if not hasattr(tensor, "DESCRIPTOR"):
        raise ModelError(f"it holds {tensor!r:.50} where a tensor is expected")
    words = tensor.DESCRIPTOR.fields_by_name["dtype"].enum_type.values_by_number
    element = element_of_type(words[tensor.dtype].name)
    shape = tuple(dim.size for dim in tensor.tensor_shape.dim)
    dtype = dtype_of_element(element)
    count = int(np.prod(shape, dtype=object))
    if tensor.tensor_content:
        if len(tensor.tensor_content) != count * dtype.itemsize:
            raise ModelError(f"a tensor {list(shape)} of {element} has {len(tensor.tensor_content)} bytes")
        return np.frombuffer(tensor.tensor_content, dtype).reshape(shape), element
    listed = next((getattr(tensor, name) for name in _FIELDS if len(getattr(tensor, name))), ())
    if count < 0 or count > max(len(listed), _MOST_FILLED) or len(listed) > max(count, 1):
        raise ModelError(f"a tensor of shape {list(shape)} has {len(listed)} numbers")
    if element in ("f16", "bf16"):  # the bits of each number
        values = np.array(listed, np.uint16).view("<f2" if element == "f16" else "<u2")
    else:
        values = np.array(listed, dtype)
    # The last number that is written stands for all that follow.
    filled = np.zeros(count, values.dtype) if not len(values) else np.resize(values[-1:], count)
    filled[: len(values)] = values[:count]
    return filled.reshape(shape), element
