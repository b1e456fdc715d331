"""Pictures of graphs: what drawing costs beside the layout, which Graphviz does, and how it grows."""

from __future__ import annotations

import random

import pytest

from graphrewrite import Graph, Tensor, op, show
from graphrewrite.view import to_dot
from graphrewrite.view.layout.program import laid_out
from graphrewrite.view.layout.svg import cleaned
from tests.benchmarks.figures import fastest, print_table, scaled

SIZES = scaled((20,), (50, 100, 200))


def network(size: int) -> Graph:
    """A chain with shortcuts, of so many nodes."""
    choose, graph = random.Random(size), Graph("network")
    values = [graph.input("x", Tensor("f32", ("N", 8)))]
    while len(values) < size - 1:
        last, earlier = values[-1], values[-choose.randint(1, min(3, len(values)))]
        values.append(last + earlier if choose.random() < 0.3 else op.relu(last))
    graph.output("y", values[-1])
    return graph


def test_pictures():
    pytest.importorskip("pydot")
    rows = []
    for size in SIZES:
        graph = network(size)
        scenes, source = show(graph).scenes, to_dot(graph).to_string()
        drawn = laid_out(source, "svg")
        whole, layout, described, written, after = fastest(
            lambda graph=graph: show(graph).svg,
            lambda source=source: laid_out(source, "svg"),
            lambda graph=graph: show(graph),
            lambda graph=graph: to_dot(graph).to_string(),
            lambda drawn=drawn, scenes=scenes: cleaned(drawn, scenes),
        )
        rows.append((f"{len(graph)}", whole, layout, described, written, after, whole / layout))
    heads = ("nodes", "show s", "Graphviz s", "scene s", "dot s", "clean-up s", "show / Graphviz")
    print_table("Pictures of graphs", heads, rows)
    assert rows[-1][-1] < scaled(100, 3), "drawing costs little beside the layout"

    big = network(scaled(2_000, 20_000))
    around, summary = fastest(
        lambda: show(big, around=scaled("relu_500", "relu_5000"), depth=3), lambda: show(big), seconds=2
    )
    print_table(f"A graph of {len(big):,} nodes", ("", "s"), [("a neighbourhood", around), ("its summary", summary)])
    assert around < summary, "a part of a large graph is found at once"
