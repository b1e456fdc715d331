"""A node as evaluation sees it: its op, its attributes and where its operands come from."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from graphrewrite.errors import EvaluationError, GraphError
from graphrewrite.graph import Graph, Operand
from graphrewrite.op import output
from graphrewrite.op.op import Op
from graphrewrite.types import FixedPoint, Type

__all__ = ["Call", "Values"]

Values = dict[str, tuple[np.ndarray, ...]]
"""The results of each node, batch first."""


@dataclass(frozen=True)
class Call:
    """What a node computes, independent of what becomes of the graph.

    Attributes
    ----------
    node : str
        Its name.
    op : Op
        Its op.
    attributes : mapping
        Its attributes, defaults filled in.
    operands : tuple of Operand
        Where its operands come from.
    results : tuple of Type
        Types of its results; empty if none are stated.
    """

    node: str
    op: Op
    attributes: Mapping[str, Any]
    operands: tuple[Operand, ...]
    results: tuple[Type, ...]

    @classmethod
    def of(cls, graph: Graph, node: str) -> Call:
        """Return what a node of a graph computes.

        Parameters
        ----------
        graph : Graph
            The graph.
        node : str
            One of its nodes, of a known op.

        Returns
        -------
        Call
        """
        stated = graph.nodes[node].get("result", ())
        results = stated if isinstance(stated, tuple) else (stated,)
        return cls(node, graph.op(node), graph.attributes(node), graph.operands(node), results)

    def run(self, values: Values) -> None:
        """Compute the node by its op's function.

        Parameters
        ----------
        values : dict
            Holds the operands; takes the results.

        Raises
        ------
        EvaluationError
            Naming the node, the op and the operands' shapes.
        """
        arrays = [values[o.node][o.result] for o in self.operands]
        try:
            found = self.op.function(*arrays, **self.attributes)
        except Exception as error:
            shapes = ", ".join(f"{a.dtype}{list(a.shape)}" for a in arrays)
            raise EvaluationError(f"{self.op.name}({shapes}) failed: {error}", node=self.node) from error
        results = found if isinstance(found, tuple) else (found,)
        if self.op is not output:
            results = tuple(self._held(i, array) for i, array in enumerate(results))
        values[self.node] = results

    def _held(self, result: int, array: np.ndarray) -> np.ndarray:
        """Mantissas in the dtype of their format, in which an index, for one, is not computed."""
        if result >= len(self.results):
            raise GraphError("has no result type", node=self.node)
        element = self.results[result].element
        return array.astype(element.dtype, copy=False) if isinstance(element, FixedPoint) else array
