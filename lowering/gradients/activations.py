"""Gradients of activations. At a kink, the convention of PyTorch holds."""

from __future__ import annotations

import math

from graphrewrite import op, rule
from graphrewrite.lowering.gradients.shapes import number, summed

__all__ = ["DIFFERENTIATE_ACTIVATIONS"]


@rule(keeps="rounding")
def differentiate_relu(g, x):
    """What is above zero has the gradient."""
    yield op.relu.vjp(g, x)
    return op.where(op.greater(x, 0.0), g, number(0, g))


@rule(keeps="rounding")
def differentiate_leaky_relu(g, x):
    """What is above zero has the gradient, anything else a multiple of it."""
    d = op.leaky_relu.vjp(g, x)
    yield d
    return op.where(op.greater(x, 0.0), g, g * d.alpha)


@rule(keeps="rounding")
def differentiate_prelu(g, x, slope):
    """What is above zero has the gradient, anything else the slope times it; the slope has the operand times it."""
    d = op.prelu.vjp(g, x, slope)
    yield d
    above = op.greater(x, 0.0)
    return summed(op.where(above, g, g * slope) if d.wrt == 0 else op.where(above, number(0, g), g * x), d)


@rule(keeps="rounding")
def differentiate_threshold(g, x):
    """What is above the threshold has the gradient."""
    d = op.threshold.vjp(g, x)
    yield d
    return op.where(op.greater(x, number(d.alpha, x)), g, number(0, g))


@rule(keeps="rounding")
def differentiate_clip(g, x):
    """What is within the limits has the gradient, the limits included."""
    d = op.clip.vjp(g, x)
    yield d
    return _within(g, x, d.low, d.high)


@rule(keeps="rounding")
def differentiate_hard_tanh(g, x):
    """What is between the limits has the gradient."""
    d = op.hard_tanh.vjp(g, x)
    yield d
    between = op.logical_and(op.greater(x, number(d.low, x)), op.less(x, number(d.high, x)))
    return op.where(between, g, number(0, g))


@rule(keeps="rounding")
def differentiate_hard_sigmoid(g, x):
    """Where the line is between 0 and 1, it has its slope."""
    d = op.hard_sigmoid.vjp(g, x)
    yield d
    line = x * d.alpha + d.beta
    between = op.logical_and(op.greater(line, 0.0), op.less(line, 1.0))
    return op.where(between, g * d.alpha, number(0, g))


def _within(g, x, low, high):
    # Between equal limits there is one value, of which no number has a gradient.
    below, above = (op.less_or_equal, op.greater_or_equal) if low == high else (op.less, op.greater)
    for limit, outside in ((low, below), (high, above)):
        if limit is not None:
            g = op.where(outside(x, number(limit, x)), number(0, g), g)
    return g


@rule(keeps="rounding")
def differentiate_sigmoid(g, x):
    """d(y) = y * (1 - y) dx."""
    yield op.sigmoid.vjp(g, x)
    y = op.sigmoid(x)
    return g * (y * (1.0 - y))


@rule(keeps="rounding")
def differentiate_tanh(g, x):
    """d(y) = (1 - y**2) dx."""
    yield op.tanh.vjp(g, x)
    y = op.tanh(x)
    return g * (1.0 - y * y)


@rule(keeps="rounding")
def differentiate_elu(g, x):
    """Above zero dx, below alpha * exp(x) dx; the exponential of what is above cannot overflow."""
    d = op.elu.vjp(g, x)
    yield d
    return op.where(op.greater(x, 0.0), g, g * (op.exp(op.minimum(x, 0.0)) * d.alpha))


@rule(keeps="rounding")
def differentiate_selu(g, x):
    """Above zero gamma dx, below gamma * alpha * exp(x) dx."""
    d = op.selu.vjp(g, x)
    yield d
    return op.where(op.greater(x, 0.0), g * d.gamma, g * (op.exp(op.minimum(x, 0.0)) * (d.gamma * d.alpha)))


@rule(keeps="rounding")
def differentiate_celu(g, x):
    """Above zero dx, below exp(x / alpha) dx."""
    d = op.celu.vjp(g, x)
    yield d
    return op.where(op.greater(x, 0.0), g, g * op.exp(op.minimum(x, 0.0) / d.alpha))


