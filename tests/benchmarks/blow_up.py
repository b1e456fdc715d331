"""Graphs and patterns on which a matcher that tries all ways never ends: each must cost what its size says."""

from __future__ import annotations

import functools
import random
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from graphrewrite import Graph, Rule, Tensor, decline, define_op, op, rule

FLOATS = Tensor("f32", ("N", 4))


@define_op
def mark(x, *, index):
    """A node that can be told from its like."""
    return x


@define_op(commutative=True)
def total(*xs):
    """All of them together, in any order."""
    return sum(xs)


@dataclass(frozen=True)
class Case:
    """A graph, a rule, how often it matches, and how many nodes of some ops are left when it is rewritten.

    Where `matches` is None there are too many to list: the first of them is all that rewriting needs.
    """

    graph: Graph
    rule: Rule
    matches: int | None
    left: dict[str, int]

    def check(self, rewritten: Graph) -> None:
        found = Counter(kind for _, kind in rewritten.nodes(data="type"))
        assert {kind: found[kind] for kind in self.left} == self.left


def started(*inputs: str) -> tuple[Graph, list[Any]]:
    graph = Graph("blow_up", ops=[mark, total])
    return graph, [graph.input(name, FLOATS) for name in inputs]


def finished(graph: Graph, *values: Any) -> Graph:
    for index, value in enumerate(values):
        graph.output(f"y_{index}", value)
    return graph


def repeated_pairs(pairs: int = 10_000) -> Case:
    @rule
    def whole_run(x):
        "A run of multiplications and additions is one node."
        yield rule.repeated(x, lambda y, c, d: op.add(op.mul(y, c), d))
        return op.relu(x)

    graph, (x, c, d) = started("x", "c", "d")
    for _ in range(pairs):
        x = x * c + d
    # Two, for the lowest multiplication has two operands that the run may stand on.
    return Case(finished(graph, x), whole_run, 2, {"mul": 0, "add": 0, "relu": 1})


def long_chain(nodes: int = 2_000, length: int = 64, *, matching: bool = True) -> Case:
    """Each node tops a chain that fits, but for the last few; or all that lacks is the lowest node."""

    @rule
    def shorten(x):
        "Sixty-four in a row are one."
        top = x if matching else op.tanh(x)
        for _ in range(length if matching else length - 1):
            top = op.relu(top)
        yield top
        return op.sigmoid(x)

    graph, (x,) = started("x")
    for _ in range(nodes):
        x = op.relu(x)
    fired = nodes // length if matching else 0
    left = {"relu": nodes - fired * length, "sigmoid": fired}
    return Case(finished(graph, x), shorten, nodes - length + 1 if matching else 0, left)


def tree(leaves: list[Any], chance: random.Random | None = None) -> Any:
    """Add values up in pairs, then the sums in pairs, …; in any order of operands where chance decides."""
    while len(leaves) > 1:
        pairs = [list(pair) for pair in zip(leaves[::2], leaves[1::2], strict=True)]
        for pair in pairs:
            if chance:
                chance.shuffle(pair)
        leaves = [op.add(*pair) for pair in pairs]
    return leaves[0]


def marked_trees(trees: int = 31, *, matching: bool = True) -> Case:
    """Trees of 31 sums over 32 leaves that differ, operands in any order; or the last leaf is nowhere."""

    @rule
    def fold_tree(x):
        "A tree is one node."
        indices = [*range(31), 31 if matching else 32]
        yield op.relu(tree([mark(x, index=index) for index in indices]))
        return op.sigmoid(x)

    graph, (x,) = started("x")
    chance = random.Random(20)
    tops = [op.relu(tree([mark(x, index=index) for index in range(32)], chance)) for _ in range(trees)]
    fired = trees if matching else 0
    left = {"mark": 32 * (trees - fired), "add": 31 * (trees - fired), "sigmoid": fired}
    return Case(finished(graph, *tops), fold_tree, fired, left)


