"""Signs: where negatives meet, and what takes a sign at no cost: sums are better than differences, and no sign best."""

from __future__ import annotations

from graphrewrite import Constant, decline, op, rule
from graphrewrite.rewriting.rule.outcome import Declined
from graphrewrite.rules.arithmetic import Integers
from graphrewrite.rules.negatives import (
    SMALL,
    forms_of,
    goes_lower,
    is_added,
    is_fixed,
    is_negated,
    is_negative,
    is_neutral,
    no_negative,
    no_sign,
)
from graphrewrite.rules.operands import first_operand
from graphrewrite.types import SMALL_FLOATS, element_kind

__all__ = [
    "SIGNS",
    "add_negative",
    "drop_sign_before_even",
    "drop_sign_before_square",
    "factor_as_sign",
    "fold_sign_before",
    "fold_sign_of_divisor",
    "move_sign",
    "move_sign_of_divisor",
    "multiply_without_signs",
    "negate_from_minus_zero",
    "negate_integer_from_zero",
    "negate_integer_sum",
    "negate_operand",
    "negate_sum",
    "negate_sum_of_sums",
    "turn_difference_before_even",
    "turn_difference_before_factor",
    "turn_difference_before_square",
    "turn_differences_before_even",
    "turn_differences_before_square",
    "write_difference",
    "write_difference_as_sum",
]


_EVEN = op.abs | op.reduce_l1 | op.reduce_l2 | op.reduce_sum_square


def _known(even, x):
    """The reason why an absolute value is the number itself, or an empty text."""
    fact = x.fact()
    return "it is never negative" if even.op is op.abs and fact.low >= 0 and not fact.minus_zero else ""


def _turns_elsewhere(difference, x, c):
    """The reason why c - x is a negative, or a sum, by other rules; or an empty text."""
    if is_added(x):
        return "the negative of what is subtracted is added"
    is_other = c.value.any() or x.type != difference.type or element_kind(x.type.element) != "integer"
    return "" if is_other else "0 - x is -x"


def _negative(forms, x, y, c):
    """The negative of what one of the forms has matched, by as many ops; or why there is none."""
    part = next(form for form in forms if form)
    if is_fixed(x) and (part is not forms[2] or is_fixed(y)):
        return decline("its numbers are computed", at=part)
    if reason := no_sign(part) or ("it is its operand" if is_neutral(part) else ""):
        return decline(reason, at=part)
    if part.op is op.sub and is_negative(y):
        return decline("the sign of what is subtracted goes first", at=part)
    if part.op in (op.sub, op.add) and element_kind(part.type.element) == "float":
        return decline("the sign of a zero would differ", at=part)
    if part is forms[0]:
        return part.op(x, op.neg(c))
    if part is forms[1]:
        return op.div(op.neg(c), x)
    return op.sub(y, x) if part.op is op.sub else op.sub(op.neg(c), x)


_LOWER = "its sign goes into what is below it, for all of its readers"
_ALONE = "the negative of a negative is the number itself"


def _stays(product, *signs):
    """The reason why the signs of what is multiplied, or divided, are left to other rules; or an empty text."""
    if any(sign.op is op.neg and is_negative(first_operand(sign)) for sign in signs):
        return _ALONE
    return no_sign(product) or (_LOWER if goes_lower(*signs) else "")


@rule
def negate_operand(x, y, c: Constant):
    """The negative of a product with a constant is one with its negative; -(x - y) of integers is y - x."""
    forms = (*forms_of(x, y, c), op.add(x, c))
    product, quotient, difference, total = forms
    sign = op.neg(product | quotient | difference | total)
    yield sign
    if is_negated(sign):
        return decline(_ALONE, at=sign)
    return _negative(forms, x, y, c)


@rule
def negate_sum(z: Integers, x, y, c: Constant):
    """The negative of a sum of integers, of which one takes a sign, is its negative less the other one."""
    forms = (*forms_of(x, y, c), op.add(x, c))
    product, quotient, difference, total = forms
    sign = op.neg(op.add(z, product | quotient | difference | total))
    yield sign
    if is_negated(sign):
        return decline(_ALONE, at=sign)
    negative = _negative(forms, x, y, c)
    return negative if isinstance(negative, Declined) else op.sub(negative, z)


@rule
def negate_sum_of_sums(z: Integers, w, x, y, c: Constant):
    """So is that of a sum in which such a sum is added."""
    forms = (*forms_of(x, y, c), op.add(x, c))
    product, quotient, difference, total = forms
    sign = op.neg(op.add(z, op.add(w, product | quotient | difference | total)))
    yield sign
    if is_negated(sign):
        return decline(_ALONE, at=sign)
    negative = _negative(forms, x, y, c)
    return negative if isinstance(negative, Declined) else op.sub(op.sub(negative, w), z)


