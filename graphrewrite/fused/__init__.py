"""The fast room: a plain rule as one function that matches at a node, checks, names and edits.

Most rules are plain: ops, variables and literals above the yield, ops on what was bound below it. Of such a rule,
`graphrewrite.fused.matching` and `graphrewrite.fused.editing` write one Python function. It serves the graph as it
almost always is, and hands every node where something is unusual to the ordinary way: `graphrewrite.match`, then
`graphrewrite.plan`, then `graphrewrite.edit`. Both do the same, to the order of readers and the names of new nodes;
``tests/test_fused.py`` holds them to it.
"""

from graphrewrite.fused.binding import Surroundings, fuse
from graphrewrite.fused.record import Record

__all__ = ["Record", "Surroundings", "fuse"]
