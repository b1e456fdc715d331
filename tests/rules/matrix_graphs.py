"""Graphs of matrix products, and what rules make of them."""

from __future__ import annotations

import numpy as np

from graphrewrite import Graph, Tensor, evaluate, rewrite
from graphrewrite.rules import RULES

RANDOM = np.random.default_rng(0)
SEQUENCES, HEADS = ("N", 5, 4), ("N", 2, 5, 4)


def weights(*shape):
    """Return random numbers."""
    return RANDOM.normal(size=shape).astype(np.float32)


def graph_of(body, *shapes):
    """Return the graph of what a function makes of inputs."""
    graph = Graph("products")
    results = body(*(graph.input(f"x{i}", Tensor("f32", shape)) for i, shape in enumerate(shapes)))
    for number, value in enumerate(results if isinstance(results, tuple) else (results,)):
        graph.output(f"y{number}", value)
    return graph


def ops(graph):
    """Return what a graph computes, in order, without constants."""
    kinds = (graph.nodes[node]["type"] for node in graph.in_order())
    return [kind for kind in kinds if kind not in ("input", "output", "constant")]


def rewritten(graph, *phases):
    """Return what rules make of a graph, which computes the same."""
    after = graph
    for phase in phases:
        after = rewrite(after, [*RULES, *phase])
    sizes = {"N": 3, "S": 2}
    given = {n: weights(*(sizes.get(size, size) for size in graph.result_type(n).shape)) for n in graph.inputs}
    before, found = evaluate(graph, given), evaluate(after, given)
    for name, array in before.items():
        np.testing.assert_allclose(found[name], array, rtol=1e-4, atol=1e-4)
    return after
