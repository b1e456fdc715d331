"""Files of TensorFlow Lite with something wrong; run as a program, it tries many in processes of their own.

    python -m tests.support.mutated_tflite 0 1000

imports the files of these numbers, evaluates what loads, and prints those that end otherwise than by a result or an
error of the library, take longer than a few seconds, or a gigabyte of memory.
"""

from __future__ import annotations

import math
import random
import resource
import struct
import subprocess
import sys
import time
from collections import Counter
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from graphrewrite import Graph, GraphRewriteError, evaluate, verify
from graphrewrite.lowering import from_tflite
from tests.support.tflite_more_cases import PLAIN, STORED
from tests.support.tflite_networks import network
from tests.support.tflite_state_cases import lstm, svdf

__all__ = ["SECONDS", "mutant", "outcome", "try_many"]

SECONDS = 5
_BYTES = 1 << 30
_WORDS = (
    0,
    1,
    2,
    3,
    4,
    7,
    8,
    16,
    255,
    256,
    2**15,
    2**16,
    2**31 - 1,
    2**31,
    2**32 - 1,
    2**32 - 2,
    2**32 - 8,
    0x7F800000,
)
_BYTE_VALUES = (0, 1, 2, 3, 5, 9, 13, 17, 32, 127, 128, 200, 255)


@cache
def seeds() -> tuple[bytes, ...]:
    """Small files of many kinds."""
    rng = np.random.default_rng(0)
    return (
        network(),
        svdf(rng)[0],
        lstm(rng)[0],
        *(make(rng)[0] for table in (STORED, PLAIN) for make in table.values()),
    )


def mutant(number: int) -> tuple[bytes, str]:
    """Return the file of a number, with one to four things wrong, and what these are."""
    rng = random.Random(number)
    which = 0 if rng.random() < 0.3 else rng.randrange(len(seeds()))
    data, done = bytearray(seeds()[which]), []
    for _ in range(rng.choice([1, 1, 1, 2, 4])):
        at = rng.randrange(8, max(len(data), 9))
        how = rng.choice(["byte", "byte", "word", "word", "word", "near", "copy", "cut", "swap"])
        if how == "byte":
            data[at : at + 1] = bytes([rng.choice(_BYTE_VALUES)])
        elif how == "word":  # where tables and offsets are: at multiples of four
            at -= at % 4
            data[at : at + 4] = struct.pack("<I", rng.choice(_WORDS))
        elif how == "near":
            at -= at % 4
            old = int.from_bytes(data[at : at + 4], "little")
            data[at : at + 4] = struct.pack("<I", (old + rng.choice([-4, -1, 1, 2, 4, 8, 64])) % 2**32)
        elif how == "copy":  # a table is read in the place of another
            source = rng.randrange(0, len(data), 4)
            at -= at % 4
            data[at : at + 4] = data[source : source + 4]
        elif how == "swap":
            other = rng.randrange(8, len(data))
            data[at : at + 1], data[other : other + 1] = data[other : other + 1], data[at : at + 1]
        else:
            del data[at:]
        done.append(f"{how} {at}")
    return bytes(data), f"seed {which}: {'; '.join(done)}"


def outcome(data: bytes) -> str:
    """Import a file and evaluate what loads; return how far it came. Any error but the library's is raised."""
    try:
        graph = from_tflite(data)
    except GraphRewriteError:
        return "refused"
    str(graph)
    verify(graph)
    if not _is_small(graph):
        return "loaded"
    try:
        evaluate(graph, _inputs(graph))
    except GraphRewriteError:
        return "loaded"
    return "evaluated"


def _inputs(graph: Graph) -> dict[str, Any]:
    kinds = {name: graph.result_type(name) for name in graph.inputs}
    return {name: np.zeros([2 if isinstance(d, str) else d for d in kind.shape]) for name, kind in kinds.items()}


def _is_small(graph: Graph) -> bool:
    """Tell whether no value has a million numbers: such a file takes what it asks for."""
    kinds = [graph.nodes[node].get("result") for node in graph]
    every = [each for kind in kinds if kind is not None for each in (kind if isinstance(kind, tuple) else (kind,))]
    return all(math.prod(d for d in kind.shape if isinstance(d, int)) < 1e6 for kind in every)


def _work(numbers: range) -> None:
    """Try mutants within a gigabyte of address space beyond what is in use."""
    outcome(seeds()[0])  # all that is loaded later is loaded now
    used = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
    resource.setrlimit(resource.RLIMIT_AS, (used + _BYTES, used + _BYTES))
    for number in numbers:
        print(f"start {number}", flush=True)
        data, what = mutant(number)
        start = time.perf_counter()
        try:
            with np.errstate(all="ignore"):
                result = outcome(data)
        except BaseException as error:  # all else is what is looked for
            result = f"FAULT {type(error).__name__}: {' '.join(str(error).split())[:200]}"
        seconds = time.perf_counter() - start
        print(f"{'SLOW ' if seconds > SECONDS else ''}{result} | {number} | {what} | {seconds:.2f} s", flush=True)


def try_many(numbers: range) -> tuple[Counter[str], list[str]]:
    """Try mutants in a process of their own, in a further one after each that dies; return counts, and the faults."""
    counts: Counter[str] = Counter()
    faults: list[str] = []
    at = numbers.start
    while at < numbers.stop:
        command = [sys.executable, "-W", "error", "-m", __name__ if __name__ != "__main__" else __spec__.name]
        worker = subprocess.Popen(
            [*command, "work", str(at), str(numbers.stop)], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
        )
        assert worker.stdout is not None
        for line in worker.stdout:
            if line.startswith("start "):
                at = int(line.split()[1])
                continue
            result = line.partition(" | ")[0]
            if result.startswith(("FAULT", "SLOW")):
                faults.append(line.rstrip("\n"))
                result = "fault"
            counts[result] += 1
        errors = worker.communicate()[1]
        if not worker.returncode:
            break
        counts["fault"] += 1
        faults.append(f"DIED ({worker.returncode}) | {at} | {mutant(at)[1]} | {errors[-300:]}")
        at += 1
    return counts, faults


if __name__ == "__main__":
    if sys.argv[1] == "work":
        _work(range(int(sys.argv[2]), int(sys.argv[3])))
    else:
        found, wrong = try_many(range(int(sys.argv[1]), int(sys.argv[2])))
        print(*wrong, sep="\n")
        print(dict(found.most_common()))