def even_trees(trees: int = 31, *, matching: bool = True) -> Case:
    """Trees of 31 sums over 32 leaves that are alike: there are 2³¹ ways, or all but the last leaf fits in as many."""

    @rule
    def fold_tree(x):
        "A tree is one node."
        yield op.relu(tree([*(op.tanh(x) for _ in range(31)), op.tanh(x) if matching else op.exp(x)]))
        return op.sigmoid(x)

    graph, (x,) = started("x")
    tops = [op.relu(tree([op.tanh(x) for _ in range(32)])) for _ in range(trees)]
    fired = trees if matching else 0
    left = {"tanh": 32 * (trees - fired), "add": 31 * (trees - fired), "sigmoid": fired}
    return Case(finished(graph, *tops), fold_tree, None if matching else 0, left)


def star_of_branches(branches: int = 4_000) -> Case:
    """What fires at one branch changes the readers that all others share."""

    @rule
    def shorten(x):
        "Two are one."
        yield op.sigmoid(op.relu(x))
        return op.tanh(x)

    graph, (x,) = started("x")
    tops = [op.sigmoid(op.relu(x)) for _ in range(branches)]
    return Case(finished(graph, total(*tops)), shorten, branches, {"relu": 0, "sigmoid": 0, "tanh": branches})


def star_as_group(branches: int = 4_000) -> Case:
    @rule
    def share(x):
        "All relus of a value are one."
        relus = rule.every(x, op.relu)
        yield relus
        one = op.tanh(x)
        return [one for _ in relus.nodes]

    graph, (x,) = started("x")
    tops = [op.relu(x) for _ in range(branches)]
    return Case(finished(graph, total(*tops)), share, 1, {"relu": 0, "tanh": 1})


def star_of_two_roots(branches: int = 4_000) -> Case:
    """The second root is one of 4,000 readers, and the same for every first root."""

    @rule
    def meet(x):
        "The two are one."
        yield op.relu(x), op.sigmoid(x)
        both = op.tanh(x)
        return both, both

    graph, (x,) = started("x")
    tops = [*(op.relu(x) for _ in range(branches - 1)), op.sigmoid(x)]
    left = {"relu": branches - 2, "sigmoid": 0, "tanh": 1}
    return Case(finished(graph, total(*tops)), meet, branches - 1, left)


