"""Keys of a node's data that are no attributes of its op."""

from __future__ import annotations

__all__ = ["MARKS", "RESERVED"]

MARKS = frozenset({"backend", "implementation", "operator", "shared", "use_kernel"})
"""What a node of any op may say of itself: where it runs, the graph or the kernel that implements it, the operator that
it has in common with other nodes, and the constant or placeholder of a module that it stands for."""

RESERVED = frozenset({"type", "result", "origin"}) | MARKS
"""All keys that are no attributes of an op."""
