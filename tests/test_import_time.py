"""`import graphrewrite` is quick and needs networkx and numpy only."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[1]
LIMIT = 0.3
"""Seconds of processor time, beyond those of networkx and numpy."""

PROBE = """
import json, sys, time
sys.path.insert(0, sys.argv[1])
import networkx, numpy
before, start = set(sys.modules), time.process_time()
import graphrewrite
seconds = time.process_time() - start
print(json.dumps([seconds, sorted({name.split(".")[0] for name in set(sys.modules) - before})]))
"""


def probe() -> tuple[float, set[str]]:
    """Processor time of one import in a fresh interpreter, and the top-level modules that it adds."""
    command = [sys.executable, "-P", "-c", PROBE, str(ROOT)]
    done = subprocess.run(command, capture_output=True, text=True, check=True, timeout=60)
    seconds, names = json.loads(done.stdout)
    return seconds, set(names)


def test_import_needs_networkx_and_numpy_only() -> None:
    _, names = probe()
    assert names - set(sys.stdlib_module_names) - {"networkx", "numpy"} == {"graphrewrite"}


def test_import_is_quick() -> None:
    best = min(probe()[0] for _ in range(5))
    print(f"import graphrewrite: {best:.3f} s beyond networkx and numpy")
    assert best < LIMIT
