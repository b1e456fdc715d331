"""Between element types that are no number formats, and the names of axes."""

from __future__ import annotations

import numpy as np

from graphrewrite.errors import TypeMismatchError
from graphrewrite.op.define import define_op
from graphrewrite.op.domain import ANY
from graphrewrite.op.precision import truncated
from graphrewrite.types import (
    SHORT_INTEGERS,
    SMALL_FLOATS,
    TEXT,
    Element,
    ElementName,
    FixedPoint,
    Quantised,
    Tensor,
    check_element,
    element_dtype,
    hold,
    integer_limits,
    narrowed,
    nearest_small,
)

__all__ = ["cast", "name_axes"]

_INTO = {FixedPoint: "op.to_fixed(x, element=…)", Quantised: "op.to_quantised(x, element=…)"}
_OUT_OF = {FixedPoint: "op.from_fixed(x, fraction=…)", Quantised: "op.from_quantised(x, source=…)"}


_MODES = ("up", "down", "nearest")


def _infer_cast(x: Tensor, *, element: Element, round_mode: str = "up", **_: object) -> Tensor:
    check_element(element)
    if round_mode not in _MODES:
        raise TypeMismatchError(f"the rounding mode of powers of two is one of {', '.join(_MODES)}, got {round_mode!r}")
    for kind, advice in ((element, _INTO), (x.element, _OUT_OF)):
        if not isinstance(kind, str):
            raise TypeMismatchError(f"op.cast does not scale; convert with {advice[type(kind)]}")
    return Tensor(element, x.shape, x.layout)


@define_op(infer=_infer_cast)
def cast(x: np.ndarray, *, element: ElementName, saturate: bool = True, round_mode: str = "up") -> np.ndarray:
    """The same numbers in another element type (ONNX specification, Cast).

    Floats round to the nearest, ties to even; to integers they are truncated. Integers wrap around, in two's
    complement. True is 1, and all but 0 is True. What ONNX leaves open: floats beyond an integer type give its nearest
    number, NaN gives 0; those beyond one of less than 8 bits, which numpy has not, go through 64 bits and wrap around.
    The text of a float has 8 digits, that of True is 1, and as floats or integers texts are read as Python reads them.

    Parameters
    ----------
    x
        Any shape.
    element
        Element type of the result, as in ``"f16"``.
    saturate
        Whether what lies beyond floats of 8 bits, infinities too, becomes the greatest one; otherwise it becomes an
        infinity, or NaN where there is none.
    round_mode
        How numbers become powers of two, of the element type ``"f8e8m0"``: "up", "down" or "nearest"; without
        saturation, those outside of them give NaN.

    Examples
    --------
    >>> cast(np.array([-1.9, 2.5, 300.0, np.nan]), element="i8").tolist()
    [-1, 2, 127, 0]
    >>> cast(np.array([200, 17]), element="i4").tolist()
    [-8, 1]
    >>> cast(np.array([0.1], np.float32), element="bf16").tolist()
    [0.10009765625]
    >>> cast(np.array([500.0]), element="f8e4m3fn").tolist(), cast(np.array([5.0]), element="f8e8m0").tolist()
    ([448.0], [8.0])
    >>> cast(np.array([0.1, 2.0]), element="string").tolist(), cast(np.array(["1e3", "-2"]), element="f32").tolist()
    (['0.1', '2'], [1000.0, -2.0])
    """
    x = np.asarray(x)
    if x.dtype.kind == "U" and element != TEXT:
        x = _numbers_of(x, element)
    elif x.dtype.kind != "U" and element == TEXT:
        x = np.array([_text_of(number) for number in x.ravel().tolist()], np.str_).reshape(x.shape)
    if element in SMALL_FLOATS:
        return nearest_small(element, narrowed(x), saturate=saturate, infinities=not saturate, mode=round_mode)
    if element == "bool":
        return np.asarray(x != 0)
    if x.dtype.kind == "f" and integer_limits(element) is not None:
        x = truncated(x, np.dtype(np.int64) if element in SHORT_INTEGERS else element_dtype(element))
    with np.errstate(over="ignore", under="ignore"):  # a number beyond the range of a float type becomes infinite
        return hold(element, x)


def _text_of(number: int | float) -> str:
    """Return a number as onnxruntime writes it."""
    if isinstance(number, int):
        return str(int(number))
    return f"{number:.8g}" if np.isfinite(number) else {"inf": "INF", "-inf": "-INF", "nan": "NaN"}[str(number)]


def _numbers_of(texts: np.ndarray, element: ElementName) -> np.ndarray:
    """Return the numbers that texts stand for, of 64 bits; integers wrap around."""
    is_whole = integer_limits(element) is not None and element != "bool"
    try:
        numbers = [int(text) % 2**64 if is_whole else float(text) for text in texts.ravel().tolist()]
    except ValueError as error:
        raise ValueError(f"{error}; texts that are cast to {element} are numbers") from None
    return np.array(numbers, np.uint64 if is_whole else np.float64).reshape(texts.shape)


def _infer_name_axes(x: Tensor, *, layout: str | None) -> Tensor:
    if None not in (layout, x.layout) and layout != x.layout:
        raise TypeMismatchError(
            f"the layout is {x.layout} already; op.transpose(x, perm=…) changes the order, and layout=None removes it"
        )
    return Tensor(x.element, x.shape, layout)


@define_op(infer=_infer_name_axes, elements=ANY)
def name_axes(x: np.ndarray, *, layout: str | None) -> np.ndarray:
    """The operand itself, with names of its axes if they have none; ``layout=None`` removes them.

    Parameters
    ----------
    x
        Any shape.
    layout
        One letter an axis, as in ``"NCHW"``; None removes the names.

    Examples
    --------
    >>> name_axes(np.array([[1, 2]]), layout="NC").tolist()
    [[1, 2]]
    """
    return x
