"""Keys of a node's data that are no attributes of its op."""

from __future__ import annotations

from collections.abc import Container, Mapping
from typing import Any

__all__ = ["MARKS", "RESERVED", "attributes_in"]

MARKS = frozenset({"backend", "implementation", "operator", "shared", "use_kernel"})
"""What a node of any op may say of itself: where it runs, the graph or the kernel that implements it, the operator that
it has in common with other nodes, and the constant or placeholder of a module that it stands for."""

RESERVED = frozenset({"type", "result", "origin"}) | MARKS
"""All keys that are no attributes of an op."""


def attributes_in(data: Mapping[str, Any], known: Container[str] = ()) -> dict[str, Any]:
    """Return what of a node's data are attributes of its op.

    Parameters
    ----------
    data : mapping
        Of the node.
    known : container of str
        Attributes of the op: one of them may be a mark as well, as the backend to which a transfer moves values.

    Returns
    -------
    dict

    Examples
    --------
    >>> attributes_in({"type": "clip", "low": 0, "origin": (), "backend": "dsp"})
    {'low': 0}
    >>> attributes_in({"type": "transfer", "backend": "dsp"}, {"backend"})
    {'backend': 'dsp'}
    """
    return {key: value for key, value in data.items() if key not in RESERVED or key in known}
