"""How many faults, planted in a package's modules, the tests that run the faulty lines find.

What `tests.quality.figures.lines_of_tests` has measured says which these are, of quick tests and some of their cases.
The quickest are run first, until one fails, and as many as `SECONDS` allow. What they do not find is tried again for
`FURTHER_SECONDS` with the tests of the module's rules, with all cases of these tests, and with the slow ones beside
them. What `tests.quality.equivalent_module_mutants` lists as equivalent, each with its reason, is not tried.
"""

from __future__ import annotations

import hashlib
import json
import os
import random
import subprocess
import sys
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate
from pathlib import Path
from typing import Any

from tests.quality.equivalent_module_mutants import EQUIVALENT
from tests.quality.figures.mutation import interval
from tests.quality.figures.places import (
    BUILD,
    FURTHER_SECONDS,
    IMPORT,
    LINES,
    ROOT,
    SECONDS,
    TRIES,
    UNFINISHED,
    UNPLANTED,
)
from tests.quality.module_mutants import ModuleMutant, mutants_of_module

__all__ = ["LEAST", "TESTS", "LinesOfTests", "measure_modules"]

LEAST = 0.9
"""The score below which the tests are not good enough."""
SLOWER = 4
"""Times as long, and as many seconds more, may they take with it."""
TESTS = (
    "graphrewrite/hdl", "graphrewrite/lowering", "tests/hdl", "tests/lowering", "tests/cli",
    "tests/rules/test_declines.py", "tests/formats/test_endings.py", "tests/hierarchy/test_implementations.py",
    "tests/op/tensor/test_texts.py", "tests/learning",
)  # fmt: skip
"""What may find a fault of one of the packages."""
OPTIONS = (
    "-q", "-n0", "--no-header", "-rf", "-pno:cacheprovider", "--hypothesis-profile=quick", "--hdl-count=10",
    "-ptests.support.first_seeds",
)  # fmt: skip
QUICK = ("-m", "not thorough and not browser and not slow and not ghdl")
"""What is measured, and tried first."""
ALL = ("-m", "not thorough and not browser and not (slow and ghdl)")
"""What is tried where those find nothing."""
SURVIVES = ("", UNFINISHED)
"""Verdicts on what no test has found."""
OF_RULES = (
    "tests/rules/test_all_rules.py", "tests/lowering/test_gradients.py", "tests/lowering/test_rules_of_networks.py",
)  # fmt: skip
"""Tests that name the rule that they are of, with its module or without."""


@dataclass(frozen=True)
class LinesOfTests:
    """Which tests run which lines.

    Attributes
    ----------
    seconds : mapping from str to float
        How long a test takes, of those that pass.
    lines : mapping
        Of each file, the tests that run a line, or `IMPORT`.
    """

    seconds: Mapping[str, float]
    lines: Mapping[str, Mapping[str, Sequence[str]]]

    def running(self, path: Path, lines: Iterable[int] | None = None) -> list[str]:
        """Return the tests that run some lines of a file, the quickest first, as many as there is time for.

        Parameters
        ----------
        path : Path
            From the root of the checkout.
        lines : iterable of int, optional
            All of them if None.

        Returns
        -------
        list of str
        """
        known = self.lines.get(path.as_posix(), {})
        found = {test for line in (known if lines is None else map(str, lines)) for test in known.get(line, ())}
        quickest = sorted((test for test in found if test in self.seconds), key=lambda t: (self.seconds[t], t))
        spent = accumulate(self.seconds[test] for test in quickest)
        return [test for test, until in zip(quickest, spent, strict=True) if until <= SECONDS]

    def is_imported(self, path: Path, lines: Iterable[int]) -> bool:
        """Tell whether lines run when the module is imported, or before any test for another reason."""
        known = self.lines.get(path.as_posix(), {})
        return any(IMPORT in known.get(str(line), ()) for line in lines)


