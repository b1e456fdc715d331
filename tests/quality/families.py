"""The planted rules, found by what their modules hold."""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Iterator
from dataclasses import dataclass
from types import ModuleType
from typing import Any

from graphrewrite import Pass, Rule

__all__ = ["Planted", "planted_in"]


@dataclass(frozen=True)
class Planted:
    """A rule, pass or function that is right or wrong by intention.

    Attributes
    ----------
    name : str
        Its family and name.
    subject : Rule, Pass or callable
        What is tested.
    on : SearchStrategy or None
        Where.
    smallest : int or None
        Nodes of the smallest counterexample, where the pattern does not tell.
    """

    name: str
    subject: Any
    on: Any
    smallest: int | None

    def __str__(self) -> str:
        return self.name


def planted_in(package: ModuleType) -> Iterator[Planted]:
    """Yield what the modules of a package plant: rules, passes, and documented functions of one graph."""
    for info in pkgutil.iter_modules(package.__path__):
        module = importlib.import_module(f"{package.__name__}.{info.name}")
        on, smallest = getattr(module, "ON", {}), getattr(module, "SMALLEST", {})
        for name, found in vars(module).items():
            own = getattr(found, "__module__", "") == module.__name__ and name in getattr(module, "FUNCTIONS", ())
            if isinstance(found, Rule | Pass) or own:
                yield Planted(f"{info.name}.{name}", found, on.get(name), smallest.get(name))
