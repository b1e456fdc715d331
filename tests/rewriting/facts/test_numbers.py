"""What the analysis of numbers knows beyond types."""

from __future__ import annotations

from graphrewrite import Graph
from graphrewrite.rewriting.facts import facts_of


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
