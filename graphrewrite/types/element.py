"""Element types of tensors: named types, fixed-point formats and quantised formats."""

from __future__ import annotations

from typing import Annotated, Any

import numpy as np

from graphrewrite.errors import TypeMismatchError
from graphrewrite.types.fixed_point import FixedPoint
from graphrewrite.types.named import HELD_WIDER, NAMES, OBJECT, TEXT, as_name, named_dtype
from graphrewrite.types.own_members import ElementType
from graphrewrite.types.quantised import Quantised

__all__ = [
    "Element",
    "ElementName",
    "as_element",
    "check_element",
    "element_dtype",
    "element_kind",
    "element_of",
    "stores",
]

Element = str | FixedPoint | Quantised | ElementType
"""An element type: a name such as ``"f32"``, a fixed-point format, a quantised one, or one of a dialect."""

ElementName = Annotated[str, "element type"]
"""A named element type; as an attribute of an op it may be written in the words of any framework."""

_FORMATS = (FixedPoint, Quantised, ElementType)
_BY_DTYPE = {named_dtype(name): name for name in NAMES if name not in HELD_WIDER}
_OBJECT = np.dtype(object)
_KINDS = {"f": "float", "b": "bool", "i": "integer", "u": "integer", "s": "string"}


def as_element(element: Any) -> Element:
    """Return the element type that something says in the words of numpy, PyTorch, ml_dtypes or ONNX.

    Parameters
    ----------
    element : str, dtype, type, FixedPoint or Quantised
        ``"f32"``, ``"float32"``, ``"half"``, ``np.float32``, ``np.dtype("uint8")``, ``torch.bfloat16``, ``bool``, ….
        Short names are this library's: ``"i4"`` has four bits.

    Raises
    ------
    TypeMismatchError
        With those that there are.

    Examples
    --------
    >>> as_element("float32"), as_element(np.int8), as_element("torch.bfloat16"), as_element("float8_e5m2")
    ('f32', 'i8', 'bf16', 'f8e5m2')
    >>> as_element(float)
    Traceback (most recent call last):
    ...
    graphrewrite.errors.TypeMismatchError: 'float' does not say how many bits it has; write 'f32' or 'f64'
    """
    return element if isinstance(element, _FORMATS) else as_name(element)


def check_element(element: object) -> None:
    """Raise unless something is an element type in this library's own words, as graphs store it.

    Parameters
    ----------
    element : object
        Perhaps an element type.

    Raises
    ------
    TypeMismatchError
        With those that there are.

    Examples
    --------
    >>> check_element("i4")
    >>> check_element("int4")
    Traceback (most recent call last):
    ...
    graphrewrite.errors.TypeMismatchError: the element type 'int4' is written 'i4' in a graph
    """
    if element not in NAMES and element != TEXT and (name := as_element(element)) != element:
        raise TypeMismatchError(f"the element type {element!r:.60} is written {name!r} in a graph")


def element_kind(element: Element) -> str:
    """Return the kind of an element type.

    Parameters
    ----------
    element : str, FixedPoint or Quantised
        An element type.

    Returns
    -------
    str
        ``"float"``, ``"integer"``, ``"bool"``, ``"string"``, ``"fixed"`` or ``"quantised"``; ``"own"`` of a
        dialect's; ``"object"`` of edges that carry no tensors.

    Examples
    --------
    >>> element_kind("bf16"), element_kind("bool"), element_kind("u4"), element_kind(FixedPoint(True, 4))
    ('float', 'bool', 'integer', 'fixed')
    """
    if element == OBJECT:
        return OBJECT
    element = as_element(element)
    if isinstance(element, str):
        return "float" if element == "bf16" else _KINDS[element[0]]
    if isinstance(element, ElementType):
        return "own"
    return "fixed" if isinstance(element, FixedPoint) else "quantised"


def element_dtype(element: Element) -> np.dtype[Any]:
    """Return the numpy dtype in which values of an element type are stored.

    Parameters
    ----------
    element : str, FixedPoint or Quantised
        An element type.

    Examples
    --------
    >>> element_dtype("f32"), element_dtype("bf16"), element_dtype(FixedPoint(False, 9))
    (dtype('float32'), dtype('float32'), dtype('uint16'))
    """
    if isinstance(element, _FORMATS):
        return element.dtype
    return _OBJECT if element == OBJECT else named_dtype(element)


def stores(element: Element, dtype: np.dtype[Any]) -> bool:
    """Tell whether values of an element type are stored in a dtype.

    Parameters
    ----------
    element : str, FixedPoint or Quantised
        An element type.
    dtype : dtype
        Of an array.

    Examples
    --------
    >>> stores("bf16", np.dtype(np.float32)), stores("string", np.dtype("U7")), stores("i8", np.dtype(np.int16))
    (True, True, False)
    """
    return dtype == element_dtype(element) or (element == TEXT and dtype.kind == "U" and dtype.isnative)


def element_of(dtype: Any) -> str:
    """Return the name of the element type that has exactly the values of a numpy dtype.

    Parameters
    ----------
    dtype : dtype-like
        Any numpy dtype of the table.

    Returns
    -------
    str
        Never one that is stored in a wider dtype: bf16, i4, f8e5m2, ….

    Raises
    ------
    TypeMismatchError
        If no element type has that dtype.

    Examples
    --------
    >>> element_of(np.float32)
    'f32'
    """
    if isinstance(dtype, np.dtype) and (known := _BY_DTYPE.get(dtype)) is not None:
        return known
    wanted = np.dtype(dtype)
    if wanted.kind == "U":  # of texts of any length
        return TEXT
    name = _BY_DTYPE.get(wanted) or _BY_DTYPE.get(wanted.newbyteorder("="))
    if name is None:
        raise TypeMismatchError(
            f"no element type for the numpy dtype {wanted}; convert it to one of {', '.join(NAMES)}, {TEXT}"
        )
    return name
