"""Instances of patterns whose ops are of a dialect with types of its own, such as relations, sets and texts.

What such ops accept is not known: types and attributes are guessed, and those guesses are kept with which all nodes
have a type and compute something.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import MISSING, fields
from functools import lru_cache
from itertools import combinations, product
from typing import Any, get_args, get_origin, get_type_hints

import numpy as np

from graphrewrite.rewriting.pattern import Pattern
from graphrewrite.testing.generation.demand import Pick, Unfit, admits, seeded
from graphrewrite.testing.generation.fitting import Case
from graphrewrite.testing.generation.plan import Plan
from graphrewrite.testing.generation.unfolding import Leaf, Node, Unfolded, unfold
from graphrewrite.types import EdgeType, ElementType, Tensor, Type, boxed, element_dtype, unboxed

__all__ = ["own_plans"]

_TURNS = 1600
_ENOUGH = 16
_SEEDS = 3
"""Values with which a plan is computed: one of them suffices."""
_WORDS = ("a", "b", "c")
_NUMBERS: tuple[Any, ...] = (0, 1, 2, 3, -1, 0.5, True, False)
_SHAPES: tuple[tuple[Any, ...], ...] = (("N",), (), ("N", 2), (2, 3))
_FIELDS: dict[Any, tuple[Any, ...]] = {int: (2, 3, 7), float: (0.5, 2.0), str: _WORDS, bool: (False, True)}
_MOST = 8
"""Types of a class that are tried."""


@lru_cache(maxsize=256)
def own_plans(pattern: Pattern) -> tuple[Plan, ...]:
    """Return plans of a pattern with values of its dialects' own types; none where they have no types.

    Examples
    --------
    >>> from graphrewrite import Dialect, define_op, rule
    >>> text = Dialect("text")
    >>> class Text(EdgeType, dialect=text):
    ...     def sample(self, rng):
    ...         return "ab"[: rng.integers(3)]
    >>> @define_op(dialect=text, infer=lambda a, b: a)
    ... def join(a, b):
    ...     return a + b
    >>> @rule
    ... def swap(a, b):
    ...     yield join(join(a, a), b)
    ...     return b
    >>> plan = own_plans(swap.pattern)[0]
    >>> sorted(map(str, plan.types.values()))
    ['text.Text()', 'text.Text()']
    """
    dialects = dict.fromkeys(op.dialect for node in pattern.nodes for op in node.ops if op.dialect is not None)
    kinds = [kind for dialect in dialects for own in dialect.types.values() for kind in _kinds_of(own)]
    good: list[Plan] = []
    for turn in range(_TURNS if kinds else 0):
        pick = seeded(turn)
        with suppress(Exception):  # inference and functions of ops may fail in any way at what does not fit
            plan = _planned(unfold(pattern, pick), kinds, pick)
            if any(_computes(plan, seed) for seed in range(_SEEDS)):
                good.append(plan)
        if len(good) == _ENOUGH:
            break
    return tuple(good)


def _kinds_of(own: Any) -> Iterator[Type]:
    """Yield types of a class: with values for those of its fields that have no default."""
    hints = get_type_hints(own)
    needed = [each for each in fields(own) if each.default is MISSING and each.default_factory is MISSING]
    options = [_options_of(hints.get(each.name)) for each in needed]
    for chosen, _ in zip(product(*options), range(_MOST), strict=False):
        made = own(**{each.name: value for each, value in zip(needed, chosen, strict=True)})
        yield from [made] if issubclass(own, EdgeType) else [Tensor(made, shape) for shape in _SHAPES]


def _options_of(hint: Any) -> tuple[Any, ...]:
    """Return values of a field that is annotated so; none where nothing can be guessed."""
    if get_origin(hint) is tuple:
        of = _FIELDS.get(get_args(hint)[0], ())
        return tuple(some for count in (2, 1, 3) for some in combinations(of, count))
    return _FIELDS.get(hint, ())


def _planned(reading: Unfolded, kinds: list[Type], pick: Pick) -> Plan:
    """Give types to a reading, operands first, by guesses."""
    plan = Plan(reading)
    for node in reading.nodes:
        known = [kind for operand in node.operands if (kind := plan.type_of(operand)) is not None]
        for operand in node.operands:
            if isinstance(operand, Leaf) and operand not in plan.types:
                if operand.literal is not None or operand.condition is not None:
                    raise Unfit("a literal or a condition on a value of a type of one's own")
                plan.types[operand] = pick([*kinds, *known * len(kinds)])
                if operand.constant:
                    plan.arrays[operand] = _value(plan.types[operand], pick(range(_SEEDS)))
        types = tuple(kind for operand in node.operands if (kind := plan.type_of(operand)) is not None)
        attributes = _attributes(plan, node, types, pick)
        plan.place(node, Case(types, attributes, node.op.infer(*types, **attributes)))
    return plan


def _attributes(plan: Plan, node: Node, types: Iterable[Type], pick: Pick) -> dict[str, Any]:
    """Return attributes: those of the pattern, and guesses for those that it leaves open."""
    found, conditions = plan.settled(node)
    words = list(dict.fromkeys(word for kind in types for word in _words_in(kind))) or list(_WORDS)
    guesses: tuple[Sequence[Any], ...] = (words, [*((word,) for word in words), tuple(words)], _NUMBERS)
    for name in dict.fromkeys((*node.attributes, *node.op.required_attributes)):
        if name not in found:
            options: Sequence[Any] = pick(guesses)
            if name in conditions:
                options = [value for some in guesses for value in some if admits(conditions[name], value)]
            if not options:
                raise Unfit(conditions[name].reason)
            found[name] = pick(options)
    return found


def _words_in(kind: Any) -> Iterator[str]:
    """Yield the texts in the fields of a type."""
    for each in fields(kind) if isinstance(kind, EdgeType) else ():
        value = getattr(kind, each.name)
        yield from (word for word in (value if isinstance(value, tuple) else (value,)) if isinstance(word, str))


def _value(kind: Any, seed: int) -> Any:
    """Return some value of a type."""
    rng = np.random.default_rng(seed)
    if isinstance(kind, EdgeType):
        return boxed(kind.as_value(kind.sample(rng)))
    shape = tuple(2 if isinstance(size, str) else size for size in kind.shape)
    return kind.element.sample(rng, shape) if isinstance(kind.element, ElementType) else _ones(kind, shape)


def _ones(kind: Tensor, shape: tuple[int, ...]) -> np.ndarray:
    return np.ones(shape, element_dtype(kind.element))


def _computes(plan: Plan, seed: int) -> bool:
    """Tell whether all nodes compute something of some values."""
    values: dict[Any, Any] = {}
    for position, (leaf, kind) in enumerate(plan.types.items()):
        values[leaf] = (_value(kind, _SEEDS * position + seed),)
    for node in plan.reading.nodes:
        operands = [values[o][0] if isinstance(o, Leaf) else values[o.node][o.index] for o in node.operands]
        computed = node.op.function(*map(unboxed, operands), **plan.cases[node].attributes)
        found = computed if isinstance(computed, tuple) and len(plan.cases[node].results) > 1 else (computed,)
        values[node] = [
            kind.as_value(value) if isinstance(kind, EdgeType) else np.asarray(value)
            for kind, value in zip(plan.cases[node].results, found, strict=True)
        ]
    return True