@rule(keeps="rounding")
def differentiate_softplus(g, x):
    """d(log(1 + exp(x))) = sigmoid(x) dx."""
    yield op.softplus.vjp(g, x)
    return g * op.sigmoid(x)


@rule(keeps="rounding")
def differentiate_softsign(g, x):
    """d(x / (1 + |x|)) = dx / (1 + |x|)**2."""
    yield op.softsign.vjp(g, x)
    scale = op.abs(x) + 1.0
    return g / (scale * scale)


@rule(keeps="rounding")
def differentiate_silu(g, x):
    """d(x * s) = (s + alpha * x * s * (1 - s)) dx, s the logistic function of alpha * x."""
    d = op.silu.vjp(g, x)
    yield d
    s = op.sigmoid(x * d.alpha)
    return g * (s + x * d.alpha * (s * (1.0 - s)))


@rule(keeps="rounding")
def differentiate_gelu(g, x):
    """d(x * P(x)) = (P(x) + x * p(x)) dx, P the normal distribution and p its density."""
    yield op.gelu.vjp(g, x, approximate="none")
    share = (op.erf(x * math.sqrt(0.5)) + 1.0) * 0.5
    return g * (share + x * (op.exp(x * x * -0.5) * (1 / math.sqrt(2 * math.pi))))


@rule(keeps="rounding")
def differentiate_gelu_of_tanh(g, x):
    """d(x * (1 + t) / 2) = ((1 + t) / 2 + x * (1 - t**2) * dz / 2) dx, t the tangent of z."""
    yield op.gelu.vjp(g, x, approximate="tanh")
    factor = math.sqrt(2 / math.pi)
    t = op.tanh(x * (x * x * 0.044715 + 1.0) * factor)
    inner = x * x * (3 * 0.044715 * factor) + factor
    return g * ((t + 1.0) * 0.5 + x * (1.0 - t * t) * inner * 0.5)


@rule(keeps="rounding")
def differentiate_mish(g, x):
    """d(x * t) = (t + x * (1 - t**2) * sigmoid(x)) dx, t the tangent of softplus(x)."""
    yield op.mish.vjp(g, x)
    t = op.tanh(op.softplus(x))
    return g * (t + x * (1.0 - t * t) * op.sigmoid(x))


@rule(keeps="rounding")
def differentiate_hard_swish(g, x):
    """Above 3 dx, between -3 and 3 (x / 3 + 1 / 2) dx."""
    yield op.hard_swish.vjp(g, x)
    slope = op.where(op.less(x, 3.0), x / 3.0 + 0.5, number(1, x))
    return g * op.where(op.greater(x, -3.0), slope, number(0, x))


@rule(keeps="rounding")
def differentiate_softmax(g, x):
    """d(y) = y * (dx - sum(y * dx))."""
    d = op.softmax.vjp(g, x)
    yield d
    y = op.softmax(x, axis=d.axis)
    return y * (g - op.reduce_sum(g * y, axes=(d.axis,)))


@rule(keeps="rounding")
def differentiate_log_softmax(g, x):
    """d(y) = dx - sum(softmax(x) * dx)."""
    d = op.log_softmax.vjp(g, x)
    yield d
    return g - op.softmax(x, axis=d.axis) * op.reduce_sum(g, axes=(d.axis,))


DIFFERENTIATE_ACTIVATIONS = (
    differentiate_relu,
    differentiate_leaky_relu,
    differentiate_prelu,
    differentiate_threshold,
    differentiate_clip,
    differentiate_hard_tanh,
    differentiate_hard_sigmoid,
    differentiate_sigmoid,
    differentiate_tanh,
    differentiate_elu,
    differentiate_selu,
    differentiate_celu,
    differentiate_softplus,
    differentiate_softsign,
    differentiate_silu,
    differentiate_gelu,
    differentiate_gelu_of_tanh,
    differentiate_mish,
    differentiate_hard_swish,
    differentiate_softmax,
    differentiate_log_softmax,
)
"""Gradients of activations and of softmaxes."""
