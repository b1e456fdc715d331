"""Which places are looked at again after an edit: those that it can have enabled, and few others.

That none is forgotten, ``tests/rewriting/test_fixed_point.py`` searches; here is what is woken, to the node.
"""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from graphrewrite import Graph, Tensor, op, rewrite, rule
from graphrewrite.graph.edit import Edit, apply_edit
from graphrewrite.rewriting.engine.affected_nodes import AffectedNodes
from graphrewrite.rewriting.engine.neighbourhood import Neighbourhood
from graphrewrite.rewriting.engine.rule_index import ANY
from tests.support.pairs import graph_of
from tests.support.sources import rule_of


def affected_nodes_of(*sources: str) -> AffectedNodes:
    rules = [rule_of(f"@rule\n{source}") for source in sources]
    return AffectedNodes((found.pattern, found.definition.depends_on_values) for found in rules)


def linked(source: str, reader: str, slot: int = 0) -> Edit:
    return Edit(linked=[(source, reader, {"slots": ((slot, 0),)})])


DEEP = "def r(x):\n  yield op.abs(op.relu(op.neg(x)))\n  return x"
WIDE = "def r(x, y):\n  yield op.add(op.neg(x), op.relu(y))\n  return x"
TWICE = "def r(x):\n  yield op.sub(op.neg(x), x)\n  return x"
CURIOUS = "def r(x):\n  yield op.abs(op.relu(x))\n  return x if x.shape else op.neg(x)"
KNOWN = "def r(x, c: Constant):\n  yield op.abs(op.mul(x, c))\n  return op.mul(x, c)"
LITERAL = "def r(x):\n  yield op.abs(op.mul(x, 2))\n  return x"
WHERE = "def r(x: rule.where(lambda v: v.shape == (), 'a scalar')):\n  yield op.abs(op.relu(x))\n  return x"
FORBIDDEN = "def r(x, y):\n  yield op.sub(x, ~op.neg(y))\n  return x"
EITHER = "def r(x):\n  yield op.abs(op.neg(x) | op.relu(x))\n  return x"
RESULT = "def r(x):\n  a, b = halves(x)\n  yield op.abs(b)\n  return x"
RUN = "def r(x):\n  yield op.abs(rule.repeated(x, op.relu))\n  return x"
SUMS = "def r(x):\n  yield op.abs(rule.repeated(x, lambda y, z: op.add(y, z)))\n  return x"
EVERY = "def r(x):\n  g = rule.every(x, op.neg)\n  yield g\n  return [op.neg(x) for _ in g.nodes]"
ANY_OP = "def r(x):\n  yield op.abs(rule.any_op(x))\n  return x"


