"""Rules that enable each other in every way there is, and random graphs for them.

What the rules compute does not matter here; that they end does: each removes a node, or puts one of a lighter op in the
place of another. All values have one type, so that any may stand for any other.
"""

from __future__ import annotations

import random
from typing import Any

import numpy as np

from graphrewrite import Constant, Graph, Tensor, op, rule
from tests.support.sources import OWN_OPS, affine, blend, halves, pack, scale

__all__ = ["CONFLUENT", "ENABLING", "random_graph"]

VECTOR = Tensor("f32", (3,))

# ---------------------------------------------------------------------- the same result in every order


@rule(shared="keep")
def cancel_negations(x):
    yield op.neg(op.neg(x))
    return x


@rule
def drop_identity(x):
    yield op.identity(x)
    return x


@rule
def one_relu(x):
    """A run: a new relu below may continue it, and a reader that goes may join two of them."""
    yield rule.repeated(x, op.relu, least=2)
    return op.relu(x)


@rule(shared="keep")
def relu_of_relu(x):
    inner = op.relu(x)
    yield op.relu(inner)
    return inner


@rule(shared="keep")
def absolute_of_negation(x):
    yield op.abs(op.neg(x))
    return op.abs(x)


@rule(shared="keep")
def absolute_of_relu(x):
    inner = op.relu(x)
    yield op.abs(inner)
    return inner


@rule
def greater_of_itself(x):
    yield op.maximum(x, x)
    return x


@rule(shared="keep")
def negation_outside(x, y):
    """Two new nodes: the upper one may be wanted by what reads the root."""
    yield op.mul(x, op.neg(y))
    return op.neg(op.mul(x, y))


@rule
def times_zero(x):
    """A constant appears."""
    yield op.mul(x, 0)
    return np.zeros(3, np.float32)


@rule
def fold_negation(c: Constant):
    yield op.neg(c)
    return -c.value


@rule
def fold_relu(c: Constant):
    yield op.relu(c)
    return np.maximum(c.value, 0)


@rule
def fold_absolute(c: Constant):
    yield op.abs(c)
    return np.abs(c.value)


@rule
def share_negations(x):
    """A group: one more reader may appear, and one that goes makes it too small."""
    yield (group := rule.every(x, op.neg))
    shared = op.neg(x)
    return [shared for _ in group.nodes]


CONFLUENT = (
    cancel_negations, drop_identity, one_relu, relu_of_relu, absolute_of_negation, absolute_of_relu, greater_of_itself,
    negation_outside, times_zero, fold_negation, fold_relu, fold_absolute, share_negations,
)  # fmt: skip
"""What each output is in the end does not depend on the order in which these are applied."""

# ---------------------------------------------------------------------- and others


@rule
def difference_as_sum(x, y):
    """Needs the negation for itself: a reader that vanishes allows it."""
    yield op.sub(x, op.neg(y))
    return op.add(x, y)


@rule
def sum_as_difference(x, y):
    yield op.sub(op.neg(x), y)
    return op.neg(op.add(x, y))


@rule
def plain_quotient(x, y):
    """An operand that must not be something."""
    other = ~op.neg(y)
    yield op.div(x, other)
    return op.maximum(x, other)


@rule
def only_reader(x):
    """Counts the readers of a value that it only reads."""
    yield op.relu(op.minimum(x, x))
    return op.relu(x) if x.readers == 1 else rule.decline("it has other readers", at=x)


@rule
def read_once(x):
    """Counts the readers of its root."""
    root = op.tanh(x)
    yield root
    return op.relu(x) if root.readers == 1 else rule.decline("it has several readers", at=root)


@rule
def exponential_alone(x):
    """A neighbour that must not be there."""
    root = op.exp(x)
    yield root, ~op.relu(x)
    return op.sigmoid(x)


@rule
def root_without_logarithm(x):
    """A reader that must not be there."""
    root = op.sqrt(x)
    yield root, ~op.log(root)
    return op.tanh(x)


@rule
def sign_without_pair(x, y):
    """A neighbour further away that must not be there."""
    root = op.sigmoid(x)
    yield root, ~op.mul(op.neg(x), y)
    return op.identity(x)


@rule
def pair_of_functions(x):
    """Several roots, which need not be near each other."""
    yield op.log(x), op.exp(x)
    both = op.sigmoid(x)
    return both, both


@rule
def two_sums(x, y):
    """Several roots with one operand in common."""
    yield op.add(x, y), op.sub(x, y)
    both = op.mul(x, y)
    return both, both


@rule
def zero_and_one(x):
    """Alternatives, and a literal that is a set."""
    yield (op.add | op.mul)(op.identity(x) | x, {0, 1})
    return op.abs(x) if x else rule.decline("there is nothing left")


@rule
def both_halves(x):
    a, b = halves(x)
    yield op.add(a, b)
    return op.abs(x)


@rule
def one_half(x):
    """A result that nobody reads."""
    a, _ = halves(x)
    yield a
    return x


@rule
def diamond(x, y):
    inner = op.add(x, y)
    yield op.sub(op.mul(inner, x), op.minimum(inner, y))
    return op.minimum(x, y)


@rule
def unread(x):
    """A vanished reader, whatever it was; it may leave another one unread."""
    yield (op.neg | op.relu | op.abs | op.log | op.exp | op.sqrt | op.tanh | op.identity)(x)
    return rule.nothing


