"""Show what came of a compilation: tables for people, one JSON object for machines."""

from __future__ import annotations

from typing import Any

from rich.console import Console
from rich.table import Table
from rich.text import Text

from graphrewrite.cli.pipeline import Compiled

__all__ = ["as_data", "print_report"]


def as_data(found: Compiled) -> dict[str, Any]:
    """Return a compilation as primitive data."""
    design = found.design.description if found.design else {}
    return {
        "model": found.model,
        "folder": str(found.folder),
        "test_frames": found.test_frames,
        "levels": found.agreement,
        "integer_equals_stream": found.exact,
        "rules": found.fired,
        "nodes": {name: len(graph) for name, graph in found.graphs.items()},
        "timing": found.timing,
        "resources": design.get("resources"),
        "folding": found.foldings[0].as_dict() if found.foldings else None,
        "files": sorted(found.design.files) if found.design else [],
        "cosimulation": found.cosimulation.as_dict() if found.cosimulation else None,
        "seconds": found.seconds,
        "bounds": found.bounds,
        "notes": found.notes,
    }


def print_report(found: Compiled, console: Console) -> None:
    """Print a compilation for people."""
    console.print()
    _levels(found, console)
    _rules(found, console)
    _hardware(found, console)
    for note in found.notes:
        console.print(f"note: {note}", markup=False, highlight=False, soft_wrap=True)
    if found.cosimulation is not None:
        console.print(f"GHDL: {found.cosimulation}", markup=False, highlight=False, soft_wrap=True)
    files = len(found.design.files) if found.design else 0
    spent = sum(found.seconds.values())
    console.print(f"{files} files in {found.folder}; {spent:.1f} s", markup=False, highlight=False, soft_wrap=True)
    slowest = sorted(found.seconds.items(), key=lambda item: -item[1])
    console.print(
        "  " + ", ".join(f"{name} {seconds:.2f} s" for name, seconds in slowest),
        markup=False,
        highlight=False,
        style="dim",
    )


def _levels(found: Compiled, console: Console) -> None:
    table = Table(
        "level",
        "accuracy",
        "predictions equal to float",
        title=f"{found.model} on {found.test_frames} samples",
        title_justify="left",
    )
    for row in found.agreement:
        table.add_row(row["level"], _percent(row["accuracy"]), _percent(row["equal predictions"]))
    console.print(table)
    exact = "equal, bit for bit" if found.exact else "NOT EQUAL"
    console.print(f"integer and stream level: {exact}", highlight=False)


def _percent(share: float | None) -> str:
    return "-" if share is None else f"{100 * share:.2f} %"


def _rules(found: Compiled, console: Console) -> None:
    before, after = len(found.graphs["imported"]), len(found.graphs["stream"])
    fired = ", ".join(f"{name} {count}" for name, count in found.fired.items())
    console.print(f"\nrules fired ({before} -> {after} nodes): {fired}", markup=False, highlight=False)


def _hardware(found: Compiled, console: Console) -> None:
    if found.design is None:
        return
    table = Table(title="\nhardware", title_justify="left")
    for heading in ("instance", "streams", "occupied", "mult", "add", "reg bits", "mem bits"):
        table.add_column(heading, overflow="fold")
    for part in found.design.description["components"]:
        cost = part["resources"]
        shown = f"{' + '.join(part['streams_in'])} -> {part['streams_out'][0]}".replace("stream ", "")
        table.add_row(
            part["instance"],
            Text(shown),
            _percent(part["occupation"]),
            *(str(cost[k]) for k in ("multipliers", "adders", "registers", "memory_bits")),
        )
    total = found.design.description["resources"]
    table.add_section()
    table.add_row("all", "", "", *(str(total[k]) for k in ("multipliers", "adders", "registers", "memory_bits")))
    console.print(table)
    timing = found.timing
    deepest = max(timing["high_water"].values(), default=0)
    fuller = ", ".join(f"{name} {count}" for name, count in timing["high_water"].items() if count > 2)
    console.print(
        f"latency {timing['latency']} cycles, interval {timing['interval']} cycles an image, "
        f"fullest buffer holds {deepest} beats ({fuller or 'none more than 2'})",
        markup=False,
        highlight=False,
    )
    for report in found.foldings:
        told = f"folding: {report.price.interval} cycles an image in {report.bottleneck}, the slowest component"
        if report.shorter is not None:
            told += f"; {report.shorter.interval} cycles would take {report.shorter.multipliers} multipliers"
        console.print(told, markup=False, highlight=False, soft_wrap=True)
