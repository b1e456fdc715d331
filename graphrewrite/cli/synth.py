"""Show what a synthesis found, to people."""

from __future__ import annotations

from rich.console import Console
from rich.table import Table

from graphrewrite.hdl.synthesis import SynthesisReport

__all__ = ["print_synthesis"]


def print_synthesis(report: SynthesisReport, console: Console) -> None:
    """Print a synthesis for people."""
    piece = ", in one piece" if report.whole else ""
    headings, *rows = report.rows()
    table = Table(title=f"\n{report.name} for {report.family}{piece}", title_justify="left")
    for heading in headings:
        left = heading == headings[0]
        style = "dim" if heading == "predicted" else ""
        table.add_column(heading, justify="left" if left else "right", overflow="fold", style=style)
    for number, row in enumerate(rows):
        if len(report.parts) > 1 and number == len(rows) - 1:
            table.add_section()
        table.add_row(*row)
    console.print(table)
    for note in report.notes:
        console.print(f"note: {note}", markup=False, highlight=False, soft_wrap=True)
    if report.clock is not None and report.clock.path:
        path = " -> ".join(report.clock.path)
        console.print(f"critical path: {path}", markup=False, highlight=False, soft_wrap=True, style="dim")
    if report.verified:
        told = f"the Verilog does what the VHDL does, in {report.verified} cycles of the test bench"
        console.print(told, markup=False, highlight=False)
    console.print(f"{report.seconds:.1f} s", markup=False, highlight=False, style="dim")
