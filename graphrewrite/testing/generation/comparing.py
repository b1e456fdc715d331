"""What a rule compares the attributes and sizes of a match with, read off while its function runs.

Branches of a rule say whether a graph came further than another one. What a number would have to be for that is said
by the comparisons on the way: fuzzers look for their operands in the input (Aschermann, Schumilo, Blazytko, Gawlik and
Holz: Redqueen, NDSS 2019), and here numbers know where they are from.
"""

from __future__ import annotations

import inspect
import math
from collections.abc import Mapping, Sequence
from contextlib import suppress
from fractions import Fraction
from typing import Any, NamedTuple

import numpy as np

from graphrewrite.graph import Graph
from graphrewrite.op.op import Op
from graphrewrite.rewriting.match import Match
from graphrewrite.rewriting.rule.declaration import Rule
from graphrewrite.rewriting.rule.replacement import Bound, Replay
from graphrewrite.testing.generation.tracing import Traced
from graphrewrite.types import FixedPoint, Tensor, Type

__all__ = ["Noted", "compared"]


class Noted(NamedTuple):
    """What a number of a match was compared with.

    Attributes
    ----------
    node : str
        The node.
    path : tuple of str or int
        An attribute, "type" or, of what a node computes, "result" and its index; then the place in a tuple, or a field.
        Of the entries of a constant, "value".
    wanted : int, float, str, FixedPoint or None
        What it was compared with, such that the comparison comes out otherwise.
    """

    node: str
    path: tuple[str | int, ...]
    wanted: Any


class _Number(Traced):
    """A whole number of a match, or one made of it by adding, subtracting and factors."""

    others: tuple[tuple[_Number, int], ...] = ()
    """What was added or subtracted, with the sign."""

    def _note(self, wanted: Any) -> None:
        if wanted is None:
            self.notes.append(Noted(self.place[0], self.place[1], None))
        elif isinstance(wanted, int | float) and wanted == int(wanted) and self.factor:
            value = (int(wanted) - self.offset) / self.factor
            if value.denominator == 1:
                self.notes.append(Noted(self.place[0], self.place[1], int(value)))
            for other, sign in self.others:
                other._note(int(other) + sign * (int(wanted) - int(self)))

    def _compared(self, other: Any, bound: int = 0) -> None:
        if other is not None and not isinstance(other, int | float):
            return
        plain = None if other is None else int(other) + bound
        if isinstance(other, _Number):
            other._note(int(self) - bound)
        if isinstance(plain, int) and plain == int(self):
            plain += 1
        self._note(plain)

    def __eq__(self, other: object) -> bool:
        self._compared(other)
        return bool(int.__eq__(self, other) is True or (isinstance(other, float) and int(self) == other))

    __hash__ = int.__hash__

    def __ne__(self, other: object) -> bool:
        return not self == other

    def __add__(self, other: Any) -> Any:
        return self._with(super().__add__(other), other, 1)

    __radd__ = __add__

    def __sub__(self, other: Any) -> Any:
        return self._with(super().__sub__(other), other, -1)

    def __neg__(self) -> Any:
        return self * -1

    def __reduce__(self) -> Any:
        return int, (int(self),)

    def _with(self, made: Any, other: Any, sign: int) -> Any:
        if isinstance(made, _Number):
            made.others = (*self.others, *([(other, sign)] if isinstance(other, _Number) else []))
        return made


class _Text(str):
    """A text of a match: an element type, a mode."""

    place: tuple[str, tuple[str | int, ...]]
    notes: list[Any]

    def __eq__(self, other: object) -> bool:
        equal = str.__eq__(self, other) is True
        if isinstance(other, str) and not equal:
            self.notes.append(Noted(*self.place, str(other)))
        return equal

    def __ne__(self, other: object) -> bool:
        return not self == other

    __hash__ = str.__hash__

    def __reduce__(self) -> Any:
        return str, (str(self),)


class _Format(FixedPoint):
    """A format of a match, whose fields are numbers of it."""

    place: tuple[str, tuple[str | int, ...]]
    notes: list[Any]

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, FixedPoint):
            return False
        mine, wanted = _plain(self), _plain(other)
        if mine != wanted:
            self.notes.append(Noted(*self.place, wanted))
        return bool(mine == wanted)

    def __hash__(self) -> int:
        return hash(_plain(self))

    def __reduce__(self) -> Any:
        return FixedPoint, (self.signed, int(self.width), int(self.fraction))


class _Array(np.ndarray):
    """A constant of a match, whose shape and entries are followed; what is computed of it is an array as any other."""

    sizes: tuple[Any, ...] | None = None
    node: str = ""
    notes: list[Any] | None = None

    def _compared(self, other: Any) -> Any:
        number = other.item() if isinstance(other, np.number) else other
        if self.notes is not None and type(number) in (int, float):
            self.notes.append(Noted(self.node, ("value",), number))
        return other

    def __eq__(self, other: object) -> Any:
        return np.asarray(self) == self._compared(other)

    def __ne__(self, other: object) -> Any:
        return np.asarray(self) != self._compared(other)

    def __lt__(self, other: Any) -> Any:
        return np.asarray(self) < self._compared(other)

    def __le__(self, other: Any) -> Any:
        return np.asarray(self) <= self._compared(other)

    def __gt__(self, other: Any) -> Any:
        return np.asarray(self) > self._compared(other)

    def __ge__(self, other: Any) -> Any:
        return np.asarray(self) >= self._compared(other)

    __hash__ = None  # as of arrays

    @property  # type: ignore[misc]  # numpy's property can be set as well
    def shape(self) -> Any:
        return np.asarray(self).shape if self.sizes is None else self.sizes

    @property
    def size(self) -> Any:
        return np.asarray(self).size if self.sizes is None else math.prod(self.sizes)


