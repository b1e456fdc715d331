"""Nodes in a relation to each other: in graphs for passes, and in plans of rules."""

from __future__ import annotations

from contextlib import suppress
from random import Random

import pytest

from graphrewrite import Graph, Tensor, decline, op, pass_, rule
from graphrewrite.graph import Operand
from graphrewrite.graph.rewiring import rewire
from graphrewrite.testing import check
from graphrewrite.testing.generation.demand import Unfit, seeded
from graphrewrite.testing.generation.instance import plan_instance
from graphrewrite.testing.generation.relations import beside, undoing
from graphrewrite.testing.generation.together import related, relations_of
from graphrewrite.testing.strategies.graph_strategy import graphs_about
from graphrewrite.testing.strategies.picking import Choices, making

IMAGE = Tensor("f32", ("N", 2, 4, 6))


def drawn(count, *ops):
    """So many graphs about some ops."""
    make = making(graphs_about([], ops))
    assert make is not None
    return [make(Choices(Random(seed).randbytes)) for seed in range(count)]


def test_what_undoes_a_node_gives_what_it_was_given():
    cases = [(op.transpose, {"perm": (2, 0, 3, 1)}), (op.reshape, {"shape": (4, 6, 2, "N")})]
    for kind, attributes in cases:
        (after,) = kind.result_types((IMAGE,), attributes)
        back = undoing(kind, attributes, IMAGE)
        assert back is not None
        assert kind.result_types((after,), back) == (IMAGE,)
    assert undoing(op.relu, {}, IMAGE) is None


def test_parts_beside_another_one_do_not_overlap_it():
    given = {"starts": (2,), "ends": (4,), "axes": (3,)}
    for turn in range(20):
        part = beside(op.slice, given, IMAGE, Tensor("f32", ("N", 2, 4, 2)), seeded(turn))
        assert part is not None
        start, end = part[0]["starts"][0], part[0]["ends"][0]
        assert end == 2 or start == 4
        assert 0 <= start < end <= 6
    whole = {"starts": (0,), "ends": (6,), "axes": (3,)}
    assert beside(op.slice, whole, IMAGE, IMAGE, seeded(0)) is None


def test_room_beside_a_value_is_where_another_one_has_none():
    matrix = Tensor("f32", ("N", 2))
    assert beside(op.pad, {"pads": (3, 0, 0, 0)}, matrix, matrix, seeded(0)) is None  # along the batch
    for pads in ((0, 3, 0, 0), (0, 0, 0, 1), (0, 2, 0, 1)):
        (after,) = op.pad.result_types((matrix,), {"pads": pads})
        part = beside(op.pad, {"pads": pads}, matrix, after, seeded(0))
        assert part is not None
        attributes, own = part
        assert op.pad.result_types((own,), attributes) == (after,)
        filled = [range(p[1], p[1] + kind.shape[1]) for p, kind in ((pads, matrix), (attributes["pads"], own))]
        assert not set(filled[0]) & set(filled[1])


def test_graphs_about_an_op_undo_it_behind_others():
    found = 0
    for graph in drawn(60, op.transpose):
        for node in graph:
            if graph.nodes[node]["type"] != "transpose":
                continue
            above = [n for n in graph.upstream(node) if graph.nodes[n]["type"] == "transpose"]
            perm = graph.attributes(node)["perm"]
            orders = [graph.attributes(n)["perm"] for n in above]
            found += any(len(o) == len(perm) and [o[p] for p in perm] == sorted(o) != list(o) for o in orders)
    assert found >= 5


def test_graphs_about_slices_cut_one_value_often():
    several = sum(
        any(sum(graph.nodes[r]["type"] == "slice" for r in graph.succ[n]) > 1 for n in graph)
        for graph in drawn(60, op.slice)
    )
    assert several >= 20


