"""Which lines and branches of the package the fast tests run, room by room."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections import Counter
from collections.abc import Mapping
from pathlib import PurePath
from typing import Any

from tests.quality.figures.places import BUILD, ROOT

__all__ = ["by_room", "measure_coverage", "table"]

TESTS = ("-m", "not ghdl and not thorough", "--hypothesis-profile=quick", "-ptests.support.first_seeds")
"""All but VHDL simulations, each with few examples; of tests in chunks of seeds the first chunks."""


def measure_coverage() -> bool:
    """Run the fast tests and print what they cover; tell whether they pass."""
    BUILD.mkdir(parents=True, exist_ok=True)
    report = BUILD / "coverage.json"
    report.unlink(missing_ok=True)
    processes = str(os.cpu_count() or 1)
    options = ["-q", "-n", processes, "--cov", "--cov-branch", "--cov-report", f"json:{report}", *TESTS]
    done = subprocess.run([sys.executable, "-m", "pytest", *options], cwd=ROOT, check=False)
    if report.exists():
        print(table(by_room(json.loads(report.read_text())["files"])))
    return done.returncode == 0


def by_room(files: Mapping[str, Mapping[str, Any]]) -> dict[str, Counter[str]]:
    """Add up what coverage.py says of each file, for each folder of the package.

    Examples
    --------
    >>> lines = {"num_statements": 4, "covered_lines": 3, "num_branches": 2, "covered_branches": 1}
    >>> by_room({"graphrewrite/op/op.py": {"summary": lines}, "rules/affine.py": {"summary": lines}}).keys()
    dict_keys(['graphrewrite/op', 'rules'])
    """
    rooms: dict[str, Counter[str]] = {}
    for name in sorted(files):
        room = PurePath(name).parent.as_posix()
        kept = {key: files[name]["summary"][key] for key in KEYS}
        rooms.setdefault(room, Counter()).update(kept)
    return rooms


KEYS = ("num_statements", "covered_lines", "num_branches", "covered_branches")


def table(rooms: Mapping[str, Counter[str]]) -> str:
    """Return a table of rooms, the whole at its end.

    Examples
    --------
    >>> print(table({"rules": Counter(num_statements=40, covered_lines=39, num_branches=8, covered_branches=6)}))
    room                      lines                 branches
    rules                     39/40        97.5%    6/8         75.0%
    all                       39/40        97.5%    6/8         75.0%
    """
    rows = [f"{'room':<26}{'lines':>5}{'branches':>25}"]
    whole: Counter[str] = Counter()
    for found in rooms.values():
        whole.update(found)
    for room, found in (*rooms.items(), ("all", whole)):
        lines, branches = (part(found[b], found[a]) for a, b in (KEYS[:2], KEYS[2:]))
        rows.append(f"{room:<26}{lines}    {branches}")
    return "\n".join(row.rstrip() for row in rows)


def part(some: int, of: int) -> str:
    """Return a fraction, and in per cent."""
    return f"{f'{some}/{of}':<13}{100 * some / of if of else 100:4.1f}%"
