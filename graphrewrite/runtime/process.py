"""Run a program to its end; it and what it started end with us, whatever happens.

The program runs in a process group of its own, which a shell leads that reads from a pipe and then kills the group. The
other end of the pipe is ours alone: it closes when we end, even by a signal that nobody can handle. (A parent-death
signal is known to Linux only, is set by code between fork and exec, which is unsafe where threads run, and is tied to
the thread that started the program.)
"""

import os
import signal
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from threading import Event
from time import monotonic
from typing import Any, NamedTuple

from graphrewrite.runtime.interrupts import deferred_interrupts
from graphrewrite.runtime.progress import counting

__all__ = ["Ended", "run_program"]

_GUARD = ("/bin/sh", "-c", "read -r _; kill -s KILL 0")
_NOWHERE = subprocess.DEVNULL
_PAUSE = 0.1
"""Seconds between two looks at how far a program is."""


class Ended(NamedTuple):
    """The exit code of a program, and its output."""

    code: int
    output: bytes
    errors: str

    @property
    def text(self) -> str:
        """The output as text."""
        return self.output.decode(errors="replace")


def run_program(
    arguments: Sequence[str],
    *,
    given: bytes = b"",
    cwd: str | os.PathLike[str] | None = None,
    env: Mapping[str, str] | None = None,
    timeout: float | None = None,
    label: str = "",
    done: Callable[[], int] | None = None,
    total: int | None = None,
    stop: Event | None = None,
) -> Ended:
    r"""Run a program and wait for its end.

    It reads what is `given`. An interruption, or any other error, ends the program and all that it started; so does
    `stop`, which another thread may set.

    Examples
    --------
    >>> import sys
    >>> run_program([sys.executable, "-c", "print(6 * 7)"]).text
    '42\n'
    """
    # Files, and not pipes: nobody needs to read or write while the program does.
    with tempfile.TemporaryFile() as read, tempfile.TemporaryFile() as output, tempfile.TemporaryFile() as errors:
        read.write(given)
        read.seek(0)
        program = _Program()
        try:
            with deferred_interrupts():
                process = program.start(arguments, cwd=cwd, env=env, stdin=read, stdout=output, stderr=errors)
            if done is None and stop is None:
                process.wait(timeout)
            else:
                with counting(label, total) as report:
                    for _ in _pauses(process, timeout):
                        if stop is not None and stop.is_set():
                            raise KeyboardInterrupt
                        if report is not None and done is not None:
                            report(done())
        finally:
            with deferred_interrupts():
                program.end()
        for file in (output, errors):
            file.seek(0)
        return Ended(process.returncode, output.read(), errors.read().decode(errors="replace"))


class _Program:
    """A program and its guard."""

    def __init__(self) -> None:
        self.pipe: int | None = None
        self.processes: list[subprocess.Popen[bytes]] = []

    def start(self, arguments: Sequence[str], **options: Any) -> "subprocess.Popen[bytes]":
        if sys.platform != "win32":
            end, self.pipe = os.pipe()
            try:
                guard = subprocess.Popen(_GUARD, stdin=end, stdout=_NOWHERE, stderr=_NOWHERE, process_group=0)
            finally:
                os.close(end)
            self.processes.append(guard)
            options["process_group"] = guard.pid
        self.processes.append(subprocess.Popen(arguments, **options))
        return self.processes[-1]

    def end(self) -> None:
        """End the program and what it started, unless it has ended, and the guard."""
        for process in self.processes[:1]:
            with suppress(ProcessLookupError, PermissionError):
                process.kill() if sys.platform == "win32" else os.killpg(process.pid, signal.SIGKILL)
        for process in self.processes:
            process.wait()
        if self.pipe is not None:
            os.close(self.pipe)


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
