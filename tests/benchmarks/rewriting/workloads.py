"""What is rewritten, in no engine's words: nodes by number, rules as text, and what must be left at the end."""

from __future__ import annotations

import ast
import itertools
import random
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

LEAF, RESULT = "leaf", "result"
"""A node without operands that computes nothing, and the one node that every live node leads to."""
COMMUTATIVE = frozenset({"add", "join"})
"""Ops whose two operands may be swapped."""


class Node(NamedTuple):
    """A node: its op, and by their numbers what it reads; a node has a higher number than its operands."""

    op: str
    operands: tuple[int, ...] = ()


class Term(NamedTuple):
    """A piece of a pattern or of a replacement; an operand that is a string is a variable."""

    op: str
    operands: tuple[Term | str, ...]

    def __str__(self) -> str:
        return f"{self.op}({', '.join(map(str, self.operands))})"

    @property
    def variables(self) -> tuple[str, ...]:
        """Names of its variables in order of appearance."""
        inner = (term.variables if isinstance(term, Term) else (term,) for term in self.operands)
        return tuple(dict.fromkeys(itertools.chain.from_iterable(inner)))

    def parts(self) -> Iterator[Term]:
        """Yield it and all terms in it, outermost first."""
        yield self
        for term in self.operands:
            if isinstance(term, Term):
                yield from term.parts()

    def orders(self) -> Iterator[Term]:
        """Yield it in every order of commutative operands, for engines that do not know of such ops."""
        inner = [list(term.orders()) if isinstance(term, Term) else [term] for term in self.operands]
        for operands in itertools.product(*inner):
            for order in itertools.permutations(operands) if self.op in COMMUTATIVE else [operands]:
                yield Term(self.op, tuple(order))


class Law(NamedTuple):
    """A rule as text, ``fma(x, c, d) <- add(mul(x, c), d)`` in two halves; several roots stand in a row."""

    name: str
    pattern: str
    replacement: str

    @property
    def roots(self) -> tuple[Term, ...]:
        """The pattern's terms."""
        return _terms(self.pattern)

    @property
    def root(self) -> Term:
        """The only term of the pattern."""
        (root,) = self.roots
        return root

    @property
    def new(self) -> Term:
        """The one node that stands for all of them."""
        (new,) = _terms(self.replacement)
        return new


def _terms(text: str) -> tuple[Term, ...]:
    found = ast.parse(f"({text},)", mode="eval").body
    assert isinstance(found, ast.Tuple)
    return tuple(_term(element) for element in found.elts)


def _term(tree: ast.expr) -> Term:
    assert isinstance(tree, ast.Call)
    operands = (arg.id if isinstance(arg, ast.Name) else _term(arg) for arg in tree.args)
    return Term(ast.unparse(tree.func), tuple(operands))


@dataclass(frozen=True)
class Workload:
    """A graph, rules, and what comes of them.

    Attributes
    ----------
    name : str
        Its name for `make`.
    nodes : list of Node
        The graph.
    laws : tuple of Law
        The rules; none where dead nodes are to go.
    left : dict
        How many nodes of some ops must be left.
    rewrites : int
        How often a rule fires; how many nodes go, where there are no rules.
    """

    name: str
    nodes: list[Node]
    laws: tuple[Law, ...]
    left: dict[str, int]
    rewrites: int

    def check(self, found: Counter[str], *, spare: bool = False) -> None:
        """Raise unless an engine's result has the right number of nodes of each op that matters.

        Parameters
        ----------
        found : Counter
            Nodes of each op in the result.
        spare : bool
            Whether nodes may be left that nothing needs.
        """
        for op, wanted in self.left.items():
            if found[op] != wanted and not (spare and found[op] > wanted):
                raise AssertionError(f"{self.name}: {found[op]:,} nodes {op}, should be {wanted:,}")

    @cached_property
    def ops(self) -> dict[str, int]:
        """Number of operands of every op that the nodes or the rules name."""
        terms = [part for law in self.laws for root in (*law.roots, law.new) for part in root.parts()]
        return {op: len(operands) for op, operands in [*self.nodes, *terms] if op not in (LEAF, RESULT)}


MULTIPLY_ADD = Law("fuse_multiply_add", "add(mul(x, c), d)", "fma(x, c, d)")


