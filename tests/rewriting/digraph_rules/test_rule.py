"""Graph rules as their users meet them: printed, explained, refused when written wrongly, applied by the engine."""

from __future__ import annotations

import random
from copy import deepcopy

import networkx as nx
import pytest

from graphrewrite import Graph, Tensor, op, rule
from graphrewrite.errors import GraphError, RewriteError, RuleError
from graphrewrite.rewriting.digraph_rules import from_graphs
from graphrewrite.rewriting.engine.entry import rewrite
from graphrewrite.rewriting.pattern.condition import Where
from graphrewrite.rewriting.rule.outcome import Declined
from graphrewrite.rewriting.traces import trace
from tests.support.digraph_reference import random_graph, random_written
from tests.support.profiles import some_of


def graph_of(edges: list[tuple], **types: object) -> nx.DiGraph:
    graph = nx.DiGraph()
    graph.add_edges_from(edges)
    for name, kind in types.items():
        graph.add_node(name, type=kind)
    return graph


PATTERN = graph_of([("s", "x"), ("x", "e")], x="B")
REPLACEMENT = graph_of([("s", "e")])


def drop(pattern=PATTERN, replacement=REPLACEMENT, *, name="drop", interface=("s", "e"), **options):
    return from_graphs(pattern, replacement, name=name, interface=interface, **options)


# ---------------------------------------------------------------------- printed


@pytest.mark.parametrize(
    ("made", "printed"),
    [
        (drop(), "s -> x: B -> e; interface s, e"),
        (drop(groups=["e"]), "s -> x: B -> *e; interface s, e"),
        (drop(induced=True), "s -> x: B -> e; interface s, e; induced"),
        (drop(without=[graph_of([("s", "e")])]), "s -> x: B -> e; interface s, e; without s -> e"),
        (drop(condition=Where(bool, "it is so")), "s -> x: B -> e; interface s, e; where it is so"),
        (
            drop(graph_of([("s", "x", {"w": {2, 1}}), ("x", "e"), ("s", "e"), ("x", "x")], x={"C", "B"})),
            "s -[w={1, 2}]-> x: {'B', 'C'} -> e, s -> e, x -> x; interface s, e",
        ),
        (from_graphs(graph_of([("a", "b"), ("b", "a")]), graph_of([], c="C"), name="r"), "a -> b -> a"),
        (from_graphs(graph_of([], a="A", b="B"), graph_of([], c="C"), name="r"), "a: A, b: B"),
    ],
)
def test_a_pattern_is_printed_on_one_line(made, printed: str) -> None:
    assert str(made.pattern) == printed
    assert repr(made.pattern) == f"<pattern {printed}>"
    assert str(made) == f"{made.name}: {printed}"


def test_a_rule_knows_where_it_is_written() -> None:
    made = drop()
    assert made.file == __file__
    assert 0 < made.line < 400
    assert repr(made) == "<rule drop>"


def test_its_graphs_cannot_be_changed_afterwards() -> None:
    pattern = PATTERN.copy()
    made = drop(pattern)
    pattern.nodes["x"]["type"] = "C"
    assert made.pattern.graph.nodes["x"] == {"type": "B"}
    with pytest.raises(nx.NetworkXError, match="Frozen"):
        made.pattern.graph.add_node("y")


# ---------------------------------------------------------------------- explained


def chain() -> nx.DiGraph:
    return graph_of([("a", "b"), ("b", "c")], a="A", b="B", c="C")


def explained(made, graph: nx.DiGraph, at: object) -> str:
    told = made.explain(graph, at=at)
    assert told.startswith(f"drop does not match at {at!r} as ")
    assert told.endswith(".")
    return told.removeprefix("drop does not match at ")


def test_a_match_is_explained_wherever_it_is_asked_for() -> None:
    assert drop().explain(chain(), at="b") == "drop matches at 'b' as x: drop at 'b' with s='a', x='b', e='c'."
    assert drop().explain(chain(), at="a") == "drop matches at 'a' as s: drop at 'b' with s='a', x='b', e='c'."


def test_a_wrong_attribute_is_named() -> None:
    made = drop(graph_of([("s", "x"), ("x", "e")], x="B", e={"D", "E"}))
    assert explained(made, chain(), "b") == ("'b' as x: 'c' has type 'C', and the pattern needs {'D', 'E'} for e.")


