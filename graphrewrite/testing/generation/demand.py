"""From the type that a node must give to operand types and attributes that make it give that type."""

from __future__ import annotations

import inspect
import random
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol, TypeVar

from graphrewrite.errors import TypeMismatchError
from graphrewrite.op.define import elementwise
from graphrewrite.op.op import Op
from graphrewrite.rewriting.pattern import Where
from graphrewrite.types import Dimension, FixedPoint, Stream, Tensor, Type

__all__ = [
    "Demand",
    "Entry",
    "Need",
    "Pick",
    "Unfit",
    "admits",
    "broadcasts",
    "by_default",
    "by_elements",
    "near",
    "seeded",
    "sizes_without_symbol",
    "some",
    "unknown",
    "unmet",
]

T = TypeVar("T")


class Pick(Protocol):
    """Chooses one of several options; the first is the simplest."""

    def __call__(self, options: Sequence[T], /) -> T:
        """Return one of the options."""


def seeded(seed: int) -> Pick:
    """Return a function that chooses one of several options, the same ones for the same seed."""
    rng = random.Random(seed)

    def pick(options: Sequence[T], /) -> T:
        return rng.choice(options)

    return pick


class Unfit(Exception):
    """No operands and attributes of an op give the wanted type."""


def some(options: Sequence[T]) -> Sequence[T]:
    """Return options to pick one of; raise if there are none."""
    if not options:
        raise Unfit("nothing to choose from")
    return options


@dataclass(frozen=True)
class Need:
    """Operand types and attributes that make an op give the demanded type.

    Attributes
    ----------
    types : tuple of Tensor or Stream
        One an operand.
    attributes : dict
        Attributes of the op.
    positive : frozenset of int
        Operands whose constants should be above zero, such as variances.
    """

    types: tuple[Type, ...]
    attributes: dict[str, Any] = field(default_factory=dict)
    positive: frozenset[int] = frozenset()


@dataclass(frozen=True)
class Demand:
    """A node that is wanted: its op, its result, and what is settled already.

    Attributes
    ----------
    op : Op
        The op.
    result : Tensor or Stream
        What it must give.
    count : int
        How many operands it has.
    pick : Pick
        Makes every choice that is left.
    given : mapping
        Attributes that are settled.
    fixed : tuple of bool
        Which operands must be constants.
    known : tuple of Type or None
        Types of operands that are settled.
    formats : tuple of FixedPoint
        Formats that the graph around uses: rules often ask for equal ones.
    conditions : mapping
        Attributes that are not settled, and what their values must fulfil.
    index : int
        Which of the node's results is demanded.
    """

    op: Op
    result: Type
    count: int
    pick: Pick
    given: Mapping[str, Any] = field(default_factory=dict)
    fixed: tuple[bool, ...] = ()
    known: tuple[Type | None, ...] = ()
    formats: tuple[FixedPoint, ...] = ()
    conditions: Mapping[str, Where] = field(default_factory=dict)
    index: int = 0

    def choose(self, name: str, options: Sequence[Any]) -> Any:
        """Return an attribute's value: the settled one, or one of the options."""
        if name in self.given:
            return self.given[name]
        if name not in self.conditions:
            return self.pick(options)
        fitting = [value for value in (*options, *near(options)) if admits(self.conditions[name], value)]
        if not fitting:
            raise Unfit(f"{name}: {unmet(self.conditions[name], next(iter(options), None))}")
        return self.pick(fitting)

    def size(self, operand: int, axis: int, options: Sequence[int]) -> int:
        """Return the size of an operand's axis: that of the operand if it is settled, or one of the options."""
        kind = self.known[operand] if operand < len(self.known) else None
        if kind is None:
            return self.pick(options)
        if axis >= len(kind.shape) or not isinstance(kind.shape[axis], int):
            raise Unfit(f"operand {operand} of {self.op.name} has no size {axis} that is known")
        return int(kind.shape[axis])

    def need(self, *types: Type, positive: frozenset[int] = frozenset(), **attributes: Any) -> Need:
        """Return a need whose surplus optional operands are left out."""
        return Need(types[: self.count], attributes, positive)

    def checked(self, need: Need) -> Need:
        """Return a need if it really gives the demanded type."""
        attributes = {**need.attributes, **self.given}
        for name, condition in self.conditions.items():
            found = attributes.get(name, self.op.attributes[name])
            attributes[name] = found if admits(condition, found) else self.choose(name, (found,))
        for fixed, kind in zip(self.fixed, need.types, strict=False):
            if fixed and any(isinstance(d, str) for d in kind.shape):
                raise Unfit(f"{self.op.name}: a constant has no symbolic size")
        try:
            results = self.op.infer(*need.types, **attributes)
        except (TypeMismatchError, IndexError, ValueError, TypeError, AttributeError) as error:
            raise Unfit(str(error)) from error
        if len(need.types) != self.count or results[self.index] != self.result:
            raise Unfit(f"{self.op.name} gives {results[self.index]}, not {self.result}")
        return Need(need.types, attributes, need.positive)


def admits(condition: Where, value: Any) -> bool:
    """Tell whether a condition holds; one that raises does not."""
    try:
        return bool(condition.predicate(value))
    except Exception:  # a user's predicate, asked about what it may not foresee
        return False


