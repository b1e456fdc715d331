"""Dialect: a namespace of ops and types of edges of one's own, with levels and a version."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Mapping
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from graphrewrite.errors import GraphError, TypeMismatchError, did_you_mean
from graphrewrite.op.attribute_check import AttributeCheck
from graphrewrite.op.levels import BRIDGES, LEVELS, Level
from graphrewrite.types.own_members import OwnType

if TYPE_CHECKING:
    from graphrewrite.op.op import Op

__all__ = ["Dialect", "checked_level", "level_named"]

Upgrade = Callable[[dict[str, Any]], dict[str, Any]]
"""Takes the data of a node as a version had it, and returns it as the next version has it."""


class Dialect:
    """A namespace of ops and types of edges that belong together, beside those of the library.

    An op says that it is part of a dialect by ``define_op(dialect=…)``, a type of edges by
    ``class Relation(EdgeType, dialect=…)``; they are attributes of the dialect, and named ``"sig.gain"`` in graphs. A
    graph gets all of them at once, as in ``Graph("g", ops=[sig])``; so do `Graph.parse`, `load` and all others that
    take ops.

    Parameters
    ----------
    name : str
        The namespace, a word.
    levels : iterable of str
        Levels of its ops, from the least specific one to the most specific one; those of the library are there as well.
    above, below : {"nn", "integer", "stream"}, optional
        The level of the library above which, or below which, all levels of the dialect stand.
    version : int
        Version of its ops, which a graph is stored with: a new one for every change of what a stored op means.
    upgrades : mapping of int to callable
        For an earlier version, a function that takes the data of a node (its ``type`` and attributes) as that version
        had it, and returns it as the next version has it. Without one, graphs of that version are refused.

    Raises
    ------
    GraphError
        If the name is no word, or a level is unknown or there twice.

    Examples
    --------
    >>> from graphrewrite import Dialect, Graph, Tensor, define_op
    >>> sig = Dialect("sig", levels=("signal", "sample"), above="nn")
    >>> @define_op(dialect=sig, level="signal")
    ... def gain(x, *, db=0.0):
    ...     "Louder by some decibels."
    ...     return x * 10 ** (db / 20)
    >>> g = Graph("amplifier", ops=[sig])
    >>> x = g.input("x", Tensor("f32", ("N", 8)))
    >>> _ = g.output("y", sig.gain(x, db=3.0))
    >>> print(g)
    graph amplifier
    x = input() : f32[N,8]
    gain_1 = sig.gain(x, db=3.0) : f32[N,8]
    y = output(gain_1)
    >>> Graph.parse(str(g), ops=[sig]) == g
    True
    """

    def __init__(
        self,
        name: str,
        *,
        levels: Iterable[str] = (),
        above: str | None = None,
        below: str | None = None,
        version: int = 1,
        upgrades: Mapping[int, Upgrade] | None = None,
    ) -> None:
        if not str(name).isidentifier():
            raise GraphError(f"the name of a dialect is a word, such as 'sig', got {name!r}")
        words = [levels] if isinstance(levels, str) else list(levels)
        ours = [str(level) for level in LEVELS]
        for word in words:
            if word in (*ours, *BRIDGES) or words.count(word) > 1:
                raise GraphError(
                    f"the dialect {name!r} cannot have the level {word!r}, which is there already; rename it"
                )
        for other in {above, below} - {None, *ours}:
            raise GraphError(
                f"the dialect {name!r} stands above or below a level of the library, not {other!r}; these are "
                f"{', '.join(ours)}{did_you_mean(str(other), ours)}"
            )
        if above is not None and below is not None and ours.index(above) <= ours.index(below):
            raise GraphError(
                f"the dialect {name!r} cannot stand above {above} and below {below}, which stands below that"
            )
        self.name, self.version = name, version
        self.levels = tuple(Level(word, i, name, above, below) for i, word in enumerate(words))
        self.upgrades = dict(upgrades or {})
        self.ops: dict[str, Op] = {}
        """Its ops by their full names, such as ``"sig.gain"``."""
        self.types: dict[str, type[OwnType]] = {}
        """Its types of edges by their full names."""

    def add_member(self, word: str, member: Op | type[OwnType]) -> None:
        """Add an op or a type of edges, as its definition does; one that is defined again replaces the old one.

        Parameters
        ----------
        word : str
            Its name in the dialect.
        member : Op or subclass of EdgeType or ElementType
            What was defined.

        Raises
        ------
        GraphError
            If the dialect has another member of that name, or the name cannot be an attribute of it.
        """
        full, present = f"{self.name}.{word}", self._member(word)
        if not word.isidentifier() or word.startswith("_") or hasattr(type(self), word) or word in vars(self):
            raise GraphError(f"{word!r} is no name for a member of the dialect {self.name!r}; choose another word")
        if present is not None and not _is_again(present, member):
            raise GraphError(f"the dialect {self.name!r} has another {word!r}; rename one of them")
        if isinstance(member, type):
            member._checks = _FieldChecks(member)
            self.types[full] = member
        else:
            self.ops[full] = member

    def _member(self, word: str) -> Op | type[OwnType] | None:
        full = f"{self.name}.{word}"
        return self.ops.get(full) or self.types.get(full)

    if TYPE_CHECKING:  # which members there are, their definitions say

        def __getattr__(self, word: str) -> Any: ...

    else:

        def __getattr__(self, word: str) -> Any:
            # Before it is initialised, as when it is copied, it has no members.
            member = None if word.startswith("_") or "types" not in vars(self) else self._member(word)
            if member is None:
                raise AttributeError(f"the dialect {vars(self).get('name')!r} has no {word!r}{self._near(word)}")
            return member

    def _near(self, word: str) -> str:
        return "" if word.startswith("_") else did_you_mean(word, self._words())

    def _words(self) -> list[str]:
        return [full.rpartition(".")[2] for full in (*self.ops, *self.types)]

    def __dir__(self) -> list[str]:
        return sorted({*super().__dir__(), *self._words()})

    def __repr__(self) -> str:
        return f"<dialect {self.name}: {len(self.ops)} ops, {len(self.types)} types, version {self.version}>"


class _FieldChecks(dict[str, AttributeCheck]):
    """What values the fields of a type take; asked late, for an annotation may name the type itself."""

    def __init__(self, kind: type[OwnType]) -> None:
        super().__init__()
        self.make = kind.__init__

    def __missing__(self, name: str) -> AttributeCheck:
        default = inspect.signature(self.make).parameters[name].default
        return self.setdefault(name, AttributeCheck.of(self.make, name, default, is_sized=False))


def _is_again(present: Op | type[OwnType], member: Op | type[OwnType]) -> bool:
    """Tell whether a member is one that is there already, defined again, as when a cell of a notebook is run again."""
    if isinstance(present, type) or isinstance(member, type):
        return _home(present) == _home(member)
    return present.stands_for(member)


def _home(member: Any) -> tuple[str, str]:
    return member.__module__, getattr(member, "__qualname__", "")


def checked_level(level: str | None, dialect: Dialect | None) -> str:
    """Return the level of an op that is being defined; where it says none, the first of its dialect, or nn.

    Raises
    ------
    TypeMismatchError
        If there is no such level.

    Examples
    --------
    >>> checked_level(None, None), checked_level(None, Dialect("sig", levels=("signal", "sample")))
    ('nn', 'signal')
    >>> checked_level("intger", None)
    Traceback (most recent call last):
    graphrewrite.errors.TypeMismatchError: unknown level 'intger'; known are nn, ... bridge; did you mean 'integer'?
    """
    own = () if dialect is None else dialect.levels
    known = [*(each.name for each in (*own, *LEVELS)), *BRIDGES]
    if level is None:
        return known[0]
    if level not in known:
        advice = "" if own else "; levels of one's own are those of a dialect: Dialect(…, levels=…)"
        raise TypeMismatchError(
            f"unknown level {level!r}; known are {', '.join(known)}{did_you_mean(str(level), known) or advice}"
        )
    return level


@lru_cache(maxsize=256)
def level_named(name: str, dialect: Dialect | None) -> Level | None:
    """Return the level of an op by its name; None if the op has none of its own.

    Examples
    --------
    >>> str(level_named("integer", None)), level_named("bridge", None)
    ('integer', None)
    """
    own = () if dialect is None else dialect.levels
    return next((each for each in (*own, *LEVELS) if each.name == name), None)
