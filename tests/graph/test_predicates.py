"""Predicates: kept, moved and inherited by rewriting, copied with nodes, part of a node's identity."""

from __future__ import annotations

import copy
import itertools
import json
import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from graphrewrite import Graph, Tensor, diff, evaluate, op, rewrite, rule, verify
from graphrewrite.errors import GraphError, VerificationError
from graphrewrite.hierarchy import compose, graph_op
from graphrewrite.rules import FOLDING, RULES, inline, outline_nodes

_CASES = Path(__file__).parents[3] / "shared" / "cases" / "graph_optimisation.json"


def parse(text: str, **predicates: str) -> Graph:
    """Return a graph of a text with inputs ``p`` and ``q``, and predicates of some nodes."""
    graph = Graph.parse(f"graph g\np = input() : bool[N]\nq = input() : bool[N]\n{text}")
    for node, predicate in predicates.items():
        graph.set_predicate(node, predicate)
    return verified(graph)


def verified(graph: Graph) -> Graph:
    """Return a graph that is sound."""
    verify(graph)
    return graph


# ---------------------------------------------------------------------- the cases of Glow


def _built(case: dict[str, Any]) -> Graph:
    """Return the graph of a case, of the few ops of those with predicates; its layout is NHWC."""
    graph = Graph(case["name"])
    random = np.random.default_rng(0)
    values = {each["name"]: graph.input(each["name"], Tensor("f32", tuple(each["shape"]))) for each in case["inputs"]}
    arrays = {
        each["name"]: random.uniform(*each["init"]["random"], each["shape"]).astype(np.float32)
        for each in case["constants"]
    }
    for node in case["nodes"]:
        first, *others = node["inputs"]
        x, attributes = values[first], node["attrs"]
        if node["op"] == "Conv":
            w, b = (arrays[name] for name in others)
            to_first, to_last = op.transpose(x, perm=(0, 3, 1, 2)), (0, 2, 3, 1)
            y = op.conv(to_first, w.transpose(0, 3, 1, 2), b, pads=tuple(attributes["pads"]))
            made, y = y, op.transpose(y, perm=to_last)
        elif node["op"] == "BatchNormalization":
            y = op.transpose(x, perm=(0, 3, 1, 2))
            made = op.batch_norm(y, *(arrays[name] for name in others), epsilon=attributes["epsilon"])
            y = op.transpose(made, perm=(0, 2, 3, 1))
        else:
            made = y = op.relu(x) if node["op"] == "Relu" else op.transpose(x, perm=tuple(attributes["perm"]))
        graph.set_predicate(made.node, values[node["predicate"]])
        values[node["name"]] = y
    for name in case["outputs"]:
        graph.output(f"{name}_out", values[name])
    return graph


@pytest.mark.parametrize("name", ["bn_after_conv", "cse_respects", "cancel_two_transposes"])
def test_the_cases_of_glow_hold(name: str) -> None:
    if not _CASES.exists():
        pytest.skip("there are no shared cases beside this checkout")
    (case,) = [c for c in json.loads(_CASES.read_text())["cases"] if c["name"] == f"{name}_predicates"]
    result = rewrite(_built(case), RULES + FOLDING, verify=True)
    names = {"conv": "Conv", "relu": "Relu"}
    nodes = [n for n in result if result.nodes[n]["type"] in names]
    kinds = [names[result.nodes[n]["type"]] for n in nodes]
    assert {kind: kinds.count(kind) for kind in kinds} == case["expected"]["ops"]
    for node, kind in zip(nodes, kinds, strict=True):
        wanted = case["expected"].get("predicates", {}).get(kind)
        assert wanted is None or result.predicate(node) == (wanted, 0)
    if case["expected"].get("unchanged"):
        assert result == _built(case)


# ---------------------------------------------------------------------- rewriting


def _unneeded(graph: Graph, known: dict[str, bool]) -> set[str]:
    """Return the outputs that are garbage if whatever need not be computed gives garbage."""
    garbage: set[str] = set()
    for node in graph.in_order():
        predicate = graph.predicate(node)
        needed = known[predicate.node] if predicate is not None and predicate.node in known else True
        if not needed or any(o.node in garbage for o in graph.operands(node)):
            garbage.add(node)
    return garbage & set(graph.outputs)


