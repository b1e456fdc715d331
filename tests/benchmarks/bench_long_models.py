"""Long models: what one more rule costs that does not match, and reading them, as ratios and seconds of one run.

    make bench PYTEST="-k long_models"

Time is that of the processor, the least of rounds that take turns: a rule that does not match is to add no more than
2 %, and 12,800 nodes are to be read in under 2 s.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path

import onnx
import pytest

from graphrewrite import Graph, Rule, op, rewrite, rule
from graphrewrite.lowering import from_onnx
from graphrewrite.rules import RULES
from tests.benchmarks.figures import print_table, scaled
from tests.benchmarks.repeated_networks import REPEATED

BLOCKS = scaled((1,), (33, 66, 131, 262))
"""Of a transformer, of 49 nodes each."""


@rule
def _idle_sum(x, y):
    """A root that is there again and again, whose operand never is."""
    yield op.add(op.asinh(x), y)
    return op.add(y, x)


@rule
def _idle_product(x, y, z):
    """Two ops that are there, and never one below the other."""
    yield op.mul(op.matmul(x, y), op.erf(z))
    return op.mul(x, z)


@rule
def _idle_root(x):
    """A root that is nowhere."""
    yield op.asinh(x)
    return x


def _least(*functions: Callable[[], object]) -> list[float]:
    """The least CPU time of each function, which take turns."""
    least = [float("inf")] * len(functions)
    for _ in range(scaled(1, 5)):
        for number, function in enumerate(functions):
            started = time.process_time()
            function()
            least[number] = min(least[number], time.process_time() - started)
    return least


def _with(graph: Graph, *more: Rule) -> Callable[[], Graph]:
    return lambda: rewrite(graph, (*RULES, *more))


@pytest.fixture(scope="module")
def models(tmp_path_factory: pytest.TempPathFactory) -> list[tuple[int, Path]]:
    """Files of transformers, with their numbers of nodes."""
    found, (make, _) = [], REPEATED["transformer"]
    for blocks in BLOCKS:
        model = make(blocks)
        path = tmp_path_factory.mktemp("long") / f"{blocks}.onnx"
        onnx.save(model, path)
        found.append((len(model.graph.node), path))
    return found


def test_one_more_rule(models: list[tuple[int, Path]]) -> None:
    count, path = models[-1 if len(models) == 1 else 1]
    graph = rewrite(from_onnx(path), RULES)
    idle = (_idle_sum, _idle_product, _idle_root)
    plain, *more = _least(_with(graph), *(_with(graph, each) for each in idle))
    rows = [(each.name, f"{100 * (one / plain - 1):.1f} %") for each, one in zip(idle, more, strict=True)]
    print_table(f"one more rule on {count} nodes, of {plain:.2f} s (goal 2 %)", ("rule", "adds"), rows)
    assert all(_with(graph, each)() == graph for each in idle)


def test_reading(models: list[tuple[int, Path]]) -> None:
    rows = []
    for count, path in models:
        (seconds,) = _least(lambda path=path: from_onnx(path))
        rows.append((count, f"{seconds:.2f}", f"{1e6 * seconds / count:.0f}"))
        assert len(from_onnx(path)) > count
    print_table("reading (goal: 12,800 nodes in 2 s)", ("nodes", "seconds", "us a node"), rows)
