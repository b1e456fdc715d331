"""Checkpoints: everything that training needs to go on as if it had never stopped, in one file."""

from __future__ import annotations

import json
import math
import zipfile
from collections.abc import Mapping
from dataclasses import dataclass, field
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np

from graphrewrite.learning.errors import TrainingError

__all__ = ["State", "load_state", "save_state"]


@dataclass(frozen=True)
class State:
    """Where training stands, between two steps.

    Attributes
    ----------
    arrays : mapping of str to ndarray
        Parameters and statistics.
    memory : mapping of str to ndarray
        What the optimiser remembers.
    epoch, step : int
        Epochs that are finished, and steps of the next one that are done.
    total, right : float
        Sums over the samples of the current epoch: of the loss, and of right answers.
    history : tuple of dict
        What the finished epochs gave.
    best : mapping of str to ndarray
        The arrays of the last epoch whose loss of validation is as good as the least.
    limit : float
        Up to which loss of validation that is: the least so far and its standard error.
    """

    arrays: Mapping[str, np.ndarray]
    memory: Mapping[str, np.ndarray]
    epoch: int = 0
    step: int = 0
    total: float = 0.0
    right: float = 0.0
    history: tuple[Mapping[str, Any], ...] = ()
    best: Mapping[str, np.ndarray] = field(default_factory=dict)
    limit: float = math.inf


_GROUPS = ("arrays", "memory", "best")
_TOLD = ("seed", "batch", "optimiser")
"""What tells trainings apart in words; all else is a digest."""
_NUMBERS = ("epoch", "step", "total", "right", "limit")


def save_state(path: str | PathLike[str], state: State, run: Mapping[str, str]) -> None:
    """Write a checkpoint; an older one of that name stays whole until the new one is complete."""
    file = Path(path)
    head = {**{name: getattr(state, name) for name in _NUMBERS}, "history": list(state.history), "run": dict(run)}
    arrays = {f"{group}/{name}": array for group in _GROUPS for name, array in getattr(state, group).items()}
    beside = file.with_name(file.name + ".part")
    with beside.open("wb") as stream:
        np.savez(stream, head=np.array(json.dumps(head)), **arrays)
    beside.replace(file)


def load_state(path: str | PathLike[str], run: Mapping[str, str]) -> State | None:
    """Return the state of a checkpoint; None if there is none.

    Raises
    ------
    TrainingError
        If the file is no checkpoint, or one of another training.
    """
    file = Path(path)
    if not file.exists():
        return None
    try:
        with np.load(file) as found:
            head = json.loads(str(found["head"]))
            groups: dict[str, dict[str, np.ndarray]] = {group: {} for group in _GROUPS}
            for name in found.files:
                group, _, rest = name.partition("/")
                if rest:
                    groups[group][rest] = found[name]
        fields: dict[str, Any] = {**groups, **{name: head[name] for name in _NUMBERS}}
        state = State(**fields, history=tuple(head["history"]))
    except (KeyError, OSError, TypeError, ValueError, zipfile.BadZipFile) as error:
        raise TrainingError(f"{str(file)!r} is no checkpoint; remove it, or give another name") from error
    for name, value in run.items():
        if (own := head["run"].get(name)) != value:
            apart = f"its {name} is {own}, and not {value}" if name in _TOLD else f"its {name} differs"
            raise TrainingError(
                f"the checkpoint {str(file)!r} is of another training: {apart}; remove it to begin anew, or "
                "give another name"
            )
    return state
