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
        assert_preserves(right, seed=0)
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


# ---------------------------------------------------------------------- values of one's own are drawn, compared, shown

own = Dialect("own")


class Text(EdgeType, dialect=own):
    """A text."""

    def sample(self, rng):
        return "".join("ab"[i] for i in rng.integers(0, 2, rng.integers(4)))


class Rows(EdgeType, dialect=own):
    """Numbers, each once, in sets of some size at most."""

    most: int

    def as_value(self, given):
        return frozenset(given)

    def sample(self, rng):
        return set(rng.integers(0, 3, rng.integers(self.most)).tolist())


@define_op(dialect=own, infer=lambda a, b: a)
def join_(a, b):
    return a + b


@define_op(dialect=own, infer=lambda a: a)
def upper(a):
    return a.upper()


@define_op(dialect=own, infer=lambda a, b: a)
def without(a, b):
    return a - b


@rule
def upper_early(a, b):
    """Letter by letter."""
    yield upper(join_(a, b))
    return join_(upper(a), upper(b))


@rule
def upper_first(a, b):
    """Wrong: the second one stays small."""
    yield upper(join_(a, b))
    return join_(upper(a), b)


@rule
def without_twice(a, b):
    """Once is enough."""
    yield without(without(a, b), b)
    return without(a, b)


@rule
def without_itself(a, b):
    """Wrong where they share something."""
    yield without(a, without(a, b))
    return a


@pytest.mark.parametrize(
    ("right", "wrong", "shown"), [(upper_early, upper_first, "'"), (without_twice, without_itself, "frozenset(")]
)
def test_rules_over_values_of_ones_own_need_no_graph(right, wrong, shown):
    report = check(right, seed=0)
    assert report.verdict == "preserved", report
    assert report.evidence[right.name].compared > 20
    found = check(wrong, seed=0).counterexample
    assert len(found.before) <= 5
    assert str(found.reason).startswith(f"output y was {shown}")
    assert f"x = {shown}" in str(found)
