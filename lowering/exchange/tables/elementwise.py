"""Ops that compute each entry alone."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import reduce
from typing import Any

from graphrewrite import Tensor, op
from graphrewrite.lowering.exchange.conversions import data_type, element, number, scalar, truth, word
from graphrewrite.lowering.exchange.entry import Entry

__all__ = ["ELEMENTWISE"]

_ALPHA = {"alpha": ("alpha", number)}
_SAME = {
    "Abs": op.abs,
    "Acos": op.acos,
    "Acosh": op.acosh,
    "Add": op.add,
    "And": op.logical_and,
    "Asin": op.asin,
    "Asinh": op.asinh,
    "Atan": op.atan,
    "Atanh": op.atanh,
    "BitwiseAnd": op.bitwise_and,
    "BitwiseNot": op.bitwise_not,
    "BitwiseOr": op.bitwise_or,
    "BitwiseXor": op.bitwise_xor,
    "Ceil": op.ceil,
    "Cos": op.cos,
    "Cosh": op.cosh,
    "Div": op.div,
    "Equal": op.equal,
    "Erf": op.erf,
    "Exp": op.exp,
    "Floor": op.floor,
    "Greater": op.greater,
    "GreaterOrEqual": op.greater_or_equal,
    "HardSwish": op.hard_swish,
    "Identity": op.identity,
    "IsNaN": op.is_nan,
    "Less": op.less,
    "LessOrEqual": op.less_or_equal,
    "Log": op.log,
    "Mean": op.mean,
    "Mish": op.mish,
    "Mul": op.mul,
    "Neg": op.neg,
    "Not": op.logical_not,
    "Or": op.logical_or,
    "PRelu": op.prelu,
    "Pow": op.pow,
    "Reciprocal": op.reciprocal,
    "Relu": op.relu,
    "Round": op.round,
    "Sigmoid": op.sigmoid,
    "Sign": op.sign,
    "Sin": op.sin,
    "Sinh": op.sinh,
    "Softplus": op.softplus,
    "Softsign": op.softsign,
    "Sqrt": op.sqrt,
    "Sub": op.sub,
    "Tan": op.tan,
    "Tanh": op.tanh,
    "Where": op.where,
    "Xor": op.logical_xor,
}
"""Those that mean the same by the same operands."""


def _pair(_: Mapping[str, Any], types: Sequence[Tensor]) -> str | None:
    return None if len(types) == 2 else f"it has {len(types)} operands, not two"


def _several(_: Mapping[str, Any], types: Sequence[Tensor]) -> str | None:
    return None if len(types) != 2 else "it has two operands"


def _maximum(*xs: Any) -> Any:
    return reduce(op.maximum, xs)


def _minimum(*xs: Any) -> Any:
    return reduce(op.minimum, xs)


def _limited(x: Any, low: Any = None, high: Any = None) -> Any:
    """A clip whose bounds are computed."""
    x = x if low is None else op.maximum(x, low)
    return x if high is None else op.minimum(x, high)


def _cast_like(x: Any, target: Any, *, saturate: bool = True, round_mode: str = "up") -> Any:
    return op.cast(x, element=target.type.element, saturate=saturate, round_mode=round_mode)


ELEMENTWISE: tuple[Entry, ...] = (
    *(Entry(kind, same) for kind, same in _SAME.items()),
    Entry("BitShift", op.bit_shift, {"direction": ("direction", lambda v: word(v).lower(), str.upper)}),
    Entry(
        "Cast",
        op.cast,
        {
            "to": ("element", element, data_type),
            "saturate": ("saturate", truth),
            "round_mode": ("round_mode", word),
        },
    ),
    Entry("CastLike", _cast_like, {"saturate": ("saturate", truth), "round_mode": ("round_mode", word)}),
    Entry("Celu", op.celu, _ALPHA),
    Entry("Clip", op.clip, constants={1: ("low", scalar), 2: ("high", scalar)}),
    Entry("Clip", _limited),
    Entry("Elu", op.elu, _ALPHA),
    Entry("Gelu", op.gelu, {"approximate": ("approximate", word)}),
    Entry("HardSigmoid", op.hard_sigmoid, {**_ALPHA, "beta": ("beta", number)}),
    Entry(
        "IsInf",
        op.is_inf,
        {"detect_negative": ("detect_negative", truth), "detect_positive": ("detect_positive", truth)},
    ),
    Entry("LeakyRelu", op.leaky_relu, _ALPHA),
    Entry("Max", op.maximum, fits=_pair),
    Entry("Max", _maximum, fits=_several),
    Entry("Min", op.minimum, fits=_pair),
    Entry("Min", _minimum, fits=_several),
    Entry("Mod", op.mod, {"fmod": ("fmod", truth)}),
    Entry("Selu", op.selu, {**_ALPHA, "gamma": ("gamma", number)}),
    Entry("Sum", op.add, fits=_pair),
    Entry("Sum", op.sum),
    Entry("Swish", op.silu, _ALPHA),
    Entry("ThresholdedRelu", op.threshold, _ALPHA, defaults={"alpha": 1.0}),
)
