"""Faults in sums, products, quotients and powers."""

from __future__ import annotations

import numpy as np

from graphrewrite import Constant, decline, op, rule


@rule
def sign_error(x, y):
    """The sign of the second operand is lost."""
    yield op.sub(x, op.neg(y))
    return op.sub(x, y)


@rule
def swapped_operands(x, y):
    """The operands of a difference keep their places, although its sign turns."""
    yield op.neg(op.sub(x, y))
    return op.sub(x, y)


@rule(keeps="rounding")
def swapped_quotient(x, y, z):
    """The quotient of a quotient divides by a quotient instead of by a product."""
    yield op.div(op.div(x, y), z)
    return op.div(x, op.div(y, z))


@rule
def missing_guard_on_broadcasting(x):
    """The constant one may broadcast the other factor."""
    yield op.mul(x, 1)
    return x


@rule
def missing_guard_on_broadcasting_zero(x):
    """The constant zero may broadcast what it is subtracted from."""
    yield op.sub(x, 0)
    return x


@rule(keeps="rounding")
def distributed_in_the_wrong_order(x, y, z):
    """A product with a difference is a difference of products, but not of these."""
    yield op.mul(x, op.sub(y, z))
    return op.sub(op.mul(x, z), op.mul(x, y))


@rule
def square_as_double(x):
    """X · x equals x + x for 0 and 2 only."""
    yield op.mul(x, x)
    return op.add(x, x)


@rule
def power_two_as_double(x):
    """X to the power of two is taken for twice x."""
    power = op.pow(x, 2)
    yield power
    return op.add(x, x) if x.type == power.type else decline("the exponent broadcasts")


@rule
def absolute_value_of_one_factor(x, y):
    """Only one factor loses its sign."""
    yield op.abs(op.mul(x, y))
    return op.mul(op.abs(x), y)


@rule
def addend_and_factor_exchanged(x, y, z):
    """Of a multiply-add, factor and addend change places."""
    yield op.fma(x, y, z)
    return op.add(op.mul(x, z), y)


@rule
def greater_for_lesser(x, y):
    """The lesser of negatives is the negative of the greater, not of the lesser."""
    yield op.minimum(op.neg(x), op.neg(y))
    return op.neg(op.minimum(x, y))


@rule(keeps="rounding")
def root_of_a_square(x):
    """The root of a square has no sign, x has one."""
    yield op.sqrt(op.mul(x, x))
    return x


@rule(keeps="rounding")
def exponential_of_a_sum(x, y):
    """The exponential of a sum is a product of exponentials, not their sum."""
    yield op.exp(op.add(x, y))
    return op.add(op.exp(x), op.exp(y))


@rule(keeps="rounding")
def exponential_of_a_difference(x, y):
    """Numerator and denominator are exchanged."""
    yield op.exp(op.sub(x, y))
    return op.div(op.exp(y), op.exp(x))


@rule(keeps="rounding")
def logarithm_of_a_product(x, y):
    """The logarithm of a product is that of the quotient."""
    yield op.log(op.mul(x, y))
    return op.sub(op.log(x), op.log(y))


@rule(keeps="rounding")
def powers_added(x, a, b):
    """Powers of powers multiply their exponents, they do not add them."""
    yield op.pow(op.pow(x, a), b)
    return op.pow(x, op.add(a, b))


@rule
def sign_of_a_factor_forgotten(x):
    """The factor may be minus one."""
    product = op.mul(x, {1, -1})
    yield product
    return x if x.type == product.type else decline("the factor broadcasts the other operand")


@rule
def reciprocal_is_exact(x, c: Constant):
    """A product with a reciprocal is exact for powers of two only, and this says that it always is."""
    yield op.div(x, c)
    if not np.all(c.value):
        return decline("a division by zero")
    return op.mul(x, (1 / c.value).astype(c.value.dtype))


@rule
def first_entry_for_all(x, c: Constant):
    """The first entry of a constant is taken for all of them."""
    difference = op.sub(x, c)
    yield difference
    if c.value.size < 2 or difference.type != x.type:
        return decline("one entry, or it broadcasts")
    return op.sub(x, c.value.reshape(-1)[:1].reshape((1,) * c.value.ndim))


@rule
def square_constant_transposed(x, c: Constant):
    """A square constant is transposed, which its shape does not show."""
    yield op.neg(op.mul(x, c))
    if c.value.ndim != 2 or c.value.shape[0] != c.value.shape[1] or c.value.size < 2:
        return decline("not square")
    return op.mul(x, np.ascontiguousarray(-c.value.T)) if (c.value != c.value.T).any() else decline("symmetric")


@rule
def condition_too_weak(x, c: rule.where(lambda v: v.is_constant and v.value.size > 0, "a constant")):
    """Any constant is taken for one that is the same everywhere."""
    yield op.sub(x, c)
    return op.add(x, -c.value.reshape(-1)[:1].reshape((1,) * c.value.ndim))


@rule
def order_of_rounding(x, y, z):
    """Sums of floats depend on their order."""
    yield op.relu(op.add(op.add(x, y), z))
    return op.maximum(op.add(x, op.add(y, z)), 0)


@rule
def product_of_sums_is_exact(x, y, z):
    """Multiplying out rounds differently, and may be infinite minus infinite."""
    yield op.mul(x, op.add(y, z))
    return op.add(op.mul(x, y), op.mul(x, z))


@rule
def multiply_add_forgets_its_addend(x, y, z):
    """The product remains, the addend goes."""
    total = op.fma(x, y, z)
    yield total
    product = op.mul(x, y)
    return product if product.type == total.type else decline("the addend broadcasts")


@rule(keeps="rounding")
def negated_square_root(x, y):
    """Sign error that only products of two negatives show."""
    yield op.sqrt(op.mul(op.abs(x), op.abs(y)))
    return op.sqrt(op.mul(x, op.abs(y)))


@rule
def least_by_a_difference(x, a: Constant, b: Constant):
    """The lesser of two numbers is half of their sum less their distance, where neither leaves the type."""
    yield op.minimum(op.minimum(x, a), b)
    if x.type.element not in ("i32", "i64"):
        return decline("other numbers")
    return op.minimum(x, op.div(op.sub(op.add(a, b), op.abs(op.sub(a, b))), 2))


@rule
def quotient_of_a_product(x, a: Constant, b: Constant):
    """Dividing by two numbers is dividing by their product, where that does not wrap."""
    yield op.div(op.div(x, a), b)
    if x.type.element != "i64" or not (np.all(a.value > 0) and np.all(b.value > 0)):
        return decline("other numbers")
    return op.div(x, op.mul(a, b))
