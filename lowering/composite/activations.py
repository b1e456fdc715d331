"""Activations written as elementary functions, comparisons and choices."""

from __future__ import annotations

import math

from graphrewrite import FixedPoint, decline, op, rule
from graphrewrite.lowering.composite.axes import bare
from graphrewrite.lowering.composite.precision import converted, exact_floats, like, widened
from graphrewrite.types import SHORT_INTEGERS, integer_limits

__all__ = ["LOWER_ACTIVATIONS"]


@rule
def write_relu_by_maximum(x):
    """The rectifier is the greater of a number and zero."""
    yield op.relu(x)
    return op.maximum(x, 0)


@rule
def write_clip_by_extremes(x):
    """Limiting is the greater of a number and the lower limit, and of these the lesser and the upper limit."""
    limited = op.clip(x)
    yield limited
    # NaN differs from itself, which is known of symbols, too.
    if any(bound is not None and bound != bound for bound in (limited.low, limited.high)):
        return decline("a limit is NaN", at=limited)
    low, high = (_in_type(bound, x.type.element) for bound in (limited.low, limited.high))
    if x.type.element in SHORT_INTEGERS and (low, high) != (limited.low, limited.high):
        return decline("a limit is not a number of the element type", at=limited)
    above = x if low is None else op.maximum(x, low)
    return above if high is None else op.minimum(above, high)


def _in_type(bound, element):
    """A limit converted to an element type; truncated for integers."""
    limits = (element.minimum, element.maximum) if isinstance(element, FixedPoint) else integer_limits(element)
    return bound if bound is None or limits is None else int(min(max(bound, limits[0]), limits[1]))


@rule
def write_hard_tanh_by_clip(x):
    """The hyperbolic tangent of straight pieces is limiting (Collobert 2004)."""
    hard = op.hard_tanh(x)
    yield hard
    return op.clip(x, low=hard.low, high=hard.high)


@rule
def write_hard_sigmoid_by_clip(x):
    """The logistic function of straight pieces is a line between limits (ONNX specification, HardSigmoid)."""
    hard = op.hard_sigmoid(x)
    yield hard
    wide = exact_floats(x)
    return converted(op.clip(wide * hard.alpha + hard.beta, low=0.0, high=1.0), x.type.element)


@rule
def write_hard_swish_by_minimum(x):
    """Swish of straight pieces is a number times a limited line, and zero from -3 downwards (Howard et al. 2019)."""
    yield op.hard_swish(x)
    wide = exact_floats(x)
    # Below -3 the share is negative, and at -inf the product would be NaN: hence the choice.
    share = op.minimum(wide / 6.0 + 0.5, 1.0)
    return converted(op.where(op.less_or_equal(wide, -3.0), like(0.0, wide), wide * share), x.type.element)


@rule
def write_leaky_relu_by_where(x):
    """A leaky rectifier chooses between a number and its multiple (ONNX specification, LeakyRelu)."""
    leaky = op.leaky_relu(x)
    yield leaky
    wide = exact_floats(x)
    return converted(op.where(op.greater_or_equal(wide, 0.0), wide, wide * leaky.alpha), x.type.element)


@rule
def write_prelu_by_where(x, slope):
    """A rectifier with a learnt slope chooses between a number and its multiple (He et al. 2015)."""
    yield op.prelu(x, slope)
    return op.where(op.less(x, 0), x * bare(slope), x)


@rule
def write_threshold_by_where(x):
    """A threshold chooses between a number and zero (Konda et al. 2015)."""
    above = op.threshold(x)
    yield above
    wide = exact_floats(x)
    return converted(op.where(op.greater(wide, above.alpha), wide, like(0.0, wide)), x.type.element)


@rule(keeps="rounding")
def write_elu_by_exp(x):
    """An exponential linear unit chooses between a number and a multiple of exp(x) - 1 (Clevert et al. 2016)."""
    elu = op.elu(x)
    yield elu
    wide = widened(x)
    curve = (op.exp(op.minimum(wide, 0.0)) - 1.0) * elu.alpha
    return converted(op.where(op.greater(wide, 0.0), wide, curve), x.type.element)


@rule
def write_selu_by_elu(x):
    """A scaled exponential linear unit is a multiple of one that is not (Klambauer et al. 2017)."""
    selu = op.selu(x)
    yield selu
    return converted(op.elu(exact_floats(x), alpha=selu.alpha) * selu.gamma, x.type.element)


