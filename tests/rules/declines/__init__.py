"""For each rule graphs in which its pattern is there, and that it must leave as they are: expressions and their types.

The types are those of the inputs, in the text form. What a rule reads in its operands is nearly right in each graph.
"""

from __future__ import annotations

from graphrewrite import Rule
from tests.rules.declines import exact, folding, forms, products, recognition
from tests.rules.declines.parts import Case

__all__ = ["DECLINES"]

DECLINES: dict[Rule, tuple[Case, ...]] = {
    **exact.DECLINES,
    **folding.DECLINES,
    **forms.DECLINES,
    **products.DECLINES,
    **recognition.DECLINES,
}
