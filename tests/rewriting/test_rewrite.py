from __future__ import annotations

import gc
import random

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from graphrewrite import Constant, Graph, Tensor, decline, evaluate, op, pass_, rewrite, rule, trace, verify
from graphrewrite.errors import RewriteError, RuleError
from graphrewrite.formats.text import to_text
from graphrewrite.graph.edit import apply_edit
from graphrewrite.rewriting.rule.outcome import Declined
from graphrewrite.rules import RULES, eliminate_dead_nodes
from graphrewrite.runtime.gc_pause import gc_paused
from graphrewrite.testing import graphs

# Rules that enable each other: through new nodes deep below a root, vanished readers, and equal operands. All of them
# shrink the graph or bring it nearer to a normal form, and the form does not depend on the order.


@rule
def cancel_negations(x):
    yield op.neg(op.neg(x))
    return x


@rule
def drop_identity(x):
    yield op.identity(x)
    return x


@rule
def relu_of_relu(x):
    yield op.relu(op.relu(x))
    return op.relu(x)


@rule
def difference_as_sum(x, y):
    yield op.sub(x, op.neg(y))
    return op.add(x, y)


@rule
def sum_as_difference(x, y):
    yield op.sub(op.neg(x), y)
    return op.neg(op.add(x, y))


@rule
def absolute_of_negation(x):
    yield op.abs(op.neg(x))
    return op.abs(x)


@rule
def absolute_of_relu(x):
    inner = op.relu(x)
    yield op.abs(inner)
    return op.relu(x)


@rule
def greater_of_itself(x):
    yield op.maximum(x, x)
    return x


@rule
def product_of_negations(x, y):
    yield op.mul(op.neg(x), op.neg(y))
    return op.mul(x, y)


@rule
def only_reader(x):
    """Looks at how many read its operand, which is outside of what is matched."""
    inner = op.minimum(x, x)
    yield op.relu(inner)
    return op.relu(x) if x.readers == 1 else decline("it has other readers", at=x)


SHRINKING = (
    cancel_negations,
    drop_identity,
    relu_of_relu,
    difference_as_sum,
    sum_as_difference,
    absolute_of_negation,
    absolute_of_relu,
    greater_of_itself,
    product_of_negations,
    only_reader,
)
OPS = ("neg", "relu", "sub", "identity", "abs", "maximum", "minimum", "mul")


def scan(graph: Graph, rules: tuple) -> Graph:
    """The plain way: look everywhere, apply one match, look everywhere again."""
    graph = graph.copy()

    def step() -> bool:
        for node in graph.in_order():
            for member in rules:
                for match in member.matches_at(graph, node):
                    edit = member.edit(graph, match)
                    if not isinstance(edit, Declined):
                        apply_edit(graph, edit)
                        return True
        return False

    while step():
        pass
    return graph


@given(graphs(ops=OPS))
def test_the_work_list_leaves_nothing_that_a_scan_would_find(graph):
    made = rewrite(graph, SHRINKING, verify=True)
    assert [m for member in SHRINKING for m in member.find(made)] == []
    order_free = SHRINKING[:-1]  # whoever counts readers sees what others did before
    made, scanned = rewrite(graph, order_free), scan(graph, order_free)
    assert len(made) == len(scanned)
    assert sorted(d["type"] for _, d in made.nodes(data=True)) == sorted(d["type"] for _, d in scanned.nodes(data=True))


@given(graphs(ops=OPS), st.integers(0, 99))
def test_the_result_does_not_depend_on_the_order_of_insertion(graph, seed):
    rng = random.Random(seed)
    nodes, edges = list(graph.nodes(data=True)), list(graph.edges(data=True))
    rng.shuffle(nodes)
    rng.shuffle(edges)
    other = Graph(**graph.graph)
    other.add_nodes_from((n, dict(d)) for n, d in nodes)
    other.add_edges_from((a, b, dict(d)) for a, b, d in edges)
    assert rewrite(other, SHRINKING) == rewrite(graph, SHRINKING)
    assert to_text(rewrite(other, RULES)) == to_text(rewrite(graph, RULES))


@given(graphs())
def test_the_argument_is_untouched_and_graph_attributes_survive(graph):
    graph.graph["note"] = ["kept"]
    before = to_text(graph, whole=True), list(graph.nodes), list(graph.edges(data=True))
    with np.errstate(all="ignore"):  # constants are folded, whatever they are
        made = rewrite(graph, RULES, verify=True)
    assert (to_text(graph, whole=True), list(graph.nodes), list(graph.edges(data=True))) == before
    assert made.graph == graph.graph
    assert (made.inputs, made.outputs) == (graph.inputs, graph.outputs)


@given(graphs(ops=OPS))
def test_a_trace_is_what_rewrite_does(graph):
    found = trace(graph, SHRINKING)
    assert found.graph == rewrite(graph, SHRINKING)
    assert found.before is graph
    nodes = set(graph)
    for step in found.steps:
        assert set(step.removed) <= nodes, "only what is there can go"
        nodes = nodes - set(step.removed) | set(step.added)
    assert sum(found.counts.values()) == len(found.steps)
    assert ("0 steps" in str(found)) == (found.graph == graph)


@given(graphs())
def test_every_new_node_has_an_origin_in_the_graph_that_came_in(graph):
    made = rewrite(graph, RULES)
    for node, data in made.nodes(data=True):
        assert node in graph or set(data["origin"]) <= set(graph)


