"""Keys of a node's data: structural ones, attributes of its op, and annotations, which are all others."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from graphrewrite.op.signature import Signature

__all__ = [
    "RESERVED",
    "RESERVED_ANNOTATIONS",
    "STRUCTURAL",
    "annotations_in",
    "attributes_in",
    "inherited",
    "is_attribute",
    "is_other_name",
    "marks_in",
]

RESERVED_ANNOTATIONS = frozenset({"backend", "implementation", "operator", "shared", "use_kernel"})
"""Annotations of nodes of any op: the backend, the graph or kernel that implements it, the operator that it shares with
other nodes, and the constant or placeholder of a module that it stands for."""

OF_THE_OP = frozenset({"implementation", "use_kernel"})
"""Reserved annotations that say something of a node's op; to a node of another op they do not apply."""

OF_THE_NODE = frozenset({"operator", "shared"})
"""Reserved annotations that tie a node to others; a rule that makes a new node cannot know that it still fits them."""

STRUCTURAL = frozenset({"type", "result", "origin"})
"""Keys that every node may have."""

RESERVED = STRUCTURAL | RESERVED_ANNOTATIONS | {"annotations"}
"""All keys that are not attributes of an op; ``annotations`` is a keyword for those of a new node."""


def is_attribute(key: Any, op: Signature | None) -> bool:
    """Tell whether a key of a node's data is an attribute of the op; an unknown op has all that are not reserved.

    Examples
    --------
    >>> from graphrewrite import op
    >>> is_attribute("low", op.clip), is_attribute("latency", op.clip), is_attribute("latency", None)
    (True, False, True)
    """
    return key not in RESERVED if op is None or op.any_attributes else key in op.attributes


def is_other_name(key: Any, op: Signature | None) -> bool:
    """Tell whether a key is another name of an attribute of the op: as an annotation it would be taken for that.

    Examples
    --------
    >>> from graphrewrite import op
    >>> is_other_name("stride", op.conv), is_other_name("strides", op.conv), is_other_name("stride", op.relu)
    (True, False, False)
    """
    return op is not None and op.canonical_name(key) != key


def attributes_in(data: Mapping[Any, Any], op: Signature | None) -> dict[str, Any]:
    """Return the attributes of a node's op from the node's data.

    Parameters
    ----------
    op : Op, optional
        The node's op; None if it is unknown.

    Examples
    --------
    >>> from graphrewrite import op
    >>> attributes_in({"type": "clip", "low": 0, "origin": (), "backend": "dsp", "latency": 3}, op.clip)
    {'low': 0}
    >>> attributes_in({"type": "transfer", "backend": "dsp"}, op.transfer)
    {'backend': 'dsp'}
    """
    if op is None or op.any_attributes:
        return {key: value for key, value in data.items() if key not in RESERVED}
    known = op.attributes
    return {key: value for key, value in data.items() if key in known}


def annotations_in(data: Mapping[Any, Any], op: Signature | None) -> dict[Any, Any]:
    """Return the annotations of a node from its data: all that is neither structural nor an attribute of its op.

    Parameters
    ----------
    op : Op, optional
        The node's op; None if it is unknown.

    Examples
    --------
    >>> from graphrewrite import op
    >>> annotations_in({"type": "clip", "low": 0, "origin": (), "backend": "dsp", "latency": 3}, op.clip)
    {'backend': 'dsp', 'latency': 3}
    """
    if op is None or op.any_attributes:
        return {key: value for key, value in data.items() if key not in STRUCTURAL and key in RESERVED}
    known = op.attributes
    if not data.keys() - STRUCTURAL - known.keys():  # as most nodes
        return {}
    return {key: value for key, value in data.items() if key not in STRUCTURAL and key not in known}


def marks_in(data: Mapping[Any, Any], op: Signature | None) -> dict[str, Any]:
    """Return the reserved annotations of a node: what they say makes it another node than one of equal attributes.

    Examples
    --------
    >>> from graphrewrite import op
    >>> marks_in({"type": "clip", "low": 0, "backend": "dsp", "latency": 3}, op.clip)
    {'backend': 'dsp'}
    """
    return {key: data[key] for key in RESERVED_ANNOTATIONS & data.keys() if not is_attribute(key, op)}


def inherited(data: Mapping[Any, Any], op: Signature | None, heir: Signature) -> dict[Any, Any]:
    """Return the annotations of a node that a new node takes over: all that apply to it.

    Those of its op go only to a node of the same op, those that tie it to other nodes to none. None becomes an
    attribute of the new op, or has another name of one.

    Parameters
    ----------
    op : Op, optional
        The node's op; None if it is unknown.
    heir : Op
        The op of the new node.

    Examples
    --------
    >>> from graphrewrite import op
    >>> data = {"type": "relu", "origin": (), "backend": "dsp", "implementation": "fast", "latency": 3, "low": 1}
    >>> inherited(data, op.relu, op.relu)
    {'backend': 'dsp', 'implementation': 'fast', 'latency': 3, 'low': 1}
    >>> inherited(data, op.relu, op.clip)
    {'backend': 'dsp', 'latency': 3}
    """
    is_same = op is not None and op.name == heir.name
    return {
        key: value
        for key, value in annotations_in(data, op).items()
        if key not in OF_THE_NODE
        and not (is_attribute(key, heir) or is_other_name(key, heir))
        and (is_same or key not in OF_THE_OP)
    }
