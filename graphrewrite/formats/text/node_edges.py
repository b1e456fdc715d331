"""The edges into a node, sorted by kind: operands, control edges, and others."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

__all__ = ["Reads", "by_name", "reads_of", "slots_of"]


class Reads(NamedTuple):
    """The edges into a node.

    Attributes
    ----------
    operands : tuple of (source, result)
        In the order of slots.
    controls : tuple of (source, kind)
        Control edges, sorted by name.
    others : tuple of (source, data)
        Edges of any other form, sorted by name; if slots are inconsistent, all edges with slots.
    """

    operands: tuple[tuple[Any, int], ...]
    controls: tuple[tuple[Any, str], ...]
    others: tuple[tuple[Any, dict[str, Any]], ...]


_SEQUENCES = (tuple, list)


def slots_of(data: Mapping[str, Any]) -> tuple[tuple[int, int], ...] | None:
    """Return the slots of an edge as pairs of numbers, or None if they do not have that form.

    Examples
    --------
    >>> slots_of({"slots": [[1, 0]]}), slots_of({"slots": 3}), slots_of({})
    (((1, 0),), None, None)
    """
    slots = data.get("slots")
    if not isinstance(slots, _SEQUENCES):
        return None
    for pair in slots:
        if not isinstance(pair, _SEQUENCES) or len(pair) != 2:
            return None
        slot, result = pair
        if type(slot) is not int or type(result) is not int or slot < 0 or result < 0:
            return None
    return tuple([(slot, result) for slot, result in slots])


def reads_of(sources: Mapping[Any, Mapping[str, Any]]) -> Reads:
    """Sort the edges into a node by kind.

    Examples
    --------
    >>> reads_of({"a": {"slots": ((1, 0),)}, "b": {"slots": ((0, 0),)}, "c": {"slots": (), "kind": "control"}})
    Reads(operands=(('b', 0), ('a', 0)), controls=(('c', 'control'),), others=())
    """
    operands: dict[int, tuple[Any, int]] = {}
    count = 0
    controls, plain, others = [], [], []
    for source, data in sources.items():
        slots, kind = slots_of(data), data.get("kind")
        is_known = len(data) == ("slots" in data) + ("kind" in data) and (type(kind) is str or "kind" not in data)
        if slots is None or not is_known or not (slots or kind is not None):
            others.append((source, _sorted(data)))
            continue
        if slots:
            plain.append((source, data))
        if kind is not None:
            controls.append((source, kind))
        for slot, result in slots:
            operands[slot] = source, result
            count += 1
    # Slots that collide or leave gaps are no list of operands: all these edges are then printed with their data.
    if len(operands) < count or (count and max(operands) != count - 1) or any(slots_of(data) for _, data in others):
        whole = {id(source) for source, _ in plain}
        controls = [(source, kind) for source, kind in controls if id(source) not in whole]
        others += [(source, _sorted(data)) for source, data in plain]
        operands = {}
    return Reads(
        tuple(operands[slot] for slot in range(len(operands))),
        tuple(sorted(controls, key=lambda each: by_name(each[0]))),
        tuple(sorted(others, key=lambda each: by_name(each[0]))),
    )


def _sorted(data: Mapping[str, Any]) -> dict[str, Any]:
    """Return the data of an edge with sorted keys and slots."""
    slots = slots_of(data)
    own = data if slots is None else {**data, "slots": tuple(sorted(slots))}
    return {key: own[key] for key in sorted(own, key=by_name)}


def by_name(node: Any) -> tuple[str, str]:
    """Return a sort key for node names of any type.

    Examples
    --------
    >>> sorted(["b", 3, "a", "3"], key=by_name)
    [3, '3', 'a', 'b']
    """
    return str(node), type(node).__name__
