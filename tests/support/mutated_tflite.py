"""Files of TensorFlow Lite with something wrong; run as a program, it tries many in processes of their own.

    python -m tests.support.mutated_tflite 0 1000

imports the files of these numbers, evaluates what loads, and prints those that end otherwise than by a result or an
error of the library, take longer than a few seconds, or a gigabyte of memory.
"""

from __future__ import annotations

import math
import random
import struct
from functools import cache
from typing import Any

import numpy as np

from graphrewrite import Graph, GraphRewriteError, evaluate, verify
from graphrewrite.lowering import from_tflite
from tests.support.mutant_runs import main
from tests.support.tflite_more_cases import PLAIN, STORED
from tests.support.tflite_networks import network
from tests.support.tflite_state_cases import lstm, svdf

__all__ = ["mutant", "outcome", "seeds"]

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


if __name__ == "__main__":
    main("mutated_tflite", lambda number, _: outcome(mutant(number)[0] if number >= 0 else seeds()[0]))
