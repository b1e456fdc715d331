"""Values below a rule's ``yield``: matched nodes with their attributes and arrays, constants, and new nodes."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import cached_property
from typing import Any

import numpy as np

from graphrewrite.errors import RuleError, TypeMismatchError, did_you_mean
from graphrewrite.graph import Graph, Operand
from graphrewrite.graph.unknown_sizes import first_free_number, local_names, numbered
from graphrewrite.graph.validation import check_annotations
from graphrewrite.op import as_constant, constant, constant_type, find_op
from graphrewrite.op.literals import met_by
from graphrewrite.op.op import Op
from graphrewrite.op.operators import TypedOperators
from graphrewrite.op.reserved_keys import RESERVED_ANNOTATIONS
from graphrewrite.op.symbolic import Symbolic
from graphrewrite.rewriting.match import MatchedValue, UnitMatches
from graphrewrite.rewriting.pattern import Every, Pattern, PatternNode, Repeated
from graphrewrite.rewriting.rule.rule_run import RuleRun, RunValue
from graphrewrite.types import (
    SHORT_INTEGERS,
    SMALL_FLOATS,
    Element,
    Tensor,
    Type,
    element_dtype,
    element_of,
    hold,
    owned,
    sizes_in,
)

__all__ = [
    "Absent",
    "Bound",
    "Known",
    "Members",
    "New",
    "Part",
    "Replay",
    "new_parts",
]


class Part(RunValue, TypedOperators):
    """A value in a replacement: bound by the match, a computed constant, or new."""

    __slots__ = ()
    replay: Replay
    type: Type

    def __iter__(self) -> Iterator[Any]:
        raise RuleError("has one result, which cannot be unpacked")


class Bound(MatchedValue, Part):  # type: ignore[override]  # its type is read from the graph
    """A value that the match bound: its type and shape, the array of a constant, attributes and annotations by name.

    It may know its place in the pattern: the index of its term, or -1 minus that of its variable; of several values
    that a variable binds, both that and which of them.
    """

    __slots__ = ("_place", "replay")

    def __init__(self, replay: Replay, node: str, result: int = 0, place: int | tuple[int, int] | None = None) -> None:
        self.replay, self.graph, self._node, self._result, self._place = replay, replay.graph, node, result, place

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(name)
        data = self.graph._node[self._node]
        op = find_op(data.get("type"), self.graph.ops) or self.graph.op(self._node)
        if name in op.attributes and not op.any_attributes and not op.forms:  # as almost always
            return data.get(name, op.attributes[name])
        known = self.graph.attributes(self._node)
        if name not in known:
            known |= self.annotations
        if name in known:
            return known[name]
        if name in RESERVED_ANNOTATIONS:
            return None
        derived = {other for other, meaning in op.derived.items() if meaning not in op.operands}
        if name in derived:
            return getattr(self.graph.node(self._node), name)
        raise RuleError(f"has no attribute {name!r}{did_you_mean(name, [*known, *derived])}", node=self._node)

    def __iter__(self) -> Iterator[Bound]:
        results = self.op.number_of_results(self.graph.attributes(self._node))
        if results == 1:
            raise RuleError("has one result, which cannot be unpacked", node=self._node)
        return iter([Bound(self.replay, self._node, i) for i in range(results)])


class BoundNode(Bound):
    """A matched node with several results."""

    __slots__ = ()

    def __getitem__(self, index: Any) -> Any:
        return tuple(self)[index]


class Absent(Part):
    """A node or value that is missing from this match, for its alternative was not taken; false."""

    def __init__(self, replay: Replay, results: int = 1) -> None:
        self.replay, self._results = replay, results

    def __bool__(self) -> bool:
        return False

    def __iter__(self) -> Iterator[Absent]:
        return iter([self] * self._results)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(name)
        raise RuleError(f"asks for {name!r} of a node that is not there in this match; test whether it is, first")


class Members(Part):
    """The links of a run, lowest first, or the members of a group: their nodes, and the bindings of each."""

    def __init__(self, replay: Replay, several: UnitMatches, own: tuple[str, ...], is_run: bool) -> None:
        self.replay, self.is_run = replay, is_run
        self.nodes = tuple(Bound(replay, top) for top in several.tops)
        self._own = {name: tuple(replay.bound(row[i]) for row in several.values) for i, name in enumerate(own)}

    @property
    def links(self) -> tuple[Bound, ...]:
        """The nodes of a run that are read from above, lowest first."""
        return self.nodes

    def __len__(self) -> int:
        return len(self.nodes)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_") or name not in self._own:
            raise RuleError(f"a run or group has no {name!r}{did_you_mean(name, self._own)}")
        return self._own[name]


class Made(Part):
    """A value that a replacement makes.

    Attributes
    ----------
    like : Bound, optional
        The matched node whose annotations it takes.
    stated : mapping, optional
        Exactly the annotations that it gets, where the rule says so.
    """

    __slots__ = ()
    op: Op
    like: Bound | None
    stated: Mapping[Any, Any] | None

    def __repr__(self) -> str:
        return f"<new {self.op.name}>"


class Known(Made):
    """A constant that a replacement has computed."""

    __slots__ = ("like", "replay", "stated", "type", "value")
    op = constant

    def __init__(self, replay: Replay, value: np.ndarray, type: Type | None = None) -> None:
        self.replay, self.value, self.like, self.stated = replay, owned(value), None, None
        self.type = Tensor(element_of(value.dtype), value.shape) if type is None else type


class New(Made):
    """A node that a replacement adds; one of its results, of which the first stands for the node."""

    __slots__ = ("_first", "attributes", "like", "op", "operands", "replay", "result", "stated", "type", "types")

    def __init__(
        self,
        replay: Replay,
        op: Op,
        operands: tuple[Part, ...],
        attributes: dict[str, Any],
        types: Sequence[Type],
        result: int = 0,
    ) -> None:
        self.replay, self.op, self.operands, self.attributes = replay, op, operands, attributes
        self.types, self.result, self.type = types, result, types[result]
        self.like, self.stated = None, None
        self._first: New | None = None  # not itself: rewriting makes many, and pauses the collector of cycles

    @property
    def first(self) -> New:
        """The first result of the same node."""
        return self if self._first is None else self._first


class Replay(RuleRun):
    """One run of a rule's function on a match, given as in `graphrewrite.rewriting.match.Embedding`."""

    def __init__(self, graph: Graph, pattern: Pattern, images: Sequence[Any], values: Sequence[Any]) -> None:
        self.graph, self.pattern, self.images, self.values = graph, pattern, images, values
        self.position = 0
        self.effects: list[New] = []

    @cached_property
    def first_free(self) -> int:
        """The next number of an unknown size."""
        return first_free_number(self.graph)

    def arguments(self) -> list[Any]:
        """Return the arguments for the rule's parameters in this match."""
        pattern = self.pattern
        arguments: list[Any] = []
        place = 0
        for kind, value in zip(pattern.kinds, self.values, strict=True):
            place -= 1
            if kind == "attribute":
                arguments.append(value)
            elif value.__class__ is Operand:
                arguments.append(Bound(self, value[0], value[1], place))
            elif kind == "values":
                arguments.append(tuple([Bound(self, *operand) for operand in value or ()]))
            else:  # the default of an optional operand, else a variable of an alternative not taken
                arguments.append(None if pattern.variables[-1 - place].optional else Absent(self))
        return arguments

    def bound(self, value: Any) -> Any:
        """Return a bound value as a part; the value of an attribute as it is."""
        return Bound(self, *value) if isinstance(value, tuple) and [*map(type, value)] == [str, int] else value

    def next_made(self) -> Any:
        """Return the match of the next term of the pattern."""
        place = self.position
        self.position = place + 1
        image = self.images[place]
        if image.__class__ is str:
            kind = BoundNode if place in self.pattern.unpacked else Bound
            return kind(self, image, 0, place)
        term = self.pattern.terms[place]
        if isinstance(image, UnitMatches):
            assert isinstance(term, Repeated | Every)
            return Members(self, image, tuple(v.name for v in term.unit.own), isinstance(term, Repeated))
        if image is None:
            return Absent(self, term.results if isinstance(term, PatternNode) else 1)
        return self.bound(image)

    def takes(self, op: Op, attributes: dict[str, Any]) -> bool:
        """Tell whether an op has a state, which no constant has, or an attribute with a size that is no number."""
        return op.has_state(attributes) or (bool(op.sized) and self.is_open(op, op.as_attributes(attributes)))

    def apply(self, op: Op, operands: tuple[Any, ...], attributes: dict[str, Any]) -> Any:
        """Return the value of ``op(*operands, **attributes)`` below the yield."""
        if not attributes:
            return self.make(op, operands, attributes)
        like, stated = attributes.pop("like", None), attributes.pop("annotations", None)
        if like is not None:
            own = {op.canonical_name(k): v for k, v in attributes.items()}
            attributes = {k: v for k, v in like.data.items() if k in op.attributes} | own
        made = self.make(op, operands, op.as_attributes(attributes))
        first = made[0] if isinstance(made, tuple) else made
        if like is not None:
            first.like = like
        if stated is not None:
            for each in dict.fromkeys((op, first.op)):  # an op of constants may have become one
                check_annotations(stated, each)
            first.stated = stated
        return made

    def make(self, op: Op, operands: tuple[Any, ...], attributes: dict[str, Any]) -> Known | New | tuple[New, ...]:
        """Return a new node's results, or the constant that an op of constants alone is."""
        parts, is_constant = operands, True
        for operand in operands:
            if operand.__class__ is New:
                is_constant = False
            elif operand.__class__ is Bound:
                is_constant = is_constant and operand.is_constant
            elif operand.__class__ is not Known:
                parts = ()
        if not parts or len(parts) < op.required:  # not all of them are parts yet
            is_complete = len(operands) >= op.required and not any(x is None for x in operands)
            slots = operands if is_complete else op.completed(operands, attributes)
            slots = [self.part(x) if isinstance(x, Part) else x for x in slots]
            like = met_by(op, slots, [x.type if isinstance(x, Part) else None for x in slots], attributes)
            parts = tuple([x if isinstance(x, Part) else self.part(x, like) for x in slots])
            if like is not None and like.element in SMALL_FLOATS:
                parts = self._narrowed(op, parts, like.element, attributes)
            is_constant = all(isinstance(p, Known) or (isinstance(p, Bound) and p.is_constant) for p in parts)
        kinds = tuple([p.type for p in parts])
        if attributes:
            attributes = op.settled(attributes, kinds)
        # An op of constants alone is computed at once, unless its result would need another dtype.
        is_constant = is_constant and not op.has_state(attributes) and not self.is_open(op, attributes)
        if is_constant and (folded := self.folded(op, parts, kinds, attributes)) is not None:
            return folded
        types = op.result_types(kinds, attributes)
        if (len(types) != 1 or types[0].unknowns) and (names := local_names(types)):
            types = numbered(types, self.first_free)
            self.first_free += len(names)
        if len(types) == 1:
            new = New(self, op, parts, attributes, types)
            if op.effects or (attributes and op.has_effects(attributes)):
                self.effects.append(new)
            return new
        results = tuple(New(self, op, parts, attributes, types, i) for i in range(len(types)))
        if op.has_effects(attributes):
            self.effects.extend(results[:1])
        for other in results[1:]:
            other._first = results[0]
        return results

    def folded(self, op: Op, parts: Sequence[Any], kinds: tuple[Type, ...], attributes: dict[str, Any]) -> Known | None:
        """Return the constant that an op of constants is; None if its result would need another dtype."""
        types = op.infer(*kinds, **attributes)
        if len(types) != 1 or not isinstance(kind := types[0], Tensor):  # a constant holds nothing else
            return None
        with np.errstate(all="ignore"):  # as for the op itself: infinity times zero is no number
            values = op.compute([p.value for p in parts], attributes, op.arrangement(kinds))
        if values[0].dtype != element_dtype(kind.element):
            return None
        kind = replace(kind, shape=values[0].shape) if kind.unknowns else kind
        return Known(self, hold(kind.element, values[0]), kind)

    def _narrowed(
        self, op: Op, parts: tuple[Part, ...], element: Element, attributes: dict[str, Any]
    ) -> tuple[Part, ...]:
        """Let float32 arrays that the rule computed of floats of 8 bits be such again, if the op takes no others."""
        narrow = tuple(
            Known(self, hold(element, p.value), replace(p.type, element=element))
            if isinstance(p, Known) and isinstance(p.type, Tensor) and p.type.element == "f32"
            else p
            for p in parts
        )
        for tried in (parts, narrow):
            kinds = tuple(p.type for p in tried)
            with suppress(TypeMismatchError):
                op.result_types(kinds, op.settled(attributes, kinds))
                return tried
        return parts

    @staticmethod
    def is_open(op: Op, attributes: dict[str, Any]) -> bool:
        """Tell whether an attribute holds a size that is no number."""
        return any(any(sizes_in(attributes[key])) for key in op.sized & attributes.keys())

    def part(self, value: Any, like: Type | None = None) -> Part:
        """Return a value as a part of the replacement; arrays and numbers become known constants."""
        if isinstance(value, Part):
            if isinstance(value, Members) and value.is_run:
                return value.nodes[-1]  # a run stands for the value on its top
            if isinstance(value, Absent | Members):
                raise RuleError("uses a node that is not there, or several at once, as one value")
            return value
        if isinstance(value, Symbolic):
            raise RuleError(f"uses {value!r}, which belongs to another graph or rule, as a value")
        array = as_constant(value, like)
        if like is not None and like.element in SHORT_INTEGERS and array.dtype == element_dtype(like.element):
            array = hold(like.element, array)  # a value that the rule computed wraps like results of ops
        return Known(self, array, constant_type(array, value, like))


def new_parts(parts: Iterable[Any]) -> list[Any]:
    """Return the new nodes and constants of a replacement, each once, operands first."""
    new: dict[int, Any] = {}
    parts = list(parts)
    if len(parts) == 1 and parts[0].__class__ is New:  # most of them read old values and constants only
        (top,) = parts
        for operand in top.operands:
            if operand.__class__ is Known:
                new[id(operand)] = operand
            elif operand.__class__ is not Bound:
                break
        else:
            return [*new.values(), top.first]
        new.clear()
    work = [(part, False) for part in reversed(parts)]
    while work:
        part, is_ready = work.pop()
        if isinstance(part, New):
            part = part.first
        if isinstance(part, Bound) or id(part) in new:
            continue
        if is_ready or isinstance(part, Known):
            new[id(part)] = part
        else:
            work.append((part, True))
            work.extend((p, False) for p in reversed(part.operands))
    return list(new.values())
