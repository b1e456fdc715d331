"""Files with something wrong, tried in processes of their own: limits of memory and time, no way out of a folder."""

from __future__ import annotations

import os
import resource
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

__all__ = ["SECONDS", "main", "try_many"]

SECONDS = 5.0
"""What a file may take of the processor's time."""
_BYTES = 1 << 30
_FORBIDDEN = {"subprocess.Popen", "os.system", "os.exec", "os.posix_spawn", "socket.connect", "pickle.find_class"}


class _Watch:
    """What a file has opened or started that it should not have."""

    def __init__(self, folder: str) -> None:
        code = [sys.prefix, sys.base_prefix, *(os.path.abspath(each) for each in sys.path)]  # noqa: PTH100
        self._roots = tuple(os.path.realpath(each) for each in (folder, *code))
        self.seen: list[str] = []

    def __call__(self, event: str, arguments: tuple[Any, ...]) -> None:
        if event in _FORBIDDEN:
            self.seen.append(f"{event} {arguments[0]!r:.100}")
        elif event == "open" and isinstance(arguments[0], str | bytes):
            path = os.path.realpath(os.fsdecode(arguments[0]))
            if not path.startswith(self._roots):
                self.seen.append(f"open {path:.100}")


def _work(outcome: Callable[[int, Path], str], numbers: range) -> None:
    """Try files within a gigabyte of address space beyond what is in use; a signal ends what does not end."""
    with tempfile.TemporaryDirectory() as folder:
        outcome(-1, Path(folder))  # all that is loaded later is loaded now
        used = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
        resource.setrlimit(resource.RLIMIT_AS, (used + _BYTES, used + _BYTES))
        watch = _Watch(folder)
        sys.addaudithook(watch)
        for number in numbers:
            print(f"start {number}", flush=True)
            signal.setitimer(signal.ITIMER_PROF, 4 * SECONDS)
            signal.setitimer(signal.ITIMER_REAL, 60 * SECONDS)
            start = time.process_time()
            try:
                with np.errstate(all="ignore"):
                    result = outcome(number, Path(folder))
            except BaseException as error:  # all else is what is looked for
                result = f"FAULT {type(error).__name__}: {' '.join(str(error).split())[:200]}"
            seconds = time.process_time() - start
            if watch.seen:
                result = f"FAULT {'; '.join(watch.seen)}"
                watch.seen.clear()
            print(f"{'SLOW ' if seconds > SECONDS else ''}{result} | {number} | {seconds:.2f} s", flush=True)


def try_many(module: str, *arguments: str, numbers: range) -> tuple[Counter[str], list[str]]:
    """Try a module's files in a process of their own, a further one after each that dies; return counts, and faults."""
    counts: Counter[str] = Counter()
    faults: list[str] = []
    at = numbers.start
    while at < numbers.stop:
        command = [sys.executable, "-W", "error", "-m", f"tests.support.{module}", "work", *arguments]
        started = False
        with tempfile.TemporaryFile("w+", errors="replace") as told:  # a pipe that nobody reads fills up
            worker = subprocess.Popen(
                [*command, str(at), str(numbers.stop)], stdout=subprocess.PIPE, stderr=told, text=True
            )
            assert worker.stdout is not None
            for line in worker.stdout:
                if line.startswith("start "):
                    at, started = int(line.split()[1]), True
                    continue
                result = line.partition(" | ")[0]
                if result.startswith(("FAULT", "SLOW")):
                    faults.append(line.rstrip("\n"))
                    result = "fault"
                counts[result] += 1
            worker.wait()
            told.seek(0)
            errors = told.read()
        if not worker.returncode:
            break
        counts["fault"] += 1
        faults.append(f"DIED ({worker.returncode}) | {at} | {errors[-300:]}")
        if not started:
            break
        at += 1
    return counts, faults


def main(module: str, outcome: Callable[..., str]) -> None:
    """Run as a program: `[kind] first last`, what `outcome(kind, number, folder)` takes."""
    work, arguments = sys.argv[1] == "work", sys.argv[1 + (sys.argv[1] == "work") :]
    *kind, first, last = arguments
    numbers = range(int(first), int(last))
    if work:
        _work(lambda number, folder: outcome(*kind, number, folder), numbers)
        return
    found, wrong = try_many(module, *kind, numbers=numbers)
    print(*wrong, sep="\n")
    print(dict(found.most_common()))
