"""Consoles for commands: colour on a terminal, plain text in a pipe."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager, nullcontext

from rich.console import Console
from rich.text import Text

__all__ = ["console_for", "spinner"]


def console_for(*, stderr: bool = False) -> Console:
    """Return the console of a command."""
    found = Console(stderr=stderr)
    # Where nobody looks at a screen, no name is cut to fit one.
    return found if found.is_terminal else Console(stderr=stderr, width=160)


@contextmanager
def spinner(console: Console, name: str) -> Iterator[None]:
    """Tell in a terminal what is being done, until the end of the block."""
    knows_letters = console.encoding.startswith("utf")
    waiting = Text(f"{name} {'…' if knows_letters else '...'}")
    look = "dots" if knows_letters else "line"
    with console.status(waiting, spinner=look) if console.is_terminal else nullcontext():
        yield
    if console.is_terminal:
        console.print(Text.assemble(("✓" if knows_letters else "*", "green"), f" {name}"))
