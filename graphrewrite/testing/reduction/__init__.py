"""Make a counterexample smaller: fewer nodes, smaller sizes, simpler values."""

from graphrewrite.testing.reduction.case import Case
from graphrewrite.testing.reduction.reducing import reduced

__all__ = ["Case", "reduced"]
