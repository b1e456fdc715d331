"""Fresh names: a stem and the next free number."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

__all__ = ["GreatestNumbers"]


class GreatestNumbers(dict[str, int]):
    """The greatest number of each stem in some names, computed when it is first needed.

    Fresh names therefore depend on the names in a graph alone, not on its history.

    Examples
    --------
    >>> numbers = GreatestNumbers(["x", "relu_1", "relu_3", "max_pool_2"])
    >>> numbers["relu"], numbers["max_pool"], numbers["conv"]
    (3, 2, 0)
    """

    def __init__(self, names: Collection[Any]) -> None:
        super().__init__()
        self.names = names

    def fresh(self, stem: str, taken: Collection[Any]) -> str:
        """Return the next name of a stem that is not taken, and remember its number."""
        count = self[stem] + 1
        while (name := f"{stem}_{count}") in taken:
            count += 1
        self[stem] = count
        return name

    def __missing__(self, stem: str) -> int:
        # One long text is searched much faster than many short ones.
        try:
            text = "\n".join(self.names)
        except TypeError:  # names of a digraph may be anything
            text = "\n".join([name for name in self.names if isinstance(name, str)])
        _, *found = f"\n{text}\n".split(f"\n{stem}_")
        numbers = [number for rest in found if (number := rest.partition("\n")[0]).isdecimal()]
        self[stem] = max(map(int, numbers), default=0)
        return self[stem]
