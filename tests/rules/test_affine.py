"""Constants of divisions and differences, folded."""

from __future__ import annotations

import pytest

from graphrewrite import Graph, rewrite
from graphrewrite.rules import FOLDING


@pytest.mark.parametrize("name", ["div", "sub"])
@pytest.mark.parametrize("element", ["f8e5m2", "f8e4m3fn", "f4e2m1", "f8e8m0"])
def test_constants_of_small_floats_stay(name, element):
    lines = f"x = input() : {element}[4]\nc = constant(value=2.0) : {element}[]\nd = {name}(x, c)\ny = output(d)"
    graph = Graph.parse(f"graph g\n{lines}")
    assert rewrite(graph, FOLDING) == graph
