"""A pytest plugin: which modules of the package some tests run, beyond importing them; none may be left out.

It watches the first tests of every file, which costs little; what they leave alone counts as untested. Only whole runs
are judged: with other options or paths than `make quick` has, nothing is.
"""

from __future__ import annotations

import ast
import inspect
import sys
from collections import Counter
from collections.abc import Generator
from pathlib import Path
from types import FrameType
from typing import Any

import pytest

ROOT = Path(__file__).parents[2]
PACKAGE = ("graphrewrite", "rules", "lowering", "hdl")
WATCHED = 2
"""Tests of each file that are watched."""
LEFT_OUT = {
    "graphrewrite/__main__.py": "another process runs it",
}
"""Modules of which these tests need run nothing, and why."""

watched: set[str] = set()
files: set[str] = set()


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Choose what is watched: the same tests in every process."""
    seen: Counter[str] = Counter()
    for item in items:
        file = item.nodeid.partition("::")[0]
        seen[file] += 1
        if seen[file] <= WATCHED:
            watched.add(item.nodeid)


def _note(frame: FrameType, event: str, argument: Any) -> None:
    code = frame.f_code
    # Bodies of modules and classes, which run when something is imported, have no fast locals.
    if code.co_flags & inspect.CO_OPTIMIZED and not code.co_name.startswith("<"):
        files.add(code.co_filename)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item: pytest.Item) -> Generator[None, object, object]:
    """Note whose functions are called, unless somebody else watches."""
    if item.nodeid not in watched or sys.gettrace() is not None:
        return (yield)
    sys.settrace(_note)
    try:
        return (yield)
    finally:
        sys.settrace(None)


def pytest_sessionfinish(session: pytest.Session) -> None:
    """Hand over what this process has seen."""
    output = getattr(session.config, "workeroutput", None)
    if output is not None:
        output["touched"] = sorted(files)


@pytest.hookimpl(optionalhook=True)
def pytest_testnodedown(node: Any) -> None:
    """Gather what the workers have seen."""
    files.update(getattr(node, "workeroutput", {}).get("touched", ()))


def modules() -> dict[Path, str]:
    """Modules of the package that have functions of their own: where they are, without links, and their paths."""
    found = {}
    for folder in PACKAGE:
        for path in sorted((ROOT / folder).rglob("*.py")):
            if any(isinstance(node, ast.FunctionDef) for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))):
                found.setdefault(path.resolve(), path.resolve().relative_to(ROOT.resolve()).as_posix())
    return found


def untouched() -> list[str]:
    """Modules of which nothing was run, but for those of which this is known."""
    touched = {Path(file).resolve() for file in files}
    return sorted(name for path, name in modules().items() if path not in touched and name not in LEFT_OUT)
