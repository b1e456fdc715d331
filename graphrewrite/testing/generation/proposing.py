"""Cases of an op for a first operand that is there: other operands, and values of attributes, that go with it."""

from __future__ import annotations

import inspect
import random
from collections.abc import Sequence
from contextlib import suppress
from functools import lru_cache
from typing import Any, NamedTuple

from graphrewrite.op.define import elementwise
from graphrewrite.op.op import Op
from graphrewrite.testing.generation.demand import Unfit
from graphrewrite.testing.generation.experience import accepted, counts_of, forms, some_accepted, taken
from graphrewrite.testing.generation.fitting import Case, computes, fit
from graphrewrite.testing.generation.joint import at_times, governed, joint_recipes
from graphrewrite.testing.generation.kinds import FAMILIES, FORMATS, Kind, kind_of, retyped
from graphrewrite.testing.generation.options import recipes_of
from graphrewrite.testing.generation.searching import Form, beside, tried
from graphrewrite.testing.generation.sequences import Recipe, values_made
from graphrewrite.testing.generation.suggested import starts_of
from graphrewrite.types import Element, FixedPoint, Tensor, Type

__all__ = ["TURNS", "Link", "elements_taken", "elements_with", "links", "propose", "sources"]

TURNS = 64
"""So many cases there are for each first operand; the first has all attributes at their simplest."""
_ATTEMPTS = 4
_TOGETHER = 0.4
"""How often attributes that only fit together are given."""
_MULTIPLE = 0.5
"""How often a size that follows from an attribute is made twice as large as it must be."""


@lru_cache(maxsize=1 << 15)
def propose(op: Op, first: Type, count: int, turn: int, *, kept: int = 1, sparingly: bool = False) -> Case | None:
    """Return a case of an op whose first operand has a type.

    Parameters
    ----------
    kept : int
        How many operands keep their sizes: the first, or none.
    sparingly : bool
        Whether as little as possible is found out about the op; then some of its attributes vary less often.

    Examples
    --------
    >>> from graphrewrite import op
    >>> case = propose(op.linear, Tensor("f32", ("N", 3)), 3, 0)
    >>> print(*case.types, "->", *case.results)
    f32[N,3] f32[1,3] f32[1] -> f32[N,1]
    """
    kind = kind_of(first)
    known = forms(op, count, kind)
    rng = random.Random(turn)
    for attempt in range(_ATTEMPTS if known else 0):
        form = known[min(attempt, len(known) - 1)] if turn == 0 else _chosen(known, rng)
        recipes = {} if turn == 0 else _varied(op, count, kind, rng, sparingly=sparingly)
        case = _case(op, first, form, recipes, rng, simple=turn == 0, kept=kept)
        if case is not None:
            return case
    return None


def _chosen(known: Sequence[Form], rng: random.Random) -> Form:
    """One of some forms: whatever their number, those with elements of one kind are as likely as those of another."""
    by_elements: dict[Any, list[Form]] = {}
    for form in known:
        by_elements.setdefault(form.elements, []).append(form)
    return rng.choice(known if len(by_elements) == 1 else rng.choice(list(by_elements.values())))


def _varied(op: Op, count: int, kind: Kind, rng: random.Random, *, sparingly: bool) -> dict[str, Recipe]:
    """Recipes for one attribute, or for about half of them."""
    together = governed(op)
    names = [name for name in op.attributes if name not in together]
    is_alone = bool(together) and len(forms(op, count, kind)) == 1  # no other form has other values of them
    if (at_times(op) or is_alone) and rng.random() < _TOGETHER:
        return rng.choice(list(joint_recipes(op)))
    if not names:
        return {}
    chosen = [rng.choice(names)] if rng.random() < 0.5 else [name for name in names if rng.random() < 0.6]
    # An element type that must be given has no usual value.
    chosen += [n for n in names if "element" in n and op.attributes[n] is inspect.Parameter.empty and n not in chosen]
    found = {}
    for name in chosen:
        good = () if sparingly else accepted(op, name, count, kind)
        recipe = some_accepted(op, name, count, kind, rng) if sparingly else rng.choice(good) if good else None
        if recipe is not None:
            found[name] = recipe
    return found


def _case(
    op: Op, first: Type, form: Form, recipes: dict[str, Recipe], rng: random.Random, *, simple: bool, kept: int
) -> Case | None:
    attributes = values_made({**form.recipes, **recipes}, first, rng)
    if attributes is None:
        return None
    alike = op.infer_types is elementwise
    types: list[Type] = [first]
    for rank, element in zip(form.ranks, form.elements, strict=True):
        sizes = _sizes(first, rank, rng, simple=simple, alike=alike)
        is_tensor = element is None and isinstance(first, Tensor) and isinstance(first.element, FixedPoint)
        narrow = is_tensor and not alike and rng.random() < 0.5
        types.append(beside(first, rng.choice(FORMATS) if narrow else element, sizes))
    case = fit(op, types, attributes, range(kept, len(types)), rng)
    return case if case is None or simple or rng.random() >= _MULTIPLE else _multiple(op, types, case, rng) or case


def _multiple(op: Op, types: Sequence[Type], case: Case, rng: random.Random) -> Case | None:
    """A case with a size twice as large as an attribute asked for: with as many groups or blocks of several entries."""
    mended = [
        (operand, axis)
        for operand, (old, new) in enumerate(zip(types, case.types, strict=True))
        for axis, (before, size) in enumerate(zip(old.shape, new.shape, strict=False))
        if before != size and isinstance(size, int) and size > 1
    ]
    if not mended:
        return None
    operand, axis = rng.choice(mended)
    shape = case.types[operand].shape
    with suppress(Unfit):  # of the type
        larger = retyped(case.types[operand], shape=(*shape[:axis], 2 * int(shape[axis]), *shape[axis + 1 :]))
        others = [place for place in range(1, len(types)) if place != operand]
        kinds = (*case.types[:operand], larger, *case.types[operand + 1 :])
        return fit(op, kinds, case.attributes, others, rng, guesses=0)
    return None