def star_that_declines(branches: int = 4_000) -> Case:
    """Nothing that happens at the others can change the mind of a rule that declines at one."""

    @rule
    def shorten(x):
        "Two are one, but for half of them."
        marked = mark(op.relu(x))
        yield marked
        if marked.index % 2:
            return decline("its index is odd")
        return op.tanh(x)

    graph, (x,) = started("x")
    tops = [mark(op.relu(x), index=index) for index in range(branches)]
    left = {"mark": branches // 2, "tanh": branches // 2}
    return Case(finished(graph, total(*tops)), shorten, branches // 2, left)


def star_as_group_that_declines(branches: int = 4_000) -> Case:
    """A group is one match, not one for each of its members."""

    @rule
    def share(x):
        "All relus of a value, which stay."
        relus = rule.every(x, op.relu)
        yield relus
        return decline("as they are")

    graph, (x,) = started("x")
    return Case(finished(graph, total(*(op.relu(x) for _ in range(branches)))), share, 0, {"relu": branches})


def star_of_runs(branches: int = 4_000) -> Case:
    """The runs have nothing in common but the value on which they stand."""

    @rule
    def shorten(x):
        "A run of relus is one node."
        yield rule.repeated(x, op.relu)
        return op.tanh(x)

    graph, (x,) = started("x")
    tops = [op.relu(op.relu(x)) for _ in range(branches // 2)]
    return Case(finished(graph, total(*tops)), shorten, branches // 2, {"relu": 0, "tanh": branches // 2})


def unconnected_roots(pairs: int = 4_000) -> Case:
    """Either root may be anywhere in a long chain."""

    @rule
    def meet(x, y):
        "Any two."
        yield op.relu(op.neg(x)), op.abs(y)
        return op.exp(x), op.tanh(y)

    graph, (x,) = started("x")
    for _ in range(pairs):
        x = op.relu(op.neg(x)) + op.abs(x)
    return Case(finished(graph, x), meet, None, {"relu": 0, "abs": 0, "exp": pairs, "tanh": pairs})


def equal_operands(nodes: int = 500) -> Case:
    """Seven times the same value: 5,040 orders, one match."""

    @rule
    def count_operands(a, b, c, d, e, f, g):
        "Seven of them."
        yield total(a, b, c, d, e, f, g)
        return op.relu(a)

    graph, (x,) = started("x")
    tops = [total(*[x] * 7) for _ in range(nodes)]
    return Case(finished(graph, *tops), count_operands, nodes, {"total": 0, "relu": nodes})


def alike_operands(*, matching: bool = True) -> Case:
    """Seven nodes of one op: 5,040 matches; or six, and one of another op that is not there."""

    @rule
    def count_operands(a, b, c, d, e, f, g):
        "Seven of them."
        last = op.relu(g) if matching else op.tanh(g)
        yield total(*(op.relu(x) for x in (a, b, c, d, e, f)), last)
        return op.sigmoid(a)

    graph, values = started(*"abcdefg")
    top = total(*(op.relu(x) for x in values))
    left = {"relu": 0, "sigmoid": 1} if matching else {"relu": 7, "sigmoid": 0}
    return Case(finished(graph, top), count_operands, 5_040 if matching else 0, left)


def diamonds(count: int = 1_000, height: int = 2) -> Case:
    """Each diamond stands on the one before; a pattern of several of them fits at each, and they overlap.

    Read as a tree, a pattern of twenty has a million paths.
    """

    @rule
    def fold_stack(x):
        "A stack of diamonds is one node."
        top = x
        for _ in range(height):
            top = op.add(op.relu(top), op.tanh(top))
        yield top
        return op.sigmoid(x)

    graph, (x,) = started("x")
    for _ in range(count):
        x = op.add(op.tanh(x), op.relu(x))
    fired = count // height
    left = {"add": count - fired * height, "sigmoid": fired}
    return Case(finished(graph, x), fold_stack, count - height + 1, left)


READERS: dict[str, Callable[[int], Case]] = {
    "branches": star_of_branches,
    "a group": star_as_group,
    "a group that declines": star_as_group_that_declines,
    "runs": star_of_runs,
    "two roots": star_of_two_roots,
    "half declined": star_that_declines,
    "two roots, unconnected": unconnected_roots,
}
"""Cases of any size, most of them a value with so many readers."""

CASES: dict[str, Callable[[], Case]] = {
    "repeated chain over 10,000 pairs": repeated_pairs,
    "chain of 64 in 2,000": long_chain,
    "chain of 64 in 2,000, no match": functools.partial(long_chain, matching=False),
    "tree of 64 in 2,000": marked_trees,
    "tree of 64 in 2,000, no match": functools.partial(marked_trees, matching=False),
    "tree of 64 alike in 2,000": even_trees,
    "tree of 64 alike in 2,000, no match": functools.partial(even_trees, matching=False),
    "star of 4,000 branches": star_of_branches,
    "star of 4,000 as a group": star_as_group,
    "star of 4,000, two roots": star_of_two_roots,
    "star of 4,000, half declined": star_that_declines,
    "7 equal operands, any order": equal_operands,
    "7 operands alike, any order": alike_operands,
    "7 operands alike, no match": functools.partial(alike_operands, matching=False),
    "1,000 overlapping diamonds": diamonds,
    "1,000 diamonds, 20 in a pattern": functools.partial(diamonds, height=20),
}
