"""Types of dialects: frozen dataclasses of plain values, which have a text form; of them, element types."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields
from functools import wraps
from inspect import get_annotations
from typing import Any, ClassVar, Protocol, dataclass_transform

import numpy as np

from graphrewrite.errors import TypeMismatchError, did_you_mean
from graphrewrite.types.fixed_point import FixedPoint
from graphrewrite.types.quantised import Quantised

__all__ = ["ElementType", "OwnType"]


class FieldCheck(Protocol):
    """What values a field takes."""

    def stored(self, value: Any, path: str) -> Any:
        """Return a value as the field has it; raise TypeMismatchError if it is none."""


@dataclass_transform(frozen_default=True)
class OwnType:
    """Base of the types of dialects; a class that derives from it is a frozen dataclass.

    Its fields are plain values, as they are annotated: numbers, texts, None, other types, and tuples of them (lists
    become tuples). From them follow equality and the text form, which is parsed again where the dialect is known.
    """

    full_name: ClassVar[str]
    """Its name in texts, with that of its dialect."""
    _checks: ClassVar[Mapping[str, FieldCheck]]
    """What values its fields take, as they are annotated; from the dialect."""
    _plain: ClassVar[tuple[type, ...]] = (int, float, str, type(None), FixedPoint, Quantised)

    def __init_subclass__(cls, *, dialect: Any = None, is_base: bool = False, **options: Any) -> None:
        super().__init_subclass__(**options)
        if is_base:
            return
        if dialect is None:
            raise TypeMismatchError(f"{cls.__name__} is of no dialect; write class {cls.__name__}(…, dialect=…)")
        reserved = {name for base in cls.__mro__[1:] if issubclass(base, OwnType) for name in base.__dict__}
        known = {each for base in cls.__mro__[1:] for each in getattr(base, "__dataclass_fields__", ())}
        taken = sorted(get_annotations(cls).keys() & reserved - known)
        if taken:
            raise TypeMismatchError(f"the field {taken[0]!r} of {cls.__name__} is reserved; rename it")
        dataclass(frozen=True)(cls)
        cls.__init__ = _checking(cls.__init__)  # type: ignore[method-assign]  # it takes the same
        cls.full_name = f"{dialect.name}.{cls.__name__}"
        dialect.add_member(cls.__name__, cls)

    def __post_init__(self) -> None:
        for each in fields(self):  # type: ignore[arg-type]  # every subclass is a dataclass
            value = self._checks[each.name].stored(getattr(self, each.name), f"{self.full_name}.{each.name}")
            object.__setattr__(self, each.name, self._checked(value, each.name))

    def _checked(self, value: Any, name: str) -> Any:
        """Return the value of a field, with tuples for lists."""
        if isinstance(value, list | tuple):
            return tuple([self._checked(each, name) for each in value])
        if isinstance(value, (*self._plain, OwnType)):
            return value
        raise TypeMismatchError(
            f"{self.full_name}.{name} holds {type(value).__name__}; fields are numbers, texts, None, types and tuples "
            "of them"
        )

    def __str__(self) -> str:
        inside = (f"{each.name}={_text(getattr(self, each.name))}" for each in fields(self))  # type: ignore[arg-type]
        return f"{self.full_name}({', '.join(inside)})"


def _checking(make: Callable[..., None]) -> Callable[..., None]:
    """Return the function that sets the fields of a type, with advice where they are none that it has."""
    _, *parameters = inspect.signature(make).parameters.values()
    known = [each.name for each in parameters]
    required = [each.name for each in parameters if each.default is each.empty]

    @wraps(make)
    def checked(self: OwnType, *values: Any, **named: Any) -> None:
        if unknown := [name for name in named if name not in known]:
            raise TypeMismatchError(
                f"{self.full_name} has no field {unknown[0]!r}; it has {', '.join(known) or 'none'}"
                f"{did_you_mean(unknown[0], known)}"
            )
        if len(values) > len(known):
            raise TypeMismatchError(f"{self.full_name} has {len(known)} fields ({', '.join(known)}), got {len(values)}")
        if missing := [name for name in required if name not in named and name not in known[: len(values)]]:
            raise TypeMismatchError(f"the field {missing[0]!r} of {self.full_name} is missing")
        make(self, *values, **named)

    return checked


def _text(value: Any) -> str:
    """Return the text of a field, as an attribute of a node would have it."""
    if isinstance(value, tuple):
        return f"[{', '.join(map(_text, value))}]"
    if isinstance(value, int | float | str | None):
        return repr(value)
    return str(value) if isinstance(value, FixedPoint | Quantised | ElementType) else f"type({value})"


class ElementType(OwnType, is_base=True):
    """Base of element types of tensors that are part of a dialect, such as complex numbers.

    A class that derives from it says by `dtype` how numpy stores the numbers. Ops that compute with them say so by
    ``define_op(elements={"own"})``, or by an ``infer`` of their own.

    Parameters
    ----------
    dialect : Dialect
        The dialect, given in the class statement.

    Examples
    --------
    >>> from graphrewrite import Dialect, Tensor, define_op
    >>> sig = Dialect("sig")
    >>> class Complex(ElementType, dialect=sig):
    ...     dtype = np.dtype(np.complex64)
    >>> @define_op(dialect=sig, elements={"own"})
    ... def turn(x, *, angle):
    ...     return x * np.exp(1j * angle)
    >>> print(*turn.infer(Tensor(Complex(), ("N", 2)), angle=1.5))
    sig.Complex()[N,2]
    """

    dtype: ClassVar[np.dtype[Any]]
    """How numpy stores them; a subclass may make it a property that depends on its fields."""

    def hold(self, array: np.ndarray) -> np.ndarray:
        """Return numbers as the element type has them: in its dtype, and rounded or wrapped if overridden.

        Parameters
        ----------
        array : ndarray
            Any numbers.
        """
        return np.asarray(array, self.dtype)

    def sample(self, rng: np.random.Generator, shape: tuple[int, ...]) -> np.ndarray:
        """Return some numbers, with which `graphrewrite.testing` tries rules: small ones, if not overridden.

        Parameters
        ----------
        rng : numpy.random.Generator
            What chooses them.
        shape : tuple of int
            How many.
        """
        return np.asarray(rng.integers(0, 4, shape), self.dtype)
