"""Print how good the tests are: ``python -m tests.quality.figures``, or ``make quality``.

The part named faults, all planted rules with twenty seeds and all mutants of the library's rules with one, takes as
long as the others together: it has to be named.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import time
from collections.abc import Callable
from functools import partial

from tests.quality.figures.coverage_by_room import measure_coverage
from tests.quality.figures.module_mutation import measure_modules
from tests.quality.figures.mutation import measure_mutation
from tests.quality.figures.places import ROOT


def run_tests(*arguments: str) -> bool:
    """Run some tests that print figures; tell whether they pass."""
    command = [sys.executable, "-m", "pytest", "-q", "-s", "-p", "no:cacheprovider", *arguments]
    return subprocess.run(command, cwd=ROOT, check=False).returncode == 0


PARTS = ("coverage", "mutation", "generator")
LONG = ("faults",)
"""Parts that are measured only where they are named."""
MUTATIONS: dict[str, Callable[..., bool]] = {
    "rewriting": measure_mutation,
    "lowering": partial(measure_modules, "lowering"),
    "hdl": partial(measure_modules, "hdl"),
}
"""What is mutated: the matcher and the rewriter, and the packages with the rules down to hardware."""


def main() -> int:
    """Print the figures that are asked for; 1 if one of them is not good enough."""
    parser = argparse.ArgumentParser(prog="python -m tests.quality.figures", description=__doc__)
    known = ", ".join(PARTS + LONG)
    parser.add_argument("parts", nargs="*", metavar="part", help=f"some of {known}; all but the last if none is named")
    parser.add_argument("--full", action="store_true", help="try every mutant: hours")
    parser.add_argument("--sample", type=int, default=200, help="try so many mutants of each (%(default)s)")
    parser.add_argument("--seed", type=int, default=0, help="of the sample (%(default)s)")
    parser.add_argument("--processes", type=int, help="at once; as many as there are processors")
    parser.add_argument("--of", action="append", choices=MUTATIONS, help="mutate only this; may be given several times")
    given = parser.parse_args()
    if unknown := set(given.parts) - {*PARTS, *LONG}:
        parser.error(f"there is no part {', '.join(sorted(unknown))}; parts are {known}")
    trying = {"sample": None if given.full else given.sample, "seed": given.seed, "processes": given.processes}

    def mutation() -> bool:
        found = [MUTATIONS[name](**trying) for name in given.of or MUTATIONS]  # all of them, whatever the first gives
        return all(found)

    measures: dict[str, Callable[[], bool]] = {
        "coverage": measure_coverage,
        "mutation": mutation,
        "generator": partial(run_tests, "tests/testing/test_reach.py"),
        "faults": partial(run_tests, "tests/quality", "-m", "thorough", "--hypothesis-profile=slow"),
    }
    verdicts = {}
    for part in given.parts or PARTS:
        print(f"\n=== {part}", flush=True)
        start = time.monotonic()
        is_good = measures[part]()
        verdicts[part] = f"{'good' if is_good else 'NOT GOOD ENOUGH'} ({time.monotonic() - start:.0f} s)"
    print("\n=== in short")
    for part, verdict in verdicts.items():
        print(f"{part}: {verdict}")
    return any("NOT" in verdict for verdict in verdicts.values())


if __name__ == "__main__":
    sys.exit(main())
