"""A graph on which a property does not hold."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from graphrewrite.graph import Graph
from graphrewrite.text import to_text

__all__ = ["Counterexample"]


@dataclass(frozen=True, eq=False)
class Counterexample:
    """A graph on which a property does not hold.

    Attributes
    ----------
    before : Graph
        What was given.
    after : Graph or None
        What was made of it, if anything.
    reason : str
        What does not hold, in one sentence.
    inputs : dict
        The first row of the inputs that shows it.
    rules : object
        What was tested, as it was given: a rule, a pass, a rule set, a function; None where that is not known.
    seed : int or None
        Of the search that found it.
    bound : float or None
        By how much values may differ; None where every bit counts.
    claim : str
        What does not hold, as Python that fails; see `graphrewrite.testing.failure.claims`. Found out where empty.
    """

    before: Graph
    after: Graph | None
    reason: str
    inputs: Mapping[str, np.ndarray] = field(default_factory=dict)
    rules: Any = None
    seed: int | None = None
    bound: float | None = None
    claim: str = ""

    def __str__(self) -> str:
        parts = [self.reason, "", "before (Graph.parse of this text rebuilds it):", to_text(self.before, whole=True)]
        if self.after is not None:
            parts += ["", "after:", to_text(self.after, whole=True)]
        if self.inputs:
            parts += ["", "inputs:", *(f"{name} = {array.tolist()}" for name, array in self.inputs.items())]
        return "\n".join(parts)
