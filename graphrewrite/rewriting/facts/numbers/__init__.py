"""The analysis of numbers: ranges, signs, known bits, NaN, infinities, -0, whole numbers, and constants.

To add an op of the library, write a function from an `AppliedOp` to a `Fact` into the module of its family, and enter
it in the table at the end of that module: `arithmetic`, `values`, `functions`, `integer_level`, `logic`,
`quantised`. A limit is an
exact number, or one that is rounded as the op rounds (`rounding.nearest`); what is said must hold for every value that
the facts of the operands allow. `tests/rewriting/facts` compares each function with evaluated graphs, and proves those
of whole numbers.
"""

from graphrewrite.rewriting.facts.analysis import Analysis
from graphrewrite.rewriting.facts.numbers.arithmetic import ARITHMETIC
from graphrewrite.rewriting.facts.numbers.fact import Fact, both, of_type
from graphrewrite.rewriting.facts.numbers.functions import FUNCTIONS
from graphrewrite.rewriting.facts.numbers.integer_level import INTEGER_LEVEL
from graphrewrite.rewriting.facts.numbers.logic import LOGIC
from graphrewrite.rewriting.facts.numbers.quantised import QUANTISED
from graphrewrite.rewriting.facts.numbers.values import VALUES

__all__ = ["Fact", "numbers"]

numbers: Analysis[Fact] = Analysis(
    "numbers",
    unknown=of_type,
    kind=Fact,
    functions={**ARITHMETIC, **VALUES, **LOGIC, **FUNCTIONS, **INTEGER_LEVEL, **QUANTISED},
    refine=both,
)
"""What is known of the numbers of a value: a `Fact`."""
