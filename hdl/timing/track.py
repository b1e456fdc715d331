"""The cycles of the beats of a link, of which only those that do not repeat are stored."""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

__all__ = ["Cycle", "Periods", "Track"]

Cycle = NDArray[np.int64]

_ROUND, _SHORT_ROUND = 60, 12  # multiples of what is likely to repeat


class Track(NamedTuple):
    """A cycle for each beat of each frame: of the frames solved, the last `every` repeat ever after."""

    solved: Cycle
    frames: int
    every: int = 1
    period: int = 0

    def of(self, frames: slice | int = slice(None), beats: slice | int = slice(None)) -> Cycle:
        """Return the cycles of some beats of some frames."""
        if isinstance(frames, slice) and len(self.solved) == self.frames:
            return np.asarray(self.solved[frames, beats])
        numbers = np.arange(self.frames)[frames]
        # A frame beyond those solved repeats one of the last `every`, a period later in each round of them.
        beyond = numbers - len(self.solved)
        rounds = (beyond + self.every) // self.every * (beyond >= 0)
        rows = np.where(beyond >= 0, len(self.solved) - self.every + beyond % self.every, numbers)
        cycles = self.solved[:, beats][rows]
        return np.asarray(cycles + self.period * (rounds if cycles.ndim == rounds.ndim else rounds[..., None]))

    @property
    def interval(self) -> float:
        """Cycles from the last beat of a frame to that of the next, on average in the end."""
        if len(self.solved) < self.frames:
            return self.period / self.every
        # What repeats is not known. An average over whole rounds, which leaves out the start of a long run.
        count = max(self.frames // 2 // _ROUND * _ROUND, min(_SHORT_ROUND, self.frames - 1))
        return float(self.solved[-1, -1] - self.solved[-1 - count, -1]) / count


class Periods(NamedTuple):
    """All components repeat what they did `every` frames ago, each `cycles[component]` later."""

    every: int
    cycles: dict[str, int]
