"""Right rules about sums, products, quotients, zeros with a sign, NaN and infinities."""

from __future__ import annotations

import numpy as np

from graphrewrite import Constant, decline, op, rule
from graphrewrite.types import element_kind


def _is_integer(x):
    return isinstance(x.type.element, str) and element_kind(x.type.element) == "integer"


@rule
def drop_double_negation(x):
    """Minus minus x is x, NaN and zeros included."""
    yield op.neg(op.neg(x))
    return x


@rule
def subtract_negative(x, y):
    """X - (-y) is x + y, bit for bit (IEEE 754-2019, 5.4.1)."""
    yield op.sub(x, op.neg(y))
    return op.add(x, y)


@rule
def add_negative(x, y):
    """X + (-y) is x - y, bit for bit."""
    yield op.add(x, op.neg(y))
    return op.sub(x, y)


@rule
def double(x):
    """X + x is 2x: exact in floats, where both overflow alike, and in integers, where both wrap around alike."""
    yield op.add(x, x)
    return op.mul(x, 2) if x.type.element != "bool" and str(x.type.element)[0] in "fi" else decline("no number")


@rule
def drop_factor_one(x):
    """X · 1 is x, where the one does not broadcast it."""
    product = op.mul(x, 1)
    yield product
    return x if x.type == product.type else decline("the one broadcasts")


@rule
def add_minus_zero(x, c: {-0.0}):
    """-0 is neutral in sums: x + (-0) is x for every x (IEEE 754-2019, 6.3)."""
    total = op.add(x, c)
    yield total
    if x.type != total.type:
        return decline("the zero broadcasts")
    return x if np.signbit(c.value).all() else decline("some zero is +0")


@rule
def negative_factor(x):
    """X · (-1) is -x, where the factor does not broadcast it."""
    product = op.mul(x, -1)
    yield product
    return op.neg(x) if x.type == product.type else decline("the factor broadcasts")


@rule
def product_of_negatives(x, y):
    """Two signs cancel in a product."""
    yield op.mul(op.neg(x), op.neg(y))
    return op.mul(x, y)


@rule
def quotient_of_negatives(x, y):
    """Two signs cancel in a quotient."""
    yield op.div(op.neg(x), op.neg(y))
    return op.div(x, y) if str(x.type.element)[0] in "fb" else decline("the least integer is its own negative")


@rule
def sign_out_of_a_product(x, y):
    """A product has the sign of its factors, zeros and infinities included."""
    yield op.mul(op.neg(x), y)
    return op.neg(op.mul(x, y))


@rule
def sign_out_of_a_quotient(x, y):
    """A quotient has the sign of its operands."""
    yield op.div(op.neg(x), y)
    return op.neg(op.div(x, y)) if str(x.type.element)[0] in "fb" else decline("the least integer is its own negative")


@rule
def absolute_value_of_a_negative(x):
    """The absolute value knows no sign, where there is one."""
    yield op.abs(op.neg(x))
    return decline("unsigned numbers wrap around") if str(x.type.element).startswith("u") else op.abs(x)


@rule(shared="keep")
def absolute_value_twice(x):
    """The absolute value of an absolute value is the same."""
    first = op.abs(x)
    yield op.abs(first)
    return first


@rule
def absolute_value_of_a_product(x, y):
    """The absolute value of a product is the product of the absolute values, for no rounding depends on signs."""
    yield op.abs(op.mul(x, y))
    return op.mul(op.abs(x), op.abs(y)) if str(x.type.element)[0] == "f" else decline("an integer wraps around")


@rule
def multiply_by_a_power_of_two(x, c: Constant):
    """A division by a power of two is an exact product, where the reciprocal is a normal number."""
    yield op.div(x, c)
    if c.value.dtype.kind != "f":
        return decline("integers have no reciprocal")
    mantissas, exponents = np.frexp(c.value)
    if not (np.abs(mantissas) == 0.5).all() or np.abs(exponents).max(initial=0) > 10:
        return decline("no power of two")
    return op.mul(x, (1 / c.value).astype(c.value.dtype))


@rule
def fuse_multiply_add(x, y, z):
    """A multiply-add rounds after each of its two operations, as the two ops do."""
    yield op.add(op.mul(x, y), z)
    return op.fma(x, y, z)


@rule
def split_multiply_add(x, y, z):
    """The reverse."""
    yield op.fma(x, y, z)
    return op.add(op.mul(x, y), z)


@rule
def associate_integers(x, y, z):
    """Sums of integers do not depend on their order, for they wrap around."""
    yield op.sub(op.add(x, y), z)
    return op.add(x, op.sub(y, z)) if _is_integer(x) else decline("floats round")


@rule
def cancel_in_integers(x, y):
    """(x + y) - y is x in integers, unless y broadcasts it."""
    total = op.sub(op.add(x, y), y)
    yield total
    return x if _is_integer(x) and total.type == x.type else decline("floats round, or it broadcasts")


@rule(keeps="rounding")
def multiply_out(x, y, z):
    """A product with a sum is a sum of products, but for rounding."""
    yield op.mul(x, op.add(y, z))
    return op.add(op.mul(x, y), op.mul(x, z))


@rule(keeps="rounding")
def associate_floats(x, y, z):
    """Sums of three depend on their order by their rounding only."""
    yield op.sub(op.sub(x, y), z)
    return op.sub(x, op.add(y, z))


@rule(keeps="rounding")
def cancel_in_floats(x, y):
    """(x + y) - y is x but for rounding."""
    total = op.sub(op.add(x, y), y)
    yield total
    return x if total.type == x.type else decline("it broadcasts")


@rule(keeps="rounding")
def difference_of_zero(x):
    """0 - x is -x but for the sign of zero."""
    difference = op.sub(0, x)
    yield difference
    return op.neg(x) if x.type == difference.type else decline("the zero broadcasts")


@rule(keeps="rounding")
def reciprocal(x, c: Constant):
    """A division is a product with the reciprocal, where that is finite."""
    yield op.div(x, c)
    if c.value.dtype.kind != "f":
        return decline("integers have no reciprocal")
    if not np.all(np.abs(c.value) > 1e-3):
        return decline("its reciprocal is too great")
    return op.mul(x, (1 / c.value).astype(c.value.dtype))


@rule
def greatest_of_three(x, y, z):
    """The greatest of three is the negative of the least negative, NaN included, but for the sign of a zero."""
    yield op.abs(op.maximum(op.maximum(x, y), z))
    if str(x.type.element)[0] != "f":
        return decline("the least integer has no negative")
    return op.abs(op.minimum(op.neg(x), op.minimum(op.neg(y), op.neg(z))))


@rule
def greatest_of_equals(x):
    """The greater of two equals is either."""
    yield op.maximum(x, x)
    return x


@rule
def negated_constant(x, c: Constant):
    """Subtracting a constant is adding its negative."""
    yield op.sub(x, c)
    return op.add(x, -c.value)


@rule
def square_root_of_a_square(x):
    """The root of a square is the absolute value, in a format whose squares are exact floats."""
    real = op.from_fixed(x)
    yield op.sqrt(op.mul(real, real))
    element = x.type.element
    if element.width > 11 or real.type.element not in ("f32", "f64") or abs(real.fraction) > 20:
        return decline("the square may round")
    return op.abs(real)
