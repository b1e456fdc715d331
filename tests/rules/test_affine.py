"""Constants of divisions, differences and norms, folded."""

from __future__ import annotations

import pytest

from graphrewrite import Graph, rewrite
from graphrewrite.rules import FOLDING, batch_norm_as_layer, fold_batch_norm


@pytest.mark.parametrize("name", ["div", "sub"])
@pytest.mark.parametrize("element", ["f8e5m2", "f8e4m3fn", "f4e2m1", "f8e8m0"])
def test_constants_of_small_floats_stay(name, element):
    lines = f"x = input() : {element}[4]\nc = constant(value=2.0) : {element}[]\nd = {name}(x, c)\ny = output(d)"
    graph = Graph.parse(f"graph g\n{lines}")
    assert rewrite(graph, FOLDING) == graph


@pytest.mark.parametrize("operand", ["x", "l"])
def test_a_norm_whose_factor_is_infinite_stays(operand):
    graph = Graph.parse(f"""graph g
        x = input() : f32[N,1]
        o = constant(value=[1.0]) : f32[1]
        w = constant(value=[[1.0]]) : f32[1,1]
        l = linear(x, w, o)
        z = constant(value=[0.0]) : f32[1]
        n = batch_norm({operand}, o, o, o, z, epsilon=0.0)
        y = output(n)""")
    made = rewrite(graph, (fold_batch_norm, batch_norm_as_layer))
    assert made == graph
    assert "a variance is 0" in fold_batch_norm.explain(graph, at="n") + batch_norm_as_layer.explain(graph, at="n")
