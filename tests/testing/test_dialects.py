"""Rules over ops and types of a dialect are tried as those over the library's are."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import find, given

from graphrewrite import Dialect, EdgeType, Graph, define_op, evaluate, rewrite, rule
from graphrewrite.errors import TypeMismatchError
from graphrewrite.testing import assert_preserves, check, inputs_for
from tests.support.query_plans import RULES, Relation, filter_, join, join_by_table, project, rel


def plan() -> Graph:
    graph = Graph("plan", ops=[rel])
    people, orders = graph.input("people", Relation(["id", "age"])), graph.input("orders", Relation(["id", "item"]))
    kept = filter_(join(people, orders, on="id"), column="age", low=2)
    graph.output("rows", project(kept, columns=["item", "id"]))
    graph.output("n", rel.count(kept))
    return graph


@rule
def filter_early_by_more(a, b, column, low, on):
    """Wrong: it filters by more than it should."""
    yield filter_(join(a, b, on=on), column=column, low=low)
    return join(filter_(a, column=column, low=low + 1), b, on=on)


def test_rules_over_relations():
    for right in (*RULES, join_by_table):
        assert_preserves(right, plan(), seed=0)
    report = check(filter_early_by_more, on=plan(), seed=0)
    found = report.counterexample
    assert found is not None
    assert len(found.before) <= 6
    assert sum(len(rows.item()) for rows in found.inputs.values()) <= 3
    assert "filter_1" in found.before
    assert "which stands for it, is" in str(found.first_difference)
    assert "filter_early_by_more" in str(found.show()._repr_html_())
    space: dict[str, object] = {}
    exec(found.code, space)
    with pytest.raises(AssertionError):
        space["test_filter_early_by_more"]()  # type: ignore[operator]


@given(inputs_for(plan()))
def test_inputs_are_values_of_their_type(inputs):
    found = evaluate(plan(), inputs)
    assert found == evaluate(plan(), {name: box.item() for name, box in inputs.items()})
    assert found == evaluate(rewrite(plan(), RULES), inputs)


def test_a_type_without_samples_says_so():
    silent = Dialect("silent")

    class Token(EdgeType, dialect=silent):
        pass

    graph = Graph("g", ops=[silent])
    graph.output("y", graph.input("x", Token()))
    assert evaluate(graph, {"x": "anything"}) == {"y": "anything"}
    with pytest.raises(TypeMismatchError, match=r"silent.Token does not say which values it has; define .* `sample`"):
        find(inputs_for(graph), lambda _: True)


def test_rules_over_tensors_need_no_graph():
    sig = Dialect("sig")

    @define_op(dialect=sig)
    def invert(x):
        return -x

    @define_op(dialect=sig)
    def mix(a, b):
        return np.add(a, b)

    @rule
    def drop_inversions(x):
        """Minus minus x is x."""
        yield invert(invert(x))
        return x

    @rule
    def drop_mixed(x, y):
        """Wrong: what is mixed in stays."""
        yield mix(x, invert(y))
        return x

    assert_preserves(drop_inversions, seed=0)
    assert not check(drop_mixed, seed=0)
