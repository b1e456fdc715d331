"""Measure one engine on one workload, in a process of its own, and print the figures as JSON.

    python measure.py ENGINE WORKLOAD SIZE [--variant VARIANT] [--rounds N] [--seconds S] [--stepwise]

An engine is a module beside this one with ``build``, ``run`` and ``count``. What it gives is checked in every round;
what is not right is printed as a fault in the place of figures.
Time is that of the processor, with the garbage collector as Python has it; 1 x is the time per rewrite of the loop
over plain dictionaries in this process, just before and just after.
"""

from __future__ import annotations

import argparse
import gc
import importlib
import importlib.metadata
import json
import resource
import statistics
import sys
import time
from collections.abc import Iterator, Sequence

import limits
from workloads import WORKLOADS, Workload, chain

UNIT = chain(10_000)


def unit() -> float:
    """Seconds per rewrite of the loop over plain dictionaries."""
    tables = limits.build(UNIT, "dictionaries")
    gc.collect()
    start = time.process_time()
    limits.fuse_chain(tables)
    return (time.process_time() - start) / UNIT.rewrites


def resident() -> int:
    """Bytes that this process has needed at most so far."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024


def rounds_of(engine: object, workload: Workload, variant: str) -> Iterator[dict[str, float]]:
    """Run round after round; figures of each: x, seconds, bytes for the graph and for rewriting it."""
    while True:
        empty = resident()
        model = engine.build(workload, variant)
        gc.collect()
        before, standing = unit(), resident()
        start = time.process_time()
        model = engine.run(model, workload, variant)
        seconds = time.process_time() - start
        more = resident() - standing
        x = seconds / workload.rewrites / statistics.mean((before, unit()))
        workload.check(engine.count(model), spare=getattr(engine, "SPARE", False))
        del model
        yield {"x": x, "seconds": seconds, "graph": standing - empty, "more": more}


def summary(rounds: Sequence[dict[str, float]], workload: Workload) -> dict[str, float]:
    """Figures per rewrite, and per node where they are bytes, which the first round takes from the system."""
    seconds = min(each["seconds"] for each in rounds)
    return {
        "x": statistics.median(each["x"] for each in rounds),
        "microseconds": seconds / workload.rewrites * 1e6,
        "seconds": seconds,
        "rounds": len(rounds),
        "graph bytes": rounds[0]["graph"] / len(workload.nodes),
        "more bytes": rounds[0]["more"] / len(workload.nodes),
    }


def measure(engine: object, workload: Workload, variant: str, most: int, seconds: float) -> dict[str, float]:
    """Run several rounds, of which further ones fit into so many seconds."""
    done: list[dict[str, float]] = []
    began = time.perf_counter()
    for each in rounds_of(engine, workload, variant):
        done.append(each)
        if len(done) == most or time.perf_counter() - began + 2 * each["seconds"] > seconds:
            return summary(done, workload)
    raise AssertionError


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("engine")
    parser.add_argument("workload", choices=WORKLOADS)
    parser.add_argument("size", type=int)
    parser.add_argument("--variant", default="")
    parser.add_argument("--rules", type=int)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--seconds", type=float, default=4)
    parser.add_argument("--stepwise", action="store_true", help="a round for each line of the input")
    given = parser.parse_args()
    sys.setrecursionlimit(10_000)
    engine = importlib.import_module(given.engine)
    if hasattr(engine, "warm_up"):
        engine.warm_up()
    more = {} if given.rules is None else {"rules": given.rules}
    try:
        workload = WORKLOADS[given.workload](given.size, **more)
        if given.stepwise:
            for _, figures in zip(sys.stdin, rounds_of(engine, workload, given.variant), strict=False):
                print(json.dumps(figures | {"nodes": len(workload.nodes)}), flush=True)
            return
        found = measure(engine, workload, given.variant, given.rounds, given.seconds)
    except AssertionError as error:
        found = {"fault": "wrong", "why": str(error)}
    found["version"] = f"{engine.DISTRIBUTION} {importlib.metadata.version(engine.DISTRIBUTION)}"
    print(json.dumps(found))


if __name__ == "__main__":
    main()
