"""Evaluate a graph of any level on arrays, vectorised over the batch."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np

from graphrewrite.errors import EvaluationError, GraphRewriteError, UnknownOpError, did_you_mean
from graphrewrite.graph import Graph
from graphrewrite.types import FixedPoint, Stream, element_dtype

__all__ = ["evaluate", "evaluate_nodes"]


def evaluate(graph: Graph, inputs: Mapping[str, Any]) -> dict[str, np.ndarray]:
    r"""Return the outputs of a graph for the given inputs.

    Parameters
    ----------
    graph : Graph
        A graph of any level.
    inputs : mapping of str to array-like
        One array an input, batch first; mantissas where the type is fixed point.

    Returns
    -------
    dict of str to ndarray
        One array an output, batch first.

    Raises
    ------
    EvaluationError
        If an input is missing, surplus or of the wrong shape, an op is unknown, or an op fails.

    Examples
    --------
    >>> g = Graph.parse("graph g\nx = input() : f32[N,2]\nr = relu(x)\ny = output(r)")
    >>> evaluate(g, {"x": [[-1, 2]]})["y"].tolist()
    [[0.0, 2.0]]
    """
    return evaluate_nodes(graph, inputs, graph.outputs)


def evaluate_nodes(graph: Graph, inputs: Mapping[str, Any], nodes: Iterable[str]) -> dict[str, np.ndarray]:
    r"""Return the values of chosen nodes; a node with several results gives its first.

    Parameters
    ----------
    graph : Graph
        A graph of any level.
    inputs : mapping of str to array-like
        One array an input, batch first.
    nodes : iterable of str
        Whose values to return.

    Returns
    -------
    dict of str to ndarray

    Examples
    --------
    >>> g = Graph.parse("graph g\nx = input() : f32[N,2]\nr = relu(x)\ny = output(r)")
    >>> sorted(evaluate_nodes(g, {"x": [[-1, 2]]}, ["x", "r"]))
    ['r', 'x']
    """
    wanted = list(nodes)
    needed = set(wanted)
    order = graph.in_order()
    for node in reversed(order):
        if node in needed:
            needed.update(o.node for o in graph.operands(node))
    plan = [node for node in order if node in needed]
    _check_ops(graph, plan)
    values: dict[str, tuple[np.ndarray, ...]] = {}
    for name, array in _checked_inputs(graph, inputs, needed).items():
        values[name] = (array,)
    left = {node: sum(reader in needed for reader in graph.successors(node)) + (node in wanted) for node in plan}
    for node in plan:
        if node in values:
            continue
        operands = graph.operands(node)
        arrays = [values[o.node][o.result] for o in operands]
        op = graph.op(node)
        try:
            found = op.function(*arrays, **graph.attributes(node))
        except GraphRewriteError:
            raise
        except Exception as error:
            shapes = ", ".join(f"{a.dtype}{list(a.shape)}" for a in arrays)
            raise EvaluationError(f"{op.name}({shapes}) failed: {error}", node=node) from error
        results = found if isinstance(found, tuple) else (found,)
        values[node] = tuple(_held(graph, node, i, array) for i, array in enumerate(results))
        for source in {o.node for o in operands}:
            left[source] -= 1
            if not left[source]:
                del values[source]  # the last reader has run
    return {node: values[node][0] for node in wanted}


def _held(graph: Graph, node: str, result: int, array: np.ndarray) -> np.ndarray:
    """Mantissas in the dtype of their format, in which an index, for one, is not computed."""
    if graph.nodes[node].get("type") == "output":
        return array
    element = graph.result_type(node, result).element
    return array.astype(element.dtype, copy=False) if isinstance(element, FixedPoint) else array


def _check_ops(graph: Graph, nodes: list[str]) -> None:
    unknown = []
    for node in nodes:
        try:
            graph.op(node)
        except UnknownOpError:
            unknown.append(f"{graph.nodes[node].get('type')} ({node})")
    if unknown:
        raise UnknownOpError(
            f"no meaning is known for {', '.join(unknown)}; pass the ops as Graph(ops=[…]) or replace the nodes "
            "by rules"
        )


def _checked_inputs(graph: Graph, inputs: Mapping[str, Any], needed: set[str]) -> dict[str, np.ndarray]:
    for name in inputs:
        if name not in graph.inputs:
            raise EvaluationError(
                f"there is no input {name!r}{did_you_mean(name, graph.inputs)}; inputs are {', '.join(graph.inputs)}"
            )
    checked = {}
    for name in graph.inputs:
        if name not in inputs:
            if name in needed:
                raise EvaluationError(f"the input {name!r} is missing: {graph.result_type(name)}")
            continue
        kind = graph.result_type(name)
        array = np.asarray(inputs[name], element_dtype(kind.element))
        shape = ("N", *kind.shape) if isinstance(kind, Stream) else kind.shape
        if array.ndim != len(shape) or any(
            isinstance(d, int) and d != s for d, s in zip(shape, array.shape, strict=True)
        ):
            raise EvaluationError(f"the input {name!r} is {kind}, not an array of shape {list(array.shape)}")
        checked[name] = array
    return checked
