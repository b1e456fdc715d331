"""Timing and tables of the benchmarks."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import TypeVar

import numpy as np

from graphrewrite import Graph, models
from graphrewrite.lowering import from_onnx, quantise, to_integer

T = TypeVar("T")
NETWORKS = ("digits", "classes")
MODELS = Path(models.__file__).parent
smallest = False
"""Whether benchmarks run only to see whether they work: set before they are imported, see `scaled`."""


def scaled(least: T, usual: T) -> T:
    """The size to measure at: `least` with ``--hypothesis-profile=quick``."""
    return least if smallest else usual


def fastest(*functions: Callable[[], object], seconds: float = 1.0) -> list[float]:
    """The least time of each function in seconds, taken in turn so that all of them meet the same machine."""
    least = [float("inf")] * len(functions)
    for function in functions:
        function()
    end = time.perf_counter() + scaled(0.1, seconds)
    rounds = 0
    while rounds < 3 or time.perf_counter() < end:  # one round alone may meet whatever else the machine does
        for i, function in enumerate(functions):
            start = time.perf_counter()
            function()
            least[i] = min(least[i], time.perf_counter() - start)
        rounds += 1
    return least


def print_table(title: str, heads: Sequence[str], rows: Iterable[Sequence[object]]) -> None:
    """Print a table, numbers to the right."""
    cells = [list(map(str, heads)), *([_cell(value) for value in row] for row in rows)]
    widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
    print(f"\n\n{title}")
    for index, row in enumerate(cells):
        print(
            "  ".join(
                cell.ljust(w) if i == 0 else cell.rjust(w) for i, (cell, w) in enumerate(zip(row, widths, strict=True))
            )
        )
        if index == 0:
            print("  ".join("-" * w for w in widths))


def _cell(value: object) -> str:
    if not isinstance(value, float):
        return str(value)
    if value >= 100:
        return f"{value:,.0f}"
    return f"{value:.3g}" if value < 10 else f"{value:.1f}"


def path_of(network: str) -> Path:
    return MODELS / f"{network}.onnx"


def samples_of(network: str, count: int) -> np.ndarray:
    """So many samples of the held-out split, over again where it has fewer."""
    with np.load(MODELS / f"{network}.npz") as data:
        found = data["test_x"]
    return np.concatenate([found] * -(-count // len(found)))[:count]


def integer_graph(network: str) -> Graph:
    with np.load(MODELS / f"{network}.npz") as data:
        calibration = data["calibration_x"]
    return to_integer(quantise(from_onnx(path_of(network)), calibration))
