"""What can be found out about an op by asking its inference: which operands it takes, and which values of attributes.

Nothing here is written down op by op, so that an op of a user's is known as well as one of the library. What is found
depends on the op alone, is found when it is first asked for, and remembered. As ops differ most in how many axes they
take, that is searched for with elements of one family; what takes another family takes it alike.
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Iterator
from functools import lru_cache
from itertools import product
from typing import Any

from graphrewrite.op.define import elementwise
from graphrewrite.op.op import Op
from graphrewrite.testing.generation.demand import Pick
from graphrewrite.testing.generation.fitting import computes, fit
from graphrewrite.testing.generation.kinds import FAMILIES, RANKS, Kind
from graphrewrite.testing.generation.options import recipes_of
from graphrewrite.testing.generation.searching import Form, distinct, found_forms, mixed, required_of, tried
from graphrewrite.testing.generation.sequences import Recipe, values_made
from graphrewrite.testing.generation.suggested import may_be_first, starts_of, values_of
from graphrewrite.types import OBJECT, Tensor

__all__ = ["accepted", "counts_of", "forms", "some_accepted", "some_kind", "taken"]

_FAILURES = 3
"""Sequences of one length to try before it counts as a wrong one."""
_ASKED = 8
"""Recipes to ask about where one will do."""
_ENOUGH = 14
"""Recipes after which no further sequences of plain numbers are tried."""


@lru_cache(maxsize=1024)
def taken(op: Op) -> dict[Kind, tuple[int, ...]]:
    """Return the kinds of first operands that an op takes, and with how many operands in all.

    Examples
    --------
    >>> from graphrewrite import op
    >>> taken(op.linear)[Kind("float", 2)], Kind("bool", 2) in taken(op.linear)
    ((2, 3), False)
    """
    kinds = [Kind(family, rank) for family in FAMILIES for rank in RANKS]
    found = {kind: counts for kind in kinds if starts_of(op, kind) and (counts := counts_of(op, kind))}
    numbers = {kind: counts for kind, counts in found.items() if kind.family != "string"}
    return numbers or found  # texts are for those ops alone that take nothing else


@lru_cache(maxsize=1 << 14)
def counts_of(op: Op, kind: Kind) -> tuple[int, ...]:
    """Return with how many operands in all an op takes a first one of a kind.

    Examples
    --------
    >>> from graphrewrite import op
    >>> counts_of(op.conv, Kind("float", 4)), counts_of(op.conv, Kind("float", 2))
    ((2, 3), ())
    """
    return tuple(count for count in _counts(op) if forms(op, count, kind))


def some_kind(op: Op, pick: Pick) -> Kind | None:
    """Return a kind of first operands that an op takes, mostly of the first family that it does; None if none is known.

    Few kinds are asked about until one is taken: for a few nodes that is quicker than to find out all of them.

    Examples
    --------
    >>> from graphrewrite import op
    >>> some_kind(op.softmax, lambda options: options[0]), some_kind(op.conv, lambda options: options[-1])
    (Kind(family='float', rank=2), Kind(family='float', rank=4))
    """
    first, others = _searched(_model(op)), [family for family in FAMILIES if family not in ("stream", "string")]
    if first is None:
        return None
    at = pick(range(len(RANKS)))
    for family in (pick((first, first, pick(others))), first):
        for rank in (*RANKS[at:], *RANKS[:at]):
            if counts_of(op, Kind(family, rank)):
                return Kind(family, rank)
    return None


def _counts(op: Op) -> range:
    return range(max(op.required, 1), len(op.operands) + 2 * op.variadic + 1)


def _may_take(op: Op, family: str) -> bool:
    if family == OBJECT:
        return False  # of a dialect's own values only its patterns have plans
    if op.level != "bridge" and (family == "stream") != (op.level == "stream"):
        return False  # a component computes on streams, and besides it only what leads from one level to another
    return op.elements is None or family == "stream" or family in op.elements


@lru_cache(maxsize=1 << 14)
def forms(op: Op, count: int, kind: Kind) -> tuple[Form, ...]:
    """Return the ways in which an op takes so many operands, the first being of a kind."""
    if not _may_take(op, kind.family) or not may_be_first(op, kind):
        return ()
    like = _model(op)
    if like is not op:
        return forms(like, count, kind)
    family = _searched(op)
    if family is None or kind.family == family:
        return _found(op, count, kind)
    known = _found(op, count, Kind(family, kind.rank))
    if not known:
        return ()
    found = list(_translated(op, known, kind))
    if found and count > 1 and op.infer_types is not elementwise:
        found += [form for form in mixed(op, found[0], kind) if form.elements not in {f.elements for f in found}]
    if not found and required_of(op):  # an attribute that goes with the elements
        return _found(op, count, kind)
    return tuple(found)


_found = lru_cache(maxsize=1 << 14)(lambda op, count, kind: tuple(found_forms(op, count, kind)))


_MODELS: dict[tuple[Any, ...], Op] = {}
"""The first element-wise op that was asked about, by what says which operands it takes."""


def _model(op: Op) -> Op:
    """Return an op that takes the same operands: element-wise ones differ by what they compute only."""
    if op.infer_types is not elementwise or required_of(op):
        return op
    key = (op.elements, op.level, op.required, len(op.operands), op.variadic, op.axes)
    return _MODELS.setdefault(key, op)


@lru_cache(maxsize=1024)
def _searched(op: Op) -> str | None:
    """Return the first family of elements that an op takes."""
    for family in FAMILIES:
        if _may_take(op, family):
            for rank in RANKS:
                kind = Kind(family, rank)
                if may_be_first(op, kind) and any(_found(op, count, kind) for count in _counts(op)):
                    return family
    return None


def _translated(op: Op, known: tuple[Form, ...], kind: Kind) -> Iterator[Form]:
    """Yield the same forms with elements of another family, where the op takes them."""
    element = FAMILIES[kind.family][0]
    for form in known:
        old = form.case.types[0]
        types = [Tensor(element, t.shape) if t.element == old.element else t for t in form.case.types]
        attributes = values_made(form.recipes, types[0], random.Random(0))
        case = None if attributes is None else fit(op, types, attributes, (), random.Random(0))
        if case is not None:
            yield form._replace(case=case)


@lru_cache(maxsize=1 << 14)
def accepted(op: Op, name: str, count: int, kind: Kind) -> tuple[Recipe, ...]:
    """Return the recipes for an attribute that an op accepts, with so many operands and the first of a kind.

    Examples
    --------
    >>> from graphrewrite import op
    >>> [recipe.name for recipe in accepted(op.softmax, "axis", 1, Kind("float", 2))]
    ['-1', '1', '0', '-2']
    """
    counts = counts_of(op, kind)
    if not counts:
        return ()
    if count != counts[0] and not (op.variadic and values_of(op, name)):  # further operands hardly matter
        return accepted(op, name, counts[0], kind)
    recipes = everything = recipes_of(op, name)
    family, found = _searched(_model(op)), set[str]()
    if family is not None and kind.family != family:  # it is enough to ask about what there is of this family only
        like = Kind(family, kind.rank)
        found = {recipe.name for recipe in accepted(op, name, count, like)}
        recipes = _others(op, name, like)
    if recipes:
        found |= _accepting(op, name, recipes, forms(op, count, kind)[0], kind)
    return tuple(recipe for recipe in everything if recipe.name in found)


@lru_cache(maxsize=4096)
def _others(op: Op, name: str, kind: Kind) -> tuple[Recipe, ...]:
    """Return the recipes for an attribute that make nothing for a kind of operand."""
    rng, first = random.Random(0), starts_of(op, kind)[0]
    return tuple(r for r in recipes_of(op, name) if values_made({name: r}, first, rng) is None)


def some_accepted(op: Op, name: str, count: int, kind: Kind, rng: random.Random) -> Recipe | None:
    """Return one of the recipes for an attribute that an op accepts; None if none of a few is accepted.

    That is quicker than to find out all of them, where few are asked for.

    Examples
    --------
    >>> from graphrewrite import op
    >>> some_accepted(op.softmax, "axis", 1, Kind("float", 2), random.Random(0)).name
    '-2'
    """
    known, first, recipes = forms(op, count, kind), starts_of(op, kind)[0], list(recipes_of(op, name))
    rng.shuffle(recipes)
    for recipe in recipes[: _ASKED if known else 0]:
        case = tried(op, first, known[0], {name: recipe}, rng, guesses=0)
        if case is not None and (
            op.infer_types is elementwise or computes(op, case) or not computes(op, known[0].case)
        ):
            return recipe
    return None


def _sides(op: Op, name: str, count: int, kind: Kind) -> list[dict[str, Recipe]]:
    """Return what else may be given with an attribute: the plainest, and other values of those that must be given."""
    required = required_of(op)
    if not required or name in required:
        return [{}]
    known = {other: accepted(op, other, count, kind)[:2] for other in required}
    return [{}, {other: recipes[-1] for other, recipes in known.items() if recipes}]


def _accepting(op: Op, name: str, recipes: tuple[Recipe, ...], form: Form, kind: Kind) -> set[str]:
    """Return the names of those recipes whose values the op accepts."""
    rng = random.Random(0)
    computable = op.infer_types is not elementwise and computes(op, form.case)
    sides = _sides(op, name, 1 + len(form.ranks), kind)
    found: set[str] = set()
    failed: Counter[int] = Counter()
    for first in starts_of(op, kind)[:4:3]:  # sizes that are all different, and sizes of 1
        for recipe, varies in distinct([r for r in recipes if r.name not in found], first):
            size = recipe.size(first) if recipe.size else -1
            if failed[size] >= _FAILURES or (recipe.size and len(found) >= _ENOUGH):
                continue
            failed[size] += recipe.size is not None
            for side, _ in product(sides, range(1 + varies)):
                chosen = {**side, name: recipe}
                case = tried(op, first, form, chosen, rng, guesses=0)
                if case is None:  # perhaps for other sizes of the first operand
                    case = tried(op, first, form, chosen, rng, guesses=0, kept=0)
                if case is not None and (not computable or computes(op, case)):
                    found.add(recipe.name)
                    failed[size] = -len(recipes)
                    break
    return found
