"""The fused way and the ordinary way do the same: graphs, names, order of readers, steps."""

from __future__ import annotations

import random
from contextlib import contextmanager
from typing import Any

import networkx as nx
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from graphrewrite import Constant, Graph, Rule, Tensor, decline, define_op, op, pass_, rewrite, rule, trace, verify
from graphrewrite.errors import GraphRewriteError, RewriteError, RuleError
from graphrewrite.formats.text import to_text
from graphrewrite.graph.edit import apply_edit, revert_edit
from graphrewrite.rewriting.engine.engine import Engine
from graphrewrite.rewriting.facts import Analysis
from graphrewrite.rewriting.match import candidates
from graphrewrite.rules import RULES
from graphrewrite.testing import graphs
from tests.support.enabling import ENABLING, random_graph

VECTOR = Tensor("f32", (3,))


@define_op(commutative=True)
def mix(a, b, *, rate=1):
    return a + rate * b


@define_op(results=2, infer=lambda a: (a, a))
def both(a):
    return a, -a


@rule
def fuse(x, c, d):
    yield op.add(op.mul(x, c), d)
    return op.fma(x, c, d)


@rule
def unfuse(x, c):
    """A value at several slots of a new node, and several new nodes."""
    yield op.fma(x, c, x)
    return op.sub(op.add(x, op.abs(op.mul(c, c))), x)


@rule
def greater_of_itself(x):
    """A repeated variable at one node; its value may have readers of the root."""
    yield op.maximum(x, x)
    return x


@rule
def cancel_negations(x):
    """The value takes over readers, and may be their operand already."""
    yield op.neg(op.neg(x))
    return x


@rule
def minus_zero(x):
    """A literal that goes with the match."""
    yield op.sub(x, 0)
    return x


@rule
def absorb(x, y):
    """A repeated variable across nodes, in either order; a variable that the replacement drops."""
    yield op.minimum(op.maximum(x, y), x)
    return op.abs(x)


@rule
def diamond(x, y):
    """An inner node that is read twice, of a commutative op."""
    inner = op.add(x, y)
    yield op.sub(op.neg(inner), op.relu(inner))
    return op.mul(x, y)


@rule
def two_products(a, b, c, d):
    """Commutative nodes at every height."""
    yield op.add(op.mul(a, b), op.mul(c, d))
    return op.fma(a, b, op.mul(c, d))


@rule
def constant_first(x, c: Constant):
    """A constant, in either order."""
    yield op.maximum(c, x)
    return op.minimum(op.relu(c), x)


@rule
def mixed_rates(x, y, z, r):
    """An attribute that is bound twice and handed on."""
    yield mix(mix(x, y, rate=r), z, rate=r)
    return mix(op.mul(x, y), z, rate=r)


@rule
def like_another(x, y):
    """Attributes of a matched node, an attribute that must fit."""
    inner = mix(x, y, rate=2)
    yield op.neg(inner)
    return mix(op.neg(x), op.neg(y), like=inner)


@rule
def either_op(x):
    """One of several ops."""
    yield op.relu((op.abs | op.relu)(x))
    return op.relu(x)


@rule
def curious(x, c):
    """Python below the yield, and an order of operands that is declined."""
    yield op.mul(x, op.abs(c))
    return op.mul(x, c) if x.is_constant else rule.decline("it is computed", at=x)


@rule
def ends_with_half(x, y, z):
    """A constant that is computed, and results of several shapes."""
    far = op.fma(x, y, z)
    yield far
    if x.is_constant:
        return x
    return op.mul(op.abs(x), np.full(far.shape, 0.5, np.float32)) if x.op_name == "input" else op.neg(x)


@rule(shared="keep")
def keeps_inner(x, y):
    """Inner nodes that stay for other readers, or for the replacement."""
    inner = op.neg(x)
    outer = op.relu(inner)
    yield op.sub(outer, y)
    return op.add(inner, y) if y.is_constant else op.abs(op.sub(inner, op.neg(outer)))


@rule
def back_to_inner(x):
    """A matched node takes the place of the root."""
    inner = op.abs(x)
    yield op.neg(inner)
    return inner


@rule
def constant_of_all(x, y, r):
    """A constant takes the place of the root; an attribute that is bound is looked at."""
    yield op.neg(mix(x, y, rate=r))
    return np.full(x.shape, r, np.float32) if r == 1 else rule.decline("another rate")


