"""Integers of four bits: what follows from every range and every known bit of the operands, with all values."""

from __future__ import annotations

from itertools import product
from typing import Any, NamedTuple

import numpy as np
import pytest

from graphrewrite import FixedPoint
from graphrewrite.execution.evaluator import evaluate_nodes
from graphrewrite.rewriting.facts import Fact, numbers
from graphrewrite.rewriting.facts.numbers.fact import integers, of_element
from graphrewrite.rewriting.facts.table import FactTable
from tests.support.integer_nodes import BINARY, INTEGER_LEVEL, LOGICAL, UNARY, node_of
from tests.support.profiles import some_of

SIGNED, UNSIGNED = FixedPoint(True, 4), FixedPoint(False, 4)
CASES = [
    *((name, build, (kind, kind)) for name, build in BINARY.items() for kind in ("i4", "u4")),
    *((name, build, (kind,)) for name, build in UNARY.items() for kind in ("i4", "u4")),
    *((name, build, ("bool", "bool")) for name, build in LOGICAL.items()),
    *(
        (name, build, kinds)
        for name, build in INTEGER_LEVEL.items()
        for kinds in ((SIGNED, SIGNED), (UNSIGNED, UNSIGNED))
    ),
]
EXACT_RANGES = {
    *("add", "sub", "neg", "abs", "maximum", "minimum", "equal", "less", "less_or_equal", "greater"),
    *("greater_or_equal", "sign", "relu", "clip", "clip below", "clip above", "bitwise_not", "difference"),
    *("integer_add", "integer_sub", "integer_mul", "requantise", "requantise, up", "requantise, unsigned"),
    *("integer_add, shifted", "integer_sub, shifted", "requantise, limited", "rescale", "rescale, falling"),
    "rescale, limited",
}
"""Nodes of which the least interval is known, as LLVM's ConstantRange and tinygrad's limits know it."""
BEST_BITS = {"bitwise_and", "bitwise_or", "bitwise_xor", "bitwise_not", "add", "sub", "shift_left", "shift_right"}
"""Nodes of which every bit is known that can be, as LLVM's KnownBits knows it; of shifts, those by a constant."""


class Node:
    """A node whose function can be asked for any facts of its operands, and its results for all operands."""

    def __init__(self, build: Any, elements: tuple[Any, ...]) -> None:
        limits = [of_element(e) for e in elements]
        self.entries = [np.arange(k.low, k.high + 1) for k in limits]
        shapes = [(len(self.entries[0]), 1), (1, len(self.entries[-1]))] if len(elements) > 1 else [(16,)]
        self.graph, self.name = node_of(build, elements, tuple(shapes))
        self.table = FactTable(self.graph, numbers)
        inputs = {n: e.reshape(s) for n, e, s in zip("xy", self.entries, shapes, strict=False)}
        with np.errstate(all="ignore"):
            values = np.asarray(evaluate_nodes(self.graph, inputs, [self.name])[self.name]).astype(np.int64)
        self.values = values.reshape(len(self.entries[0]), -1)

    def known(self, *facts: Fact) -> Fact:
        """Return what is known of the result."""
        self.table.facts.clear()
        self.table.facts.update({name: (fact,) for name, fact in zip("xy", facts, strict=False)})
        found: Fact = self.table.of(self.name)
        return found


class Reached(NamedTuple):
    """What a node gives for two ranges of operands: its limits, the bits that are always 0, and those that are 1."""

    low: Any
    high: Any
    zeros: Any
    ones: Any


def reached(values: np.ndarray) -> dict[tuple[int, int], Reached]:
    """Return what is reached from each row and column on: arrays by last row and last column."""
    found = {}
    for row, column in product(*map(range, values.shape)):
        rest = values[row:, column:]
        found[row, column] = Reached(
            *(
                ufunc.accumulate(ufunc.accumulate(each, axis=0), axis=1)
                for ufunc, each in (
                    (np.minimum, rest),
                    (np.maximum, rest),
                    (np.bitwise_and, ~rest),
                    (np.bitwise_and, rest),
                )
            )
        )
    return found


@pytest.mark.parametrize(("name", "build", "elements"), CASES, ids=lambda case: case if isinstance(case, str) else "")
def test_every_range(name: str, build: Any, elements: tuple[Any, ...]) -> None:
    node = Node(build, elements)
    rows, columns = node.values.shape
    all_reached = reached(node.values)
    pairs = [
        (r, c)
        for r in product(range(rows), repeat=2)
        if r[0] <= r[1]
        for c in product(range(columns), repeat=2)
        if c[0] <= c[1]
    ]
    for (first, last), (left, right) in some_of(pairs, 61) if columns > 1 else pairs:
        x = integers(int(node.entries[0][first]), int(node.entries[0][last]))
        y = integers(int(node.entries[-1][left]), int(node.entries[-1][right])) if columns > 1 else x
        found = node.known(x, y)
        low, high, zeros, ones = (int(each[last - first, right - left]) for each in all_reached[first, left])
        said = f"{name} of {x} and {y} is {low} to {high}, said to be {found!r}"
        assert found.low <= low <= high <= found.high, said
        assert found.zeros & ~zeros == found.ones & ~ones == 0, said
        if name in EXACT_RANGES:
            assert (found.low, found.high) == (low, high), said


@pytest.mark.parametrize(
    ("name", "build", "elements"),
    [case for case in CASES if not isinstance(case[2][0], FixedPoint) and case[2][0] != "bool"],
    ids=lambda case: case if isinstance(case, str) else "",
)
def test_all_known_bits(name: str, build: Any, elements: tuple[Any, ...]) -> None:
    node = Node(build, elements)
    known = [(z, o) for z, o in product(range(16), repeat=2) if not z & o]
    both = list(product(known, known)) if len(elements) > 1 else [(bits, bits) for bits in known]
    entries = [values & 15 for values in node.entries]
    for pair in some_of(both, 29) if len(elements) > 1 else both:
        x, y = (of_bits(elements[0], *bits) for bits in pair)
        found = node.known(x, y)
        places = [
            np.flatnonzero(~(e & z).astype(bool) & (e & o == o)) for e, (z, o) in zip(entries, pair, strict=False)
        ]
        values = node.values[places[0]] if len(elements) == 1 else node.values[np.ix_(*places)]
        zeros, ones = int(np.bitwise_and.reduce(~values, axis=None)), int(np.bitwise_and.reduce(values, axis=None))
        said = f"{name} of {x!r} and {y!r} is {sorted(set(values.ravel().tolist()))}, said to be {found!r}"
        assert found.zeros & ~zeros == found.ones & ~ones == 0, said
        assert found.low <= values.min() <= values.max() <= found.high, said
        if name in BEST_BITS and ("shift" not in name or sum(pair[1]) == 15):
            assert (found.zeros, found.ones) == (zeros, ones), said


def of_bits(element: Any, zeros: int, ones: int) -> Fact:
    """Return the fact of a number of four bits of which some are known."""
    plain = of_element(element)
    sign = -16 if element == "i4" else 0
    zeros |= sign if zeros & 8 and sign else 0 if sign else -16
    return integers(plain.low, plain.high, zeros, ones | (sign if ones & 8 else 0))
