"""The pattern language: what stands above a rule's ``yield``, as data."""

from graphrewrite.pattern.condition import Literal, Where, same
from graphrewrite.pattern.constant import Constant
from graphrewrite.pattern.pattern import Pattern, Root, parts_of, top_of, walk
from graphrewrite.pattern.terms import (
    Either,
    Every,
    PatternNode,
    Repeated,
    Rest,
    Result,
    Term,
    Traced,
    Tracing,
    Unit,
    Variable,
    Without,
)
from graphrewrite.pattern.variables import variables_of

__all__ = [
    "Constant",
    "Either",
    "Every",
    "Literal",
    "Pattern",
    "PatternNode",
    "Repeated",
    "Rest",
    "Result",
    "Root",
    "Term",
    "Traced",
    "Tracing",
    "Unit",
    "Variable",
    "Where",
    "Without",
    "parts_of",
    "same",
    "top_of",
    "variables_of",
    "walk",
]
