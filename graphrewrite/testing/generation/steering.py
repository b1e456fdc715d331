"""Plans near to what a rule decides: values that its own code mentions, and their neighbours, put where they fit."""

from __future__ import annotations

import inspect
import random
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from graphrewrite.errors import GraphRewriteError
from graphrewrite.testing.generation.arrays import constant_array, holds
from graphrewrite.testing.generation.demand import Pick, Unfit
from graphrewrite.testing.generation.forward import inferred
from graphrewrite.testing.generation.kinds import retyped
from graphrewrite.testing.generation.plan import Plan
from graphrewrite.testing.generation.unfolding import Leaf
from graphrewrite.testing.generation.varying import is_open, with_attribute
from graphrewrite.testing.mentioning import Mentioned
from graphrewrite.types import Type, element_dtype, hold, out_of_range

__all__ = ["steer"]

_LARGEST = 40
"""A size."""
_TRIES = 3


def steer(plan: Plan, pick: Pick, mentioned: Mentioned) -> Plan:
    """Return a plan near to a plan, with a mentioned value as an attribute, a size, or an entry of a constant.

    A size may also be one more, one less, or twice as large. Where nothing fits, it is the same plan.
    """
    for _ in range(_TRIES):
        try:
            return pick((_attribute, _attribute, _entries, _size) if mentioned else (_size,))(plan, pick, mentioned)
        except Unfit:
            continue
    return plan


def _attribute(plan: Plan, pick: Pick, mentioned: Mentioned) -> Plan:
    free = [(node, name) for node in plan.reading.nodes for name in node.op.attributes if is_open(node, name)]
    # What the code reads decides; what it forgot to read may be wrong.
    read = [(node, name) for node, name in free if name in mentioned.attributes]
    chosen = pick((read, read, free)) if read else free
    node, name = pick(chosen or _none())
    default = node.op.attributes[name]
    values = list(_values(plan.cases[node].attributes.get(name, default), pick, mentioned))
    if default is not inspect.Parameter.empty:
        values += [default] * (1 + len(values) // 4)  # what most graphs have, and most rules ask for
    try:
        return with_attribute(plan, node, name, pick(values or _none()), pick)
    except GraphRewriteError as error:  # the op takes no such value
        raise Unfit(str(error)) from error


def _values(old: Any, pick: Pick, mentioned: Mentioned) -> Iterator[Any]:
    """Yield mentioned values of the kind of a value."""
    if isinstance(old, bool):
        yield not old
    elif isinstance(old, int | float):
        yield from (type(old)(n) for n in mentioned.boundaries if type(old)(n) == n)
    elif isinstance(old, tuple) and old and all(isinstance(entry, int) for entry in old):
        for number in mentioned.boundaries:
            if number == int(number):
                at = pick(range(len(old)))
                yield (*old[:at], int(number), *old[at + 1 :])
                yield (int(number),) * len(old)
    elif old is None:
        yield from (n for n in mentioned.boundaries if n == int(n))
    else:
        yield from (other for other in mentioned.others if type(other) is type(old))


def _size(plan: Plan, pick: Pick, mentioned: Mentioned) -> Plan:
    """Change a size wherever it is, or one of a leaf: the others follow, or it is broadcast."""
    leaf = pick(list(plan.types))
    shape = plan.types[leaf].shape
    axis = pick(range(len(shape)) or _none())
    old = shape[axis]
    sizes = [int(n) for n in mentioned.boundaries if 0 <= n <= _LARGEST and n == int(n)]
    if isinstance(old, int):
        sizes += (2 * old, 2 * old, old + 1, max(old - 1, 1))
    new = pick(sizes or _none())
    if pick((False, True)):
        types = {
            other: retyped(kind, shape=tuple(new if d == old else d for d in kind.shape))
            for other, kind in plan.types.items()
        }
        kept: tuple[Leaf, ...] = ()
    else:
        types = {**plan.types, leaf: retyped(plan.types[leaf], shape=(*shape[:axis], new, *shape[axis + 1 :]))}
        kept = (leaf,)
    return inferred(plan, types, {node: need.attributes for node, need in plan.cases.items()}, pick, kept=kept)


def _entries(plan: Plan, pick: Pick, mentioned: Mentioned) -> Plan:
    """Let a constant have mentioned numbers as entries: everywhere, or among others."""
    leaf = pick([leaf for leaf in plan.types if leaf.constant and leaf.literal is None] or _none())
    kind = plan.types[leaf]
    rng = random.Random(pick(range(256)))
    array = constant_array(kind, 4 + rng.randrange(4), positive=leaf in plan.positive)
    fitting = [n for n in mentioned.boundaries if _is_held(kind, n) and (n > 0 or leaf not in plan.positive)]
    if not fitting or not array.size:
        raise Unfit("no such number")
    number = rng.choice(fitting)
    places = rng.choice((slice(None), rng.randrange(array.size)))
    flat = array.ravel().copy()
    flat[places] = number
    array = hold(kind.element, flat.reshape(array.shape))
    if leaf.condition is not None and not holds(leaf.condition, kind, array):
        raise Unfit(leaf.condition.reason)
    return replace(plan, arrays={**plan.arrays, leaf: array})


def _is_held(kind: Type, number: float) -> bool:
    """Tell whether a type has a number, or, of floats, one near to it."""
    dtype = element_dtype(kind.element)
    return dtype.kind == "f" or (number == int(number) and out_of_range(kind.element, int(number)) is None)


def _none() -> Any:
    raise Unfit("nothing to choose from")
