"""The report of a compilation: tables for people, one JSON object for machines."""

from __future__ import annotations

from typing import Any

import numpy as np
from rich.console import Console
from rich.text import Text

from graphrewrite.cli.pipeline import Compiled
from graphrewrite.cli.quantising import as_text
from graphrewrite.cli.terminal import say, table_of
from graphrewrite.lowering.quantisation.agreement import Agreement

__all__ = ["as_data", "print_report"]

_PREDICTIONS = {"accuracy": "accuracy", "top5": "top 5", "equal": "predictions equal to float"}
_MEASURES = {
    "classes": _PREDICTIONS,
    "decisions": _PREDICTIONS,
    "numbers": {"r2": "R²", "mean_error": "mean error", "largest_error": "largest error", "snr": "signal to noise"},
}
"""What is shown of each kind of output, with headings."""
_COSTS = ("multipliers", "adders", "registers", "memory_bits")


def as_data(compiled: Compiled) -> dict[str, Any]:
    """Return a compilation as primitive data."""
    design = compiled.design.description if compiled.design else {}
    return {
        "model": compiled.model,
        "folder": str(compiled.folder),
        "test_frames": compiled.test_frames,
        "held_out": compiled.is_held_out,
        "bits": compiled.bits,
        "levels": [_level(level, row) for level, rows in compiled.agreement.items() for row in rows],
        "findings": [found.as_dict() for found in compiled.findings],
        "integer_equals_stream": compiled.exact,
        "rules": compiled.fired,
        "nodes": {name: len(graph) for name, graph in compiled.graphs.items()},
        "timing": compiled.timing,
        "resources": design.get("resources"),
        "folding": compiled.foldings[0].as_dict() if compiled.foldings else None,
        "files": sorted(compiled.design.files) if compiled.design else [],
        "cosimulation": None if compiled.cosimulation is None else compiled.cosimulation.as_dict(),
        "seconds": compiled.seconds,
        "bounds": compiled.bounds,
        "notes": compiled.notes,
    }


def _level(level: str, row: Agreement) -> dict[str, Any]:
    measured = {"accuracy": None, **row.as_dict()}
    return {"level": level, **measured, "equal predictions": measured.pop("equal", None)}


def print_report(compiled: Compiled, console: Console) -> None:
    """Print a compilation for people."""
    console.print()
    _levels(compiled, console)
    _rules(compiled, console)
    _hardware(compiled, console)
    for found in compiled.findings:
        say(console, f"warning: {found}")
    if isinstance(compiled.bits, dict):
        say(console, f"widths: {as_text(compiled.bits)}")
    for note in compiled.notes:
        say(console, f"note: {note}")
    if compiled.cosimulation is not None:
        say(console, f"GHDL: {compiled.cosimulation}")
    files = len(compiled.design.files) if compiled.design else 0
    say(console, f"{files} files in {compiled.folder}; {sum(compiled.seconds.values()):.1f} s")
    slowest = sorted(compiled.seconds.items(), key=lambda item: -item[1])
    say(console, "  " + ", ".join(f"{name} {seconds:.2f} s" for name, seconds in slowest), style="dim")


def _levels(compiled: Compiled, console: Console) -> None:
    samples = f"{compiled.test_frames} {'' if compiled.is_held_out else 'calibration '}samples"
    for rows in zip(*compiled.agreement.values(), strict=True):
        title = f"{compiled.model} on {samples}" + (
            f": {rows[0].output}" if len(compiled.agreement["float"]) > 1 else ""
        )
        shown = {
            heading: [_shown(row, name) for row in rows]
            for name, heading in _MEASURES[rows[0].kind].items()
            if name == "equal" or any(getattr(row, name) is not None for row in rows)
        }
        table = table_of(("level", *shown), title=title)
        for level, *cells in zip(compiled.agreement, *shown.values(), strict=True):
            table.add_row(level, *cells)
        console.print(table)
    exact = "equal, bit for bit" if compiled.exact else "NOT EQUAL"
    console.print(f"integer and stream level: {exact}; float and stream level: {compiled.loss}", highlight=False)


def _shown(row: Agreement, name: str) -> str:
    value = getattr(row, name)
    if value is None:
        return "-"
    if name == "snr":
        return "equal" if value == np.inf else f"{value:.1f} dB"
    return _percent(value) if row.kind != "numbers" else f"{value:.4g}"


def _percent(share: float | None) -> str:
    return "-" if share is None else f"{100 * share:.2f} %"


def _rules(compiled: Compiled, console: Console) -> None:
    before, after = len(compiled.graphs["imported"]), len(compiled.graphs["stream"])
    fired = ", ".join(f"{name} {count}" for name, count in compiled.fired.items())
    say(console, f"\nrules fired ({before} -> {after} nodes): {fired}")


def _hardware(compiled: Compiled, console: Console) -> None:
    if compiled.design is None:
        return
    headings = ("instance", "streams", "occupied", "mult", "add", "reg bits", "mem bits")
    table = table_of(headings, title="\nhardware")
    for part in compiled.design.description["components"]:
        cost = part["resources"]
        shown = f"{' + '.join(part['streams_in'])} -> {part['streams_out'][0]}".replace("stream ", "")
        costs = (str(cost[key]) for key in _COSTS)
        table.add_row(part["instance"], Text(shown), _percent(part["occupation"]), *costs)
    total = compiled.design.description["resources"]
    table.add_section()
    table.add_row("all", "", "", *(str(total[key]) for key in _COSTS))
    console.print(table)
    timing = compiled.timing
    # Most buffers hold one or two beats: only fuller ones are named.
    deepest = max(timing["high_water"].values(), default=0)
    fuller = ", ".join(f"{name} {count}" for name, count in timing["high_water"].items() if count > 2)
    pace = f"latency {timing['latency']} cycles, interval {timing['interval']} cycles an image"
    say(console, f"{pace}, fullest buffer holds {deepest} beats ({fuller or 'none more than 2'})")
    for report in compiled.foldings:
        folding = f"folding: {report.price.interval} cycles an image in {report.bottleneck}, the slowest component"
        if report.shorter is not None:
            folding += f"; {report.shorter.interval} cycles would take {report.shorter.multipliers} multipliers"
        say(console, folding)
