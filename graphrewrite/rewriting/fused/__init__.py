"""The fast path: a conjunctive rule as one function that matches at a node, checks, names and edits.

A conjunctive pattern consists of ops, variables and literals, the lower half of its rule of ops on bound values. For
such a rule `matching` and `editing` generate one Python function. Unusual nodes are left to the general path:
`graphrewrite.rewriting.match`, `graphrewrite.rewriting.engine.plan`, `graphrewrite.graph.edit`. Both give the same
result, down to the order of readers and the names of new nodes; ``tests/rewriting/test_fused.py`` holds them to it.
"""

from graphrewrite.rewriting.fused.binding import Surroundings, fuse
from graphrewrite.rewriting.fused.record import Record

__all__ = ["Record", "Surroundings", "fuse"]
