"""The problem of a placement: items of given sizes, and which of them live at the same time."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

__all__ = ["Problem"]


@dataclass(frozen=True)
class Problem:
    """Items of given sizes, which live in sections of time.

    Attributes
    ----------
    sizes : tuple of int
        Size by item, at least one.
    sections : tuple of int
        Sets of items, as bits, that live at the same time; each item is in one at least.
    """

    sizes: tuple[int, ...]
    sections: tuple[int, ...]

    @cached_property
    def members(self) -> list[list[int]]:
        """The sections of each item."""
        found: list[list[int]] = [[] for _ in self.sizes]
        for section, items in enumerate(self.sections):
            while items:
                found[(items & -items).bit_length() - 1].append(section)
                items &= items - 1
        return found

    @cached_property
    def loads(self) -> list[int]:
        """The sum of sizes in each section."""
        found = [0] * len(self.sections)
        for size, sections in zip(self.sizes, self.members, strict=True):
            for section in sections:
                found[section] += size
        return found

    @cached_property
    def beside(self) -> list[int]:
        """The items that live together with each item, itself among them."""
        found = [0] * len(self.sizes)
        for item, sections in enumerate(self.members):
            for section in sections:
                found[item] |= self.sections[section]
        return found
