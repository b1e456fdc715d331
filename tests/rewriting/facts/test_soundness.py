"""What is known of the values of random graphs holds, from facts of operands that are as tight as can be."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, reject
from hypothesis import strategies as st

from graphrewrite import Graph
from graphrewrite.errors import EvaluationError
from graphrewrite.op import LIBRARY
from graphrewrite.rewriting.facts import facts_of, numbers, visibly_minus_zero, visibly_nan, visibly_unlimited
from graphrewrite.testing import graphs
from graphrewrite.testing.strategies.inputs import batch_for
from tests.support.fact_checking import concentrated, values_of, wrong_alone, wrong_in_graph
from tests.support.profiles import fewer_examples

NAMES = sorted({op.name for op in numbers.functions if LIBRARY.get(op.name) is op} - {"constant"})
BESIDE = ("abs", "cast", "clip", "neg")
SHARES = [NAMES[i::6] for i in range(6)]


@pytest.mark.parametrize("names", SHARES, ids=lambda names: names[0])
def test_nothing_that_is_said_of_values_is_wrong(names: list[str]) -> None:
    @given(st.data(), st.sampled_from(names), st.integers(0, 1 << 20))
    def check(data: st.DataObject, name: str, seed: int) -> None:
        graph = data.draw(graphs(ops=[name, BESIDE[seed % len(BESIDE)]], every_type=True))
        inputs = concentrated(graph, seed) if seed % 3 else batch_for(graph, seed % 256)
        try:
            values = values_of(graph, inputs)
        except EvaluationError:  # an index that is computed lies outside of its axis
            reject()
        wrong = [*wrong_in_graph(graph, inputs, values), *wrong_alone(graph, values, np.random.default_rng(seed))]
        assert not wrong, wrong[0]

    with fewer_examples():
        check()


OF_FLOATS = (
    "add",
    "mul",
    "div",
    "neg",
    "relu",
    "sub",
    "abs",
    "reshape",
    "concat",
    "leaky_relu",
    "sqrt",
    "softmax",
    "floor",
)


@given(graphs(ops=OF_FLOATS))
def test_what_a_look_sees_of_a_value_its_fact_says_too(graph: Graph) -> None:
    facts = facts_of(graph)
    for node in facts:
        if visibly_nan(graph.value(node)):
            assert facts[node].nan, node
        if visibly_unlimited(graph.value(node)):
            assert (facts[node].low, facts[node].high) == (-np.inf, np.inf), node
        if visibly_minus_zero(graph.value(node)):
            assert facts[node].minus_zero, node


def test_a_look_ends_where_facts_know_more() -> None:
    graph = Graph.parse("""graph g
x = input() : f32[N]
zero = constant(value=0.0) : f32[]
product = mul(x, zero)
one = div(x, x)
sum = add(product, x)
half = sigmoid(x)
y = output(sum)
z = output(half)
w = output(one)""")
    seen = [visibly_unlimited(graph.value(node)) for node in ("product", "one", "sum", "half")]
    assert seen == [False, False, True, False]
    assert all(visibly_nan(graph.value(node)) for node in ("product", "sum", "half"))
    seen = [visibly_minus_zero(graph.value(node)) for node in ("x", "product", "one", "sum", "half")]
    assert seen == [True, False, False, False, False]


def test_a_shift_that_leaves_its_64_bits_may_give_anything() -> None:
    graph = Graph.parse("""graph g
x = input() : s32f0[N]
a = clip(x, low=1)
r = requantise(a, shift=-40, element=u63f0)
y = output(r)""")
    inputs = {"x": np.array([1 << 24], np.int32)}
    assert not list(wrong_in_graph(graph, inputs, values_of(graph, inputs)))
