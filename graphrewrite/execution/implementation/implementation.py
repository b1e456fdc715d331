"""Implementation: a function that computes an op on a backend, in an element type or layout."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

from graphrewrite.errors import TypeMismatchError
from graphrewrite.hierarchy.implementations import Library
from graphrewrite.op.op import Op
from graphrewrite.types import Element, ElementType, FixedPoint, Quantised, as_element, check_layout

__all__ = ["Implementation", "Implementations", "bits_of", "check_implementations"]


@dataclass(frozen=True)
class Implementation:
    """A function that computes an op; properties that are not stated match any node.

    Parameters
    ----------
    op : Op or str
        The op, or its name, such as that of a generic op.
    function : callable
        Takes the operands as arrays and the attributes by name, as the op's own function does.
    backend : str, optional
        Where it runs: target and library, such as ``"gpu"``.
    element : str, FixedPoint or Quantised, optional
        The element type of the first operand.
    precision : int, optional
        Bits of the element type, for any element type.
    layout : str, optional
        The layout of the first operand, in which the function gets the array.
    kernel : str, optional
        Name that tells it apart from others for the same op.

    Raises
    ------
    TypeMismatchError
        If the function is not callable, or the element type, precision or layout does not exist.

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
        op: Any = self.op  # of any type until it is checked, as are the others
        precision: Any = self.precision
        words: dict[str, Any] = {"backend": self.backend, "kernel": self.kernel}
        if not isinstance(op, Op | str) or not op:
            raise TypeMismatchError(f"an implementation is for an op or its name, got {op!r}")
        if not callable(self.function):
            raise TypeMismatchError(f"an implementation of {self.name} needs a function, got {self.function!r}")
        for key, word in words.items():
            if not isinstance(word, str | None):
                raise TypeMismatchError(f"the {key} of an implementation is a string, got {word!r}")
        if type(precision) not in (int, type(None)):
            raise TypeMismatchError(f"the precision of an implementation is a number of bits, got {precision!r}")
        if self.element is not None:
            object.__setattr__(self, "element", as_element(self.element))
        if self.layout is not None:
            check_layout(self.layout, len(str(self.layout)))
        bits = self.precision if self.element is None else bits_of(self.element)
        if self.precision is not None and (self.precision != bits or self.precision < 1):
            raise TypeMismatchError(f"{self!r}: {self.element or 'an element type'} cannot have {self.precision} bits")

    @property
    def name(self) -> str:
        """The name of the op."""
        return self.op if isinstance(self.op, str) else self.op.name

    @property
    def stated(self) -> dict[str, Any]:
        """The stated properties by name."""
        names = ("backend", "element", "precision", "layout", "kernel")
        return {name: value for name in names if (value := getattr(self, name)) is not None}

    def __repr__(self) -> str:
        said = ", ".join(f"{name} {value}" for name, value in self.stated.items())
        return f"<implementation of {self.name}: {said or 'anywhere'}>"


Implementations = Iterable[Implementation] | Library
"""Functions from which the best is chosen for each node; or graphs, ops and components by name, which nodes name."""


def bits_of(element: Element) -> int:
    """Return the number of bits of an element type.

    Examples
    --------
    >>> bits_of("bf16"), bits_of("i4"), bits_of(FixedPoint(True, 9)), bits_of("bool"), bits_of("f8e4m3fn")
    (16, 4, 9, 1, 8)
    """
    if isinstance(element, FixedPoint):
        return element.width
    if isinstance(element, ElementType):
        return element.dtype.itemsize * 8
    name = element.storage if isinstance(element, Quantised) else element
    return 1 if name == "bool" else int(re.findall("[0-9]+", name)[0])


def check_implementations(implementations: Any) -> tuple[Implementation, ...]:
    """Return an iterable of implementations as a tuple; raise if it is something else.

    Examples
    --------
    >>> check_implementations([3])
    Traceback (most recent call last):
    ...
    graphrewrite.errors.TypeMismatchError: implementations are a list of Implementation, got [3]
    """
    checked = tuple(implementations) if isinstance(implementations, Iterable) else (implementations,)
    if not isinstance(implementations, Iterable) or not all(isinstance(each, Implementation) for each in checked):
        raise TypeMismatchError(f"implementations are a list of Implementation, got {implementations!r}")
    return checked
