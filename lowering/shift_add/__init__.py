"""Constant matrix products as networks of shifts and additions with shared sums, by rules on a graph of scalars."""

from graphrewrite.lowering.shift_add.sharing import SHARE_SUMS, add_in_trees, drop_unused_columns, share_pairs

__all__ = ["SHARE_SUMS", "add_in_trees", "drop_unused_columns", "share_pairs"]
