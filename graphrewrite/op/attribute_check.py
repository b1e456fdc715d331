"""Checks of attributes: the types that an op's function annotates, compiled once per op."""

from __future__ import annotations

import enum
import inspect
import operator
import reprlib
import typing
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

import numpy as np

from graphrewrite.errors import AttributeValueError, DataError, ParseError, TypeMismatchError
from graphrewrite.op.body import Body
from graphrewrite.op.symbolic import Symbolic
from graphrewrite.schema import DictView, IrData, ListView
from graphrewrite.schema.backing import Backing
from graphrewrite.schema.compound import ANY, Dict, Either, List, Tuple
from graphrewrite.schema.kind import BOOL, FLOAT, INT, NONE, NUMBER, STR, Array, Instance, Kind, describe
from graphrewrite.schema.resolve import kind_of
from graphrewrite.types import (
    Element,
    ElementName,
    FixedPoint,
    OwnType,
    Quantised,
    Size,
    Stream,
    Tensor,
    as_element,
    as_size,
    owned,
    parse_element,
)

__all__ = ["ANYTHING", "AttributeCheck", "as_attribute", "kind_of_attribute"]

_ARRAY = Array("numpy.ndarray")
_OF_NUMPY = (np.ndarray, np.generic)
_CLASS = operator.attrgetter("__class__")
"""Which of a symbol is the type of what it stands for."""
_LEAVES = (
    *(type(None), bool, int, float, complex, str, bytes, np.bool_, np.number, np.str_, np.bytes_),
    *(Tensor, Stream, OwnType, FixedPoint, Quantised, Body),
)


def as_attribute(value: Any) -> Any:
    """Return an attribute's value as it is stored: lists, sets and ranges as tuples, arrays owned, graphs frozen.

    Examples
    --------
    >>> as_attribute([1, {"y": range(3)}])
    (1, {'y': (0, 1, 2)})
    """
    if type(value) in (list, tuple, range):
        return tuple(map(as_attribute, value))
    if type(value) in (set, frozenset):
        return tuple(map(as_attribute, sorted(value, key=repr)))
    if type(value) is dict:
        return {key: as_attribute(v) for key, v in value.items()}
    if isinstance(value, np.ndarray):
        return owned(value)
    return value.as_body() if isinstance(value, Body) else value


class Storable(Kind):
    """Any value that a graph can be stored with: numbers, strings, types, arrays, and containers of them."""

    name = "object"

    def store(self, value: Any, path: str) -> Any:  # as in Kind, here and below
        if isinstance(value, np.ndarray):
            return _ARRAY.store(value, path)
        if isinstance(value, IrData | ListView | DictView):
            value = value.data
        if isinstance(value, list | tuple | range | set | frozenset):
            for i, one in enumerate(value):
                self.store(one, f"{path}[{i}]")
        elif isinstance(value, Mapping):
            for key, one in value.items():
                self.store(key, f"{path}[{key!r}]")
                self.store(one, f"{path}[{key!r}]")
        elif not isinstance(value, _LEAVES) or isinstance(value, enum.Enum):
            raise DataError(
                f"{describe(value)} cannot be stored; give numbers, strings, types, arrays, or lists and dictionaries "
                "of them",
                path=path,
            )
        return value

    def load(self, stored: Any, path: str, parent: Backing | None = None, key: str | None = None) -> Any:
        return stored


STORABLE = Storable()


class ElementType(Kind):
    """An element type, in the words of any framework."""

    name = "element type"

    def store(self, value: Any, path: str) -> Any:
        try:
            return _written(as_element, value)
        except TypeMismatchError as error:
            raise DataError(str(error), path=path) from None


class Format(Kind):
    """A number format, which may be written as it is printed: ``"s8f4"``."""

    def __init__(self, kind: Instance) -> None:
        self.kind, self.name = kind, kind.name

    def store(self, value: Any, path: str) -> Any:
        return _written(lambda one: self.kind.store(one, path), value)


def _written(stored: Callable[[Any], Any], value: Any) -> Any:
    """Return the stored form of an element type, or of the one that a text writes."""
    try:
        return stored(value)
    except (TypeMismatchError, DataError):
        if not isinstance(value, str):
            raise
        with suppress(ParseError):
            return stored(parse_element(value))
        raise


