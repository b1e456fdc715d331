"""Preparation: a network with all that can be folded into its layers, written by what is quantised."""

from __future__ import annotations

from typing import Any

import numpy as np

from graphrewrite import Graph, Module
from graphrewrite.hierarchy.blocks import flattened
from graphrewrite.hierarchy.implementations import Library
from graphrewrite.lowering.composite.products import LOWER_SUMS
from graphrewrite.lowering.exchange.onnx.generic_nodes import refuse_unknown
from graphrewrite.lowering.predicates import without_predicates
from graphrewrite.lowering.preparation.broadcasting import spread_operand
from graphrewrite.lowering.preparation.position_means import BY_WINDOWS, POOL_POSITIONS, write_conv_transpose_by_blocks
from graphrewrite.lowering.preparation.signs import scale_rows_before_sign
from graphrewrite.lowering.prequantised.signs import COMPARISONS_AS_SIGNS
from graphrewrite.lowering.prequantised.transposes import SINK_TRANSPOSES
from graphrewrite.lowering.quantisation.calibration import check_weights, checked_samples
from graphrewrite.lowering.recorded_steps import recorded
from graphrewrite.rewriting.traces import Step
from graphrewrite.rules import FOLDING, RULES

__all__ = ["PREPARE", "prepared", "prepared_network"]

PREPARE = (
    *SINK_TRANSPOSES,
    *POOL_POSITIONS,
    *BY_WINDOWS,
    write_conv_transpose_by_blocks,
    *COMPARISONS_AS_SIGNS,
    scale_rows_before_sign,
    spread_operand,
    *LOWER_SUMS,
)
"""Rules that write a network by layers and functions that are quantised."""


def prepared_network(
    graph: Graph | Module, steps: list[Step] | None = None, implementations: Library | None = None
) -> Graph:
    """Return a network with all that can be folded into its layers."""
    graph = flattened(graph, implementations or {})  # a name that nobody has must not pass for the op
    refuse_unknown(without_predicates(graph))
    folded = recorded(graph, (*PREPARE, *FOLDING, *RULES), steps)
    check_weights(without_predicates(folded))
    return folded


def prepared(
    graph: Graph | Module,
    samples: Any,
    steps: list[Step] | None = None,
    implementations: Library | None = None,
) -> tuple[Graph, dict[str, np.ndarray]]:
    """Return a prepared network, and checked samples by input."""
    folded = prepared_network(graph, steps, implementations)
    return folded, checked_samples(folded, samples)
