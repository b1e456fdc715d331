"""What a graph can be asked that modules above it answer; each is loaded when it is asked for."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

import networkx as nx

from graphrewrite.op.op import Op

if TYPE_CHECKING:
    from graphrewrite.graph import Graph

__all__ = ["Composed"]


class Composed:
    """Mixin of graphs: methods that delegate to the module of their subject."""

    def __eq__(self, other: object) -> bool:
        """Whether both have the same nodes, data, operands and graph attributes."""
        from graphrewrite.graph import Graph
        from graphrewrite.text import fingerprint

        return isinstance(self, Graph) and isinstance(other, Graph) and fingerprint(self) == fingerprint(other)

    __hash__ = nx.DiGraph.__hash__  # graphs are mutable: hashed by identity, as networkx does

    @classmethod
    def parse(cls, text: str, *, ops: Iterable[Op] = ()) -> Graph:
        """Return the graph that a text form writes; see `graphrewrite.parse.parse`."""
        from graphrewrite.parse import parse

        return parse(text, ops=ops)
