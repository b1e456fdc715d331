"""The rewrite viewer: a long trace over a large graph as one page, its size, and how fast the page steps."""

from __future__ import annotations

import random
import time

import pytest

from graphrewrite import Graph, Tensor, op, rule, trace
from graphrewrite.rewriting.traces import Trace
from graphrewrite.view.stepper import show_trace
from tests.benchmarks.figures import print_table, scaled

NODES, STEPS = scaled((50, 60), (500, 1000))


@rule
def relu_by_abs(x):
    "Stands for any rule that fires everywhere."
    yield op.relu(x)
    return op.abs(x)


@rule
def abs_by_tanh(x):
    "Fires at what the first one made."
    yield op.abs(x)
    return op.tanh(x)


@rule
def swap(x, y):
    "Replaces a node that reads two."
    yield op.maximum(x, y)
    return op.minimum(y, x)


@rule
def sum_of_squares(x, y):
    "Makes several nodes of one."
    yield op.minimum(x, y)
    return op.sub(op.add(x, y), op.mul(x, y))


@rule
def difference_as_sum(x, y):
    "Fires at what that one made."
    yield op.sub(x, y)
    return op.add(x, op.neg(y))


def long_trace(nodes: int = NODES, steps: int = STEPS) -> Trace:
    """A trace of so many steps over a graph of so many nodes, in which values are read near where they are made."""
    draw = random.Random(1)
    graph = Graph("long")
    values = [graph.input("x", Tensor("f32", ("N", 16)))]
    for _ in range(nodes - 2):
        near = values[-min(len(values), 12) :]
        two = len(near) > 1 and draw.random() < 0.4
        values.append(op.maximum(*draw.sample(near, 2)) if two else op.relu(near[-1]))
    graph.output("y", values[-1])
    found = trace(graph, [relu_by_abs, abs_by_tanh, swap, sum_of_squares, difference_as_sum])
    return Trace(found.before, found.graph_after(steps), found.noted[:steps], found.profile, found.members)


def test_a_long_trace_is_a_small_page_soon():
    found = long_trace()
    assert (len(found.before), len(found.steps)) == (NODES, STEPS)
    start = time.perf_counter()
    shown = show_trace(found)
    described = time.perf_counter()
    page = shown.document
    written = time.perf_counter()
    start_of_rewrite = time.perf_counter()
    trace(found.before, [relu_by_abs])
    rewriting = time.perf_counter() - start_of_rewrite
    rows = [(f"{STEPS:,}", described - start, written - described, len(page) / 1e6, (written - start) / rewriting)]
    heads = ("steps", "describe and lay out s", "write s", "MB", "of tracing one rule")
    print_table("The rewrite viewer", heads, rows)
    assert not shown.data.hint, "Graphviz draws them"
    assert len(page) < 5e6


def test_the_page_steps_without_a_wait(tmp_path):
    sync = pytest.importorskip("playwright.sync_api")
    from tests.support.chromium import launched, located

    if located() is None:
        pytest.skip("Chromium is missing (Debian: apt-get install chromium)")
    file = long_trace().save(tmp_path / "trace.html")
    with sync.sync_playwright() as play, launched(play) as browser:
        page = browser.new_page(viewport={"width": 1400, "height": 900})
        page.goto(file.as_uri())
        taken = page.evaluate(
            """() => {
                const slider = document.getElementById("slider"), taken = [];
                for (let i = 0; i < 1000; i += 7) {
                    const start = performance.now();
                    slider.value = i;
                    slider.dispatchEvent(new Event("input"));
                    document.body.getBoundingClientRect();
                    taken.push(performance.now() - start);
                }
                return taken.sort((a, b) => a - b);
            }"""
        )
    median, worst = taken[len(taken) // 2], taken[-1]
    print_table("A step of the viewer", ("median ms", "slowest ms"), [(median, worst)])
    assert median < 50