def _random(random: Any) -> Graph:
    """Return a graph of ops for which there are many rules."""
    graph = Graph("random")
    values = [graph.input("x", Tensor("f32", (3, 3))), graph.constant(np.eye(3, dtype=np.float32))]
    for _ in range(random.randint(2, 14)):
        x, z = random.choice(values), random.choice(values)
        makers = [
            lambda x, z: op.relu(x),
            lambda x, z: op.identity(x),
            lambda x, z: op.transpose(x, perm=(1, 0)),
            lambda x, z: op.clip(x, low=0.0, high=float(random.randint(1, 3))),
            lambda x, z: op.mul(x, np.float32(random.randint(1, 2))),
            lambda x, z: op.reshape(op.reshape(x, shape=(9,)), shape=(3, 3)),
            lambda x, z: op.sub(x, np.float32(2)),
            lambda x, z: op.div(op.clip(op.clip(x, low=-3.0), high=5.0), np.float32(2)),
            op.matmul,
            op.add,
        ]
        values.append(random.choice(makers)(x, z))
    for index, value in enumerate(random.sample(values, 2)):
        graph.output(f"y_{index}", value)
    return graph


@given(st.randoms(use_true_random=False), st.booleans())
def test_rewriting_keeps_what_is_needed_computed(random: Any, is_everywhere: bool) -> None:
    """Where outputs are computed before, they are after; where all nodes have a predicate, all have it after."""
    graph = _random(random)
    predicates = [graph.input(name, Tensor("bool", (1,))) for name in ("p_1", "p_2")]
    without = graph.copy()
    for node in _computed(graph):
        graph.set_predicate(node, predicates[0] if is_everywhere else random.choice([None, None, *predicates]))
    before = graph.copy()
    result = rewrite(graph, RULES + FOLDING, verify=True)
    assert graph == before
    for needed in itertools.product((True, False), repeat=2):
        known = dict(zip(("p_1", "p_2"), needed, strict=True))
        assert _unneeded(result, known) <= _unneeded(graph, known)
    if is_everywhere:
        for node in _computed(result):
            assert result.predicate(node) == ("p_1", 0)
            result.set_predicate(node, None)
        assert result == rewrite(without, RULES + FOLDING)


def _computed(graph: Graph) -> list[str]:
    """Return the nodes that may have a predicate, but for outputs."""
    return [n for n in graph.in_order() if graph.nodes[n]["type"] not in ("input", "output", "constant")]


@rule
def as_two(x):  # type: ignore[no-untyped-def]  # annotations narrow variables
    """A relu is the negation of a clipped negation."""
    yield op.relu(x)
    return op.neg(op.clip(op.neg(x), high=0.0))


def test_new_nodes_have_the_predicate_of_the_root() -> None:
    graph = parse("x = input() : f32[N]\nr = relu(x)\ns = relu(r)\ny = output(s)", r="p", s="q")
    result = verified(as_two(graph))
    found = [result.predicate(n) for n in result.in_order() if result.nodes[n]["type"] in ("neg", "clip")]
    assert [predicate.node for predicate in found if predicate is not None] == ["p"] * 3 + ["q"] * 3


def test_a_predicate_that_is_replaced_stays_one() -> None:
    """By plain rules and by fused ones, where its reader reads it as well, or reads what replaces it."""

    @rule
    def twice(x):  # type: ignore[no-untyped-def]
        """A double negation is nothing."""
        yield op.logical_not(op.logical_not(x))
        return x

    text = "n = logical_not(p)\nm = logical_not(n)\nx = input() : f32[N]\n"
    apart = parse(f"{text}r = relu(x)\ny = output(r)", r="m")
    assert twice(apart).predicate("r") == ("p", 0)
    both = parse(f"{text}r = logical_and(m, q)\ny = output(r)", r="m")
    assert twice(both).predicate("r") == twice(both).operands("r")[0] == ("p", 0)
    joined = parse(f"{text}r = logical_and(p, q)\ny = output(r)", r="m")
    assert twice(joined).predicate("r") == ("p", 0) == twice(joined).operands("r")[0]
    merged = parse("a = logical_not(p)\nb = logical_not(p)\nx = input() : f32[N]\nr = relu(x)\ny = output(r)", r="b")
    result = rewrite(merged, RULES)
    predicate = result.predicate("r")
    assert predicate is not None
    assert len([n for n in result if result.nodes[n]["type"] == "logical_not"]) == 1


