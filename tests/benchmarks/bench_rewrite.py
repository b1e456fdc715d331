"""Rewriting: this library, the same work by hand, and other rewriters that can be used from Python.

Figures are multiples (x) of a loop over plain dictionaries that does nothing but rewrite a chain of 10,000
multiplications and additions, in the same process just before and after. Each is the median of several rounds, and
every round's result is checked. Peers that are not installed are shown as such; to install them, in any environment:

    pip install networkx grandiso tinygrad onnxscript xdsl egglog torch
    make bench PEERS=that/environment/bin/python
"""

from __future__ import annotations

import json
import math
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import pytest

from tests.benchmarks.figures import print_table, scaled

PROGRAM = Path(__file__).with_name("rewriting") / "measure.py"
BOX = 40
"""Seconds after which one measurement is given up; more at great sizes."""


class Row(NamedTuple):
    """One line of a table: who does it, how, what it is called, what it is to reach, and what its ratio is to."""

    engine: str
    variant: str
    name: str
    goal: str = ""
    to: str = "graphrewrite"


OURS, COPIED, TRACED = "graphrewrite", "graphrewrite, on a copy", "graphrewrite, on a copy, traced"
LIMITS = [
    Row("limits", "dictionaries", "by hand, dictionaries"),
    Row("limits", "networkx, its dictionaries", "by hand, networkx's dictionaries"),
    Row("limits", "networkx", "by hand, networkx"),
]
PEERS: list[Row] = [
    Row("peers.tinygrad", "", "tinygrad"),
    Row("peers.tinygrad", "walk", "tinygrad, single walk"),
    Row("peers.tinygrad", "interpreted", "tinygrad, interpreted"),
    Row("peers.egglog", "from and to Python", "egglog, from and to Python"),
    Row("peers.egglog", "saturation alone", "egglog, saturation alone"),
    Row("peers.xdsl", "", "xDSL"),
    Row("peers.xdsl", "PDL", "xDSL, PDL"),
    Row("peers.onnxscript", "", "onnxscript"),
    Row("peers.torch_fx", "subgraph rewriter", "torch.fx"),
    Row("peers.torch_fx", "Inductor", "torch, Inductor's matcher"),
    Row("peers.grandiso", "", "grandiso"),
    Row("peers.networkx_vf2", "", "networkx, VF2"),
]


def measure(row: Row, workload: str, size: int, python: str, *, rules: int | None = None) -> dict:
    """Measure in a process of its own; what went wrong is in the place of figures as a fault."""
    runner = python if row.engine.startswith("peers.") else sys.executable
    rounds = scaled(1, 3 if row.engine.startswith("peers.") or size >= 100_000 else 5)
    command = [runner, str(PROGRAM), row.engine, workload, str(size), "--variant", row.variant, f"--rounds={rounds}"]
    command += [] if rules is None else [f"--rules={rules}"]
    box = BOX * max(1, size // 100_000)
    try:
        done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=box)
    except subprocess.TimeoutExpired:
        return {"fault": f"> {box} s"}
    if done.returncode == 0:
        return json.loads(done.stdout.splitlines()[-1])
    last = (done.stderr.strip().splitlines() or [f"ended with {done.returncode}"])[-1]
    if row.engine in ("engine", "limits"):
        pytest.fail(f"{row.name}, {workload} {size}:\n{done.stderr}")
    return {"fault": "not installed" if "ModuleNotFoundError" in last else last[:60]}


def sweep(row: Row, workload: str, sizes: Sequence[int], python: str, **options: int) -> list[dict]:
    """Measure at growing sizes, up to the first at which it is too slow, wrong or missing."""
    found: list[dict] = []
    for size in sizes:
        found.append(measure(row, workload, size, python, **options))
        if "fault" in found[-1] or found[-1]["seconds"] > BOX / 12:
            break
    if row.engine in ("engine", "limits"):
        faults = [figures["fault"] for figures in found if "fault" in figures]
        assert not faults, f"{row.name}: {faults[0]}, {version(found)}"
    return found


def growth(sizes: Sequence[int], found: Sequence[dict]) -> float | str:
    """The exponent with which the time of all rewrites grows, from the least size to the greatest."""
    right = [(size, figures["x"]) for size, figures in zip(sizes, found, strict=False) if "x" in figures]
    if len(right) < 2:
        return ""
    (small, few), (great, many) = right[0], right[-1]
    return 1 + math.log(many / few) / math.log(great / small)


def cells(found: Sequence[dict], count: int) -> list[object]:
    """The figures in x by size, then the microseconds at the greatest."""
    shown = [figures.get("x", figures.get("fault")) for figures in found]
    times = [figures["microseconds"] for figures in found if "microseconds" in figures]
    return [*shown, *[""] * (count - len(shown)), times[-1] if times else ""]


def version(found: Sequence[dict]) -> str:
    """The version of what was measured, and what was wrong with its result."""
    return ": ".join(filter(None, (found[0].get("version"), found[-1].get("why"))))


