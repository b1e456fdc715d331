"""What is known of the values of random graphs holds, from facts of operands that are as tight as can be."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, reject
from hypothesis import strategies as st

from graphrewrite import Graph
from graphrewrite.errors import EvaluationError
from graphrewrite.op import LIBRARY
from graphrewrite.rewriting.facts import numbers
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


def test_a_shift_that_leaves_its_64_bits_may_give_anything() -> None:
    graph = Graph.parse("""graph g
x = input() : s32f0[N]
a = clip(x, low=1)
r = requantise(a, shift=-40, element=u63f0)
y = output(r)""")
    inputs = {"x": np.array([1 << 24], np.int32)}
    assert not list(wrong_in_graph(graph, inputs, values_of(graph, inputs)))