def lines_of_tests() -> LinesOfTests:
    """Measure what tests run, folder by folder, as far as neither it nor the packages have changed since."""
    seconds: dict[str, float] = {}
    lines: dict[str, dict[str, set[str]]] = {}
    packages = _digest(path for name in ("hdl", "lowering") for path in (ROOT / name).rglob("*.py"))
    for place in TESTS:
        own = _digest([ROOT / place] if place.endswith(".py") else (ROOT / place).rglob("*.py"))
        target = BUILD / f"lines_{place.replace('/', '_')}_{packages}_{own}.json"
        if not target.exists():
            print(f"measures what {place} runs", flush=True)
            _pytest("-ptests.quality.figures.lines_of_tests", *QUICK, place, **{LINES: str(target)})
        told = json.loads(target.read_text(encoding="utf-8"))
        seconds |= told["seconds"]
        for file, tests in told["lines"].items():
            for line, names in tests.items():
                lines.setdefault(file, {}).setdefault(line, set()).update(names)
    return LinesOfTests(seconds, {f: {n: sorted(names) for n, names in of.items()} for f, of in lines.items()})


def _digest(paths: Iterable[Path]) -> str:
    found = hashlib.sha256()
    for path in sorted(paths):
        found.update(path.read_bytes())
    return found.hexdigest()[:12]


def _pytest(*arguments: str, **surroundings: str) -> None:
    # Threads of a numerical library do not live on in a process that is forked.
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "OPENBLAS_NUM_THREADS": "1", **surroundings}
    environment["PYTHONPATH"] += os.pathsep + os.environ.get("PYTHONPATH", "")
    log = BUILD / "tests.log"
    with log.open("w") as output:
        # Options of ours are declared in the folder of the tests, which is read where something in it is named.
        command = [sys.executable, "-m", "pytest", *OPTIONS, "tests/conftest.py", *arguments]
        subprocess.run(command, cwd=ROOT, env=environment, stdout=output, stderr=subprocess.STDOUT, check=False)


def _tried(
    tries: list[dict[str, Any]], processes: int, imported: Mapping[str, str], cases: Sequence[str] = QUICK
) -> dict[str, str]:
    """Try mutants; return which test finds each, ``timeout``, `UNFINISHED`, or nothing if none does."""
    work = BUILD / "mutants.json"
    verdicts = work.with_suffix(".verdicts")
    verdicts.write_text("")
    work.write_text(json.dumps({"tries": tries, "processes": processes, "imported": imported}))
    files = {name.partition("::")[0] for one in tries for name in one["tests"]}
    if files:
        # pytest reads the modules of an installed plugin, such as ours, itself where it rewrites assertions.
        plain = ["--assert=plain"] if imported else []
        _pytest("-ptests.quality.figures.mutant_runs", *plain, *cases, *sorted(files), **{TRIES: str(work)})
    found = {name: test for name, test, _ in map(json.loads, verdicts.read_text().splitlines())}
    if files and (missing := {one["name"] for one in tries} - found.keys()):
        raise RuntimeError(
            f"{len(missing)} of {len(tries)} mutants were not tried to the end: see {BUILD / 'tests.log'}"
        )
    return found


