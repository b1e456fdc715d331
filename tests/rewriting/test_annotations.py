"""Annotations in rewriting: what becomes of those of each node that goes."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from graphrewrite import Constant, Graph, Tensor, evaluate, op, rewrite, rule, trace, verify
from graphrewrite.errors import RewriteError, RuleError
from graphrewrite.hierarchy.composition import compose
from graphrewrite.hierarchy.graph_ops import GraphOp
from graphrewrite.op.generic_op import generic
from graphrewrite.op.reserved_keys import RESERVED_ANNOTATIONS, inherited
from graphrewrite.rewriting.traces import Step
from graphrewrite.rules import FOLDING, RULES, eliminate_independent_nodes, inline, merge_equal_nodes
from graphrewrite.testing import graphs

F = Tensor("f32", ("N", 4))


def annotated(graph: Graph, rng: Any) -> Graph:
    """Give some nodes annotations that name the node."""
    for node, data in graph.nodes(data=True):
        for key in ("mine", "latency", "backend", "use_kernel", "low"):
            if rng.random() < 0.4 and key not in graph.op(node).attributes:
                data[key] = [node] if key == "mine" else node
    return graph


def heirs(before: Graph, after: Graph, nodes: Iterable[str]) -> dict[str, str]:
    """The nodes that readers of some nodes read in their place, each with the first of those."""
    found: dict[str, str] = {}
    for node in nodes:
        for reader in before.succ[node]:
            if reader in after:
                for was, now in zip(before.operands(reader), after.operands(reader), strict=True):
                    if was.node == node != now.node:
                        found.setdefault(now.node, node)
    return found


def check_step(before: Graph, after: Graph, step: Step) -> None:
    """A new root has what the old one had, as far as it applies; other values are of matched nodes; old nodes keep."""
    new = {name for name, _ in step.edit.added}
    for heir, root in heirs(before, after, step.match.roots).items():
        if heir in new and "bridge" not in (before.op(root).level, after.op(heir).level):
            got, data = after.annotations(heir), before.nodes[root]
            assert got.keys() >= inherited(data, before.op(root), after.op(heir)).keys()
            matched = [before.annotations(node) for node in step.match.nodes]
            assert all(any(value == each.get(key) for each in matched) for key, value in got.items())
    assert all(after.annotations(node) == before.annotations(node) for node in after if node not in new)


def check_rewriting(graph: Graph, rules: Any) -> None:
    found = trace(graph, rules)
    carries = {node: {node} for node in graph}  # original nodes whose annotations are there, or in the origin
    for i, step in enumerate(found.steps):
        before, after = found.graph_after(i), found.graph_after(i + 1)
        new, went = {name for name, _ in step.edit.added}, set(before) - set(after)
        if step.match is not None:
            check_step(before, after, step)
            went = set(step.match.nodes)
        elif step.rule == "merge_equal_nodes":
            for node in went:
                is_told = before.nodes[node]["type"] != "constant" or before.annotations(node)
                for heir in heirs(before, after, [node]) if is_told else ():
                    assert after.annotations(heir).keys() >= before.annotations(node).keys()
                    carries[heir] |= carries[node]
        elif step.rule in ("eliminate_independent_nodes", "eliminate_empty_nodes"):
            carries |= {node: set(data["origin"]) for node, data in step.edit.added}
        if step.match is None:
            continue  # dead nodes go
        # Constants go when nothing reads them any more, matched or not; bridges have no origin.
        computed = [n for n in went if before.nodes[n]["type"] != "constant" and before.op(n).level != "bridge"]
        carried = {name for node in computed for name in carries[node]}
        carries |= {node: carried if after.op(node).level != "bridge" else set() for node in new}
        if not new:  # old nodes stand in
            told = {name for n in computed if n not in after and before.annotations(n) for name in carries[n]}
            for heir in heirs(before, after, step.match.roots):
                carries[heir] |= told if after.op(heir).level != "bridge" else set()
    verify(found.graph)
    origins = {name for node in found.graph for name in found.graph.origin(node)}
    assert {name for node in found.graph for name in carries[node]} <= origins | set(found.graph)
    plain = graph.copy()
    for node in graph:
        for key in graph.annotations(node).keys() - RESERVED_ANNOTATIONS:
            del plain.nodes[node][key]
    assert list(rewrite(plain, rules)) == list(found.graph)


LAWS = [law for law in (*RULES, *FOLDING) if hasattr(law, "pattern")]


@given(graphs() | st.sampled_from(LAWS).flatmap(lambda law: graphs(containing=law)), st.randoms(use_true_random=False))
def test_no_annotation_is_lost(graph, rng):
    with np.errstate(all="ignore"):  # variances may be anything
        check_rewriting(annotated(graph, rng), (*RULES, *FOLDING))


def net() -> Graph:
    graph = Graph("net")
    x = graph.input("x", F)
    graph.output("y", op.relu(op.clip(x, low=0)))
    graph.nodes["clip_1"].update(latency=3, backend="dsp", implementation="fast", taps=[1])
    graph.nodes["relu_1"].update(latency=5, unit="u1", use_kernel="k", alpha=0.5)
    return graph


@rule(keeps="assumes")
def drop_abs(x):
    yield op.abs(x)
    return x


@pytest.mark.parametrize("count", [1, 4, 30])
@pytest.mark.parametrize("options", [{}, {"copy": False}, {"verify": True}])
def test_an_old_node_that_stands_in_names_those_that_went(count, options):
    graph = Graph("g")
    value = start = op.neg(graph.input("x", F))
    for step in range(count):
        value = op.abs(value)
        graph.nodes[value.node]["step"] = step
    graph.output("y", op.relu(value))
    before = str(graph)
    new = rewrite(graph, drop_abs, **options)
    assert new.origin(start.node) == (start.node, *(f"abs_{i}" for i in range(1, count + 1)))
    assert new.annotations(start.node) == {}
    assert str(graph) == (str(new) if options.get("copy") is False else before)


def test_a_failed_rewrite_in_place_gives_the_old_origin_back():
    graph = Graph("g")
    graph.output("y", op.abs(op.abs(graph.input("x", F))))
    graph.nodes["abs_1"]["step"] = 1
    graph.nodes["abs_2"]["step"] = 2
    before = {node: dict(data) for node, data in graph.nodes(data=True)}
    with pytest.raises(RewriteError, match="do not end"):
        rewrite(graph, drop_abs, copy=False, limit=1)
    assert dict(graph.nodes(data=True)) == before


@rule(keeps="assumes")
def only_the_root(x):
    clip = op.clip(x)
    yield op.relu(clip)
    return op.abs(op.clip(x, low=clip.low))


@rule(keeps="assumes")
def like_the_inner(x):
    clip = op.clip(x)
    yield op.relu(clip)
    return op.clip(op.neg(x), like=clip)


@rule(keeps="assumes")
def exactly(x):
    clip = op.clip(x)
    relu = op.relu(clip)
    yield relu
    if clip.backend != "dsp" or relu.backend is not None:
        return rule.decline("it runs elsewhere", at=clip)
    stated = {**clip.annotations, "latency": clip.latency + relu.latency}
    return op.leaky_relu(op.abs(x, annotations={"step": 1}), like=relu, annotations=stated)


@rule(keeps="assumes")
def nothing_of_it(x):
    yield op.relu(op.clip(x))
    return op.abs(x, annotations={})


@rule(keeps="assumes")
def shadowed(x):
    """An annotation never becomes an attribute: the root's `alpha` is one of the new op."""
    yield op.relu(op.clip(x))
    return op.elu(x)


