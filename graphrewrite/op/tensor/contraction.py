"""Sums of products in Einstein's notation."""

from __future__ import annotations

import math
import string
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from graphrewrite.errors import TypeMismatchError
from graphrewrite.op.define import broadcast_shape, define_op
from graphrewrite.op.domain import NUMBERS, one_element
from graphrewrite.op.sizes import advice
from graphrewrite.types import Dimension, Tensor

__all__ = ["einsum"]

_REST = "..."


def _terms(equation: str) -> tuple[list[str], str]:
    """Return the letters of the operands and of the result, in which a single * stands for the dots."""
    left, arrow, right = equation.replace(" ", "").partition("->")
    terms = [term.replace(_REST, "*") for term in left.split(",")]
    if not arrow:  # letters that stand once, in alphabetical order
        counted = Counter("".join(terms))
        once = sorted(letter for letter, count in counted.items() if count == 1 and letter != "*")
        right = (_REST if "*" in counted else "") + "".join(once)
    result = right.replace(_REST, "*")
    for term in (*terms, result):
        if not set(term) <= {*string.ascii_letters, "*"} or term.count("*") > 1:
            raise TypeMismatchError(
                f"the equation {equation!r} must have one letter per axis, with '...' for unnamed axes, "
                "',' between operands and '->' before the result"
            )
    if len(set(result)) != len(result) or not set(result) <= {*"".join(terms), "*"}:
        raise TypeMismatchError(f"each axis of the result of {equation!r} must occur once, and in an operand")
    return terms, result


def _sizes(term: str, x: Tensor) -> tuple[dict[str, Dimension], tuple[Dimension, ...]]:
    """Return the sizes of an operand's letters, and of its axes without one."""
    unnamed = len(x.shape) - len(term.replace("*", ""))
    if unnamed < 0 or (unnamed and "*" not in term):
        raise TypeMismatchError(f"{term.replace('*', _REST)!r} does not name the axes of {x}")
    at = term.find("*") if "*" in term else len(term)
    rest = x.shape[at : at + unnamed]
    sizes: dict[str, Dimension] = {}
    for letter, size in zip(term.replace("*", ""), (*x.shape[:at], *x.shape[at + unnamed :]), strict=True):
        if sizes.setdefault(letter, size) != size:  # sizes of 1 broadcast between operands only
            raise TypeMismatchError(
                f"the axis {letter!r} of {x} has sizes {sizes[letter]} and {size}{advice(sizes[letter], size)}"
            )
    return sizes, rest


def _agreed(letter: str, one: Dimension, other: Dimension) -> Dimension:
    """Return the common size of a letter in two operands; a size of 1 broadcasts."""
    if one != other and 1 not in (one, other):
        raise TypeMismatchError(f"the axis {letter!r} has sizes {one} and {other}{advice(one, other)}")
    return other if one == 1 else one


def _all_sizes(xs: Sequence[Tensor], equation: str) -> tuple[dict[str, Dimension], tuple[Dimension, ...], str]:
    terms, result = _terms(equation)
    if len(terms) != len(xs):
        raise TypeMismatchError(f"the equation {equation!r} has {len(terms)} operands, got {len(xs)}")
    sizes: dict[str, Dimension] = {}
    rests: list[tuple[Dimension, ...]] = []
    for term, x in zip(terms, xs, strict=True):
        named, rest = _sizes(term, x)
        rests.append(rest)
        for letter, size in named.items():
            sizes[letter] = _agreed(letter, sizes.get(letter, size), size)
    rest = broadcast_shape(*rests)
    if rest and "*" not in result:
        raise TypeMismatchError(f"the unnamed axes must be in the result of {equation!r} as well; write '...' there")
    return sizes, rest, result


def _infer_einsum(*xs: Tensor, equation: str) -> Tensor:
    one_element(*xs)
    sizes, rest, result = _all_sizes(xs, equation)
    shape = [size for letter in result for size in (rest if letter == "*" else (sizes[letter],))]
    return Tensor(xs[0].element, tuple(shape))


def _products(types: Sequence[Any], result: Any, attributes: Mapping[str, Any]) -> int:
    """One for each combination of positions, if there is anything to multiply or to add."""
    sizes, rest, _ = _all_sizes(types, attributes["equation"])
    return math.prod(size for size in (*sizes.values(), *rest) if isinstance(size, int)) * (len(types) - 1)


@define_op(infer=_infer_einsum, elements=NUMBERS, cost=_products)
def einsum(*xs: np.ndarray, equation: str) -> np.ndarray:
    """Sum of products in Einstein's notation: over each letter that the result has not (numpy.einsum; ONNX Einsum).

    A letter is an axis, the same letter the same axis, and ``...`` are axes without a name, which broadcast. Without an
    arrow, the result has the letters that occur once, in alphabetical order after the axes without a name.

    Parameters
    ----------
    *xs
        One operand for each word of the equation.
    equation
        Axes of the operands and of the result, as in ``"ij,jk->ik"``.

    Examples
    --------
    >>> einsum(np.array([[1, 2], [3, 4]]), np.array([1, 10]), equation="ij,j->i").tolist()
    [21, 43]
    >>> einsum(np.array([[1, 2], [3, 4]]), equation="ii").tolist()
    5
    """
    with np.errstate(over="ignore", invalid="ignore", under="ignore"):
        result = np.einsum(equation.replace(" ", ""), *xs, optimize=len(xs) > 1)
    return np.asarray(result, xs[0].dtype)