@pytest.mark.parametrize(
    ("sources", "lines", "source", "reader", "woken"),
    [
        ([DEEP], "n = neg(p); r = relu(n); a = abs(r); e = exp(r)", "n", "r", {"a"}),
        ([DEEP], "n = neg(p); r = relu(n); a = abs(r); b = abs(r)", "n", "r", {"a", "b"}),
        ([DEEP], "n = neg(p); r = relu(n); a = abs(r)", "r", "a", {"a"}),
        ([DEEP], "n = neg(p); r = relu(n); a = abs(r)", "p", "n", set()),
        ([DEEP], "n = neg(p); r = exp(n); a = abs(r)", "n", "r", set()),
        ([DEEP], "n = exp(p); r = relu(n); a = abs(r)", "n", "r", set()),
        ([DEEP], "n = neg(p); a = abs(n)", "n", "a", set()),
        ([WIDE], "n = neg(p); r = relu(p); a = add(n, r); b = sub(n, r)", "n", "a", {"a"}),
        ([WIDE], "n = neg(p); r = relu(p); a = add(n, r); b = sub(n, r)", "r", "b", set()),
        ([WIDE], "n = neg(p); r = relu(p); a = add(n, r)", "p", "n", set()),
        ([TWICE], "n = neg(p); a = sub(n, p)", "p", "n", {"a"}),
        ([TWICE], "n = neg(p); a = sub(n, p)", "p", "a", {"a"}),
        ([CURIOUS], "e = exp(p); r = relu(e); a = abs(r)", "e", "r", {"a"}),
        ([KNOWN], "m = mul(p, one); a = abs(m)", "one", "m", {"a"}),
        ([KNOWN], "m = mul(p, one); a = abs(m)", "p", "m", set()),
        ([LITERAL], "m = mul(p, one); a = abs(m)", "one", "m", {"a"}),
        ([LITERAL], "m = mul(p, one); a = abs(m)", "p", "m", set()),
        ([WHERE], "r = relu(p); a = abs(r)", "p", "r", {"a"}),
        ([FORBIDDEN], "e = exp(p); a = sub(p, e)", "e", "a", {"a"}),
        ([EITHER], "n = neg(p); a = abs(n)", "n", "a", {"a"}),
        ([EITHER], "n = relu(p); a = abs(n)", "n", "a", {"a"}),
        ([EITHER], "n = exp(p); a = abs(n)", "n", "a", set()),
        ([RESULT], "h = halves(p); a = abs(h:1)", "h", "a", {"a"}),
        ([RUN], "l = relu(p); m = relu(l); n = relu(m); a = abs(n)", "l", "m", {"a"}),
        ([RUN], "l = relu(p); m = exp(l); n = relu(m); a = abs(n)", "l", "m", set()),
        ([EVERY], "n = neg(p); m = neg(p)", "p", "n", {"n"}),
        ([ANY_OP], "n = exp(p); a = abs(n)", "n", "a", {"a"}),
        ([DEEP, WIDE], "n = neg(p); r = relu(n); a = abs(r); b = add(n, r)", "r", "b", {"b"}),
        ([DEEP, WIDE], "n = neg(p); r = relu(n); a = abs(r); b = add(n, r)", "n", "r", {"a"}),
        # One rule's root is inside of another's pattern.
        (
            [DEEP, "def q(x):\n  yield op.relu(op.neg(x))\n  return x"],
            "n = neg(p); r = relu(n); a = abs(r)", "n", "r", {"r", "a"},
        ),
    ],
)  # fmt: skip
def test_a_new_edge_wakes_the_roots_above_it(sources, lines, source, reader, woken):
    found = affected_nodes_of(*sources).after(graph_of(lines), linked(source, reader), None)
    assert set(found) == woken


@pytest.mark.parametrize(
    ("sources", "lines", "name", "woken"),
    [
        ([DEEP], "n = neg(p); r = relu(n); a = abs(r)", "n", {"n", "a"}),
        ([DEEP], "n = neg(p); r = relu(n); a = abs(r)", "r", {"r", "a"}),
        ([DEEP], "n = neg(p); r = relu(n); a = abs(r)", "p", {"p"}),
        # More readers than the pattern has nodes: one fewer makes no match.
        ([DEEP], "n = neg(p); r = relu(n); a = abs(r); b = exp(n); c = exp(n); d = exp(n)", "n", {"n"}),
        ([DEEP], "n = neg(p); r = relu(n); a = abs(r); b = exp(n); c = exp(n)", "n", {"n", "a"}),
        ([RUN], "n = relu(p); m = relu(n); a = abs(m); b = exp(n); c = exp(n); d = exp(n)", "n", {"n"}),
        # Links that read values from beside their run: it may hold any number of readers.
        ([SUMS], "n = add(p, p); m = add(n, p); a = abs(m); b = exp(n); c = exp(n); d = exp(n)", "n", {"n", "a"}),
        ([WIDE, DEEP], "n = neg(p); r = relu(n); a = add(n, r); b = abs(r)", "n", {"n", "a", "b"}),
    ],
)
def test_a_value_that_lost_a_reader_wakes_itself_and_the_roots_above_it(sources, lines, name, woken):
    graph = graph_of(lines)
    edit = Edit()
    edit.lost = [("gone", {}, {name: {}}, {})]
    assert set(affected_nodes_of(*sources).after(graph, edit, None)) == woken
    edit.lost = [(name, "gone", {})]
    assert set(affected_nodes_of(*sources).after(graph, edit, None)) == woken
    edit.lost = [(name, {})]  # that its data was another says nothing of its readers
    assert set(affected_nodes_of(*sources).after(graph, edit, None)) == set()


