"""The verifier: a table of checks that report the faults of a graph; users add checks of their own to the tuple.

Examples
--------
>>> from graphrewrite.rewriting.verification import CHECKS
>>> CHECKS[0].name, CHECKS[0].doc
('names_are_unique', 'Node names are non-empty strings; a name that prints like another one is a duplicate.')
"""

from graphrewrite.rewriting.verification.checks import Check, Fault, check
from graphrewrite.rewriting.verification.table import CHECKS
from graphrewrite.rewriting.verification.verifier import Checks, faults, verify

__all__ = ["CHECKS", "Check", "Checks", "Fault", "check", "faults", "verify"]
