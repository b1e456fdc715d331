"""Search for the ways in which an op takes operands: numbers of axes, element types, attributes that it must have."""

from __future__ import annotations

import inspect
import math
import random
from collections.abc import Iterator, Mapping, Sequence
from itertools import chain, product
from typing import Any, NamedTuple

from graphrewrite.errors import TypeMismatchError
from graphrewrite.op.define import elementwise
from graphrewrite.op.op import Op
from graphrewrite.testing.generation.fitting import Case, computes, fit
from graphrewrite.testing.generation.joint import governed, joint_recipes
from graphrewrite.testing.generation.kinds import FAMILIES, Kind, retyped
from graphrewrite.testing.generation.options import mostly_given, recipes_of
from graphrewrite.testing.generation.sequences import Recipe, values_made
from graphrewrite.testing.generation.suggested import starts_of, suggested
from graphrewrite.testing.generation.tracing import Trace
from graphrewrite.types import Element, FixedPoint, Stream, Tensor, Type, element_kind

__all__ = ["Form", "beside", "distinct", "found_forms", "mixed", "required_of", "tried"]

_MOST = 6
"""Forms of each kind that are remembered."""
_MOST_RANKS = 72
"""Numbers of axes that are tried for the operands of an op."""
_TRIES = 640
"""Attributes to try together, where an op must have several."""
_EACH = 12
"""How many of them to try with each choice of further operands."""
_ASKED = 60
"""How often to ask an op for each kind of operands, and again as often for each attribute that it must have."""

_WHOLE = FixedPoint(True, 8)
_AFTER = 20
"""How often to ask it once it has taken some."""


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


def required_of(op: Op) -> list[str]:
    """Return the attributes that an op must have, and those that it is given as if it had to."""
    given, together = mostly_given(op), governed(op)
    return [
        name
        for name, default in op.attributes.items()
        if default is inspect.Parameter.empty or name in given or name in together
    ]


def found_forms(op: Op, count: int, kind: Kind) -> list[Form]:
    """Return forms of an op, found by asking its inference, which ends when it has been asked too often.

    Examples
    --------
    >>> from graphrewrite import op
    >>> [form.ranks for form in found_forms(op.linear, 3, Kind("float", 2))]
    [(2, 1)]
    """
    search = _Search(op, kind)
    others = count - 1
    known = suggested(op, count, kind.rank) if others else []
    if known:
        return [form for ranks, elements in known for form in _suggested_forms(op, kind, ranks, elements)]
    alike = search.forms(_ranks(op, count, kind.rank), (None,) * others)
    if not alike and len(search.required) > 1:  # each value of each attribute once at least, and whole numbers
        firsts = starts_of(op, kind)[:2]
        whole = tuple(retyped(first, element=_WHOLE) for first in firsts) if kind.family == "fixed" else firsts
        alike = _Search(op, kind, whole).forms(_ranks(op, count, kind.rank), (None,) * others)
    if not others or op.infer_types is elementwise or kind.family == "stream":
        return alike
    if alike:
        return alike + mixed(op, alike[0], kind)
    search.most = 2
    for elements in _elements(count, kind):
        alike += search.forms(_ranks(op, count, kind.rank)[:24], elements)
        if len(alike) >= 2 * _MOST:
            break
    return alike


def _suggested_forms(op: Op, kind: Kind, ranks: tuple[int, ...], elements: tuple[Element | None, ...]) -> list[Form]:
    """Return forms with these operands, by a search of their own: others may have ended one in common.

    Some say in an attribute as well what element type the last one has: of floats of 8 bits numpy knows nothing.
    """
    found = _Search(op, kind).forms([ranks], elements)
    if not found and elements[-1] is not None and "element" in op.attributes:
        name = elements[-1]
        found = _Search(op, kind, given={"element": Recipe(repr(name), lambda kind, rng: name)}).forms(
            [ranks], elements
        )
    return found


def mixed(op: Op, form: Form, kind: Kind) -> list[Form]:
    """Return forms like one in which other operands have elements of their own."""
    found: list[Form] = []
    for elements in _elements(1 + len(form.ranks), kind):
        types = [form.case.types[0]]
        for element, own in zip(elements, form.case.types[1:], strict=True):
            types.append(own if element is None else Tensor(element, own.shape))
        case = fit(op, types, form.case.attributes, (), random.Random(0))
        if case is not None:
            found.append(Form(form.ranks, elements, form.recipes, case))
            if len(found) >= _MOST:
                break
    return found


class _Search:
    """A search that ends when it has asked too often."""

    def __init__(
        self, op: Op, kind: Kind, firsts: Sequence[Type] = (), given: Mapping[str, Recipe] | None = None
    ) -> None:
        self.op, self.kind, self.rng, self.given = op, kind, random.Random(0), given or {}
        self.firsts, self.deals = firsts or starts_of(op, kind), bool(firsts)
        self.required = required_of(op)
        self.most = _MOST
        self.noted: Trace = []
        self.left = _ASKED * (1 + len(self.required)) if op.operands[1:] or op.variadic else _TRIES * 2

    def forms(self, all_ranks: list[tuple[int, ...]], elements: tuple[Element | None, ...]) -> list[Form]:
        """Return forms with these operands; several of one number of axes only where just attributes differ."""
        several = not elements and len(self.required) > 1
        found: list[Form] = []
        fallback: list[Form] = []
        for first in self.firsts[: 2 if elements else None]:
            for recipes in _together(self.op, self.required, first, self.rng, deals=self.deals):
                done = {form.ranks for form in found}
                for ranks in all_ranks if several else [r for r in all_ranks if r not in done]:
                    if self.left <= 0:
                        return found or fallback[:1]
                    self.left -= 1
                    form = self._form(first, Form(ranks, elements, {**recipes, **self.given}, Case((first,))))
                    if form is None:
                        continue
                    self.left = min(self.left, _AFTER)
                    (found if self._computes(form.case) else fallback).append(form)
                    if len(found) >= self.most:
                        return found
            if (found and not several) or not (self.noted or self.required):
                break  # where no size was looked at, no other sizes help
        return found or fallback[:1]

    def _computes(self, case: Case) -> bool:
        return self.op.infer_types is elementwise or computes(self.op, case)

    def _form(self, first: Type, form: Form) -> Form | None:
        guesses = 3 * any(e is None for e in form.elements)
        case = tried(self.op, first, form, {}, self.rng, guesses=guesses, noted=self.noted)
        return None if case is None else form._replace(case=case)


