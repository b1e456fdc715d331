"""A waveform: clock, and valid, ready and payload of streams in a window of cycles, with their stalls."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import groupby

from graphrewrite.view.display import Display
from graphrewrite.view.plain import plain

__all__ = ["MOST_CYCLES", "Beat", "Wave", "Waveform", "show_waveform"]

MOST_CYCLES = 1000
"""Of a window."""
_LINE = 110
"""Letters of a line of text."""


@dataclass(frozen=True)
class Beat:
    """A beat on a stream.

    Attributes
    ----------
    start, end : int
        The cycle from which it is offered, and that of its transfer.
    frame, beat : int
        Its numbers; beat 0 begins a frame.
    text, full : str
        Its payload in short, and in full.
    is_wrong : bool
        Whether it is to be ringed.
    """

    start: int
    end: int
    frame: int
    beat: int
    text: str
    full: str
    is_wrong: bool = False


@dataclass(frozen=True)
class Wave:
    """A stream in a window.

    Attributes
    ----------
    name, reader : str
        Its source and its reader.
    type : str
        Its type.
    valid, ready : tuple of bool
        For each cycle of the window; empty where they are not known.
    beats : tuple of Beat
        Those that are offered in the window.
    begins, ends : int
        The cycles of the first offer and of the last transfer of the whole run: only between them a stream starves.
    """

    name: str
    reader: str
    type: str
    valid: tuple[bool, ...]
    ready: tuple[bool, ...]
    beats: tuple[Beat, ...]
    begins: int
    ends: int

    def states(self, first: int) -> list[str]:
        """Return for each cycle ``"moves"``, ``"waits"`` (for ready), ``"starves"`` (its reader does) or nothing."""
        # A stream that is not valid starves its reader only between the first and the last beat of the run.
        return [
            ("moves" if ready else "waits")
            if valid
            else "starves"
            if ready and self.begins <= first + index <= self.ends
            else ""
            for index, (valid, ready) in enumerate(zip(self.valid, self.ready, strict=True))
        ]


@dataclass(frozen=True)
class Waveform:
    """Data of a waveform.

    Attributes
    ----------
    name : str
        Of the design.
    first, cycles, total : int
        The window, and how many cycles the run has.
    waves : tuple of Wave
    hidden : tuple of str
        Streams that are not shown.
    note : str
        A remark.
    """

    name: str
    first: int
    cycles: int
    total: int
    waves: tuple[Wave, ...]
    hidden: tuple[str, ...] = ()
    note: str = ""
    cell: int = field(init=False, default=0)
    """Width of a cycle, in pixels."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "cell", int(min(max(24, 6.8 * self.longest + 12), 58)))

    @property
    def longest(self) -> float:
        """The greatest number of letters that a beat needs in one cycle."""
        return max((len(b.text) / (b.end - b.start + 1) for w in self.waves for b in w.beats), default=0)

    @property
    def subtitle(self) -> str:
        """The window in words."""
        end = self.first + self.cycles - 1
        return f"cycles {self.first} to {end} of {self.total}"

    def runs(self, wave: Wave) -> list[tuple[str, int, int]]:
        """Return the stalls of a stream: ``"waits"`` or ``"starves"``, the first cycle in the window, the length."""
        runs, start = [], 0
        for state, group in groupby(wave.states(self.first)):
            length = len(list(group))
            if state in ("waits", "starves"):
                runs.append((state, start, length))
            start += length
        return runs

    def counts(self, wave: Wave) -> str:
        """Return the numbers of beats, and of cycles in which a stream waits and starves, as text."""
        if not wave.valid:
            return f"{len(wave.beats)} beats"
        states = wave.states(self.first)
        moves, waits, starves = (states.count(state) for state in ("moves", "waits", "starves"))
        texts = [f"{moves} beat{'s' if moves != 1 else ''}"]
        texts += [f"waits {waits} cycle{'s' if waits != 1 else ''} for ready"] if waits else []
        texts += [f"starves {starves} cycle{'s' if starves != 1 else ''}"] if starves else []
        return ", ".join(texts)

    def line(self, bits: Sequence[bool], high: float, low: float) -> str:
        """Return a signal as the path of an SVG."""
        if not bits:
            return ""
        parts = [f"M0 {high if bits[0] else low:g}"]
        for bit, group in groupby(bits):
            parts.append(f"V{high if bit else low:g}h{len(list(group)) * self.cell}")
        return "".join(parts)

    def place(self, beat: Beat) -> tuple[int, int]:
        """Return the left and the right end of a beat, in pixels, cut at the window."""
        left = max(beat.start - self.first, 0)
        right = min(beat.end + 1 - self.first, self.cycles)
        return left * self.cell, right * self.cell

    def fitting(self, beat: Beat) -> str:
        """Return the part of a beat's payload that fits."""
        left, right = self.place(beat)
        return _cut(beat.text, max(int((right - left - 9) / 6.7), 1))


