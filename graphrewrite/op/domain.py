"""Domains of ops: the kinds of element types that they accept, with advice for the others."""

from __future__ import annotations

from collections.abc import Iterable

from graphrewrite.errors import TypeMismatchError
from graphrewrite.types import OBJECT, Tensor, Type, element_kind

__all__ = ["ANY", "FLOATS", "MANTISSAS", "NUMBERS", "ORDERED", "TEXTS", "check_elements", "check_kinds", "one_element"]

FLOATS = frozenset({"float"})
"""Real numbers only."""
NUMBERS = frozenset({"float", "integer"})
"""Types with addition and multiplication."""
MANTISSAS = frozenset({"integer", "fixed"})
"""Whole numbers, with a binary point or without."""
ORDERED = NUMBERS | {"fixed"}
"""Ordered types whose zero is stored as 0."""
ANY = ORDERED | {"bool", "quantised"}
"""All kinds of element types of numbers."""
TEXTS = frozenset({"string"})
"""Texts, which no op computes with."""

_ADVICE = {
    "float": "op.to_fixed(x, element=…) gives the mantissas of a format first",
    "integer": "op.cast(x, element='f32') gives floats first",
    "bool": "op.cast(x, element='f32') gives numbers first",
    "fixed": "fixed-point operands need an op of the integer level, which states the result's format",
    "string": "texts are moved and compared, and op.encode_labels maps them to numbers first",
    "own": "only ops that say so do, by define_op(elements={'own'})",
    OBJECT: "its values are no arrays: what takes them is an op of one's own, define_op(infer=…)",
    "quantised": "op.from_quantised(x, source=…) dequantises first",
}


def check_kinds(kinds: Iterable[str]) -> None:
    """Raise unless all names are kinds of element types.

    Examples
    --------
    >>> check_kinds({"fixed", "integer"})
    """
    for kind in kinds:
        if kind not in (known_kinds := ANY | TEXTS | {"own"}):
            known = ", ".join(sorted(known_kinds))
            raise TypeMismatchError(f"{kind!r} is not a kind of element type; known are {known}")


def check_elements(accepted: frozenset[str], types: Iterable[Type]) -> None:
    """Raise unless all operands have element types of the accepted kinds.

    Examples
    --------
    >>> from graphrewrite import Tensor
    >>> check_elements(FLOATS, [Tensor("f32", ("N",))])
    >>> check_elements(FLOATS, [Tensor("i8", ("N",))])
    Traceback (most recent call last):
    ...
    graphrewrite.errors.TypeMismatchError: does not compute with i8; op.cast(x, element='f32') gives floats first
    """
    for kind in types:
        element = element_kind(kind.element)
        if element not in accepted:
            what = kind if element == OBJECT else kind.element
            raise TypeMismatchError(f"does not compute with {what}; {_ADVICE[element]}")


def one_element(*types: Tensor | None) -> None:
    """Raise unless all operands have one element type.

    Examples
    --------
    >>> one_element(Tensor("f32", ("N",)), None, Tensor("f32", ()))
    """
    elements = [kind.element for kind in types if kind is not None]
    if any(element != elements[0] for element in elements):
        raise TypeMismatchError(
            f"operands have different element types {' and '.join(map(str, elements))}; "
            "cast one of them with op.cast(x, element=…)"
        )
