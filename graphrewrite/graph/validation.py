"""Input validation: the data of nodes and edges from outside, checked so that all other code can rely on it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from graphrewrite.errors import TypeMismatchError
from graphrewrite.graph.dataflow import PREDICATE
from graphrewrite.op.reserved_keys import RESERVED_ANNOTATIONS, STRUCTURAL, is_attribute, is_other_name
from graphrewrite.op.signature import Signature
from graphrewrite.types import Type

__all__ = ["check_annotations", "unsound_edge", "unsound_node"]

_MOST = 10**9 - 1
"""Greatest slot and result: the text form has nine digits for them."""


def unsound_node(data: Mapping[Any, Any]) -> tuple[str, str] | None:
    """Return the first invalid key of a node's data and the reason; None if the data is valid.

    Whether the node is meaningful is checked by `graphrewrite.verify`.

    Examples
    --------
    >>> unsound_node({"type": "relu"})
    >>> unsound_node({"type": ["relu"]})
    ('type', 'expected the name of an op')
    """
    if "type" in data and not isinstance(data["type"], str):
        return "type", "expected the name of an op"
    if "result" in data and not _is_result(data["result"]):
        return "result", "expected a type or a sequence of types"
    origin = data.get("origin", ())
    if not isinstance(origin, tuple | list) or not all(
        isinstance(name, str | int | float | bytes | tuple) for name in origin
    ):
        return "origin", "expected a sequence of names"
    if data.get("type") in ("input", "output") and type(data.get("index", 0)) is not int:
        return "index", "expected a number"
    for key in sorted(RESERVED_ANNOTATIONS & data.keys()):
        if not isinstance(data[key], str | int | float | None):
            return key, "expected a string or a number"
    return None


def check_annotations(annotations: Any, op: Signature | None) -> None:
    """Raise unless a value is a dictionary of annotations for a node of an op.

    Examples
    --------
    >>> from graphrewrite import op
    >>> check_annotations({"low": 3}, op.clip)
    Traceback (most recent call last):
    ...
    graphrewrite.errors.TypeMismatchError: clip: 'low' is an attribute of the op, no annotation; write low=…
    """
    name = "unknown op" if op is None else op.name
    if not isinstance(annotations, Mapping):
        raise TypeMismatchError(f"{name}: annotations is a dictionary of names and values, got {annotations!r:.60}")
    for key in annotations:
        if key in STRUCTURAL:
            raise TypeMismatchError(f"{name}: {key!r} is a reserved key of nodes, no annotation; rename it")
        if is_attribute(key, op):
            raise TypeMismatchError(f"{name}: {key!r} is an attribute of the op, no annotation; write {key}=…")
        if op is not None and is_other_name(key, op):
            raise TypeMismatchError(
                f"{name}: {key!r} is another name of the attribute {op.canonical_name(key)!r}, no annotation; "
                f"write {key}=…"
            )
    if wrong := unsound_node(annotations):
        raise TypeMismatchError(f"{name}: the annotation {wrong[0]!r} is no value for it: {wrong[1]}")


def _is_result(result: Any) -> bool:
    each = result if isinstance(result, tuple) else (result,)
    return result is None or all(isinstance(kind, Type) for kind in each)


def unsound_edge(data: Mapping[Any, Any]) -> tuple[str, str] | None:
    """Return the first invalid key of an edge's data and the reason; None if the data is valid.

    Examples
    --------
    >>> unsound_edge({"slots": ((0, 0), (1, 0))})
    >>> unsound_edge({"slots": ((0, -1),)})
    ('slots', 'expected pairs of a slot and a result, both counted from 0')
    """
    slots = data.get("slots", ())
    if not isinstance(slots, tuple) or not all(isinstance(p, tuple) and len(p) == 2 for p in slots):
        return "slots", "expected pairs of a slot and a result, both counted from 0"
    if not all(type(number) is int and number >= 0 for pair in slots for number in pair):
        return "slots", "expected pairs of a slot and a result, both counted from 0"
    if any(number > _MOST for pair in slots for number in pair):
        return "slots", f"expected slots and results up to {_MOST}"
    if not isinstance(data.get("kind", ""), str):
        return "kind", "expected a string for the kind of ordering"
    if data.get("kind") == PREDICATE and (type(data.get("result", 0)) is not int or data.get("result", 0) < 0):
        return "result", "expected a result of the predicate's node, counted from 0"
    return None
