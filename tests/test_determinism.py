"""The same result for the same graph: under any hash seed, and in whatever order it was built."""

from __future__ import annotations

import os
import random
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from graphrewrite import Graph, rewrite, trace
from graphrewrite.formats.text import to_text
from graphrewrite.rules import FOLDING, RULES
from tests.support.enabling import CONFLUENT, ENABLING, random_graph
from tests.support.profiles import some_of
from tests.support.reproducible import layers, step_line

pytestmark = pytest.mark.slow

ROOT = Path(__file__).parents[1]
HASH_SEEDS = range(20)

PROGRAM = """
from tests.support.reproducible import results
for line in results():
    print(line)
"""


def printed(hash_seed: int) -> str:
    environment = {**os.environ, "PYTHONHASHSEED": str(hash_seed), "PYTHONPATH": str(ROOT)}
    done = subprocess.run([sys.executable, "-c", PROGRAM], capture_output=True, text=True, env=environment, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_names_and_order_are_the_same_under_any_hash_seed():
    with ThreadPoolExecutor(2) as pool:
        found = list(pool.map(printed, some_of(HASH_SEEDS, 8)))
    assert len(found[0]) > 10_000
    for other in found[1:]:
        assert other == found[0]


def rebuilt(graph: Graph, rng: random.Random) -> Graph:
    """The same graph, put together in another order."""
    nodes, edges = list(graph.nodes(data=True)), list(graph.edges(data=True))
    rng.shuffle(nodes)
    rng.shuffle(edges)
    other = Graph(ops=graph.ops.values(), **graph.graph)
    other.add_nodes_from((n, dict(data)) for n, data in nodes)
    for source, reader, data in edges:
        slots = list(data["slots"])
        rng.shuffle(slots)
        other.add_edge(source, reader, **{**data, "slots": tuple(slots)})
    return other


@pytest.mark.parametrize("options", [{}, {"order": "top-down"}, {"first": "rule"}], ids=str)
def test_the_result_does_not_depend_on_the_order_of_insertion(options):
    """Names included: it is not only the same up to renaming, it is the same."""
    for seed in range(60):
        graph = random_graph(seed, size=24)
        other = rebuilt(graph, random.Random(seed))
        made, again = rewrite(graph, ENABLING, **options), rewrite(other, ENABLING, **options)
        assert to_text(again, whole=True) == to_text(made, whole=True), f"seed {seed}\n{graph}"
        assert again == made


def test_matches_and_steps_do_not_depend_on_the_order_of_insertion():
    for seed in range(50):
        graph = random_graph(seed, size=24)
        other = rebuilt(graph, random.Random(seed))
        for tested in ENABLING:
            assert [str(m) for m in tested.find(other)] == [str(m) for m in tested.find(graph)], (
                f"{tested}, seed {seed}"
            )
        steps = [list(map(step_line, trace(g, ENABLING).steps)) for g in (graph, other)]
        assert steps[0] == steps[1], f"seed {seed}\n{graph}"


def test_the_library_s_own_rules_do_not_depend_on_the_order_of_insertion():
    graph = layers()
    made = to_text(rewrite(graph, (*RULES, *FOLDING)), whole=True)
    for seed in range(5):
        assert to_text(rewrite(rebuilt(graph, random.Random(seed)), (*RULES, *FOLDING)), whole=True) == made


def renamed(graph: Graph, rng: random.Random) -> Graph:
    """The same graph with other names, but for those of inputs and outputs."""
    inner = [n for n in graph if graph.nodes[n]["type"] not in ("input", "output")]
    names = [f"n{i}" for i in range(len(inner))]
    rng.shuffle(names)
    new = {**{n: n for n in graph}, **dict(zip(inner, names, strict=True))}
    other = Graph(ops=graph.ops.values(), **graph.graph)
    other.add_nodes_from((new[n], dict(data)) for n, data in graph.nodes(data=True))
    other.add_edges_from((new[a], new[b], dict(data)) for a, b, data in graph.edges(data=True))
    return other


def shape_of(graph: Graph) -> list[str]:
    """The live part of a graph without its names, as its order from inputs to outputs gives it."""
    needed = set(graph.outputs).union(*(graph.upstream(o) for o in graph.outputs))
    number = {n: i for i, n in enumerate(n for n in graph.in_order() if n in needed)}
    return [f"{graph.nodes[n]['type']}{[(number[o.node], o.result) for o in graph.operands(n)]}" for n in number]


def test_names_do_not_decide_what_is_done_where_order_does_not_matter():
    for seed in range(100):
        graph = random_graph(seed, ("neg", "relu", "abs", "identity", "maximum"), phrases=0)
        made, other = rewrite(graph, CONFLUENT), rewrite(renamed(graph, random.Random(seed)), CONFLUENT)
        assert shape_of(made) == shape_of(other), f"seed {seed}\n{graph}"
