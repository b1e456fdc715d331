"""One configuration of a component, the runs that it gets, and what it should do in them."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property, partial

import numpy as np
from numpy.typing import NDArray

from graphrewrite.hdl.checking.definition import next_open, transfers
from graphrewrite.hdl.component import Component, Site
from graphrewrite.hdl.emission.entity import asked, ports
from graphrewrite.hdl.emission.vectors import packed
from graphrewrite.hdl.errors import ComponentError
from graphrewrite.hdl.schedule import Schedule
from graphrewrite.types import FixedPoint, Stream

__all__ = ["Beat", "Case", "Run", "draw_case"]

Beat = tuple[int, int]
"""The cycle of a transfer, and the payload."""

_LONG = 120  # characters of an attribute in a message
_LARGE = 200  # beats of a frame, from which on one frame of each kind is enough


@dataclass(frozen=True)
class Run:
    """Frames back to back after a reset.

    Attributes
    ----------
    inputs : tuple of ndarray
        For each input its frames, shape [frames, *shape].
    frames : int
        Number of frames.
    resets : int
        Edges of the reset before it.
    cut : float
        After which part of the time the next reset comes; 1 for after the end.
    """

    inputs: tuple[NDArray[np.int64], ...]
    frames: int
    resets: int
    cut: float = 1.0


@dataclass(frozen=True)
class Case:
    """One configuration of a component, with the frames that it gets and the stall patterns around it.

    Attributes
    ----------
    component : Component
        What is checked.
    site : Site
        Its streams and attributes.
    runs : tuple of Run
        One after the other, each after a reset.
    sources, sinks : tuple of tuple of int
        Stall pattern of each input and of each output.
    """

    component: Component
    site: Site
    runs: tuple[Run, ...]
    sources: tuple[tuple[int, ...], ...]
    sinks: tuple[tuple[int, ...], ...]

    def __str__(self) -> str:
        operands = ", ".join(map(str, self.site.operands))
        attributes = ", ".join(f"{k}={_short(v)}" for k, v in self.site.attributes.items())
        results = ", ".join(map(str, self.site.results))
        return f"{self.component.op.name}({operands}{'; ' * bool(operands and attributes)}{attributes}) : {results}"

    @property
    def inputs(self) -> tuple[NDArray[np.int64], ...]:
        """The frames of the first run."""
        return self.runs[0].inputs

    @cached_property
    def schedule(self) -> Schedule:
        """The component's, checked against the streams."""
        schedule = asked(str(self), "`schedule`", lambda: self.component.schedule(self.site))
        if not isinstance(schedule, Schedule):
            raise ComponentError(f"{self}: `schedule` gives {type(schedule).__name__}; return a Schedule")
        if (len(schedule.takes), len(schedule.gives)) != (len(self.site.operands), len(self.site.results)):
            raise ComponentError(
                f"{self}: the schedule has {len(schedule.takes)} inputs and {len(schedule.gives)} outputs;"
                " give one of each stream"
            )
        for verb, counts, streams in (
            ("takes", schedule.beats_in, self.site.operands),
            ("gives", schedule.beats_out, self.site.results),
        ):
            for beats, stream in zip(counts, streams, strict=True):
                if beats != stream.beats:
                    raise ComponentError(
                        f"{self}: the schedule {verb} {beats} beats a frame of {stream}, which has {stream.beats};"
                        " correct `schedule`, or the shape that the op's `infer` gives"
                    )
        return schedule

    @cached_property
    def values(self) -> tuple[list[list[int]], ...]:
        """For each output the payloads of each run, by the op's meaning."""
        # One call for all runs: each has one frame more than it gets, for what is given before it is taken.
        counts = [run.frames + 1 for run in self.runs]
        operands = tuple(
            np.concatenate([part for run in self.runs for part in (run.inputs[p], np.zeros_like(run.inputs[p][:1]))])
            for p in range(len(self.site.operands))
        )
        meaning = partial(self.component.op, *operands, **self.site.attributes)
        dtype = operands[0].dtype if operands else "no stream"
        computed = asked(str(self), f"the meaning in numpy, of {dtype},", meaning)
        outputs = computed if len(self.site.results) > 1 else (computed,)
        values = []
        for stream, output in zip(self.site.results, outputs, strict=True):
            batch = self._checked(stream, output, sum(counts))
            parts = np.split(batch, np.cumsum(counts)[:-1])
            values.append([packed(stream, part) for part in parts])
        return tuple(values)

    def _checked(self, stream: Stream, output: object, frames: int) -> NDArray[np.int64]:
        batch = np.asarray(output)
        try:
            # What reads nothing gives the same frame for ever.
            batch = np.broadcast_to(batch, (frames, *stream.shape))
        except ValueError:
            raise ComponentError(
                f"{self}: the meaning in numpy gives the shape {list(batch.shape)} for {frames} frames of {stream};"
                f" return [{frames}, {', '.join(map(str, stream.shape))}]"
            ) from None
        if batch.dtype.kind not in "iu":
            raise ComponentError(f"{self}: the meaning in numpy gives {batch.dtype}; return integers, the mantissas")
        outside = (batch < stream.element.minimum) | (batch > stream.element.maximum)
        if outside.any():
            raise ComponentError(
                f"{self}: the meaning in numpy gives {batch[outside].flat[0]}, which is no {stream.element};"
                " saturate it, or let the op's `infer` give a wider format"
            )
        return batch

    @cached_property
    def cycles(self) -> tuple[int, ...]:
        """Cycles of each run."""
        cycles = []
        for run, (taken, left) in zip(self.runs, self._transfers, strict=True):
            last = max(beats[-1] for beats in (*taken, *left) if beats)
            if run.cut < 1:
                cycles.append(max(1, int(last * run.cut)))
                continue
            # A beat too many would come within a frame's time.
            quiet = last + self.schedule.latency + min(self.schedule.steps, 40) + 2
            cycles.append(max([next_open(gate, quiet) for gate in self.sinks]) + 1)
        return tuple(cycles)

    @cached_property
    def _transfers(self) -> list[tuple[list[list[int]], list[list[int]]]]:
        return [transfers(self.schedule, run.frames, self.sources, self.sinks) for run in self.runs]

    @cached_property
    def expected(self) -> dict[str, list[list[Beat]]]:
        """By port the beats of each run: values by the op's meaning, cycles by the definition of the schedule."""
        beats: dict[str, list[list[Beat]]] = {}
        operands = len(self.site.operands)
        for index, (name, stream, takes) in enumerate(ports(self.site)):
            beats[name] = []
            for r, (run, (taken, left), end) in enumerate(zip(self.runs, self._transfers, self.cycles, strict=True)):
                at = taken[index] if takes else left[index - operands]
                words = packed(stream, run.inputs[index]) if takes else self.values[index - operands][r]
                beats[name].append([(cycle, word) for cycle, word in zip(at, words, strict=False) if cycle < end])
        return beats


