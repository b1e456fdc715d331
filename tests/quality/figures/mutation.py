"""How many planted faults the tests of the matcher and the rewriter find: mutmut, on a copy of the tree.

What is mutated, and which tests are run, stands in ``pyproject.toml`` under ``tool.mutmut``. All mutants are some
thousands; of them a sample is tried that follows from a seed, and the score comes with its confidence interval.
Mutants that no test could tell from the original, such as another size of a cache, count as survivors.
"""

from __future__ import annotations

import json
import os
import random
import subprocess
import sys
from collections import Counter
from collections.abc import Mapping, Sequence
from math import sqrt
from pathlib import Path

from tests.quality.figures.places import BUILD, copy_tree

__all__ = ["LEAST", "interval", "measure_mutation", "score"]

LEAST = 0.85
"""The score below which the tests are not good enough."""
DETECTED = ("killed", "timeout")
COPY = BUILD / "mutation"


def measure_mutation(*, sample: int | None, seed: int, processes: int | None) -> bool:
    """Try mutants, all or a sample, and print what became of them; tell whether enough were found.

    Parameters
    ----------
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
    copy_tree(COPY)
    every = mutants()
    chosen = every if sample is None else sorted(random.Random(seed).sample(every, min(sample, len(every))))
    kind = "all" if sample is None else f"a sample (seed {seed})"
    log = BUILD / "mutation.log"
    print(f"{len(chosen)} of {len(every)} mutants, {kind}; {log.relative_to(BUILD.parents[1])} says how far it is")
    command = [sys.executable, "-c", "from mutmut.__main__ import cli; cli()", "run"]
    command += ["--max-children", str(processes or os.cpu_count() or 1)]
    with log.open("w") as output:
        done = subprocess.run(
            [*command, *([] if sample is None else chosen)],
            cwd=COPY, stdout=output, stderr=subprocess.STDOUT, check=False,
        )  # fmt: skip
    if done.returncode:
        print("mutmut failed; the end of its log:", *log.read_text().replace("\r", "\n").splitlines()[-20:], sep="\n")
        return False
    verdicts = {name: status for name, status in verdicts_of(COPY).items() if name in set(chosen)}
    survivors = BUILD / "survivors.diff"
    survivors.write_text("\n".join(difference(name) for name, status in verdicts.items() if status not in DETECTED))
    print(table(verdicts))
    print(f"what survived: {survivors.relative_to(BUILD.parents[1])}")
    low, high = interval(*score(verdicts))
    found, tried = score(verdicts)
    exact = "" if sample is None else f", 95 % confidence {low:.1%} to {high:.1%}"
    print(f"mutation score {found / tried:.1%} ({found} of {tried} found{exact}); at least {LEAST:.0%} is wanted")
    return found >= LEAST * tried


def mutants() -> list[str]:
    """Return the names of all mutants of the copy."""
    program = (
        "from mutmut.mutation.file_mutation import mutate_file_contents as mutate\n"
        "from mutmut.utils.file_utils import walk_mutatable_files as walk\n"
        "from mutmut.utils.format_utils import get_mutant_name as name\n"
        "for path in walk():\n"
        "    for each in mutate(str(path), path.read_text()).mutant_names:\n"
        "        print(name(path, each))\n"
    )
    done = subprocess.run([sys.executable, "-c", program], cwd=COPY, capture_output=True, text=True, check=True)
    return sorted(done.stdout.split())


def verdicts_of(copy: Path) -> dict[str, str]:
    """Return what became of each mutant that was tried, from what mutmut has written down."""
    from mutmut.stats import status_by_exit_code

    found: dict[str, str] = {}
    for path in sorted((copy / "mutants").rglob("*.meta")):
        codes = json.loads(path.read_text())["exit_code_by_key"]
        found |= {name: status_by_exit_code[code] for name, code in codes.items() if code is not None}
    return found


def difference(name: str) -> str:
    """Return what a mutant changes."""
    command = [sys.executable, "-c", "from mutmut.__main__ import cli; cli()", "show", name]
    return subprocess.run(command, cwd=COPY, capture_output=True, text=True, check=True).stdout


def score(verdicts: Mapping[str, str]) -> tuple[int, int]:
    """Return how many mutants were found, and how many were tried.

    Examples
    --------
    >>> score({"a": "killed", "b": "survived", "c": "timeout", "d": "no tests"})
    (2, 4)
    """
    return sum(status in DETECTED for status in verdicts.values()), len(verdicts)


def interval(found: int, tried: int) -> tuple[float, float]:
    """Return Wilson's interval for a share of which a sample has found so much, at 95 % confidence.

    E. B. Wilson, Probable inference, the law of succession, and statistical inference, 1927.

    Examples
    --------
    >>> low, high = interval(90, 100)
    >>> f"{low:.3f} {high:.3f}"
    '0.826 0.945'
    """
    z = 1.959964  # the 97.5 % point of the normal distribution
    share, spread = found / tried, z * z / tried
    middle = (share + spread / 2) / (1 + spread)
    reach = sqrt(spread * (share * (1 - share) + spread / 4)) / (1 + spread)
    return middle - reach, middle + reach


def table(verdicts: Mapping[str, str]) -> str:
    """Return what became of the mutants of each module.

    Examples
    --------
    >>> print(table({"graphrewrite.state.x_f__mutmut_1": "killed", "graphrewrite.plan.x_g__mutmut_2": "timeout"}))
    module                        killed   timeout  survived  no tests     other     score
    graphrewrite.plan                  0         1         0         0         0    100.0%
    graphrewrite.state                 1         0         0         0         0    100.0%
    """
    columns: Sequence[str] = ("killed", "timeout", "survived", "no tests")
    rows: dict[str, Counter[str]] = {}
    for name, status in verdicts.items():
        rows.setdefault(name.rpartition(".")[0], Counter())[status if status in columns else "other"] += 1
    width = max(26, *map(len, rows))
    lines = [f"{'module':<{width}}" + "".join(f"{title:>10}" for title in (*columns, "other", "score"))]
    for module, counts in sorted(rows.items()):
        share = sum(counts[status] for status in DETECTED) / counts.total()
        lines.append(
            f"{module:<{width}}" + "".join(f"{counts[c]:>10}" for c in (*columns, "other")) + f"{share:>10.1%}"
        )
    return "\n".join(lines)