def test_what_is_computed_at_once_needs_no_predicate() -> None:
    graph = parse("c = constant(value=[1.0, -2.0]) : f32[2]\nr = relu(c)\ny = output(r)", r="p")
    result = rewrite(graph, RULES, verify=True)
    (constant,) = [n for n in result if result.nodes[n]["type"] == "constant"]
    assert "r" not in result
    assert result.predicate(constant) is None
    assert graph.independent_nodes() == {"c", "r", "y"}
    assert not graph.dead_nodes() - {"q"}


# ---------------------------------------------------------------------- everything else that carries nodes


def test_predicates_go_with_nodes() -> None:
    split = "x = input() : f32[N,4]\nh = split(x, axis=1, sizes=[2, 2]) : f32[N,2], f32[N,2]"
    graph = parse(f"{split}\nr = relu(h:1)\nb = logical_and(q, p)\ny = output(r)", r="b")
    for same in (copy.deepcopy(graph), pickle.loads(pickle.dumps(graph)), Graph.parse(str(graph))):
        assert same == graph
        assert same.predicate("r") == ("b", 0)
    other = graph.copy()
    other.set_predicate("r", None)
    assert other != graph
    assert "r" in str(diff(graph, other))
    assert not other.equals(graph, names=False)
    assert graph.copy().equals(graph, names=False)
    inputs = {"x": np.ones((2, 4)), "p": [True, False], "q": [False, False]}
    np.testing.assert_equal(evaluate(graph, inputs), evaluate(other, inputs))


def test_predicates_are_results() -> None:
    """A predicate may be any result of a node, also in files."""
    pair = "x = input() : bool[N]\nh = split(x, axis=0, sizes=[1, 1]) : bool[1], bool[1]\n"
    graph = Graph.parse(f"graph g\n{pair}r = logical_not(x)\ny = output(r)".replace("bool[N]", "bool[2]"))
    graph.set_predicate("r", graph.value("h", 1))
    assert verified(Graph.parse(str(graph))) == graph
    assert graph.predicate("r") == ("h", 1)
    graph.edges["h", "r"]["result"] = 2
    with pytest.raises(VerificationError, match="result 2 of 'h', which is not there"):
        verify(graph)


def test_predicates_of_nested_graphs() -> None:
    """Inlining gives them to all nodes; outlining gives the node that of all nodes; connecting keeps them."""
    block = Graph.parse(
        "graph block\nz = input() : f32[N]\nk = input() : bool[N]\na = relu(z)\nb = neg(a)\nc = output(b)"
    )
    block.set_predicate("b", "k")
    graph = parse("x = input() : f32[N]")
    node = graph_op(block)(graph.value("x"), graph.value("q"))
    graph.output("y", node)
    graph.set_predicate(node.node, "p")
    flat = verified(inline(graph))
    assert [flat.predicate(f"block_1.{n}") for n in "ab"] == [("p", 0), ("q", 0)]
    whole = parse("x = input() : f32[N]\na = relu(x)\nb = neg(a)\ny = output(b)", a="p", b="p")
    outlined, _ = outline_nodes(whole, ["a", "b"], name="part")
    assert verified(outlined).predicate("part_1") == ("p", 0)
    assert rewrite(outlined, inline).predicate("part_1.a") == ("p", 0)
    first = Graph.parse("graph first\nx = input() : bool[N]\nn = logical_not(x)\ny = output(n)")
    assert verified(compose(first, block, {"y": "k"})).predicate("b") == ("n", 0)


@pytest.mark.parametrize(
    ("node", "predicate", "message"),
    [
        ("p", "s", "would depend on it|nothing is computed"),
        ("r", "s", "'s' would depend on it"),
        ("r", "r", "'r' would depend on it"),
        ("r", "absent", "absent"),
        ("absent", "p", "absent"),
        ("c", "p", "nothing is computed for a node of type 'constant'"),
        ("r", 3, "is a value of the graph, got 3"),
    ],
)
def test_wrong_predicates_are_refused(node: str, predicate: Any, message: str) -> None:
    graph = parse("c = constant(value=1.0) : f32[]\nx = input() : f32[N]\nr = relu(x)\ns = relu(r)\ny = output(s)")
    before = graph.copy()
    with pytest.raises(GraphError, match=message):
        graph.set_predicate(node, predicate)
    assert graph == before
    with pytest.raises(VerificationError, match="a predicate is a vector"):
        verify(_of_matrix())


def _of_matrix() -> Graph:
    graph = Graph.parse("graph g\nx = input() : f32[N,2]\nr = relu(x)\ny = output(r)")
    graph.set_predicate("r", "x")
    return graph
