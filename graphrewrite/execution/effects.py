"""Effects that happen when a graph is evaluated, in order: what is compared where outputs alone do not tell."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Any

import numpy as np

__all__ = ["Effect", "effects_recorded", "note_effect"]

_RECORD: ContextVar[list[Effect] | None] = ContextVar("record", default=None)
"""The effects of the evaluation that runs, in nested graphs as well; None where nobody asks for them."""


@dataclass(frozen=True, eq=False)
class Effect:
    """One effect: a node that ran, and with what.

    Attributes
    ----------
    node : str
        Its name, in the graph or in the nested graph that it is in.
    op : str
        Name of its op.
    operands : tuple of ndarray
        Copies of its operands.
    attributes : mapping of str to Any
        Its attributes, with defaults.

    Examples
    --------
    >>> print(Effect("log_1", "log", (np.float32([1, 2]),), {"level": 3}))
    log([1.0, 2.0], level=3)
    """

    node: str
    op: str
    operands: tuple[np.ndarray, ...]
    attributes: Mapping[str, Any]

    def __str__(self) -> str:
        operands = [str(array.tolist()) for array in self.operands]
        return f"{self.op}({', '.join([*operands, *(f'{k}={v!r}' for k, v in self.attributes.items())])})"


@contextmanager
def effects_recorded() -> Iterator[list[Effect]]:
    """Record the effects of all evaluations inside of the block, in order."""
    record: list[Effect] = []
    token = _RECORD.set(record)
    try:
        yield record
    finally:
        _RECORD.reset(token)


def note_effect(node: str, op: str, operands: list[np.ndarray], attributes: Mapping[str, Any]) -> None:
    """Note that a node with an effect runs."""
    record = _RECORD.get()
    if record is not None:
        record.append(Effect(node, op, tuple(array.copy() for array in map(np.asarray, operands)), dict(attributes)))