_ELEMENT = ElementType()


class Flag(Kind):
    """A truth value; ONNX writes 0 and 1."""

    name = "bool"

    def store(self, value: Any, path: str) -> Any:
        return bool(value) if type(value) is int and value in (0, 1) else BOOL.store(value, path)


_FLAG = Flag()


class Sized(Kind):
    """A kind whose words are sizes: expressions of names."""

    def __init__(self, kind: Kind) -> None:
        self.kind, self.name = kind, kind.name

    def store(self, value: Any, path: str) -> Any:
        return _normal_sizes(self.kind.store(value, path), path)


def _normal_sizes(value: Any, path: str) -> Any:
    if isinstance(value, tuple):
        return tuple(_normal_sizes(one, f"{path}[{i}]") for i, one in enumerate(value))
    if not isinstance(value, str):
        return value
    try:
        return as_size(value)
    except TypeMismatchError as error:
        raise DataError(str(error), path=path) from None


_PLAIN: dict[Kind, type] = {NONE: type(None), _FLAG: bool, INT: int, NUMBER: int, FLOAT: float, STR: str}
"""Kinds of which values of one Python type are stored as they are."""


def kind_of_attribute(function: Callable[..., Any], name: str, default: Any) -> Kind:
    """Return the kind of an attribute, as an op's function annotates it; any storable value if it does not.

    Parameters
    ----------
    function : callable
        Whose annotation is read.
    name : str
        Of the attribute.
    default : object
        Its default; None is then a value, too.

    Examples
    --------
    >>> from graphrewrite import op
    >>> kind_of_attribute(op.conv.function, "strides", (1, 1)).name
    'Sequence[int]'
    """
    try:
        annotation = typing.get_type_hints(function, include_extras=True).get(name, Any)
        if isinstance(annotation, type) and issubclass(annotation, Body):
            return Instance("Graph", annotation)
        if annotation == Body | None:
            return Either([NONE, Instance("Graph", Body)])
        if annotation in (Element, ElementName):
            return _ELEMENT
        if annotation in (Element | None, ElementName | None):
            return Either([NONE, _ELEMENT])
        kind = kind_of(annotation)
    except (DataError, NameError, TypeError, AttributeError):
        return STORABLE
    if kind is ANY:
        return STORABLE  # an array, a format: whatever the op understands
    kind = _in_graphs(kind)
    return Either([NONE, kind]) if default is None and not isinstance(kind, Either) else kind


def _in_graphs(kind: Kind) -> Kind:
    """Return a kind for the attributes of nodes: a sequence of any class is a tuple, and 0 and 1 are truth values."""
    if kind is BOOL:
        return _FLAG
    if isinstance(kind, Instance) and kind.kind in (FixedPoint, Quantised):
        return Format(kind)
    if isinstance(kind, List):
        kind = Tuple((kind.item,), is_long=True, is_sequence=True)
    made = kind
    if isinstance(kind, Tuple):
        made = Tuple(tuple(map(_in_graphs, kind.items)), is_long=kind.is_long, is_sequence=True)
    elif isinstance(kind, Dict):
        made = Dict(kind.keys, STORABLE if kind.item is ANY else _in_graphs(kind.item))
    elif isinstance(kind, Either):
        members = list(map(_in_graphs, kind.members))
        if INT in members and FLOAT in members:
            members = [NUMBER if member is FLOAT else member for member in members if member is not INT]
        made = Either(members) if len(members) > 1 else members[0]
    if made is not kind and made is not NUMBER:
        made.name = kind.name  # as it is annotated
    return made


