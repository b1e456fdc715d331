"""Parts of composite ops, and what is recognised in them."""

from __future__ import annotations

import numpy as np

from graphrewrite import Graph, evaluate, rewrite
from graphrewrite.rules import FOLDING, RECOGNITION, RULES

NUMPY = {"f16": np.float16, "f32": np.float32, "f64": np.float64}


def ops(graph: Graph) -> list[str]:
    """Return what a graph computes, in order, without constants."""
    kinds = (graph.nodes[node]["type"] for node in graph.in_order())
    return [kind for kind in kinds if kind not in ("input", "output", "constant")]


def recognised(graph: Graph, *, folded: bool = False) -> Graph:
    """Return what is recognised in a graph, which computes the same."""
    after = rewrite(graph, [*RULES, *FOLDING, *RECOGNITION] if folded else [*RULES, *RECOGNITION])
    random = np.random.default_rng(0)
    kinds = {name: graph.result_type(name) for name in graph.inputs}
    given = {
        name: random.normal(0, 3, [size if isinstance(size, int) else 3 for size in kind.shape]).astype(
            NUMPY[kind.element]
        )
        for name, kind in kinds.items()
    }
    rough = any(kind.element == "f16" for kind in kinds.values())
    before, found = evaluate(graph, given), evaluate(after, given)
    for name, array in before.items():
        assert found[name].dtype == array.dtype
        np.testing.assert_allclose(found[name], array, rtol=2e-2 if rough else 2e-4, atol=2e-2 if rough else 1e-5)
    return after
