"""Constant matrix products as networks of shifts and additions with shared sums, by rules on a graph of scalars."""

from graphrewrite.lowering.shift_add.shared_sums import SHARE_SUMS, add_in_trees, drop_unused_columns, share_pairs
from graphrewrite.lowering.shift_add.unrolling import (
    UNROLL_SHIFT_ADD,
    adders_of,
    fuse_requantise_into_adders,
    scalar_graph,
    unroll_as_adders,
)

__all__ = [
    "SHARE_SUMS",
    "UNROLL_SHIFT_ADD",
    "add_in_trees",
    "adders_of",
    "drop_unused_columns",
    "fuse_requantise_into_adders",
    "scalar_graph",
    "share_pairs",
    "unroll_as_adders",
]
