"""An implementation: a function that computes an op under stated circumstances."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

from graphrewrite.errors import TypeMismatchError
from graphrewrite.op.op import Op
from graphrewrite.types import Element, FixedPoint, Quantised, check_element, check_layout

__all__ = ["Implementation", "bits_of", "check_implementations"]


@dataclass(frozen=True)
class Implementation:
    """What computes an op; whatever is not stated is left open.

    Parameters
    ----------
    op : Op or str
        The op, or its name: of a generic op for instance.
    function : callable
        Takes the operands as arrays and the attributes by name, as the op's own function does.
    backend : str, optional
        Where it runs: target and library, such as ``"gpu"``.
    element : str, FixedPoint or Quantised, optional
        The element type of the first operand.
    precision : int, optional
        Bits of the element type, whichever it is.
    layout : str, optional
        The layout of the first operand; the function gets the array so, and no other way round.
    kernel : str, optional
        What it is called among several for one op.

    Raises
    ------
    TypeMismatchError
        If the function cannot be called, or there is no such element type, precision or layout.

    Examples
    --------
    >>> Implementation("Swirl", lambda x, turns: x, backend="gpu", precision=16)
    <implementation of Swirl: backend gpu, precision 16>
    """

    op: Op | str
    function: Callable[..., Any]
    backend: str | None = None
    element: Element | None = None
    precision: int | None = None
    layout: str | None = None
    kernel: str | None = None

    def __post_init__(self) -> None:
        op, words, precision = self._given()
        if not isinstance(op, Op | str) or not op:
            raise TypeMismatchError(f"an implementation is of an op or of what is called so, not of {op!r}")
        if not callable(self.function):
            raise TypeMismatchError(f"an implementation of {self.name} needs a function, not {self.function!r}")
        for key, word in words.items():
            if not isinstance(word, str | None):
                raise TypeMismatchError(f"the {key} of an implementation is a word, not {word!r}")
        if type(precision) not in (int, type(None)):
            raise TypeMismatchError(f"the precision of an implementation is a number of bits, not {precision!r}")
        if self.element is not None:
            check_element(self.element)
        if self.layout is not None:
            check_layout(self.layout, len(str(self.layout)))
        bits = self.precision if self.element is None else bits_of(self.element)
        if self.precision is not None and (self.precision != bits or self.precision < 1):
            raise TypeMismatchError(f"{self!r}: {self.element or 'an element'} has not {self.precision} bits")

    def _given(self) -> tuple[Any, dict[str, Any], Any]:
        """What was given, which may be anything."""
        return self.op, {"backend": self.backend, "kernel": self.kernel}, self.precision

    @property
    def name(self) -> str:
        """The name of the op."""
        return self.op if isinstance(self.op, str) else self.op.name

    @property
    def stated(self) -> dict[str, Any]:
        """What it says of the circumstances."""
        names = ("backend", "element", "precision", "layout", "kernel")
        return {name: value for name in names if (value := getattr(self, name)) is not None}

    def __repr__(self) -> str:
        said = ", ".join(f"{name} {value}" for name, value in self.stated.items())
        return f"<implementation of {self.name}: {said or 'anywhere'}>"


def bits_of(element: Element) -> int:
    """Return how many bits an element type has.

    Parameters
    ----------
    element : str, FixedPoint or Quantised
        An element type.

    Returns
    -------
    int

    Examples
    --------
    >>> bits_of("bf16"), bits_of("i4"), bits_of(FixedPoint(True, 9)), bits_of("bool"), bits_of("f8e4m3fn")
    (16, 4, 9, 1, 8)
    """
    if isinstance(element, FixedPoint):
        return element.width
    name = element.storage if isinstance(element, Quantised) else element
    return 1 if name == "bool" else int(re.findall("[0-9]+", name)[0])


def check_implementations(given: Any) -> tuple[Implementation, ...]:
    """Return implementations that somebody gives.

    Parameters
    ----------
    given : iterable of Implementation
        Perhaps something else.

    Returns
    -------
    tuple of Implementation

    Raises
    ------
    TypeMismatchError
        If it is something else.

    Examples
    --------
    >>> check_implementations([3])
    Traceback (most recent call last):
    ...
    graphrewrite.errors.TypeMismatchError: implementations are given as a list of Implementation, not as [3]
    """
    found = tuple(given) if isinstance(given, Iterable) else (given,)
    if not isinstance(given, Iterable) or not all(isinstance(each, Implementation) for each in found):
        raise TypeMismatchError(f"implementations are given as a list of Implementation, not as {given!r}")
    return found
