"""Rules over plain digraphs keep a meaning: machines, netlists, call graphs and workflows, as users write them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import networkx as nx
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from graphrewrite import Graph, op, rule
from graphrewrite.errors import RuleError
from graphrewrite.testing import check, digraphs
from graphrewrite.testing.meaning import Meaning, NoMeaningError, written
from tests.support.profiles import usual_examples

# ---------------------------------------------------------------------- graphs of four kinds, and what they mean


def language(machine: nx.DiGraph, longest: int = 6) -> set[str]:
    """The words up to a length that a state machine accepts; a label of no letter is a step without one."""
    (start,) = (state for state, data in machine.nodes(data=True) if data.get("start"))
    words, seen, states = set(), set(), {("", start)}
    while states:
        seen |= states
        words |= {word for word, state in states if machine.nodes[state].get("accepting")}
        states = {
            (word + data["label"], after)
            for word, state in states
            for _, after, data in machine.out_edges(state, data=True)
            if len(word + data["label"]) <= longest
        } - seen
    return words


def calls(graph: nx.DiGraph) -> dict[Any, set[Any]]:
    """Which functions each function that is not private reaches."""
    public = {name for name, data in graph.nodes(data=True) if not data.get("private")}
    return {name: nx.descendants(graph, name) & public for name in public}


def order(workflow: nx.DiGraph) -> nx.DiGraph:
    """Which task comes after which."""
    return nx.transitive_closure_dag(workflow)


def alone(values: list[bool]) -> bool:
    (value,) = values
    return value


GATES = {"not": lambda values: not alone(values), "buf": alone, "and": all}


def truth_table(netlist: nx.DiGraph) -> dict[Any, list[bool]]:
    """The values of the nets that are read by nobody, for all values of the inputs."""
    inputs = sorted((net for net, data in netlist.nodes(data=True) if data["gate"] == "in"), key=str)
    found: dict[Any, list[bool]] = {}
    for row in range(2 ** len(inputs)):
        values: dict[Any, bool] = {}
        for net in nx.topological_sort(netlist):
            gate, sources = netlist.nodes[net]["gate"], [values[source] for source in netlist.pred[net]]
            values[net] = bool(row >> inputs.index(net) & 1) if gate == "in" else GATES[gate](sources)
        for net in netlist:
            if not netlist.succ[net]:
                found.setdefault(net, []).append(values[net])
    return found


def drawn(*edges: tuple, **nodes: dict[str, Any]) -> nx.DiGraph:
    graph = nx.DiGraph()
    graph.add_edges_from(edges)
    graph.add_nodes_from(nodes.items())
    return graph


@dataclass
class Case:
    """A rule, the meaning that it keeps or does not keep, and where."""

    rule: Any
    meaning: Callable[[Any], Any]
    nodes: dict[str, Any]
    edges: dict[str, Any]
    acyclic: bool = False

    @property
    def graphs(self) -> st.SearchStrategy[nx.DiGraph]:
        return digraphs(
            containing=self.rule, node_attributes=self.nodes, edge_attributes=self.edges, acyclic=self.acyclic
        )


def skip_step(**options: Any) -> Case:
    """A step without a letter is left out: `p -a-> x --> q` becomes `p -a-> q`."""
    pattern = drawn(("p", "x"), ("x", "q", {"label": ""}), **options)
    skip = rule.from_graphs(pattern, drawn(("p", "q", {})), name="skip_step", interface=["p", "q"])
    return Case(skip, language, {"start": [False, True], "accepting": [False, True]}, {"label": ["", "a", "b"]})


def inner_state(data: dict[str, Any]) -> bool:
    return not data.get("start") and not data.get("accepting")


def skip_inner_step() -> Case:
    made = skip_step()
    no_loss = rule.from_graphs(
        drawn(("p", "x"), ("x", "q", {"label": ""})),
        lambda m: (
            drawn(("p", "q", dict(m.edge("p", "x")))) if inner_state(m["x"]) else rule.decline("it is no inner state")
        ),
        name="skip_inner_step",
        interface=["p", "q"],
        without=[drawn(("p", "q"))],
    )
    return Case(no_loss, made.meaning, made.nodes, made.edges)


def inline(**callee: Any) -> Case:
    """A function that nobody calls but one is part of it."""
    pattern = drawn(("f", "g"), ("g", "h"), g=callee)
    made = rule.from_graphs(pattern, drawn(("f", "h")), name="inline", interface=["f"], groups=["h"])
    return Case(made, calls, {"private": [False, True]}, {})


def drop_edge(*edges: tuple) -> Case:
    """What must come before anyway."""
    pattern = drawn(("a", "c"), *edges)
    kept = pattern.copy()
    kept.remove_edge("a", "c")
    return Case(rule.from_graphs(pattern, kept, name="drop_edge", interface=list(pattern)), order, {}, {}, True)


def drop_pair(gate: str) -> Case:
    """Two inverters, one after the other."""
    pattern = drawn(("s", "x"), ("x", "y"), x={"gate": "not"}, y={"gate": gate})
    wire = drawn(("s", "y"), y={"gate": "buf"})
    made = rule.from_graphs(pattern, wire, name="drop_pair", interface=["s", "y"])
    return Case(made, truth_table, {"gate": ["in", "not", "buf", "and"]}, {}, True)


WRONG = {
    "a machine": skip_step(),
    "a call graph": inline(),
    "a workflow": drop_edge(("a", "b"), ("c", "b")),
    "a netlist": drop_pair("buf"),
}
RIGHT = {
    "a machine": skip_inner_step(),
    "a call graph": inline(private=True),
    "a workflow": drop_edge(("a", "b"), ("b", "c")),
    "a netlist": drop_pair("not"),
}


@pytest.mark.parametrize("kind", WRONG)
def test_a_wrong_rule_is_refuted_on_graphs_that_are_described_and_on_those_that_a_meaning_asks_for(kind: str) -> None:
    case = WRONG[kind]
    found = (check(case.rule, on=case.graphs, meaning=case.meaning, seed=seed).verdict for seed in range(4))
    assert "refuted" in found
    report = check(case.rule, meaning=case.meaning, seed=0)
    assert report.verdict == "refuted", report
    assert len(report.counterexample.before) <= 4
    code = report.counterexample.code
    space = {case.rule.name: case.rule, case.meaning.__name__: case.meaning}
    exec(code, space)
    with pytest.raises((AssertionError, ValueError, KeyError, IndexError)):
        space[f"test_{case.rule.name}"]()


@pytest.mark.parametrize("kind", RIGHT)
def test_a_right_rule_is_not(kind: str) -> None:
    case = RIGHT[kind]
    with usual_examples():
        report = check(case.rule, on=case.graphs, meaning=case.meaning, seed=0)
    assert report, report  # that it is seldom compared may be said: many such graphs have no meaning
    assert report.evidence[case.rule.name].compared > 0


def test_a_meaning_gets_what_it_asks_for() -> None:
    case = RIGHT["a machine"]
    report = check(case.rule, meaning=case.meaning, seed=0)
    assert report.verdict == "preserved", report
    assert report.evidence[case.rule.name].compared > 10


# ---------------------------------------------------------------------- graphs without a meaning


class Odd:
    """Of the kind of a table whose comparison is no truth value."""

    __hash__ = None

    def __eq__(self, other: object) -> Any:
        return np.zeros(2) == 0


TURN = rule.from_graphs(drawn(("a", "b", {"way": 1})), drawn(("b", "a", {"way": 2})), name="turn", interface=["a", "b"])
ONE = drawn(("a", "b", {"way": 1}))


def test_a_graph_without_a_meaning_shows_nothing() -> None:
    def fails(graph: nx.DiGraph) -> None:
        raise ValueError("no start node")

    report = check(TURN, on=ONE, meaning=fails)
    assert report.counterexample is None


@pytest.mark.parametrize("told", [set(), 7, "same"], ids=str)
def test_a_meaning_that_is_the_same_for_all_graphs_is_weak(told: Any) -> None:
    report = check(WRONG["a call graph"].rule, meaning=lambda graph: told, seed=0)
    assert report.verdict == "weak"
    assert f"every graph had the same meaning, {written(told)}" in str(report)


def test_a_meaning_that_gives_nothing_compares_nothing() -> None:
    report = check(WRONG["a call graph"].rule, meaning=lambda graph: None, seed=0)
    assert (report.verdict, bool(report)) == ("not compared", False)
    assert "the meaning gives None" in str(report)


def test_a_meaning_that_gives_nothing_of_one_graph_only_is_compared() -> None:
    def way(graph: nx.DiGraph) -> Any:
        return next((data["way"] for *_, data in graph.edges(data=True) if data["way"] == 1), None)

    assert check(TURN, on=ONE, meaning=way).counterexample.reason == "way was 1 and became None"


def test_a_meaning_that_is_lost_refutes() -> None:
    def first(graph: nx.DiGraph) -> Any:
        return graph.edges["a", "b"]

    report = check(TURN, on=ONE, meaning=first)
    assert report.counterexample.reason.startswith("first fails afterwards: KeyError")


def test_a_graph_stays_as_it_is_whatever_a_meaning_does_to_it() -> None:
    def emptying(graph: nx.DiGraph) -> int:
        graph.clear()
        return len(graph)

    assert check(TURN, on=ONE, meaning=emptying).counterexample is None
    assert list(ONE.edges) == [("a", "b")]


def test_the_rule_of_a_set_that_changes_it_is_named() -> None:
    keep = rule.from_graphs(
        drawn(("a", "b", {"way": 1})), drawn(("a", "b", {"way": 1, "seen": True})), name="keep", interface=["a", "b"]
    )
    cut = rule.from_graphs(
        drawn(("a", "b", {"seen": True})), drawn(a={}, b={"cut": True}), name="cut", interface=["a", "b"]
    )
    report = check([keep, cut], on=ONE, meaning=nx.number_of_edges)
    assert str(report.counterexample.culprit).startswith("cut (")


def test_graphs_of_ops_may_have_another_meaning_too() -> None:
    @rule
    def double(x):
        yield op.add(x, x)
        return op.mul(x, 2)

    g = Graph.parse("graph g\nx = input() : f32[N]\na = add(x, x)\ny = output(a)")
    assert check(double, on=g, meaning=lambda graph: graph.outputs).verdict == "preserved"
    assert check(double, on=g, meaning=len).counterexample.reason == "len was 3 and became 4"


@pytest.mark.parametrize(
    ("meaning", "message"),
    [
        (3, "meaning is a function from a graph to what must stay as it is, not int"),
        (nx.has_path, "has_path cannot be called with a graph alone: missing a required argument: 'source'"),
        (iter, "iter gives another dict_keyiterator each time"),
        (lambda graph: Odd(), "what the meaning gives cannot be compared"),
    ],
)
def test_what_cannot_be_compared_is_said(meaning: Any, message: str) -> None:
    with pytest.raises(RuleError, match=message):
        check(TURN, on=ONE, meaning=meaning)


# ---------------------------------------------------------------------- what counts as another meaning

LEAVES = st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=3)
HASHED = st.integers() | st.text(max_size=3) | st.tuples(st.integers(), st.text(max_size=2))
VALUES = st.recursive(
    LEAVES,
    lambda inner: st.lists(inner) | st.tuples(inner, inner) | st.dictionaries(HASHED, inner) | st.frozensets(HASHED),
    max_leaves=6,
)


@given(VALUES, VALUES)
def test_meanings_are_equal_as_values_are(was: Any, became: Any) -> None:
    def change(one: Any, other: Any) -> str:
        left, right = drawn(), drawn(("a", "a"))
        return Meaning(lambda graph: other if graph.edges else one).change(left, right)

    assert change([was], eval(repr([was]), {"nan": float("nan"), "inf": float("inf")})) == ""
    if repr(was) == repr(became):
        assert change([was], [became]) == ""
    elif "nan" not in repr((was, became)):
        assert bool(change(was, became)) == (was != became)
    arrays = np.array([0, 1.5, np.nan]), np.array([0, 1.5, 2])
    assert (change([was, arrays[0]], [was, arrays[0].copy()]), bool(change(*arrays))) == ("", True)


@given(VALUES)
def test_equal_meanings_are_one_text(value: Any) -> None:
    same = eval(repr(value), {"nan": float("nan"), "inf": float("inf")})
    assert written(value) == written(same)
    assert written({"b": value, "a": 1}) == written({"a": 1, "b": same})


def test_a_difference_is_told_by_what_differs() -> None:
    def told(one: Any, other: Any, tolerance: float | None = None) -> str:
        return Meaning(lambda graph: other if graph.edges else one, tolerance).change(drawn(), ONE)

    assert told({"ab", "b"}, {"b", "c"}) == "the meaning lost 'ab' and gained 'c'"
    assert told(set(range(9)), set()) == "the meaning lost 0, 1, 2, 3 and 5 more"
    assert told({"f": {"g", "h"}}, {"f": {"g"}}) == "the meaning['f'] lost 'h'"
    assert told([1, (2, 3)], [1, (2, 4)]) == "the meaning[1][1] was 3 and became 4"
    assert told([1, 2], [1]) == "the meaning had 2 entries and has 1"
    assert told(np.eye(2), np.ones((2, 2))) == "the meaning[0, 1] was 0.0 and became 1.0"
    assert told(np.eye(2), np.eye(3)) == "the meaning was float64[2, 2] and became float64[3, 3]"
    assert told(nx.path_graph(3), nx.path_graph(2)) == "the nodes of the meaning lost 2"
    assert told(drawn(("a", "b", {"w": 1})), drawn(("a", "b", {"w": 2}))) == (
        "the edges of the meaning[('a', 'b')]['w'] was 1 and became 2"
    )
    assert told({"t": 0.1 + 0.2}, {"t": 0.3}, 1e-9) == ""


def test_a_graph_without_a_meaning_is_told_from_one_that_lost_it() -> None:
    meaning = Meaning(lambda graph: graph.edges["a", "b"])
    with pytest.raises(NoMeaningError, match="the meaning fails: KeyError"):
        meaning.change(drawn(), ONE)
    assert meaning.change(ONE, drawn()).startswith("the meaning fails afterwards")
