"""What can be found out about an op by asking its inference: which operands it takes, and which values of attributes.

Nothing here is written down op by op, so that an op of a user's is known as well as one of the library. What is found
depends on the op alone, is found when it is first asked for, and remembered.
"""

from __future__ import annotations

import inspect
import math
import random
import warnings
from collections.abc import Iterator, Mapping
from functools import lru_cache
from itertools import product
from typing import NamedTuple

import numpy as np

from graphrewrite.op.define import elementwise
from graphrewrite.op.op import Op
from graphrewrite.testing.generation.fitting import Case, fit
from graphrewrite.testing.generation.kinds import FAMILIES, Kind, family_of, kind_of, starts
from graphrewrite.testing.generation.options import recipes_of
from graphrewrite.testing.generation.sequences import Recipe
from graphrewrite.types import Element, Stream, Tensor, Type, element_dtype, element_kind

__all__ = [
    "FAMILIES",
    "Form",
    "Kind",
    "accepted",
    "computes",
    "family_of",
    "forms",
    "kind_of",
    "starts",
    "taken",
    "tried",
]

_RANKS = (2, 4, 1, 3, 0, 5)
_MOST = 6
"""Forms of each kind that are remembered."""
_TRIES = 640
"""Attributes to try together, where an op must have several."""
_EACH = 12
"""How many of them to try with each choice of further operands."""
_ASKED = 60
"""How often to ask an op for each kind of operands, and again as often for each attribute that it must have."""


class Form(NamedTuple):
    """A way in which an op takes operands.

    Attributes
    ----------
    ranks : tuple of int
        Of the operands after the first.
    elements : tuple of Element or None
        Of these; None for that of the first one.
    recipes : mapping of str to Recipe
        For attributes that must be given.
    case : Case
        One example.
    """

    ranks: tuple[int, ...]
    elements: tuple[Element | None, ...]
    recipes: Mapping[str, Recipe]
    case: Case


@lru_cache(maxsize=1024)
def taken(op: Op) -> dict[Kind, tuple[int, ...]]:
    """Return the kinds of first operands that an op takes, and with how many operands in all.

    Parameters
    ----------
    op : Op
        Any op that has operands.

    Returns
    -------
    dict of Kind to tuple of int

    Examples
    --------
    >>> from graphrewrite import op
    >>> taken(op.linear)[Kind("float", 2)], Kind("bool", 2) in taken(op.linear)
    ((2, 3), False)
    """
    found: dict[Kind, tuple[int, ...]] = {}
    ranks: tuple[int, ...] = _RANKS
    for family in FAMILIES:
        own: dict[Kind, tuple[int, ...]] = {}
        for rank in ranks:
            kind = Kind(family, rank)
            counts = counts_of(op, kind)
            if counts:
                own[kind] = counts
                if found:  # families differ by their elements, and hardly by the numbers of axes that go with them
                    own = {Kind(family, rank): counts for rank in ranks}
            if own and found:
                break
        ranks = tuple(kind.rank for kind in own) if own and not found else ranks
        found.update(own)
    return found


@lru_cache(maxsize=1 << 14)
def counts_of(op: Op, kind: Kind) -> tuple[int, ...]:
    """Return with how many operands in all an op takes a first one of a kind.

    Parameters
    ----------
    op : Op
        Any op that has operands.
    kind : Kind
        Of the first operand.

    Returns
    -------
    tuple of int
        Empty if it takes none of that kind.

    Examples
    --------
    >>> from graphrewrite import op
    >>> counts_of(op.conv, Kind("float", 4)), counts_of(op.conv, Kind("float", 2))
    ((2, 3), ())
    """
    least = max(op.required, 1)
    most = len(op.operands) + 2 * op.variadic
    return tuple(count for count in range(least, most + 1) if forms(op, count, kind))


@lru_cache(maxsize=1 << 14)
def forms(op: Op, count: int, kind: Kind) -> tuple[Form, ...]:
    """Return the ways in which an op takes so many operands, the first being of a kind.

    Parameters
    ----------
    op : Op
        The op.
    count : int
        Number of operands, at least one.
    kind : Kind
        Of the first operand.

    Returns
    -------
    tuple of Form
        The simplest first; empty where none was found.
    """
    if (kind.family == "stream") != (op.level == "stream"):
        return ()  # a component computes on streams, and nothing else does
    if op.elements is not None and kind.family != "stream" and kind.family not in op.elements:
        return ()
    search = _Search(op, kind)
    others = count - 1
    alike = search.forms(_ranks(op, count, kind.rank), (None,) * others)
    if not others or op.infer_types is elementwise or kind.family == "stream":
        return tuple(alike)
    # Operands of several element types: at the numbers of axes that are known to fit, if any are.
    known = [alike[0].ranks] if alike else _ranks(op, count, kind.rank)[:24]
    search.known = alike[0].recipes if alike else None
    search.most = 2
    for elements in _elements(op, count, kind):
        alike += search.forms(known, elements)
        if len(alike) >= 2 * _MOST:
            break
    return tuple(alike)