def verdicts_of(mutants: Sequence[ModuleMutant], processes: int) -> dict[str, str]:
    """Return which test finds each mutant, ``timeout``, ``import``, `UNFINISHED`, or nothing if none does."""
    known = lines_of_tests()

    def one(mutant: ModuleMutant, tests: list[str], source: str | None) -> dict[str, Any]:
        limit = SLOWER * (SECONDS // 4 + sum(known.seconds.get(test, 0.0) for test in tests))
        return {
            "name": mutant.name, "path": os.path.realpath(mutant.path), "file": str(mutant.path), "source": source,
            "function": mutant.function, "first": mutant.first, "tests": tests, "seconds": int(limit) + 1,
            "enough": SECONDS,
        }  # fmt: skip

    places = {m.name: m.path.relative_to(ROOT) for m in mutants}
    tests = {m.name: known.running(places[m.name], m.lines) for m in mutants}
    found = dict.fromkeys(tests, "") | _tried(
        [one(m, tests[m.name], m.source) for m in mutants if tests[m.name]], processes, {}
    )
    for mutant in mutants:
        name = mutant.name
        is_imported = found[name] in SURVIVES and known.is_imported(places[name], mutant.lines)
        if is_imported or found[name] == UNPLANTED:
            again = one(mutant, known.running(places[name], None if is_imported else mutant.lines), None)
            if again["tests"]:
                told = _tried([again], 1, {again["path"]: mutant.source})
                found[name] = told.get(name, "import")
    left = {m: known.running(places[m.name], m.lines) for m in mutants if found[m.name] in SURVIVES}
    again = [
        one(mutant, further, mutant.source) | {"seconds": SLOWER * FURTHER_SECONDS, "enough": FURTHER_SECONDS}
        for mutant, further in _further(left).items()
        if further
    ]
    # What takes too long in so many tests need not be a loop without an end: only a test that fails counts.
    told = _tried(again, processes, {}, ALL) if again else {}
    told = {name: test for name, test in told.items() if test != UNPLANTED}
    return found | {name: UNFINISHED if test == "timeout" else test for name, test in told.items()}


def _further(tried: Mapping[ModuleMutant, Sequence[str]]) -> dict[ModuleMutant, list[str]]:
    """Return tests that were not tried yet: of rules of the module, other cases, and others beside them."""
    files = {test.partition("::")[0] for tests in tried.values() for test in tests}
    _pytest(*ALL, "--collect-only", *sorted(files), *(OF_RULES if tried else []))
    every = [line.strip() for line in (BUILD / "tests.log").read_text(encoding="utf-8").splitlines() if "::" in line]
    found: dict[ModuleMutant, list[str]] = {}
    for mutant, tests in tried.items():
        module = ".".join(mutant.path.relative_to(ROOT).with_suffix("").parts)
        own = (f".{mutant.function}]", f"[{mutant.function}]")
        of_rules = [t for t in every if t.startswith(OF_RULES) and (f"[{module}." in t or t.endswith(own))]
        of_rules.sort(key=lambda t: not t.endswith(own))
        near, alike = ({test.partition(mark)[0] for test in tests} for mark in ("::", "["))
        others = [t for t in every if t not in tests and t.partition("::")[0] in near]
        others.sort(key=lambda t: t.partition("[")[0] not in alike)
        found[mutant] = [*dict.fromkeys([*of_rules, *others])]
    return found


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
    BUILD.mkdir(parents=True, exist_ok=True)
    every = {m.name: m for p in sorted((ROOT / package).rglob("*.py")) for m in mutants_of_module(p, ROOT)}
    known = {name for names in EQUIVALENT.values() for name in names if name.startswith(f"{package}/")}
    if stale := known - set(every):
        print("listed as equivalent, and no longer made:", *sorted(stale), sep="\n  ")
    left = [name for name in every if name not in known]
    chosen = left if sample is None else sorted(random.Random(seed).sample(left, min(sample, len(left))))
    kind = "all" if sample is None else f"a sample (seed {seed})"
    print(f"{len(chosen)} of {len(left)} mutants, {kind}, of {package}; {len(known & set(every))} are equivalent")
    print(f"{(BUILD / 'mutants.verdicts').relative_to(ROOT)} says how far it is", flush=True)
    verdicts = verdicts_of([every[name] for name in chosen], processes or os.cpu_count() or 1)
    survivors = [name for name, found in verdicts.items() if found in SURVIVES]
    unfinished = sum(found == UNFINISHED for found in verdicts.values())
    rooms = Counter(_room(name) for name in chosen)
    lost = Counter(_room(name) for name in survivors)
    for room, count in sorted(rooms.items()):
        print(f"{room:<40}{count - lost[room]:>5} of {count:>4}")
    print("survivors:", *survivors or ["none"], sep="\n  ")
    print(f"{unfinished} of {len(survivors)} survivors had tests left when their time was over")
    found = len(chosen) - len(survivors)
    low, high = interval(found, len(chosen))
    exact = "" if sample is None else f", 95 % confidence {low:.1%} to {high:.1%}"
    print(
        f"{package}: mutation score {found / len(chosen):.1%} ({found} of {len(chosen)}{exact}); {LEAST:.0%} is wanted"
    )
    return found >= LEAST * len(chosen)
