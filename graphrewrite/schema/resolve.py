"""Resolution of annotations to kinds."""

from __future__ import annotations

import collections.abc as abc
import enum
import sys
import types
import typing
from collections.abc import Mapping
from typing import Any

import numpy as np

from graphrewrite import types as library
from graphrewrite.errors import DataError
from graphrewrite.schema.annotation import specialised, substituted, words_for
from graphrewrite.schema.compound import ANY, Dict, Either, List, Nested, Tuple
from graphrewrite.schema.kind import BOOL, FLOAT, INT, NONE, STR, Array, Choice, DType, Instance, Kind

__all__ = ["Scope", "kind_of"]

_SCALARS: dict[Any, Kind] = {bool: BOOL, int: INT, float: FLOAT, str: STR, None: NONE, type(None): NONE}
_UNIONS = (typing.Union, types.UnionType)
_OF_THE_LIBRARY = tuple(k for a in (library.Type, library.Element) for k in typing.get_args(a) if k is not str)
"""Types of this library that the data of nodes may contain beside primitives and arrays."""


class Scope:
    """The names that the annotations of one class may mention, those that are defined later included."""

    def __init__(self, owner: type) -> None:
        frame: types.FrameType | None = sys._getframe(1)
        inside = sys._getframe(1).f_globals
        while frame is not None and frame.f_globals is inside:
            frame = frame.f_back  # skips the frames of this package, which create the class
        self.owner = owner
        self.globals: dict[str, Any] = {} if frame is None else frame.f_globals
        self.unknown: set[str] = set()
        self.frames: list[types.FrameType] = []
        while frame is not None:
            if frame.f_globals is self.globals and frame.f_locals is not self.globals:
                self.frames.append(frame)
            frame = frame.f_back

    def evaluate(self, annotation: Any, name: str) -> Any:
        """Return the type that an annotation means."""
        names: dict[str, Any] = {}
        for frame in reversed(self.frames):
            names |= frame.f_locals
        names |= {name: value for name, value in vars(self.owner).items() if isinstance(value, type)}
        names.setdefault(self.owner.__name__, self.owner)
        holder = types.SimpleNamespace(__annotations__={"field": annotation})
        resolved = typing.get_type_hints(holder, self.globals, names, include_extras=True)["field"]
        self.unknown.discard(name)
        if not self.unknown:
            self.frames = []  # frees the local variables of the function that defined the class
        return resolved


def kind_of(annotation: Any, *, known: Mapping[Any, Any] | None = None, is_converted: bool = False) -> Kind:
    """Return the kind that an annotation names.

    Parameters
    ----------
    known : mapping, optional
        The types of type variables; under ``float``, another kind than the usual one.

    Examples
    --------
    >>> kind_of(list[int]).store([1, np.int8(2)], "sizes")
    [1, 2]
    >>> kind_of(set[int])
    Traceback (most recent call last):
    graphrewrite.errors.DataError: set[int] is not a type of JSON-able data; write list[…], or field(set_convert=…, ...
    """
    known = known or {}

    def inner(part: Any) -> Kind:
        return kind_of(part, known=known, is_converted=is_converted)

    # Unwrap first: the wrapped type decides.
    while True:
        if typing.get_origin(annotation) is typing.Annotated:
            annotation = typing.get_args(annotation)[0]
        elif isinstance(annotation, typing.TypeVar):
            annotation = known.get(annotation, _limit(annotation))
            # Variables in its type are of another class, and may have the same names.
            known = {float: known[float]} if float in known else {}
        elif hasattr(annotation, "__supertype__"):  # NewType
            annotation = annotation.__supertype__
        elif hasattr(annotation, "__value__"):  # type X = …
            annotation = annotation.__value__
        else:
            break
    origin, args = typing.get_origin(annotation) or annotation, typing.get_args(annotation)
    if origin is Any or origin is object:
        return ANY
    if origin in _UNIONS:
        return Either([inner(part) for part in args])
    if origin is typing.Literal:
        return Choice(words_for(annotation), [(value, _option(value, annotation)) for value in args])
    if origin is float and float in known:
        kind: Kind = known[float]
        return kind
    if isinstance(origin, abc.Hashable) and origin in _SCALARS:
        return _SCALARS[origin]
    if origin in (list, abc.MutableSequence):
        return List(inner(args[0]) if args else ANY)
    if origin in (dict, abc.Mapping, abc.MutableMapping):
        keys, item = args or (str, Any)
        return Dict(_key(keys, inner(keys)), inner(item))
    if origin is tuple:
        if len(args) == 2 and args[1] is Ellipsis:
            return Tuple((inner(args[0]),), is_long=True)
        bare = annotation in (tuple, typing.Tuple)  # noqa: UP006  # somebody may have written it
        return Tuple((ANY,), is_long=True) if bare else Tuple(tuple(map(inner, args)), is_long=False)
    if origin is abc.Sequence:
        return Tuple((inner(args[0]) if args else ANY,), is_long=True, is_sequence=True)
    if isinstance(origin, type):
        found = _class(origin, args, annotation, known)
        if found is not None:
            return found
        if is_converted:
            return Instance(words_for(annotation), origin)
    elif is_converted:
        return Instance(words_for(annotation), object)
    list_instead = "write list[…], or " if origin in (set, frozenset) else "derive it from IrData, or write "
    raise DataError(
        f"{words_for(annotation)} is not a type of JSON-able data; {list_instead}field(set_convert=…, get_convert=…)"
    )


def _class(origin: type, args: tuple[Any, ...], annotation: Any, known: Mapping[Any, Any]) -> Kind | None:
    """Return the kind of a class that is no container."""
    from graphrewrite.schema.record import IrData  # its fields have kinds

    if issubclass(origin, IrData):
        generic, _ = vars(origin).get("_generic", (origin, ()))  # of Box[int], any Box will do that has its data
        if args:
            origin = specialised(origin, substituted(annotation, known))
        return Nested(origin, generic)
    if issubclass(origin, enum.Enum):
        return Choice(origin.__name__, [(member, _option(member.value, origin)) for member in origin])
    if issubclass(origin, np.ndarray):
        kind = typing.get_args(args[1])[0] if len(args) == 2 and typing.get_args(args[1]) else np.generic
        if not isinstance(kind, type) or kind is np.generic:  # a type variable, or Any
            return Array("numpy.ndarray")
        return Array(f"array of {kind.__name__}", kind)
    if issubclass(origin, np.dtype):
        return DType()
    if issubclass(origin, _OF_THE_LIBRARY):
        return Instance(origin.__name__, origin)
    return None


def _limit(variable: typing.TypeVar) -> Any:
    if variable.__constraints__:
        return typing.Union[variable.__constraints__]  # noqa: UP007  # of a tuple
    return Any if variable.__bound__ is None else variable.__bound__


def _key(annotation: Any, kind: Kind) -> Kind:
    if kind is STR or (isinstance(kind, Choice) and all(type(stored) is str for _, stored in kind.options)):
        return kind
    raise DataError(f"dictionaries in JSON-able data have keys of type str, got {words_for(annotation)}")


def _option(value: Any, annotation: Any) -> Any:
    try:
        return ANY.store(value, "")
    except DataError:
        raise DataError(
            f"{words_for(annotation)}: {value!r} is not a JSON-able value; write field(set_convert=…, …)"
        ) from None
