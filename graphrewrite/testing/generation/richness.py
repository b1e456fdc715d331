"""How much a plan shows: attributes that do something, sizes that differ, and what few other plans have.

Where all sizes are 1 nothing is mixed up, where attributes do nothing it is all the same what is made of them, and a
value that is the same from both ends, both ways round, or at two nodes, hides which end or node was meant.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from functools import cached_property
from itertools import combinations
from math import fsum
from typing import Any

import numpy as np

from graphrewrite.testing.generation.plan import Plan
from graphrewrite.testing.generation.unfolding import Node
from graphrewrite.types import Element, FixedPoint

__all__ = ["FACTORS", "Sketch", "extent", "is_empty", "least_telling", "plainness", "sequences_hiding", "units"]

_NOTHING, _HIDING = 2, 1
"""How plain an attribute is that does nothing, and one that hides which way round it is."""
_TINY = 2.0**-24
"""What is less, or one divided by it and more, is of another magnitude than most constants."""
_NEARLY = 2.0**-5
_TELLING = 8
"""Attributes of a plan of which pairs are told apart."""
_LIMITS = frozenset({"low", "high"})
"""Attributes that hide, where an op has others as well, what these do: all numbers may become one."""
FACTORS = frozenset({"block_size", "dilations", "repeats", "scales", "steps", "strides"})
"""Attributes that do nothing where they are 1, or all their numbers are."""


def plainness(plan: Plan) -> int:
    """How many attributes of a plan do nothing, and half of that for those that hide something.

    It is all of them where a value has no entries.
    """
    found = [plain for *_, plain in _attributes(plan)]
    if is_empty(plan):
        return _NOTHING * (1 + len(found))
    return sum(found)


def sequences_hiding(plan: Plan) -> tuple[set[tuple[int, str]], set[tuple[int, str]]]:
    """Return the attributes that are sequences, as a node's number and a name, and those that hide something."""
    sequences = {
        (number, name): plain
        for (number, name, plain), (_, _, value) in zip(_attributes(plan), _values(plan), strict=True)
        if isinstance(value, tuple)
    }
    return set(sequences), {place for place, plain in sequences.items() if plain}


def is_empty(plan: Plan) -> bool:
    """Whether a value of a plan has no entries, of which little can be wrong."""
    return any(0 in kind.shape for case in plan.cases.values() for kind in (*case.types, *case.results))


def units(plan: Plan) -> int:
    """How many leaves and results of a plan have one entry, in the measure of `plainness`."""
    kinds = (*plan.types.values(), *(kind for case in plan.cases.values() for kind in case.results))
    return _NOTHING * sum(all(size == 1 for size in kind.shape) for kind in kinds)


def extent(plan: Plan) -> int:
    """How many sizes of leaves are not 1."""
    return sum(size != 1 for kind in plan.types.values() for size in kind.shape)


class Sketch:
    """A plan that is compared with many others: what it shows is computed once.

    Parameters
    ----------
    plan : Plan
        It is not to change any more.
    """

    def __init__(self, plan: Plan) -> None:
        self.plan = plan

    @cached_property
    def plainness(self) -> int:
        """As the function of this name gives it."""
        return plainness(self.plan)

    @cached_property
    def is_empty(self) -> bool:
        """As the function of this name gives it."""
        return is_empty(self.plan)

    @cached_property
    def units(self) -> int:
        """As the function of this name gives it."""
        return units(self.plan)

    @cached_property
    def elements(self) -> list[Element]:
        """Element types of leaves."""
        return _elements(self.plan)

    @cached_property
    def traits(self) -> set[Any]:
        """What tells it from others."""
        return set(_traits(self.plan))

    @cached_property
    def looks(self) -> tuple[Any, ...]:
        """How its sizes are related, and its attributes."""
        return (
            _form(self.plan),
            [*_ops(self.plan)],
            [*_entries(self.plan)],
            [repr(case.attributes) for case in self.plan.cases.values()],
        )

    def is_like(self, other: Sketch, *, by_element: bool = False) -> bool:
        """Whether two plans are alike but for sizes that neither attributes nor other sizes tell apart.

        Parameters
        ----------
        by_element : bool
            Whether element types of leaves tell them apart.
        """
        return self.looks == other.looks and not (by_element and self.elements != other.elements)


def least_telling(sketches: Sequence[Sketch]) -> int:
    """Return the index of the plan that has least of what few others have: of those, of the plainest and smallest."""
    counts = Counter(trait for each in sketches for trait in each.traits)
    # Sets have no order that lasts: the sum is exact, so that the order does not matter.
    ranks = [
        (fsum(1 / counts[trait] for trait in each.traits) / (1 + each.units), -each.plainness, extent(each.plan))
        for each in sketches
    ]
    return ranks.index(min(ranks))


def _traits(plan: Plan) -> Iterator[Any]:
    """Yield what tells a plan from others: how sizes are related, element types, and attributes that do something."""
    yield "sizes", repr(_form(plan))
    yield "elements", repr(_elements(plan))
    yield from _ops(plan)
    yield from _entries(plan)
    yield from _orders(plan)
    yield from ((name, value.signed) for _, name, value in _values(plan) if isinstance(value, FixedPoint))
    attributes = [*_attributes(plan)]
    for node, name, plain in attributes:
        if plain < _NOTHING:
            yield node, name, plain
    telling = [(node, name) for node, name, plain in attributes if not plain][:_TELLING]
    yield from combinations(telling, 2)  # what one does may be wrong only where another does something


