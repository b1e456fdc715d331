"""What ops have to be told where the axes of their operands are permuted: elementwise ops nothing, others an axis."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

__all__ = ["AXIS_BY_AXIS", "ELEMENTWISE", "SUMS", "Moved", "inverse", "moved", "moves_ones", "stretched"]

ELEMENTWISE = frozenset(
    {
        *("abs", "acos", "acosh", "add", "asin", "asinh", "atan", "atanh", "bit_shift", "bitwise_and", "bitwise_not"),
        *("bitwise_or", "bitwise_xor", "cast", "ceil", "celu", "clip", "cos", "cosh", "div", "dropout", "elu", "equal"),
        *(
            "erf",
            "exp",
            "floor",
            "fma",
            "gelu",
            "greater",
            "greater_or_equal",
            "hard_sigmoid",
            "hard_swish",
            "hard_tanh",
        ),
        *("identity", "is_inf", "is_nan", "leaky_relu", "less", "less_or_equal", "log", "logical_and", "logical_not"),
        *("logical_or", "logical_xor", "maximum", "mean", "minimum", "mish", "mod", "mul", "neg", "pow", "prelu"),
        *("reciprocal", "relu", "round", "selu", "sigmoid", "sign", "silu", "sin", "sinh", "softplus", "softsign"),
        *("sqrt", "sub", "sum", "tan", "tanh", "threshold", "where"),
    }
)
"""Names of ops that treat every entry by itself, and broadcast their operands."""
AXIS_BY_AXIS = ELEMENTWISE | {
    *("arg_max", "arg_min", "concat", "cum_prod", "cum_sum", "dequantize_linear", "hardmax", "pad", "quantize_linear"),
    *("reduce_max", "reduce_min", "slice", "split"),
}
"""Names of ops that give the same bits wherever their axes are; no tile, before which there is less to transpose."""
SUMS = frozenset(
    {
        *("log_softmax", "lp_norm", "reduce_l1", "reduce_l2", "reduce_log_sum", "reduce_log_sum_exp", "reduce_mean"),
        *("reduce_prod", "reduce_sum", "reduce_sum_square", "softmax", "softmin"),
    }
)
"""Names of ops whose sums may be rounded in another order where the axes are elsewhere."""


class Moved(NamedTuple):
    """An op of operands whose axes are not permuted yet, and whose result's axes are.

    Attributes
    ----------
    attributes : dict
        Those that differ.
    slots : int, optional
        So many of the first operands are those with the axes; all if not given.
    """

    attributes: dict[str, Any]
    slots: int | None = None


def inverse(perm: Sequence[int]) -> tuple[int, ...]:
    """Return the permutation that undoes another.

    Examples
    --------
    >>> inverse((0, 2, 3, 1))
    (0, 3, 1, 2)
    """
    return tuple(int(p) for p in np.argsort(perm))


def moves_ones(before: Sequence[Any], after: Sequence[Any], perm: Sequence[int]) -> bool:
    """Tell whether a reshape from one shape to another is the transpose by a permutation, which moves ones only.

    Examples
    --------
    >>> moves_ones(("N", 8, 1, 1), ("N", 1, 1, 8), (0, 2, 3, 1)), moves_ones((2, 3), (3, 2), (1, 0))
    (True, False)
    """
    if len(before) != len(perm) or tuple(before[p] for p in perm) != tuple(after):
        return False
    long = [p for p in perm if before[p] != 1]
    return long == sorted(long)


def stretched(value: np.ndarray, perm: Sequence[int]) -> np.ndarray:
    """Return a constant that broadcasts to some axes, for these axes before they were permuted.

    Examples
    --------
    >>> stretched(np.zeros((8,)), (0, 2, 3, 1)).shape
    (1, 8, 1, 1)
    """
    return value.reshape((1,) * (len(perm) - value.ndim) + value.shape).transpose(inverse(perm))


def moved(name: str, attributes: Mapping[str, Any], perm: Sequence[int], *, rounds: bool = False) -> Moved | None:
    """Return what an op has to be told where a transpose comes behind it instead of before, or None if it cannot.

    Parameters
    ----------
    name : str
        Of the op.
    attributes : mapping
        All that it has, defaults too.
    perm : sequence of int
        Of the transpose.
    rounds : bool
        Whether sums may be rounded in another order.

    Examples
    --------
    >>> moved("concat", {"axis": -1}, (0, 2, 3, 1))
    Moved(attributes={'axis': 1}, slots=None)
    >>> moved("pad", {"pads": (0, 2, 3, 1, 4, 6, 7, 5)}, (0, 2, 3, 1))
    Moved(attributes={'pads': (0, 1, 2, 3, 4, 5, 6, 7)}, slots=None)
    """
    if name in ELEMENTWISE:
        return Moved({})
    if not perm or (name not in AXIS_BY_AXIS and not (rounds and name in SUMS)):
        return None
    rank = len(perm)
    if name in ("quantize_linear", "dequantize_linear"):
        return None if attributes.get("block_size") else Moved({"axis": perm[attributes["axis"] % rank]}, 1)
    if name == "pad":
        back, pads = inverse(perm), attributes["pads"]
        return Moved({"pads": (*(pads[b] for b in back), *(pads[rank + b] for b in back))})
    if "keep_dims" in attributes and not attributes["keep_dims"]:
        return None
    if name == "slice" and attributes["axes"] is None:
        return Moved({"axes": tuple(perm[: len(attributes["starts"])])})
    if "axes" in attributes:
        axes = attributes["axes"]
        return Moved({} if axes is None else {"axes": tuple(perm[axis % rank] for axis in axes)})
    return Moved({"axis": perm[attributes["axis"] % rank]})
