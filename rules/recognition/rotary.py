"""Rotary embedding from products with cosines and sines."""

from __future__ import annotations

from typing import Annotated, Any

import numpy as np

from graphrewrite import Graph, decline, op, pass_, rule
from graphrewrite.rewriting.facts import Analysis
from graphrewrite.rules.operands import first_operand
from graphrewrite.rules.slices import taken
from graphrewrite.rules.splits import cut_split, nodes_of_type
from graphrewrite.types import element_kind

__all__ = [
    "RECOGNISE_ROTARY_EMBEDDING",
    "cut_turned_halves",
    "recognise_partial_rotary_embedding",
    "recognise_rotary_embedding",
    "recognise_rotary_embedding_beside",
    "recognise_rotary_embedding_of_halves",
    "recognise_rotary_embedding_of_pairs",
]

_LAST: Any = {-1, 3}


def _constant(node):
    array = node.value
    if not array.ndim or array.shape[-1] % 2:
        return False
    first, second = np.split(array, 2, axis=-1)
    return bool(np.array_equal(first, second))


def _joined(node):
    rank = len(node.type.shape)
    return len(node.sources) == 2 and node.reads_one_value() and node.attributes["axis"] % rank == rank - 1


def _each(node):
    """Entry by entry: an operand that is one number along the axis is the same for both halves."""
    return all(fact or not kind.shape or kind.shape[-1] == 1 for fact, kind in zip(node.facts, node.types, strict=True))


def _kept(node):
    """The last axis is as it was."""
    before, after = node.types[0].shape, node.type.shape
    return node.facts[0] and bool(after) and before[-1] == after[-1]


def _rows(node):
    rank = len(node.types[0].shape)
    return node.facts[0] and node.attributes["axis"] % rank != rank - 1


def _transposed(node):
    return node.facts[0] and node.attributes["perm"][-1] == len(node.type.shape) - 1


repeated: Analysis[bool] = Analysis(
    "repeated",
    unknown=lambda kind: False,
    kind=bool,
    functions={
        op.constant: _constant,
        op.concat: _joined,
        **dict.fromkeys((op.cos, op.sin, op.neg, op.cast, op.add, op.sub, op.mul, op.div), _each),
        **dict.fromkeys((op.reshape, op.squeeze, op.unsqueeze, op.expand, op.slice, op.identity), _kept),
        op.gather: _rows,
        op.transpose: _transposed,
    },
)
"""Whether both halves of a value along its last axis are equal."""
has_equal_halves = repeated.predicate(
    lambda fact: fact, "both halves along its last axis are equal", lambda _: "may have halves that differ"
)
Angles = Annotated[Any, rule.where(has_equal_halves)]


def _part(x, cut):
    """The entries that a slice takes of the last axis; None where it cuts another one."""
    size, bounds = x.shape[-1], taken(cut, x.shape)
    if isinstance(size, str) or set(bounds) != {len(x.shape) - 1}:
        return None
    return range(*slice(*bounds[len(x.shape) - 1]).indices(size))


def _first(x, count, start=0):
    """So many entries of each row."""
    return op.slice(x, starts=(start,), ends=(start + count,), axes=(len(x.shape) - 1,))


def _half(c, pairs):
    """The first half of what has equal halves, which was a half before it was joined with itself."""
    if c.op_name == "concat":
        return first_operand(c)
    if c.op_name in ("cos", "sin"):
        return (op.cos if c.op_name == "cos" else op.sin)(_half(first_operand(c), pairs))
    if c.op_name == "reshape":
        return op.reshape(_half(first_operand(c), pairs), shape=(*c.shape[:-1], pairs))
    return _first(c, pairs)


def _aligned(c):
    """The shape of angles as one of four axes."""
    return (*[1] * (4 - len(c.shape)), *c.shape)


def _steps(x, pairs, *angles):
    """The axis of the steps: the third one, or the second where heads come behind them; None if angles differ by head.

    Both may be where an angle is that of all steps.
    """
    for steps, heads in ((2, 1), (1, 2)):
        shapes = [_aligned(c) for c in angles]
        if all(
            shape[heads] == 1
            and shape[0] in (1, x.shape[0])
            and shape[steps] in (1, x.shape[steps])
            and shape[3] in (pairs, 2 * pairs)
            for shape in shapes
        ):
            return steps
    return None


def _angles(c, x, pairs, steps):
    """Cosines or sines as the op has them, [N, T, pairs]."""
    batch, count, entries = (_aligned(c)[axis] for axis in (0, steps, 3))
    shaped = op.reshape(c if entries == pairs else _half(c, pairs), shape=(batch, count, pairs))
    whole = (x.shape[0], x.shape[steps], pairs)
    return shaped if shaped.shape == whole else op.expand(shaped, shape=whole)


def _turned(x, cos, sin, parts, result, *, interleaved=False):
    """The rotary embedding of parts of an operand, or a text that says why they are none.

    Parameters
    ----------
    parts : tuple
        What the first and the second entries of pairs are; None of what is not cut along the last axis.
    result : tuple
        The shape that the embedding must have.
    """
    if len(x.shape) != 4 or len(cos.shape) > 4 or len(sin.shape) > 4 or x.type.layout is not None:
        return "its axes are not samples, heads, steps and entries, or have names"
    if not parts[0] or not parts[1] or element_kind(x.type.element) != "float":
        return "its parts are not cut along the entries, or are no floats"
    start, pairs = parts[0].start, len(parts[0])
    first = range(start, start + 2 * pairs, 2) if interleaved else range(start, start + pairs)
    between = 1 if interleaved else pairs
    if parts != (first, range(first.start + between, first.stop + between, first.step)):
        return "its parts are not the halves of what is turned"
    if result != (*x.shape[:3], 2 * pairs):
        return "its angles repeat it"
    steps = _steps(x, pairs, cos, sin)
    if steps is None:
        return "its angles differ from head to head"
    across, along = (_angles(each, x, pairs, steps) for each in (cos, sin))
    given = x if 2 * pairs == x.shape[3] else _first(x, 2 * pairs, start)
    if steps == 2:
        return op.rotary_embedding(given, across, along, interleaved=interleaved)
    swapped = op.transpose(given, perm=(0, 2, 1, 3))
    return op.transpose(op.rotary_embedding(swapped, across, along, interleaved=interleaved), perm=(0, 2, 1, 3))


