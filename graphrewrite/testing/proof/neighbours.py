"""Plans that differ from a plan in numbers next to its own, and in formats of extreme widths.

`vary` makes what most graphs hold. Where a limit is off by one, or a format has one bit or all that there are, the
solver shows what is wrong at once, if only such a graph is there.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import permutations
from typing import Any

from graphrewrite.op.op import Op
from graphrewrite.rewriting.pattern import Where
from graphrewrite.testing.generation.demand import Pick, Unfit, admits
from graphrewrite.testing.generation.kinds import retyped
from graphrewrite.testing.generation.mending import inferred
from graphrewrite.testing.generation.plan import Plan
from graphrewrite.testing.generation.unfolding import Capture
from graphrewrite.types import Element, FixedPoint, Type, element_kind

__all__ = ["in_whole_numbers", "neighbouring"]

_FORMATS = tuple(
    FixedPoint(*f)
    for f in (
        *((True, 8, 4), (False, 4, 0), (True, 5, -1), (False, 3, 5), (True, 1, 0), (False, 1, 1), (True, 2, 1)),
        *((True, 24, 6), (False, 31, 0), (True, 32, 16), (True, 48, 24), (True, 63, 0)),
    )
)
"""Formats with a sign and without, of one bit and of many, with a binary point inside, to the left, to the right."""
_NUMBERS = (0, 1, -1, 2, 3, 4, 5, 7, 8, -2, 16)
_WHOLE = ("i8", "i64", "i32", "u8")
"""Replacements of floats: most ops compute with whole numbers as well."""
_PLACES = 6
"""Maximum length of tuples that are permuted."""


def neighbouring(plan: Plan, pick: Pick) -> Plan:
    """Return a plan with other fixed-point formats, and attributes next to those that it has."""
    formats = dict.fromkeys(k.element for k in plan.types.values() if isinstance(k.element, FixedPoint))
    change: dict[Any, Element] = {f: pick((f, *(other for other in _FORMATS if other != f))) for f in formats}
    captured: dict[Capture, Any] = {}
    attributes = {}
    for node, need in plan.cases.items():
        attributes[node] = dict(need.attributes)
        for name, old in need.attributes.items():
            wanted = node.attributes.get(name)
            if name in node.attributes and not isinstance(wanted, Capture | Where):
                continue
            if isinstance(wanted, Capture) and wanted in captured:
                attributes[node][name] = captured[wanted]
                continue
            value = pick((old, *_near(node.op, name, old, need.types)))
            condition = wanted.condition if isinstance(wanted, Capture) else wanted
            if condition is not None and not admits(condition, value):
                raise Unfit(f"{name}: {condition.reason}")
            attributes[node][name] = value
            if isinstance(wanted, Capture):
                captured[wanted] = value
    types = {leaf: retyped(kind, element=change.get(kind.element)) for leaf, kind in plan.types.items()}
    return inferred(plan, types, attributes, pick)


def in_whole_numbers(plan: Plan, pick: Pick) -> Plan:
    """Return a plan with whole numbers instead of floats, which can be computed with."""
    change = {name: pick(_WHOLE) for name in dict.fromkeys(k.element for k in plan.types.values() if _is_float(k))}
    types = {leaf: retyped(kind, element=change.get(kind.element)) for leaf, kind in plan.types.items()}
    return inferred(plan, types, plan.attributes, pick)


def _is_float(kind: Type) -> bool:
    return element_kind(kind.element) == "float"


def _near(op: Op, name: str, value: Any, kinds: Sequence[Type]) -> list[Any]:
    values: list[Any] = []
    if isinstance(value, FixedPoint):
        values = list(_FORMATS)
    elif name in ("low", "high"):
        values = [*_NUMBERS, *_limits(kinds), *_fractions(op, name)]
    elif type(value) is int:
        values = [value + 1, value - 1, *_NUMBERS]
    elif isinstance(value, float):
        values = [0.0, 1.0, -1.0, 0.5]
    elif isinstance(value, tuple) and value and all(type(entry) is int for entry in value):
        values = [(*value[:i], entry + by, *value[i + 1 :]) for i, entry in enumerate(value) for by in (1, -1)]
        if len(value) <= _PLACES and len(set(value)) == len(value):
            values += permutations(value)
    return [other for other in dict.fromkeys(values) if other != value or type(other) is not type(value)]


def _limits(kinds: Sequence[Type]) -> list[int]:
    formats = [kind.element for kind in kinds if isinstance(kind.element, FixedPoint)]
    return [n for f in formats for n in (f.minimum, f.maximum, f.maximum + 1)]


def _fractions(op: Op, name: str) -> tuple[float, ...]:
    """Return numbers between whole ones, if the op accepts them."""
    return (0.5, 1.75) if "float" in str(op.function.__annotations__.get(name)) else ()
