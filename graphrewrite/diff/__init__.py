"""What differs between two graphs: kept, inserted, removed, changed, moved; as text and as data."""

from graphrewrite.diff.diff import diff
from graphrewrite.diff.result import Diff, Entry, ModuleDiff, NodeDiff

__all__ = ["Diff", "Entry", "ModuleDiff", "NodeDiff", "diff"]