def unmet(condition: Where, example: Any) -> str:
    """Say that no value meets a condition, and what it raises of an example, if it does."""
    text = f"no value was found of which is true: {condition.reason}"
    try:
        condition.predicate(example)
    except Exception as error:  # a user's predicate
        return f"{text} (it raises {type(error).__name__}: {error})"
    return text


def near(options: Sequence[Any]) -> list[Any]:
    """Values of the kinds that there are among some options, for a condition that none of these meets."""
    found: list[Any] = []
    for option in options:
        if isinstance(option, bool):
            found += [False, True]
        elif isinstance(option, int):
            found += range(-4, 17)
        elif isinstance(option, float):
            found += [0.0, 0.5, 1.0, 2.0, -1.0, 0.1, 10.0]
        elif isinstance(option, tuple) and all(isinstance(entry, int) for entry in option):
            found += [(number,) * len(option) for number in range(9)]
    return [value for value in dict.fromkeys(found) if value not in options]


def sizes_without_symbol(shape: Sequence[Dimension]) -> tuple[int, ...]:
    """Return the sizes of a shape behind its last symbolic one.

    Parameters
    ----------
    shape : sequence of int or str
        A shape.

    Examples
    --------
    >>> sizes_without_symbol(("N", 3, 4))
    (3, 4)
    """
    kept: list[int] = []
    for size in reversed(shape):
        if isinstance(size, str):
            break
        kept.append(size)
    return tuple(reversed(kept))


def broadcasts(shape: Sequence[Dimension]) -> list[tuple[int, ...]]:
    """Return shapes without a symbolic size that broadcast to a shape, the fullest first.

    Parameters
    ----------
    shape : sequence of int or str
        A shape.

    Examples
    --------
    >>> broadcasts(("N", 3, 4))
    [(3, 4), (3, 1), (4,), (), (1, 3, 1)]
    """
    rest = sizes_without_symbol(shape)
    found = [rest, (*rest[:1], *[1] * (len(rest) - 1)), rest[-1:], (), (1, *rest[:1], *[1] * (len(rest) - 1))]
    return list(dict.fromkeys(s for s in found if len(s) <= len(shape)))


def by_elements(demand: Demand) -> Need:
    """Meet the demand for an element-wise op: one operand of the full shape, the others of a shape that broadcasts."""
    result = demand.result
    if isinstance(result.element, FixedPoint) and "fixed" not in (demand.op.elements or ()):
        raise Unfit("element-wise ops of several operands take no fixed point")
    known = demand.known or (None,) * demand.count
    fixed = demand.fixed or (False,) * demand.count
    symbolic = any(isinstance(d, str) for d in result.shape)
    full = [i for i in range(demand.count) if not (fixed[i] and symbolic) and known[i] in (None, result)]
    if not full:
        raise Unfit("only constants, and a symbolic size")
    whole = next((i for i in full if known[i] == result), None)
    whole = demand.pick(full) if whole is None else whole
    types: list[Type] = []
    for i in range(demand.count):
        settled = known[i]
        if settled is not None or i == whole:
            types.append(settled or result)
            continue
        narrow = broadcasts(result.shape)
        shapes = narrow if fixed[i] else [result.shape, result.shape, result.shape, *narrow]
        types.append(Tensor(result.element, demand.pick(shapes)))
    if not any(known) and demand.count > 1 and demand.pick((False, False, False, True)):
        _share(demand, types, whole)
    return Need(tuple(types), by_default(demand))


def _share(demand: Demand, types: list[Type], whole: int) -> None:
    """Let another operand have the full size of an axis, and the operand that was full a size of 1 there."""
    shape = demand.result.shape
    rest = sizes_without_symbol(shape)
    long = [axis for axis in range(len(shape) - len(rest), len(shape)) if shape[axis] != 1]
    if long:
        axis = demand.pick(long)
        types[whole] = Tensor(demand.result.element, (*shape[:axis], 1, *shape[axis + 1 :]))
        types[(whole + 1) % len(types)] = Tensor(demand.result.element, rest)


def by_default(demand: Demand) -> dict[str, Any]:
    """Return attributes for an op that no table knows: its defaults, or what is settled."""
    found = {}
    for name, default in demand.op.attributes.items():
        if name not in demand.given and default is inspect.Parameter.empty:
            raise Unfit(f"nothing is known about values of the required attribute {name!r} of {demand.op.name}")
        found[name] = demand.given.get(name, default)
    return found


def unknown(demand: Demand) -> Need:
    """Meet the demand for an op that no table knows: element-wise, or operands like the result."""
    if demand.op.infer_types is elementwise:
        return by_elements(demand)
    result, attributes = demand.result, by_default(demand)
    near: list[Type] = [result]
    if demand.op.results > 1 and isinstance(result, Tensor):  # it may split its operand
        for axis, size in enumerate(result.shape):
            if isinstance(size, int):
                split = (*result.shape[:axis], size * demand.op.results, *result.shape[axis + 1 :])
                near.append(Tensor(result.element, split))
    if isinstance(result, Stream):
        near += [Tensor(result.element, ("N", *result.shape))]
    elif isinstance(result.element, FixedPoint) and sizes_without_symbol(result.shape):
        near += [Stream(result.element, sizes_without_symbol(result.shape))]
    for kind in near:
        try:
            return demand.checked(Need((kind,) * demand.count, attributes))
        except Unfit:
            continue
    raise Unfit(f"{demand.op.name} gives no {result}")


Entry = Callable[[Demand], Need]
"""An entry of a table: how the demand for one op is met."""
