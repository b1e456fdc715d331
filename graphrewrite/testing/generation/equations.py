"""Equations of sums of products: any letters of operands, repeated, met by one alone or by several, in any order."""

from __future__ import annotations

import random
from collections.abc import Iterator
from functools import partial
from typing import Any

from graphrewrite.testing.generation.sequences import EQUATION, Recipe, shape_of
from graphrewrite.types import Type

__all__ = ["equations"]

_LETTERS = "ijklmnop"
_SHARED, _GIVEN, _REPEATED = 0.6, 0.6, 0.1
"""How often a letter of a further operand is one of those before, is given as a result, and is there twice at once."""


def equations() -> Iterator[Recipe]:
    """Yield recipes for equations: of one operand, and of two of which the second has some number of axes.

    Examples
    --------
    >>> from graphrewrite import Tensor
    >>> recipe = list(equations())[2]
    >>> recipe.name, recipe.make(Tensor("f32", (2, 3)), random.Random(9))
    ('an equation with 2 axes', 'ij,ik->kj')
    """
    yield Recipe("an equation", partial(_equation, ()), EQUATION)
    for rank in (1, 2, 3):
        yield Recipe(f"an equation with {rank} axes", partial(_equation, (rank,)), EQUATION)


def _equation(others: tuple[int, ...], kind: Type | None, rng: random.Random) -> Any:
    """Letters for the axes of each operand, and some of all of these for the result."""
    words = [_word(len(shape_of(kind)), "", rng)]
    for rank in others:
        words.append(_word(rank, "".join(words), rng))
    met = list(dict.fromkeys("".join(words)))
    rng.shuffle(met)
    return f"{','.join(words)}->{''.join(letter for letter in met if rng.random() < _GIVEN)}"


def _word(count: int, there: str, rng: random.Random) -> str:
    """As many letters, some of them those that are there."""
    found = ""
    for _ in range(count):
        if found and rng.random() < _REPEATED:
            found += rng.choice(found)
            continue
        shared = sorted(set(there) - set(found))
        new = [letter for letter in _LETTERS if letter not in there + found]
        found += rng.choice(shared) if shared and rng.random() < _SHARED else new[0]
    return found
