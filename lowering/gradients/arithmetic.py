"""Gradients of arithmetic, of elementary functions and of choices, entry by entry."""

from __future__ import annotations

import math

from graphrewrite import op, rule
from graphrewrite.lowering.composite.precision import converted
from graphrewrite.lowering.gradients.shapes import number, summed, zeros

__all__ = ["DIFFERENTIATE_ARITHMETIC"]


@rule(keeps="rounding")
def differentiate_add(g, x, y):
    """d(x + y) = dx + dy."""
    d = op.add.vjp(g, x, y)
    yield d
    return summed(g, d)


@rule(keeps="rounding")
def differentiate_sub(g, x, y):
    """d(x - y) = dx - dy."""
    d = op.sub.vjp(g, x, y)
    yield d
    return summed((g, -g)[d.wrt], d)


@rule(keeps="rounding")
def differentiate_mul(g, x, y):
    """d(x * y) = y dx + x dy."""
    d = op.mul.vjp(g, x, y)
    yield d
    return summed(g * (y, x)[d.wrt], d)


@rule(keeps="rounding")
def differentiate_div(g, x, y):
    """d(x / y) = dx / y - x / y**2 dy."""
    d = op.div.vjp(g, x, y)
    yield d
    return summed(g / y if d.wrt == 0 else -(g * x / (y * y)), d)


@rule(keeps="rounding")
def differentiate_mod(g, x, y):
    """d(x - n * y) = dx - n dy, n the whole part of the quotient, towards zero with `fmod`."""
    d = op.mod.vjp(g, x, y)
    yield d
    if d.wrt == 0:
        return summed(g, d)
    ratio = x / y
    whole = op.sign(ratio) * op.floor(op.abs(ratio)) if d.fmod else op.floor(ratio)
    return summed(-(g * whole), d)


@rule(keeps="rounding")
def differentiate_pow(g, x, y):
    """d(x**y) = y * x**(y - 1) dx + x**y * log(x) dy; zero where y is zero, or x is."""
    d = op.pow.vjp(g, x, y)
    yield d
    power = converted(y, x.type.element)
    if d.wrt == 0:
        below = op.where(op.equal(power, 0.0), number(1, x), power - 1.0)
        return summed(g * (power * op.pow(x, below)), d)
    slope = op.pow(x, power) * op.log(op.where(op.equal(x, 0.0), number(1, x), x))
    return summed(converted(g * slope, d.type.element), d)


@rule(keeps="rounding")
def differentiate_maximum(g, x, y):
    """The greater operand has the gradient; of equal ones each has half of it."""
    d = op.maximum.vjp(g, x, y)
    yield d
    return summed(_of_first(op.greater(*((x, y), (y, x))[d.wrt]), op.equal(x, y), g), d)


@rule(keeps="rounding")
def differentiate_minimum(g, x, y):
    """The lesser operand has the gradient; of equal ones each has half of it."""
    d = op.minimum.vjp(g, x, y)
    yield d
    return summed(_of_first(op.less(*((x, y), (y, x))[d.wrt]), op.equal(x, y), g), d)


def _of_first(wins, ties, g):
    return op.where(wins, g, op.where(ties, g * 0.5, number(0, g)))


@rule(keeps="rounding")
def differentiate_where(g, c, x, y):
    """What is chosen has the gradient."""
    d = op.where.vjp(g, c, x, y)
    yield d
    zero = number(0, g)
    return summed(op.where(c, g, zero) if d.wrt == 1 else op.where(c, zero, g), d)


@rule(keeps="rounding")
def differentiate_neg(g, x):
    """d(-x) = -dx."""
    yield op.neg.vjp(g, x)
    return -g


@rule(keeps="rounding")
def differentiate_abs(g, x):
    """d|x| = sign(x) dx, and zero at zero."""
    yield op.abs.vjp(g, x)
    return g * op.sign(x)


@rule(keeps="rounding")
def differentiate_reciprocal(g, x):
    """d(1 / x) = -1 / x**2 dx."""
    yield op.reciprocal.vjp(g, x)
    return -(g / (x * x))


@rule(keeps="rounding")
def differentiate_sqrt(g, x):
    """d(sqrt(x)) = 1 / (2 * sqrt(x)) dx."""
    yield op.sqrt.vjp(g, x)
    return g * 0.5 / op.sqrt(x)


@rule(keeps="rounding")
def differentiate_exp(g, x):
    """d(exp(x)) = exp(x) dx."""
    yield op.exp.vjp(g, x)
    return g * op.exp(x)


@rule(keeps="rounding")
def differentiate_log(g, x):
    """d(log(x)) = 1 / x dx."""
    yield op.log.vjp(g, x)
    return g / x


@rule(keeps="rounding")
def differentiate_erf(g, x):
    """d(erf(x)) = 2 / sqrt(pi) * exp(-x**2) dx."""
    yield op.erf.vjp(g, x)
    return g * (op.exp(-(x * x)) * (2 / math.sqrt(math.pi)))


