"""Running steps one by one: what lives, what each step would add, and what it would free."""

from __future__ import annotations

from collections.abc import Iterable

from graphrewrite.memory.step import Steps

__all__ = ["Running", "peak_of"]


class Running:
    """Steps of which some have run.

    Parameters
    ----------
    steps : Steps
        The steps, of which none has run.

    Attributes
    ----------
    live, peak : int
        Size of what lives, and the greatest size so far.

    Examples
    --------
    >>> from graphrewrite.memory.step import Step, steps_of
    >>> steps, _ = steps_of({"a": Step(8), "b": Step(4, reads=("a",))}, {}, ["b"])
    >>> running = Running(steps)
    >>> for step in 0, 1:
    ...     running.run(step)
    >>> running.live, running.peak
    (4, 12)
    """

    def __init__(self, steps: Steps) -> None:
        self.steps = steps
        self.live = self.peak = steps.start()
        self.unread = [-1 if value.is_kept else len(value.readers) for value in steps.values]
        self._adds = [sum(steps.values[v].size for v in writes) for writes in steps.writes]
        self._stays = [sum(steps.values[v].size for v in writes if steps.values[v].is_read) for writes in steps.writes]

    def needs(self, step: int) -> int:
        """Size of what would live while the step runs."""
        reused = any(self.unread[v] == 1 for v in self.steps.over[step])
        needed = self.live + self._adds[step] - (self.steps.values[self.steps.writes[step][0]].size if reused else 0)
        if self.steps.early:
            needed -= sum([self.steps.values[v].size for v in self.steps.early[step] if self.unread[v] == 1])
        return needed

    def change(self, step: int) -> int:
        """By how much more would live after the step than before it."""
        values, unread = self.steps.values, self.unread
        return self._stays[step] - sum([values[v].size for v in self.steps.reads[step] if unread[v] == 1])

    def run(self, step: int) -> None:
        """Let the step run."""
        self.peak = max(self.peak, self.needs(step))
        self.live += self.change(step)
        for value in self.steps.reads[step]:
            self.unread[value] -= 1


def peak_of(steps: Steps, order: Iterable[int]) -> int:
    """Return the greatest size of what lives at the same time.

    Examples
    --------
    >>> from graphrewrite.memory.step import Step, steps_of
    >>> steps, _ = steps_of({"a": Step(8), "b": Step(4, reads=("a",)), "c": Step(2)}, {}, ["b", "c"])
    >>> peak_of(steps, [0, 1, 2]), peak_of(steps, [2, 0, 1])
    (12, 14)
    """
    running = Running(steps)
    for step in order:
        running.run(step)
    return running.peak
