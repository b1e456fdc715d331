"""The table of all checks, in order."""

from __future__ import annotations

from graphrewrite.rewriting.verification import memory, modules, structure, values
from graphrewrite.rewriting.verification.checks import Check

__all__ = ["CHECKS"]

CHECKS: tuple[Check, ...] = (
    structure.names_are_unique,
    # Its nodes.
    structure.nodes_have_types,
    structure.ops_are_known,
    structure.attributes_fit,
    structure.annotations_are_names,
    structure.annotations_are_data,
    # Their operands.
    structure.slots_are_numbered,
    structure.operands_fit,
    values.results_are_there,
    values.predicates_fit,
    structure.cycles_pass_state,
    structure.effects_are_ordered,
    # Their values.
    values.values_are_typed,
    values.results_follow,
    values.constants_hold,
    values.shared_constants_are_kept,
    modules.placeholders_are_kept,
    modules.operators_agree,
    memory.programs_keep_what_is_read,
    # Nested graphs.
    modules.nesting_ends,
    modules.nested_graphs_are_sound,
    modules.graphs_are_the_modules,
    modules.implementations_are_there,
    # Inputs and outputs.
    structure.ports_are_numbered,
    structure.outputs_are_reached,
    structure.views_have_nodes,
)
"""Requirements on every graph. ``verify(graph, (*CHECKS, mine))`` adds one."""
