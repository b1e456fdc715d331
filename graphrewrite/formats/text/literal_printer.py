"""Printing of attribute values: literals, number formats, types, arrays."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from hashlib import blake2b
from typing import Any

import numpy as np

from graphrewrite.errors import GraphError
from graphrewrite.formats.text.array_printer import abbreviated, is_ordinary, shortest, whole_array
from graphrewrite.op.body import Body
from graphrewrite.types import ElementType, FixedPoint, Quantised, Type

__all__ = ["DEPTH", "PEOPLE", "WHOLE", "Form", "format_attribute", "format_exactly", "quote", "write_attribute"]

DEPTH = 100
"""Maximum nesting of lists and mappings."""

_PLAIN = re.compile(r"[A-Za-z_][A-Za-z0-9_.]*\Z")
_WORDS = frozenset({"True", "False", "None", "nan", "inf"})
_DIGITS = 10_000
"""Bits above which an integer is written in base 16: Python refuses to convert very long decimal ones."""
_LONG = 1_000
"""Longer texts of mappings are abbreviated in readable text."""
_FEW_BYTES = 64
"""Of larger arrays a digest stands for the bytes."""


@dataclass(frozen=True)
class Form:
    """A style of printing values.

    Attributes
    ----------
    array : callable
        Returns the text of an array, with its element type if the second argument is true.
    strict : bool
        Whether a value whose text cannot be parsed is an error.
    typed : bool
        Whether arrays are printed with their element types.
    listed : bool
        Whether tuples are printed as lists, which is what attributes have in their place.
    body : callable
        Returns the text of a graph that is an attribute.
    """

    array: Callable[[np.ndarray, bool], str]
    strict: bool
    typed: bool = True
    listed: bool = True
    body: Callable[[Any], str] = lambda graph: f"body({quote(graph.name or 'body')})"


PEOPLE = Form(abbreviated, strict=False)
"""Large arrays are abbreviated."""
WHOLE = Form(whole_array, strict=True)
"""Everything is printed in full."""


def quote(name: Any, *, strict: bool = True) -> str:
    """Return the text of a name: a word as it is, another string quoted, anything else as a literal.

    Examples
    --------
    >>> quote("conv_1"), quote("a b"), quote(3), quote(frozenset({1}), strict=False)
    ('conv_1', "'a b'", '3', 'frozenset({1})')
    """
    if isinstance(name, str):
        return name if _PLAIN.match(name) and name not in _WORDS else str.__repr__(name)
    if isinstance(name, int | float | tuple | bytes):
        parts = (_part(part, strict) for part in name) if isinstance(name, tuple) else ()
        return f"({', '.join(parts)},)" if isinstance(name, tuple) else write(name, WHOLE)
    if not strict:
        return "".join(letter if letter.isprintable() else str.__repr__(letter)[1:-1] for letter in repr(name))
    raise GraphError(
        f"names are strings, numbers or tuples of them, got {type(name).__name__}; "
        "rename nodes with networkx.relabel_nodes",
        node=repr(name),
    )


def _part(name: Any, strict: bool) -> str:
    return str.__repr__(name) if isinstance(name, str) else "None" if name is None else quote(name, strict=strict)


def format_attribute(value: Any, *, whole: bool = False) -> str:
    """Return a readable text of an attribute's value, with arrays as lists; `whole` prints large arrays in full.

    Examples
    --------
    >>> format_attribute((1, 2)), format_attribute(FixedPoint(True, 8, 4)), format_attribute(np.float32([0.5]))
    ('[1, 2]', 's8f4', '[0.5]')
    """
    if whole:
        return write(value, Form(whole_array, strict=False, typed=False))
    return write_attribute(value, Form(abbreviated, strict=False, typed=False))


def write_attribute(value: Any, form: Form) -> str:
    """Return the text of an attribute; in readable text a long mapping is abbreviated.

    Examples
    --------
    >>> write_attribute({"author": "me"}, PEOPLE), write_attribute({"doc": "!" * 2000}, PEOPLE)
    ("{'author': 'me'}", '<1 entry, 2,011 letters>')
    """
    text = write(value, form)
    if form.strict or not isinstance(value, Mapping) or len(text) <= _LONG:
        return text
    return f"<{len(value)} entr{'y' if len(value) == 1 else 'ies'}, {len(text):,} letters>"


def write(value: Any, form: Form, depth: int = 0) -> str:
    """Return the text of a value; `depth` counts the enclosing lists and mappings.

    Examples
    --------
    >>> from graphrewrite import Tensor
    >>> write({"a": [1.5, None]}, WHOLE), write(Tensor("f32", ("N",)), WHOLE), write(np.int8([1, 2]), WHOLE)
    ("{'a': [1.5, None]}", 'type(f32[N])', 'i8[1, 2]')
    >>> write({2, 1}, WHOLE), write(np.float32(0.1), WHOLE)
    ('set(1, 2)', 'scalar(f32(0.1))')
    """
    if depth > DEPTH:
        raise GraphError(f"lists and mappings nest deeper than {DEPTH}; make the value flatter")
    if value is None or isinstance(value, bool):
        return repr(value)
    if isinstance(value, np.generic):
        if form.typed:
            return f"scalar({form.array(np.asarray(value), True)})"
        return write(shortest(np.asarray(value)).item(), form, depth) if is_ordinary(value.dtype) else str(value)
    if isinstance(value, str):
        return str.__repr__(value)
    if isinstance(value, int):
        return hex(value) if value.bit_length() > _DIGITS else int.__repr__(value)
    if isinstance(value, float):
        return "-nan" if math.isnan(value) and math.copysign(1, value) < 0 else float.__repr__(value)
    if isinstance(value, np.ndarray):
        return form.array(value, form.typed)
    if isinstance(value, tuple) and not form.listed:
        return "(" + ", ".join([write(v, form, depth + 1) for v in value]) + ("," if len(value) == 1 else "") + ")"
    if isinstance(value, tuple | list | range):
        return "[" + ", ".join([write(v, form, depth + 1) for v in value]) + "]"
    if isinstance(value, set | frozenset):
        kind = "set" if isinstance(value, set) else "frozenset"
        return f"{kind}({', '.join(sorted(write(v, form, depth + 1) for v in value))})"
    if isinstance(value, Mapping):
        shown = [f"{write(k, form, depth + 1)}: {write(v, form, depth + 1)}" for k, v in value.items()]
        return "{" + ", ".join(shown) + "}"
    return _write_rare(value, form)


def _write_rare(value: Any, form: Form) -> str:
    if isinstance(value, FixedPoint | Quantised | ElementType):
        return str(value)
    if isinstance(value, Type):
        return f"type({value})" if form.typed else str(value)
    if isinstance(value, complex):
        return f"complex({write(value.real, form)}, {write(value.imag, form)})"
    if isinstance(value, bytes):
        return bytes.__repr__(value)
    if isinstance(value, Body):
        return form.body(value)
    if form.strict:
        raise GraphError(
            f"a value of type {type(value).__name__} cannot be written as text; "
            "store numbers, strings, lists and mappings of them, types or arrays"
        )
    return repr(value)


def format_exactly(value: Any) -> str:
    """Return a text that is equal for equal attribute values only, arrays compared bit for bit, large ones by a digest.

    Lists equal tuples; mappings are equal only if their order is.

    Examples
    --------
    >>> format_exactly([0.5, np.int8([1])]) == format_exactly((0.5, np.int8([1])))
    True
    >>> format_exactly(np.int8([1])) == format_exactly(np.int16([1]))
    False
    """
    return write(value, _EXACT)


def _exact_array(array: np.ndarray, _: bool) -> str:
    """Return the bytes of an array, or a digest of them that is far shorter."""
    data = array.tobytes()
    return f"{array.dtype}{array.shape}{data.hex() if len(data) <= _FEW_BYTES else blake2b(data).hexdigest()}"


_EXACT = Form(
    _exact_array,
    strict=False,
    body=lambda graph: f"body({graph.structure_hash()})",
)
