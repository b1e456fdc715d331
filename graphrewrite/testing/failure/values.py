"""The values on the edges of a small graph, and how they are shown."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from graphrewrite.errors import GraphRewriteError
from graphrewrite.execution.evaluator import evaluate_nodes
from graphrewrite.execution.sequence import batch_sizes, evaluate_sequence, has_batch
from graphrewrite.formats.text import format_attribute
from graphrewrite.graph import Graph
from graphrewrite.graph.dataflow import Operand
from graphrewrite.graph.value import Value
from graphrewrite.types import FixedPoint, unboxed

__all__ = ["NO_VALUES", "Values", "as_reals", "evaluated", "is_batched", "result_count", "shown"]

_SHORT = 28
"""Longer values are abbreviated."""
_LONG = 100
"""So are longer texts of objects."""


@dataclass(frozen=True)
class Values:
    """The values of the nodes of a graph.

    Attributes
    ----------
    arrays : dict of Operand to ndarray
        Batch first.
    failed : dict of str to str
        Why a node could not be evaluated.
    """

    arrays: Mapping[Operand, np.ndarray]
    failed: Mapping[str, str]


NO_VALUES = Values({}, {})
"""Values of a graph that cannot be evaluated, or that has no inputs."""


def evaluated(graph: Any, inputs: Mapping[str, np.ndarray], cycles: int | None = None) -> Values:
    r"""Return every result of every node that can be evaluated, and errors of the nodes that fail first.

    Parameters
    ----------
    cycles : int, optional
        For a graph with state: how many cycles of a sequence, of which each value has a row.

    Examples
    --------
    >>> g = Graph.parse("graph g\nx = input() : f32[N]\na = neg(x)\ny = output(a)")
    >>> {str(at.node): array.tolist() for at, array in evaluated(g, {"x": np.float32([1])}).arrays.items()}
    {'x': [1.0], 'a': [-1.0], 'y': [-1.0]}
    """
    if not isinstance(graph, Graph) or not set(graph.inputs) <= set(inputs):
        return NO_VALUES
    inputs = {name: inputs[name] for name in graph.inputs}
    try:
        order = graph.in_order()
        probed = graph.copy()
        probes = {Operand(n, r): n for n in order for r in range(result_count(graph, n))}
        for at in probes:
            if at.result:  # an evaluation returns the first result of a node; the others need an output
                probes[at] = probed.output(probed.fresh("probe"), Value(probed, *at))
    except GraphRewriteError:  # a malformed graph is shown without values
        return NO_VALUES
    with np.errstate(all="ignore"):
        try:
            values = _nodes(probed, inputs, probes.values(), cycles)
            return Values({at: values[probe] for at, probe in probes.items()}, {})
        except GraphRewriteError:
            return _one_by_one(probed, inputs, probes, cycles)


def result_count(graph: Graph, node: str) -> int:
    """Return the number of results of a node, at least 1."""
    result = graph.nodes[node].get("result")
    return max(len(result), 1) if isinstance(result, tuple) else 1


def _nodes(
    graph: Graph, inputs: Mapping[str, np.ndarray], nodes: Iterable[str], cycles: int | None
) -> dict[str, np.ndarray]:
    if cycles is None:
        return evaluate_nodes(graph, inputs, nodes)
    return evaluate_sequence(graph, inputs, nodes, cycles=cycles)


def _one_by_one(
    graph: Graph, inputs: Mapping[str, np.ndarray], probes: Mapping[Operand, str], cycles: int | None
) -> Values:
    arrays: dict[Operand, np.ndarray] = {}
    failed: dict[str, str] = {}
    for at, probe in probes.items():
        if any(source in failed for source in graph.pred[at.node]):
            failed[at.node] = "reads what could not be evaluated"
            continue
        try:
            arrays[at] = _nodes(graph, inputs, [probe], cycles)[probe]
        except GraphRewriteError as error:
            failed[at.node] = str(error)
    return Values(arrays, failed)


def is_batched(graph: Graph, at: Operand) -> bool:
    """Tell whether the first axis of a value is that of the batch."""
    kind = graph.result_type(*at) if graph.nodes[at.node].get("type") != "output" else _read_type(graph, at.node)
    return has_batch(kind, batch_sizes(graph))


def _read_type(graph: Graph, output: str) -> Any:
    return graph.result_type(*graph.operands(output)[0])


def _number(entry: Any) -> str:
    """Return an array, or an entry of one, in the shortest digits."""
    return format_attribute(np.asarray(entry)[()])


def shown(array: Any, *, batched: bool = False) -> str:
    """Return a value as text: in full if it is small, else its beginning and the number of entries.

    Parameters
    ----------
    batched : bool
        Whether its first axis is a batch of one, which is not shown.

    Examples
    --------
    >>> shown(np.float32([[0.1, -0.0]]), batched=True), shown(np.arange(20)), shown(np.float32([3]), batched=True)
    ('[0.1, -0.0]', '[0, 1, 2, 3, 4, 5, … 20 values]', '3.0')
    """
    if not isinstance(array, np.ndarray | np.generic) or array.dtype == object:  # no tensor
        text = repr(unboxed(array))
        return text if len(text) <= _LONG else f"{text[:_LONG]}…"
    array = np.asarray(array)
    array = array[0] if batched and array.ndim and len(array) == 1 else array
    if array.size <= _SHORT:
        text = _number(array)
        if len(text) <= _SHORT:
            return text
    begin: list[str] = []
    for entry in array.flat:
        if sum(map(len, begin)) + 2 * len(begin) + len(_number(entry)) > _SHORT - 12:
            break
        begin.append(_number(entry))
    return f"[{', '.join(begin)}, … {array.size} values]"


def as_reals(array: np.ndarray, kind: Any) -> np.ndarray:
    """Return an array as real numbers: mantissas of a fixed-point format are scaled."""
    element = getattr(kind, "element", None)
    return array * 2.0**-element.fraction if isinstance(element, FixedPoint) else array
