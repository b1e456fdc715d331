"""Facts of ops that move entries, choose among them, or make them from constants."""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce
from typing import Any

import numpy as np

from graphrewrite.op import LIBRARY
from graphrewrite.op.precision import least_of
from graphrewrite.rewriting.facts.analysis import AppliedOp, OpFunction
from graphrewrite.rewriting.facts.numbers.fact import Fact, either, integers, of_array
from graphrewrite.types import element_dtype, hold

__all__ = ["VALUES"]


def _constant(node: AppliedOp) -> Fact:
    return of_array(node.value, node.type)


def _same(node: AppliedOp) -> Any:
    """The results hold entries of the first operand only."""
    return node.facts[0] if len(node.results) == 1 else (node.facts[0],) * len(node.results)


def _any_of(node: AppliedOp) -> Fact:
    """The result holds entries of its operands only."""
    facts: Sequence[Fact] = node.facts
    return reduce(either, facts)


def _where(node: AppliedOp) -> Fact:
    condition, x, y = node.facts
    if condition.number is not None:
        return _with_constants(node, x if condition.number else y)
    return _with_constants(node, either(x, y))


def _with_constants(node: AppliedOp, fact: Fact) -> Fact:
    return fact._replace(constant=all(each.constant for each in node.facts))


def _shape(node: AppliedOp) -> Fact:
    return integers(0, (1 << 63) - 1)


def _max_pool(node: AppliedOp) -> Fact:
    x: Fact = node.facts[0]
    attributes = node.attributes
    pads, kernel = attributes["pads"], attributes["kernel"]
    is_plain = not attributes["ceil_mode"] and all(step == 1 for step in attributes["dilations"])
    inside = (not attributes["ceil_mode"] and not any(pads)) or (
        is_plain
        and len(pads) == 2 * len(kernel)
        and all(pad < size for pad, size in zip(pads, (*kernel, *kernel), strict=True))
    )
    if inside:
        return x
    # A window that lies in the border has the least number of the dtype, as far as the type can hold it.
    border = hold(node.element, np.full(1, least_of(element_dtype(node.element))))
    return either(x, of_array(border, node.type))


_MOVING = (
    *("channel_shuffle", "compress", "depth_to_space", "dropout", "expand", "flatten", "gather", "gather_elements"),
    *("gather_nd", "identity", "name_axes", "reshape", "reverse_sequence", "slice", "space_to_depth", "split"),
    *("squeeze", "tile", "transfer", "transpose", "unsqueeze"),
)

VALUES: dict[Any, OpFunction] = {
    **{LIBRARY[name]: _same for name in _MOVING},
    LIBRARY["concat"]: _any_of,
    LIBRARY["constant"]: _constant,
    LIBRARY["max_pool"]: _max_pool,
    LIBRARY["shape"]: _shape,
    LIBRARY["size"]: _shape,
    LIBRARY["where"]: _where,
}
"""The functions of ops that move or choose entries."""
