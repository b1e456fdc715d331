"""What the analysis of numbers says holds for every entry that evaluation gives."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, reject
from hypothesis import strategies as st

from graphrewrite import Graph
from graphrewrite.errors import EvaluationError
from graphrewrite.execution.evaluator import evaluate_nodes
from graphrewrite.rewriting.facts import Fact, facts_of, numbers
from graphrewrite.testing import graphs, inputs_for
from tests.support.profiles import fewer_examples

OPS = sorted({op.name for op in numbers.functions} - {"constant"})


def holds(fact: Fact, array: np.ndarray) -> bool:
    """Tell whether a fact is true of an array."""
    if array.dtype.kind not in "fiub":
        return fact == Fact()
    if array.dtype.kind == "f":
        bare = np.isnan(array)
        minus = (array == 0) & np.signbit(array)
        rest = array[~bare]
        exact = bool((rest == np.floor(rest)).all()) if fact.whole else True
        inside = bool(((rest >= fact.low) & (rest <= fact.high)).all())
        return inside and exact and (fact.nan or not bare.any()) and (fact.minus_zero or not minus.any())
    entries = {int(entry) for entry in array.ravel().tolist()}
    return all(
        fact.low <= entry <= fact.high and not entry & fact.zeros and entry & fact.ones == fact.ones
        for entry in entries
    )


def check(graph: Graph, inputs: dict[str, Any]) -> int:
    """Compare facts with values; return how many said more than the type."""
    facts = facts_of(graph)
    shown = [node for node in facts if not isinstance(graph.nodes[node]["result"], tuple)]
    try:
        with np.errstate(all="ignore"):
            values = evaluate_nodes(graph, inputs, shown)
    except EvaluationError:  # an index that is computed lies outside of its axis
        reject()
    for node in shown:
        assert holds(facts[node], np.asarray(values[node])), f"{node}: {facts[node]}\n{values[node]}\n{graph}\n{facts}"
    return sum(facts[node]._replace(constant=False) != numbers.unknown(graph.result_type(node)) for node in shown)


BESIDE = ("abs", "clip", "relu", "neg")
KINDS = [OPS[i::6] for i in range(6)]


@pytest.mark.parametrize("names", KINDS, ids=lambda names: names[0])
def test_facts_hold_of_all_values(names: list[str]) -> None:
    @given(st.data(), st.sampled_from(names))
    def check_one(data: st.DataObject, name: str) -> None:
        graph = data.draw(graphs(ops=[name, *BESIDE], every_type=True))
        check(graph, data.draw(inputs_for(graph)))

    with fewer_examples():
        check_one()


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