def _sizes(first: Type, rank: int, rng: random.Random, *, simple: bool, alike: bool) -> tuple[Any, ...]:
    own: Sequence[Any] = first.shape[len(first.shape) - rank :] if rank <= len(first.shape) else (1,) * rank
    if simple:
        return tuple(own) if alike else (1,) * rank
    way = rng.random()
    if way < 0.2 and rank and any(size != 1 for size in own):  # a number for each place along one axis
        at = rng.choice([axis for axis, size in enumerate(own) if size != 1])
        return tuple(size if axis == at else 1 for axis, size in enumerate(own))
    if way < (0.7 if alike else 0.4):
        return tuple(own)
    return tuple(rng.choice((size, 1, 1, 2, 3)) if isinstance(size, int) else 1 for size in own)


def elements_taken(op: Op, family: str) -> tuple[Element, ...]:
    """Return the element types of a family that an op takes as its first operand's.

    Examples
    --------
    >>> from graphrewrite import op
    >>> elements_taken(op.relu, "float")
    ('f32', 'f64', 'f16', 'bf16', 'f8e4m3fn')
    """
    kind = next((kind for kind in taken(op) if kind.family == family), None)
    return () if kind is None else elements_with(op, kind)  # texts, of an op that takes numbers as well


@lru_cache(maxsize=1 << 12)
def elements_with(op: Op, kind: Kind) -> tuple[Element, ...]:
    """Return the element types of a family that an op takes as its first operand's, which has so many axes.

    Examples
    --------
    >>> from graphrewrite import op
    >>> elements_with(op.erf, Kind("float", 3))
    ('f32', 'f64', 'f16', 'bf16', 'f8e4m3fn')
    """
    form = forms(op, counts_of(op, kind)[0], kind)[0]
    first = form.case.types[0]
    return tuple(
        element
        for element in FAMILIES[kind.family]
        if element == first.element or tried(op, retyped(first, element=element), form, {}, random.Random(0))
    )


class Link(NamedTuple):
    """A use of an op whose result another op reads.

    Attributes
    ----------
    element : Element
        Of its first operand.
    kind : Kind
        Of its first operand.
    operands, turn : int
        The number of operands and the turn, as for `propose`.
    result : Kind
        Of its first result.
    """

    element: Element
    kind: Kind
    operands: int
    turn: int
    result: Kind


@lru_cache(maxsize=1 << 14)
def links(source: Op, reader: Op) -> tuple[Link, ...]:
    """Return uses of an op whose first result another op takes as its first operand.

    Examples
    --------
    >>> from graphrewrite import op
    >>> links(op.relu, op.linear)[0][:4]
    ('f32', Kind(family='float', rank=2), 1, 0)
    >>> links(op.relu, op.integer_linear)[0].element, links(op.sigmoid, op.integer_linear)
    (FixedPoint(signed=True, width=8, fraction=4), ())
    """
    return tuple(
        link
        for result, given in _given(source)
        # What takes numbers and texts makes numbers of texts, and few texts are numbers.
        if counts_of(reader, result) and (result.family != "string" or result in taken(reader))
        for link in given
    )


@lru_cache(maxsize=1024)
def _given(source: Op) -> tuple[tuple[Kind, tuple[Link, ...]], ...]:
    """Kinds of an op's first result, each with uses that give it."""
    found: dict[Kind, dict[Kind, Link]] = {}
    kinds = taken(source)
    plainest = next(iter(kinds), None)
    for kind, counts in kinds.items():
        first = starts_of(source, kind)[0]
        several = source.attributes and plainest is not None and kind.family == plainest.family
        for turn in (0, 9, 5, 13) if several else (0,):
            count = counts[turn % len(counts)]
            case = propose(source, first, count, turn)
            if case is not None and case.results:
                result = kind_of(case.results[0])
                found.setdefault(result, {}).setdefault(kind, Link(first.element, kind, count, turn, result))
    return tuple((result, tuple(given.values())) for result, given in found.items())


@lru_cache(maxsize=256)
def sources(op: Op) -> tuple[Case, ...]:
    """Return cases of an op without operands.

    Examples
    --------
    >>> from graphrewrite.op import LIBRARY
    >>> print(*sources(LIBRARY["counter"])[0].results)
    f32[]
    """
    required = [name for name, default in op.attributes.items() if default is inspect.Parameter.empty]
    rng = random.Random(0)
    found: dict[str, Case] = {}
    together = list(joint_recipes(op)) if governed(op) else []
    listed = {name: list(recipes_of(op, name)) for name in required}
    for turn in range(len(together) or 200):
        # A single attribute takes each form once before chance decides.
        each = len(listed) == 1 and turn < min(map(len, listed.values()))
        drawn = {name: forms[turn] if each else rng.choice(forms) for name, forms in listed.items()}
        recipes = together[turn] if together else drawn
        attributes = values_made(recipes, None, rng)
        case = None if attributes is None else fit(op, (), attributes, (), rng)
        if case is not None:
            found.setdefault(repr(attributes), case)
    cases = sorted(found.values(), key=lambda case: repr(case.attributes) != "{'element': 'f32'}")
    computable = [case for case in cases if computes(op, case)]
    return tuple((computable or cases)[:16])