@rule
def exchange_halves(x):
    """Wrong: the halves change places."""
    first, second = op.slice(x), op.slice(x)
    joined = op.concat(second, first, axis=-1)
    yield joined
    size = x.shape[-1]
    bounds = [(part.starts, part.ends, part.axes, part.steps) for part in (first, second)]
    if bounds != [((a,), (a + size // 2,), (len(x.shape) - 1,), (1,)) for a in (0, size // 2)]:
        return decline("they are not its halves", at=joined)
    return op.identity(x) if joined.type == x.type else decline("another type", at=joined)


def test_slices_of_one_value_become_its_parts():
    plans = []
    for turn in range(40):
        with suppress(Unfit):  # an instance whose sizes are all 1
            plans.append(related(plan_instance(exchange_halves.pattern, seeded(turn)), seeded(turn)))
    cuts = [[case.attributes for case in plan.cases.values() if "starts" in case.attributes] for plan in plans]
    apart = [a for a, b in cuts if a["axes"] == b["axes"] and min(*a["starts"], *b["starts"]) == 0]
    assert len(apart) > 10
    assert check(exchange_halves, seed=0).verdict == "refuted"


@rule
def drop_turning_back(x):
    """Right: one permutation undoes the other."""
    first = op.transpose(x)
    second = op.transpose(first)
    yield second
    there = [first.perm[axis] for axis in second.perm]
    return x if there == sorted(there) and first.perm != tuple(there) else decline("it does not", at=second)


def test_one_node_undoes_another():
    plan = plan_instance(drop_turning_back.pattern, seeded(0))
    assert relations_of(plan)
    assert check(drop_turning_back, seed=0).fired["drop_turning_back"] > 20


@rule
def double(x):
    """No two nodes are alike."""
    yield op.add(x, x)
    return op.mul(x, 2.0)


def test_there_is_no_relation_in_most_patterns():
    assert not relations_of(plan_instance(double.pattern, seeded(0)))


@pass_(ops=[op.transpose])
def forget_turns(graph: Graph) -> list[str]:
    """Wrong: a transpose behind the one that it undoes gives another order."""
    for node in graph.in_order():
        data = graph.nodes[node]
        inner = graph.nodes[graph.operands(node)[0].node] if data["type"] == "transpose" else data
        if data is inner or inner["type"] != "transpose":
            continue
        perm = tuple(data["perm"])
        if perm != tuple(sorted(perm)) and [inner["perm"][axis] for axis in perm] == sorted(perm):
            graph.nodes[node]["perm"] = perm[::-1]
            return [node]
    return []


def test_a_wrong_pass_about_what_undoes_each_other_is_refuted():
    assert check(forget_turns, seed=0).verdict == "refuted"


@rule
def reversed_part(x):
    """Wrong: a part that is turned round is taken from its end on, and that is behind its last entry."""
    part = op.slice(x)
    turned = op.slice(part)
    yield turned
    if part.axes != turned.axes or part.axes is None or part.steps is not None or turned.steps != (-1,):
        return decline("another axis, or step", at=turned)
    if min(*part.starts, *part.ends) < 0 or turned.type != part.type:
        return decline("another part", at=turned)
    made = op.slice(x, starts=part.ends, ends=part.starts, axes=part.axes, steps=(-1,) * len(part.axes))
    return made if made.type == turned.type else decline("the shape would show it", at=turned)


def test_a_slice_turns_round_what_another_one_gives():
    assert check(reversed_part, seed=0).verdict == "refuted"


def test_a_slice_of_a_slice_leaves_some_out_behind_the_first_entry():
    found = 0
    for turn in range(60):
        with suppress(Unfit):
            plan = related(plan_instance(reversed_part.pattern, seeded(turn)), seeded(turn))
            inner, outer = (case.attributes for case in plan.cases.values())
            is_far = inner["starts"] > (0,) and outer["starts"] > (0,) and (inner.get("steps") or (1,))[0] > 1
            found += (
                is_far and inner.get("axes") == outer.get("axes") and plan.result(plan.reading.roots[0]).shape[0] != 0
            )
    assert found >= 2


def test_one_part_of_several_is_backwards_at_times():
    steps = []
    for turn in range(60):
        with suppress(Unfit):
            plan = related(plan_instance(exchange_halves.pattern, seeded(turn)), seeded(turn))
            steps += [case.attributes.get("steps") for case in plan.cases.values() if "starts" in case.attributes]
    assert steps.count((-1,)) >= 2


@pass_
def same_norm_twice(graph: Graph) -> list[str]:
    """Wrong: what an op of some name does twice, it need not do once."""
    for node in graph.in_order():
        kind = graph.nodes[node]["type"]
        if not kind.startswith("reduce_"):
            continue
        (source,) = graph.operands(node)
        if graph.nodes[source.node]["type"] == kind and graph.result_type(node) == graph.result_type(source.node):
            rewire(graph, node, source)
            graph.remove_node(node)
            return [node]
    return []


@pass_
def both_the_same(graph: Graph) -> list[str]:
    """Wrong: bits of which both are the same value are that value, but of what is exclusive."""
    for node in graph.in_order():
        operands = graph.operands(node)
        if graph.nodes[node]["type"].startswith("bitwise_") and len(operands) == 2 and operands[0] == operands[1]:
            rewire(graph, node, operands[0])
            graph.remove_node(node)
            return [node]
    return []


@pytest.mark.parametrize("wrong", [same_norm_twice, both_the_same], ids=lambda each: each.name)
def test_passes_about_ops_by_a_part_of_their_names_meet_one_behind_another_and_one_value_twice(wrong):
    assert check(wrong, seed=0).verdict == "refuted"


@pass_
def one_of_one_producer(graph: Graph) -> list[str]:
    """Wrong: of nodes that read one node, the first is enough, whichever result they read."""
    first: dict[tuple[str, str], str] = {}
    for node in graph.in_order():
        if graph.nodes[node]["type"] in ("neg", "exp", "abs"):
            (source,) = graph.operands(node)
            kept = first.setdefault((graph.nodes[node]["type"], source.node), node)
            if kept != node:
                rewire(graph, node, Operand(kept))
                graph.remove_node(node)
                return [node]
    return []


def test_two_results_of_a_node_are_read_by_one_op():
    assert check(one_of_one_producer, seed=0).verdict == "refuted"
