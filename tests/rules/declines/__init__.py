"""For each rule graphs in which its pattern is there, and that it must leave as they are.

A case is an expression and the types of its inputs, in the text form, or the lines of a graph with the output ``r``.
What a rule reads in its operands is nearly right in each graph.
"""

from __future__ import annotations

from graphrewrite import Rule
from tests.rules.declines import attention, exact, folding, forms, memory, products, recognition
from tests.rules.declines.parts import Case

__all__ = ["DECLINES"]

DECLINES: dict[Rule, tuple[Case | str, ...]] = {
    **attention.DECLINES,
    **exact.DECLINES,
    **folding.DECLINES,
    **forms.DECLINES,
    **memory.DECLINES,
    **products.DECLINES,
    **recognition.DECLINES,
}