OWN: tuple[Any, ...] = (
    two_products, fuse, unfuse, greater_of_itself, cancel_negations, minus_zero, absorb, diamond, constant_first,
    mixed_rates, like_another, either_op, curious, ends_with_half, keeps_inner, back_to_inner, constant_of_all,
)  # fmt: skip
NAMES = ("add", "mul", "sub", "neg", "abs", "relu", "maximum", "minimum", "fma", "mix", "both", "constant")


def dense(rng: Any, size: int = 16) -> Graph:
    """A graph in which the rules of this module match often."""
    graph = Graph("g", ops=[mix, both])
    values = [graph.input(name, VECTOR) for name in "xyz"]

    def pick() -> Any:
        return values[-rng.randint(1, min(len(values), 6))]

    for _ in range(size):
        name = rng.choice(NAMES)
        if name == "constant":
            values.append(graph.constant(np.full(3, rng.choice([0, 0, 1]), np.float32), type=VECTOR))
        elif name == "both":
            values += both(pick())
        elif name == "mix":
            values.append(mix(pick(), pick(), rate=rng.choice([1, 2])))
        elif name == "fma":
            x, y, z, w = (pick() for _ in range(4))
            inner = x + y
            values += [op.neg(inner) - op.relu(inner), x * y + z * w]
        else:
            found = getattr(op, name)
            values.append(found(*(pick() for _ in range(found.required))))
    for i, value in enumerate(values[-3:]):
        graph.output(f"o{i}", value)
    for node, data in graph.nodes(data=True) if rng.random() < 0.5 else ():
        if rng.random() < 0.3:  # a rate is an annotation where it is no attribute
            key, value = rng.choice([("latency", [node]), ("rate", 7), ("backend", node), ("use_kernel", node)])
            data.setdefault(key, value)
    if rng.random() < 0.3:  # networkx lets an edge have more than its slots
        for _, _, data in graph.edges(data=True):
            data["weight"] = 1
    return graph


@pytest.fixture(scope="module", autouse=True)
def at_once() -> Any:
    """Generate functions for the first match of a rule, and keep the readers of every value."""
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(Engine, "patience", 1)
        patched.setattr(candidates, "_FEW", 1)
        yield


@contextmanager
def ordinary_way(monkeypatch: pytest.MonkeyPatch) -> Any:
    with monkeypatch.context() as patched:
        patched.setattr(Engine, "fused", lambda *_: None)
        yield


def whole(graph: Graph) -> Any:
    """All that there is to see, order included."""
    return (
        to_text(graph, whole=True),
        list(graph.nodes),
        {n: {k: str(v) for k, v in data.items()} for n, data in graph.nodes(data=True)},
        list(graph.edges(data=True)),
        sorted(graph.ops),
    )


def told(found: Any) -> list[Any]:
    return [(str(step), step.rule, str(step.match)) for step in found.steps]


def both_ways(graph: Graph, rules: Any, monkeypatch: pytest.MonkeyPatch, **options: Any) -> None:
    before = whole(graph)
    fast, fast_trace = rewrite(graph, rules, **options), trace(graph, rules, **options)
    with ordinary_way(monkeypatch):
        slow, slow_trace = rewrite(graph, rules, **options), trace(graph, rules, **options)
    assert whole(graph) == before
    assert whole(fast) == whole(slow) == whole(fast_trace.graph)
    assert told(fast_trace) == told(slow_trace)
    assert [row[4] for row in fast_trace.profile.rows] == [row[4] for row in slow_trace.profile.rows]
    verify(fast)


@given(st.randoms(use_true_random=False))
def test_both_ways_make_the_same_steps(rng):
    both_ways(dense(rng), OWN, pytest.MonkeyPatch())


@pytest.mark.parametrize(
    "options", [{"order": "top-down"}, {"first": "rule"}, {"once": True}, {"verify": True}], ids=str
)
def test_both_ways_make_the_same_steps_under_every_strategy(options, monkeypatch):
    for seed in range(25):
        both_ways(dense(random.Random(seed)), OWN, monkeypatch, **options)


def test_both_ways_make_the_same_steps_on_graphs_of_every_kind(monkeypatch):
    for seed in range(25):
        both_ways(random_graph(seed), ENABLING, monkeypatch)


@given(graphs())
def test_both_ways_make_the_same_steps_with_the_library_s_rules(graph):
    both_ways(graph, RULES, pytest.MonkeyPatch())


def test_every_rule_fires_and_most_are_fused():
    fired: dict[str, int] = {}
    for seed in range(200):
        for name, count in trace(dense(random.Random(seed)), OWN).counts.items():
            fired[name] = fired.get(name, 0) + count
    assert set(fired) == {member.name for member in OWN}, fired
    assert all(m.definition.fused() is not None for m in OWN)


