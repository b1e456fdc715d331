"""A node as evaluation sees it: its op, its attributes and where its operands come from."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from graphrewrite.errors import EvaluationError, GraphError, TypeMismatchError
from graphrewrite.graph import Graph, Operand
from graphrewrite.marks import attributes_in
from graphrewrite.op import constant, output
from graphrewrite.op.axes import Arrangement
from graphrewrite.op.op import Op
from graphrewrite.types import Tensor, Type, element_dtype, hold

__all__ = ["Call", "Values", "constant_value"]

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
    arrangement : Arrangement, optional
        Transposes around the op's function, where the axes lie in another order.
    """

    node: str
    op: Op
    attributes: Mapping[str, Any]
    operands: tuple[Operand, ...]
    results: tuple[Type, ...]
    arrangement: Arrangement | None = None

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
        data, op = graph.nodes[node], graph.op(node)
        stated = data.get("result", ())
        results = stated if isinstance(stated, tuple) else (stated,)
        operands = graph.operands(node)
        arrangement = None if op.axes is None else _arrangement(graph, node, op, operands)
        attributes = {**op.attributes, **attributes_in(data, op.attributes)}
        return cls(node, op, attributes, operands, results, arrangement)

    @cached_property
    def plain(self) -> np.dtype | None:
        """The dtype of the one result, if an array of it is held as it is."""
        plain = len(self.results) == 1 and self.results[0].element in ("f32", "f64")
        return element_dtype(self.results[0].element) if plain else None

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
            results = self.op.compute(arrays, self.attributes, self.arrangement)
            if self.op is not output and (self.plain is None or results[0].dtype != self.plain or len(results) > 1):
                results = tuple(self._held(i, array) for i, array in enumerate(results))
        except GraphError:
            raise
        except Exception as error:
            shapes = ", ".join(f"{a.dtype}{list(a.shape)}" for a in arrays)
            raise EvaluationError(f"{self.op.name}({shapes}) failed: {error}", node=self.node) from error
        values[self.node] = results

    def _held(self, result: int, array: np.ndarray) -> np.ndarray:
        """The result as its type holds it: in its dtype, in which an index, for one, is not computed."""
        if result >= len(self.results):
            raise GraphError("has no result type", node=self.node)
        return hold(self.results[result].element, array)


def constant_value(graph: Graph, node: str) -> np.ndarray | None:
    """Return the value of a constant, as its call gives it; None of any other node, and of one that needs its call.

    Parameters
    ----------
    graph : Graph
        The graph.
    node : str
        One of its nodes, of a known op.

    Returns
    -------
    ndarray or None
    """
    data = graph.nodes[node]
    if data.get("type") != "constant" or graph.op(node) is not constant or not isinstance(data.get("result"), Tensor):
        return None
    value = data.get("value")
    plain = isinstance(value, np.ndarray) and attributes_in(data).keys() == {"value"}
    return hold(data["result"].element, value) if plain else None


def _arrangement(graph: Graph, node: str, op: Op, operands: tuple[Operand, ...]) -> Arrangement | None:
    stated = [graph.nodes[source].get("result") for source, _ in operands]
    types = [found[o.result] if isinstance(found, tuple) else found for found, o in zip(stated, operands, strict=True)]
    try:
        return None if None in types else op.arrangement(types)
    except TypeMismatchError as error:
        raise EvaluationError(str(error), node=node) from error
