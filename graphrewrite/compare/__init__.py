"""Comparison of graphs: equality, hashes and differences."""

from graphrewrite.compare.difference import diff
from graphrewrite.compare.equality import equals, structure_hash
from graphrewrite.compare.result import Diff, Entry, ModuleDiff, NodeDiff

__all__ = ["Diff", "Entry", "ModuleDiff", "NodeDiff", "diff", "equals", "structure_hash"]


def __dir__() -> list[str]:
    return sorted(__all__)
