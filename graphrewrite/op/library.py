"""The op library by name: the ops that the modules of the five families define, and those of structure."""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module
from typing import Any

from graphrewrite.op.op import Op

__all__ = ["LIBRARY", "find_op"]

# The order is that of `LIBRARY`, on which random graphs of a seed depend: add new modules at the end.
_MODULES = (
    "nn.activation",
    "integer.approximated",
    "tensor.arithmetic",
    "tensor.comparison",
    "tensor.contraction",
    "tensor.conversion",
    "nn.convolution",
    "tensor.elementary",
    "integer.fixed_point",
    "tensor.gathering",
    "tensor.generating",
    "integer.arithmetic",
    "tensor.linear_algebra",
    "tensor.logic",
    "integer.mantissas",
    "nn.normalisation",
    "nn.pooling",
    "quantised.qonnx",
    "quantised.quantise_linear",
    "quantised.conversion",
    "quantised.products",
    "tensor.rearranging",
    "nn.recurrent",
    "tensor.reduce",
    "tensor.reduction",
    "nn.resizing",
    "tensor.scattering",
    "tensor.shapes",
    "tensor.slicing",
    "nn.smooth_activation",
    "integer.stateful",
    "structure",
    "nn.training",
    "nn.transposed_convolution",
    "nn.window_pooling",
    "nn.sampling",
    "nn.losses",
    "nn.folding",
    "nn.regions",
    "nn.deformable_convolution",
    "tensor.bits",
    "tensor.spectrum",
    "nn.linear_attention",
    "control_flow",
    "nn.trees",
    "tensor.texts",
    "tensor.selecting",
    "nn.suppression",
    "tensor.random",
    "tensor.n_grams",
    "nn.attention",
    "quantised.multipliers",
    "quantised.softmax",
    "memory.destination",
    "memory.parts",
    "quantised.fake_quantisation",
)

LIBRARY: dict[str, Op] = {
    op.name: op
    for module in _MODULES
    for op in vars(import_module(f"graphrewrite.op.{module}")).values()
    if isinstance(op, Op)
}
"""Every op of the library by name."""


def find_op(kind: Any, own: Mapping[str, Op] | None = None) -> Op | None:
    """Return the op that a node's type names.

    Parameters
    ----------
    kind : object
        The type.
    own : mapping of str to Op, optional
        Ops that come before those of the library.

    Returns
    -------
    Op or None
        None where nobody knows it.

    Examples
    --------
    >>> find_op("relu"), find_op("rellu"), find_op(None)
    (<op relu>, None, None)
    """
    if not isinstance(kind, str):
        return None
    return (own.get(kind) if own else None) or LIBRARY.get(kind)
