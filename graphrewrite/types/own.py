"""Types of edges of one's own, such as relations with columns: what their values are is for the type to say."""

from __future__ import annotations

from dataclasses import dataclass, fields
from inspect import get_annotations
from typing import Any, ClassVar, dataclass_transform

import numpy as np

from graphrewrite.errors import TypeMismatchError
from graphrewrite.types.fixed_point import FixedPoint
from graphrewrite.types.named import OBJECT
from graphrewrite.types.quantised import Quantised
from graphrewrite.types.stream import Stream
from graphrewrite.types.tensor import Tensor

__all__ = ["EdgeType", "boxed", "unboxed"]


@dataclass_transform(frozen_default=True)
class EdgeType:
    r"""Base of types of edges that are part of a dialect; a class that derives from it is a frozen dataclass.

    Its fields are plain values: numbers, texts, None, other types, and tuples of them (lists become tuples). From them
    follow equality and the text form, which is parsed again where the dialect is known. The values that flow along such
    an edge are objects of any kind; the methods below say what is known of them.

    Parameters
    ----------
    dialect : Dialect
        The dialect, given in the class statement.

    Examples
    --------
    >>> from graphrewrite import Dialect, Graph
    >>> rel = Dialect("rel")
    >>> class Relation(EdgeType, dialect=rel):
    ...     "Rows with named columns."
    ...     columns: tuple[str, ...]
    >>> print(Relation(["id", "age"]))
    rel.Relation(columns=['id', 'age'])
    >>> text = "graph g\nt = input() : rel.Relation(columns=['id', 'age'])\ny = output(t)"
    >>> Graph.parse(text, ops=[rel]).input_types == (rel.Relation(["id", "age"]),)
    True
    """

    full_name: ClassVar[str]
    """Its name in texts, with that of its dialect."""
    element: ClassVar[str] = OBJECT
    shape: ClassVar[tuple[int, ...]] = ()
    layout: ClassVar[None] = None
    unknowns: ClassVar[tuple[str, ...]] = ()

    def __init_subclass__(cls, *, dialect: Any, **options: Any) -> None:
        super().__init_subclass__(**options)
        taken = sorted(get_annotations(cls).keys() & EdgeType.__dict__.keys())
        if taken:
            raise TypeMismatchError(f"the field {taken[0]!r} of {cls.__name__} is reserved; rename it")
        dataclass(frozen=True)(cls)
        cls.full_name = f"{dialect.name}.{cls.__name__}"
        dialect.add_member(cls.__name__, cls)

    def __post_init__(self) -> None:
        for each in fields(self):  # type: ignore[arg-type]  # every subclass is a dataclass
            object.__setattr__(self, each.name, _plain(getattr(self, each.name), f"{self.full_name}.{each.name}"))

    def as_value(self, given: Any) -> Any:
        """Return the value that an object stands for, which is what ops get: the object itself, if not overridden.

        Values that mean the same should be equal: by them `graphrewrite.testing` compares what graphs give. An object
        that is no value of this type is refused by an error, such as `TypeMismatchError`.

        Parameters
        ----------
        given : object
            What an evaluation was given as an input, or what an op has returned.
        """
        return given

    def sample(self, rng: np.random.Generator) -> Any:
        """Return some value, with which `graphrewrite.testing` tries rules.

        Parameters
        ----------
        rng : numpy.random.Generator
            What chooses it.

        Raises
        ------
        TypeMismatchError
            If not overridden.
        """
        raise TypeMismatchError(
            f"{self.full_name} does not say which values it has; define its method `sample`, which takes a generator "
            "of random numbers and returns one"
        )

    def __str__(self) -> str:
        inside = (f"{each.name}={_text(getattr(self, each.name))}" for each in fields(self))  # type: ignore[arg-type]
        return f"{self.full_name}({', '.join(inside)})"


def _plain(value: Any, where: str) -> Any:
    """Return the value of a field, with tuples for lists."""
    if isinstance(value, list | tuple):
        return tuple([_plain(each, where) for each in value])
    if value is None or isinstance(value, int | float | str | FixedPoint | Quantised | Tensor | Stream | EdgeType):
        return value
    raise TypeMismatchError(
        f"{where} holds {type(value).__name__}; fields are numbers, texts, None, types and tuples of them"
    )


def _text(value: Any) -> str:
    """Return the text of a field, as an attribute of a node would have it."""
    if isinstance(value, tuple):
        return f"[{', '.join(map(_text, value))}]"
    if isinstance(value, Tensor | Stream | EdgeType):
        return f"type({value})"
    return str(value) if isinstance(value, FixedPoint | Quantised) else repr(value)


def boxed(value: Any) -> np.ndarray:
    """Return an array without axes that holds an object, as which it goes through an evaluation.

    Examples
    --------
    >>> boxed([1, 2]).shape, unboxed(boxed([1, 2]))
    ((), [1, 2])
    """
    if isinstance(value, np.ndarray) and value.dtype == object and not value.ndim:
        return value
    box = np.empty(1, object)
    box[0] = value
    return box.reshape(())


def unboxed(array: Any) -> Any:
    """Return the object that an array without axes holds; anything else itself."""
    return array.item() if isinstance(array, np.ndarray) and array.dtype == object and not array.ndim else array