@rule(keeps="assumes")
def stands_in(x):
    clip = op.clip(x)
    yield op.relu(clip)
    return clip


@pytest.mark.parametrize(
    ("law", "expected"),
    [
        (only_the_root, {"abs_1": {"latency": 5, "unit": "u1", "alpha": 0.5}, "clip_2": {}}),
        (
            like_the_inner,
            {
                "clip_2": {
                    "latency": 3,
                    "unit": "u1",
                    "alpha": 0.5,
                    "backend": "dsp",
                    "implementation": "fast",
                    "taps": [1],
                },
                "neg_1": {},
            },
        ),
        (
            exactly,
            {
                "leaky_relu_1": {"latency": 8, "backend": "dsp", "implementation": "fast", "taps": [1]},
                "abs_1": {"step": 1},
            },
        ),
        (nothing_of_it, {"abs_1": {}}),
        (shadowed, {"elu_1": {"latency": 5, "unit": "u1"}}),
        (stands_in, {"clip_1": {"latency": 3, "backend": "dsp", "implementation": "fast", "taps": [1]}}),
    ],
    ids=lambda value: getattr(value, "name", ""),
)
def test_a_rule_says_what_becomes_of_them(law, expected):
    graph = net()
    found = rewrite(graph, [law], once=True, verify=True)
    assert {node: found.annotations(node) for node in found if node not in ("x", "y")} == expected
    assert all(found.origin(node) == ("clip_1", "relu_1") for node in expected if node != "clip_1")
    found.nodes[next(iter(expected))].setdefault("taps", []).append(2)
    assert graph.nodes["clip_1"]["taps"] == [1]  # a list is nobody else's
    step = trace(graph, [law], once=True).steps[0]
    assert "latency=3" in str(step) or law is stands_in