@given(st.randoms(use_true_random=False))
def test_each_step_is_what_the_graph_was_and_can_be_taken_back(rng):
    graph = dense(rng)
    seen: list[Graph] = []

    class Snapshots:
        def __init__(self) -> None:
            self.changes: list[Any] = []

        def tried(self, *_: Any) -> None:
            pass

        def rewritten(self, graph: Any, member: Any, change: Any) -> None:
            seen.append(graph.copy())
            self.changes.append(change)

    rewrite(graph, OWN, watcher=Snapshots())
    found = trace(graph, OWN)
    for data in found.graph._node.values():  # whatever becomes of the result, the trace says what was
        data["type"] = "spoilt"
    for _, _, data in found.graph.edges(data=True):
        data["slots"] = ()
    assert len(seen) == len(found.steps)
    replayed = found.graph_after(0)
    for count, (step, then) in enumerate(zip(found.steps, seen, strict=True), start=1):
        before = plain(replayed)
        apply_edit(replayed, step.edit)
        assert plain(replayed) == plain(then) == plain(found.graph_after(count))
        revert_edit(replayed, step.edit)
        assert plain(replayed) == before
        apply_edit(replayed, step.edit)


def plain(graph: Graph) -> Any:
    """Nodes, edges and data, without order, and without origins, which are written down at the end."""
    nodes = {n: {k: str(v) for k, v in data.items() if k != "origin"} for n, data in graph.nodes(data=True)}
    return nodes, {(a, b): (data["slots"], data.get("weight")) for a, b, data in graph.edges(data=True)}


class Public(Graph):
    """A graph that wants to know of each of its edges."""

    def add_edge(self, u: Any, v: Any, **data: Any) -> None:
        self.graph["edges"] = self.graph.get("edges", 0) + 1
        super().add_edge(u, v, **data)


@given(st.randoms(use_true_random=False))
def test_a_class_of_its_own_is_edited_by_its_own_methods(rng):
    graph = dense(rng)
    other = Public(ops=[mix, both])
    other.add_nodes_from(graph.nodes(data=True))
    other.add_edges_from(graph.edges(data=True))
    found = trace(other, OWN)
    assert type(found.graph) is Public
    if any(step.edit.linked for step in found.steps):
        assert found.graph.graph["edges"] > 0
    assert plain(found.graph) == plain(rewrite(graph, OWN))


# ---------------------------------------------------------------------- in place


@given(st.randoms(use_true_random=False))
def test_a_graph_edited_in_place_is_what_a_copy_would_be(rng):
    graph = dense(rng)
    wanted = rewrite(graph, OWN)
    other = graph.copy()
    assert rewrite(other, OWN, copy=False) is other
    assert whole(other) == whole(wanted)
    traced = trace(graph, OWN, copy=False)
    assert traced.graph is graph
    assert whole(graph) == whole(wanted)
    assert plain(traced.graph_after(len(traced.steps))) == plain(wanted)


@given(st.randoms(use_true_random=False), st.integers(0, 12))
def test_a_graph_edited_in_place_is_as_it_was_if_anything_fails(rng, limit):
    for graph in (dense(rng), Public(dense(rng))):
        fresh, before, unchanged = graph.fresh("add"), whole(graph), plain(graph)
        count = len(trace(graph, OWN).steps)
        try:
            rewrite(graph, OWN, copy=False, limit=limit)
        except RewriteError:
            assert count > limit
            graph.graph.pop("edges", None)  # that it has added some again, it remembers
            assert whole(graph)[:1] == before[:1]
            assert plain(graph) == unchanged
            assert graph.fresh("add") != fresh
        else:
            assert count <= limit


def test_nodes_that_come_back_stand_where_they_stood():
    graph = dense(random.Random(1))
    before = list(graph.nodes)
    with pytest.raises(RewriteError, match="do not end"):
        rewrite(graph, OWN, copy=False, limit=3)
    assert list(graph.nodes) == before


def test_a_pass_needs_a_copy():
    @pass_
    def spoil(graph):
        return []

    with pytest.raises(RuleError, match=r"'spoil' is a pass.*copy=True"):
        rewrite(Graph("g"), [spoil], copy=False)


def test_a_networkx_graph_is_edited_in_place():
    graph = nx.DiGraph(Graph.parse("graph g\nx = input() : f32[3]\na = neg(x)\nb = neg(a)\ny = output(b)"))
    assert rewrite(graph, [cancel_negations], copy=False) is graph
    assert set(graph) == {"x", "y"}


