"""The cycles that messages name."""

from __future__ import annotations

import os
import random
import subprocess
import sys
from itertools import pairwise
from pathlib import Path

import networkx as nx
import pytest

from graphrewrite.graph.cycles import order_of

ROOT = Path(__file__).parents[2]
PROGRAM = """
from tests.graph.test_cycles import tangled
from graphrewrite.graph.cycles import order_of
for seed in range(50):
    print(order_of(tangled(seed)).cycles)
"""


def tangled(seed: int) -> nx.DiGraph:
    """Return a graph in which most nodes are on several cycles."""
    rng = random.Random(seed)
    names = [f"n{i}" for i in range(rng.randint(2, 12))]
    graph = nx.DiGraph((rng.choice(names), rng.choice(names)) for _ in range(2 * len(names)))
    graph.add_edges_from((f"x{i}", name) for i, name in enumerate(4 * names))  # most nodes are on none
    return graph


@pytest.mark.parametrize("seed", range(50))
def test_a_cycle_is_a_shortest_one_through_its_least_node(seed):
    graph = tangled(seed)
    for cycle in order_of(graph).cycles:
        assert cycle[0] == cycle[-1] == min(cycle)
        assert all(graph.has_edge(a, b) for a, b in pairwise(cycle))
        assert len(cycle) == 1 + min(
            len(nx.shortest_path(graph, b, cycle[0])) for b in graph.succ[cycle[0]] if nx.has_path(graph, b, cycle[0])
        )


@pytest.mark.slow(cases=0)
def test_it_is_the_same_under_any_hash_seed():
    printed = set()
    for seed in ("0", "1", "2"):
        environment = {**os.environ, "PYTHONHASHSEED": seed, "PYTHONPATH": str(ROOT)}
        done = subprocess.run(
            [sys.executable, "-c", PROGRAM], capture_output=True, text=True, env=environment, check=True
        )
        printed.add(done.stdout)
    assert len(printed) == 1


def test_a_node_with_many_readers_on_cycles():
    count = 10_000
    graph = nx.DiGraph([("a", f"b{i}") for i in range(count)])
    graph.add_edges_from((f"b{i}", f"b{i + 1}") for i in range(count - 1))
    graph.add_edge(f"b{count - 1}", "a")
    assert order_of(graph).cycles == [["a", f"b{count - 1}", "a"]]