@rule(shared="keep")
def write_difference(x, y):
    """X + -y is x - y (IEEE 754-2019, 5.4.1); integers wrap around alike."""
    sign = op.neg(y)
    total = op.add(x, sign)
    yield total
    if (fixed := is_fixed(y)) or y.type.element in SMALL_FLOATS:
        return decline("the negative of a constant is computed" if fixed else SMALL, at=total)
    if goes_lower(sign):
        return decline(_LOWER, at=sign)
    return op.sub(x, y)


@rule(shared="keep")
def write_difference_as_sum(x, y):
    """X - -y is x + y."""
    sign = op.neg(y)
    difference = op.sub(x, sign)
    yield difference
    if (fixed := is_fixed(y)) or y.type.element in SMALL_FLOATS:
        return decline("the negative of a constant is computed" if fixed else SMALL, at=difference)
    if goes_lower(sign):
        return decline(_LOWER, at=sign)
    return op.add(x, y)


@rule
def add_negative(z, x, y, c: Constant):
    """A product with a constant, and a difference of integers, is added, rather than subtracted."""
    forms = forms_of(x, y, c)
    product, quotient, difference = forms
    root = op.sub(z, product | quotient | difference)
    yield root
    if first_operand(root).operand == next(form for form in forms if form).operand:
        return decline("it is subtracted from itself", at=root)
    if difference and is_fixed(y):
        return decline("the negative of the constant is added to it", at=difference)
    negative = _negative(forms, x, y, c)
    return negative if isinstance(negative, Declined) else op.add(z, negative)


@rule(shared="keep")
def multiply_without_signs(x, y):
    """The product of two negatives is that of the numbers, and so is the quotient of floats."""
    sign, other = op.neg(x), op.neg(y)
    product = (op.mul | op.div)(sign, other)
    yield product
    if reason := _stays(product, sign, other):
        return decline(reason, at=product)
    return product.op(x, y)


@rule(shared="keep")
def fold_sign_before(x, c: Constant):
    """The product of a negative with a constant is that of the number with its negative."""
    sign = op.neg(x)
    product = (op.mul | op.div)(sign, c)
    yield product
    if reason := _stays(product, sign):
        return decline(reason, at=product)
    return product.op(x, op.neg(c))


@rule(shared="keep")
def fold_sign_of_divisor(x, c: Constant):
    """So is a constant that is divided by a negative."""
    sign = op.neg(x)
    quotient = op.div(c, sign)
    yield quotient
    if reason := _stays(quotient, sign):
        return decline(reason, at=quotient)
    return op.div(op.neg(c), x)


@rule
def move_sign(z, x, y, c: Constant):
    """The product of a negative with what takes a sign is that of the number with its negative."""
    forms = (*forms_of(x, y, c), op.add(x, c))
    product, quotient, difference, total = forms
    sign = op.neg(z)
    result = (op.mul | op.div)(sign, product | quotient | difference | total)
    yield result
    if reason := "the negative of a constant is computed" if is_fixed(z) else _stays(result, sign):
        return decline(reason, at=result)
    negative = _negative(forms, x, y, c)
    return negative if isinstance(negative, Declined) else result.op(z, negative)


@rule
def move_sign_of_divisor(z, x, y, c: Constant):
    """So is what takes a sign, divided by a negative."""
    forms = (*forms_of(x, y, c), op.add(x, c))
    product, quotient, difference, total = forms
    sign = op.neg(z)
    result = op.div(product | quotient | difference | total, sign)
    yield result
    if reason := "the negative of a constant is computed" if is_fixed(z) else _stays(result, sign):
        return decline(reason, at=result)
    negative = _negative(forms, x, y, c)
    return negative if isinstance(negative, Declined) else op.div(negative, z)


@rule(shared="keep")
def drop_sign_before_square(x):
    """The square of a negative, and of an absolute value, is that of the number; so is its quotient by itself."""
    signed = (op.neg | op.abs)(x)
    square = (op.mul | op.div)(signed, signed)
    yield square
    if x.type.element in SMALL_FLOATS:
        return decline(SMALL, at=square)
    if goes_lower(signed):
        return decline(_LOWER, at=signed)
    return square.op(x, x)


@rule
def turn_difference_before_square(x, c: Constant):
    """So is that of a constant less a number, and its quotient by itself."""
    difference = op.sub(c, x)
    square = (op.mul | op.div)(difference, difference)
    yield square
    if reason := SMALL if x.type.element in SMALL_FLOATS else _turns_elsewhere(difference, x, c):
        return decline(reason, at=square)
    turned = x if x.type == difference.type and not c.value.any() else op.add(x, op.neg(c))
    return square.op(turned, turned)


