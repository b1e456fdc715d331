"""Shared: a constant or placeholder of a module."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from graphrewrite.errors import GraphError
from graphrewrite.graph import Graph
from graphrewrite.graph.value import Value
from graphrewrite.types import Type

if TYPE_CHECKING:
    from graphrewrite.hierarchy.module import Module

__all__ = ["Shared"]


@dataclass(frozen=True)
class Shared:
    """A constant or placeholder of a module; made by `Module.constant` and `Module.placeholder`.

    Attributes
    ----------
    module : Module
        The module.
    name : str
        Its name in the module.

    Examples
    --------
    >>> from graphrewrite import op
    >>> from graphrewrite import Module
    >>> module = Module("net")
    >>> w = module.constant("w", np.float32([1, 2]))
    >>> g, h = module.add_graph("g"), module.add_graph("h")
    >>> g.nodes[w.on(g).node]["value"] is h.nodes[w.on(h).node]["value"]
    True
    """

    module: Module
    name: str

    @property
    def value(self) -> np.ndarray | None:
        """The read-only array of a constant; None for a placeholder."""
        return self.module.constants.get(self.name)

    @property
    def type(self) -> Type:
        """The type of the constant or placeholder."""
        return self.module.type_of(self.name)

    def on(self, graph: Graph) -> Value:
        """Return its value in a graph of the module; the node is added if the graph has none for it.

        Parameters
        ----------
        graph : Graph
            A graph of the module.

        Raises
        ------
        GraphError
            If the graph is not in the module.
        """
        if not any(graph is own for own in self.module.values()):
            raise GraphError(
                f"the graph {graph.name!r} is not in the module {self.module.name!r} of {self.name!r}; "
                f"add it: module[{graph.name!r}] = graph"
            )
        kind, carried, value = ("input" if self.value is None else "constant"), self.type, self.value
        for node, data in graph.nodes(data=True):
            if data.get("shared") == self.name and data.get("type") == kind:
                return Value(graph, node)
        name = graph.fresh(self.name) if self.name in graph else self.name
        made = (
            graph.input(name, carried)
            if value is None
            else graph.constant(value, name=name, type=carried, origin=(name,))
        )
        graph.nodes[name]["shared"] = self.name
        return made

    def __repr__(self) -> str:
        kind = "placeholder" if self.value is None else "constant"
        return f"<{kind} {self.name!r} of module {self.module.name!r}: {self.type}>"
