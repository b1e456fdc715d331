"""What a single entry of a tensor is: a named type, a fixed-point format or a quantised one."""

from __future__ import annotations

from typing import Any

import numpy as np

from graphrewrite.errors import TypeMismatchError
from graphrewrite.types.fixed_point import FixedPoint
from graphrewrite.types.named import HELD_WIDER, NAMES, check_name, named_dtype
from graphrewrite.types.quantised import Quantised

__all__ = ["Element", "check_element", "element_dtype", "element_kind", "element_of"]

Element = str | FixedPoint | Quantised
"""An element type: a name such as ``"f32"``, a fixed-point format, or a quantised one."""

_BY_DTYPE = {named_dtype(name): name for name in NAMES if name not in HELD_WIDER}
_KINDS = {"f": "float", "b": "bool", "i": "integer", "u": "integer"}


def check_element(element: object) -> None:
    """Raise unless something is an element type.

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
    graphrewrite.errors.TypeMismatchError: unknown element type 'int4'; known are f16, ...; did you mean 'i4'?
    """
    if not isinstance(element, FixedPoint | Quantised):
        check_name(element)


def element_kind(element: Element) -> str:
    """Return the kind of an element type.

    Parameters
    ----------
    element : str, FixedPoint or Quantised
        An element type.

    Returns
    -------
    str
        ``"float"``, ``"integer"``, ``"bool"``, ``"fixed"`` or ``"quantised"``.

    Examples
    --------
    >>> element_kind("bf16"), element_kind("bool"), element_kind("u4"), element_kind(FixedPoint(True, 4))
    ('float', 'bool', 'integer', 'fixed')
    """
    if isinstance(element, str):
        return "float" if element == "bf16" else _KINDS[element[0]] if element != "bool" else "bool"
    return "fixed" if isinstance(element, FixedPoint) else "quantised"


def element_dtype(element: Element) -> np.dtype[Any]:
    """Return the numpy dtype in which values of an element type are held.

    Parameters
    ----------
    element : str, FixedPoint or Quantised
        An element type.

    Returns
    -------
    numpy.dtype

    Examples
    --------
    >>> element_dtype("f32"), element_dtype("bf16"), element_dtype(FixedPoint(False, 9))
    (dtype('float32'), dtype('float32'), dtype('uint16'))
    """
    return named_dtype(element) if isinstance(element, str) else element.dtype


def element_of(dtype: Any) -> str:
    """Return the element type's name of a numpy dtype: the one whose values are exactly those of the dtype.

    Parameters
    ----------
    dtype : dtype-like
        Any numpy dtype of the table.

    Returns
    -------
    str
        Never one that is held in a wider dtype: bf16, i4, f8e5m2, ….

    Raises
    ------
    TypeMismatchError
        If no element type has that dtype.

    Examples
    --------
    >>> element_of(np.float32)
    'f32'
    """
    given = np.dtype(dtype)
    found = _BY_DTYPE.get(given) or _BY_DTYPE.get(given.newbyteorder("="))
    if found is None:
        raise TypeMismatchError(f"no element type for numpy's {given}; convert it to one of {', '.join(NAMES)}")
    return found