@pass_(ops=[op.split])
def cut_turned_halves(graph: Graph) -> list[str]:
    """Halves of a split are slices where they are turned: one is negated, or each is multiplied twice."""
    cut = []
    for node in nodes_of_type(graph, "split"):
        kind, attributes = graph.result_type(node), graph.attributes(node)
        is_half = len(attributes["sizes"]) == 2 and len(set(attributes["sizes"])) == 1
        if not is_half or len(kind.shape) != 4 or attributes["axis"] not in _LAST:
            continue
        readers = [[graph.nodes[r.node]["type"] for r in graph.readers(node) if r.result == i] for i in (0, 1)]
        if ("neg" in readers[1] or min(each.count("mul") for each in readers) > 1) and cut_split(graph, node):
            cut.append(node)
    return cut


@rule(keeps="rounding")
def recognise_rotary_embedding(x, cos: Angles, sin: Angles):
    """An operand times cosines, and with its halves exchanged and one negated times sines (Su et al. 2021)."""
    whole, first, second = op.slice(x), op.slice(x), op.slice(x)
    total = op.add(op.mul(whole | x, cos), op.mul(op.concat(op.neg(second), first, axis=_LAST), sin))
    yield total
    parts = _part(x, first), _part(x, second)
    if isinstance(x.shape[-1], str) or None in parts:
        return decline("its parts are not cut along the entries", at=total)
    turned = _part(x, whole) if whole else range(x.shape[-1])
    if turned != range(parts[0].start, parts[1].stop):
        return decline("what is multiplied with the cosines is not what is cut", at=total)
    if {each.shape[-1:] for each in (cos, sin)} != {(len(turned),)}:
        return decline("its angles are not one an entry", at=total)
    found = _turned(x, cos, sin, parts, total.shape)
    return decline(found, at=total) if isinstance(found, str) else found


def _products(first, second, cos, sin):
    """Both entries of pairs, turned."""
    real = op.sub(op.mul(first, cos), op.mul(second, sin))
    return real, op.add(op.mul(second, cos), op.mul(first, sin))


@rule(keeps="rounding")
def recognise_rotary_embedding_of_halves(x, cos, sin):
    """So are both halves that are turned by themselves and put together."""
    first, second = op.slice(x), op.slice(x)
    real, imaginary = _products(first, second, cos, sin)
    joined = op.concat(real, imaginary, axis=_LAST)
    yield joined
    found = _turned(x, cos, sin, (_part(x, first), _part(x, second)), joined.shape)
    return decline(found, at=joined) if isinstance(found, str) else found


@rule(keeps="rounding")
def recognise_rotary_embedding_beside(x, cos, sin, rest):
    """So are they beside entries that are not turned."""
    first, second = op.slice(x), op.slice(x)
    real, imaginary = _products(first, second, cos, sin)
    joined = op.concat(real, imaginary, rest, axis=_LAST)
    yield joined
    parts = _part(x, first), _part(x, second)
    if real.type != imaginary.type or real.type != first.type:
        return decline("its angles repeat it", at=joined)
    found = _turned(x, cos, sin, parts, (*real.shape[:-1], 2 * real.shape[-1]))
    return decline(found, at=joined) if isinstance(found, str) else op.concat(found, rest, axis=-1)


@rule(keeps="rounding")
def recognise_rotary_embedding_of_pairs(x, cos, sin):
    """So are pairs that stand side by side."""
    first, second = op.slice(x), op.slice(x)
    real, imaginary = _products(first, second, cos, sin)
    columns = [op.unsqueeze(each) | op.reshape(each) for each in (real, imaginary)]
    result = op.reshape(op.concat(*columns, axis={-1, 4}))
    yield result
    if any(column.shape != (*first.shape, 1) for column in columns):
        return decline("it does not put the entries of pairs side by side", at=result)
    found = _turned(x, cos, sin, (_part(x, first), _part(x, second)), result.shape, interleaved=True)
    return decline(found, at=result) if isinstance(found, str) else found


@rule(keeps="rounding")
def recognise_partial_rotary_embedding(x, cos, sin):
    """Entries behind those that are turned stay as they are."""
    front, rest = op.slice(x), op.slice(x)
    turned = op.rotary_embedding(front, cos, sin)
    joined = op.concat(turned, rest, axis=_LAST)
    yield joined
    count = front.shape[3]
    if (_part(x, front), _part(x, rest)) != (range(count), range(count, x.shape[3])) or count != 2 * cos.shape[2]:
        return decline("what is turned and the rest are not all entries", at=joined)
    return op.rotary_embedding(x, cos, sin, like=turned)


RECOGNISE_ROTARY_EMBEDDING = (
    cut_turned_halves,
    recognise_rotary_embedding,
    recognise_rotary_embedding_of_halves,
    recognise_rotary_embedding_beside,
    recognise_rotary_embedding_of_pairs,
    recognise_partial_rotary_embedding,
)
"""Rotary embedding from products with cosines and sines."""
