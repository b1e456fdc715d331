"""Modules: named graphs that share constants, placeholders and operators, and may be nodes of each other."""

from graphrewrite.module.module import Module
from graphrewrite.module.operator import Operator, disagreements
from graphrewrite.module.shared import Shared

__all__ = ["Module", "Operator", "Shared", "disagreements"]
