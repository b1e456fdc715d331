"""How many faults, planted in a package's modules, the tests that concern the module find.

Each mutant is written into a copy of the tree, where pytest runs the tests that `concerning` names until one fails.
What `tests.quality.equivalent_module_mutants` lists as equivalent, each with its reason, is not tried.
"""

from __future__ import annotations

import os
import random
import resource
import subprocess
import sys
from collections import Counter
from collections.abc import Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from queue import SimpleQueue
from time import monotonic

from tests.quality.equivalent_module_mutants import EQUIVALENT
from tests.quality.figures.concerning import concerning
from tests.quality.figures.mutation import interval
from tests.quality.figures.places import BUILD, ROOT, copy_tree
from tests.quality.module_mutants import ModuleMutant, mutants_of_module

__all__ = ["LEAST", "measure_modules"]

LEAST = 0.9
"""The score below which the tests are not good enough."""
SECONDS = 120
"""So long may the tests of one mutant compute; all of them take a fourth of that."""
MEMORY = 8 << 30
SETTINGS = "tests/conftest.py"
"""Holds the options that tests have; a doctest alone would not bring them."""
OPTIONS = (
    "-q", "-x", "-n0", "--no-header", "-rf", "-pno:cacheprovider", "--hypothesis-profile=quick", "--hdl-count=10",
    "-ptests.support.first_seeds", "-m", "not thorough and not browser and not (slow and ghdl)",
)  # fmt: skip


@dataclass
class Copies:
    """Copies of the tree, one for each process, and what is known of tests in a copy without a fault."""

    count: int
    idle: SimpleQueue[Path] = field(default_factory=SimpleQueue)
    unreliable: set[str] = field(default_factory=set)
    reliable: set[str] = field(default_factory=set)

    def __post_init__(self) -> None:
        for number in range(self.count):
            copy = BUILD / f"copy_{number}"
            copy_tree(copy)
            self.idle.put(copy)

    @contextmanager
    def one(self) -> Iterator[Path]:
        """Give a copy that nobody else uses."""
        copy = self.idle.get()
        try:
            yield copy
        finally:
            self.idle.put(copy)

    def verdict(self, mutant: ModuleMutant) -> str:
        """Return which test finds a mutant, ``timeout``, or nothing if none does."""
        place = mutant.path.relative_to(ROOT)
        # A rule's own property test, where there is one; others have tests of their own.
        function = mutant.name.split(": ")[1].rpartition(".")[2]
        own = f"not test_all_rules or {function}" + " or LOWER_COMPOSITE" * ("composite" in place.parts)
        tests = [f"-k{own}", str(Path("graphrewrite") / place), *concerning(place)]
        with self.one() as copy:
            module = copy / "graphrewrite" / place
            original = module.read_bytes()
            try:
                while True:
                    module.write_text(mutant.source, encoding="utf-8")
                    found = _run(copy, tests, self.unreliable)
                    if not found or found == "timeout" or found in self.reliable:
                        return found
                    # What fails without a fault as well, in a copy, finds nothing.
                    module.write_bytes(original)
                    if found == "import" or not _run(copy, [found, SETTINGS], ()):
                        self.reliable.add(found)
                        return found
                    self.unreliable.add(found)
            finally:
                module.write_bytes(original)


def _limited() -> None:
    resource.setrlimit(resource.RLIMIT_CPU, (SECONDS, SECONDS))
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))


def _run(copy: Path, tests: Iterable[str], without: Iterable[str]) -> str:
    """Return the first test that fails, ``import`` if none can be run, or nothing."""
    command = [sys.executable, "-m", "pytest", *OPTIONS, *(f"--deselect={test}" for test in sorted(without)), *tests]
    surroundings = {**os.environ, "PYTHONPATH": str(copy), "PYTHONPYCACHEPREFIX": str(copy / "build" / "compiled")}
    surroundings.pop("PYTHONDONTWRITEBYTECODE", None)
    try:
        done = subprocess.run(
            command, cwd=copy, env=surroundings, preexec_fn=_limited, stdin=subprocess.DEVNULL, capture_output=True,
            text=True, timeout=10 * SECONDS, check=False,
        )  # fmt: skip
    except subprocess.TimeoutExpired:
        return "timeout"
    if done.returncode == 0 or done.returncode == 5:  # the last: no test was collected
        return ""
    if done.returncode < 0:
        return "timeout"
    failed = [line.split(" ", 1)[1].split(" - ")[0] for line in done.stdout.splitlines() if line.startswith("FAILED ")]
    return failed[0] if failed else "import"


def _room(name: str) -> str:
    return name.partition(": ")[0].rpartition("/")[0]


def measure_modules(package: str, *, sample: int | None, seed: int, processes: int | None) -> bool:
    """Try mutants of a package, all or a sample, and print what became of them; tell whether enough were found.

    Parameters
    ----------
    package : str
        A folder of the checkout.
    sample : int or None
        How many; all if None.
    seed : int
        What the sample follows from.
    processes : int or None
        How many at once; as many as there are processors if None.

    Returns
    -------
    bool
    """
    every = {m.name: m for p in sorted((ROOT / package).rglob("*.py")) for m in mutants_of_module(p, ROOT)}
    known = {name for names in EQUIVALENT.values() for name in names if name.startswith(f"{package}/")}
    if stale := known - set(every):
        print("listed as equivalent, and no longer made:", *sorted(stale), sep="\n  ")
    left = [name for name in every if name not in known]
    chosen = left if sample is None else sorted(random.Random(seed).sample(left, min(sample, len(left))))
    kind = "all" if sample is None else f"a sample (seed {seed})"
    print(f"{len(chosen)} of {len(left)} mutants, {kind}, of {package}; {len(known & set(every))} are equivalent")
    copies = Copies(processes or os.cpu_count() or 1)
    log = BUILD / f"{package}_mutation.log"

    def tried(name: str) -> str:
        start = monotonic()
        found = copies.verdict(every[name])
        with log.open("a") as output:
            output.write(f"{monotonic() - start:6.1f} s  {name}: {found or 'SURVIVED'}\n")
        return found

    log.write_text("")
    print(f"{log.relative_to(ROOT)} says how far it is", flush=True)
    with ThreadPoolExecutor(copies.count) as pool:
        verdicts = dict(zip(chosen, pool.map(tried, chosen), strict=True))
    survivors = [name for name, found in verdicts.items() if not found]
    rooms = Counter(_room(name) for name in chosen)
    lost = Counter(_room(name) for name in survivors)
    for room, count in sorted(rooms.items()):
        print(f"{room:<40}{count - lost[room]:>5} of {count:>4}")
    print("survivors:", *survivors or ["none"], sep="\n  ")
    found = len(chosen) - len(survivors)
    low, high = interval(found, len(chosen))
    exact = "" if sample is None else f", 95 % confidence {low:.1%} to {high:.1%}"
    print(
        f"{package}: mutation score {found / len(chosen):.1%} ({found} of {len(chosen)}{exact}); {LEAST:.0%} is wanted"
    )
    return found >= LEAST * len(chosen)
