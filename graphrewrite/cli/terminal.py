"""Consoles for commands: colour on a terminal, plain text in a pipe."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager, nullcontext
from typing import NoReturn

from rich.console import Console
from rich.table import Table
from rich.text import Text

__all__ = ["console_for", "say", "spinner", "table_of"]


def console_for(*, stderr: bool = False) -> Console:
    """Return the console of a command."""
    console = _Console(stderr=stderr)
    # A pipe has no width of its own: a wide one keeps names in one piece.
    return console if console.is_terminal else _Console(stderr=stderr, width=160)


class _Console(Console):
    def on_broken_pipe(self) -> NoReturn:
        """Say that nobody reads it: rich would end the command as if a comparison had failed."""
        raise BrokenPipeError


def say(console: Console, text: object, style: str | None = None) -> None:
    """Print a line of text as it is: rich would read brackets as markup and :x: as an emoji, colour numbers, wrap."""
    console.print(str(text), markup=False, emoji=False, highlight=False, soft_wrap=True, style=style)


def table_of(
    headings: Sequence[str], *, numeric: Collection[str] = (), dim: str = "", title: str | None = None
) -> Table:
    """Return a table without rows, whose long cells go on in the next line; numeric columns are right-aligned."""
    table = Table(title=title, title_justify="left")
    for heading in headings:
        style = "dim" if heading == dim else ""
        table.add_column(heading, justify="right" if heading in numeric else "left", overflow="fold", style=style)
    return table


@contextmanager
def spinner(console: Console, name: str) -> Iterator[None]:
    """Show the name of a step in a terminal, until the end of the block."""
    knows_letters = console.encoding.startswith("utf")
    waiting = Text(f"{name} {'…' if knows_letters else '...'}")
    look = "dots" if knows_letters else "line"
    with console.status(waiting, spinner=look) if console.is_terminal else nullcontext():
        yield
    if console.is_terminal:
        console.print(Text.assemble(("✓" if knows_letters else "*", "green"), f" {name}"))