def _plain(value: Any) -> Any:
    """Return a value without what follows it."""
    match value:
        case _Number():
            return int(value)
        case _Text():
            return str(value)
        case _Format():
            return FixedPoint(value.signed, int(value.width), int(value.fraction))
        case Tensor():
            return Tensor(_plain(value.element), _plain(value.shape), value.layout)
        case _Array():
            return np.asarray(value)
        case tuple() | list() if type(value) in (tuple, list):
            return type(value)(map(_plain, value))
    return value


class _Followed:
    """Values of one run that note what they are compared with."""

    def __init__(self) -> None:
        self.notes: list[Noted] = []

    def value(self, value: Any, node: str, *path: str | int) -> Any:
        """Return a value that is equal to a value."""
        place: Any = (node, path)
        if type(value) is int:
            return _Number.of(value, place, self.notes, Fraction(1), Fraction(0))
        if type(value) is tuple:
            return tuple(self.value(each, node, *path, index) for index, each in enumerate(value))
        if type(value) is str:
            text = _Text(value)
            text.place, text.notes = place, self.notes
            return text
        if type(value) is FixedPoint:
            made = object.__new__(_Format)
            fields = {"width": value.width, "fraction": value.fraction}
            followed = {key: self.value(number, node, *path, key) for key, number in fields.items()}
            made.__dict__.update(followed, signed=value.signed, place=place, notes=self.notes)
            return made
        return value

    def shape(self, shape: Sequence[Any], node: str, *path: str | int) -> tuple[Any, ...]:
        """Return a shape whose sizes are followed."""
        return tuple(self.value(size, node, *path, axis) for axis, size in enumerate(shape))

    def type(self, kind: Type, data: Mapping[str, Any], node: str, result: int) -> Type:
        """Return the type of a value: its sizes, and its element type where that is one of a leaf, or an attribute."""
        if not isinstance(kind, Tensor):
            return kind
        is_leaf = data["type"] in ("input", "constant")
        changed: dict[str, Any] = {
            "shape": self.shape(kind.shape, node, *(("type",) if is_leaf else ("result", result)))
        }
        if is_leaf:
            changed["element"] = self.value(kind.element, node, "type", "element")
        elif data.get("element") == kind.element:
            changed["element"] = self.value(kind.element, node, "element")
        made = object.__new__(Tensor)
        made.__dict__.update(kind.__dict__, **changed)
        return made


class _Bound(Bound):
    """A matched value whose type and attributes are followed."""

    __slots__ = ()
    replay: _Replay

    @property
    def type(self) -> Type:  # type: ignore[override]  # as of what it stands for
        return self.replay.followed.type(super().type, self.graph._node[self._node], self._node, self._result)

    @property
    def shape(self) -> tuple[int | str, ...]:
        return self.type.shape

    @property
    def value(self) -> Any:
        array = super().value
        if type(array) is not np.ndarray:
            return array
        made = array.view(_Array)
        made.sizes = self.replay.followed.shape(array.shape, self._node, "type")
        made.node, made.notes = self._node, self.replay.followed.notes
        return made

    def __getattr__(self, name: str) -> Any:
        value = super().__getattr__(name)
        default = self.graph.op(self._node).attributes.get(name, inspect.Parameter.empty)
        if default is not inspect.Parameter.empty and repr(value) != repr(default):  # what is None is told by identity
            self.replay.followed.notes.append(Noted(self._node, (name,), default))
        return self.replay.followed.value(value, self._node, name)


class _Replay(Replay):
    """A run of a rule's function on values that are followed; what it makes of them is not."""

    def __init__(self, followed: _Followed, *arguments: Any) -> None:
        super().__init__(*arguments)
        self.followed = followed

    def _followed(self, value: Any) -> Any:
        if value.__class__ is Bound:
            return _Bound(self, value._node, value._result, value._place)
        return tuple(map(self._followed, value)) if value.__class__ is tuple else value

    def arguments(self) -> list[Any]:
        return [self._followed(argument) for argument in super().arguments()]

    def next_made(self) -> Any:
        return self._followed(super().next_made())

    def apply(self, op: Op, operands: tuple[Any, ...], attributes: dict[str, Any]) -> Any:
        plain = [Bound(self, o._node, o._result, o._place) if isinstance(o, _Bound) else _plain(o) for o in operands]
        return super().apply(op, tuple(plain), {key: _plain(value) for key, value in attributes.items()})


def compared(rule: Rule, graph: Graph, match: Match) -> list[Noted]:
    r"""Return what a rule compares the attributes and sizes of a match with, in order.

    Examples
    --------
    >>> from graphrewrite import decline, op
    >>> from graphrewrite import rule as make_rule
    >>> @make_rule
    ... def halve(x):
    ...     "Of sums of four."
    ...     total = op.reduce_sum(x)
    ...     yield total
    ...     return op.identity(x) if x.shape[0] == 4 and total.axes == (1,) else decline("other sums")
    >>> g = Graph.parse("graph g\nx = input() : f32[3,2]\ns = reduce_sum(x, axes=(0,)) : f32[1,2]\ny = output(s)")
    >>> compared(halve, g, next(halve.matches_at(g, "s")))
    [Noted(node='x', path=('type', 0), wanted=4)]
    """
    followed = _Followed()
    replay = _Replay(followed, graph, rule.pattern, match.images, match.values)
    with suppress(Exception), np.errstate(all="ignore"):  # whatever a user's rule raises: it is found again
        rule.run(replay, match.replaced()[0][0][0])
    return followed.notes
