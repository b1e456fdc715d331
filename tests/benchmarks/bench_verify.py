"""Types and the verifier in linear time: against a loop over plain dictionaries, and as the graph grows and deepens."""

from __future__ import annotations

import numpy as np
import pytest

from graphrewrite import Graph, Tensor, op, verify
from graphrewrite.compare.difference import diff
from graphrewrite.compare.equality import equals, structure_hash
from graphrewrite.graph.type_inference import infer
from tests.benchmarks.figures import fastest, print_table, scaled

SIZES = scaled((100, 200), (1_000, 10_000, 100_000))
F = Tensor("f32", ("N", 4))
HEADS = ("graph", "loop ms", "infer ms", "verify ms", "both / loop", "equals ms", "no names ms", "hash ms", "diff ms")


def mixed(size: int) -> Graph:
    """Layers of element-wise ops with shared values and constants, a hundred nodes wide."""
    graph = Graph("mixed")
    row = [graph.input(f"x{i}", F) for i in range(min(100, size // 10))]
    bias = graph.constant(np.ones(4, np.float32))
    while len(graph) < size:
        row = [
            (op.relu(v), op.add(v, bias), op.mul(v, row[i - 1]), op.neg(v))[(i + len(graph)) % 4]
            if i % 7
            else op.relu(v)
            for i, v in enumerate(row)
        ]
    for i, value in enumerate(row):
        graph.output(f"y{i}", value)
    return graph


def chain(size: int) -> Graph:
    """As deep as it is large."""
    graph = Graph("chain")
    value = graph.input("x", F)
    for i in range(size):
        value = op.relu(value) if i % 2 else op.neg(value)
    graph.output("y", value)
    return graph


def loop(graph: Graph) -> int:
    """What a look at every node and every edge costs at least: operands sorted, data read."""
    count = 0
    for node, data in graph._node.items():
        read = sorted((slot, source) for source, edge in graph._pred[node].items() for slot, _ in edge["slots"])
        count += len(read) + len([value for key, value in data.items() if key != "type"])
    return count


def bare(graph: Graph) -> Graph:
    """A copy without types, so that infer has all of them to write."""
    made = graph.copy()
    for data in made._node.values():
        if data["type"] not in ("input", "constant"):
            data.pop("result", None)
    return made


@pytest.mark.parametrize("build", [mixed, chain])
def test_linear(build):
    rows = []
    figures = {}
    for size in SIZES:
        graph = build(size)
        other, untyped = graph.copy(), bare(graph)
        assert len(infer(untyped)) > 0.8 * size
        plain, inferring, verifying, equal, nameless, hashing, differing = fastest(
            lambda graph=graph: loop(graph),
            lambda graph=graph: infer(graph),
            lambda graph=graph: verify(graph),
            lambda graph=graph, other=other: equals(graph, other),
            lambda graph=graph, other=other: equals(graph, other, names=False),
            lambda graph=graph: structure_hash(graph),
            lambda graph=graph, other=other: diff(graph, other),
        )
        figures[size] = inferring + verifying
        ratio = (inferring + verifying) / plain
        times = [t * 1e3 for t in (equal, nameless, hashing, differing)]
        rows.append((f"{build.__name__} {len(graph):,}", plain * 1e3, inferring * 1e3, verifying * 1e3, ratio, *times))
    growth = figures[SIZES[-1]] / figures[SIZES[0]]
    rows.append((f"growth {SIZES[-1] // SIZES[0]}x", "", "", "", growth, "", "", "", ""))
    print_table(f"Types and verifier, {build.__name__}", HEADS, rows)
    assert figures[SIZES[-1]] < 10, "100,000 nodes are inferred and verified in seconds"
    assert growth < scaled(100, 3) * SIZES[-1] / SIZES[0], "linear in the size"