@rule(keeps="rounding")
def differentiate_sin(g, x):
    """d(sin(x)) = cos(x) dx."""
    yield op.sin.vjp(g, x)
    return g * op.cos(x)


@rule(keeps="rounding")
def differentiate_cos(g, x):
    """d(cos(x)) = -sin(x) dx."""
    yield op.cos.vjp(g, x)
    return -(g * op.sin(x))


@rule(keeps="rounding")
def differentiate_tan(g, x):
    """d(tan(x)) = (1 + tan(x)**2) dx."""
    yield op.tan.vjp(g, x)
    slope = op.tan(x)
    return g * (slope * slope + 1.0)


@rule(keeps="rounding")
def differentiate_asin(g, x):
    """d(asin(x)) = 1 / sqrt(1 - x**2) dx."""
    yield op.asin.vjp(g, x)
    return g / op.sqrt((1.0 - x) * (x + 1.0))


@rule(keeps="rounding")
def differentiate_acos(g, x):
    """d(acos(x)) = -1 / sqrt(1 - x**2) dx."""
    yield op.acos.vjp(g, x)
    return -(g / op.sqrt((1.0 - x) * (x + 1.0)))


@rule(keeps="rounding")
def differentiate_atan(g, x):
    """d(atan(x)) = 1 / (1 + x**2) dx."""
    yield op.atan.vjp(g, x)
    return g / (x * x + 1.0)


@rule(keeps="rounding")
def differentiate_sinh(g, x):
    """d(sinh(x)) = cosh(x) dx."""
    yield op.sinh.vjp(g, x)
    return g * op.cosh(x)


@rule(keeps="rounding")
def differentiate_cosh(g, x):
    """d(cosh(x)) = sinh(x) dx."""
    yield op.cosh.vjp(g, x)
    return g * op.sinh(x)


@rule(keeps="rounding")
def differentiate_asinh(g, x):
    """d(asinh(x)) = 1 / sqrt(x**2 + 1) dx."""
    yield op.asinh.vjp(g, x)
    return g / op.sqrt(x * x + 1.0)


@rule(keeps="rounding")
def differentiate_acosh(g, x):
    """d(acosh(x)) = 1 / sqrt(x**2 - 1) dx."""
    yield op.acosh.vjp(g, x)
    return g / op.sqrt((x - 1.0) * (x + 1.0))


@rule(keeps="rounding")
def differentiate_atanh(g, x):
    """d(atanh(x)) = 1 / (1 - x**2) dx."""
    yield op.atanh.vjp(g, x)
    return g / ((1.0 - x) * (x + 1.0))


@rule(keeps="rounding")
def differentiate_step(g, x):
    """Between its steps it does not change."""
    yield (op.floor.vjp | op.ceil.vjp | op.round.vjp | op.sign.vjp)(g, x)
    return zeros(x)


@rule(keeps="rounding")
def differentiate_identity(g, x):
    """The operand itself has the gradient."""
    yield (op.identity.vjp | op.transfer.vjp | op.dropout.vjp)(g, x)
    return g


@rule(keeps="rounding")
def differentiate_cast(g, x):
    """The same number of another element type has the gradient, converted back."""
    yield op.cast.vjp(g, x)
    return converted(g, x.type.element)


@rule(keeps="rounding")
def differentiate_sum(g, xs):
    """Each operand of a sum has the gradient."""
    d = op.sum.vjp(g, *xs)
    yield d
    return summed(g, d)


@rule(keeps="rounding")
def differentiate_mean(g, xs):
    """Each operand of a mean has its share of the gradient."""
    d = op.mean.vjp(g, *xs)
    yield d
    return summed(g / float(len(xs)), d)


@rule(keeps="rounding")
def differentiate_fma(g, x, y, z):
    """d(x * y + z) = y dx + x dy + dz."""
    d = op.fma.vjp(g, x, y, z)
    yield d
    return summed((g * y, g * x, g)[d.wrt], d)


DIFFERENTIATE_ARITHMETIC = (
    differentiate_add,
    differentiate_sub,
    differentiate_mul,
    differentiate_div,
    differentiate_mod,
    differentiate_pow,
    differentiate_maximum,
    differentiate_minimum,
    differentiate_where,
    differentiate_neg,
    differentiate_abs,
    differentiate_reciprocal,
    differentiate_sqrt,
    differentiate_exp,
    differentiate_log,
    differentiate_erf,
    differentiate_sin,
    differentiate_cos,
    differentiate_tan,
    differentiate_asin,
    differentiate_acos,
    differentiate_atan,
    differentiate_sinh,
    differentiate_cosh,
    differentiate_asinh,
    differentiate_acosh,
    differentiate_atanh,
    differentiate_step,
    differentiate_identity,
    differentiate_cast,
    differentiate_sum,
    differentiate_mean,
    differentiate_fma,
)
"""Gradients of arithmetic, elementary functions and choices."""
