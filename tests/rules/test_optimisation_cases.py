"""Cases of graph optimisation that others published: what is left, where it is, and the values."""

from __future__ import annotations

import pytest

from graphrewrite.lowering import ONNX, Target, lower_composite, optimise
from graphrewrite.rules import MERGE_PRODUCTS, fuse_activations
from tests.rules.optimisation_cases import CASES, OPTIMISED, Translation, complaints, ops_named

pytestmark = pytest.mark.skipif(not CASES, reason="the cases are not part of the project")

OTHERS = frozenset({"alloc", "ir", "schedule", "predicate"})
"""Kinds of cases about memory, programs and predicates, which other tests have."""


def optimised(case, graph):
    """Optimise the graph of a case as its stage asks; what it is lowered to are the ops that its target has."""
    if case["stage"] == "lower":
        return lower_composite(graph, keep=ops_named(case))
    fused = ONNX.fused if case["passes"] == "default" else (*ONNX.fused, *MERGE_PRODUCTS)
    finish = (fuse_activations,) if "backend_fuses" in case.get("options", {}) else ()
    return optimise(graph, Target("case", fused=fused, finish=finish), approximate=True)


@pytest.mark.parametrize("name", OPTIMISED)
def test_a_case_is_optimised(name):
    case = OPTIMISED[name]
    before = Translation(case).graph
    assert not complaints(case, before, optimised(case, before))


def test_every_case_has_its_place():
    assert {case["kind"] for case in CASES.values()} == {"graph", *OTHERS}
