"""Property tests for rules, passes and lowerings: one line that finds the wrong rule.

Everything generated comes from the ops' own definitions and from a rule's own pattern, so that no rule needs a
generator, and a counterexample is a small graph in the text form.

Examples
--------
>>> from graphrewrite import op, rule
>>> from graphrewrite.testing import assert_preserves
>>> @rule
... def drop_double_negation(x):
...     "Minus minus x is x."
...     yield op.neg(op.neg(x))
...     return x
>>> assert_preserves(drop_double_negation)
"""

from typing import TYPE_CHECKING, NoReturn

from graphrewrite.errors import MissingDependencyError, no_attribute

try:
    import hypothesis as _hypothesis  # noqa: F401  # asked for here once, so that what follows may rely on it
except ImportError:
    raise MissingDependencyError.of_extra("tests of rules", "testing") from None

from graphrewrite.testing.confluence import assert_confluent
from graphrewrite.testing.evidence import EvidenceWarning
from graphrewrite.testing.proof.proof import Proof
from graphrewrite.testing.proof.proving import prove
from graphrewrite.testing.properties import assert_idempotent, assert_preserves, assert_refines, check
from graphrewrite.testing.report import Report
from graphrewrite.testing.strategies import attributes_of, inputs_for
from graphrewrite.testing.strategies.digraph_strategy import digraphs
from graphrewrite.testing.strategies.graph_strategy import graphs
from graphrewrite.testing.strategies.pattern_strategy import patterns
from graphrewrite.testing.strategies.type_strategy import types
from graphrewrite.testing.termination import assert_terminates

__all__ = [
    "EvidenceWarning",
    "Proof",
    "Report",
    "assert_confluent",
    "assert_idempotent",
    "assert_preserves",
    "assert_refines",
    "assert_terminates",
    "attributes_of",
    "check",
    "digraphs",
    "graphs",
    "inputs_for",
    "patterns",
    "prove",
    "types",
]


def __dir__() -> list[str]:
    return sorted(__all__)


if not TYPE_CHECKING:

    def __getattr__(name: str) -> NoReturn:
        raise no_attribute(__name__, name, __all__)
