"""What an evaluation did on every edge: the numbers in a few figures, and how far a reference is from them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import networkx as nx
import numpy as np

from graphrewrite.distribution import Distribution, distribution_of, error_between, real_values
from graphrewrite.errors import EvaluationError, GraphRewriteError, did_you_mean
from graphrewrite.given import as_graph
from graphrewrite.graph import Graph
from graphrewrite.pairing import counterparts, needed_nodes
from graphrewrite.program import compile_graph
from graphrewrite.types import Element, FixedPoint, Quantised, Tensor, Type, permutation

__all__ = ["Evaluation", "evaluation"]

Edges = Mapping[tuple[str, int], Distribution]
_Pair = tuple[str, tuple[tuple[np.ndarray, Type | None], ...]]
"""A name, and results with what they are."""


@dataclass(frozen=True, eq=False)
class Evaluation:
    """The numbers on every edge of a graph, for some inputs.

    Attributes
    ----------
    name : str
        Of the graph.
    frames : int
        Length of the batch.
    edges : mapping of (str, int) to Distribution
        By node and result, operands first; an output has what its operand has. Nodes that no output needs are not
        there, nor are results that are no numbers.
    reference : str
        What it was compared with; empty if with nothing.
    """

    name: str
    frames: int
    edges: Edges
    reference: str = ""

    def show(self, **options: Any) -> Any:
        """Return a table with histograms for a notebook; see `graphrewrite.view.numbers`."""
        from graphrewrite.view.numbers import show_evaluation  # the view is a leaf, loaded when asked for

        return show_evaluation(self, **options)

    def __str__(self) -> str:
        return str(self.show())

    def __repr__(self) -> str:
        compared = f", compared with {self.reference}" if self.reference else ""
        return f"<Evaluation of {self.name!r}: {len(self.edges)} edges, {self.frames} frames{compared}>"

    def _repr_html_(self) -> str:
        """Let Jupyter show it."""
        return str(self.show()._repr_html_())


def evaluation(
    graph: Graph, inputs: Mapping[str, Any], reference: Graph | Mapping[str, Any] | None = None
) -> Evaluation:
    r"""Evaluate a graph once, and return what its numbers are like on every edge.

    Parameters
    ----------
    graph : Graph
        A graph of any level.
    inputs : mapping of str to array-like
        As for `graphrewrite.evaluate`.
    reference : Graph or mapping of str to array-like, optional
        Another graph, usually an earlier level of the same network, given the same inputs: as real numbers where it
        takes those and the graph takes mantissas. Its nodes are found by their origin, see
        `graphrewrite.pairing.counterparts`. Or real numbers by the name of a node, of this graph or of the model that
        it comes from.

    Returns
    -------
    Evaluation

    Raises
    ------
    EvaluationError
        As for `graphrewrite.evaluate`; or if the reference names a node that is not there.

    Examples
    --------
    >>> g = Graph.parse('''graph g
    ... x = input() : s8f4[N,2]
    ... r = requantise(x, shift=2, element=u4f2)
    ... y = output(r)''')
    >>> found = evaluation(g, {"x": [[6, 10], [-1, 127]]}, reference={"r": [[0.375, 0.625], [0, 7.9375]]})
    >>> found
    <Evaluation of 'g': 3 edges, 2 frames, compared with arrays>
    >>> found.edges["r", 0].high, found.edges["r", 0].clipped, found.edges["r", 0].error.largest
    (3.75, 1, 4.1875)
    """
    graph = as_graph(graph, "that can be evaluated")
    needed = needed_nodes(graph)
    pairs, told = _reference(graph, inputs, reference)
    program = compile_graph(graph, graph.outputs or needed, instructions=False)
    frames, found = 0, {}
    for node, results in program.watch(inputs):
        if node in program.inputs and results[0].ndim:
            frames = len(results[0])
        for result, array in enumerate(results):
            if array.dtype.kind in "biuf":
                kind = _type(graph, node, result)
                edge = _distribution(graph.nodes[node], kind, array)
                found[node, result] = _compared(edge, kind, array, result, pairs[node]) if node in pairs else edge
    place = {node: index for index, node in enumerate(needed)}
    edges = {key: found[key] for key in sorted(found, key=lambda key: (place.get(key[0], -1), key))}
    return Evaluation(graph.name, frames, edges, told)


def _type(graph: Graph, node: str, result: int) -> Type | None:
    if graph.nodes[node].get("type") == "output":
        node, result = graph.operands(node)[0]
    try:
        return graph.result_type(node, result)
    except GraphRewriteError:  # a graph need not state its types to be evaluated
        return None


def _element(kind: Type | None) -> Element | None:
    return None if kind is None else kind.element


def _distribution(data: Mapping[str, Any], kind: Type | None, array: np.ndarray) -> Distribution:
    element, told = _element(kind), {"kind": str(data.get("type")), "type": "" if kind is None else str(kind)}
    # What quantises floats says in which format, while its type is that of the floats.
    wanted = data.get("element") if array.dtype.kind == "f" and data.get("fractions") is None else None
    return distribution_of(array, element, format=wanted if isinstance(wanted, FixedPoint) else None, **told)


def _compared(found: Distribution, kind: Type | None, array: np.ndarray, result: int, pair: _Pair) -> Distribution:
    """The same with its error, where the reference has numbers of this shape."""
    their_name, results = pair
    result = 0 if len(results) == 1 else result
    if result >= len(results):
        return found
    theirs, their_kind = results[result]
    if theirs.dtype.kind not in "biuf":
        return found
    values, wanted = real_values(array, _element(kind)), real_values(theirs, _element(their_kind))
    given, asked = (each.layout if isinstance(each, Tensor) else None for each in (their_kind, kind))
    if given is not None and asked is not None and sorted(given) == sorted(asked):
        wanted = wanted.transpose(permutation(given, asked))
    if [n for n in values.shape if n != 1] != [n for n in wanted.shape if n != 1]:
        return found  # a value in between, or one that is cut otherwise
    return replace(found, error=error_between(values, wanted.reshape(values.shape), their_name))


def _reference(
    graph: Graph, inputs: Mapping[str, Any], reference: Graph | Mapping[str, Any] | None
) -> tuple[Mapping[str, _Pair], str]:
    """For nodes the name and the results of what stands in their place, and in a word what that is."""
    if reference is None:
        return {}, ""
    if isinstance(reference, Mapping) and not isinstance(reference, nx.Graph):
        return _given(graph, reference), "arrays"
    other = as_graph(reference, "that can be evaluated")
    pairs = counterparts(graph, other)
    program = compile_graph(other, {*pairs.values()}, instructions=False)
    kept = {
        node: tuple((array, _type(other, node, result)) for result, array in enumerate(results))
        for node, results in program.watch(_translated(graph, inputs, other))
        if node in pairs.values()
    }
    return {node: (name, kept[name]) for node, name in pairs.items() if name in kept}, f"graph {other.name!r}"


def _given(graph: Graph, arrays: Mapping[str, Any]) -> dict[str, _Pair]:
    needed = needed_nodes(graph)
    last = {origin: node for node in needed for origin in graph.origin(node) if graph.nodes[node]["type"] != "constant"}
    found: dict[str, _Pair] = {}
    for name, array in arrays.items():
        node = name if name in graph else last.get(name)
        if node is None:
            known = [*graph, *last]
            raise EvaluationError(
                f"the reference names {name!r}, which is no node of the graph or its model{did_you_mean(name, known)}"
            )
        values = np.asarray(array)
        if values.dtype.kind not in "biuf":
            raise EvaluationError(f"the reference holds no numbers for {name!r}, but {values.dtype}")
        found[node] = (name, ((values, None),))
    return found


def _translated(graph: Graph, inputs: Mapping[str, Any], other: Graph) -> dict[str, Any]:
    """The inputs for the reference: real numbers in place of mantissas, where it takes these."""
    found = {}
    for name, array in inputs.items():
        if name not in other.inputs or name not in graph.inputs:
            continue
        own, theirs = _type(graph, name, 0), _type(other, name, 0)
        is_real = isinstance(_element(theirs), str) and isinstance(_element(own), FixedPoint | Quantised)
        found[name] = real_values(np.asarray(array), _element(own)) if is_real else array
    return found
