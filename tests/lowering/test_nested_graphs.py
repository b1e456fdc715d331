"""Nested graphs are quantised and lowered where they are used; values inside are compared, and named by their path."""

from __future__ import annotations

import numpy as np
import pytest

from graphrewrite import Graph, Tensor, evaluation, op
from graphrewrite.hierarchy import graph_op
from graphrewrite.lowering import QuantisationError, findings, quantise
from tests.support.nested_networks import residual_module


def test_a_module_is_quantised_and_its_inner_values_are_compared():
    module, samples = residual_module()
    fixed = quantise(module, samples, equalise=False)
    assert fixed == quantise(module["main"], samples, equalise=False)
    compared = evaluation(fixed, {"x": samples}, module["main"])
    errors = {node: each.error for (node, _), each in compared.edges.items() if node.startswith("block_")}
    assert len(errors) == 3 * 5
    assert all(error is not None and error.largest < 0.2 for error in errors.values())
    assert findings(module["main"], fixed, {"x": samples}) == ()


def test_widths_name_one_use_of_a_block_or_all():
    module, samples = residual_module(uses=2)

    def formats(bits: dict[str, int]) -> dict[str, int]:
        fixed = quantise(module, samples, bits=bits)
        kinds = [(n, fixed.nodes[n]) for n in fixed if fixed.nodes[n]["type"] == "quantise"]
        return {fixed.origin(n)[0]: data["element"].width for n, data in kinds}

    one = formats({"block_1.linear_2": 5})
    assert (one["block_1.linear_2"], one["block_2.linear_2"]) == (5, 8)
    all_uses = formats({"block.linear_2": 5})
    assert (all_uses["block_1.linear_2"], all_uses["block_2.linear_2"]) == (5, 5)


def test_uses_of_a_block_are_rounded_alike_at_the_end_of_the_network():
    module, samples = residual_module(head=False)
    fixed = quantise(module, samples)
    ends = [
        fixed.nodes[n]["element"].width
        for n in fixed
        if fixed.nodes[n]["type"] == "quantise" and "relu_2" in str(fixed.origin(n))
    ]
    assert ends == [8, 8, 8]


def test_what_has_no_fixed_point_form_is_named_with_its_path():
    block = Graph("block")
    block.output("y", op.cum_sum(block.input("x", Tensor("f32", ("N", 2))), axis=1))
    g = Graph("g")
    nested = op.linear(g.input("x", Tensor("f32", ("N", 2))), np.eye(2, dtype=np.float32), np.zeros(2, np.float32))
    g.output("y", op.linear(graph_op(block)(nested), np.eye(2, dtype=np.float32), np.zeros(2, np.float32)))
    with pytest.raises(QuantisationError, match=r"block_1\.cum_sum_1"):
        quantise(g, np.ones((4, 2), np.float32))
