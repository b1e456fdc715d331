"""Dataflow: a networkx DiGraph whose edges know operand positions, whatever its nodes mean."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, NamedTuple

import networkx as nx

from graphrewrite.errors import GraphError, did_you_mean

__all__ = ["Dataflow", "Operand", "Reader", "greatest_numbers"]


class Operand(NamedTuple):
    """Where an operand comes from: a node and which of its results."""

    node: str
    result: int = 0


class Reader(NamedTuple):
    """Who reads a value: a node, the slot of its operand, and which result it reads."""

    node: str
    slot: int
    result: int = 0


class Dataflow(nx.DiGraph):
    """A digraph with ordered operands, inputs and outputs; it knows no ops and no types.

    An edge's ``slots`` are pairs: the position of the operand, and which result of the source it is.

    Examples
    --------
    >>> d = Dataflow()
    >>> d.add_nodes_from([("x", {"type": "input"}), ("s", {"type": "sub"}), ("y", {"type": "output"})])
    >>> d.add_edge("x", "s", slots=((0, 0), (1, 0)))
    >>> d.add_edge("s", "y", slots=((0, 0),))
    >>> d.operands("s")
    (Operand(node='x', result=0), Operand(node='x', result=0))
    >>> d.in_order()
    ('x', 's', 'y')
    """

    @property
    def inputs(self) -> tuple[str, ...]:
        """Names of the inputs, in order."""
        return self._ports("input")

    @property
    def outputs(self) -> tuple[str, ...]:
        """Names of the outputs, in order."""
        return self._ports("output")

    def _ports(self, kind: str) -> tuple[str, ...]:
        found = [(data.get("index", 0), str(n), n) for n, data in self._node.items() if data.get("type") == kind]
        return tuple(n for _, _, n in sorted(found))

    def operands(self, node: str) -> tuple[Operand, ...]:
        """Return the operands of a node, in order.

        Parameters
        ----------
        node : str
            A node.

        Returns
        -------
        tuple of Operand

        Raises
        ------
        GraphError
            If slots are missing or collide, or there is no such node.
        """
        try:
            sources = self._pred[node]
        except KeyError:
            raise GraphError(f"is not in the graph{did_you_mean(str(node), map(str, self._node))}", node=node) from None
        found = {}
        count = 0
        for source, data in sources.items():
            for slot, result in data.get("slots", ()):
                found[slot] = Operand(source, result)
                count += 1
        if len(found) != count or (count and max(found) != count - 1) or (len(sources) and not count):
            raise GraphError(
                "the slots of its operands are missing or collide; number them 0, 1, … on the edges", node=node
            )
        return tuple(found[slot] for slot in range(count))

    def readers(self, node: str) -> tuple[Reader, ...]:
        """Return who reads the results of a node, by name and slot.

        Parameters
        ----------
        node : str
            A node.

        Returns
        -------
        tuple of Reader
        """
        return tuple(sorted(Reader(n, s, r) for n, data in self._succ[node].items() for s, r in data.get("slots", ())))

    def origin(self, node: str) -> tuple[str, ...]:
        """Return the nodes of the imported graph that a node comes from; itself where it does not say.

        Parameters
        ----------
        node : str
            A node.

        Returns
        -------
        tuple of str
        """
        return tuple(self._node[node].get("origin") or (node,))

    def in_order(self) -> tuple[str, ...]:
        """Return the nodes, operands first, in an order that does not depend on how the graph was built.

        Inputs come first, then each output with what it needs, in the order of the operands, then dead nodes by name.

        Returns
        -------
        tuple of str

        Raises
        ------
        GraphError
            If there is a cycle; names its nodes.
        """
        done: dict[str, None] = dict.fromkeys(self.inputs)
        outputs = self.outputs
        for root in (*outputs, *sorted(self._node, key=str)) if len(outputs) < len(self._node) else outputs:
            if root in done:
                continue
            path: dict[str, Iterator[str]] = {root: self._sources(root)}
            while path:
                node = next(reversed(path))
                source = next((s for s in path[node] if s not in done), None)
                if source is None:
                    path.popitem()
                    done[node] = None
                elif source in path:
                    cycle = [*list(path)[list(path).index(source) :], source]
                    raise GraphError(
                        f"is on a cycle {' -> '.join(cycle)}; break it or put a register on it", node=source
                    )
                else:
                    path[source] = self._sources(source)
        return (*(n for n in done if n not in set(outputs)), *outputs)

    def _sources(self, node: str) -> Iterator[str]:
        return iter([operand.node for operand in self.operands(node)])

    def upstream(self, node: str) -> frozenset[str]:
        """Return every node that a node depends on."""
        return frozenset(nx.ancestors(self, node))

    def downstream(self, node: str) -> frozenset[str]:
        """Return every node that depends on a node."""
        return frozenset(nx.descendants(self, node))

    def dead_nodes(self) -> frozenset[str]:
        """Return the nodes from which no output can be reached."""
        return self._unreached(self.outputs, self._pred)

    def independent_nodes(self) -> frozenset[str]:
        """Return the nodes that no input reaches; they need not be constant (a counter)."""
        return self._unreached(self.inputs, self._succ)

    def _unreached(self, roots: Iterable[str], neighbours: Mapping[str, Any]) -> frozenset[str]:
        seen, work = set(roots), list(roots)
        while work:
            for other in neighbours[work.pop()]:
                if other not in seen:
                    seen.add(other)
                    work.append(other)
        return frozenset(self._node.keys() - seen)


def greatest_numbers(names: Iterable[Any]) -> dict[str, int]:
    """Return the greatest number behind each stem of some names.

    Fresh names follow from it, so that they depend on the names in a graph alone and not on how it came about.

    Parameters
    ----------
    names : iterable of str
        Such as ``"relu_3"``.

    Returns
    -------
    dict of str to int

    Examples
    --------
    >>> greatest_numbers(["x", "relu_1", "relu_3", "max_pool_2"])
    {'relu': 3, 'max_pool': 2}
    """
    greatest: dict[str, int] = {}
    for name in names:
        stem, _, number = str(name).rpartition("_")
        if number.isdecimal() and greatest.get(stem, 0) < (count := int(number)):
            greatest[stem] = count
    return greatest
