"""The view class of an op's nodes, made from the op's definition for help and tab completion."""

from __future__ import annotations

import enum
import inspect
import typing
from collections.abc import Mapping
from functools import lru_cache
from typing import Any

import numpy as np

from graphrewrite.errors import DataError
from graphrewrite.op.op import Op
from graphrewrite.schema import DictView, IrData, ListView
from graphrewrite.schema.backing import Backing
from graphrewrite.schema.compound import ANY, Either
from graphrewrite.schema.kind import NONE, NUMBER, Array, Kind, describe
from graphrewrite.schema.resolve import kind_of
from graphrewrite.types import FixedPoint, Quantised, Stream, Tensor

__all__ = ["class_of", "kind_of_attribute"]

_ARRAY = Array("numpy.ndarray")
_LEAVES = (
    *(type(None), bool, int, float, complex, str, bytes, np.bool_, np.number, np.str_, np.bytes_),
    *(Tensor, Stream, FixedPoint, Quantised),
)


class Storable(Kind):
    """Any value that a graph can be stored with: numbers, strings, types, arrays, and containers of them."""

    name = "object"

    def store(self, value: Any, path: str) -> Any:  # as in Kind, here and below
        if isinstance(value, IrData | ListView | DictView):
            value = value.data
        if isinstance(value, np.ndarray):
            return _ARRAY.store(value, path)
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


_STORABLE = Storable()


class OpProperty:
    """A descriptor for a name of the op's definition; the view reads and writes it."""

    def __init__(self, name: str, doc: str) -> None:
        self.name, self.__doc__ = name, doc

    def __get__(self, view: Any, owner: Any = None) -> Any:
        return self if view is None else view._read(self.name)

    def __set__(self, view: Any, value: Any) -> None:
        view._write(self.name, value)


@lru_cache(maxsize=1024)
def kind_of_attribute(op: Op, name: str) -> Kind:
    """Return the kind of an attribute, as the op's function annotates it; any storable value if it does not.

    Examples
    --------
    >>> from graphrewrite import op
    >>> kind_of_attribute(op.conv, "strides").name, kind_of_attribute(op.clip, "low").name
    ('Sequence[int]', 'float | None')
    """
    try:
        annotation = typing.get_type_hints(op.function).get(name, Any)
        kind = kind_of(annotation, known={float: NUMBER})  # the bounds of mantissas are whole numbers
    except (DataError, NameError, TypeError, AttributeError):
        return _STORABLE
    if kind is ANY:
        return _STORABLE  # an array, a format: whatever the op understands
    return Either([NONE, kind]) if op.attributes.get(name, ...) is None and not isinstance(kind, Either) else kind


def class_of(base: Any, op: Op) -> Any:
    """Return the view class of an op's nodes; the op caches it."""
    cls = vars(op).get("node_class")
    if cls is None:
        cls = vars(op)["node_class"] = _make(base, op)
    return cls


def _make(base: Any, op: Op) -> Any:
    docs = {name: f"Operand {i}." for i, name in enumerate(op.operands)}
    if op.variadic and op.operands:
        docs[op.operands[-1]] = "All further operands, as a tuple."
    for name, default in op.attributes.items():
        ending = "required" if default is inspect.Parameter.empty else f"{default!r} if not given"
        docs[name] = f"Attribute: {kind_of_attribute(op, name).name}, {ending}."
    for name, meaning in op.derived.items():
        docs[name] = f"Another name of `{meaning}`." if isinstance(meaning, str) else inspect.getdoc(meaning) or ""
    taken = {name: OpProperty(name, doc) for name, doc in docs.items() if not hasattr(base, name)}
    title = "".join(part.capitalize() for part in op.name.split("_"))
    space = {**taken, "_op": op, "__doc__": op.__doc__, "__module__": base.__module__}
    return type(f"{title}Node" if title.isidentifier() else "Node", (base,), space)
