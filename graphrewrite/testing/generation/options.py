"""Values to try for an op's attributes: from annotations, defaults, documentation, and what its code compares with.

A recipe makes values of one form, such as "a tuple with one number a position, all of them 2". Which recipes an op
accepts, `graphrewrite.testing.generation.experience` finds out by asking the op.
"""

from __future__ import annotations

import enum
import inspect
import math
import random
import re
import types
import typing
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import lru_cache, partial
from typing import Any, Literal, NamedTuple, Union, get_args, get_origin

import numpy as np

from graphrewrite.op.body import Body
from graphrewrite.op.library import LIBRARY
from graphrewrite.op.op import Op
from graphrewrite.testing.generation.bodies import bodies
from graphrewrite.testing.generation.equations import equations
from graphrewrite.testing.generation.kinds import FORMATS, QUANTISED
from graphrewrite.testing.generation.sequences import Recipe, channels_of, sequences, shape_of
from graphrewrite.testing.generation.suggested import values_of
from graphrewrite.types import NAMES, USUAL_NAMES, FixedPoint, Quantised, Type

__all__ = ["mostly_given", "recipes_of"]

_GIVEN: Mapping[str, frozenset[str]] = {"squeeze": frozenset({"axes"})}
"""Attributes that have a default, and are given mostly: with it, a batch of a symbolic size is refused."""


@lru_cache(maxsize=4096)
def recipes_of(op: Op, name: str) -> tuple[Recipe, ...]:
    """Return recipes for an attribute, the simplest first.

    Examples
    --------
    >>> from graphrewrite.op import LIBRARY
    >>> [recipe.name for recipe in recipes_of(LIBRARY["arg_max"], "keep_dims")]
    ['True', 'False']
    """
    default = op.attributes[name]
    found: dict[str, Recipe] = {}
    if default is not inspect.Parameter.empty:
        found[repr(default)] = _always(default)
    for recipe in _of_hint(_hint(op, name), _Known(op, name, default)):
        found.setdefault(recipe.name, recipe)
    for value in values_of(op, name):
        found.setdefault(repr(value), _always(value))
    if op is LIBRARY.get("einsum"):
        found.update({recipe.name: recipe for recipe in equations()})
    if name in mostly_given(op):
        found[repr(default)] = found.pop(repr(default))
    return tuple(found.values())


def mostly_given(op: Op) -> frozenset[str]:
    """Return the attributes that have a default with which an op takes hardly any operand."""
    return _GIVEN.get(op.name, frozenset()) & op.attributes.keys()


class _Known(NamedTuple):
    """What is known about an attribute beside its annotation."""

    op: Op
    name: str
    default: Any

    def constants(self, kind: type) -> list[Any]:
        """Numbers or words that the op's own code holds: what it compares with is worth trying."""
        found: dict[Any, None] = {}
        for function in (self.op.infer_types, self.op.function):
            code = getattr(inspect.unwrap(function), "__code__", None)
            for held in _flat(code.co_consts if code else ()):
                if type(held) is kind and held not in found:
                    found[held] = None
        return list(found)


def _flat(held: Any) -> Iterator[Any]:
    for value in held:
        if isinstance(value, tuple | frozenset):
            yield from _flat(sorted(value, key=repr))
        else:
            yield value


def _always(value: Any) -> Recipe:
    return Recipe(repr(value), lambda kind, rng: value)


def _hint(op: Op, name: str) -> Any:
    try:
        hints = typing.get_type_hints(op.function)
    except Exception:  # an annotation that names what only a type checker sees
        return op.function.__annotations__.get(name, Any)
    return hints.get(name, Any)


