"""Facts about values: what is known of them whatever the inputs are, and what rules may ask of a node's surroundings.

An `Analysis` is a value: what is known of an unknown value, and a function for each op. `numbers` is the library's own;
``numbers.extended({my_op: function})`` knows more ops. Rules ask by predicates such as `nonnegative`, in
``rule.where(nonnegative)`` or below the yield, and by ``x.fact()``; `facts_of` tells what is known of a graph.
"""

from graphrewrite.rewriting.facts.analysis import Analysis, AppliedOp
from graphrewrite.rewriting.facts.known import Facts, facts_of
from graphrewrite.rewriting.facts.numbers import Fact, numbers
from graphrewrite.rewriting.facts.predicate import Predicate
from graphrewrite.rewriting.facts.predicates import (
    finite,
    never_minus_zero,
    never_nan,
    never_zero,
    nonnegative,
    nonpositive,
    visibly_minus_zero,
    visibly_nan,
    visibly_unlimited,
    whole,
)
from graphrewrite.rewriting.facts.queries import Query, distance, dominators, producers, readers_of
from graphrewrite.rewriting.facts.types import types

__all__ = [
    "Analysis",
    "AppliedOp",
    "Fact",
    "Facts",
    "Predicate",
    "Query",
    "distance",
    "dominators",
    "facts_of",
    "finite",
    "never_minus_zero",
    "never_nan",
    "never_zero",
    "nonnegative",
    "nonpositive",
    "numbers",
    "producers",
    "readers_of",
    "types",
    "visibly_minus_zero",
    "visibly_nan",
    "visibly_unlimited",
    "whole",
]