@rule(keeps="rounding")
def write_celu_by_exp(x):
    """A differentiable elu is max(x, 0) + min(alpha * (exp(x / alpha) - 1), 0) (Barron 2017)."""
    celu = op.celu(x)
    yield celu
    wide = widened(x)
    curve = (op.exp(wide / celu.alpha) - 1.0) * celu.alpha
    return converted(op.maximum(wide, 0.0) + op.minimum(curve, 0.0), x.type.element)


@rule(keeps="assumes")
def write_gelu_by_erf(x):
    """A Gaussian error linear unit is x * (1 + erf(x / sqrt(2))) / 2; assumes no -inf (Hendrycks and Gimpel 2016)."""
    yield op.gelu(x, approximate="none")
    wide = widened(x)
    return converted(wide * 0.5 * (op.erf(wide * math.sqrt(0.5)) + 1.0), x.type.element)


@rule(keeps="assumes")
def write_gelu_by_tanh(x):
    """The approximate gelu is x * (1 + tanh(sqrt(2 / pi) * (x + 0.044715 * x**3))) / 2; assumes no -inf."""
    yield op.gelu(x, approximate="tanh")
    wide = widened(x)
    inside = wide * (wide * wide * 0.044715 + 1.0) * math.sqrt(2 / math.pi)
    return converted(wide * 0.5 * (op.tanh(inside) + 1.0), x.type.element)


@rule(keeps="rounding")
def write_softplus_by_log(x):
    """The smooth rectifier is max(x, 0) + log(1 + exp(-abs(x))), which does not overflow (Glorot et al. 2011)."""
    yield op.softplus(x)
    wide = widened(x)
    return converted(op.maximum(wide, 0.0) + op.log(op.exp(-op.abs(wide)) + 1.0), x.type.element)


@rule
def write_softsign_by_abs(x):
    """The smooth sign is x / (1 + abs(x)), and the sign itself at the infinities (Bergstra et al. 2009)."""
    yield op.softsign(x)
    wide = exact_floats(x)
    # At the infinities the ratio is NaN.
    ratio = wide / (op.abs(wide) + 1.0)
    return converted(op.where(op.is_inf(wide), op.sign(wide), ratio), x.type.element)


@rule(keeps="assumes")
def write_silu_by_sigmoid(x):
    """A sigmoid linear unit is a number times its logistic function; assumes no -inf (Ramachandran et al. 2017)."""
    silu = op.silu(x)
    yield silu
    wide = widened(x)
    return converted(wide * op.sigmoid(wide if silu.alpha == 1 else wide * silu.alpha), x.type.element)


@rule(keeps="assumes")
def write_mish_by_tanh(x):
    """Mish is a number times the hyperbolic tangent of its smooth rectifier; assumes no -inf (Misra 2019)."""
    yield op.mish(x)
    wide = widened(x)
    return converted(wide * op.tanh(op.softplus(wide)), x.type.element)


@rule(keeps="rounding")
def write_sigmoid_by_exp(x):
    """The logistic function is 1 / (1 + exp(-x)): an exponential that overflows gives 0."""
    yield op.sigmoid(x)
    wide = widened(x)
    return converted(op.reciprocal(op.exp(-wide) + 1.0), x.type.element)


@rule(keeps="rounding")
def write_tanh_by_exp(x):
    """The hyperbolic tangent is 1 - 2 / (1 + exp(2 * x)): an exponential that overflows gives 1."""
    yield op.tanh(x)
    wide = widened(x)
    return converted(1.0 - 2.0 / (op.exp(wide * 2.0) + 1.0), x.type.element)


LOWER_ACTIVATIONS = (
    write_relu_by_maximum,
    write_hard_tanh_by_clip,
    write_hard_sigmoid_by_clip,
    write_clip_by_extremes,
    write_hard_swish_by_minimum,
    write_leaky_relu_by_where,
    write_prelu_by_where,
    write_threshold_by_where,
    write_selu_by_elu,
    write_elu_by_exp,
    write_celu_by_exp,
    write_gelu_by_erf,
    write_gelu_by_tanh,
    write_softplus_by_log,
    write_softsign_by_abs,
    write_silu_by_sigmoid,
    write_mish_by_tanh,
    write_sigmoid_by_exp,
    write_tanh_by_exp,
)
"""Activations by elementary functions, comparisons and choices."""