def show_waveform(
    name: str,
    waves: Sequence[Wave],
    *,
    first: int,
    cycles: int,
    total: int,
    hidden: Sequence[str] = (),
    note: str = "",
) -> Display:
    """Return a waveform.

    Examples
    --------
    >>> wave = Wave("x", "relu_1", "stream u8f0[1]", (False, True, True, False), (True, False, True, False),
    ...             (Beat(1, 2, 0, 0, "17", "17"),), 1, 2)
    >>> shown = show_waveform("top", [wave], first=0, cycles=4, total=4)
    >>> shown
    top: cycles 0 to 3 of 4
    cycle      0   1   2   3
    x valid    ____‾‾‾‾‾‾‾‾____
      ready    ‾‾‾‾____‾‾‾‾____
      payload      |17     |
    x -> relu_1, stream u8f0[1]: 1 beat, waits 1 cycle for ready
    >>> shown.data.runs(wave)
    [('waits', 1, 1)]
    """
    data = Waveform(name, first, cycles, total, tuple(waves), tuple(hidden), note)
    return Display(data, _text(data), template="waveform.html", title=f"{name}: waveform")


def _text(data: Waveform) -> str:
    lines = [f"{plain(data.name, 80)}: {data.subtitle}", *([plain(data.note)] if data.note else [])]
    names = [plain(wave.name, 24) for wave in data.waves]
    left = max(map(len, names), default=0) + 10
    cell = int(min(max(4, data.longest + 2), 9))
    # A long window continues on further lines, each with its own row of cycle numbers.
    for start in range(0, data.cycles, _LINE // cell):
        cycles = range(start, min(start + _LINE // cell, data.cycles))
        numbers = "".join(str(data.first + cycle).ljust(cell) for cycle in cycles)
        lines += [f"{'cycle':{left}} {numbers}".rstrip()]
        for stem, wave in zip(names, data.waves, strict=True):
            name = stem
            rows = [("valid", _levels(wave.valid, cycles, cell)), ("ready", _levels(wave.ready, cycles, cell))]
            rows.append(("payload", _payload(wave, data.first, cycles, cell)))
            for word, row in rows:
                if row:
                    lines.append(f"{f'{name:{left - 9}} {word}':{left}} {row}".rstrip())
                    name = ""
    for name, wave in zip(names, data.waves, strict=True):
        lines.append(f"{name} -> {plain(wave.reader, 24)}, {plain(wave.type, 60)}: {data.counts(wave)}")
    if data.hidden:
        names = [plain(name, 40) for name in data.hidden[:12]] + ["…"] * (len(data.hidden) > 12)
        lines.append(f"not shown, choose by streams=[…]: {', '.join(names)}")
    return "\n".join(lines)


def _levels(bits: tuple[bool, ...], cycles: range, cell: int) -> str:
    return "".join(("‾" if bits[cycle] else "_") * cell for cycle in cycles) if bits else ""


def _payload(wave: Wave, first: int, cycles: range, cell: int) -> str:
    row = [" "] * (len(cycles) * cell + 1)
    for start, end, text in _pieces(wave, first + cycles.start, first + cycles.stop):
        width = (end - start) * cell
        row[start * cell : end * cell + 1] = "|" + _cut(plain(text), width - 1).ljust(width - 1) + "|"
    return "".join(row)


def _pieces(wave: Wave, low: int, high: int) -> Iterator[tuple[int, int, str]]:
    """Yield the beats between two cycles: their ends, and their text."""
    for beat in wave.beats:
        start, end = max(beat.start, low), min(beat.end + 1, high)
        if start < end:
            yield start - low, end - low, f"{'≠' if beat.is_wrong else ''}{beat.text}"


def _cut(text: str, most: int) -> str:
    """Return the beginning of a text: of several lanes, the first ones."""
    return text if len(text) <= most else f"{text[: most - 1]}…"