def test_a_missing_attribute_is_named() -> None:
    pattern = PATTERN.copy()
    pattern.nodes["e"]["size"] = range(3)
    assert "'c' has no attribute 'size', and the pattern needs range(0, 3) for e" in explained(
        drop(pattern), chain(), "b"
    )


def test_a_predicate_is_named_with_its_reason() -> None:
    pattern = PATTERN.copy()
    pattern.nodes["e"]["type"] = Where(lambda kind: kind == "D", "it is a sink")
    assert "'c' has type 'C', and the pattern needs: it is a sink for e" in explained(drop(pattern), chain(), "b")


def test_a_wrong_edge_is_named() -> None:
    pattern = PATTERN.copy()
    pattern.edges["x", "e"]["w"] = 2
    graph = chain()
    graph.edges["b", "c"]["w"] = 1
    assert "the edge 'b' -> 'c' has w 1, and the pattern needs 2 for x -> e" in explained(drop(pattern), graph, "b")


def test_a_missing_edge_is_named() -> None:
    assert "'b' has 0 edges coming in, and the pattern has 1 for x" in explained(
        drop(), graph_of([("b", "c")], b="B"), "b"
    )
    pattern = graph_of([("s", "x"), ("x", "e"), ("s", "e")], x="B")
    assert "there is no edge 'a' -> 'c', and the pattern has s -> e" in explained(
        drop(pattern, graph_of([("s", "e"), ("e", "s")])),
        graph_of([("a", "b"), ("b", "c"), ("a", "d"), ("d", "c")], b="B"),
        "b",
    )
    pattern = graph_of([("s", "x"), ("t", "x"), ("x", "e")], x="B")
    made = drop(pattern, graph_of([("s", "e"), ("t", "e")]), interface=["s", "t", "e"])
    assert "'b' has 1 edge coming in, and the pattern has 2 for x" in explained(made, chain(), "b")
    # One node cannot stand for two.
    graph = graph_of([("a", "b"), ("b", "a"), ("b", "b")], b="B")
    pattern = graph_of([("s", "x"), ("x", "x"), ("x", "e")], x="B")
    assert "with x='b', s='a', there is no edge left that could be x -> e" in explained(drop(pattern), graph, "b")


def test_a_forbidden_edge_is_named() -> None:
    graph = chain()
    graph.add_edge("a", "c")
    assert drop().find(graph)
    assert "there is an edge 'a' -> 'c', and the induced pattern has no s -> e" in explained(
        drop(induced=True), graph, "b"
    )
    graph = chain()
    graph.add_edge("c", "c")
    assert "there is an edge 'c' -> 'c', and the induced pattern has no e -> e" in explained(
        drop(induced=True), graph, "b"
    )


def test_an_outside_neighbour_is_named() -> None:
    graph = chain()
    graph.add_edge("d", "b")
    assert "'b' has an edge to the outside of the match, 'd' -> 'b', and x is no interface node" in explained(
        drop(), graph, "b"
    )
    graph.add_edges_from((f"d{i}", "b") for i in range(9))
    assert (
        "'b' has 11 edges coming in, more than 4: one is to the outside of the match, and x is no interface node"
        in explained(drop(), graph, "b")
    )


@pytest.mark.parametrize("extra", [("b", "b"), ("b", "a"), ("c", "b")])
def test_an_edge_that_a_removed_node_would_take_along_is_named(extra: tuple) -> None:
    graph = chain()
    graph.add_edge(*extra)
    a, b = extra
    assert f"'b' has an edge that the pattern does not have, {a!r} -> {b!r}, and x is no interface node" in explained(
        drop(), graph, "b"
    )


def test_what_must_not_be_there_is_named() -> None:
    graph = chain()
    graph.add_edge("a", "r")
    made = drop(without=[graph_of([("s", "other")])])
    assert "what without[0] forbids is there: s='a', other='r'" in explained(made, graph, "b")
    assert made.find(chain())


def test_a_condition_on_the_whole_is_named() -> None:
    made = drop(condition=Where(lambda m: m["s"]["type"] == m["e"]["type"], "both ends have one type"))
    assert explained(made, chain(), "b") == (
        "'b' as x: with s='a', x='b', e='c', the pattern needs of the whole match: both ends have one type."
    )


def test_the_furthest_point_counts() -> None:
    made = drop(graph_of([("s", "x"), ("x", "e")], x="B", e="D"))
    graph = graph_of([("a", "b"), ("b", "c"), ("b", "d")], b="B", c="C")
    assert (
        explained(made, graph, "a") == "'a' as s: with s='a', x='b', 'c' has type 'C', and the pattern needs 'D' for e."
    )
    assert explained(made, graph, "c") == "'c' as x: 'c' has type 'C', and the pattern needs 'B' for x."


