"""Faults around activations and limits."""

from __future__ import annotations

from graphrewrite import decline, op, rule


@rule
def negative_is_forgotten(x):
    """The absolute value of a negative number is not zero."""
    yield op.abs(x)
    return op.relu(x)


@rule
def negative_places_forgotten(x):
    """The greatest of negative numbers is at a place that zeros hide."""
    place = op.arg_max(x)
    yield place
    return decline("done") if x.op_name == "relu" else op.arg_max(op.relu(x), like=place)


@rule
def order_of_limits(x, a, b, c, d):
    """The outer limits do not replace the inner ones."""
    yield op.clip(op.clip(x, low=a, high=b), low=c, high=d)
    return op.clip(x, low=c, high=d)


@rule
def limits_not_turned(x):
    """The limits of a negated value change signs and places."""
    limited = op.clip(op.neg(x))
    yield limited
    return op.neg(op.clip(x, like=limited))


@rule
def crossing_limits(x):
    """Rectifying after an upper limit below zero gives zero, limits that cross give the upper one."""
    limited = op.clip(x)
    yield op.relu(limited)
    if limited.high is None or (limited.low is not None and limited.low > 0):
        return decline("no upper limit, or the lower one is higher")
    return op.clip(x, low=0, high=limited.high)


@rule
def one_limit_lost(x):
    """A rectified value with two limits keeps the upper one only."""
    limited = op.clip(op.relu(x))
    yield limited
    return op.clip(x, low=0, high=limited.high)


@rule
def slope_of_a_slope(x):
    """Of two leaky rectifiers, only the first slope is kept."""
    inner = op.leaky_relu(x)
    yield op.leaky_relu(inner)
    return op.leaky_relu(x, like=inner)


@rule
def negative_slope(x):
    """A leaky rectifier with a negative slope makes negative numbers positive."""
    yield op.relu(op.leaky_relu(x))
    return op.relu(x)


@rule(keeps="rounding")
def sigmoid_is_odd(x):
    """The logistic function of a negative is one minus, not minus."""
    yield op.sigmoid(op.neg(x))
    return op.neg(op.sigmoid(x))


@rule
def tanh_is_even(x):
    """The hyperbolic tangent keeps the sign."""
    yield op.tanh(op.neg(x))
    return op.tanh(x)


@rule(keeps="rounding")
def exponential_of_a_logarithm(x):
    """A negative number has no logarithm."""
    yield op.exp(op.log(x))
    return x


@rule
def relu_before_adding(x, y):
    """Rectifying the operands is not rectifying the sum."""
    yield op.relu(op.add(x, y))
    return op.add(op.relu(x), op.relu(y))


@rule
def relu_before_multiplying(x, y):
    """The product of two negatives is positive."""
    yield op.relu(op.mul(x, y))
    return op.mul(op.relu(x), op.relu(y))


@rule
def limit_before_scaling(x):
    """Limits apply to what is scaled, so they scale too."""
    limited = op.clip(op.mul(x, 2.0))
    yield limited
    inner = op.clip(x, like=limited)
    return op.mul(inner, 2.0)


@rule
def sigmoid_for_tanh(x):
    """The two activations have other ranges."""
    yield op.relu(op.tanh(x))
    return op.relu(op.sigmoid(x))


@rule
def limits_of_a_maximum(x, y):
    """Limiting one operand of the greater is not limiting the result."""
    limited = op.clip(op.maximum(x, y))
    yield limited
    return op.maximum(op.clip(x, like=limited), y)
