"""The table of all checks, in order."""

from __future__ import annotations

from graphrewrite.rewriting.verification.checks import Check
from graphrewrite.rewriting.verification.modules import (
    graphs_are_the_modules,
    implementations_are_there,
    nested_graphs_are_sound,
    nesting_ends,
    operators_agree,
    placeholders_are_kept,
)
from graphrewrite.rewriting.verification.ports import outputs_are_reached, ports_are_numbered
from graphrewrite.rewriting.verification.structure import (
    annotations_are_names,
    attributes_fit,
    cycles_pass_state,
    names_are_unique,
    nodes_have_types,
    operands_fit,
    ops_are_known,
    slots_are_numbered,
)
from graphrewrite.rewriting.verification.values import (
    constants_hold,
    results_are_there,
    results_follow,
    shared_constants_are_kept,
    values_are_typed,
)

__all__ = ["CHECKS"]

CHECKS: tuple[Check, ...] = (
    names_are_unique,
    # What a node is.
    nodes_have_types,
    ops_are_known,
    attributes_fit,
    annotations_are_names,
    # What it reads.
    slots_are_numbered,
    operands_fit,
    results_are_there,
    cycles_pass_state,
    # What its values are.
    values_are_typed,
    results_follow,
    constants_hold,
    shared_constants_are_kept,
    placeholders_are_kept,
    operators_agree,
    # What it is made of.
    nesting_ends,
    nested_graphs_are_sound,
    graphs_are_the_modules,
    implementations_are_there,
    # What the graph offers.
    ports_are_numbered,
    outputs_are_reached,
)
"""What every graph fulfils. ``verify(graph, (*CHECKS, mine))`` asks for more."""
