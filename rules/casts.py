"""Casts in a row, of which one is enough."""

from __future__ import annotations

from graphrewrite import decline, op, rule
from graphrewrite.rules.known_values import ends_infinities, is_held
from graphrewrite.rules.operands import again
from graphrewrite.types import SMALL_FLOATS, TEXT, element_kind, integer_limits

__all__ = ["merge_bit_casts", "merge_casts", "stay_narrow"]


def _held(below):
    """What an element type holds if it holds the operand."""
    moved = op.reshape | op.transpose | op.slice | op.tile | op.expand | op.flatten | op.squeeze | op.unsqueeze
    return (op.relu | op.neg | op.abs | op.max_pool | op.identity | moved)(below)


@rule
def stay_narrow(x):
    """Numbers that are widened, moved or negated, and narrowed again need not be widened."""
    wide = op.cast(x)
    run = rule.repeated(wide, _held)
    narrow = op.cast(run)
    yield narrow
    if narrow.type.element != x.type.element or element_kind(x.type.element) != element_kind(wide.type.element):
        return decline("they come back as another type, or another kind of numbers", at=narrow)
    if x.type.element in SMALL_FLOATS or not is_held(wide.type.element, x.type.element, x.fact()):
        return decline("{} does not hold every number; known is: {}", wide.type.element, x.fact(), at=wide)
    return again(run, x)


@rule(shared="keep")
def merge_casts(x):
    """Of two casts in a row only the second counts, where the first keeps every number, or the bits that are left."""
    inner = op.cast(x)
    outer = op.cast(inner)
    yield outer
    if outer.type == inner.type and outer.type.element not in SMALL_FLOATS:
        return decline("the second one does nothing", at=outer)
    own, between, last = (each.type.element for each in (x, inner, outer))
    if TEXT in (own, last) and own != between:
        return decline("the text of a number depends on its type", at=outer)
    if not is_held(between, own, x.fact()) and not _keeps_lower_bits(own, between, last):
        return decline(f"{inner.type.element} does not hold every number; known is: {x.fact()}", at=x)
    if ends_infinities(inner, x.fact()):
        return decline(f"infinities become the greatest number of {between}", at=x)
    limits = integer_limits(last)
    is_real, was_real = (element_kind(element) == "float" for element in (between, own))
    if limits is not None and is_real != was_real and not x.fact().is_within(*limits):
        return decline("floats beyond an integer type become its nearest number, and integers wrap around", at=outer)
    return op.cast(x, like=outer)


def _keeps_lower_bits(*elements):
    """Whether integers wrap around to types of ever fewer bits: what is left is the same."""
    limits = [limit for element in elements if (limit := integer_limits(element)) is not None]
    counts = [high - low for low, high in limits]
    return len(limits) == len(elements) and counts[1] >= counts[2]


@rule(shared="keep")
def merge_bit_casts(x):
    """Bits that are read as two types in a row are read as the second one."""
    inner = op.bit_cast(x)
    outer = op.bit_cast(inner)
    yield outer
    if inner.type.element == "bool":
        return decline("a truth value keeps one bit", at=inner)
    return op.bit_cast(x, like=outer)
