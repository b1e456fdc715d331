"""Run a program to its end; it and what it started end with us, whatever happens."""

import os
import signal
import subprocess
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from time import monotonic
from typing import NamedTuple

from graphrewrite.runtime.progress import counting

__all__ = ["Ended", "run_program"]

_PAUSE = 0.1
"""Seconds between two looks at how far a program is."""


class Ended(NamedTuple):
    """The exit code of a program, and its output."""

    code: int
    output: str
    errors: str


def run_program(
    arguments: Sequence[str],
    *,
    cwd: str | os.PathLike[str] | None = None,
    timeout: float | None = None,
    label: str = "",
    done: Callable[[], int] | None = None,
    total: int | None = None,
) -> Ended:
    r"""Run a program and wait for its end.

    An interruption, or any other error, ends the program and all that it started.

    Examples
    --------
    >>> import sys
    >>> run_program([sys.executable, "-c", "print(6 * 7)"]).output
    '42\n'
    """
    # Files, and not pipes: nobody needs to read while the program writes.
    with tempfile.TemporaryFile() as output, tempfile.TemporaryFile() as errors:
        process = subprocess.Popen(
            arguments, cwd=cwd, stdin=subprocess.DEVNULL, stdout=output, stderr=errors, start_new_session=True
        )
        try:
            if done is None:
                process.wait(timeout)
            else:
                with counting(label, total) as report:
                    for _ in _pauses(process, timeout):
                        if report is not None:
                            report(done())
        finally:
            _end(process)
        texts = []
        for file in (output, errors):
            file.seek(0)
            texts.append(file.read().decode(errors="replace"))
        return Ended(process.returncode, *texts)


def _pauses(process: "subprocess.Popen[bytes]", timeout: float | None) -> Iterator[None]:
    until = None if timeout is None else monotonic() + timeout
    while True:
        try:
            process.wait(_PAUSE)
        except subprocess.TimeoutExpired:
            if until is not None and monotonic() >= until:
                raise
            yield
        else:
            return


def _end(process: "subprocess.Popen[bytes]") -> None:
    """End a program and what it started, unless it has ended."""
    if process.poll() is None:
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL) if hasattr(os, "killpg") else process.kill()
        process.wait()
