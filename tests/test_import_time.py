"""`import graphrewrite` is quick, what it offers needs networkx and numpy only, and any module may come first."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
LIMIT = 1.0
"""Processor time of the import, in units of what networkx and numpy take before it (half of that is usual, 0.15 s)."""

PROBE = """
import json, sys, time
sys.path.insert(0, sys.argv[1])
start = time.process_time()
import networkx, numpy
before, middle = set(sys.modules), time.process_time()
import graphrewrite
graphrewrite.Graph
end = time.process_time()
print(json.dumps([end - middle, middle - start, sorted({name.split(".")[0] for name in set(sys.modules) - before})]))
"""


FIRST = """
import sys
from importlib import import_module
for name in sys.argv[1:]:
    for loaded in [each for each in sys.modules if each.partition(".")[0] == "graphrewrite"]:
        del sys.modules[loaded]
    import_module(name)
    held = vars(import_module("graphrewrite"))
    modules = [public for public in held["__all__"] if public != "op" and type(held.get(public)) is type(sys)]
    assert not modules, (name, modules)
import graphrewrite
from graphrewrite import *
shadowed = [public for public in graphrewrite.__all__ if getattr(graphrewrite, public) is not globals()[public]]
modules = [public for public in graphrewrite.__all__ if public != "op" and type(globals()[public]) is type(sys)]
assert not shadowed and not modules, (shadowed, modules)
"""


def probe(compiled: Path) -> tuple[float, float, set[str]]:
    """Processor times of one import, and of networkx and numpy before it, and the top-level modules that it adds.

    Compiled modules are kept in the given folder, whatever this machine says of writing them.
    """
    command = [sys.executable, "-P", "-c", PROBE, str(ROOT)]
    surroundings = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    surroundings["PYTHONPYCACHEPREFIX"] = str(compiled)
    done = subprocess.run(command, capture_output=True, text=True, check=True, timeout=60, env=surroundings)
    seconds, base, names = json.loads(done.stdout)
    return seconds, base, set(names)


def test_import_needs_networkx_and_numpy_only(tmp_path: Path) -> None:
    _, _, names = probe(tmp_path)
    assert names - set(sys.stdlib_module_names) - {"networkx", "numpy"} == {"graphrewrite"}


@pytest.mark.slow
def test_import_is_quick(tmp_path: Path) -> None:
    probe(tmp_path)  # the first import compiles all modules
    for _ in range(5):  # what else runs can make some of them slower
        seconds, base, _ = probe(tmp_path)
        print(
            f"import graphrewrite: {seconds:.3f} s beyond networkx and numpy, {seconds / base:.2f} of what these take"
        )
        if seconds < LIMIT * base:
            return
    pytest.fail("the import takes longer than networkx and numpy do")


def test_import_alone_loads_nothing() -> None:
    code = "import sys; before = set(sys.modules); import graphrewrite; print(*set(sys.modules) - before)"
    done = subprocess.run([sys.executable, "-P", "-c", code], capture_output=True, text=True, check=True, timeout=60)
    assert {name for name in done.stdout.split() if name.partition(".")[0] not in sys.stdlib_module_names} == {
        "graphrewrite"
    }


@pytest.mark.slow(cases=0)
def test_any_module_may_be_imported_first_and_hides_no_public_name() -> None:
    found = {path.stem for path in (ROOT / "graphrewrite").glob("*.py")}
    found |= {path.parent.name for path in (ROOT / "graphrewrite").glob("*/__init__.py")}
    names = [f"graphrewrite.{name}" for name in sorted(found - {"__init__", "cli", "models"})]
    assert "graphrewrite.rewriting" in names
    command = [sys.executable, "-P", "-c", FIRST, *names]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=120)
    assert done.returncode == 0, done.stderr


def test_names_of_the_package() -> None:
    import graphrewrite

    assert {"Graph", "rewrite", "types", "__version__"} <= set(dir(graphrewrite))
    assert "find_spec" not in dir(graphrewrite)
    assert graphrewrite.lowering.exchange.onnx_import  # a module that nobody has imported yet
    with pytest.raises(AttributeError, match="'graphrewrite' has no attribute 'Grpah'"):
        graphrewrite.Grpah  # noqa: B018
