"""Ops that may write their result over an operand: each entry depends on no other entry of it."""

from __future__ import annotations

from collections.abc import Sequence

from graphrewrite.op.define import elementwise
from graphrewrite.op.op import Op
from graphrewrite.types import Type

__all__ = ["may_overwrite"]

_POINTWISE = frozenset(
    {
        *("relu", "leaky_relu", "prelu", "clip", "sigmoid", "tanh", "elu", "selu", "celu", "gelu", "silu", "mish"),
        *("hard_sigmoid", "hard_swish", "hard_tanh", "softplus", "softsign", "thresholded_relu", "shrink", "where"),
        *("pow", "identity", "batch_norm", "equal", "less", "greater", "less_equal", "greater_equal"),
        *("integer_add", "integer_sub", "integer_mul", "integer_relu", "requantise"),
    }
)
"""Those whose types are not inferred as those of any element-wise op are."""


def may_overwrite(op: Op, types: Sequence[Type], result: Type, slot: int) -> bool:
    """Tell whether an op may write its result over an operand, entry by entry, while it reads the others.

    Examples
    --------
    >>> from graphrewrite import Tensor, op
    >>> row, table = Tensor("f32", (4,)), Tensor("f32", (2, 4))
    >>> may_overwrite(op.add, [table, row], table, 0), may_overwrite(op.add, [table, row], table, 1)
    (True, False)
    """
    is_pointwise = op.infer_types is elementwise or op.name in _POINTWISE
    return is_pointwise and types[slot] == result and op.arrangement(types) is None
