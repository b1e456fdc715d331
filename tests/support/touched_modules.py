"""A pytest plugin: which modules of the package some tests run, beyond importing them; all must be.

It watches a few tests of every file, which costs little; what only others run counts as untested. Runs of some tests
only are not judged, nor are modules whose tests need a package that is not installed.
"""

from __future__ import annotations

import ast
import inspect
import sys
from collections.abc import Generator
from importlib.util import find_spec
from pathlib import Path
from types import FrameType
from typing import Any

import pytest

ROOT = Path(__file__).parents[2]
PACKAGE = ("graphrewrite", "rules", "lowering", "hdl")
WATCHED = 6
"""How many tests of each file are watched, or somewhat more, from its beginning to its end."""
NEEDED = {"lowering/exchange/torch": "torch", "lowering/exchange/torch_export.py": "torch"}
"""What reads or writes objects of a package: without it there is nothing to test."""
watched: set[str] = set()
files: set[str] = set()


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Choose what is watched, the same tests in every process: one of each function, or of few functions more."""
    by_file: dict[str, list[str]] = {}
    for item in items:
        by_file.setdefault(item.nodeid.partition("::")[0], []).append(item.nodeid)
    for tests in by_file.values():
        functions = {test.partition("[")[0]: test for test in reversed(tests)}
        chosen = sorted(functions.values(), key=tests.index) if len(functions) >= WATCHED else tests
        watched.update(chosen[:: max(1, len(chosen) // WATCHED)])


def _note(frame: FrameType, event: str, argument: Any) -> None:
    if event != "call":
        return
    code = frame.f_code
    # Bodies of modules and classes, which run when something is imported, have no fast locals.
    if code.co_flags & inspect.CO_OPTIMIZED and not code.co_name.startswith("<"):
        files.add(code.co_filename)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item: pytest.Item) -> Generator[None, object, object]:
    """Note whose functions are called, unless somebody else does; a tracer is left to the tests."""
    if item.nodeid not in watched or sys.getprofile() is not None:
        return (yield)
    sys.setprofile(_note)
    try:
        return (yield)
    finally:
        sys.setprofile(None)


def pytest_sessionfinish(session: pytest.Session) -> None:
    """Hand over what this process has seen, or judge what all have."""
    config = session.config
    output = getattr(config, "workeroutput", None)
    if output is not None:
        output["touched"] = sorted(files)
    elif config.args == config.getini("testpaths") and not config.option.keyword and not session.shouldstop:
        left = untouched()
        if left:
            print("\nno watched test runs anything of:", *left, sep="\n  ")
            print("test something of them, in a moment")
            session.exitstatus = session.exitstatus or pytest.ExitCode.TESTS_FAILED


@pytest.hookimpl(optionalhook=True)
def pytest_testnodedown(node: Any) -> None:
    """Gather what the workers have seen."""
    files.update(getattr(node, "workeroutput", {}).get("touched", ()))


def modules() -> dict[Path, str]:
    """Modules of the package that compute something: where they are, without links, and their paths."""
    found = {}
    for folder in PACKAGE:
        for path in (ROOT / folder).rglob("*.py"):
            # The front of a package only hands out names.
            if path.name != "__init__.py" and path.resolve() not in found and _computes(path):
                found[path.resolve()] = path.resolve().relative_to(ROOT.resolve()).as_posix()
    return found


def _computes(path: Path) -> bool:
    tree = ast.parse(path.read_text(encoding="utf-8"))
    functions = [node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)]
    return any(not isinstance(function.body[-1], ast.Raise) for function in functions)


def untouched() -> list[str]:
    """Modules of which nothing was run, though it could be."""
    touched = {Path(file).resolve() for file in files}
    missing = tuple(place for place, package in NEEDED.items() if find_spec(package) is None)
    return sorted(n for path, n in modules().items() if path not in touched and not n.startswith(missing))
