"""Right rules about activations and limits."""

from __future__ import annotations

from graphrewrite import decline, op, rule


@rule(shared="keep")
def rectified_twice(x):
    """A rectified value rectified again is the same."""
    first = op.relu(x)
    yield op.relu(first)
    return first


@rule
def relu_as_maximum(x):
    """A rectifier is the greater of x and zero."""
    yield op.relu(x)
    if str(x.type.element)[0] != "f":
        return decline("no float")
    return op.maximum(x, 0)


@rule
def rectified_absolute_value(x):
    """An absolute value is not negative, but for the least integer."""
    size = op.abs(x)
    yield op.relu(size)
    return size if str(x.type.element)[0] == "f" else decline("the least integer has no absolute value")


@rule
def limits_of_a_rectified_value(x):
    """A rectifier is a lower limit of zero, and an upper limit comes after it."""
    limited = op.clip(op.relu(x))
    yield limited
    if limited.low is not None and limited.low > 0:
        return decline("the lower limit is above zero")
    return op.clip(x, low=0, high=limited.high)


@rule
def rectified_limits(x):
    """Rectifying after limits is a lower limit of zero, where the upper one is not below it."""
    limited = op.clip(x)
    yield op.relu(limited)
    if (limited.high is not None and limited.high < 0) or (limited.low is not None and limited.low > 0):
        return decline("the limits do not hold zero")
    return op.clip(x, low=0, high=limited.high)


@rule
def turned_limits(x):
    """The limits of a negated value change signs and places, where the lower is below the upper one."""
    limited = op.clip(op.neg(x))
    yield limited
    if limited.low is None or limited.high is None or limited.low >= limited.high:
        return decline("a limit is missing, or the limits cross")
    if str(x.type.element)[0] != "f" or 0 in (limited.low, limited.high):
        return decline("no float, or a limit whose sign does not show")
    return op.neg(op.clip(x, low=-limited.high, high=-limited.low))


@rule(shared="keep")
def limited_twice(x, a, b):
    """The same limits twice are the same limits."""
    inner = op.clip(x, low=a, high=b)
    yield op.clip(inner, low=a, high=b)
    return inner


@rule
def no_limits(x):
    """Limits that are not there do not limit."""
    yield op.clip(x, low=None, high=None)
    return x


@rule
def tanh_is_odd(x):
    """The hyperbolic tangent of a negative is the negative."""
    yield op.tanh(op.neg(x))
    return op.neg(op.tanh(x))


@rule(keeps="rounding")
def sigmoid_of_a_negative(x):
    """The logistic function of a negative is one minus that of x."""
    yield op.sigmoid(op.neg(x))
    return op.sub(1, op.sigmoid(x))


@rule
def positive_slope(x):
    """A rectifier behind a leaky one hides its slope, where that is not negative."""
    leaky = op.leaky_relu(x)
    yield op.relu(leaky)
    return op.maximum(x, 0) if 0 < leaky.alpha < 100 else decline("the slope is negative")


@rule
def rectified_sigmoid(x):
    """A logistic function is not negative."""
    soft = op.sigmoid(x)
    yield op.relu(soft)
    return soft


@rule(keeps="rounding")
def exponential_of_a_sum(x, y):
    """The exponential of a sum is a product of exponentials."""
    yield op.exp(op.add(x, y))
    if x.op_name != "input" or y.op_name != "input":
        return decline("the sum may be great")
    return op.mul(op.exp(x), op.exp(y))


@rule
def lesser_of_negatives(x, y):
    """The lesser of negatives is the negative of the greater, in floats."""
    yield op.abs(op.minimum(op.neg(x), op.neg(y)))
    return op.abs(op.maximum(x, y)) if str(x.type.element)[0] == "f" else decline("the least integer has no negative")


@rule
def monotone_limits(x, y):
    """Limits before the greater of two are limits behind it."""
    limited = op.clip(op.maximum(x, y))
    yield op.abs(limited)
    return op.abs(op.maximum(op.clip(x, like=limited), op.clip(y, like=limited)))
