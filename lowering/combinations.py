"""Lower what combines values with binary points: differences, products, borders. Sums are among the layers."""

from __future__ import annotations

from typing import Any

import numpy as np

from graphrewrite import decline, op, rule
from graphrewrite.lowering.binary_points import Mantissas
from graphrewrite.lowering.exactness import format_of
from graphrewrite.lowering.formats import combined

__all__ = ["LOWER_COMBINATIONS", "lower_difference", "lower_product", "quantise_border"]

_WIDEST = 48
"""Bits that a lane has at most."""


def _rounded(exact: Any, rounded: Any) -> Any:
    """Exact results in the format of a quantiser, read as real numbers."""
    element = rounded.element
    shift = exact.type.element.fraction - element.fraction
    narrow = op.requantise(exact, shift=shift, element=element, low=rounded.low, high=rounded.high)
    return op.from_fixed(narrow, fraction=element.fraction, element=rounded.type.element)


@rule(keeps="assumes", shared="keep", kind="lowering")
def lower_difference(x: Mantissas, y: Mantissas):
    """A difference of two values on grids is one of integers on the finer grid; assumes that the float one is exact."""
    one, other = op.from_fixed(x), op.from_fixed(y)
    difference = op.sub(one, other)
    rounded = op.quantise(difference)
    yield rounded
    a, b = format_of(x, one), format_of(y, other)
    if rounded.fractions is not None:
        return decline("its result has a format for each channel", at=difference)
    fraction = max(a.fraction, b.fraction)
    shifts = (fraction - a.fraction, fraction - b.fraction)
    if max(a.width + shifts[0], b.width + shifts[1]) >= _WIDEST:
        return decline(f"its differences may need more than {_WIDEST} bits", at=difference)
    element = combined("sub", a, b)
    return _rounded(op.integer_sub(x, y, shifts=shifts, element=element), rounded)


@rule(keeps="assumes", shared="keep", kind="lowering")
def lower_product(x: Mantissas, y: Mantissas):
    """A product of two values on grids is one of integers; assumes that the float product is exact."""
    one, other = op.from_fixed(x), op.from_fixed(y)
    product = op.mul(one, other)
    rounded = op.quantise(product)
    yield rounded
    if rounded.fractions is not None:
        return decline("its result has a format for each channel", at=product)
    a, b = format_of(x, one), format_of(y, other)
    if a.width + b.width > _WIDEST:
        return decline(f"its products may need more than {_WIDEST} bits", at=product)
    return _rounded(op.integer_mul(x, y, element=combined("mul", a, b)), rounded)


@rule
def quantise_border(x):
    """Numbers with a border may be quantised before, if the border is quantised as well."""
    padded = op.pad(x)
    made = op.quantise(padded)
    yield made
    if made.fractions is not None:
        return decline("its parameters differ along an axis", at=made)
    (fill,) = made.op.compute([np.asarray(padded.fill)], made.graph.attributes(made.node))
    return op.pad(op.quantise(x, like=made), like=padded, fill=float(fill))


LOWER_COMBINATIONS = (lower_difference, lower_product, quantise_border)
"""Differences, products and borders of values with binary points."""
