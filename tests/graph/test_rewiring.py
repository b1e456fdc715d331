"""Wiring by hand: who reads what afterwards, and what goes."""

from __future__ import annotations

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from graphrewrite import Graph, Tensor, define_op, op
from graphrewrite.graph import Operand
from graphrewrite.graph.rewiring import move_slot, remove, rewire

VECTOR = Tensor("f32", (3,))


@define_op(results=2, infer=lambda a: (a, a))
def both(a):
    return a, -a


@st.composite
def wired(draw: Any) -> Graph:
    """A graph in which values have several readers, nodes read a value several times, and some have two results."""
    graph = Graph("g", ops=[both])
    values = [graph.input("x", VECTOR), graph.constant([1, 2, 3], type=VECTOR)]
    for _ in range(draw(st.integers(2, 7))):
        pick = st.sampled_from(values)
        match draw(st.sampled_from(("neg", "add", "fma", "both", "constant"))):
            case "constant":
                values.append(graph.constant([1, 2, 3], type=VECTOR))
            case "both":
                values += both(draw(pick))
            case name:
                found = getattr(op, name)
                values.append(found(*(draw(pick) for _ in range(found.required))))
    graph.output("y", values[-1])
    return graph


def reads(graph: Graph) -> dict[str, list[Operand]]:
    """What each node reads."""
    return {node: list(graph.operands(node)) for node in graph}


def operands_of(graph: Graph) -> list[Operand]:
    """Every value of a graph."""
    return [Operand(n, i) for n in graph if graph.op(n).name != "output" for i in range(graph.op(n).results)]


@given(wired(), st.data())
def test_readers_of_a_value_read_another_one(graph, data):
    value, target = (data.draw(st.sampled_from(operands_of(graph))) for _ in range(2))
    before = reads(graph)
    # What is rewired must not close a cycle: networkx would have it, but no operand could be told then.
    told = rewire(graph, value.node, target, value.result)
    wanted = {
        node: [target if operand == value and node != target.node else operand for operand in operands]
        for node, operands in before.items()
    }
    assert reads(graph) == wanted
    assert set(told) == {n for n, operands in before.items() if value in operands and n != target.node}
    assert len(told) == len(set(told))
    assert_no_empty_edge(graph)


@given(wired(), st.data())
def test_one_slot_reads_another_value(graph, data):
    before = reads(graph)
    node, slot = data.draw(st.sampled_from([(n, i) for n, operands in before.items() for i in range(len(operands))]))
    target = data.draw(st.sampled_from([value for value in operands_of(graph) if value.node != node]))
    move_slot(graph, node, slot, target)
    before[node][slot] = target
    assert reads(graph) == before
    assert_no_empty_edge(graph)


def assert_no_empty_edge(graph: Graph) -> None:
    """Edges say something: which slots, or which comes first."""
    assert all(data["slots"] or "kind" in data for *_, data in graph.edges(data=True))


def test_an_order_stays_where_no_value_is_read_any_more():
    graph = Graph("g")
    x = graph.input("x", VECTOR)
    a, b = op.neg(x), op.relu(x)
    c = op.abs(a)
    graph.output("y", c)
    graph.edges[a.node, c.node]["kind"] = "after"
    assert rewire(graph, a.node, Operand(b.node)) == [c.node]
    assert graph.edges[a.node, c.node] == {"slots": (), "kind": "after"}
    assert list(graph.operands(c.node)) == [Operand(b.node)]
    assert rewire(graph, a.node, Operand(b.node)) == []


def test_what_an_edge_says_besides_stays_where_it_was():
    graph = Graph("g")
    x = graph.input("x", VECTOR)
    a, b = op.neg(x), op.relu(x)
    graph.output("y", op.sub(a, b))
    move_slot(graph, "sub_1", 1, Operand(a.node))
    assert graph.edges[a.node, "sub_1"]["slots"] == ((0, 0), (1, 0))
    assert not graph.has_edge(b.node, "sub_1")


# ---------------------------------------------------------------------- what goes


@given(wired(), st.data())
def test_what_goes_is_what_nothing_reads_any_more(graph, data):
    nodes = data.draw(st.lists(st.sampled_from([n for n in graph if graph.op(n).name != "input"]), unique=True))
    before = graph.copy()
    removed, neighbours = remove(graph, nodes)
    wanted = going(before, set(nodes))
    assert set(removed) == wanted
    assert len(removed) == len(wanted)
    assert set(graph) == set(before) - wanted
    near = {source for node in wanted for source in before.pred[node]} - wanted
    assert (set(neighbours), len(neighbours)) == (near, len(near))
    assert reads(graph) == {node: list(before.operands(node)) for node in graph}


def going(graph: Graph, nodes: set[str]) -> set[str]:
    """What nothing reads that stays: some nodes, and constants that only they have read; by looking again and again."""
    gone: set[str] = set()
    while True:
        lost_a_reader = {s for node in gone for s in graph.pred[node] if graph.nodes[s]["type"] == "constant"}
        more = {n for n in (nodes | lost_a_reader) - gone if set(graph.succ[n]) <= gone}
        if not more:
            return gone
        gone |= more