def test_a_new_node_is_looked_at_where_it_can_be_a_root():
    graph = graph_of("n = neg(p); a = abs(n)")
    edit = Edit(added=[("n", {"type": "neg"}), ("a", {"type": "abs"}), ("b", {})])
    wake = affected_nodes_of(DEEP)
    assert list(wake.after(graph, edit, frozenset({"abs"}))) == ["a"]
    assert list(wake.after(graph, edit, frozenset({ANY}))) == ["b"]
    assert list(wake.after(graph, edit, None)) == ["n", "a", "b"]


def test_a_node_that_is_gone_wakes_nothing():
    graph = graph_of("n = neg(p); a = abs(n)")
    edit = Edit()
    edit.lost = [("gone", {}, {"gone as well": {}}, {}), ("gone", "too", {})]
    assert affected_nodes_of(DEEP).after(graph, edit, None) == {}


def test_of_plain_patterns_an_edge_between_new_nodes_wakes_nothing_more():
    graph = graph_of("n = neg(p); r = relu(n); a = abs(r)")
    edit = linked("n", "r")
    edit.added = [("r", {"type": "relu"})]
    tested = rule_of(f"@rule\n{DEEP}")
    plain = AffectedNodes([(tested.pattern, False)], is_conjunctive=True)
    assert set(plain.after(graph, edit, frozenset({"abs"}))) == set()
    assert set(affected_nodes_of(DEEP).after(graph, edit, frozenset({"abs"}))) == {"a"}
    assert set(plain.after(graph, linked("n", "r"), frozenset({"abs"}))) == {"a"}


def test_positions_that_are_alike_are_one():
    wake = affected_nodes_of(*[DEEP.replace("def r", f"def r{i}") for i in range(5)])
    assert [p.kinds for p in wake.above("neg").positions] == [frozenset({"relu"})]
    assert {kind: len(places) for kind, places in wake.starts.items()} == {"neg": 1, "relu": 1, "abs": 0}
    assert {kind: len(places) for kind, places in wake.inner.items()} == {"neg": 1, "relu": 1, "abs": 0}
    assert wake.above("neg")["abs"] == (False, None)
    assert wake.above("neg")["relu"] == (False, wake.above("relu"))
    assert wake.above("relu")["abs"] == (True, None)
    assert wake.beside("abs") is None
    assert wake.widest == 3


def test_readers_are_followed_once_however_many_ways_lead_there():
    graph = Graph("g")
    value = graph.input("x", Tensor("f32", (3,)))
    for _ in range(40):
        value = op.add(op.neg(value), op.neg(value))
    graph.output("y", value)
    tested = rule_of(
        "@rule(shared='keep')\ndef r(x, y):\n  yield op.abs("
        + "op.add(op.neg(" * 10
        + "x"
        + "), y)" * 10
        + ")\n  return x"
    )
    wake = AffectedNodes([(tested.pattern, False)])
    assert wake.after(graph, linked("x", "neg_1"), None) == {}


# ---------------------------------------------------------------------- rules that look further