def test_an_endless_rule_set_stops_and_is_named():
    @rule
    def there(x):
        yield op.neg(x)
        return op.sub(0, x)

    @rule
    def and_back(x):
        yield op.sub(0, x)
        return op.neg(x)

    graph = Graph.parse("graph g\nx = input() : f32[N]\nn = neg(x)\ny = output(n)")
    before = str(graph)
    with pytest.raises(
        RewriteError, match=r"do not end: more than 40 steps, of the last 41 fired (there|and_back).*(there|and_back)"
    ):
        rewrite(graph, [there, and_back], limit=40)
    with pytest.raises(RewriteError, match="do not end"):
        rewrite(graph, [there, and_back])
    assert str(graph) == before


def test_an_endless_pass_stops_and_is_named():
    @pass_
    def busy(graph):
        return ["x"]

    with pytest.raises(RewriteError, match="busy"):
        rewrite(Graph.parse("graph g\nx = input() : f32[N]\ny = output(x)"), [busy])


def test_a_pass_is_called_where_an_op_is_that_it_is_about():
    called = []

    @pass_(ops=[op.tanh])
    def follow(graph):
        called.append(sorted(data["type"] for _, data in graph.nodes(data=True)))
        return []

    @rule
    def exp_as_tanh(x):
        yield op.exp(x)
        return op.tanh(x)

    graph = Graph.parse("graph g\nx = input() : f32[N]\nn = exp(x)\ny = output(n)")
    rewrite(graph, [follow])
    assert called == []
    rewrite(graph, [follow, exp_as_tanh])
    assert called == [["input", "output", "tanh"]]


def test_what_is_no_rule_is_refused():
    with pytest.raises(RuleError, match="neither a rule nor a pass"):
        rewrite(Graph("g"), [lambda g: g])


def test_overlapping_matches_are_not_applied_on_a_stale_graph():
    graph = Graph("chain")
    value = graph.input("x", Tensor("f32", ("N",)))
    for _ in range(101):
        value = -value
    graph.output("y", value)
    made = rewrite(graph, [cancel_negations], verify=True)
    assert sorted(d["type"] for _, d in made.nodes(data=True)) == ["input", "neg", "output"]
    assert evaluate(made, {"x": [2]})["y"].tolist() == [-2]


def test_a_vanished_reader_enables_a_match_elsewhere():
    @rule
    def fuse(x, c, d):
        yield op.add(op.mul(x, c), d)
        return op.fma(x, c, d)

    graph = Graph.parse("graph g\nx = input() : f32[N]\nm = mul(x, x)\na = add(m, x)\ni = abs(m)\ny = output(a)")
    assert rewrite(graph, [fuse]) == graph
    made = rewrite(graph, [fuse, eliminate_dead_nodes])
    assert "fma_1" in made


def test_constants_that_nothing_reads_any_more_go():
    @rule
    def without(x, c: Constant):
        total = op.mul(x, c)
        yield total
        return x if x.type == total.type else decline("it broadcasts")

    graph = Graph("g")
    x = graph.input("x", Tensor("f32", ("N",)))
    shared = graph.constant(np.float32(1))
    graph.output("y", x * shared)
    graph.output("z", op.add(x * 3, shared))
    made = rewrite(graph, [without], verify=True)
    assert [n for n, d in made.nodes(data=True) if d["type"] == "constant"] == [shared.node]


def test_a_match_that_is_refused_leaves_the_graph():
    @rule
    def wrong(x):
        yield op.relu(x)
        return op.arg_max(x)

    graph = Graph.parse("graph g\nx = input() : f32[N,2]\nr = relu(x)\ny = output(r)")
    copy = graph.copy()
    (match,) = wrong.matches_at(copy, "r")
    with pytest.raises(RewriteError, match=r"rule .wrong. .*a rewrite keeps types"):
        wrong.edit(copy, match)
    assert copy == graph
    verify(copy)


@pytest.mark.slow(cases=2)
@pytest.mark.parametrize("options", [{}, {"copy": False}, {"first": "rule"}, {"measure": lambda data: 1}])
def test_a_rewrite_leaves_nothing_for_the_garbage_collector(options):
    @rule
    def decided_anew(x):
        yield op.exp(x)
        return decline("never mind") if len(x.type.shape) == 7 else op.tanh(x)

    lines = "".join(f"n{i} = neg(m{i})\nm{i + 1} = exp(n{i})\n" for i in range(30))
    graph = Graph.parse(
        f"graph g\nm0 = input() : f32[4]\nk = neg(m0)\nk2 = neg(k)\n{lines}y = output(m30)\nz = output(k2)"
    )
    rewrite(graph.copy(), [cancel_negations, decided_anew], **options)
    gc.collect()
    with gc_paused():
        result = rewrite(graph, [cancel_negations, decided_anew], **options)
        assert "k2" not in result
        del result
        assert gc.collect() == 0


@pytest.mark.parametrize("count", [1, 20])  # on the general path, and on the fast one
@pytest.mark.parametrize("decides", [False, True])
def test_graphs_that_rules_bring_along_are_rewritten_as_well(count, decides):
    double = Graph.parse("graph double\nx = input() : f32[4]\na = neg(x)\nb = neg(a)\nc = exp(b)\nd = output(c)")

    @rule
    def choose(c, x):
        yield op.where(c, x, x)
        return op.cond(c, x, then=double, otherwise=double)

    @rule
    def choose_or_decline(c, x):
        yield op.where(c, x, x)
        return op.cond(c, x, then=double, otherwise=double) if c.type.shape == () else decline("not one")

    lines = "".join(f"w{i} = where(c, x, x)\ny{i} = output(w{i})\n" for i in range(count))
    graph = Graph.parse(f"graph g\nc = input() : bool[]\nx = input() : f32[4]\n{lines}")
    result = rewrite(graph, [choose_or_decline if decides else choose, cancel_negations])
    assert [len(body) for _, _, body in result.bodies()] == [3] * 2 * count