def _elements(count: int, kind: Kind) -> Iterator[tuple[Element | None, ...]]:
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
    found: dict[tuple[int, ...], None] = {}
    for ranks in chain(alike[:3], product(near, repeat=others), alike):  # of ops with many operands there are very many
        found[ranks] = None
        if len(found) == _MOST_RANKS:
            break
    return [*found]


def _together(
    op: Op, required: list[str], first: Type, rng: random.Random, *, deals: bool
) -> Iterator[dict[str, Recipe]]:
    """Recipes for the attributes that must be given; by chance, or each of one once where there are many."""
    if not required:
        yield {}
        return
    if governed(op):
        for recipes in joint_recipes(op):
            alone = [name for name in required if name not in recipes]
            yield {**recipes, **{name: rng.choice(recipes_of(op, name)) for name in alone}}
        return
    if len(required) == 1:  # one after the other, as the first that fits is often enough
        for recipe, _ in distinct(recipes_of(op, required[0]), first):
            yield {required[0]: recipe}
        return
    each = [[recipe for recipe, _ in distinct(recipes_of(op, name), first)] for name in required]
    count = math.prod(len(recipes) for recipes in each)
    several = len(op.operands) > 1 or op.variadic
    if count <= (_EACH if several else _TRIES):
        for chosen in product(*each):
            yield dict(zip(required, chosen, strict=True))
        return
    if deals:
        dealt = [rng.sample(recipes, len(recipes)) for recipes in each]
        for turn in range(max(_EACH, *map(len, each))):
            yield {name: recipes[turn % len(recipes)] for name, recipes in zip(required, dealt, strict=True)}
        return
    for _ in range(_EACH if several else _TRIES):
        yield {name: rng.choice(recipes) for name, recipes in zip(required, each, strict=True)}


class _Quick(random.Random):
    """Begins anew in no time, for which `random.Random` takes longer than for anything that is asked of it here."""

    _now = 0

    def begin(self, number: int) -> None:
        self._now = number + 1

    def getrandbits(self, k: int) -> int:
        # The generator of Knuth's MMIX: The Art of Computer Programming, volume 2, 3.3.4.
        self._now = (6364136223846793005 * self._now + 1442695040888963407) % (1 << 64)
        return self._now >> (64 - k)

    def random(self) -> float:
        return self.getrandbits(53) / (1 << 53)


_QUICK = _Quick()


def distinct(recipes: Sequence[Recipe], first: Type) -> Iterator[tuple[Recipe, bool]]:
    """Yield those of some recipes that make different values for a type, as far as a few values of each show."""
    found: set[str] = set()
    for recipe in recipes:
        values = []
        try:
            if recipe.size is not None:
                sized = f"{recipe.style} of {recipe.size(first)}"
                if sized in found:
                    continue
                found.add(sized)
            for seed in range(2):
                _QUICK.begin(seed)
                values.append(repr(recipe.make(first, _QUICK)))
        except Exception:  # the type has no such value
            continue
        key = "|".join(values)
        if key not in found:
            found.add(key)
            yield recipe, values[0] != values[1]


def beside(first: Type, element: Element | None, sizes: tuple[Any, ...]) -> Type:
    """Return an operand of some sizes beside the first one, of the same elements where none are given."""
    if isinstance(first, Stream):
        return Stream(first.element, sizes or (1,))
    try:
        return Tensor(first.element if element is None else element, sizes)
    except TypeMismatchError:  # scales of channels that it has not
        return Tensor(FAMILIES[element_kind(first.element)][0], sizes)


def _guess(first: Type, ranks: tuple[int, ...], elements: tuple[Element | None, ...]) -> Iterator[Type]:
    for rank, element in zip(ranks, elements, strict=True):
        own = first.shape[len(first.shape) - rank :] if rank <= len(first.shape) else (2,) * rank
        yield beside(first, element, tuple(2 if isinstance(size, str) else size for size in own))


def tried(
    op: Op,
    first: Type,
    form: Form,
    recipes: Mapping[str, Recipe],
    rng: random.Random,
    *,
    guesses: int = 2,
    noted: Trace | None = None,
    kept: int = 1,
) -> Case | None:
    """Return a case of a form whose attributes are made by some recipes, if there is one.

    Parameters
    ----------
    recipes : mapping of str to Recipe
        For attributes; those that must be given, and are not here, are made by the form's own.
    kept : int
        How many operands keep their sizes: the first, or none.
    """
    attributes = values_made({**form.recipes, **recipes}, first, rng)
    if attributes is None:
        return None
    known = form.case.types
    others = known[1:] if len(known) > 1 and known[0] == first else _guess(first, form.ranks, form.elements)
    types = (first, *others)
    return fit(op, types, attributes, range(kept, len(types)), rng, guesses=guesses, noted=noted)
