"""What rewriting is to cost, row by row; and beside it what another checkout of this repository costs.

    make bench PYTEST="-k goals --before=path/to/another/checkout"

1 x is the time per rewrite of a loop over plain dictionaries, as in the other benchmarks of rewriting. Time is that of
the processor, each row in a process of its own for each checkout and size, in rounds that take turns.
"""

from __future__ import annotations

import json
import math
import os
import statistics
import subprocess
import sys
from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import NamedTuple

import pytest

from tests.benchmarks.bench_rewrite import PROGRAM
from tests.benchmarks.figures import print_table, scaled
from tests.benchmarks.small_networks import exported_resnet

HERE = Path(__file__).parents[2]
ROUNDS = scaled(1, 7)


class Goal(NamedTuple):
    """A row: what is rewritten, how large, and what x is to be; a path stands for the file of a network."""

    name: str
    workload: str
    size: int
    variant: str
    goal: str


GOALS = [
    Goal("lower half in Python", "chain", 10_000, "python", "8 x"),
    Goal("lower halves in Python, blocks", "blocks", 2_000, "python", "8 x"),
    Goal("lower half that makes a constant", "chain", 10_000, "constant", "12 x"),
    Goal("two results", "forks", 10_000, "", "12 x, flat"),
    Goal("multiply-add chain of 100,000, in place", "chain", 100_000, "", "4.5 x"),
    Goal("multiply-add chain of 100,000, on a copy", "chain", 100_000, "copy", "7 x"),
    Goal("multiply-add chain of 100,000, traced", "chain", 100_000, "trace", "9 x"),
    Goal("2,000 blocks, 20 rules", "blocks", 2_000, "", "5 x"),
    Goal("every one of 10,000 readers", "readers", 10_000, "every", "linear"),
    Goal("every one of 50,000 readers", "readers", 50_000, "every", "linear"),
    Goal("two roots, once, 4,000 pairs", "pairs", 4_000, "once", "linear"),
]
NETWORK = Goal("RULES on an imported ResNet, seconds", "network", 107, "", "0.25 s")


class Process:
    """A process that runs round after round of a workload with one checkout, whenever it is its turn."""

    def __init__(self, row: Goal, size: int, checkout: Path, opened: ExitStack) -> None:
        self.rounds: list[dict[str, float]] = []
        self.process = opened.enter_context(
            subprocess.Popen(
                [sys.executable, PROGRAM, "engine", row.workload, str(size), "--variant", row.variant, "--stepwise"],
                env={**os.environ, "PYTHONPATH": str(checkout)},
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                text=True,
            )
        )

    def run(self) -> None:
        """Run a round."""
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        print(file=self.process.stdin, flush=True)
        self.rounds.append(json.loads(self.process.stdout.readline()))
        assert "fault" not in self.rounds[-1], self.rounds[-1]

    def of(self, figure: str) -> float:
        return statistics.median(each[figure] for each in self.rounds)

    @property
    def bytes(self) -> float:
        """Bytes per node of the graph, and of rewriting it, as the first round took them from the system."""
        return (self.rounds[0]["graph"] + self.rounds[0]["more"]) / self.rounds[0]["nodes"]


def measured(row: Goal, sizes: Sequence[int], before: Path | None) -> list[Process]:
    """Measure this checkout at several sizes, and the other one at the last of them; the rounds take turns."""
    with ExitStack() as opened:
        all_ = [Process(row, size, HERE, opened) for size in sizes]
        all_ += [] if before is None else [Process(row, sizes[-1], before, opened)]
        for _ in range(ROUNDS):
            for each in all_:
                each.run()
        return all_


def exponent(sizes: Sequence[int], found: Sequence[Process]) -> float:
    """The exponent with which time grows, from the first size to the last."""
    last = len(sizes) - 1
    return math.log(found[last].of("seconds") / found[0].of("seconds")) / math.log(sizes[last] / sizes[0])


def test_goals(before, tmp_path):
    path = tmp_path / "network.onnx"
    path.write_bytes(exported_resnet(scaled(1, NETWORK.size)).SerializeToString())
    lines = []
    for row in [*GOALS, NETWORK._replace(variant=str(path))]:
        is_network = row.workload == "network"
        sizes = [row.size] if is_network else scaled([20], [row.size // 8, row.size])
        found = measured(row, sizes, before)
        now = found[len(sizes) - 1]
        figure = "seconds" if is_network else "x"
        growth = "" if len(sizes) == 1 else exponent(sizes, found)
        old: list[object] = [found[-1].of(figure), found[-1].of("seconds") / now.of("seconds")] if before else ["", ""]
        lines.append((row.name, old[0], now.of(figure), row.goal, old[1], growth))
    heads = ("", "before", "now", "goal", "times as fast", "growth")
    print_table(f"Goals of rewriting, x per rewrite; before: {before or 'give --before=CHECKOUT'}", heads, lines)


@pytest.mark.thorough
def test_growth(before):
    """Time and memory up to a million nodes: growth at most 1.1; bytes per node, of the graph and for rewriting it."""
    sizes = [10_000, 100_000, 1_000_000]
    rows = [
        *(
            Goal(f"chain, {variant or 'in place'}", "chain", 2, variant, "")
            for variant in ("", "copy", "python", "constant")
        ),
        *(Goal(f"{name}, in place", name, per, "", "") for name, per in (("blocks", 8), ("forks", 3))),
    ]
    lines = []
    for row in rows:
        found = measured(row, [size // row.size for size in sizes], before)
        old = found[3].bytes if before else ""
        lines.append(
            (row.name, *(each.of("x") for each in found[:3]), exponent(sizes, found), "<= 1.1", found[2].bytes, old)
        )
    heads = ("about so many nodes", *(f"{n:,} x" for n in sizes), "growth", "goal", "bytes/node", "before")
    print_table("Growth of time and memory", heads, lines)
