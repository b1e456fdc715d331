"""Cases of graph optimisation that others published: what is left, where it is, and the values."""

from __future__ import annotations

import pytest

from graphrewrite import rewrite, rules
from graphrewrite.lowering import lower_composite
from tests.rules.optimisation_cases import CASES, OPTIMISED, Translation, complaints

pytestmark = pytest.mark.skipif(not CASES, reason="the cases are not part of the project")

WAITING = frozenset(
    {
        "adaptive_avgpool_1x1",
        "bn_after_conv_reshape_changes_channel",
        "bn_after_conv_reshape_flat",
        "bn_after_conv_reshape_whc",
        "bn_redundant_1",
        "bn_redundant_3",
        "bn_redundant_4",
        "broadcast_batch_matmul",
        "channel_shuffle_recognised",
        "clip_relu_clip_merge",
        "clip_relu_merge",
        "concat_of_slices",
        "concat_of_slices_with_identities",
        "concat_single_input",
        "concat_slices_concat_permuted",
        "eliminate_noops",
        "fuse_conv_clip",
        "fuse_conv_leakyrelu",
        "fuse_conv_relu",
        "fuse_conv_tanh",
        "hoist_tanh_above_split",
        "int8_dequantize_convert",
        "leaky_relu_from_tiled_constant",
        "lower_swish",
        "matmul_add_to_fc",
        "merge_matmuls_skip_dependent",
        "merge_ten_batched_adds",
        "quantized_concat_mixed_inputs",
        "sink_dequantize_below_concat",
        "sink_tanh_below_concat",
        "sink_transpose_below_arith",
        "sink_transpose_below_concat",
        "slice_concat_adjacent_axis",
        "slices_of_concat_axis1",
        "slices_of_concat_axis2",
        "softmax_from_exp_sum_div",
        "zero_arithmetic",
    }
)
"""Cases whose rules are not there yet."""
OTHERS = frozenset({"alloc", "ir", "schedule", "predicate"})
"""Kinds of cases about memory, programs and predicates, which other tests have."""


def optimised(case, graph):
    """Rewrite the graph of a case as its stage asks."""
    if case["stage"] == "lower":
        return lower_composite(graph)
    return rewrite(graph, [*rules.RULES, *rules.FOLDING, *rules.APPROXIMATE])


@pytest.mark.parametrize("name", [name for name in OPTIMISED if name not in WAITING])
def test_a_case_is_optimised(name):
    case = OPTIMISED[name]
    before = Translation(case).graph
    assert not complaints(case, before, optimised(case, before))


@pytest.mark.parametrize("name", [name for name in OPTIMISED if name in WAITING])
def test_a_case_that_waits_keeps_its_values(name):
    case = OPTIMISED[name]
    before = Translation(case).graph
    assert not [said for said in complaints(case, before, optimised(case, before)) if said.startswith("values")]


def test_every_case_has_its_place():
    assert OPTIMISED.keys() >= WAITING
    assert {case["kind"] for case in CASES.values()} == {"graph", *OTHERS}