def _orders(plan: Plan) -> Iterator[Any]:
    """Yield how numbers are ordered that rules compare: bits of formats, and what several nodes have of one name."""
    found: dict[str, list[int | float]] = {}
    formats: list[Any] = _elements(plan)
    for _, name, value in _values(plan):
        if isinstance(value, FixedPoint):
            formats.append(value)
        elif isinstance(value, int | float) and not isinstance(value, bool):
            found.setdefault(name, []).append(value)
    for element in formats:
        if isinstance(element, FixedPoint):
            found.setdefault("width", []).append(element.width)
            found.setdefault("whole", []).append(element.width - element.fraction)
    for name, numbers in found.items():
        if len(numbers) > 1:
            ranks = sorted(set(numbers))
            yield name, tuple(map(ranks.index, numbers))


def _attributes(plan: Plan) -> Iterator[tuple[int, str, int]]:
    """Yield the attributes of all nodes, by the node's number, each with how plain it is."""
    counts = Counter((node.op, name, repr(value)) for node, name, value in _values(plan) if isinstance(value, tuple))
    numbers = {node: number for number, node in enumerate(plan.cases)}
    for node, name, value in _values(plan):
        is_one = name in FACTORS and (value == 1 or (isinstance(value, tuple) and set(value) == {1}))
        if name in _LIMITS and not node.op.attributes.keys() <= _LIMITS:
            yield numbers[node], name, 0 if value is None else _HIDING
            continue
        plain = _NOTHING if is_one else _plain(value, node.op.attributes[name])
        # Where two nodes have the same, it is hidden which of them was meant.
        is_alike = isinstance(value, tuple) and counts[node.op, name, repr(value)] > 1
        yield numbers[node], name, min(_NOTHING, plain + _HIDING * is_alike)


def _values(plan: Plan) -> Iterator[tuple[Node, str, Any]]:
    for node, case in plan.cases.items():
        for name, default in node.op.attributes.items():
            yield node, name, case.attributes.get(name, default)


def _plain(value: Any, default: Any) -> int:
    """Tell how plain a value is: the default, no permutation and no shift do nothing."""
    if value is default or (isinstance(value, str) and value == default):
        return _NOTHING
    if isinstance(value, int | float) and not isinstance(value, bool) and value == 0:
        return _NOTHING
    if not isinstance(value, tuple):
        return 0
    if value in (default, tuple(range(len(value)))) or set(value) == {0}:
        return _NOTHING
    return _HIDING if len(value) > 1 and (len(set(value)) == 1 or _is_own_inverse(value)) else 0


def _is_own_inverse(value: tuple[Any, ...]) -> bool:
    """Tell whether a value is a permutation that undoes itself."""
    places = range(len(value))
    return all(type(place) is int for place in value) and [*places] == sorted(value) == [value[p] for p in value]


def _elements(plan: Plan) -> list[Element]:
    return [kind.element for kind in plan.types.values()]


def _ops(plan: Plan) -> Iterator[tuple[int, str]]:
    """Yield the ops of nodes, of which a pattern may leave several open."""
    yield from ((number, node.op.name) for number, node in enumerate(plan.cases))


def _entries(plan: Plan) -> Iterator[tuple[int, tuple[str, ...]]]:
    """Yield what is particular about the entries of each constant that is known, by the number of the leaf."""
    for number, leaf in enumerate(plan.types):
        array = plan.arrays.get(leaf)
        if array is None or array.dtype.kind not in "iuf" or not array.size:
            continue
        flat = array.ravel()
        size = np.abs(flat.astype(np.float64))
        with np.errstate(all="ignore"):  # of infinities
            steps, spread = np.unique(np.diff(flat)), np.ptp(size)
        is_order = flat.dtype.kind != "f" and flat.size > 1 and bool((np.sort(flat) == np.arange(flat.size)).all())
        found = {
            "equal": steps.size == 0 or not steps.any(),
            "close": bool(steps.any()) and bool(spread < _NEARLY * size.max()),
            "in steps": steps.size == 1 and flat.size > 2,
            "rising": flat.size > 2 and bool((steps > 0).all()),
            "repeated": np.unique(flat).size < flat.size,
            "zero": not size.all(),
            "nonzero": size.any(),
            "a permutation": is_order,
            "turning": is_order and not _is_own_inverse(tuple(flat.tolist())),
            "negative": np.signbit(flat).any() if flat.dtype.kind == "f" else (flat < 0).any(),
            "tiny": bool(((size > 0) & (size < _TINY)).any()),
            "huge": bool((size > 1 / _TINY).any()),
            "subnormal": flat.dtype.kind == "f" and bool(((size > 0) & (size < np.finfo(flat.dtype).tiny)).any()),
        }
        yield number, tuple(name for name, holds in found.items() if holds)


def _form(plan: Plan) -> list[tuple[Any, ...]]:
    """Which sizes of leaves are 1, symbolic, or equal to each other, and in which layout."""
    numbers: dict[Any, Any] = {1: 1, "N": "N"}
    return [
        (getattr(kind, "layout", None), *(numbers.setdefault(size, -len(numbers)) for size in kind.shape))
        for kind in plan.types.values()
    ]