def test_what_counts_readers_is_looked_at_again_as_far_as_it_looks():
    @rule
    def alone(x):
        yield op.abs(op.neg(x))
        return x if x.readers == 1 else op.relu(x)

    graph = graph_of("a = abs(p); b = neg(a); c = abs(b); d = neg(c); e = abs(d); f = neg(e); g = abs(f)")
    near = Neighbourhood([alone])
    assert near.is_asked
    assert not near.is_unbounded
    assert (near.radius, near.above) == (0, [{"abs"}] * 4)
    found: dict[Any, None] = {}
    near.after(graph, Edit(changed=[("d", {})]), found)
    assert set(found) == set()  # as many readers as before
    near.after(graph, Edit(unlinked=[("a", "b")]), found)
    assert set(found) == {"a", "c"}
    found = {}
    near.after(graph, Edit(linked=[("d", "g", {})]), found)
    assert set(found) == {"e", "g"}
    found = {}
    edit = Edit()
    edit.lost = [("gone", {}, {"c": {}}, {"g": {}})]
    near.after(graph, edit, found)
    assert set(found) == {"c", "e"}
    found = {}
    near.after(graph, Edit(added=[("gone", {})]), found)
    assert found == {}


def test_rules_that_look_at_what_they_match_are_no_business_of_the_neighbourhood():
    @rule
    def plain(x):
        yield op.neg(x)
        return op.abs(x)

    @rule
    def everywhere(x):
        yield op.neg(x)
        return x if len(x.graph) > 3 else op.abs(x)

    near = Neighbourhood([plain])
    assert (near.is_asked, near.is_unbounded, near.radius, near.kinds) == (False, False, 0, [])
    near = Neighbourhood([plain, everywhere])
    assert (near.is_asked, near.is_unbounded) == (False, True)


def test_types_of_roots_add_up_and_any_type_is_all_types():
    @rule
    def one(x):
        yield op.neg(x)
        return x if x.readers == 1 else op.abs(x)

    @rule
    def other(x):
        yield op.relu(op.exp(x))
        return x if x.readers == 1 else op.abs(x)

    @rule
    def any_type(x):
        yield rule.any_op(op.exp(x))
        return x if x.readers == 1 else op.abs(x)

    assert Neighbourhood([one]).above == [{"neg"}] * 3
    assert Neighbourhood([one, other]).above == [{"neg", "relu"}] * 3 + [{"relu"}]
    assert Neighbourhood([one, any_type, other]).above == [None] * 4
    found: dict[Any, None] = {}
    graph = graph_of("a = exp(p); b = neg(a)")
    Neighbourhood([any_type]).after(graph, Edit(unlinked=[("p", "gone")]), found)
    assert set(found) == {"p", "a", "b", "out_b"}


# ---------------------------------------------------------------------- what it costs


@rule
def cancel(x):
    yield op.neg(op.neg(x))
    return x


@rule
def push_down(x):
    yield op.abs(op.relu(x))
    return op.relu(op.abs(x))


class Tries:
    """Counts the places that are looked at."""

    def __init__(self) -> None:
        self.count = 0

    def tried(self, *_: Any) -> None:
        self.count += 1

    def rewritten(self, *_: Any) -> None: ...


@given(st.integers(1, 60), st.integers(0, 30))
def test_places_that_are_looked_at_are_as_many_as_steps_and_roots(length, readers):
    graph = Graph("g")
    value = graph.input("x", Tensor("f32", (3,)))
    for _ in range(length):
        value = op.neg(value)
    for i in range(readers):
        graph.output(f"o{i}", op.exp(value))
    graph.output("y", op.abs(value))
    tries = Tries()
    rewrite(graph, [cancel, push_down], watcher=tries)
    assert tries.count <= 2 * length + 2


def test_places_far_from_an_edit_are_left_alone():
    graph = Graph("g")
    x = graph.input("x", Tensor("f32", (3,)))
    for i in range(50):
        graph.output(f"o{i}", op.abs(op.exp(x)))
    graph.output("y", op.abs(op.relu(op.neg(op.neg(x)))))
    before = Tries()
    rewrite(graph, [push_down, cancel], watcher=before)
    assert before.count <= 51 + 8
    made = graph.copy()
    apply_edit(made, Edit())
    assert made == graph