def chain(ops: int) -> Workload:
    """Multiply, add, multiply, add, …, each with a leaf of its own."""
    nodes = [Node(LEAF)]
    top = 0
    for _ in range(ops // 2):
        at = len(nodes)
        nodes += Node(LEAF), Node(LEAF), Node("mul", (top, at)), Node("add", (at + 2, at + 1))
        top = at + 3
    nodes.append(Node(RESULT, (top,)))
    return Workload("chain", nodes, (MULTIPLY_ADD,), {"mul": 0, "add": 0, "fma": ops // 2}, ops // 2)


BLOCK_LAWS = (
    # These fire, each on what the one before has made.
    Law("fold_norm", "norm(convolve(x, w), s, b)", "conv_norm(x, w, s, b)"),
    Law("fold_clamp", "clamp(conv_norm(x, w, s, b))", "conv_norm_clamp(x, w, s, b)"),
    Law("fold_join", "join(conv_norm_clamp(x, w, s, b), y)", "block(x, w, s, b, y)"),
    # These are tried, at ops that are there.
    Law("clamp_once", "clamp(clamp(x))", "clamp(x)"),
    Law("clamp_limit", "clamp(limit(x))", "limit_above(x)"),
    Law("clamp_dense", "clamp(join(product(x, w), b))", "dense_clamp(x, w, b)"),
    Law("pad_inside", "convolve(frame(x), w)", "conv_framed(x, w)"),
    Law("turn_inside", "convolve(turn(x), w)", "conv_turned(x, w)"),
    Law("norm_product", "norm(product(x, w), s, b)", "product_norm(x, w, s, b)"),
    Law("dense", "join(product(x, w), b)", "dense(x, w, b)"),
    Law("scale_join", "join(scale(x, c), d)", "scale_shift(x, c, d)"),
    # These never find their root.
    Law("turn_twice", "turn(turn(x))", "same(x)"),
    Law("extent_twice", "extent(extent(x))", "extent(x)"),
    Law("scale_gate", "gate(scale(x, c))", "scaled_gate(x, c)"),
    Law("gate_itself", "scale(gate(x), x)", "smooth_gate(x)"),
    Law("over_root", "over(x, root(y))", "over_root(x, y)"),
    Law("score", "weights(product(x, y))", "score(x, y)"),
    Law("minus_itself", "minus(x, x)", "nothing(x)"),
    Law("power_of_log", "power(logarithm(x))", "same(x)"),
    Law("convert_twice", "convert(convert(x))", "convert(x)"),
)


def blocks(count: int, rules: int = len(BLOCK_LAWS)) -> Workload:
    """Residual blocks: convolution, norm, clamp, and for every other one a sum with an earlier block.

    Parameters
    ----------
    count : int
        How many.
    rules : int
        How many are loaded. Those beyond the twenty have a root that is there and an operand that is nowhere.
    """
    chance = random.Random(20)
    nodes = [Node(LEAF)]
    tops, sums = [0], 0
    for _ in range(count):
        at = len(nodes)
        nodes += [Node(LEAF)] * 3
        nodes += Node("convolve", (tops[-1], at)), Node("norm", (at + 3, at + 1, at + 2)), Node("clamp", (at + 4,))
        if chance.random() < 0.5:
            operands = [at + 5, chance.choice(tops[-8:])]
            chance.shuffle(operands)
            nodes.append(Node("join", tuple(operands)))
            sums += 1
        tops.append(len(nodes) - 1)
    nodes.append(Node(RESULT, (tops[-1],)))
    idle = ("clamp(absent_{}(x))", "convolve(absent_{}(x), w)", "norm(absent_{}(x), s, b)", "join(absent_{}(x), y)")
    more = (Law(f"idle_{i}", idle[i % len(idle)].format(i), "gone(x)") for i in range(rules - len(BLOCK_LAWS)))
    left = {"convolve": 0, "norm": 0, "clamp": 0, "join": 0, "block": sums, "conv_norm_clamp": count - sums}
    return Workload("blocks", nodes, (*BLOCK_LAWS, *more), left, 2 * count + sums)


def half_dead(ops: int) -> Workload:
    """So many ops of two operands; half of them hang on the others in chains of ten that lead nowhere."""
    chance = random.Random(20)
    nodes = [Node(LEAF)]
    live = ops // 2
    nodes += (Node("work", (at - 1, chance.randrange(max(0, at - 50), at))) for at in range(1, live + 1))
    nodes.append(Node(RESULT, (live,)))
    for index in range(ops - live):
        below = len(nodes) - 1 if index % 10 else chance.randint(1, live)
        nodes.append(Node("work", (below, chance.randint(1, live))))
    return Workload("dead nodes", nodes, (), {"work": live}, ops - live)


FORK = Law("join_fork", "low(x), high(x)", "both(x)")


def forks(count: int) -> Workload:
    """Two readers of one value, whose results meet again, over and over: both readers become one of two results."""
    nodes = [Node(LEAF)]
    for _ in range(count):
        top = len(nodes) - 1
        nodes += Node("low", (top,)), Node("high", (top,)), Node("meet", (top + 1, top + 2))
    nodes.append(Node(RESULT, (len(nodes) - 1,)))
    return Workload("forks", nodes, (FORK,), {"low": 0, "high": 0, "both": count, "meet": count}, count)


def readers(count: int) -> Workload:
    """So many readers of one value, all of which become one node."""
    nodes = [Node(LEAF), *(Node("low", (0,)) for _ in range(count))]
    nodes += (Node("meet", (count + i if i else 0, i + 1)) for i in range(count))
    nodes.append(Node(RESULT, (2 * count,)))
    left = {"low": 0, "one": 1, "meet": count}
    return Workload("readers", nodes, (Law("share_readers", "low(x)", "one(x)"),), left, count)


def pairs(count: int) -> Workload:
    """So many pairs among the readers of one value, each of which becomes one node of two results."""
    nodes = [Node(LEAF), *(Node("low", (0,)) for _ in range(count)), *(Node("high", (0,)) for _ in range(count))]
    nodes += (Node("both_met", (2 * count + i if i else 0, i + 1, count + i + 1)) for i in range(count))
    nodes.append(Node(RESULT, (3 * count,)))
    return Workload("pairs", nodes, (FORK,), {"low": 0, "high": 0, "both": count}, count)


def network(blocks: int) -> Workload:
    """A file of so many residual blocks, whose time is taken as a whole."""
    return Workload("network", [Node(LEAF)] * blocks, (), {"identity": 0, "dropout": 0}, 1)


WORKLOADS = {
    "chain": chain,
    "blocks": blocks,
    "dead": half_dead,
    "forks": forks,
    "readers": readers,
    "pairs": pairs,
    "network": network,
}
