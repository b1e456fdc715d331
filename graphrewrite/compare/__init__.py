"""Comparison of graphs: equality, hashes and differences."""

from typing import TYPE_CHECKING, NoReturn

from graphrewrite.compare.difference import diff
from graphrewrite.compare.equality import equals, structure_hash
from graphrewrite.compare.result import Diff, Entry, ModuleDiff, NodeDiff
from graphrewrite.errors import no_attribute

__all__ = ["Diff", "Entry", "ModuleDiff", "NodeDiff", "diff", "equals", "structure_hash"]


def __dir__() -> list[str]:
    return sorted(__all__)


if not TYPE_CHECKING:

    def __getattr__(name: str) -> NoReturn:
        raise no_attribute(__name__, name, __all__)
