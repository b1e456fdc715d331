"""The fast path: functions generated for a rule, which match at a node, check, name and edit.

They serve rules of conjunctive patterns: of ops, operands that may be missing or stand for several, literals and
conditions, with roots that have values in common. `matching` writes the function that finds matches, `editing` one that
replaces them. Where the replacement is ops on bound values, it is known once and for all; otherwise `computed` runs the
rule's function on each match, and has one function for each shape of what it returns. Unusual nodes are left to the
general path: `graphrewrite.rewriting.match`, `graphrewrite.rewriting.engine.plan`, `graphrewrite.graph.edit`. Both give
the same result, down to the order of readers and the names of new nodes; ``tests/rewriting/test_fused.py`` holds them
to it.
"""

from graphrewrite.rewriting.fused.binding import Finder, Fused, Surroundings
from graphrewrite.rewriting.fused.record import Layout, Record, matched_in

__all__ = ["Finder", "Fused", "Layout", "Record", "Surroundings", "matched_in"]
