"""Given ops: what a graph, a parser or a reader is given beside the library, checked for names that clash."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np

from graphrewrite.errors import GraphError
from graphrewrite.op.dialect import Dialect
from graphrewrite.op.library import LIBRARY
from graphrewrite.op.op import Op
from graphrewrite.op.other_names import did_you_mean_op
from graphrewrite.types import OwnType, Stream

__all__ = ["GivenOps", "OpOrDialect", "hides_library", "hiding", "missing_dialect", "unknown_op"]

OpOrDialect = Op | Dialect
"""What ``ops=`` takes: single ops, and dialects for all of theirs."""


@dataclass(frozen=True)
class GivenOps:
    """Ops and types of edges that are known beside the library's, by their names in graphs.

    Examples
    --------
    >>> from graphrewrite import define_op
    >>> sig = Dialect("sig")
    >>> @define_op(dialect=sig)
    ... def invert(x):
    ...     return -x
    >>> GivenOps.of([sig]).ops
    {'sig.invert': <op sig.invert>}
    """

    ops: dict[str, Op]
    types: dict[str, type[OwnType]]
    dialects: dict[str, Dialect]

    @classmethod
    def of(cls, given: Any) -> GivenOps:
        """Return what an argument ``ops`` gives.

        Raises
        ------
        GraphError
            If it is no iterable of ops and dialects, or two of one name differ, of which one may be the library's.
        """
        if isinstance(given, GivenOps):
            return given
        listed = list(given) if isinstance(given, Iterable) and not isinstance(given, Dialect) else None
        if listed is None or not all(isinstance(each, Op | Dialect) for each in listed):
            raise GraphError(
                f"ops must be an iterable of Op and Dialect, such as graph.ops.values() or [op, dialect], got {given!r}"
            )
        found = cls({}, {}, {})
        for each in listed:
            if isinstance(each, Dialect):
                found._add_dialect(each)
            else:
                found._add(each)
        return found

    def _add_dialect(self, dialect: Dialect) -> None:
        if self.dialects.setdefault(dialect.name, dialect) is not dialect:
            raise GraphError(f"two dialects have the name {dialect.name!r}; give one of them")
        self.types.update(dialect.types)
        for op in dialect.ops.values():
            self._add(op)

    def _add(self, op: Op) -> None:
        if hides_library(op):
            raise GraphError(hiding(op))
        present = self.ops.get(op.name, op)
        if not (present is op or (present.stands_for(op) and is_alike(present.function, op.function))):
            raise GraphError(
                f"two different ops are named {op.name!r}; rename one of them, or give it a namespace: "
                "define_op(dialect=…)"
            )
        self.ops[op.name] = op
        if op.dialect is not None:
            self.dialects.setdefault(op.dialect.name, op.dialect)
            self.types.update(op.dialect.types)


def is_alike(one: Any, other: Any) -> bool:
    """Tell whether functions are written alike, with equal values around: of ops given at once, none replaces another.

    Examples
    --------
    >>> def scaled(factor):
    ...     return lambda x: factor * x
    >>> is_alike(scaled(2), scaled(2)), is_alike(scaled(2), scaled(3))
    (True, False)
    """
    code = getattr(one, "__code__", None)
    if one is other or code is None:
        return True
    if code != getattr(other, "__code__", None):
        return False
    cells = zip(one.__closure__ or (), other.__closure__ or (), strict=True)
    try:
        return all(a is b or not np.any(a.cell_contents != b.cell_contents) for a, b in cells)
    except Exception:  # they cannot be compared
        return False


def hides_library(op: Op) -> bool:
    """Tell whether another op of the library has the name of an op.

    Examples
    --------
    >>> hides_library(LIBRARY["relu"])
    False
    """
    known = LIBRARY.get(op.name)
    return known is not None and known is not op and not known.stands_for(op)


def hiding(op: Op) -> str:
    """Return what is wrong with an op that has the name of one of the library, and what to do."""
    return (
        f"the library has an op named {op.name!r} already; rename yours, or give it a namespace: define_op(dialect=…)"
    )


def missing_dialect(name: str, known: Iterable[str]) -> str | None:
    """Return the dialect of a full name, if nothing of that dialect is known; None otherwise.

    Examples
    --------
    >>> missing_dialect("sig.gain", ["rel.join"]), missing_dialect("relu", []), missing_dialect("sig.gain", ["sig.mix"])
    ('sig', None, None)
    """
    dialect, dot, word = name.partition(".")
    is_one = dot and dialect.isidentifier() and word.isidentifier()
    return dialect if is_one and not any(each.startswith(f"{dialect}.") for each in known) else None


def unknown_op(name: str, own: Iterable[str], result: Any = None) -> str:
    """Return what is wrong with a name that no op has, and what to do.

    Parameters
    ----------
    name : str
        The name.
    own : iterable of str
        Names of the ops that are known beside the library's.
    result : Type or tuple of Type, optional
        What its node gives, where that is known: streams are of hardware.

    Examples
    --------
    >>> unknown_op("rellu", []), unknown_op("sig.gain", [])
    ("unknown op 'rellu'; did you mean 'relu'?; pass it as ops=[…]",
     "unknown op 'sig.gain' of the dialect 'sig', which is missing; pass the dialect as ops=[sig]")
    """
    own = list(own)
    dialect = missing_dialect(name, own)
    if dialect is not None:
        return f"unknown op {name!r} of the dialect {dialect!r}, which is missing; pass the dialect as ops=[{dialect}]"
    is_hardware = any(isinstance(kind, Stream) for kind in (result if isinstance(result, tuple) else (result,)))
    given = "ops=[component.op for component in graphrewrite.hdl.COMPONENTS]" if is_hardware else "ops=[…]"
    return f"unknown op {name!r}{did_you_mean_op(name, own)}; pass it as {given}"
