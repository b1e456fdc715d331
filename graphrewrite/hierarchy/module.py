"""Module: named graphs that share constants and placeholders, and may be nodes of each other."""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Iterator, MutableMapping
from copy import deepcopy
from typing import Any, Self

import networkx as nx
import numpy as np

from graphrewrite.errors import GraphError, UnknownGraphError, did_you_mean
from graphrewrite.graph import Graph
from graphrewrite.graph.methods import ModuleMethods
from graphrewrite.hierarchy.graph_ops import GraphOp, nested_ops
from graphrewrite.hierarchy.membership import admit, rebind
from graphrewrite.hierarchy.sharing import Sharing
from graphrewrite.types import Type, handed_over

__all__ = ["Module"]


class Module(ModuleMethods, Sharing, MutableMapping[str, Graph]):
    """A library of named graphs that use each other and share constants.

    A graph of a module can be a node of another one (`op`), a node can name the graph that implements it (annotation
    ``implementation``), and all graphs can use the module's constants and placeholders. A graph's name is its key.

    Parameters
    ----------
    name : str
        Name of the module.
    **attributes
        Attributes of the module.

    Examples
    --------
    >>> from graphrewrite import Tensor, evaluate, op
    >>> module = Module("net")
    >>> w = module.constant("w", np.float32([[1, 2], [3, 4]]))
    >>> block = module.add_graph("block")
    >>> _ = block.output("y", op.relu(op.linear(block.input("x", Tensor("f32", ("N", 2))), w.on(block))))
    >>> main = module.add_graph("main")
    >>> x = main.input("x", Tensor("f32", ("N", 2)))
    >>> _ = main.output("y", module.op("block")(module.op("block")(x)))
    >>> evaluate(main, {"x": [[1, -1]]})["y"].tolist()
    [[0.0, 0.0]]
    >>> module
    <Module 'net': 2 graphs, 1 constant>
    """

    def __init__(self, name: str = "", **attributes: Any) -> None:
        self.name = name
        self.attributes: dict[str, Any] = attributes
        self._graphs: dict[str, Graph] = {}
        self._ops: dict[str, GraphOp] = {}
        self._constants: dict[str, np.ndarray] = {}
        self._types: dict[str, Type] = {}

    # ------------------------------------------------------------------ graphs

    def add_graph(self, name: str, **attributes: Any) -> Graph:
        """Add an empty graph and return it.

        Parameters
        ----------
        name : str
            A name that no graph of the module has.
        **attributes
            Attributes of the graph.
        """
        if name in self:
            raise GraphError(f"the module {self.name!r} already has a graph {name!r}; choose another name")
        self[name] = Graph(**attributes)  # checks the name and gives it to the graph
        return self._graphs[name]

    def graph(self, name: str, **attributes: Any) -> Graph:
        """Add an empty graph: the deprecated name of `add_graph`."""
        warnings.warn("Module.graph is called Module.add_graph now", DeprecationWarning, stacklevel=2)
        return self.add_graph(name, **attributes)

    def op(self, name: str) -> GraphOp:
        """Return a graph of the module as an op.

        Parameters
        ----------
        name : str
            Name of a graph.

        Returns
        -------
        GraphOp
            The same object on each call.
        """
        _ = self[name]
        if name not in self._ops:
            self._ops[name] = GraphOp(name, self)
        return self._ops[name]

    def implementation(self, graph: str, node: str) -> Graph | None:
        """Return the graph that a node's annotation ``implementation`` names.

        Parameters
        ----------
        graph : str
            Name of a graph.
        node : str
            A node of it.

        Returns
        -------
        Graph or None
            None if the node has no annotation ``implementation``, or the module does not have that graph.
        """
        owner = self[graph]
        owner.value(node)
        return self._graphs.get(owner.nodes[node].get("implementation", ""))

    def referenced(self, roots: str | Iterable[str] = ("main",)) -> tuple[str, ...]:
        """Return the names of graphs and of all graphs that they use, directly or through others.

        Parameters
        ----------
        roots : str or iterable of str
            Names of graphs.

        Returns
        -------
        tuple of str
            The roots, then the graphs that nodes have as their type or implementation, in the module or not.
        """
        names = dict.fromkeys((roots,) if isinstance(roots, str) else roots)
        for name in names:
            _ = self[name]  # raises if there is no such graph
        work = list(names)
        for name in work:  # grows as it goes
            if name not in self._graphs:
                continue
            graph = self._graphs[name]
            named = {data.get("implementation") for data in graph._node.values()}
            named |= {kind for data in graph._node.values() if (kind := data.get("type")) in self._graphs}
            named |= {op.name for op in nested_ops(graph)}
            new = sorted(each for each in named if isinstance(each, str) and each not in names)
            names.update(dict.fromkeys(new))
            work += new
        return tuple(names)

    def collect(self, roots: str | Iterable[str] = ("main",)) -> Self:
        """Return a copy of the module without unreferenced graphs; constants and placeholders stay.

        Parameters
        ----------
        roots : str or iterable of str
            Names of the graphs to keep, with all graphs that they use.

        Examples
        --------
        >>> module = Module("net")
        >>> main, unused = module.add_graph("main"), module.add_graph("unused")
        >>> list(module.collect())
        ['main']
        """
        kept = set(self.referenced(roots))
        new = self.copy()
        for name in [name for name in new if name not in kept]:
            del new[name]
        return new

    # ------------------------------------------------------------------ as a mapping, and copies

    def __getitem__(self, name: str) -> Graph:
        try:
            return self._graphs[name]
        except KeyError:
            hint = did_you_mean(str(name), self._graphs)
            names = ", ".join(self._graphs) or "none"
            raise UnknownGraphError(f"the module {self.name!r} has no graph {name!r} (it has {names}){hint}") from None

    def __setitem__(self, name: str, graph: nx.DiGraph) -> None:
        """Add a graph, with the graphs and constants that it uses; the key becomes its name.

        A plain digraph is converted to a `Graph`.
        """
        admit(self, name, graph)

    def __delitem__(self, name: str) -> None:
        _ = self[name]
        del self._graphs[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._graphs)

    def __len__(self) -> int:
        return len(self._graphs)

    def __contains__(self, name: object) -> bool:
        return isinstance(name, str) and name in self._graphs

    def __eq__(self, other: object) -> bool:
        """Tell whether names, attributes, graphs, constants and placeholders are equal, in any order."""
        if not isinstance(other, Module):
            return NotImplemented
        return self._head() == other._head() and self._has_graphs_of(other)

    __hash__ = object.__hash__  # modules are mutable: hashed by identity, as graphs are

    def copy(self) -> Self:
        """Return a copy whose graphs can be changed freely; the arrays are shared."""
        new = self.__class__(self.name, **deepcopy(self.attributes))
        new._constants, new._types = dict(self._constants), dict(self._types)
        new._graphs = {name: graph.copy() for name, graph in self._graphs.items()}
        for graph in new._graphs.values():
            rebind(graph, new)
        return new

    def __copy__(self) -> Self:
        return self.copy()

    def __deepcopy__(self, memo: dict[int, Any]) -> Self:
        new = memo[id(self)] = self.__class__(self.name)
        new._constants = {name: handed_over(deepcopy(array, memo)) for name, array in self._constants.items()}
        new._types = dict(self._types)
        new.attributes = deepcopy(self.attributes, memo)
        new._graphs = deepcopy(self._graphs, memo)
        return new

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        for array in self._constants.values():
            handed_over(array)

    def __repr__(self) -> str:
        counts = {"graph": len(self), "constant": len(self._constants), "placeholder": len(self.placeholders)}
        shown = [f"{count} {what}{'' if count == 1 else 's'}" for what, count in counts.items() if count]
        return f"<Module {self.name!r}: {', '.join(shown) or 'empty'}>"
