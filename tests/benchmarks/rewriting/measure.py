"""Measure one engine on one workload, in a process of its own, and print the figures as JSON.

    python measure.py ENGINE WORKLOAD SIZE [--variant VARIANT] [--rounds N] [--seconds S]

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


def measure(engine: object, workload: Workload, variant: str, rounds: int, seconds: float) -> dict[str, object]:
    """Run several rounds; figures per rewrite."""
    ratios: list[float] = []
    times: list[float] = []
    own = more = 0
    began = time.perf_counter()
    while len(times) < rounds and (not times or time.perf_counter() - began + 2 * times[-1] < seconds):
        empty = resident()
        model = engine.build(workload, variant)
        gc.collect()
        before, standing = unit(), resident()
        start = time.process_time()
        model = engine.run(model, workload, variant)
        spent = (time.process_time() - start) / workload.rewrites
        if not times:
            own, more = standing - empty, resident() - standing
        ratios.append(spent / statistics.mean((before, unit())))
        times.append(spent * workload.rewrites)
        workload.check(engine.count(model), spare=getattr(engine, "SPARE", False))
        del model
    return {
        "x": statistics.median(ratios),
        "microseconds": min(times) / workload.rewrites * 1e6,
        "seconds": min(times),
        "rounds": len(times),
        "graph bytes": own / len(workload.nodes),
        "more bytes": more / len(workload.nodes),
    }


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("engine")
    parser.add_argument("workload", choices=WORKLOADS)
    parser.add_argument("size", type=int)
    parser.add_argument("--variant", default="")
    parser.add_argument("--rules", type=int)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--seconds", type=float, default=4)
    given = parser.parse_args()
    sys.setrecursionlimit(10_000)
    engine = importlib.import_module(given.engine)
    if hasattr(engine, "warm_up"):
        engine.warm_up()
    more = {} if given.rules is None else {"rules": given.rules}
    try:
        workload = WORKLOADS[given.workload](given.size, **more)
        found = measure(engine, workload, given.variant, given.rounds, given.seconds)
    except AssertionError as error:
        found = {"fault": "wrong", "why": str(error)}
    found["version"] = f"{engine.DISTRIBUTION} {importlib.metadata.version(engine.DISTRIBUTION)}"
    print(json.dumps(found))


if __name__ == "__main__":
    main()
