"""A cosimulation as a display: its verdict, or a waveform around the first difference."""

from __future__ import annotations

from graphrewrite.hdl.ghdl.cosimulation import CosimulationReport, Difference
from graphrewrite.view.display import Display
from graphrewrite.view.table import Table
from graphrewrite.view.waveform import Beat, Wave, show_waveform

__all__ = ["show_report"]

_LEAD, _WINDOW = 10, 200  # cycles before the difference, and in all


def show_report(report: CosimulationReport) -> Display:
    """Return the verdict: what was compared, or a waveform around the first difference."""
    if report.difference is None or not report.difference.near:
        return _verdict(report)
    return _waveform(report.difference, str(report))


def _verdict(report: CosimulationReport) -> Display:
    counts = {"frames": report.frames, "beats": report.beats, "cycles": report.cycles}
    rows = (*((name, f"{count:,}") for name, count in counts.items()), ("seconds", f"{report.seconds:.1f}"))
    verdict = "equal, values and cycles" if report.equal else f"not equal: {report.difference}"
    table = Table(("cosimulated", verdict), rows, frozenset({1}))
    return Display(table, str(report), template="table.html", title="cosimulation")


def _waveform(difference: Difference, verdict: str) -> Display:
    waves, cycles = [], []  # of each beat the cycle, and whether it is equal
    for name, moves in (
        ("expected", [n.expected for n in difference.near]),
        ("GHDL", [n.actual for n in difference.near]),
    ):
        beats = []
        for each, move in zip(difference.near, moves, strict=True):
            if move is not None:
                is_wrong = (each.frame, each.beat) == (difference.frame, difference.beat)
                beats.append(Beat(move[0], move[0], each.frame, each.beat, move[1], move[1], is_wrong))
                cycles.append((move[0], not is_wrong))
        waves.append(Wave(name, difference.port, "payload as hex", (), (), tuple(beats), 0, 0))
    wrong = min((cycle for cycle, is_right in cycles if not is_right), default=0)
    low = max(min(cycle for cycle, _ in cycles) - 1, wrong - _LEAD, 0)
    high = min(max(cycle for cycle, _ in cycles) + 2, low + _WINDOW)
    return show_waveform(difference.port, waves, first=low, cycles=high - low, total=high, note=verdict)