class _Search:
    """A search for forms of an op, which ends when it has asked too often."""

    def __init__(self, op: Op, kind: Kind) -> None:
        self.op, self.kind, self.rng = op, kind, random.Random(0)
        self.required = [name for name, default in op.attributes.items() if default is inspect.Parameter.empty]
        self.known: Mapping[str, Recipe] | None = None
        self.most = _MOST
        self.left = _ASKED * (1 + len(self.required)) if op.operands[1:] or op.variadic else _TRIES * 2

    def forms(self, all_ranks: list[tuple[int, ...]], elements: tuple[Element | None, ...]) -> list[Form]:
        """Return forms with these operands; several of one number of axes only where just attributes differ."""
        several = not elements and len(self.required) > 1
        found: list[Form] = []
        fallback: list[Form] = []
        for first in starts(self.kind)[: 2 if elements else None]:
            known = None if self.known is None else iter([self.known])
            for recipes in known or _together(self.op, self.required, first, self.rng):
                done = {form.ranks for form in found}
                for ranks in all_ranks if several else [r for r in all_ranks if r not in done]:
                    if self.left <= 0:
                        return found or fallback[:1]
                    self.left -= 1
                    form = self._form(first, Form(ranks, elements, recipes, Case((first,))))
                    if form is None:
                        continue
                    (found if computes(self.op, form.case) else fallback).append(form)
                    if len(found) >= self.most:
                        return found
            if found and not several:
                break
        return found or fallback[:1]

    def _form(self, first: Type, form: Form) -> Form | None:
        case = tried(self.op, first, form, {}, self.rng, guesses=3 * any(e is None for e in form.elements))
        return None if case is None else form._replace(case=case)


def _elements(op: Op, count: int, kind: Kind) -> Iterator[tuple[Element | None, ...]]:
    """Another kind for one operand, or for all but the first."""
    others = count - 1
    near = [FAMILIES[family][0] for family in FAMILIES if family not in ("stream", kind.family)]
    near += FAMILIES[kind.family][1:3]
    for element in near:
        yield (element,) * others
        if others > 1:
            for at in range(others):
                yield tuple(element if i == at else None for i in range(others))


def _ranks(op: Op, count: int, rank: int) -> list[tuple[int, ...]]:
    """Numbers of axes of the other operands: those of the first, one axis each, and all others."""
    others = count - 1
    alike = [(r,) * others for r in dict.fromkeys((rank, 1, 0, 2, rank - 1, rank + 1, 3, 4)) if 0 <= r <= 5]
    if others < 2:
        return list(dict.fromkeys(alike))
    if op.infer_types is elementwise:
        return [a for a in alike if a[0] <= rank]
    near = list(dict.fromkeys((rank, 1, 2, max(rank - 1, 0))))
    return list(dict.fromkeys([*alike[:3], *product(near, repeat=others), *alike]))[:72]


def _together(op: Op, required: list[str], first: Type, rng: random.Random) -> Iterator[dict[str, Recipe]]:
    """Recipes for the attributes that must be given; by chance where there are many combinations."""
    if not required:
        yield {}
        return
    if len(required) == 1:  # one after the other, as the first that fits is often enough
        for recipe in _distinct(recipes_of(op, required[0]), first):
            yield {required[0]: recipe}
        return
    each = [list(_distinct(recipes_of(op, name), first)) for name in required]
    count = math.prod(len(recipes) for recipes in each)
    several = len(op.operands) > 1 or op.variadic
    if count <= (_EACH if several else _TRIES):
        for chosen in product(*each):
            yield dict(zip(required, chosen, strict=True))
        return
    for _ in range(_EACH if several else _TRIES):
        yield {name: rng.choice(recipes) for name, recipes in zip(required, each, strict=True)}


def _distinct(recipes: tuple[Recipe, ...], first: Type) -> Iterator[Recipe]:
    """Those of some recipes that make different values for a type, as far as a few values of each show."""
    found: set[str] = set()
    for recipe in recipes:
        try:
            values = repr([recipe.make(first, random.Random(seed)) for seed in range(2)])
        except Exception:  # the type has no such value
            continue
        if values not in found:
            found.add(values)
            yield recipe


