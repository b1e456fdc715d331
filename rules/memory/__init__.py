"""Programs over memory: fewer copies, fewer regions, fewer instructions."""

from graphrewrite.rules.cleaning import eliminate_dead_nodes, merge_equal_nodes
from graphrewrite.rules.memory.copies import (
    eliminate_copies,
    eliminate_dead_stores,
    eliminate_idle_moves,
    eliminate_needless_order,
    overwrite_operands,
    separate_regions,
)
from graphrewrite.rules.memory.parts import (
    compute_in_place_of_insert,
    drop_whole_view,
    extract_slice,
    extract_splits,
    insert_concat,
    merge_views,
    view_extract,
    view_reshape,
)

__all__ = ["MEMORY_RULES"]

MEMORY_RULES = (
    view_reshape,
    extract_slice,
    extract_splits,
    view_extract,
    insert_concat,
    merge_views,
    drop_whole_view,
    eliminate_idle_moves,
    separate_regions,
    eliminate_needless_order,
    eliminate_copies,
    overwrite_operands,
    compute_in_place_of_insert,
    eliminate_dead_stores,
    merge_equal_nodes,
    eliminate_dead_nodes,
)
"""Rules of programs over memory, all exact."""
