"""Constant first operands give way to computed ones."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from graphrewrite import Graph, Tensor, evaluate, op, rewrite
from graphrewrite.lowering.prequantised import SWAP_OPERANDS
from graphrewrite.op.op import Op
from graphrewrite.testing import assert_preserves

NUMBERS = np.array([-np.inf, -3, -0.5, -0.0, 0, 0.25, 1, 2.5, 7, np.inf, np.nan], np.float32)


def applied(first: Op, constant: Any, element: str = "f32") -> Graph:
    g = Graph("g")
    g.output("y", first(np.asarray(constant), g.input("x", Tensor(element, ("N",)))))
    return g


@pytest.mark.parametrize("member", SWAP_OPERANDS, ids=lambda member: member.name)
def test_operands_change_places(member: Any) -> None:
    assert_preserves(member)


@pytest.mark.parametrize("constant", np.float32([-0.25, 0, 0.5, 4]))
@pytest.mark.parametrize("first", [op.sub, op.greater, op.greater_or_equal, op.less, op.less_or_equal, op.div])
def test_the_same_numbers_come_out_whatever_goes_in(first: Op, constant: np.float32) -> None:
    g = applied(first, constant)
    swapped = rewrite(g, SWAP_OPERANDS)
    if first is op.div and constant == 0:
        assert swapped == g
        return
    (last,) = swapped.operands("y")
    operands = [swapped.nodes[source.node]["type"] for source in swapped.operands(last.node)]
    assert (operands[0] == "constant", operands[1]) == (False, "constant")
    with np.errstate(all="ignore"):
        found, wanted = (evaluate(each, {"x": NUMBERS})["y"] for each in (swapped, g))
    np.testing.assert_array_equal(found, wanted)


@pytest.mark.parametrize(
    ("first", "constant", "element"),
    [(op.sub, np.uint8(7), "u8"), (op.div, np.float32(3), "f32"), (op.div, np.float32([[2], [6], [4]]), "f32")],
)
def test_those_stay_that_have_no_negative_or_no_exact_reciprocal(first: Op, constant: Any, element: str) -> None:
    g = applied(first, constant, element)
    assert rewrite(g, SWAP_OPERANDS) == g
