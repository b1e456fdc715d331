"""The report of a compilation: tables for people, one JSON object for machines."""

from __future__ import annotations

from typing import Any

from rich.console import Console
from rich.text import Text

from graphrewrite.cli.pipeline import Compiled
from graphrewrite.cli.terminal import say, table_of

__all__ = ["as_data", "print_report"]

_COSTS = ("multipliers", "adders", "registers", "memory_bits")


def as_data(compiled: Compiled) -> dict[str, Any]:
    """Return a compilation as primitive data."""
    design = compiled.design.description if compiled.design else {}
    return {
        "model": compiled.model,
        "folder": str(compiled.folder),
        "test_frames": compiled.test_frames,
        "levels": compiled.agreement,
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


def print_report(compiled: Compiled, console: Console) -> None:
    """Print a compilation for people."""
    console.print()
    _levels(compiled, console)
    _rules(compiled, console)
    _hardware(compiled, console)
    for note in compiled.notes:
        say(console, f"note: {note}")
    if compiled.cosimulation is not None:
        say(console, f"GHDL: {compiled.cosimulation}")
    files = len(compiled.design.files) if compiled.design else 0
    say(console, f"{files} files in {compiled.folder}; {sum(compiled.seconds.values()):.1f} s")
    slowest = sorted(compiled.seconds.items(), key=lambda item: -item[1])
    say(console, "  " + ", ".join(f"{name} {seconds:.2f} s" for name, seconds in slowest), style="dim")


def _levels(compiled: Compiled, console: Console) -> None:
    headings = ("level", "accuracy", "predictions equal to float")
    table = table_of(headings, title=f"{compiled.model} on {compiled.test_frames} samples")
    for row in compiled.agreement:
        table.add_row(row["level"], _percent(row["accuracy"]), _percent(row["equal predictions"]))
    console.print(table)
    exact = "equal, bit for bit" if compiled.exact else "NOT EQUAL"
    console.print(f"integer and stream level: {exact}", highlight=False)


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
