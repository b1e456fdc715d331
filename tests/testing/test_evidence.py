"""A verdict says what was compared, and never more."""

from __future__ import annotations

import pickle
from typing import Any

import networkx as nx
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from graphrewrite import Constant, Graph, Tensor, decline, define_op, op, pass_, rule
from graphrewrite.errors import TypeMismatchError
from graphrewrite.graph.rewiring import rewire
from graphrewrite.rewriting.digraph_rules import from_graphs
from graphrewrite.testing import (
    EvidenceWarning,
    assert_confluent,
    assert_idempotent,
    assert_preserves,
    assert_terminates,
    check,
)
from graphrewrite.testing.evidence import Evidence, collect, merged
from graphrewrite.testing.firing import Firing
from tests.support.profiles import fewer_examples


def rectified(slope: float) -> Graph:
    graph = Graph("g")
    graph.output("y", op.identity(op.leaky_relu(graph.input("x", Tensor("f32", ("N",))), alpha=slope)))
    return graph


@pytest.mark.parametrize("wrong", [0.5, 2.0])
@pytest.mark.parametrize("drawn", [{0.5}, {0.25, 3.0}, {0.25, 2.0, 3.0}], ids=str)
def test_a_value_that_was_not_compared_is_not_said_to_be(drawn, wrong):
    @rule
    def follow(x, slope):
        """Wrong at one slope."""
        yield op.identity(op.leaky_relu(x, alpha=slope))
        return op.leaky_relu(x, alpha=slope + (slope == wrong))

    with fewer_examples():
        report = check(follow, on=st.sampled_from(sorted(drawn)).map(rectified), seed=0)
    compared = set(report.evidence["follow"].attributes.get("leaky_relu.alpha", ()))
    if wrong in drawn:
        assert report.verdict == "refuted"
        assert wrong not in compared
    else:
        assert compared == drawn
        assert report.verdict == ("weak" if len(drawn) == 1 else "preserved")
        assert ("leaky_relu.alpha was always" in str(report)) == (len(drawn) == 1)
        assert all(f"{slope} (" in str(report) for slope in sorted(drawn)[:2])


def test_the_numbers_of_constants_are_counted():
    @rule
    def minus(x, c: Constant):
        yield op.sub(x, c)
        return op.add(x, op.neg(c))

    def less(numbers: list[float]) -> Graph:
        graph = Graph("less")
        graph.output("y", op.sub(graph.input("x", Tensor("f32", ("N", 2))), np.float32(numbers)))
        return graph

    drawn = st.sampled_from([[2.0, 2.0], [0.0, -1.0], [np.inf, 3.0]])
    with fewer_examples():
        report = check(minus, on=drawn.map(less), seed=0)
    counted = report.evidence["minus"].constants["c"]
    assert set(counted) == {"all equal", "several", "zero", "negative", "infinite"}
    assert counted["zero"] == counted["negative"] < counted["several"]
    assert counted.total() - counted["zero"] - counted["negative"] - counted["infinite"] == report.graphs
    assert f"constant c several ({counted['several']})" in " ".join(str(report).split())


@rule
def summed(x, y):
    """A sum is a difference."""
    yield op.add(x, y)
    return op.sub(x, op.neg(y))


@rule
def doubled(x, y):
    """What is added to itself is doubled."""
    yield op.add(x, y)
    return op.mul(x, 2.0) if x == y and x.type.element == "f32" else decline("two values")


@pytest.mark.parametrize(
    ("subject", "apart", "is_told"), [(summed, False, True), (summed, True, False), (doubled, True, False)]
)
def test_variables_that_were_always_one_value_are_told(subject, apart, is_told):
    def of(size: int) -> Graph:
        graph = Graph("g")
        x, z = (graph.input(name, Tensor("f32", ("N", size))) for name in "xz")
        graph.output("y", op.add(x, z if apart and size % 2 else x))
        return graph

    with fewer_examples():
        report = check(subject, on=st.integers(1, 9).map(of), seed=0)
    assert ("x and y were always one value" in str(report)) == is_told
    assert report.verdict == ("weak" if is_told else "preserved")


def test_one_graph_that_was_asked_for_is_enough():
    @rule
    def keep_slope(x, slope):
        yield op.identity(op.leaky_relu(x, alpha=slope))
        return op.leaky_relu(x, alpha=slope)

    with fewer_examples():
        assert check(keep_slope, on=rectified(0.5), seed=0).verdict == "preserved"


@pass_
def drop_dilations(graph):
    """Wrong, and tried where nobody looks."""
    dilated = [n for n, data in graph.nodes.items() if "dilations" in data]
    for node in dilated:
        del graph.nodes[node]["dilations"]
    return dilated


@rule
def gather_twice(x, i, j):
    """Two gathers are one, of gathered indices."""
    yield op.gather(op.gather(x, i, axis=0), j, axis=0)
    if not i.shape:
        return decline("one index takes the axis away")
    return op.gather(x, op.gather(i, j, axis=0), axis=0)