def test_explaining_needs_a_node_of_a_digraph() -> None:
    with pytest.raises(GraphError, match="node 'bb': is not in the graph"):
        drop().explain(chain(), at="bb")
    parallel = nx.MultiDiGraph([("a", "b"), ("b", "c"), ("b", "c")])
    for use in (drop(), drop().find, lambda graph: drop().explain(graph, at="b"), Graph, drop):
        with pytest.raises((GraphError, RuleError), match="of several edges between two nodes, such as 'b' -> 'c', ma"):
            use(parallel)
    for graph in (nx.Graph(), nx.MultiDiGraph()):
        with pytest.raises(GraphError, match=f"{type(graph).__name__} is not a graph that graph rules work on"):
            drop().explain(graph, at="b")
        with pytest.raises(GraphError, match=f"{type(graph).__name__} is not a graph that graph rules work on"):
            drop().find(graph)


# ---------------------------------------------------------------------- written wrongly


LOOP = graph_of([("s", "x"), ("x", "e"), ("e", "e")])


@pytest.mark.parametrize(
    ("written", "message"),
    [
        ({"pattern": nx.DiGraph()}, "its pattern is empty; give it at least one node"),
        ({"pattern": nx.Graph()}, "its pattern is a Graph; make it a networkx.DiGraph: graph.to_directed"),
        ({"pattern": nx.MultiDiGraph()}, "its pattern is a MultiDiGraph; make it a networkx.DiGraph: networkx.DiGraph"),
        ({"replacement": nx.Graph()}, "its replacement is a Graph; make it"),
        ({"replacement": None}, "its replacement is a NoneType; make it a"),
        ({"without": [nx.MultiDiGraph()]}, r"without\[0\] is a MultiDiGraph; make it"),
        ({"without": graph_of([("s", "e")])}, r"without is a collection of graphs; write without=\[graph\]"),
        ({"interface": "s"}, r"interface is a collection of names; write interface=\['s'\]"),
        ({"interface": ["s", "end"]}, "interface names 'end', which the pattern does not have; it must be a node"),
        (
            {"interface": ["s", "e"], "groups": ["ee"]},
            "groups names 'ee', which the pattern does not have; did you mean",
        ),
        ({"replacement": graph_of([("s", "y")])}, "its replacement lacks the interface node 'e'"),
        ({"replacement": PATTERN}, "its replacement is its pattern; change an attribute, a node or an edge"),
        ({"replacement": PATTERN, "interface": ["s", "x", "e"]}, "its replacement is its pattern"),
        ({"without": [graph_of([("p", "q")])]}, r"without\[0\] shares no node with the pattern"),
        (
            {"without": [graph_of([("s", "x")])]},
            r"without\[0\] asks for nothing beside the pattern; the rule would nev",
        ),
        ({"without": [graph_of([("e", "q")])], "groups": ["e"]}, r"without\[0\] names the group 'e'"),
        ({"interface": ["s", "x"], "groups": ["e"]}, "the group 'e' is connected to the interface node 'x'"),
        ({"pattern": graph_of([("s", "x")], e="E"), "groups": ["e"]}, "the group 'e' is connected to nothing"),
        ({"groups": ["s", "e"], "pattern": graph_of([("s", "e")])}, "its pattern holds groups only"),
        ({"groups": ["s", "e"], "pattern": graph_of([("s", "x"), ("e", "x")])}, "the groups 's' and 'e' both feed 'x'"),
        ({"groups": ["s", "e"], "pattern": graph_of([("x", "s"), ("x", "e")])}, "the groups 's' and 'e' both read 'x'"),
        ({"groups": ["e"], "replacement": LOOP}, "its replacement has an edge from the group 'e' to itself"),
        ({"keeps": "exakt"}, "keeps is 'exact', 'rounding' or 'assumes'"),
        ({"name": ""}, "its name is empty"),
        ({"condition": "x > 3"}, "its condition is neither a predicate nor rule.where"),
        (
            {"replacement": graph_of([("s", "e", {"w": Where(bool, "it is so")})])},
            "edge 's' -> 'e' of its replacement has a condition for 'w'; give a value",
        ),
    ],
)
def test_what_is_written_wrongly_is_refused_when_it_is_defined(written: dict, message: str) -> None:
    with pytest.raises(RuleError, match=rf"rule '\w*' \(.*test_rule.py:\d+\): {message}"):
        drop(**written)


