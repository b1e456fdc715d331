"""Derived names of layers, as other frameworks have them: from operands, attributes and their types.

Each table is the ``derived=`` of an op. A word is another name of an operand or attribute; a function takes the view of
a node, see `graphrewrite.graph.node.Node`. The names are those of the frameworks (PyTorch, `torch.nn`).
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any

import numpy as np

from graphrewrite.types import element_dtype

__all__ = [
    "ACTIVATED",
    "BOUNDED",
    "CLIPPED",
    "CONVOLUTION",
    "DIAGONAL",
    "FLATTENED",
    "FULLY_CONNECTED",
    "GENERAL_PRODUCT",
    "GLOBAL_POOL",
    "NORM",
    "NORMALISED",
    "POOL",
    "RECURRENT",
    "SPELLINGS",
    "TRANSPOSED_CONVOLUTION",
    "Derived",
    "spellings",
]

Derived = Mapping[str, Any]
"""Names to words or functions."""


def _one_or_all(sizes: Any) -> Any:
    """Return the size of a one-dimensional kernel as a number, those of others as a tuple."""
    return sizes[0] if len(sizes) == 1 else tuple(sizes)


def _weight_shape(node: Any) -> Any:
    return node.operand_types[1].shape


def bias_of(node: Any) -> Any:
    """Return the addend of each output channel; an empty array if there is none."""
    if node.b is not None:
        return node.b
    return np.zeros(0, element_dtype(node.operand_types[1].element))


def _in_channels(node: Any) -> Any:
    """Return the channels of the input: those that a filter sees, times the groups."""
    return _weight_shape(node)[1] * node.groups


def _out_channels(node: Any) -> Any:
    """Return the channels of the result."""
    return _weight_shape(node)[0]


def _kernel_size(node: Any) -> Any:
    """Return the size of the filters: a number for one spatial axis, else a tuple."""
    return _one_or_all(_weight_shape(node)[2:])


def _padding_value(node: Any) -> int:
    """Return what the border holds: always zero."""
    return 0


CONVOLUTION: Derived = {
    "weight": "w",
    "bias": bias_of,
    "in_channels": _in_channels,
    "out_channels": _out_channels,
    "kernel_size": _kernel_size,
    "kernel_shape": _kernel_size,
    "padding_value": _padding_value,
}


def _transposed_in_channels(node: Any) -> Any:
    """Return the channels of the input."""
    return _weight_shape(node)[0]


def _transposed_out_channels(node: Any) -> Any:
    """Return the channels of the result: those of a filter, times the groups."""
    return _weight_shape(node)[1] * node.groups


TRANSPOSED_CONVOLUTION: Derived = {
    **CONVOLUTION,
    "in_channels": _transposed_in_channels,
    "out_channels": _transposed_out_channels,
}


def _in_features(node: Any) -> Any:
    """Return how many numbers go in."""
    return _weight_shape(node)[1]


FULLY_CONNECTED: Derived = {
    "weight": "w",
    "bias": bias_of,
    "in_features": _in_features,
    "out_features": _out_channels,
}


def _product_sizes(node: Any) -> Any:
    rows, columns = _weight_shape(node)
    return (columns, rows) if node.trans_b else (rows, columns)


def _rows(node: Any) -> Any:
    """Return how many numbers go in."""
    return _product_sizes(node)[0]


def _columns(node: Any) -> Any:
    """Return how many numbers come out."""
    return _product_sizes(node)[1]


GENERAL_PRODUCT: Derived = {"weight": "w", "bias": bias_of, "in_features": _rows, "out_features": _columns}


def _num_features(node: Any) -> Any:
    """Return how many channels have parameters of their own."""
    return _weight_shape(node)[0]


NORM: Derived = {
    "weight": "gain",
    "bias": "shift",
    "running_mean": "mean",
    "running_var": "var",
    "num_features": _num_features,
}


class _Window:
    """The size of the windows: a number for one spatial axis, else a tuple."""

    attribute = "kernel"

    def __call__(self, node: Any) -> Any:
        return _one_or_all(node.kernel)


POOL: Derived = {"kernel_size": _Window()}


def _all_positions(node: Any) -> Any:
    """Return the size of the one window: all positions of a channel."""
    x = node.operand_types[0]
    layout = x.layout or "NC" + "*" * (len(x.shape) - 2)
    return _one_or_all([size for axis, size in zip(layout, x.shape, strict=True) if axis not in "NC"])


def _hidden_size(node: Any) -> Any:
    """Return how many entries a state has."""
    return next(iter(node.operand_types[2].shape[-1:]), 0)


def _input_size(node: Any) -> Any:
    """Return how many numbers go in at each step."""
    return next(iter(node.operand_types[1].shape[-1:]), 0)


RECURRENT: Derived = {"hidden_size": _hidden_size, "input_size": _input_size}


def _axis(node: Any) -> Any:
    """Return the first axis that goes into the second one."""
    return node.axis


def _last(node: Any) -> int:
    """Return the last axis that does: always the last one."""
    return -1


FLATTENED: Derived = {"start_dim": _axis, "end_dim": _last}


def _normalized_shape(node: Any) -> Any:
    """Return the sizes of the normalised axes."""
    return tuple(node.operand_types[0].shape[node.axis :])


NORMALISED: Derived = {"normalized_shape": _normalized_shape}
GLOBAL_POOL: Derived = {"kernel_size": _all_positions}
ACTIVATED: Derived = {"negative_slope": "alpha"}
CLIPPED: Derived = {"minimum": "low", "maximum": "high", "min": "low", "max": "high"}
BOUNDED: Derived = {**CLIPPED, "min_val": "low", "max_val": "high"}
DIAGONAL: Derived = {"diagonal": "k"}

SPELLINGS: Mapping[str, tuple[str, ...]] = {
    "axes": ("dim", "axis"),
    "axis": ("dim",),
    "block_size": ("blocksize", "upscale_factor", "downscale_factor"),
    "depth": ("num_classes",),
    "dilations": ("dilation", "dilation_rate"),
    "element": ("dtype", "to"),
    "epsilon": ("eps",),
    "fill": ("value", "constant_value", "constant_values", "padding_value"),
    "groups": ("group", "num_groups"),
    "keep_dims": ("keepdim", "keepdims"),
    "kernel": ("kernel_size", "kernel_shape", "pool_size"),
    "pads": ("padding", "auto_pad"),
    "perm": ("dims", "axes"),
    "ratio": ("p", "rate"),
    "repeats": ("reps", "multiples"),
    "scales": ("scale_factor",),
    "strides": ("stride",),
    "trans_a": ("transA",),
    "trans_b": ("transB",),
}
"""Other names of attributes, as PyTorch, ONNX, Keras and numpy have them."""


def spellings(taken: Collection[str], attributes: Collection[str]) -> dict[str, str]:
    """Return the other names of an op's attributes that are still free.

    Parameters
    ----------
    taken : collection of str
        Names of operands and attributes.

    Examples
    --------
    >>> spellings(["x", "axis"], ["axis"])
    {'dim': 'axis'}
    """
    named = {other: name for name in attributes for other in SPELLINGS.get(name, ())}
    return {other: name for other, name in named.items() if other not in taken}
