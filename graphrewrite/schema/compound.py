"""Kinds with parts: lists, dictionaries, tuples, nested data, alternatives, and anything that JSON knows."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import suppress
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from graphrewrite.errors import DataError
from graphrewrite.schema.backing import Backing
from graphrewrite.schema.kind import BOOL, FLOAT, INT, NONE, NUMBER, STR, Array, Choice, Kind, Scalar, describe
from graphrewrite.schema.views import DictView, ListView

if TYPE_CHECKING:
    from graphrewrite.schema.record import IrData

__all__ = ["ANY", "Converted", "Dict", "Either", "Json", "List", "Nested", "Tuple"]


class List(Kind):
    """A list; read as a view that checks and writes through."""

    def __init__(self, item: Kind) -> None:
        self.item, self.name = item, f"list[{item.name}]"

    def store(self, value: Any, path: str) -> Any:
        if not isinstance(value, list | ListView):
            raise self.wrong(value, path, "write it as a list" if isinstance(value, tuple | range) else "")
        return [self.item.store(one, f"{path}[{i}]") for i, one in enumerate(value)]

    def load(self, stored: Any, path: str, parent: Backing | None = None, key: str | None = None) -> Any:
        if not isinstance(stored, list):
            raise self.wrong(stored, path)
        return ListView(self.item, Backing(stored, parent, key), path)

    def check(self, stored: Any, path: str) -> None:
        self.load(stored, path)
        for i, one in enumerate(stored):
            self.item.check(one, f"{path}[{i}]")

    def missing(self, stored: Any, path: str) -> Iterator[tuple[str, str]]:
        for i, one in enumerate(stored if isinstance(stored, list) else ()):
            yield from self.item.missing(one, f"{path}[{i}]")


class Dict(Kind):
    """A dictionary; read as a view that checks and writes through."""

    def __init__(self, keys: Kind, item: Kind) -> None:
        self.keys, self.item, self.name = keys, item, f"dict[{keys.name}, {item.name}]"

    def store(self, value: Any, path: str) -> Any:
        if not isinstance(value, dict | DictView):
            raise self.wrong(value, path)
        stored: dict[str, Any] = {}
        DictView(self.keys, self.item, Backing(stored), path).update(value)
        return stored

    def load(self, stored: Any, path: str, parent: Backing | None = None, key: str | None = None) -> Any:
        if not isinstance(stored, dict):
            raise self.wrong(stored, path)
        return DictView(self.keys, self.item, Backing(stored, parent, key), path)

    def check(self, stored: Any, path: str) -> None:
        self.load(stored, path)
        for name, one in stored.items():
            self.keys.check(name, f"{path}[{name!r}]")
            self.item.check(one, f"{path}[{name!r}]")

    def missing(self, stored: Any, path: str) -> Iterator[tuple[str, str]]:
        for name, one in stored.items() if isinstance(stored, dict) else ():
            yield from self.item.missing(one, f"{path}[{name!r}]")


class Tuple(Kind):
    """A tuple, of as many entries as there are kinds, or of any number of one kind.

    JSON knows no tuples, so a list in the data is read as a tuple too.
    """

    def __init__(self, items: tuple[Kind, ...], *, is_long: bool, is_sequence: bool = False) -> None:
        self.items, self.is_long = items, is_long
        self.accepted = (tuple, list, range, ListView) if is_sequence else (tuple,)
        inner = ", ".join(kind.name for kind in items) or "()"
        self.name = f"Sequence[{inner}]" if is_sequence else f"tuple[{inner}{', ...' if is_long else ''}]"

    def _parts(self, value: Any, path: str) -> Iterator[tuple[Kind, Any, str]]:
        if not self.is_long and len(value) != len(self.items):
            raise self.wrong(value, path, f"that is {len(value)} entries, not {len(self.items)}")
        for i, one in enumerate(value):
            yield self.items[0 if self.is_long else i], one, f"{path}[{i}]"

    def store(self, value: Any, path: str) -> Any:
        if not isinstance(value, self.accepted):
            raise self.wrong(value, path, "write it as a tuple" if isinstance(value, list | ListView) else "")
        return tuple([kind.store(one, at) for kind, one, at in self._parts(value, path)])

    def load(self, stored: Any, path: str, parent: Backing | None = None, key: str | None = None) -> Any:
        if not isinstance(stored, list | tuple):
            raise self.wrong(stored, path)
        backing = Backing(stored, parent, key)
        return tuple([kind.load(one, at, backing) for kind, one, at in self._parts(stored, path)])

    def check(self, stored: Any, path: str) -> None:
        if not isinstance(stored, list | tuple):
            raise self.wrong(stored, path)
        for kind, one, at in self._parts(stored, path):
            kind.check(one, at)

    def missing(self, stored: Any, path: str) -> Iterator[tuple[str, str]]:
        if isinstance(stored, list | tuple) and (self.is_long or len(stored) == len(self.items)):
            for kind, one, at in self._parts(stored, path):
                yield from kind.missing(one, at)


class Nested(Kind):
    """Data in data: the dictionary of the assigned view itself is stored, so that both are views of it.

    Parameters
    ----------
    accepted : type
        The class of values that may be assigned: where ``record`` is ``Box[int]``, any ``Box`` with the right data.
    """

    def __init__(self, record: type[IrData], accepted: type[IrData]) -> None:
        self.record, self.accepted, self.name = record, accepted, record.__name__

    def store(self, value: Any, path: str) -> Any:
        if not isinstance(value, self.accepted):
            advice = f"{self.name}.of(…) is a view of a dictionary" if isinstance(value, dict) else ""
            raise self.wrong(value, path, advice)
        self.record._check(value.data, path)
        return value.data

    def load(self, stored: Any, path: str, parent: Backing | None = None, key: str | None = None) -> Any:
        if not isinstance(stored, dict):
            raise self.wrong(stored, path)
        return self.record._at(Backing(stored, parent, key), path)

    def check(self, stored: Any, path: str) -> None:
        self.load(stored, path)
        self.record._check(stored, path)

    def missing(self, stored: Any, path: str) -> Iterator[tuple[str, str]]:
        if isinstance(stored, dict):
            yield from self.record._missing_in(stored, path)

    def likeness(self, stored: Any) -> tuple[int, ...]:
        """Return how well a dictionary fits, greatest best: nothing missing, few unknown keys, many known ones."""
        known = {field.key for field in self.record._fields.values()}
        return -len(list(self.missing(stored, ""))), -len(stored.keys() - known), len(stored.keys() & known)


class Either(Kind):
    """One of several kinds: the first that takes a value; narrower ones come before wider ones."""

    _WIDER: ClassVar[dict[Kind, int]] = {NONE: 0, BOOL: 2, INT: 3, FLOAT: 4, NUMBER: 4, STR: 5}

    def __init__(self, members: list[Kind]) -> None:
        self.name = " | ".join(kind.name for kind in members)
        self.members = sorted(members, key=self._width)

    def _width(self, kind: Kind) -> int:
        if isinstance(kind, Scalar):
            return self._WIDER[kind]
        return 1 if isinstance(kind, Choice) else 7 if isinstance(kind, Json) else 6

    def _first(self, attempt: Callable[[Kind], Any], value: Any, path: str) -> Any:
        refusals = []
        for kind in self.members:
            try:
                return attempt(kind)
            except DataError as error:
                refusals.append(error)
        # The member that accepted most of the value is the one that was meant: its error says what is wrong inside.
        deepest = max(refusals, key=lambda error: len(error.path))
        if len(deepest.path) > len(path):
            raise deepest
        if len(refusals) == 2 and self.members[0] is NONE:  # an optional field has the advice of its one type
            only = self.members[1].name
            text = str(refusals[1]).removeprefix(f"{path}: ").replace(f"expected {only}", f"expected {self.name}", 1)
            raise DataError(text, path=path)
        raise self.wrong(value, path)

    def store(self, value: Any, path: str) -> Any:
        return self._first(lambda kind: kind.store(value, path), value, path)

    def load(self, stored: Any, path: str, parent: Backing | None = None, key: str | None = None) -> Any:
        return self._member(stored, path).load(stored, path, parent, key)

    def _member(self, stored: Any, path: str) -> Kind:
        def accepting(kind: Kind) -> Kind:
            kind.check(stored, path)
            return kind

        first: Kind = self._first(accepting, stored, path)
        if not isinstance(first, Nested):
            return first
        # Of several classes whose fields all fit, the most similar one: fields may be missing, so that many fit.
        fitting: list[Nested] = []
        for kind in self.members:
            if isinstance(kind, Nested):
                with suppress(DataError):
                    kind.check(stored, path)
                    fitting.append(kind)
        return max(fitting, key=lambda kind: kind.likeness(stored))

    def missing(self, stored: Any, path: str) -> Iterator[tuple[str, str]]:
        try:
            kind = self._member(stored, path)
        except DataError:
            return
        yield from kind.missing(stored, path)


class Json(Kind):
    """Anything that JSON can say, tuples included."""

    name = "JSON-able data"

    def store(self, value: Any, path: str) -> Any:
        from graphrewrite.schema.record import IrData  # whose fields have kinds

        if isinstance(value, IrData | ListView | DictView):
            value = value.data
        if isinstance(value, np.generic):
            value = value.item()
        if isinstance(value, list | tuple):
            stored = [self.store(one, f"{path}[{i}]") for i, one in enumerate(value)]
            return stored if isinstance(value, list) else tuple(stored)
        if isinstance(value, dict):
            return _ANY_DICT.store(value, path)
        for kind in (NONE, BOOL, INT, FLOAT, STR):
            if isinstance(value, kind.accepted) and not isinstance(value, kind.refused):
                return kind.store(value, path)
        raise DataError(f"{describe(value)} is not {self.name}; {self._advice(value)}", path=path)

    def _advice(self, value: Any) -> str:
        if isinstance(value, np.ndarray):
            return "annotate the field as numpy.ndarray"
        return "annotate the field with its type, or write field(set_convert=…, get_convert=…)"

    def load(self, stored: Any, path: str, parent: Backing | None = None, key: str | None = None) -> Any:
        if isinstance(stored, list):
            return ListView(self, Backing(stored, parent, key), path)
        if isinstance(stored, dict):
            return DictView(STR, self, Backing(stored, parent, key), path)
        if isinstance(stored, tuple):
            return tuple([self.load(one, f"{path}[{i}]", Backing(stored, parent, key)) for i, one in enumerate(stored)])
        return self.store(stored, path)

    def check(self, stored: Any, path: str) -> None:
        self.store(stored, path)


ANY = Json()
_ANY_DICT = Dict(STR, ANY)


class Converted(Kind):
    """A kind whose values are converted by functions of the field."""

    def __init__(
        self, kind: Kind, set_convert: Callable[[Any], Any] | None, get_convert: Callable[[Any], Any] | None
    ) -> None:
        self.kind, self.name = kind, kind.name
        self.set_convert, self.get_convert = set_convert, get_convert
        self.data: Kind = kind if get_convert is None or isinstance(kind, Array) else ANY

    def store(self, value: Any, path: str) -> Any:
        checked = self.kind.store(value, path)
        if self.set_convert is None:
            return self.data.store(checked, path)
        if value is None:
            return None
        return self.data.store(self._convert(self.set_convert, value, path, "set_convert"), path)

    def load(self, stored: Any, path: str, parent: Backing | None = None, key: str | None = None) -> Any:
        if self.get_convert is None:
            return self.kind.load(stored, path, parent, key)
        if stored is None and _takes_none(self.kind):  # None of an optional field is not converted
            return None
        value = self._convert(self.get_convert, self.data.store(stored, path), path, "get_convert")
        self.kind.store(value, path)
        return value

    def _convert(self, function: Callable[[Any], Any], value: Any, path: str, name: str) -> Any:
        try:
            return function(value)
        except DataError:
            raise
        except Exception as error:  # whatever the user's function does
            message = f"{name} failed on {describe(value)}: {type(error).__name__}: {error}"
            raise DataError(message, path=path) from error


def _takes_none(kind: Kind) -> bool:
    try:
        kind.store(None, "")
    except DataError:
        return False
    return True