@rule
def unread_pair(x, y):
    yield (op.add | op.mul | op.sub | op.maximum | op.minimum)(x, y)
    return rule.nothing


@rule
def affine_as_sum(x, w, b=None):
    yield affine(x, w, b)
    return op.mul(x, w) if b is None else op.add(op.mul(x, w), b)


@rule(shared="duplicate")
def pack_of_negation(xs, y, zs):
    yield pack(*xs, op.neg(y), *zs)
    return pack(*xs, y, *zs)


@rule
def blend_of_equals(xs, y):
    yield blend(*xs, y, y)
    return blend(*xs, y)


@rule
def merge_scales(x, j, k):
    yield scale(scale(x, by=j), by=k)
    return scale(x, by=j * k)


@rule
def large_scale(x):
    yield scale(x, by=rule.where(lambda k: k > 3, "it is large"))
    return op.exp(x)


@rule
def no_scale(x):
    yield scale(x, by={1}, mode="a")
    return x


@rule
def less_itself(xs):
    """Any op, any operands."""
    inner = rule.any_op(*xs)
    yield op.sub(inner, inner)
    return inner


@rule
def chain_of_products(x):
    """A run whose links have operands of their own."""
    run = rule.repeated(x, lambda below, c: op.minimum(c, below), least=2)
    yield run
    return pack(x, *run.c)


@rule
def siblings(x):
    """A group of products that share an operand."""
    group = rule.every(x, lambda w: op.sub(x, w))
    yield group
    return [op.add(x, w) for w in group.w]


ENABLING = (
    *CONFLUENT, difference_as_sum, sum_as_difference, plain_quotient, only_reader, read_once, pair_of_functions,
    exponential_alone, root_without_logarithm, sign_without_pair, two_sums, zero_and_one, both_halves, one_half,
    diamond, unread, unread_pair, affine_as_sum, pack_of_negation, blend_of_equals, merge_scales, large_scale,
    no_scale, less_itself, chain_of_products, siblings,
)  # fmt: skip
"""Through new nodes, vanished readers, vanished neighbours, constants, groups, runs, counted readers, several roots."""

_HEAVY = ("neg", "relu", "abs", "sub", "mul", "add", "maximum", "minimum", "identity", "div")
_LIGHT = ("exp", "log", "sqrt", "tanh", "sigmoid")
_OWN = {o.name: o for o in OWN_OPS}


def _diamond(x: Any, y: Any) -> Any:
    inner = op.add(x, y)
    return op.sub(op.mul(inner, x), op.minimum(inner, y))


def _neighbours(x: Any, y: Any) -> Any:
    op.relu(x)
    return op.log(op.sqrt(op.exp(x)))


def _itself(x: Any, y: Any) -> Any:
    inner = op.mul(x, y)
    return op.sub(inner, inner)


_PHRASES = (
    _diamond, _neighbours, _itself,
    lambda x, y: scale(scale(x, by=2), by=3),
    lambda x, y: op.add(*halves(x)),
    lambda x, y: op.neg(op.neg(x)),
    lambda x, y: op.sub(x, op.neg(y)),
    lambda x, y: op.sub(op.neg(x), y),
    lambda x, y: op.relu(op.minimum(x, x)),
    lambda x, y: op.add(op.neg(x), op.neg(x)),
    lambda x, y: op.mul(x, op.neg(y)),
    lambda x, y: op.sub(op.log(x), op.exp(x)),
    lambda x, y: op.minimum(op.minimum(x, y), x),
    lambda x, y: op.mul(op.add(x, y), op.sub(x, y)),
    lambda x, y: op.relu(op.relu(x)),
    lambda x, y: op.sigmoid(op.mul(op.neg(x), y)),
    lambda x, y: pack(x, op.neg(y)),
    lambda x, y: blend(y, x, y),
)  # fmt: skip


def random_graph(
    seed: int, names: tuple[str, ...] = (*_HEAVY * 3, *_LIGHT * 2, *_OWN), *, size: int = 16, phrases: float = 0.25
) -> Graph:
    """A graph of those ops and of some phrases that the rules know, the same for the same seed."""
    rng = random.Random(seed)
    graph = Graph("g", ops=OWN_OPS)
    values: list[Any] = [graph.input(f"x{i + 1}", VECTOR) for i in range(rng.choice((1, 2)))]
    values += [graph.constant(np.full(3, k, np.float32)) for k in rng.sample((0, 1, 2, -3), rng.choice((0, 1, 2)))]
    while len(graph) < rng.randint(size // 2, size):
        recent = values[-3:] if rng.random() < 0.6 else values
        if rng.random() < phrases:
            values.append(rng.choice(_PHRASES)(rng.choice(recent), rng.choice(values)))
            continue
        name = rng.choice(names)
        found = _OWN.get(name) or op.LIBRARY[name]
        count = rng.choice((1, 2, 3)) if found.variadic else rng.randint(found.required, len(found.operands))
        attributes = {"by": rng.choice((1, 2, 3))} if name == "scale" else {}
        made = graph.add(found, [rng.choice(recent) for _ in range(count)], attributes)
        values += made if isinstance(made, tuple) else [made]
    unread = [v for v in values if not graph.succ[v.node] and rng.random() < 0.8]
    for i, value in enumerate(unread[:4] or values[-1:]):
        graph.output(f"y{i + 1}", value)
    return graph