# ---------------------------------------------------------------------- what is refused


def test_edges_without_slots_are_complained_about():
    graph = Graph.parse("graph g\nx = input() : f32[3]\na = neg(x)\nb = neg(a)\ny = output(b)")
    del graph.edges["a", "b"]["slots"]
    with pytest.raises(Exception, match="slots of its operands are missing"):
        rewrite(graph, [cancel_negations])


def test_a_wrong_type_names_rule_and_node_and_leaves_the_graph_alone():
    @rule
    def wider(x):
        yield op.neg(op.relu(x))
        return op.flatten(x)

    graph = Graph.parse("graph g\nx = input() : f32[N,2,2]\na = relu(x)\nb = neg(a)\ny = output(b)")
    before = whole(graph)
    for copy in (True, False):
        with pytest.raises(RewriteError, match=r"rule 'wider'.*keeps types"):
            rewrite(graph, [wider], copy=copy)
        assert whole(graph) == before


def positive(value):
    return "f32" in str(value.type)


@rule
def with_a_condition(x: rule.where(positive, "it is of floats"), c):
    yield op.add(op.mul(x, c), 1.0)
    return op.fma(x, c, op.neg(x))


@rule
def in_python(x, c: Constant):
    yield op.add(op.mul(x, c), 1.0)
    return op.fma(x, c.value * 2, np.ones(3, np.float32)) if x.type.element == "f32" else decline("no floats")


@rule
def of_an_attribute(x, low: rule.where(lambda low: low < 1, "it is less than 1")):
    yield op.clip(x, low=low)
    return op.maximum(x, np.float32(low))


@rule
def of_two_roots(x):
    yield op.mul(x, 2.0), op.neg(x)
    return op.add(x, x), op.sub(0.0, x)


@pytest.mark.parametrize("member", [with_a_condition, in_python, of_an_attribute, of_two_roots], ids=lambda r: r.name)
def test_usual_matches_do_not_come_to_the_general_path(member, monkeypatch):
    graph = Graph("g")
    x = graph.input("x", VECTOR)
    for i in range(30):
        x = op.sub(op.add(op.mul(x, np.full(3, i, np.float32)), 1.0), op.clip(x, low=0.5))
        x = op.maximum(op.mul(x, 2.0), op.neg(x))
    graph.output("y", x)
    planned, edit = [], Rule.edit
    monkeypatch.setattr(
        Rule, "edit", lambda self, *args, **options: planned.append(args[1]) or edit(self, *args, **options)
    )
    steps = len(trace(graph, [member]).steps)
    assert steps == 30
    assert len(planned) <= Engine.patience


@rule
def absolute(x):
    yield op.neg(x)
    return op.abs(x)


class Breaks:
    """A watcher that fails when it is told something for the n-th time."""

    def __init__(self, times: int) -> None:
        self.left = times

    def tried(self, *_: Any) -> None:
        self.left -= 1
        if not self.left:
            raise KeyboardInterrupt

    def rewritten(self, *_: Any) -> None:
        self.tried()


@pytest.mark.parametrize("times", [1, 2, 5, 12, 13])
def test_a_step_is_undone_although_a_watcher_fails_at_it(times):
    lines = "".join(f"n{i} = neg(x)\ny{i} = output(n{i})\n" for i in range(20))
    graph = Graph.parse(f"graph g\nx = input() : f32[3]\n{lines}")
    before = whole(graph)[:2]
    with pytest.raises(KeyboardInterrupt):
        rewrite(graph, [absolute], copy=False, watcher=Breaks(times))
    assert whole(graph)[:2] == before


@pytest.mark.parametrize("limit", [0, 3])
def test_a_step_is_undone_although_an_analysis_fails_at_it(limit):
    asked = []

    def count(node):
        asked.append(node)
        if len(asked) > limit and node.op is op.abs:
            raise ValueError("of its own")
        return 1

    counts = Analysis("counts", unknown=lambda _: 0, kind=int, functions={op.abs: count, op.neg: count})

    @rule
    def asks(x):
        yield op.relu(x)
        return op.tanh(x) if x.fact(counts) == 7 else decline("not seven")

    lines = "".join(f"n{i} = neg(x)\nr{i} = relu(n{i})\ny{i} = output(r{i})\n" for i in range(20))
    graph = Graph.parse(f"graph g\nx = input() : f32[3]\n{lines}")
    before = whole(graph)[:2]
    with pytest.raises(GraphRewriteError, match="of its own"):
        rewrite(graph, [asks, absolute], copy=False, order="top-down")
    assert whole(graph)[:2] == before
