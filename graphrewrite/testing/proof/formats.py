"""Mantissas that the format of their node has no room for: numpy holds them all the same, hardware does not."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from graphrewrite.graph import Graph
from graphrewrite.testing.proof.array import SymbolicArray
from graphrewrite.testing.proof.number import Number
from graphrewrite.types import FixedPoint

__all__ = ["overflows"]


def overflows(graph: Graph, values: Mapping[str, tuple[Any, ...]]) -> Iterator[Any]:
    r"""Yield, of each entry that may lie beyond the format of its node, the condition for that; True where it does.

    Parameters
    ----------
    values : mapping of str to tuple
        The results of nodes, as `graphrewrite.testing.proof.translation.Translation` gives them.

    Examples
    --------
    >>> import numpy as np
    >>> from graphrewrite.testing.proof.unknown import unknown_number
    >>> g = Graph.parse("graph g\nx = input() : s4f0[1]\na = relu(x)\ny = output(a)")
    >>> a = SymbolicArray(np.array([unknown_number("a", -8, 9)]), np.dtype(np.int8))
    >>> list(overflows(g, {"a": (a,)}))
    [7 < a]
    """
    for node, results in values.items():
        if node not in graph or graph.nodes[node]["type"] == "output":
            continue
        for index, array in enumerate(results):
            element = graph.result_type(node, index).element
            if not isinstance(element, FixedPoint) or not isinstance(array, SymbolicArray):
                continue
            least, most = Number.of(element.minimum), Number.of(element.maximum)
            for number in array.entries.reshape(-1):
                yield from (found for found in (most.less(number), number.less(least)) if found is not False)