def _guess(first: Type, ranks: tuple[int, ...], elements: tuple[Element | None, ...], rng: random.Random) -> list[Type]:
    made: list[Type] = []
    for rank, element in zip(ranks, elements, strict=True):
        own = first.shape[len(first.shape) - rank :] if rank <= len(first.shape) else (2,) * rank
        own = tuple(2 if isinstance(size, str) else size for size in own)
        if isinstance(first, Stream):
            made.append(Stream(first.element, own or (2,)))  # type: ignore[arg-type]
            continue
        kept = (element is None and first.element) or element
        try:
            made.append(Tensor(kept, own))  # type: ignore[arg-type]
        except Exception:  # scales of channels that it has not
            made.append(Tensor(FAMILIES[element_kind(first.element)][0], own))
    return made


def computes(op: Op, case: Case) -> bool:
    """Tell whether an op computes on operands of the types of a case, and gives what they say.

    Parameters
    ----------
    op : Op
        The op.
    case : Case
        A use of it.

    Returns
    -------
    bool

    Examples
    --------
    >>> from graphrewrite import op
    >>> x = Tensor("f32", ("N", 3))
    >>> computes(op.relu, Case((x,), {}, (x,)))
    True
    """
    arrays = [np.ones(_sizes(kind), element_dtype(kind.element)) for kind in case.types]
    try:
        with warnings.catch_warnings(), np.errstate(all="ignore"):
            warnings.simplefilter("ignore")
            found = op.compute(arrays, {**op.attributes, **case.attributes}, op.arrangement(case.types))
    except Exception:  # whatever a user's function raises
        return False
    return [array.shape for array in found] == [_sizes(kind) for kind in case.results]


def _sizes(kind: Type) -> tuple[int, ...]:
    batch = (2,) if isinstance(kind, Stream) else ()
    return batch + tuple(2 if isinstance(size, str) else size for size in kind.shape)


@lru_cache(maxsize=1 << 14)
def accepted(op: Op, name: str, count: int, kind: Kind) -> tuple[Recipe, ...]:
    """Return the recipes for an attribute that an op accepts, with so many operands and the first of a kind.

    Parameters
    ----------
    op : Op
        The op.
    name : str
        One of its attributes.
    count : int
        Number of operands; none at all for an op without.
    kind : Kind
        Of the first operand.

    Returns
    -------
    tuple of Recipe
        The simplest first.

    Examples
    --------
    >>> from graphrewrite import op
    >>> [recipe.name for recipe in accepted(op.softmax, "axis", 1, Kind("float", 2))]
    ['-1', '1', '0', '-2']
    """
    known = forms(op, count, kind)
    if not known:
        return ()
    rng = random.Random(0)
    computable = computes(op, known[0].case)
    found: dict[str, Recipe] = {}
    for first in starts(kind)[: None if count < 2 else 2]:
        for recipe in _distinct(recipes_of(op, name), first):
            if recipe.name in found:
                continue
            for _ in range(2):
                case = tried(op, first, known[0], {name: recipe}, rng, guesses=0)
                if case is not None and (not computable or computes(op, case)):
                    found[recipe.name] = recipe
                    break
    order = {recipe.name: i for i, recipe in enumerate(recipes_of(op, name))}
    return tuple(sorted(found.values(), key=lambda recipe: order[recipe.name]))


def tried(
    op: Op, first: Type, form: Form, recipes: Mapping[str, Recipe], rng: random.Random, *, guesses: int = 2
) -> Case | None:
    """Return a case of a form whose attributes are made by some recipes, if there is one.

    Parameters
    ----------
    op : Op
        The op.
    first : Tensor or Stream
        Type of the first operand.
    form : Form
        How it takes operands.
    recipes : mapping of str to Recipe
        For attributes; those that must be given, and are not here, are made by the form's own.
    rng : Random
        Makes the choices.
    guesses : int
        As for `fit`.

    Returns
    -------
    Case or None
    """
    attributes = {}
    try:
        for name, recipe in {**form.recipes, **recipes}.items():
            attributes[name] = recipe.make(first, rng)
    except Exception:  # the type has no such value
        return None
    known = form.case.types
    others = known[1:] if len(known) > 1 and known[0] == first else _guess(first, form.ranks, form.elements, rng)
    types = (first, *others)
    return fit(op, types, attributes, range(1, len(types)), rng, guesses=guesses)
