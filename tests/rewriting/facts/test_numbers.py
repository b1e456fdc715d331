"""What the analysis of numbers knows beyond types."""

from __future__ import annotations

import numpy as np
import pytest

from graphrewrite import Graph, evaluate, rewrite
from graphrewrite.rewriting.facts import facts_of
from graphrewrite.rules import RULES


def test_more_is_known_than_types_say() -> None:
    graph = Graph.parse("""graph g
x = input() : i8[N,2]
w = cast(x, element="i32")
three = constant(value=3) : i32[]
m = mul(w, three)
four = constant(value=4) : i32[]
s = bit_shift(m, four, direction="left")
f = cast(s, element="f32")
a = abs(f)
e = sigmoid(a)
l = less(e, f)
y = output(l)""")
    facts = facts_of(graph)
    assert (facts["m"].low, facts["m"].high) == (-384, 381)
    assert facts["s"].zeros & 15 == 15
    assert facts["f"].whole
    assert not facts["f"].minus_zero
    assert facts["a"].is_finite
    assert facts["a"].low == 0
    assert (facts["e"].low, facts["e"].high, facts["e"].nan) == (0, 1, False)


@pytest.mark.parametrize(
    ("lines", "inputs"),
    [
        ("h = hard_sigmoid(x)\nc = clip(h, low=-0.0)", [-9.0, 0.0]),
        ("c = clip(x, low=709.5)\ne = exp(c)\nl = less(e, k)\nw = where(l, c, e)", [0.0, 709.6]),
        ("c = clip(x, low=720.0)\ne = exp(c)\nl = less(e, k)\nw = where(l, c, e)", [0.0, 1000.0]),
    ],
)
def test_limits_at_the_ends_of_numbers_change_no_bit(lines, inputs):
    last = lines.rpartition("\n")[2].partition(" ")[0]
    graph = Graph.parse(
        f"graph g\nx = input() : f64[2]\nk = constant(value=1.5e308) : f64[]\n{lines}\ny = output({last})"
    )
    given = {"x": np.array(inputs)}
    before, after = evaluate(graph, given), evaluate(rewrite(graph, RULES), given)
    assert before["y"].tobytes() == after["y"].tobytes()
