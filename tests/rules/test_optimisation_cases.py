"""Cases of graph optimisation that others published: what is left, where it is, and the values."""

from __future__ import annotations

import pytest

from graphrewrite import rewrite
from graphrewrite.graph.rewiring import move_slot
from graphrewrite.lowering import ONNX, Target, lower_composite, optimise
from graphrewrite.rules import AS_PRODUCTS, CHANGE_GRIDS, MERGE_PRODUCTS, REARRANGE_LAST, fuse_activations
from tests.rules.optimisation_cases import CASES, OPTIMISED, Translation, complaints, ops_named

pytestmark = pytest.mark.skipif(not CASES, reason="the cases are not part of the project")

OTHERS = frozenset({"alloc", "ir", "schedule", "predicate"})
"""Kinds of cases about memory, programs and predicates, which other tests have."""


def optimised(case, graph):
    """Optimise the graph of a case as its stage asks; what it is lowered to are the ops that its target has."""
    if case["stage"] == "lower":
        lowered = lower_composite(graph, keep=ops_named(case))
        is_product = "FullyConnected" in case["expected"].get("present_ops", ())
        return rewrite(lowered, AS_PRODUCTS) if is_product else lowered
    fused = ONNX.fused if case["passes"] == "default" else (*ONNX.fused, *MERGE_PRODUCTS)
    if "enable_quant_param_changes" in case.get("options", {}) or "ReplaceZeroScaleFP16QuantNodes" in case["passes"]:
        fused = (*fused, *CHANGE_GRIDS)
    finish = (fuse_activations,) if "backend_fuses" in case.get("options", {}) else ()
    if case["expected"].keys() & {"chains", "output_op"}:
        finish = (*finish, *REARRANGE_LAST)
    return optimise(graph, Target("case", fused=fused, finish=finish), approximate=True)


@pytest.mark.parametrize("name", OPTIMISED)
def test_a_case_is_optimised(name):
    case = OPTIMISED[name]
    before = Translation(case).graph
    assert not complaints(case, before, optimised(case, before))


COMMUTATIVE = frozenset({"Add", "BatchedAdd", "Max", "Min", "Mul"})


@pytest.mark.parametrize("name", [n for n, c in OPTIMISED.items() if COMMUTATIVE & {x["op"] for x in c["nodes"]}])
def test_so_it_is_with_operands_in_the_other_order(name):
    case = OPTIMISED[name]
    before, turned = Translation(case).graph, Translation(case).graph
    of_two = [node for node in turned if len(turned.operands(node)) == 2 and turned.op(node).commutative]
    assert of_two
    for node in of_two:
        for slot, operand in enumerate(reversed(turned.operands(node))):
            move_slot(turned, node, slot, operand)
    assert not complaints(case, before, optimised(case, turned))


def test_every_case_has_its_place():
    assert {case["kind"] for case in CASES.values()} == {"graph", *OTHERS}
