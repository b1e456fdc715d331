"""Negatives: what is one, what takes its sign, and where that goes for all of its readers."""

from __future__ import annotations

import numpy as np

from graphrewrite import op
from graphrewrite.rewriting.facts import Analysis
from graphrewrite.rewriting.facts.queries import Query, readers_of
from graphrewrite.rules.operands import first_operand, operands_of
from graphrewrite.types import SMALL_FLOATS, element_kind

__all__ = [
    "SMALL",
    "forms_of",
    "goes_lower",
    "is_added",
    "is_fixed",
    "is_negated",
    "is_negative",
    "is_neutral",
    "no_negative",
    "no_sign",
    "takes_sign",
]

SMALL = "floats of 8 or 4 bits need not have a negative"
"""Why their signs stay."""


def no_sign(product):
    """The reason why the sign of an operand is not that of a product or quotient, or an empty text."""
    if product.type.element in SMALL_FLOATS:
        return SMALL
    is_whole = product.op is op.div and element_kind(product.type.element) != "float"
    return "the least integer has no negative" if is_whole else ""


def no_negative(x):
    """The reason why numbers are not told from their negatives by size alone, or an empty text."""
    if x.type.element in SMALL_FLOATS:
        return SMALL
    return "its numbers have no negative" if str(x.type.element).startswith("u") else ""


def forms_of(x, y, c):
    """The patterns of what takes a sign, besides sums with a constant: products with one, quotients and differences."""
    return (op.mul | op.div)(x, c), op.div(c, x), op.sub(x, y)


def is_negative(y):
    """Whether a number is written as the negative of another one, or as what becomes that."""
    if y.op is not op.sub or not first_operand(y).is_constant:
        return y.op is op.neg
    zero, x = operands_of(y)
    is_float = element_kind(x.type.element) == "float"
    return x.type == y.type and not zero.value.any() and (not is_float or bool(np.signbit(zero.value).all()))


@Query
def is_negated(sign):
    """Whether another negative reads a negative."""
    return any(sign.graph.nodes[reader]["type"] == "neg" for reader in readers_of(sign))


@Query
def goes_lower(*negatives):
    """Whether one of some negatives vanishes: what it is of takes its sign."""
    return any(sign.op is op.neg and takes_sign(first_operand(sign), 2) for sign in negatives)


def is_neutral(part):
    """Whether a product by 1, or a sum with 0, is its first operand, as other rules say."""
    x, neutral = operands_of(part)
    number = 1 if part.op in (op.mul, op.div) else 0
    return neutral.is_constant and x.type == part.type and bool((neutral.value == number).all())


def _is_computed(node):
    """What is made of constants is one, as `eliminate_independent_nodes` computes it, unless it has a state."""
    is_plain = not node.op.has_state(node.attributes) and not node.op.has_effects(node.attributes)
    return (bool(node.facts) and all(node.facts) and is_plain,) * len(node.results)


fixed: Analysis[bool] = Analysis(
    "fixed",
    unknown=lambda kind: False,
    kind=bool,
    functions={op.constant: lambda node: True},
    otherwise=_is_computed,
)
"""Whether a value is a constant, or will be one when it is computed."""
is_fixed = fixed.predicate(lambda fact: fact, "it is a constant, or made of some", lambda _: "depends on an input")


@Query
def is_added(y):
    """Whether `add_negative` adds a number where it is subtracted."""
    return y.op in (op.mul, op.div, op.sub) and takes_sign(y, 0)


@Query
def takes_sign(x, depth):
    """Whether `negate_operand`, `negate_sum` or `negate_sum_of_sums` fits at the negative of a number."""
    if len(readers_of(x)) > 1 or x.op not in (op.mul, op.div, op.sub, op.add) or no_sign(x):
        return False
    operands = operands_of(x)
    are_constant = [is_fixed(each) for each in operands]
    if all(are_constant):
        return False
    if is_neutral(x):  # its sign is that of its operand, which it becomes
        return takes_sign(operands[0], depth)
    if x.op in (op.mul, op.div):
        return any(are_constant)
    if element_kind(x.type.element) == "float":
        return False
    if x.op is op.sub:
        return not is_negative(operands[1])
    return any(are_constant) or (depth > 0 and any(takes_sign(each, depth - 1) for each in operands))
