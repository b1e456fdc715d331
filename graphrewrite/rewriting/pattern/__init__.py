"""The pattern language: the part of a rule above its ``yield``, as data."""

from graphrewrite.rewriting.pattern.condition import Application, Literal, Where, identical, same
from graphrewrite.rewriting.pattern.pattern import Pattern, Root, height_of, kinds_of, parts_of, top_of, walk
from graphrewrite.rewriting.pattern.terms import (
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
from graphrewrite.rewriting.pattern.variables import Constant, variables_of

__all__ = [
    "Application",
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
    "height_of",
    "identical",
    "kinds_of",
    "parts_of",
    "same",
    "top_of",
    "variables_of",
    "walk",
]