@rule
def sign_lost(x):
    """Wrong of any number."""
    yield op.neg(x)
    return op.identity(x)


EMPTY = Graph.parse("""
graph g
x = input() : f32[N,0]
n = neg(x) : f32[N,0]
a = abs(n) : f32[N,0]
y = output(a)
""")
DEAD = Graph.parse("""
graph g
x = input() : f32[N,1,5,5]
w = constant(value=[[[[1.0]]]]) : f32[1,1,1,1]
c = conv(x, w, dilations=[2, 2]) : f32[N,1,5,5]
y = output(x)
""")
OUT_OF_RANGE = Graph.parse("""
graph g
x = input() : f32[4]
i = constant(value=[0, 1]) : i64[2]
j = constant(value=[5]) : i64[1]
a = gather(x, i) : f32[2]
b = gather(a, j) : f32[1]
y = output(b)
""")


@pytest.mark.parametrize(
    ("subject", "on", "told"),
    [
        (drop_dilations, DEAD, "where no output depends on it"),
        (gather_twice, OUT_OF_RANGE, "cannot be evaluated, such as node 'b': gather.* is outside of axis 0"),
    ],
    ids=["dead", "undefined"],
)
def test_what_has_no_values_to_compare_is_not_compared(subject, on, told):
    with fewer_examples():
        report = check(subject, on=on, seed=0)
        assert (report.verdict, bool(report), report.counterexample) == ("not compared", False, None)
        assert report.evidence[subject.name].compared == 0
        with pytest.raises(AssertionError, match=f"(?s)not compared.*{told}"):
            assert_preserves(subject, on=on)


def test_of_what_has_no_entries_types_alone_are_compared():
    with fewer_examples():
        report = check(sign_lost, on=st.just(EMPTY), seed=0)
    assert (report.verdict, report.evidence["sign_lost"].compared) == ("weak", 0)
    assert report.gaps == ("what it changed never had an entry, so that types alone were compared",)
    assert f"0 graphs; {report.graphs} where it has no entries" in str(report)


@pass_
def only_clean(graph):
    """What is dead goes."""
    dead = graph.dead_nodes()
    graph.remove_nodes_from(dead)
    return list(dead)


@pass_
def mostly_clean(graph):
    """What is dead goes, and what does nothing; it is seldom there."""
    idle = [n for n, data in graph.nodes.items() if data["type"] == "identity"]
    for node in idle:
        rewire(graph, node, graph.operands(node)[0])
    dead = graph.dead_nodes()
    graph.remove_nodes_from(dead)
    return [*idle, *dead]


def _with_dead(number: int) -> Graph:
    graph = Graph("some")
    x = graph.input("x", Tensor("f32", ("N",)))
    op.relu(x)
    graph.output("y", op.identity(x) if number % 50 == 7 else op.neg(x))
    return graph


def test_what_only_removes_dead_nodes_counts_apart():
    on = st.integers(0, 999).map(_with_dead)
    with fewer_examples():
        report, other = check(only_clean, on=on, seed=0), check(mostly_clean, on=on, seed=0)
    evidence = report.evidence["only_clean"]
    assert (report.verdict, evidence.compared, evidence.cleared) == ("preserved", 0, report.graphs)
    assert f"0 graphs; {report.graphs} from which only dead nodes went" in str(report)
    evidence = other.evidence["mostly_clean"]
    assert (evidence.compared + evidence.cleared, evidence.compared < 5) == (other.graphs, True)
    assert (other.verdict, other.advice[0]) == (
        "weak",
        f"it was compared on {evidence.compared} of {other.graphs} graphs",
    )


@pytest.mark.parametrize("seed", range(3))
def test_a_graph_without_values_is_no_fault_of_the_rule(seed):
    with fewer_examples():
        report = check(gather_twice, seed=seed)
    assert report.verdict in ("preserved", "weak"), report


def _gathered(number: int) -> Graph:
    """Two gathers, the second of which is out of range but for few."""
    graph = Graph("gathered")
    x = graph.input("x", Tensor("f32", (4,)))
    graph.output("y", op.gather(op.gather(x, np.array([0, 1])), np.array([0 if number % 8 == 7 else 5])))
    return graph


def test_what_mostly_fails_is_weak_however_much_else_is_compared():
    report = check(gather_twice, on=st.integers(0, 999).map(_gathered), seed=0)
    evidence = report.evidence["gather_twice"]
    assert evidence.compared >= 5
    assert evidence.failed.total() > 5 * evidence.compared
    assert (report.verdict, report.counterexample) == ("weak", None)
    assert f"graphs that cannot be evaluated, and was compared on {evidence.compared}" in str(report)


@rule
def rare(x, c: Constant):
    """Right, and picky."""
    yield op.sub(x, c)
    if c.value % 97:
        return decline("not today")
    return op.add(x, -c.value)