@rule
def turn_differences_before_even(x: Integers, y, c: Constant):
    """So are those of such a difference and another integer, before either."""
    differences = (op.sub | op.add)(op.sub(c, x), y)
    even = _EVEN(differences)
    yield even
    if reason := no_negative(x) or _known(even, differences) or _turns_elsewhere(first_operand(differences), x, c):
        return decline(reason, at=x)
    return even.op(_turned(differences, x, y, c), like=even)


@rule
def turn_differences_before_square(x: Integers, y, c: Constant):
    """The same before a square."""
    differences = (op.sub | op.add)(op.sub(c, x), y)
    square = (op.mul | op.div)(differences, differences)
    yield square
    if reason := _turns_elsewhere(first_operand(differences), x, c):
        return decline(reason, at=x)
    turned = _turned(differences, x, y, c)
    return square.op(turned, turned)


def _turned(differences, x, y, c):
    """The negative of (c - x) - y, or of (c - x) + y."""
    return (op.add if differences.op is op.sub else op.sub)(op.add(x, op.neg(c)), y)


@rule
def factor_as_sign(x):
    """X · (-1) is -x, and so is x / (-1) of floats (IEEE 754-2019, 6.3)."""
    product = (op.mul | op.div)(x, -1)
    yield product
    if x.type != product.type:
        return decline("the constant broadcasts the other operand, or the type changes", at=product)
    if reason := no_sign(product):
        return decline(reason, at=product)
    return op.neg(x)


@rule
def negate_integer_from_zero(x: Integers):
    """0 - x is -x: integers have one zero."""
    difference = op.sub(0, x)
    yield difference
    if x.type != difference.type:
        return decline("the constant broadcasts the other operand", at=difference)
    return op.neg(x)


@rule
def negate_integer_sum(x: Integers, y):
    """-x - y is -(x + y), which wraps around alike; of floats, the sign of a zero would differ."""
    difference = op.sub(op.neg(x), y)
    yield difference
    if is_fixed(y):
        return decline("the negative of the constant is added", at=difference)
    return op.neg(op.add(x, y))


@rule
def negate_from_minus_zero(x):
    """-0 - x is -x, of zeros as well (IEEE 754-2019, 6.3)."""
    difference = op.sub(-0.0, x)
    yield difference
    if x.type != difference.type:
        return decline("the constant broadcasts the other operand", at=difference)
    if x.type.element in SMALL_FLOATS:
        return decline(SMALL, at=difference)
    return op.neg(x)


@rule(shared="keep")
def drop_sign_before_even(x):
    """An absolute value, and a sum of such or of squares, is that of the negative."""
    signed = (op.neg | op.abs)(x)
    even = _EVEN(signed)
    yield even
    if reason := no_negative(x) or _known(even, signed):
        return decline(reason, at=x)
    if goes_lower(signed):
        return decline(_LOWER, at=signed)
    return even.op(x, like=even)


@rule
def turn_difference_before_factor(x: Integers, c: Constant, d: Constant):
    """A constant less an integer, times a constant, is the other difference, a sum, times its negative."""
    difference = op.sub(c, x)
    yield op.mul(difference, d)
    if reason := _turns_elsewhere(difference, x, c):
        return decline(reason, at=difference)
    return op.mul(op.add(x, op.neg(c)), op.neg(d))


@rule
def turn_difference_before_even(x, c: Constant):
    """So is that of a constant less a number, for which the constant is subtracted."""
    difference = op.sub(c, x)
    even = _EVEN(difference)
    yield even
    if reason := no_negative(x) or _known(even, difference) or _turns_elsewhere(difference, x, c):
        return decline(reason, at=x)
    if x.type == difference.type and not c.value.any():
        return even.op(x, like=even)
    return even.op(op.add(x, op.neg(c)), like=even)


SIGNS = (
    negate_integer_from_zero,
    negate_integer_sum,
    negate_from_minus_zero,
    write_difference,
    write_difference_as_sum,
    add_negative,
    multiply_without_signs,
    fold_sign_before,
    fold_sign_of_divisor,
    move_sign,
    move_sign_of_divisor,
    negate_operand,
    negate_sum,
    negate_sum_of_sums,
    drop_sign_before_square,
    drop_sign_before_even,
    turn_difference_before_even,
    turn_difference_before_factor,
    turn_difference_before_square,
    turn_differences_before_even,
    turn_differences_before_square,
    factor_as_sign,
)
"""Signs where they meet, exactly: a part of `RULES`."""