def test_chain(peers):
    """Half as many rewrites as ops; the ratio is to the first line, of a trace to the line on a copy."""
    sizes, few = scaled(((100,), (100,)), ((1_000, 10_000, 100_000), (1_000, 10_000)))
    rows = [
        (Row("engine", "", OURS, "x <= 4.5"), sizes),
        (Row("engine", "copy", COPIED, "x <= 7"), sizes),
        (Row("engine", "trace", TRACED, "ratio <= 1.5", to=COPIED), sizes),
        (Row("engine", "python", f"{OURS}, lower half in Python", "x <= 8"), sizes),
        (Row("engine", "constant", f"{OURS}, a new constant each", "x <= 12"), few),
        *((row, sizes) for row in LIMITS),
        *((row, few) for row in scaled([], PEERS)),
    ]
    known: dict[str, list[dict]] = {}
    lines = []
    for row, its in rows:
        found = known[row.name] = sweep(row, "chain", its, peers)
        both = [(a["x"], b["x"]) for a, b in zip(known[row.to], found, strict=False) if "x" in b]
        ratio = both[-1][1] / both[-1][0] if both else ""
        lines.append((row.name, *cells(found, len(sizes)), ratio, row.goal, growth(its, found), version(found)))
    heads = ("chain of so many ops", *(f"{n:,} x" for n in sizes), "µs/rewrite", "ratio", "goal", "growth", "version")
    print_table("Multiply-add chain: x = multiples of the dictionary loop, per rewrite", heads, lines)


def test_blocks(peers):
    """2,000 residual blocks; of 20 rules three fire in a cascade. Peers that are slow do 200."""
    rows = [
        (Row("engine", "", OURS, "x <= 5"), None),
        (Row("engine", "", f"{OURS}, 500 rules", "ratio <= 1.6"), 500),
        (Row("engine", "define", f"{OURS}, 500 rules, with their definition"), 500),
        (Row("engine", "copy", COPIED), None),
        (Row("engine", "trace", TRACED, "ratio <= 1.5", to=COPIED), None),
        (Row("engine", "python", f"{OURS}, lower halves in Python", "x <= 8"), None),
        *((row, None) for row in LIMITS if "its" not in row.variant),
        *((row, None) for row in scaled([], PEERS)),
        *((row._replace(name="tinygrad, 500 rules"), 500) for row in scaled([], PEERS[:1])),
    ]
    sizes = scaled((10,), (200, 2_000))
    known: dict[str, float] = {}
    lines = []
    for row, rules in rows:
        found = sweep(row, "blocks", sizes, peers, **({} if rules is None else {"rules": rules}))
        x = found[-1].get("x") if len(found) == len(sizes) else None
        known[row.name] = x
        ratio = x / known[row.to] if x else ""
        lines.append((row.name, *cells(found, len(sizes)), ratio, row.goal, version(found)))
    heads = ("so many residual blocks", *(f"{n:,} x" for n in sizes), "µs/rewrite", "ratio", "goal", "version")
    print_table("Residual blocks, 20 rules, per rewrite", heads, lines)


def test_dead_nodes(peers):
    """Half of 100,000 nodes are dead; per node that goes. The ratio is to networkx by hand, in place or on a copy."""
    loop, copied = "by hand, networkx", "by hand, a copy and networkx"
    rows = [
        Row("limits", "networkx, its dictionaries", loop, to=loop),
        Row("limits", "networkx, and a copy before", copied, to=loop),
        Row("limits", "networkx", "by hand, networkx's public calls", to=loop),
        Row("limits", "dictionaries", "by hand, dictionaries", to=loop),
        Row("engine", "", OURS, "ratio <= 1.3", to=loop),
        Row("engine", "copy", COPIED, "ratio <= 1.3", to=copied),
        *(row._replace(to=loop) for row in scaled([], PEERS) if row.name in ("xDSL", "onnxscript", "torch.fx")),
    ]
    found = {row: measure(row, "dead", scaled(1_000, 100_000), peers) for row in rows}
    known = {row.name: figures.get("x") for row, figures in found.items()}
    lines = []
    for row, figures in found.items():
        ratio = known[row.name] / known[row.to] if known[row.name] else ""
        lines.append((row.name, *cells([figures], 1), ratio, row.goal, version([figures])))
    print_table("Dead nodes, half of 100,000", ("", "x", "µs/node", "ratio", "goal", "version"), lines)


def test_two_results(peers):
    """Two nodes become one with two results."""
    sizes = scaled((10,), (100, 300, 1_000, 10_000))
    rows = [
        Row("engine", "", OURS, "x <= 12, flat"),
        Row("engine", "copy", COPIED),
        *(row for row in LIMITS if "its" not in row.variant),
        *(row for row in scaled([], PEERS) if row.name in ("onnxscript", "torch.fx")),
    ]
    lines = []
    for row in rows:
        its = sizes[:2] if row.engine.startswith("peers.") else sizes
        found = sweep(row, "forks", its, peers)
        lines.append((row.name, *cells(found, len(sizes)), growth(its, found), row.goal, version(found)))
    heads = ("so many forks", *(f"{n:,} x" for n in sizes), "µs/rewrite", "growth", "goal", "version")
    print_table("Patterns with two results, per rewrite", heads, lines)