def _less(number: int) -> Graph:
    graph = Graph("less")
    graph.output("y", op.sub(graph.input("x", Tensor("f32", ())), np.float32(number)))
    return graph


@pytest.mark.slow
@pytest.mark.parametrize("claim", [assert_preserves, assert_idempotent, assert_confluent, assert_terminates])
def test_what_fired_rarely_is_weak(claim):
    with pytest.warns(EvidenceWarning, match=r"(?s)rare: weak: .* compared on \d of") as told:
        claim(rare, seed=1, on=st.integers(1, 1000).map(_less))
    assert told[0].filename == __file__


def test_a_digraph_without_a_meaning_is_well_formed_only():
    pattern, replacement = nx.DiGraph(), nx.DiGraph()
    pattern.add_node("a", type="A")
    replacement.add_node("a", type="B")
    rename = from_graphs(pattern, replacement, name="rename")
    report = check(rename, seed=0)
    assert (report.verdict, bool(report)) == ("well formed only", True)
    with pytest.warns(EvidenceWarning, match="rename: well formed only"):
        assert_preserves(rename, seed=0)


# ---------------------------------------------------------------------- ops of one's own


@define_op(infer=lambda x: x)
def repeated(x):
    """Longer than it says."""
    return np.concatenate([x, x], axis=-1) if x.ndim else x


@define_op(infer=lambda x: Tensor("i32", x.shape))
def halved(x):
    """Of another type than it says."""
    return x / 2


@define_op(infer=lambda x: x)
def positive(x):
    """A truth value, and says a number."""
    return x > 0


@define_op(infer=lambda x: Tensor("i64", x.shape))
def counted(x):
    """Whole, and yet a float."""
    return (x > 0) / 1


def _of_floats(x):
    if x.element not in ("f32", "f64"):
        raise TypeMismatchError("squares are of floats")
    return x


@define_op(infer=_of_floats)
def squared(x):
    """As it says, though in more bits."""
    return np.square(x.astype(np.float64))


@pytest.mark.parametrize(
    ("wrong", "told"),
    [
        (
            repeated,
            r"its infer says f32\[.*\] for \(f32\[.*\]\),.* and its function gave float32\[.*2\]",
        ),
        (halved, r"its infer says i32\[.*\] for .* and its function gave (-?\d*\.5, which is no i32|float)"),
        (positive, r"its infer says f32\[.*\] for .* and its function gave bool\["),
        (counted, r"its infer says i64\[.*\] for .* and its function gave float"),
    ],
    ids=lambda each: getattr(each, "name", ""),
)
def test_an_op_that_infers_another_type_is_blamed_itself(wrong, told):
    @rule
    def of_op(x):
        yield op.neg(wrong(x))
        return wrong(op.neg(x))

    report = check(of_op, seed=0)
    assert (report.verdict, bool(report)) == ("not compared", False)
    with pytest.raises(AssertionError, match=f"of_op: not compared: the op '{wrong.name}' is wrong, .*{told}"):
        assert_preserves(of_op, seed=0)
    assert f"made by: {wrong.name} (" in str(report)
    space = {wrong.name: wrong}
    exec(report.counterexample.code, space)
    with pytest.raises(AssertionError):
        space["test_of_op"]()


def test_an_op_may_compute_in_more_bits():
    @rule
    def of_op(x):
        yield squared(op.neg(x))
        return squared(x)

    with fewer_examples():
        assert check(of_op, seed=0).counterexample is None


# ---------------------------------------------------------------------- sums

FIRINGS = st.builds(
    Firing,
    st.sampled_from(["one", "other"]),
    st.booleans(),
    st.dictionaries(st.sampled_from(["conv.groups", "clip.low"]), st.frozensets(st.integers(0, 2), min_size=1)),
    st.just({}),
    st.dictionaries(st.just("b"), st.booleans()),
    st.frozensets(st.sampled_from(["f32", "i8"])),
    st.frozensets(st.integers(0, 3)),
    st.booleans(),
    alike=st.dictionaries(st.just("x and y"), st.booleans()),
)
GRAPHS = st.tuples(st.lists(FIRINGS, max_size=3), st.sampled_from(["", "no value"]), st.booleans())


@given(st.lists(GRAPHS, max_size=6), st.integers(0, 6))
def test_evidence_adds_up_however_it_is_split(graphs, cut):
    def noted(some: Any) -> dict[str, Evidence]:
        found: dict[str, Evidence] = {}
        for firings, failure, unchanged in some:
            collect(found, firings, failure=failure, unchanged=unchanged)
        return found

    whole, parts = noted(graphs), (noted(graphs[:cut]), noted(graphs[cut:]))
    assert merged(*pickle.loads(pickle.dumps(parts))) == whole
    for name, evidence in whole.items():
        fired = sum(any(each.member == name for each in firings) for firings, _, _ in graphs)
        apart = evidence.dead + evidence.cleared + evidence.unchanged + sum(evidence.failed.values())
        assert fired == evidence.compared + apart
