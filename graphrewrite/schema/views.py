"""Views of lists and dictionaries in data: they check assigned values, and own nothing."""

from __future__ import annotations

import operator
from collections.abc import Iterable, Iterator, Mapping, MutableMapping, MutableSequence
from typing import TYPE_CHECKING, Any

from graphrewrite.errors import DataError

if TYPE_CHECKING:
    from graphrewrite.schema.backing import Backing
    from graphrewrite.schema.kind import Kind

__all__ = ["DictView", "ListView"]


class ListView(MutableSequence[Any]):
    """A list in some data, with entries of one kind.

    It can do what a list can, and is none: `data` is the list that it writes to, `list(view)` a copy.

    Examples
    --------
    >>> from graphrewrite import IrData
    >>> class Pool(IrData):
    ...     sizes: list[int]
    >>> pool = Pool(sizes=[2, 2])
    >>> pool.sizes.append(3)
    >>> pool.data
    {'sizes': [2, 2, 3]}
    >>> pool.sizes[0] = "wide"
    Traceback (most recent call last):
    graphrewrite.errors.DataError: Pool.sizes[0]: expected int, got str 'wide'
    """

    __slots__ = ("_backing", "_kind", "_path")
    __hash__ = None  # type: ignore[assignment]  # a list is mutable

    def __init__(self, kind: Kind, backing: Backing, path: str) -> None:
        self._kind, self._backing, self._path = kind, backing, path

    @property
    def data(self) -> list[Any]:
        """The list itself, in its stored form."""
        data: list[Any] = self._backing.read()
        return data

    def _stored(self, values: Iterable[Any], start: int = 0) -> list[Any]:
        stored_values = []
        for i, value in enumerate(values, start):
            stored = self._kind.store(value, f"{self._path}[{i}]")
            self._backing.refuse_cycle(stored, f"{self._path}[{i}]")
            stored_values.append(stored)
        return stored_values

    def _load(self, index: int) -> Any:
        at = index % len(self.data)
        return self._kind.load(self.data[index], f"{self._path}[{at}]", self._backing)

    def _index(self, index: Any) -> int:
        indices = range(len(self.data))
        try:
            return indices[operator.index(index)]
        except IndexError:
            raise IndexError(f"{self._path}: has {len(indices)} entries, no entry {index}") from None

    def __len__(self) -> int:
        return len(self.data)

    def __getitem__(self, index: Any) -> Any:
        if isinstance(index, slice):
            return [self._load(i) for i in range(*index.indices(len(self.data)))]
        return self._load(self._index(index))

    def __setitem__(self, index: Any, value: Any) -> None:
        if isinstance(index, slice):
            stored = self._stored(value, index.indices(len(self.data))[0])
            self._backing.write()[index] = stored
        else:
            at = self._index(index)
            (stored,) = self._stored([value], at)
            self._backing.write()[at] = stored

    def __delitem__(self, index: Any) -> None:
        if not isinstance(index, slice):
            index = self._index(index)
        del self._backing.write()[index]

    def insert(self, index: int, value: Any) -> None:
        """Insert a value before an index."""
        # The index as `list.insert` understands it: clipped to the list, for messages.
        at, _, _ = slice(index, None).indices(len(self.data))
        (stored,) = self._stored([value], at)
        self._backing.write().insert(index, stored)

    def extend(self, values: Iterable[Any]) -> None:
        """Append values, all of them or, if one does not fit, none."""
        stored = self._stored(values, len(self.data))
        self._backing.write().extend(stored)

    def sort(self, *, key: Any = None, reverse: bool = False) -> None:
        """Sort in place, as lists do."""
        self[:] = sorted(self, key=key, reverse=reverse)

    def reverse(self) -> None:
        """Reverse in place."""
        self._backing.write().reverse()

    def clear(self) -> None:
        """Remove all entries."""
        self._backing.write().clear()

    def copy(self) -> list[Any]:
        """Return a list of the entries."""
        return list(self)

    def __add__(self, other: Iterable[Any]) -> list[Any]:
        return [*self, *other]

    def __radd__(self, other: Iterable[Any]) -> list[Any]:
        return [*other, *self]

    def __mul__(self, count: int) -> list[Any]:
        return list(self) * count

    __rmul__ = __mul__

    def __eq__(self, other: object) -> bool:
        return list(self) == list(other) if isinstance(other, list | ListView) else NotImplemented

    def __repr__(self) -> str:
        return repr(list(self))

    def __reduce__(self) -> Any:
        return list, (list(self),)  # a copy belongs to nobody's data