def _of_hint(hint: Any, known: _Known) -> Iterator[Recipe]:
    origin, arguments = get_origin(hint), get_args(hint)
    if hint is np.ndarray or origin is np.ndarray or "_SupportsArray" in str(hint):  # numpy.typing.ArrayLike is a union
        yield from _arrays(known)
    elif origin is Literal:
        yield from map(_always, arguments)
    elif origin in (Union, types.UnionType):
        for part in sorted(arguments, key=lambda part: part is type(None)):
            yield from _of_hint(part, known)
    elif hint is type(None):
        yield _always(None)
    elif isinstance(hint, type) and issubclass(hint, enum.Enum):
        yield from map(_always, hint)
    elif hint is Body:
        yield from (Recipe(f"the graph {body.name}", _always(body).make) for body in bodies())
    elif hint is bool:
        yield from (_always(False), _always(True))
    elif hint is int:
        yield from _integers(known)
    elif hint is float:
        yield from _floats(known)
    elif hint is str:
        yield from _words(known)
    elif hint is FixedPoint:
        yield from _formats()
    elif hint is Quantised:
        yield from _quantised()
    elif (isinstance(origin, type) and issubclass(origin, Sequence)) or origin is tuple:
        yield from _sequences(arguments, known)
    else:
        yield from _unknown(known)


def _unknown(known: _Known) -> Iterator[Recipe]:
    """Without a useful annotation, the default says what kind it is; without that, everything is tried."""
    default = known.default
    if isinstance(default, tuple | list) and default:
        yield from _sequences((type(default[0]),), known)
        return
    for kind in (bool, int, float, str, FixedPoint, Quantised):
        if type(default) is kind:
            yield from _of_hint(kind, known)
            return
    yield from _integers(known)
    yield from _floats(known)
    yield from (_always(True), _always(None))
    yield from _sequences((int,), known)
    yield from _formats()
    yield from _quantised()
    yield from _words(known)
    yield from _arrays(known)


def _integers(known: _Known) -> Iterator[Recipe]:
    yield from map(_always, (1, 0, 2, -1, 3, -2, 4))
    for number in known.constants(int):
        if abs(number) <= 1 << 16:
            yield from map(_always, (number, number + 1, number - 1))
    yield Recipe("fraction", lambda kind, rng: kind.element.fraction)  # type: ignore[union-attr]  # it may raise
    yield Recipe("channels", lambda kind, rng: channels_of(kind))
    if known.default is None:  # perhaps a limit
        for name, part in (("maximum", 1), ("half the maximum", 2), ("beyond the maximum", 0.5)):
            yield Recipe(name, partial(_limit, part))


