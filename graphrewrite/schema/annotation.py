"""Annotations: their text, substitution of type variables, and the class that ``Box[int]`` denotes."""

from __future__ import annotations

import types
import typing
from collections.abc import Mapping
from typing import Any

__all__ = ["is_open", "specialised", "substituted", "words_for"]


def words_for(annotation: Any) -> str:
    """Return an annotation as it is written.

    Examples
    --------
    >>> import numpy as np
    >>> words_for(int | None), words_for("list[Shape]"), words_for(np.ndarray)
    ('int | None', 'list[Shape]', 'ndarray')
    """
    if isinstance(annotation, str):
        return annotation
    if isinstance(annotation, type) and not typing.get_args(annotation):
        return annotation.__name__
    return str(annotation).replace("typing.", "")


def substituted(annotation: Any, known: Mapping[Any, Any]) -> Any:
    """Return an annotation with types in place of type variables.

    Examples
    --------
    >>> from typing import TypeVar
    >>> T = TypeVar("T")
    >>> substituted(list[T], {T: int}), substituted(T, {T: str}), substituted(int, {T: str})
    (list[int], <class 'str'>, <class 'int'>)
    """
    if isinstance(annotation, typing.TypeVar):
        return known.get(annotation, annotation)
    free = getattr(annotation, "__parameters__", ()) if typing.get_origin(annotation) is not None else ()
    return annotation[tuple(known.get(variable, variable) for variable in free)] if free else annotation


def is_open(annotation: Any) -> bool:
    """Tell whether an annotation mentions type variables, or names that are looked up later.

    Examples
    --------
    >>> from typing import List, TypeVar
    >>> is_open(list[TypeVar("T")]), is_open(List["Later"]), is_open(list[int])
    (True, True, False)
    """
    if isinstance(annotation, str | typing.ForwardRef | typing.TypeVar):
        return True
    if typing.get_origin(annotation) is typing.Literal:
        return False  # its texts are values
    return any(map(is_open, typing.get_args(annotation)))


def specialised(origin: Any, alias: Any) -> Any:
    """Return the class of a specialised generic such as ``Box[int]``; the same one each time.

    Examples
    --------
    >>> from typing import Generic, TypeVar
    >>> from graphrewrite import IrData
    >>> T = TypeVar("T")
    >>> class Box(IrData, Generic[T]):
    ...     item: T
    >>> Box[int] is Box[int], issubclass(Box[int], Box)
    (True, True)
    >>> Box[int](item="x")
    Traceback (most recent call last):
    graphrewrite.errors.DataError: Box[int].item: expected int, got str 'x'
    """
    if "_specialised" not in vars(origin):
        origin._specialised = {}
    args = typing.get_args(alias)
    cls = origin._specialised.get(args)
    if cls is None:
        name = f"{origin.__name__}[{', '.join(map(words_for, args))}]"
        space = {"__module__": origin.__module__, "__doc__": origin.__doc__, "_generic": (origin, args)}
        cls = types.new_class(name, (alias,), exec_body=lambda names: names.update(space))
        origin._specialised[args] = cls
    return cls
