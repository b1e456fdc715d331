"""The command ``graphrewrite``."""

from __future__ import annotations

import io
import signal
import sys

from graphrewrite.errors import MissingDependencyError
from graphrewrite.runtime.interrupts import heed_signals

__all__ = ["main"]


def main() -> None:
    """Run the command line; the exit code tells the kind of error."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper) and stream.errors in ("strict", "surrogateescape"):
            stream.reconfigure(errors="backslashreplace")  # a terminal may not know every letter of a node's name
    heed_signals()
    try:
        from graphrewrite.cli.commands import app
    except ModuleNotFoundError as error:
        if error.name and error.name.partition(".")[0] == "graphrewrite":
            raise
        sys.exit(f"graphrewrite: {MissingDependencyError.of_extra('commands', 'cli')}")
    except KeyboardInterrupt as error:
        sys.exit(128 + getattr(error, "number", signal.SIGINT))
    app(prog_name="graphrewrite")
