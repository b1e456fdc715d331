"""Element types that have a name: floats, integers, bool, and strings."""

from __future__ import annotations

from typing import Any

import numpy as np

from graphrewrite.errors import TypeMismatchError, did_you_mean
from graphrewrite.types.small_floats import SMALL_FLOATS

__all__ = [
    "HELD_WIDER",
    "NAMES",
    "OBJECT",
    "SHORT_INTEGERS",
    "TEXT",
    "USUAL_NAMES",
    "as_name",
    "integer_limits",
    "named_dtype",
]

TEXT = "string"
"""Element type of texts, which are moved, compared and mapped, and no op computes with."""

OBJECT = "object"
"""What stands for the element type of values that are no tensors; no tensor has it."""

_DTYPES: dict[str, np.dtype[Any]] = {
    "f16": np.dtype(np.float16),
    "f32": np.dtype(np.float32),
    "f64": np.dtype(np.float64),
    "bf16": np.dtype(np.float32),
    "bool": np.dtype(np.bool_),
    "i4": np.dtype(np.int8),
    **{f"i{bits}": np.dtype(f"int{bits}") for bits in (8, 16, 32, 64)},
    "u4": np.dtype(np.uint8),
    **{f"u{bits}": np.dtype(f"uint{bits}") for bits in (8, 16, 32, 64)},
    **{name: np.dtype(np.float32) for name in SMALL_FLOATS},
    "i2": np.dtype(np.int8),
    "u2": np.dtype(np.uint8),
    TEXT: np.dtype(np.str_),
}

NAMES: tuple[str, ...] = tuple(name for name in _DTYPES if name != TEXT)
"""All element types of numbers that are written as one word."""

USUAL_NAMES: tuple[str, ...] = (
    *("f32", "f16", "f64", "bf16", "bool"),
    *("i4", "i8", "i16", "i32", "i64"),
    *("u4", "u8", "u16", "u32", "u64"),
)
"""Element types of most models: without integers of two bits and floats of eight or four."""

SHORT_INTEGERS: frozenset[str] = frozenset({"i2", "i4", "u2", "u4"})
"""Integers of fewer than eight bits, stored in eight."""

_OTHER_NAMES: dict[str, str] = {
    **{f"float{bits}": f"f{bits}" for bits in (16, 32, 64)},
    "half": "f16",
    "single": "f32",
    "double": "f64",
    "bfloat16": "bf16",
    "bool_": "bool",
    "boolean": "bool",
    **{f"int{bits}": f"i{bits}" for bits in (2, 4, 8, 16, 32, 64)},
    **{f"uint{bits}": f"u{bits}" for bits in (2, 4, 8, 16, 32, 64)},
    **{f"float8_{name[2:]}": name for name in SMALL_FLOATS if name.startswith("f8")},
    **{f"float{name[1:]}": name for name in SMALL_FLOATS},
    "float8_e8m0fnu": "f8e8m0",
    "float4_e2m1fn": "f4e2m1",
    "float4_e2m1": "f4e2m1",
    "str": TEXT,
    "str_": TEXT,
}
"""What numpy, PyTorch, ml_dtypes and ONNX call them."""

_WITHOUT_BITS: dict[str, tuple[str, str]] = {"float": ("f32", "f64"), "int": ("i32", "i64"), "uint": ("u32", "u64")}
"""Names that stand for different numbers of bits in different packages."""

HELD_WIDER: frozenset[str] = SHORT_INTEGERS | {"bf16", *SMALL_FLOATS}
"""Element types without a dtype in numpy; they are stored in a wider one, from which they cannot be recognised."""


def named_dtype(name: str) -> np.dtype[Any]:
    """Return the numpy dtype that holds the values of a named element type.

    numpy has no bfloat16, no smaller floats and no integers below 8 bits: they are stored in a wider type.

    Examples
    --------
    >>> named_dtype("bf16"), named_dtype("u4")
    (dtype('float32'), dtype('uint8'))
    """
    return _DTYPES[as_name(name)]


def as_name(element: object) -> str:
    """Return the name of an element type that is written as other packages do, or as a dtype of theirs.

    Raises
    ------
    TypeMismatchError
        If there is none, or several: ``float`` has 32 bits in PyTorch and ONNX, and 64 in numpy.

    Examples
    --------
    >>> as_name("f32"), as_name("float32"), as_name(np.float32), as_name(np.dtype(">i2")), as_name("torch.uint8")
    ('f32', 'f32', 'f32', 'i16', 'u8')
    """
    if isinstance(element, str) and element in _DTYPES:  # first: numpy's "i4" has four bytes, and ours four bits
        return str(element)
    word = _word(element)
    if word in _DTYPES or word in _OTHER_NAMES:
        return _OTHER_NAMES.get(word, word)
    if word in _WITHOUT_BITS:
        short, long = _WITHOUT_BITS[word]
        raise TypeMismatchError(f"{word!r} does not say how many bits it has; write {short!r} or {long!r}")
    if word == OBJECT:
        raise TypeMismatchError(
            "unknown element type 'object'; values that are neither numbers nor texts have a type of their own, "
            "an EdgeType of a dialect"
        )
    near = did_you_mean(word.lower(), [*NAMES, *_OTHER_NAMES])
    raise TypeMismatchError(
        f"unknown element type {element!r:.60}; known are {', '.join(NAMES)}, {TEXT}, FixedPoint and Quantised{near}"
    )


def _word(element: object) -> str:
    """Return what an element type is called, without its package, as in ``torch.float32``."""
    if isinstance(element, str):
        word = element
    elif element is float or element is int:
        word = element.__name__
    elif isinstance(element, type | np.dtype):
        try:
            dtype = np.dtype(element)
            word = TEXT if dtype.kind == "U" else dtype.name  # the name of a dtype of texts says how long they are
        except TypeError:  # an abstract kind of numbers
            word = ""
    else:  # torch's are called str(…), TensorFlow's .name
        is_dtype = type(element).__name__.lower() == "dtype"
        word = str(getattr(element, "name", element)) if is_dtype else ""
    return word.rpartition(".")[2]


def integer_limits(name: str) -> tuple[int, int] | None:
    """Return the least and the greatest number of a named integer type; None if it is not one.

    Examples
    --------
    >>> integer_limits("i4"), integer_limits("u8"), integer_limits("f32")
    ((-8, 7), (0, 255), None)
    """
    name = as_name(name)
    if name[0] not in "iu":
        return None
    bits = int(name[1:])
    return (-(1 << (bits - 1)), (1 << (bits - 1)) - 1) if name[0] == "i" else (0, (1 << bits) - 1)
