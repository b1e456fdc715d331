"""Activations from their parts, as exporters write them."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from graphrewrite import Constant, decline, op, rule
from graphrewrite.types import element_kind

__all__ = [
    "RECOGNISE_ACTIVATIONS",
    "recognise_gelu",
    "recognise_gelu_halved_inside",
    "recognise_gelu_halved_last",
    "recognise_hard_sigmoid",
    "recognise_hard_sigmoid_divided_by_six",
    "recognise_hard_sigmoid_of_six",
    "recognise_hard_swish",
    "recognise_hard_swish_divided_by_six",
    "recognise_hard_swish_of_six",
    "recognise_hard_swish_of_sixth",
    "recognise_mish",
    "recognise_prelu",
    "recognise_prelu_of_difference",
    "recognise_prelu_of_relus",
    "recognise_scaled_silu",
    "recognise_sigmoid",
    "recognise_sigmoid_of_reciprocal",
    "recognise_sigmoid_of_tanh",
    "recognise_silu",
    "recognise_silu_of_exp",
    "recognise_softplus",
    "recognise_softsign",
    "recognise_stable_softplus",
]

_BROADCAST = "a constant broadcasts its operand"
_NO_FLOAT = "a constant broadcasts its operand, or it is no float"


def _halved(x):
    return op.mul(x, 0.5) | op.div(x, 2)


def _through_erf(x):
    return op.erf(op.mul(x, {math.sqrt(0.5), 1 / math.sqrt(2)}) | op.div(x, math.sqrt(2)))


def _through_tanh(x):
    cube = op.pow(x, 3) | op.mul(op.mul(x, x), x)
    line = op.add(op.mul(op.mul(x, 0.044715), x) | op.mul(op.mul(x, x), 0.044715), 1)
    root = math.sqrt(2 / math.pi)
    curve = op.mul(op.add(x, op.mul(cube, 0.044715)), root)
    return op.tanh(curve | op.mul(op.mul(x, root), line) | op.mul(op.mul(x, line), root))


def _one_more(x):
    """1 + tanh, and 1 + erf, also as 1 - erf of the negative."""
    negative = op.erf(op.mul(x, {-math.sqrt(0.5), -1 / math.sqrt(2)}) | op.div(x, -math.sqrt(2)))
    tanh = _through_tanh(x)
    return tanh, op.add(_through_erf(x) | tanh, 1) | op.sub(1, negative)


def _gelu(x, tanh, result):
    if x.type != result.type:
        return decline(_BROADCAST, at=result)
    return op.gelu(x, approximate="tanh" if tanh else "none")


@rule(keeps="assumes")
def recognise_gelu(x):
    """Half of x times 1 + erf(x / √2), or as much with tanh, is a gelu; assumes no -inf (Hendrycks and Gimpel 2016)."""
    tanh, total = _one_more(x)
    product = op.mul(_halved(x), total)
    yield product
    return _gelu(x, tanh, product)


@rule(keeps="assumes")
def recognise_gelu_halved_last(x):
    """So is half of the product; assumes the same."""
    tanh, total = _one_more(x)
    product = op.mul(op.mul(x, total), 0.5)
    yield product
    return _gelu(x, tanh, product)


@rule(keeps="assumes")
def recognise_gelu_halved_inside(x):
    """So is x times half of the sum, or times the sum of halves; assumes the same."""
    erf, tanh = _through_erf(x), _through_tanh(x)
    product = op.mul(x, _halved(op.add(erf | tanh, 1)) | op.add(_halved(erf | tanh), 0.5))
    yield product
    return _gelu(x, tanh, product)


def _exp_of_negative(x):
    return op.add(op.exp(op.neg(x) | op.mul(x, -1)), 1)


@rule(keeps="rounding")
def recognise_sigmoid(x):
    """The reciprocal of 1 + exp(-x) is the logistic function: an exponential that overflows gives 0."""
    quotient = op.div(1, _exp_of_negative(x))
    yield quotient
    return op.sigmoid(x) if x.type == quotient.type else decline(_BROADCAST, at=quotient)


@rule(keeps="rounding")
def recognise_sigmoid_of_reciprocal(x):
    """The same, where a reciprocal is an op."""
    reciprocal = op.reciprocal(_exp_of_negative(x))
    yield reciprocal
    return op.sigmoid(x) if x.type == reciprocal.type else decline(_BROADCAST, at=reciprocal)


@rule(keeps="rounding")
def recognise_sigmoid_of_tanh(x):
    """Half of 1 + tanh(x / 2) is the logistic function."""
    total = op.add(_halved(op.tanh(_halved(x))), 0.5)
    yield total
    return op.sigmoid(x) if x.type == total.type else decline(_BROADCAST, at=total)


@rule(keeps="assumes")
def recognise_silu(x):
    """A number times its logistic function is a sigmoid linear unit; assumes no -inf (Ramachandran et al. 2017)."""
    yield op.mul(x, op.sigmoid(x))
    return op.silu(x)


@rule(keeps="assumes")
def recognise_scaled_silu(x, a: Constant):
    """So it is times that of its multiple, of 1.702 almost a gelu; assumes no infinities (Hendrycks, Gimpel 2016)."""
    product = op.mul(x, op.sigmoid(op.mul(x, a)))
    yield product
    if x.type != product.type:
        return decline(_BROADCAST, at=product)
    alpha = _number(a)
    return decline("it is not one number", at=a) if alpha is None else op.silu(x, alpha=alpha)


@rule(keeps="assumes")
def recognise_silu_of_exp(x):
    """A number divided by 1 + exp(-x) is a sigmoid linear unit; assumes no -inf."""
    quotient = op.div(x, _exp_of_negative(x))
    yield quotient
    return op.silu(x) if x.type == quotient.type else decline(_BROADCAST, at=quotient)


@rule(keeps="rounding")
def recognise_softplus(x):
    """The logarithm of exp(x) + 1 is the smooth rectifier, which does not overflow (Glorot et al. 2011)."""
    logarithm = op.log(op.add(op.exp(x), 1))
    yield logarithm
    return op.softplus(x) if x.type == logarithm.type else decline(_BROADCAST, at=logarithm)


@rule(keeps="rounding")
def recognise_stable_softplus(x):
    """So is max(x, 0) + log(exp(-abs(x)) + 1)."""
    rectified = op.relu(x) | op.maximum(x, 0)
    total = op.add(rectified, op.log(op.add(op.exp(op.neg(op.abs(x))), 1)) | op.softplus(op.neg(op.abs(x))))
    yield total
    return op.softplus(x) if x.type == total.type else decline(_BROADCAST, at=total)


@rule(keeps="assumes")
def recognise_mish(x):
    """A number times the hyperbolic tangent of its smooth rectifier is its mish; assumes no -inf (Misra 2019)."""
    yield op.mul(x, op.tanh(op.softplus(x)))
    return op.mish(x)


@rule(keeps="assumes")
def recognise_softsign(x):
    """A number divided by 1 + abs(x) is its softsign; assumes no infinities."""
    quotient = op.div(x, op.add(op.abs(x), 1))
    yield quotient
    if x.type != quotient.type or element_kind(x.type.element) != "float":
        return decline(_NO_FLOAT, at=quotient)
    return op.softsign(x)


def _number(c):
    """The number that all entries of a constant are, or None."""
    entries = c.value.reshape(-1)
    return float(entries[0]) if entries.size and (entries == entries[0]).all() else None


@rule(keeps="rounding")
def recognise_hard_sigmoid(x, a: Constant, b: Constant):
    """A line limited to 0 and 1 is the logistic function of straight pieces (ONNX specification, HardSigmoid)."""
    limited = op.clip(op.add(op.mul(x, a), b), low=0, high=1)
    yield limited
    if x.type != limited.type or element_kind(x.type.element) != "float":
        return decline(_NO_FLOAT, at=limited)
    alpha, beta = _number(a), _number(b)
    if alpha is None or beta is None:
        return decline("its slope or its offset is not one number", at=limited)
    return op.hard_sigmoid(x, alpha=alpha, beta=beta)


@rule(keeps="rounding")
def recognise_hard_sigmoid_of_six(x):
    """A sixth of x + 3, limited to 0 and 6, is one (Howard et al. 2019)."""
    limited = op.clip(op.add(x, 3), low=0, high=6)
    share = op.mul(limited, 1 / 6)
    yield share
    return _hard_sigmoid(x, share)


@rule(keeps="rounding")
def recognise_hard_sigmoid_divided_by_six(x):
    """The same, with a division."""
    share = op.div(op.clip(op.add(x, 3), low=0, high=6), 6)
    yield share
    return _hard_sigmoid(x, share)


def _hard_sigmoid(x, share):
    if x.type != share.type or element_kind(x.type.element) != "float":
        return decline(_NO_FLOAT, at=share)
    return op.hard_sigmoid(x, alpha=1 / 6, beta=0.5)


_A_SIXTH: Any = {float(kind(1 / 6)) for kind in (np.float32, np.float64)}


@rule(keeps="assumes")
def recognise_hard_swish(x):
    """A number times its logistic function of straight pieces is a hard swish; assumes no -inf (Howard et al. 2019)."""
    yield op.mul(x, op.hard_sigmoid(x, alpha=_A_SIXTH, beta=0.5))
    return op.hard_swish(x)


@rule(keeps="assumes")
def recognise_hard_swish_of_six(x):
    """So is a sixth of x times x + 3, limited to 0 and 6; assumes no -inf."""
    limited = op.clip(op.add(x, 3), low=0, high=6)
    product = op.mul(op.mul(x, limited), 1 / 6)
    yield product
    return _hard_swish(x, product)


@rule(keeps="assumes")
def recognise_hard_swish_divided_by_six(x):
    """The same, with a division; assumes no -inf."""
    limited = op.clip(op.add(x, 3), low=0, high=6)
    quotient = op.div(op.mul(x, limited), 6)
    yield quotient
    return _hard_swish(x, quotient)


@rule(keeps="assumes")
def recognise_hard_swish_of_sixth(x):
    """The same, with a sixth of x at first; assumes no -inf."""
    product = op.mul(op.mul(x, 1 / 6) | op.div(x, 6), op.clip(op.add(x, 3), low=0, high=6))
    yield product
    return _hard_swish(x, product)


def _hard_swish(x, result):
    if x.type != result.type or element_kind(x.type.element) != "float":
        return decline(_NO_FLOAT, at=result)
    return op.hard_swish(x)


@rule(keeps="rounding")
def recognise_prelu(x, slope: Constant):
    """The positive part and a multiple of the negative part, which is at most 0 (He et al. 2015)."""
    negative = op.minimum(x, 0) | op.clip(x, low=None, high=0) | op.neg(op.relu(op.neg(x)))
    total = op.add(op.relu(x) | op.maximum(x, 0), op.mul(negative, slope))
    yield total
    return _parts(x, slope, slope.value, total)


@rule(keeps="rounding")
def recognise_prelu_of_relus(x, slope: Constant):
    """The same of two rectifiers, as Keras writes it, whose slope is negated."""
    total = op.add(op.relu(x), op.mul(op.relu(op.neg(x)), slope))
    yield total
    return _parts(x, slope, -slope.value, total)


@rule(keeps="rounding")
def recognise_prelu_of_difference(x, slope: Constant):
    """The same of two rectifiers, subtracted."""
    total = op.sub(op.relu(x), op.mul(op.relu(op.neg(x)), slope))
    yield total
    return _parts(x, slope, slope.value, total)


def _parts(x, slope, slopes, result):
    if x.type != result.type or element_kind(x.type.element) != "float":
        return decline(_NO_FLOAT, at=result)
    if not slopes.size:
        return decline("it has no entries", at=slope)
    number = float(slopes.flat[0])
    return op.leaky_relu(x, alpha=number) if (slopes == slopes.flat[0]).all() else op.prelu(x, slopes)


RECOGNISE_ACTIVATIONS = (
    recognise_sigmoid,
    recognise_sigmoid_of_reciprocal,
    recognise_sigmoid_of_tanh,
    recognise_gelu,
    recognise_gelu_halved_last,
    recognise_gelu_halved_inside,
    recognise_silu,
    recognise_scaled_silu,
    recognise_silu_of_exp,
    recognise_softplus,
    recognise_stable_softplus,
    recognise_mish,
    recognise_softsign,
    recognise_hard_sigmoid,
    recognise_hard_sigmoid_of_six,
    recognise_hard_sigmoid_divided_by_six,
    recognise_hard_swish,
    recognise_hard_swish_of_six,
    recognise_hard_swish_divided_by_six,
    recognise_hard_swish_of_sixth,
    recognise_prelu,
    recognise_prelu_of_relus,
    recognise_prelu_of_difference,
)
"""Activations from exponentials, limits and choices."""