def _short(value: object) -> str:
    text = str(value.tolist() if isinstance(value, np.ndarray) else value)
    return text if len(text) <= _LONG else f"{text[: _LONG - 1]}…"


def draw_case(component: Component, site: Site, rng: np.random.Generator) -> Case:
    """Return a configuration with random frames and stalls, in three runs: the second is cut off in mid-frame."""
    large = max(stream.beats for stream in (*site.operands, *site.results)) > _LARGE
    counts = [1, 1, 1] if large else [int(rng.integers(2, 4)), int(rng.integers(1, 3)), 1]
    cuts = [1.0, float(rng.uniform(0.05, 0.95)), 1.0]
    return Case(
        component,
        site,
        tuple(
            Run(
                tuple(_numbers(rng, stream.element, (frames, *stream.shape)) for stream in site.operands),
                frames,
                int(rng.integers(1, 4)),
                cut,
            )
            for frames, cut in zip(counts, cuts, strict=True)
        ),
        tuple(_gate(rng) for _ in site.operands),
        tuple(_gate(rng) for _ in site.results),
    )


def _numbers(rng: np.random.Generator, element: FixedPoint, shape: Sequence[int]) -> NDArray[np.int64]:
    """Numbers of a format, among them many small ones and many at its ends."""
    low, high = element.minimum, element.maximum
    wide = rng.integers(low, high, shape, endpoint=True)
    small = rng.integers(max(low, -3), min(high, 3), shape, endpoint=True)
    ends = np.where(rng.random(shape) < 0.5, low, high)
    kind = rng.random(shape)
    return np.where(kind < 0.5, wide, np.where(kind < 0.8, small, ends)).astype(element.dtype)


def _gate(rng: np.random.Generator) -> tuple[int, ...]:
    """Always open, nearly closed, random, or in bursts."""
    kind = rng.integers(4)
    if kind == 0:
        return (1,)
    gate = (rng.random(int(rng.integers(2, 40))) < (0.15 if kind == 1 else 0.6)).astype(np.int64)
    if kind == 3:
        gate = np.repeat(gate, int(rng.integers(2, 9)))
    # A gate that never opens would be a deadlock.
    gate[rng.integers(len(gate))] = 1
    return tuple(gate.tolist())
