"""What generated graphs reach: ops, branches of attributes, and pairs of ops one of which reads the other."""

from __future__ import annotations

import enum
import inspect
import types
import typing
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import product
from typing import Any, Literal, Union

import numpy as np

from graphrewrite import Graph
from graphrewrite.op.op import Op
from graphrewrite.testing.generation.experience import counts_of, taken
from graphrewrite.testing.generation.kinds import kind_of
from graphrewrite.testing.generation.proposing import propose, sources
from graphrewrite.testing.generation.suggested import starts_of
from graphrewrite.types import Type

Branch = tuple[str, str, str]
"""Name of an op, of an attribute, and what is asked of its value."""
Pair = tuple[str, str]
_TURNS = 12
"""Cases of each op to look at, for each of some types of its first operand."""


def branches_of(op: Op) -> Iterator[Branch]:
    """What may be asked of the values of an op's attributes, as its signature says."""
    hints = typing.get_type_hints(op.function)
    for name, default in op.attributes.items():
        hint = hints.get(name, Any)
        parts = typing.get_args(hint) if typing.get_origin(hint) in (Union, types.UnionType) else (hint,)
        if default is not inspect.Parameter.empty:
            yield op.name, name, "default"
        yield op.name, name, "another"
        if type(None) in parts or default is None:
            yield from ((op.name, name, branch) for branch in ("None", "not None"))
        for part in parts if float not in parts else ():  # a truth value among numbers is one of these
            yield from ((op.name, name, repr(option)) for option in _options(part))


def _options(hint: Any) -> Sequence[Any]:
    if typing.get_origin(hint) is Literal:
        return typing.get_args(hint)
    if isinstance(hint, type) and issubclass(hint, enum.Enum):
        return list(hint)
    return (False, True) if hint is bool else ()


def branches_in(op: Op, attributes: dict[str, Any]) -> Iterator[Branch]:
    """The branches that the attributes of a node take."""
    for name, default in op.attributes.items():
        value = attributes.get(name, default)
        same = not isinstance(value, np.ndarray) and value == default
        yield op.name, name, "default" if same else "another"
        yield op.name, name, "None" if value is None else "not None"
        yield op.name, name, repr(value)


def possible_pairs(ops: Sequence[Op]) -> set[Pair]:
    """Pairs of ops the second of which takes a result of the first one as its first operand, in a case of both.

    Cases are those that the generator's proposals hold for some operands of each kind, so that an op which nothing is
    known about would be in no pair: `test_every_op_has_cases` sees to that. Further operands are never of a kind
    of elements that the first one is not, so that they add no pairs.
    """
    given = {op: sorted(set(_results(op)), key=str) for op in ops}
    return {
        (one.name, other.name)
        for one in ops
        for other in ops
        if other.operands and any(_takes(other, kind) for kind in given[one])
    }


def _results(op: Op) -> Iterator[Type]:
    if not op.operands:
        for case in sources(op):
            yield from case.results
        return
    for kind, counts in taken(op).items():
        for first, turn in product(starts_of(op, kind), range(_TURNS)):
            case = propose(op, first, counts[turn % len(counts)], turn)
            if case is not None:
                yield from case.results


def _takes(op: Op, kind: Type) -> bool:
    return any(propose(op, kind, count, 0) is not None for count in counts_of(op, kind_of(kind)))


@dataclass
class Reached:
    """What some graphs have reached, and the number of the graph that reached it first."""

    ops: Sequence[Op]
    graphs: int = 0
    nodes: int = 0
    first: dict[Any, int] = field(default_factory=dict)

    def add(self, graph: Graph) -> None:
        self.graphs += 1
        for node in graph:
            op = graph.op(node)
            if op not in self.ops:
                continue
            self.nodes += 1
            self._note(op.name)
            for branch in branches_in(op, graph.attributes(node)):
                self._note(branch)
            for operand in graph.operands(node):
                self._note((graph.nodes[operand.node]["type"], op.name))

    def _note(self, found: Any) -> None:
        self.first.setdefault(found, self.graphs)

    def missing(self, wanted: Collection[Any]) -> list[Any]:
        return sorted(set(wanted) - set(self.first), key=str)

    def line(self, name: str, wanted: Collection[Any]) -> str:
        """How many of some things were reached, and with which graph the last of them."""
        met = set(wanted) & set(self.first)
        last = max((self.first[thing] for thing in met), default=0)
        return f"{len(met)} of {len(wanted)} {name}, the last one in graph {last}"