@pytest.mark.parametrize(
    ("annotations", "message"),
    [
        ([1], r"annotations is a dictionary of names and values, got \[1\]"),
        ({"origin": ()}, "'origin' is a reserved key of nodes"),
        ({"low": 1}, "clip: 'low' is an attribute of the op, no annotation; write low=…"),
        ({"backend": []}, "the annotation 'backend' is no value for it"),
    ],
)
def test_wrong_annotations_are_refused(annotations, message):
    @rule(keeps="assumes")
    def wrong(x):
        yield op.relu(op.clip(x))
        return op.clip(x, annotations=annotations)

    graph = net()
    with pytest.raises(RuleError, match=message):
        wrong(graph)


def test_a_constant_that_is_folded_takes_those_of_the_root():
    graph = Graph("g")
    x = graph.input("x", F)
    one, two = graph.constant(np.ones(4, np.float32)), graph.constant(np.full(4, 2, np.float32))
    graph.output("y", x + op.neg(op.mul(one, two)))
    for node in ("constant_1", "mul_1", "neg_1"):
        graph.nodes[node].update(mine=[node], value=1) if node != "constant_1" else None
    expected = {"mine": ["neg_1"]}
    folded = eliminate_independent_nodes(graph)
    (new,) = (node for node in folded if folded.nodes[node]["type"] == "constant")
    assert (folded.annotations(new), set(folded.origin(new))) == (expected, {"neg_1", "mul_1"})

    @rule
    def fold(a: Constant, b: Constant):
        yield op.neg(op.mul(a, b))
        return op.neg(op.mul(a, b))

    folded = rewrite(graph, [fold], once=True)
    (new,) = (node for node in folded if folded.nodes[node]["type"] == "constant")
    assert folded.annotations(new) == expected
    assert evaluate(folded, {"x": np.ones((1, 4), np.float32)})["y"].tolist() == [[-1] * 4]


def test_nodes_that_are_merged_are_found_through_the_origin_of_the_one_that_stays():
    graph = Graph("g")
    x = graph.input("x", F)
    graph.output("y", op.relu(x) + op.relu(x))
    graph.nodes["relu_1"]["mine"], graph.nodes["relu_2"]["mine"] = 1, 2
    merged = merge_equal_nodes(graph)
    assert (merged.annotations("relu_1"), merged.origin("relu_1")) == ({"mine": 1}, ("relu_1", "relu_2"))
    graph.nodes["relu_2"]["backend"] = "dsp"
    assert "relu_2" in merge_equal_nodes(graph)


def test_generic_ops_have_attributes_only():
    graph = Graph("g")
    graph.output("y", op.relu(graph.input("x", F)))
    graph.nodes["relu_1"].update(mine=1, backend="dsp")

    @rule(keeps="assumes")
    def unknown(x):
        yield op.relu(x)
        return generic("Foo")(x, turns=3)

    found = unknown(graph)
    assert (found.attributes("Foo_1"), found.annotations("Foo_1")) == ({"turns": 3}, {"backend": "dsp"})


def test_no_two_graphs_share_what_can_be_changed():
    graph = net()
    for node in graph:
        graph.nodes[node][7] = [node]  # a key that is no keyword
    fused = rewrite(graph, rule.chain("clip -> relu", "block"))
    several = [graph, fused, *(each.body for each in fused.ops.values() if isinstance(each, GraphOp))]
    several += [rewrite(fused, inline), rewrite(graph, RULES), graph.renamed({"x": "in"}), compose(graph, graph)]
    several.append(graph.view("all", graph).subgraph())
    kept = [value for each in several for node in each for value in each.annotations(node).values()]
    changeable = [value for value in kept if isinstance(value, list)]
    assert len({id(value) for value in changeable}) == len(changeable) > 20