def _limit(part: float, kind: Type | None, rng: random.Random) -> int:
    if kind is None or not isinstance(kind.element, FixedPoint | Quantised):
        raise TypeError("it has no limits")
    return int(kind.element.maximum // part)


def _floats(known: _Known) -> Iterator[Recipe]:
    above = known.name.startswith("eps")  # what keeps a square root away from zero
    # Signs show what is rectified, and of numbers that lie on no grid some are rounded up and some down.
    numbers = [1.0, 0.0, 0.5, 2.0, -1.0, 0.125, 0.3, -0.5, 1.7, -2.6, *known.constants(float)]
    if isinstance(known.default, float):
        numbers += [2 * known.default, -known.default or 0.0]  # most that compare attributes mean no -0
    yield from (_always(number) for number in numbers if number >= 0 or not above)


_RARE_NAMES = frozenset(NAMES) - set(USUAL_NAMES)
_FLOATS_OF_8_BITS = tuple(name for name in NAMES if name.startswith("f8"))
_LETTERS = frozenset("NCDHWTLKOI")


def _words(known: _Known) -> Iterator[Recipe]:
    text = inspect.getdoc(known.op.function) or ""  # as its author wrote it
    lines = [line for line in text.splitlines() if known.name in line]
    listed = [
        word for line in lines for braces in re.findall(r"\{([^}]*)\}", line) for word in re.findall(r"\w+", braces)
    ]
    quoted = re.findall(r"[\"'`](\w+)[\"'`]", text)
    held = [word for word in known.constants(str) if re.fullmatch(r"[\w-]+", word)]
    documented = [
        word
        for word in dict.fromkeys((*listed, *quoted, *held))
        if word not in known.op.attributes and word not in known.op.operands and word not in _RARE_NAMES
    ]
    yield from map(_always, documented)
    said = {*documented, known.default}
    if not documented or said & set(USUAL_NAMES):
        yield from map(_always, (*USUAL_NAMES, *_FLOATS_OF_8_BITS))
    if not documented or any(isinstance(word, str) and word and set(word) <= _LETTERS for word in said):
        yield Recipe("layout", lambda kind, rng: rng.choice(_layouts(len(shape_of(kind)))))


def _layouts(rank: int) -> list[str]:
    return {2: ["NC"], 3: ["NCW", "NWC"], 4: ["NCHW", "NHWC"], 5: ["NCDHW", "NDHWC"]}[rank]


def _formats() -> Iterator[Recipe]:
    yield Recipe("own format", lambda kind, rng: _own(kind, FixedPoint))
    yield from map(_always, FORMATS)


def _quantised() -> Iterator[Recipe]:
    yield Recipe("own scale", lambda kind, rng: _own(kind, Quantised))
    yield from map(_always, QUANTISED)
    for storage in ("i8", "i4", "u8", "i16", "u16", "i32", "u32", "u4"):
        yield _always(Quantised(storage, 0.5, 1))
    for axis in (1, 0, 2):
        yield Recipe(f"scales of axis {axis}", partial(_scales, axis))


def _scales(axis: int, kind: Type | None, rng: random.Random) -> Quantised:
    count = shape_of(kind)[axis]
    return Quantised("i8", tuple(rng.choice((0.5, 0.25, 2.0)) for _ in range(int(count))), axis=axis)


def _own(kind: Type | None, wanted: type) -> Any:
    if kind is None or not isinstance(kind.element, wanted):
        raise TypeError("another element type")
    return kind.element


def _arrays(known: _Known) -> Iterator[Recipe]:
    def made(shape: Callable[[int], tuple[int, ...]], kind: Type | None, rng: random.Random) -> np.ndarray:
        sizes = shape(channels_of(kind))
        return np.array([rng.randint(-3, 3) for _ in range(math.prod(sizes))], np.int64).reshape(sizes)

    for name, shape in (
        ("row", lambda c: (c,)),
        ("two rows", lambda c: (2, c)),
        ("pair", lambda c: (2,)),
        ("square", lambda c: (c, c)),
        ("number", lambda c: ()),
        ("one row", lambda c: (1, c)),
        ("one", lambda c: (1,)),
        ("columns", lambda c: (c, 2)),
    ):
        yield Recipe(f"array of a {name}", partial(made, shape))
    for columns in (1, 2, 3, 5) if known.op.variadic else ():  # as many as there are operands
        yield Recipe(f"array of {columns} columns", partial(_columns, columns))


def _columns(count: int, kind: Type | None, rng: random.Random) -> np.ndarray:
    most = rng.choice((3, 3, 100, 0))
    return np.array([[rng.randint(-most, most) for _ in range(count)] for _ in range(rng.choice((2, 3, 1)))], np.int64)


def _sequences(arguments: Sequence[Any], known: _Known) -> Iterator[Recipe]:
    inner = arguments[0] if arguments else int
    if inner not in (int, float, str) and int not in get_args(inner) and str(inner) != "Any":
        for recipe in _of_hint(inner, known._replace(default=inspect.Parameter.empty)):
            for count in (1, 2):
                yield Recipe(f"{count} of {recipe.name}", partial(_several, recipe, count))
        return
    yield from sequences(
        inner, known.default, len(arguments) if len(arguments) > 1 and Ellipsis not in arguments else 0
    )


def _several(recipe: Recipe, count: int, kind: Type | None, rng: random.Random) -> tuple[Any, ...]:
    return tuple(recipe.make(kind, rng) for _ in range(count))
