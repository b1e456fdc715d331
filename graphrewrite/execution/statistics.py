"""Statistics of an evaluation on every edge: distributions, and errors against a reference."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import networkx as nx
import numpy as np

from graphrewrite.errors import EvaluationError, GraphRewriteError, did_you_mean
from graphrewrite.execution.distribution import Distribution, distribution_of, error_between, real_values
from graphrewrite.execution.effects import Effect, effects_recorded
from graphrewrite.execution.implementation import Implementations
from graphrewrite.execution.origin_pairing import counterparts, needed_nodes
from graphrewrite.execution.program import compile_graph
from graphrewrite.graph import Graph
from graphrewrite.graph.arguments import as_graph
from graphrewrite.hierarchy.blocks import flattened
from graphrewrite.runtime.display import Displayed
from graphrewrite.types import Element, FixedPoint, Quantised, Tensor, Type, permutation

__all__ = ["Evaluation", "evaluation"]

Edges = Mapping[tuple[str, int], Distribution]
_Pair = tuple[str, tuple[tuple[np.ndarray, Type | None], ...]]
"""Name of a node of the reference, and its results with their types."""


@dataclass(frozen=True, eq=False)
class Evaluation(Displayed, shown_by="numbers.show_evaluation"):
    """The distributions of the numbers on every edge of a graph, for some inputs.

    Attributes
    ----------
    name : str
        Name of the graph.
    frames : int
        Length of the batch.
    edges : mapping of (str, int) to Distribution
        By node and result index, operands first; an output has the distribution of its operand. Without nodes that no
        output depends on and results that are not numbers.
    reference : str
        Name of the reference; empty if there is none.
    effects : tuple of Effect
        What nodes with effects did, in order, also those in nested graphs.
    """

    name: str
    frames: int
    edges: Edges
    reference: str = ""
    effects: tuple[Effect, ...] = ()

    def __str__(self) -> str:
        return str(self.show())

    def __repr__(self) -> str:
        compared = f", compared with {self.reference}" if self.reference else ""
        return f"<Evaluation of {self.name!r}: {len(self.edges)} edges, {self.frames} frames{compared}>"


def evaluation(
    graph: Graph,
    inputs: Mapping[str, Any],
    reference: Graph | Mapping[str, Any] | None = None,
    *,
    implementations: Implementations | None = (),
) -> Evaluation:
    r"""Evaluate a graph once, and return the distributions of the numbers on every edge.

    Parameters
    ----------
    graph : Graph
        A graph of any level.
    inputs : mapping of str to array-like
        As for `graphrewrite.evaluate`.
    reference : Graph or mapping of str to array-like, optional
        Another graph, usually an earlier level of the same network, evaluated on the same inputs: as real numbers where
        it takes those and the graph takes mantissas. Nodes are paired by their origin, see
        `graphrewrite.execution.origin_pairing.counterparts`. Or real numbers by node name, of this graph
        or of the model that it was lowered from.
    implementations : iterable of Implementation, or mapping of str to Graph, Op or Component
        As for `graphrewrite.evaluate`, of the reference as well.

    Raises
    ------
    EvaluationError
        As for `graphrewrite.evaluate`; or if the reference names an unknown node.

    Examples
    --------
    >>> g = Graph.parse('''graph g
    ... x = input() : s8f4[N,2]
    ... r = requantise(x, shift=2, element=u4f2)
    ... y = output(r)''')
    >>> stats = evaluation(g, {"x": [[6, 10], [-1, 127]]}, reference={"r": [[0.375, 0.625], [0, 7.9375]]})
    >>> stats
    <Evaluation of 'g': 3 edges, 2 frames, compared with arrays>
    >>> stats.edges["r", 0].high, stats.edges["r", 0].clipped, stats.edges["r", 0].error.largest
    (3.75, 1, 4.1875)
    """
    graph = as_graph(graph, "that can be evaluated")
    needed = needed_nodes(graph)
    pairs, reference_name = _reference(graph, inputs, reference, implementations)
    nodes = None if graph.outputs else needed
    program = compile_graph(graph, nodes, instructions=False, implementations=implementations)
    frames, distributions = 0, {}
    with effects_recorded() as effects:
        for node, results in program.watch(inputs):
            if node in program.inputs and results[0].ndim:
                frames = len(results[0])
            for result, array in enumerate(results):
                if array.dtype.kind in "biuf":
                    kind = _type(graph, node, result)
                    edge = _distribution(graph.nodes[node], kind, array)
                    distributions[node, result] = (
                        _compared(edge, kind, array, result, pairs[node]) if node in pairs else edge
                    )
    positions = {node: index for index, node in enumerate(needed)}
    edges = {key: distributions[key] for key in sorted(distributions, key=lambda key: (positions.get(key[0], -1), key))}
    return Evaluation(graph.name, frames, edges, reference_name, tuple(effects))


def _type(graph: Graph, node: str, result: int) -> Type | None:
    if graph.nodes[node].get("type") == "output":
        node, result = graph.operands(node)[0]
    try:
        return graph.result_type(node, result)
    except GraphRewriteError:  # graphs without types can be evaluated, too
        return None


def _element(kind: Type | None) -> Element | None:
    return None if kind is None else kind.element


def _distribution(data: Mapping[str, Any], kind: Type | None, array: np.ndarray) -> Distribution:
    element, labels = _element(kind), {"kind": str(data.get("type")), "type": "" if kind is None else str(kind)}
    # An op that quantises floats states the number format as attribute; its type is that of the floats.
    stated = data.get("element") if array.dtype.kind == "f" and data.get("fractions") is None else None
    return distribution_of(array, element, format=stated if isinstance(stated, FixedPoint) else None, **labels)


def _compared(
    distribution: Distribution, kind: Type | None, array: np.ndarray, result: int, pair: _Pair
) -> Distribution:
    """Return a distribution with its error, if the reference has numbers of this shape."""
    their_name, results = pair
    result = 0 if len(results) == 1 else result
    if result >= len(results):
        return distribution
    theirs, their_kind = results[result]
    if theirs.dtype.kind not in "biuf":
        return distribution
    values, wanted = real_values(array, _element(kind)), real_values(theirs, _element(their_kind))
    their_layout, own_layout = (each.layout if isinstance(each, Tensor) else None for each in (their_kind, kind))
    if their_layout is not None and own_layout is not None and sorted(their_layout) == sorted(own_layout):
        wanted = wanted.transpose(permutation(their_layout, own_layout))
    if [n for n in values.shape if n != 1] != [n for n in wanted.shape if n != 1]:
        return distribution  # an intermediate value, or one of another shape
    return replace(distribution, error=error_between(values, wanted.reshape(values.shape), their_name))


def _reference(
    graph: Graph,
    inputs: Mapping[str, Any],
    reference: Graph | Mapping[str, Any] | None,
    implementations: Implementations | None,
) -> tuple[Mapping[str, _Pair], str]:
    """Return the counterparts of nodes with their results, and a name for the reference."""
    if reference is None:
        return {}, ""
    if isinstance(reference, Mapping) and not isinstance(reference, nx.Graph):
        return _given(graph, reference), "arrays"
    other = flattened(as_graph(reference, "that can be evaluated"))  # so that inner values are compared too
    pairs = counterparts(graph, other)
    program = compile_graph(other, {*pairs.values()}, instructions=False, implementations=implementations)
    kept = {
        node: tuple((array, _type(other, node, result)) for result, array in enumerate(results))
        for node, results in program.watch(_translated(graph, inputs, other))
        if node in pairs.values()
    }
    return {node: (name, kept[name]) for node, name in pairs.items() if name in kept}, f"graph {other.name!r}"


def _given(graph: Graph, arrays: Mapping[str, Any]) -> dict[str, _Pair]:
    needed = needed_nodes(graph)
    last = {origin: node for node in needed for origin in graph.origin(node) if graph.nodes[node]["type"] != "constant"}
    pairs: dict[str, _Pair] = {}
    for name, array in arrays.items():
        node = name if name in graph else last.get(name)
        if node is None:
            names = [*graph, *last]
            raise EvaluationError(
                f"the reference names {name!r}, not a node of the graph or its model{did_you_mean(name, names)}"
            )
        values = np.asarray(array)
        if values.dtype.kind not in "biuf":
            raise EvaluationError(f"the reference values for {name!r} must be numbers, got {values.dtype}")
        pairs[node] = (name, ((values, None),))
    return pairs


def _translated(graph: Graph, inputs: Mapping[str, Any], other: Graph) -> dict[str, Any]:
    """Return the inputs for the reference: real numbers in place of mantissas, where it takes those."""
    translated = {}
    for name, array in inputs.items():
        if name not in other.inputs or name not in graph.inputs:
            continue
        own, theirs = _type(graph, name, 0), _type(other, name, 0)
        is_real = isinstance(_element(theirs), str) and isinstance(_element(own), FixedPoint | Quantised)
        translated[name] = real_values(np.asarray(array), _element(own)) if is_real else array
    return translated
