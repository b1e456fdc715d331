"""The verifier: a table of checks that name what is wrong with a graph; a user's own are added to the tuple.

Examples
--------
>>> from graphrewrite.verify import CHECKS
>>> CHECKS[0].name, CHECKS[0].doc
('names_are_unique', 'Names are texts: one that prints like another is a duplicate.')
"""

from graphrewrite.verify.check import Check, Fault, check
from graphrewrite.verify.table import CHECKS
from graphrewrite.verify.verifier import Checks, faults, verify

__all__ = ["CHECKS", "Check", "Checks", "Fault", "check", "faults", "verify"]
