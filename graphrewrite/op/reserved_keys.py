"""Reserved keys: those of a node's data that are not attributes of its op."""

from __future__ import annotations

from collections.abc import Container, Mapping
from typing import Any

__all__ = ["RESERVED", "RESERVED_ANNOTATIONS", "attributes_in"]

RESERVED_ANNOTATIONS = frozenset({"backend", "implementation", "operator", "shared", "use_kernel"})
"""Annotations of nodes of any op: the backend, the graph or kernel that implements it, the operator that it shares with
other nodes, and the constant or placeholder of a module that it stands for."""

RESERVED = frozenset({"type", "result", "origin"}) | RESERVED_ANNOTATIONS
"""All keys that are not attributes of an op."""


def attributes_in(data: Mapping[str, Any], known: Container[str] = ()) -> dict[str, Any]:
    """Return the attributes of a node's op from the node's data.

    Parameters
    ----------
    known : container of str
        Attributes of the op: one of them may have a reserved key, such as the backend of a transfer.

    Examples
    --------
    >>> attributes_in({"type": "clip", "low": 0, "origin": (), "backend": "dsp"})
    {'low': 0}
    >>> attributes_in({"type": "transfer", "backend": "dsp"}, {"backend"})
    {'backend': 'dsp'}
    """
    return {key: value for key, value in data.items() if key not in RESERVED or key in known}
