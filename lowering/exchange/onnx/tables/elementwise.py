"""Ops that compute each entry alone."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import reduce
from typing import Any

from graphrewrite import Tensor, op
from graphrewrite.lowering.exchange.attribute_values import data_type, element, number, scalar, snake_case, truth, word
from graphrewrite.lowering.exchange.entry import Entry, same_names

__all__ = ["ELEMENTWISE"]

_ALPHA = same_names(number, "alpha")
_ROUNDING = {**same_names(truth, "saturate"), **same_names(word, "round_mode")}
_SAME = {
    **{
        name: getattr(op, snake_case(name))
        for name in (
            *("Abs", "Acos", "Acosh", "Add", "Asin", "Asinh", "Atan", "Atanh", "BitwiseAnd", "BitwiseNot"),
            *("BitwiseOr", "BitwiseXor", "Ceil", "Cos", "Cosh", "Div", "Equal", "Erf", "Exp", "Floor", "Greater"),
            *("GreaterOrEqual", "HardSwish", "Identity", "Less", "LessOrEqual", "Log", "Mean", "Mish", "Mul"),
            *("Neg", "PRelu", "Pow", "Reciprocal", "Relu", "Round", "Sigmoid", "Sign", "Sin", "Sinh", "Softplus"),
            *("Softsign", "Sqrt", "Sub", "Tan", "Tanh", "Where"),
        )
    },
    "And": op.logical_and,
    "IsNaN": op.is_nan,
    "Not": op.logical_not,
    "Or": op.logical_or,
    "Xor": op.logical_xor,
}
"""Ops with the same operands and meaning in both."""


def _pair(_: Mapping[str, Any], types: Sequence[Tensor]) -> str | None:
    return None if len(types) == 2 else f"it has {len(types)} operands, not two"


def _several(_: Mapping[str, Any], types: Sequence[Tensor]) -> str | None:
    return None if len(types) != 2 else "it has two operands"


def _limited(x: Any, low: Any = None, high: Any = None) -> Any:
    """A clip whose bounds are computed."""
    x = x if low is None else op.maximum(x, low)
    return x if high is None else op.minimum(x, high)


def _cast_like(x: Any, target: Any, *, saturate: bool = True, round_mode: str = "up") -> Any:
    return op.cast(x, element=target.type.element, saturate=saturate, round_mode=round_mode)


ELEMENTWISE: tuple[Entry, ...] = (
    *(Entry(kind, same) for kind, same in _SAME.items()),
    Entry("BitCast", op.bit_cast, {"to": ("element", element, data_type)}),
    Entry("BitShift", op.bit_shift, {"direction": ("direction", lambda v: word(v).lower(), str.upper)}),
    Entry("Cast", op.cast, {"to": ("element", element, data_type), **_ROUNDING}),
    Entry("CastLike", _cast_like, _ROUNDING),
    Entry("Celu", op.celu, _ALPHA),
    Entry("Clip", op.clip, constants={1: ("low", scalar), 2: ("high", scalar)}),
    Entry("Clip", _limited),
    Entry("Elu", op.elu, _ALPHA),
    Entry("Gelu", op.gelu, {"approximate": ("approximate", word)}),
    Entry("HardSigmoid", op.hard_sigmoid, same_names(number, "alpha", "beta")),
    Entry("IsInf", op.is_inf, same_names(truth, "detect_negative", "detect_positive")),
    Entry("LeakyRelu", op.leaky_relu, _ALPHA),
    Entry("Max", op.maximum, fits=_pair),
    Entry("Max", lambda *xs: reduce(op.maximum, xs), fits=_several),
    Entry("Min", op.minimum, fits=_pair),
    Entry("Min", lambda *xs: reduce(op.minimum, xs), fits=_several),
    Entry("Mod", op.mod, {"fmod": ("fmod", truth)}),
    Entry("Selu", op.selu, same_names(number, "alpha", "gamma")),
    Entry("Sum", op.add, fits=_pair),
    Entry("Sum", op.sum),
    Entry("Swish", op.silu, _ALPHA),
    Entry("ThresholdedRelu", op.threshold, _ALPHA, defaults={"alpha": 1.0}),
)
