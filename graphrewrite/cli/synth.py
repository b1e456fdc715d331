"""The report of a synthesis, for people."""

from __future__ import annotations

from rich.console import Console

from graphrewrite.cli.terminal import say, table_of
from graphrewrite.hdl.synthesis import SynthesisReport

__all__ = ["print_synthesis"]


def print_synthesis(report: SynthesisReport, console: Console) -> None:
    """Print a synthesis for people."""
    piece = ", in one piece" if report.whole else ""
    headings, *rows = report.rows()
    title = f"\n{report.name} for {report.family}{piece}"
    table = table_of(headings, numeric=headings[1:], dim="predicted", title=title)
    for number, row in enumerate(rows):
        if len(report.parts) > 1 and number == len(rows) - 1:
            table.add_section()
        table.add_row(*row)
    console.print(table)
    for note in report.notes:
        say(console, f"note: {note}")
    if report.clock is not None and report.clock.path:
        say(console, f"critical path: {' -> '.join(report.clock.path)}", style="dim")
    if report.verified:
        say(console, f"the Verilog does what the VHDL does, in {report.verified} cycles of the test bench")
    say(console, f"{report.seconds:.1f} s", style="dim")
