"""A waveform of a simulation: valid, ready and payload of streams in a window of cycles."""

from collections.abc import Callable, Iterable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from graphrewrite.errors import EvaluationError
from graphrewrite.hdl.emission.vectors import payloads
from graphrewrite.hdl.simulation.signals import Signals
from graphrewrite.hdl.simulation.simulation import Simulation
from graphrewrite.hdl.timing.network import Link
from graphrewrite.types import Stream
from graphrewrite.view.display import Display
from graphrewrite.view.waveform import MOST_CYCLES, Beat, Wave, show_waveform

__all__ = ["show_simulation"]

_FEW, _MANY = 8, 64
"""Lanes that are written in a beat, and in full."""

_Texts = Callable[[int], tuple[str, str]]


def show_simulation(
    simulation: Simulation,
    *,
    first: int = 0,
    cycles: int = 64,
    streams: str | Iterable[str] | None = None,
    number: str = "decimal",
) -> Display:
    """Return a waveform of streams in a window of cycles.

    Parameters
    ----------
    streams : str or iterable of str, optional
        Names of nodes, whose outputs are meant, and of ports; all streams of a small design, else its ports.
    number : {"decimal", "real", "hex"}
        The format of payloads: mantissas, the numbers that they represent, or bits, lane 0 in the lowest.
    """
    recording, timing = simulation.recording, simulation.timing
    if number not in ("decimal", "real", "hex"):
        raise EvaluationError(f"number must be 'decimal', 'real' or 'hex', got {number!r}")
    if first < 0 or not 1 <= cycles <= MOST_CYCLES:
        raise EvaluationError(
            f"a window starts at cycle 0 or later and has 1 to {MOST_CYCLES} cycles, got first={first}, cycles={cycles}"
        )
    total = 1 + max(int(timing.tracks(link)[0].of(-1, -1)) for link in timing.network.links)
    cycles = max(min(cycles, total - first), 1)  # nothing happens after the end
    links = recording.chosen(streams)
    signals = Signals(timing, recording.gates, first, cycles)
    # Payloads are computed only for the frames that the window touches.
    beats = {link: signals.beats(link) for link in links}
    frames = [n // timing.network.beats(link) for link, span in beats.items() if span for n in (span[0], span[-1])]
    base = min(frames, default=0)
    values = recording.values(links, base, max(frames) + 1) if frames else {}
    shown = []
    for link in links:
        texts = _texts(recording.streams[link], values.get(link), number)
        shown.append(_wave(signals, link, beats[link], texts, base, str(recording.streams[link])))
    left = [link for link in recording.streams if link not in links]
    return show_waveform(
        recording.name, shown, first=first, cycles=cycles, total=total, hidden=[_name(link) for link in left]
    )


def _name(link: Link) -> str:
    return link.source if not link.source_port else f"{link.source}:{link.source_port}"


def _wave(signals: Signals, link: Link, span: range, texts: _Texts, base: int, kind: str) -> Wave:
    a_frame, numbers = signals.network.beats(link), np.array(span, np.int64)
    starts, ends = signals.starts(link, numbers).tolist(), signals.ends(link, numbers).tolist()
    shown = [
        Beat(start, end, *divmod(number, a_frame), *texts(number - base * a_frame))
        for number, start, end in zip(span, starts, ends, strict=True)
    ]
    left, seen = signals.timing.tracks(link)
    return Wave(
        name=_name(link),
        reader=link.sink,
        type=kind,
        valid=tuple(signals.valid(link).tolist()),
        ready=tuple(signals.ready(link).tolist()),
        beats=tuple(shown),
        begins=int(seen.of(0, 0)),
        ends=int(left.of(-1, -1)),
    )


def _texts(stream: Stream, values: NDArray[Any] | None, number: str) -> _Texts:
    """Return a function from the number of a beat to its payload: short, and in full."""
    if values is None:
        return lambda _: ("", "")
    if number == "hex":
        words = payloads(stream, values)
        return lambda beat: (words[beat], f"0x{words[beat]}")
    beats, step = stream.to_beats(values).reshape(-1, stream.lanes), stream.element.step

    def texts(beat: int) -> tuple[str, str]:
        lanes = beats[beat, :_MANY].tolist()
        each = [f"{lane * step:.6g}" if number == "real" else str(lane) for lane in lanes]
        more = [f"… {stream.lanes} lanes"] if stream.lanes > _MANY else []
        return " ".join(each[:_FEW] + ["…"] * (len(each) > _FEW)), " ".join(each + more)

    return texts