# ---------------------------------------------------------------------- applied


def test_a_plain_digraph_goes_in_and_comes_out() -> None:
    class Mine(nx.DiGraph):
        pass

    graph = Mine(name="mine", version=1)
    graph.add_nodes_from((i, {"type": "B"}) for i in range(5))
    graph.add_edges_from((i, i + 1, {"w": i}) for i in range(4))
    before = deepcopy(graph)
    made = drop()(graph)
    assert type(made) is Mine
    assert made.graph == {"name": "mine", "version": 1}
    assert list(made.edges(data=True)) == [(0, 4, {"w": 3})]
    assert nx.utils.graphs_equal(graph, before)
    found = trace(graph, drop())
    assert [len(found.graph_after(index)) for index in range(len(found) + 1)] == [5, 4, 3, 2]
    assert nx.utils.graphs_equal(found.graph_after(len(found)), made)
    nothing = trace(made, drop())
    assert (len(nothing), bool(nothing)) == (0, True)


def test_rules_of_both_kinds_in_one_set() -> None:
    graph = Graph("mixed")
    x = graph.input("x", Tensor("f32", ("N",)))
    graph.output("y", op.relu(op.identity(op.relu(op.identity(x)))))
    pattern = graph_of([("s", "a"), ("a", "b"), ("b", "e")], a="relu", b="relu")
    once = from_graphs(pattern, graph_of([("s", "a"), ("a", "e")]), name="once", interface=["s"], groups=["e"])

    @rule
    def drop_identity(x):
        """The identity is its operand."""
        yield op.identity(x)
        return x

    made = rewrite(graph, [once, drop_identity], verify=True)
    assert str(made) == "graph mixed\nx = input() : f32[N]\nrelu_1 = relu(x) : f32[N]\ny = output(relu_1)"
    assert trace(graph, [once, drop_identity]).counts == {"drop_identity": 2, "once": 1}


@pytest.mark.slow
def test_a_rule_set_ends_where_no_rule_matches() -> None:
    ended = 0
    for seed in some_of(range(1500)):
        rng = random.Random(f"end {seed}")
        graph = random_graph(rng)
        first, second = random_written(rng, graph).rule(), random_written(rng, graph).rule()
        second.name = "second"
        before = deepcopy(graph)
        try:
            made = rewrite(graph, [first, second], limit=30)
        except RewriteError:  # they do not end
            continue
        finally:
            assert nx.utils.graphs_equal(graph, before), f"seed {seed}: the argument is touched"
        assert made.graph == graph.graph
        assert not first.find(made), f"seed {seed}"
        assert not second.find(made), f"seed {seed}"
        ended += not nx.utils.graphs_equal(made, before)
    assert ended > 50


def test_an_endless_rule_is_stopped_and_named() -> None:
    grow = from_graphs(graph_of([], x="B"), graph_of([("x", "y")], y="B"), name="grow", interface=["x"])
    with pytest.raises(RewriteError, match=r"do not end: more than 50 steps, of the last 51 fired grow \(51\)"):
        rewrite(graph_of([], b="B"), [grow], limit=50)


def test_the_radius_reaches_all_that_decides() -> None:
    assert drop().radius == 1
    assert drop(groups=["e"]).radius == 1
    assert drop(without=[graph_of([("e", "p"), ("p", "q")])]).radius == 3
    assert drop(without=[graph_of([("e", "p")], q="Q")]).radius is None
    assert drop().kinds == frozenset({"B"})
    assert drop(graph_of([("s", "x"), ("x", "e")], x=range(3))).kinds is None


def test_a_rule_declines_and_the_next_one_has_its_turn() -> None:
    never = drop(replacement=lambda match: Declined("not today"), name="never")
    assert never.explain(chain(), at="b").endswith("with s='a', x='b', e='c', declined: not today.")
    assert list(rewrite(chain(), [never, drop()]).edges) == [("a", "c")]
    assert not trace(chain(), [never]).steps


def test_explain_a_pattern_in_pieces_that_a_graph_is_too_small_for():
    pattern, left, graph = nx.DiGraph(), nx.DiGraph(), nx.DiGraph()
    pattern.add_nodes_from(["a", "b"])
    left.add_node("a")
    graph.add_node("z")
    drop = from_graphs(pattern, left, name="drop", interface=["a"])
    assert drop.explain(graph, at="z") == "drop does not match at 'z' as b: no node is left that could be a."