@dataclass(frozen=True, eq=False)
class AttributeCheck:
    """What values an attribute takes; made once for an attribute of an op.

    Attributes
    ----------
    kind : Kind
        Converts values to the form in which nodes store them.
    example : str
        Advice for messages.
    scalars, entries : frozenset of type
        Python types of values, and of the entries of tuples, that are stored as they are.
    takes_arrays : bool
        Whether an array may be a value; else it stands for a list of numbers.
    takes_numbers : bool
        Whether it takes numbers, of which floats that are not whole are stored as they are.
    """

    kind: Kind
    example: str
    scalars: frozenset[type]
    entries: frozenset[type]
    takes_arrays: bool
    takes_numbers: bool = False

    @classmethod
    def of(cls, function: Callable[..., Any], name: str, default: Any, *, is_sized: bool) -> AttributeCheck:
        """Return the check of an attribute of a function.

        Examples
        --------
        >>> from graphrewrite import op
        >>> check = AttributeCheck.of(op.conv.function, "strides", (1, 1), is_sized=False)
        >>> check.stored([2, np.int8(1)], "conv.strides")
        (2, 1)
        """
        kind = kind_of_attribute(function, name, default)
        members = kind.members if isinstance(kind, Either) else [kind]
        is_own = default is not inspect.Parameter.empty and default is not None
        example = reprlib.repr(default) if is_own else _example(kind)
        return cls(
            Sized(kind) if is_sized else kind,
            f"for example {name}={example}" if example else "",
            _plain(members, is_sized),
            frozenset().union(*(_plain(m.items, is_sized) for m in members if isinstance(m, Tuple) and m.is_long)),
            not is_sized and any(isinstance(member, Array | Storable) for member in members),
            NUMBER in members,
        )

    def stored(self, value: Any, path: str) -> Any:
        """Return the form in which nodes store a value; one that only a rule's match knows stays as it is.

        Raises
        ------
        AttributeValueError
            If it has another type.
        """
        kind = type(value)
        if kind in self.scalars or (kind is tuple and self.entries and self.entries.issuperset(map(_CLASS, value))):
            return value
        if isinstance(value, Symbolic) or (kind is float and self.takes_numbers and not value.is_integer()):
            return value
        if isinstance(value, _OF_NUMPY) and not self.takes_arrays:
            value = value.tolist()
        is_entry = type(value) in self.entries or (type(value) is int and float in self.entries)
        if is_entry and type(value) not in self.scalars:
            value = (value,)  # one axis, as all frameworks write it
        try:
            stored = self.kind.store(value, path)
            return stored if type(stored) is np.ndarray else as_attribute(stored)  # an array is owned by now
        except DataError as error:
            if _is_open(value):
                return as_attribute(value)
            message = str(error).removeprefix(f"{error.path}: ")
            advice = f"; {self.example}" if self.example and ";" not in message else ""
            raise AttributeValueError(f"{message}{advice}", path=error.path) from None
        except RecursionError:
            raise AttributeValueError("is nested too deeply, or contains itself", path=path) from None


ANYTHING = AttributeCheck(STORABLE, "", frozenset(_PLAIN.values()), frozenset(), takes_arrays=True)
"""The check of an attribute of which nothing is known."""


_EXAMPLES = {"FixedPoint": "FixedPoint(True, 8, fraction=4)", "Quantised": "Quantised('i8', scale=0.1)"}
"""Formats as they are written."""


def _plain(kinds: Iterable[Kind], is_sized: bool) -> frozenset[type]:
    """Return the Python types whose values are stored as they are, by one of some kinds."""
    found = {_PLAIN[kind] for kind in kinds if kind in _PLAIN}
    return frozenset(found - {str} | {Size} if is_sized and str in found else found)  # sizes are in normal form


def _example(kind: Kind) -> str:
    """Return a value of a kind as it is written, or nothing where that would not help."""
    if isinstance(kind, Either):
        return next(filter(None, map(_example, kind.members)), "")
    if isinstance(kind, Tuple):
        inner = _example(kind.items[0])
        return f"({inner}, {inner})" if inner else ""
    if isinstance(kind, Format):
        return _EXAMPLES[kind.name]
    return {_FLAG: "True", INT: "1", NUMBER: "0.5", FLOAT: "0.5", _ELEMENT: "'f32'"}.get(kind, "")


def _is_open(value: Any) -> bool:
    """Tell whether a value has a part that only a rule's match knows."""
    return isinstance(value, Symbolic) or (isinstance(value, list | tuple) and any(map(_is_open, value)))