class DictView(MutableMapping[str, Any]):
    """A dictionary in some data, with values of one kind.

    It can do what a dictionary can, and is none: `data` is the dictionary that it writes to, `dict(view)` a copy.

    Examples
    --------
    >>> from graphrewrite import IrData
    >>> class Unit(IrData):
    ...     ports: dict[str, int]
    >>> unit = Unit(ports={})
    >>> unit.ports["clock"] = 1
    >>> unit.data
    {'ports': {'clock': 1}}
    >>> unit.ports["reset"] = None
    Traceback (most recent call last):
    graphrewrite.errors.DataError: Unit.ports['reset']: expected int, got None
    """

    __slots__ = ("_backing", "_keys", "_kind", "_path")
    __hash__ = None  # type: ignore[assignment]  # a dictionary is mutable

    def __init__(self, keys: Kind, kind: Kind, backing: Backing, path: str) -> None:
        self._keys, self._kind, self._backing, self._path = keys, kind, backing, path

    @property
    def data(self) -> dict[str, Any]:
        """The dictionary itself, in its stored form."""
        data: dict[str, Any] = self._backing.read()
        return data

    def _stored(self, values: Mapping[str, Any]) -> dict[str, Any]:
        stored = {}
        for key, value in values.items():
            path = f"{self._path}[{key!r}]"
            try:
                name = self._keys.store(key, path)
            except DataError as error:
                raise DataError(f"its key: {str(error).removeprefix(f'{path}: ')}", path=path) from None
            stored[name] = self._kind.store(value, path)
            self._backing.refuse_cycle(stored[name], path)
        return stored

    def __len__(self) -> int:
        return len(self.data)

    def __iter__(self) -> Iterator[str]:
        return iter(self.data)

    def __contains__(self, key: object) -> bool:
        return key in self.data

    def __getitem__(self, key: str) -> Any:
        return self._kind.load(self.data[key], f"{self._path}[{key!r}]", self._backing)

    def __setitem__(self, key: str, value: Any) -> None:
        stored = self._stored({key: value})
        self._backing.write().update(stored)

    def __delitem__(self, key: str) -> None:
        if key not in self.data:
            raise KeyError(key)
        del self._backing.write()[key]

    def setdefault(self, key: str, default: Any = None) -> Any:
        """Return the value of a key, the default if there was none; the result writes through."""
        if key not in self:
            self[key] = default
        return self[key]

    def popitem(self) -> tuple[str, Any]:
        """Remove and return the last entry."""
        if not self:
            raise KeyError(f"{self._path}: is empty")
        key = next(reversed(self.data))
        return key, self.pop(key)

    def __reversed__(self) -> Iterator[str]:
        return reversed(self.data)

    def update(self, *others: Any, **values: Any) -> None:
        """Take over entries, all of them or, if one does not fit, none."""
        stored = self._stored(dict(*others, **values))
        self._backing.write().update(stored)

    def clear(self) -> None:
        """Remove all entries."""
        self._backing.write().clear()

    def copy(self) -> dict[str, Any]:
        """Return a dictionary of the entries."""
        return dict(self)

    def __or__(self, other: Mapping[str, Any]) -> dict[str, Any]:
        return {**self, **other}

    def __ror__(self, other: Mapping[str, Any]) -> dict[str, Any]:
        return {**other, **self}

    def __ior__(self, other: Mapping[str, Any]) -> DictView:
        self.update(other)
        return self

    def __eq__(self, other: object) -> bool:
        return dict(self) == dict(other) if isinstance(other, dict | DictView) else NotImplemented

    def __repr__(self) -> str:
        return repr(dict(self))

    def __reduce__(self) -> Any:
        return dict, (dict(self),)  # a copy belongs to nobody's data
