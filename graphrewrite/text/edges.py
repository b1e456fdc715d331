"""What a node reads, sorted out: operands, what it comes after, and edges that are neither."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

__all__ = ["Reads", "by_name", "reads_of", "slots_of"]


class Reads(NamedTuple):
    """The edges into a node.

    Attributes
    ----------
    operands : tuple of (source, result)
        In order.
    controls : tuple of (source, kind)
        What the node comes after, by name.
    others : tuple of (source, data)
        Edges of another form, by name; where there are some with slots, all edges with slots are here.
    """

    operands: tuple[tuple[Any, int], ...]
    controls: tuple[tuple[Any, str], ...]
    others: tuple[tuple[Any, dict[str, Any]], ...]


_SEQUENCES = (tuple, list)


def slots_of(data: Mapping[str, Any]) -> tuple[tuple[int, int], ...] | None:
    """Return the slots of an edge as pairs of numbers, or None where it has none of that form.

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
    """Sort out the edges into a node.

    Parameters
    ----------
    sources : mapping
        The nodes that it has edges from, each with the data of the edge.

    Returns
    -------
    Reads

    Examples
    --------
    >>> reads_of({"a": {"slots": ((1, 0),)}, "b": {"slots": ((0, 0),)}, "c": {"slots": (), "kind": "control"}})
    Reads(operands=(('b', 0), ('a', 0)), controls=(('c', 'control'),), others=())
    """
    found: dict[int, tuple[Any, int]] = {}
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
            found[slot] = source, result
            count += 1
    if len(found) < count or (count and max(found) != count - 1) or any(slots_of(data) for _, data in others):
        whole = {id(source) for source, _ in plain}
        controls = [(source, kind) for source, kind in controls if id(source) not in whole]
        others += [(source, _sorted(data)) for source, data in plain]
        found = {}
    return Reads(
        tuple(found[slot] for slot in range(len(found))),
        tuple(sorted(controls, key=lambda each: by_name(each[0]))),
        tuple(sorted(others, key=lambda each: by_name(each[0]))),
    )


def _sorted(data: Mapping[str, Any]) -> dict[str, Any]:
    """The data of an edge, its keys and slots in one order."""
    slots = slots_of(data)
    own = data if slots is None else {**data, "slots": tuple(sorted(slots))}
    return {key: own[key] for key in sorted(own, key=by_name)}


def by_name(node: Any) -> tuple[str, str]:
    """Return a key that sorts by name, also what is no string.

    Examples
    --------
    >>> sorted(["b", 3, "a", "3"], key=by_name)
    [3, '3', 'a', 'b']
    """
    return str(node), type(node).__name__
