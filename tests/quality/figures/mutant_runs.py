"""A pytest plugin that tries mutants of modules: each in a process of its own, forked where all tests are collected.

The fault is put into the functions that were imported, so that nothing is imported or collected again. Where the lines
of a fault run at the import, `TRIES` names the source of one mutant, which is imported instead of the original.
"""

from __future__ import annotations

import gc
import importlib.machinery
import json
import os
import resource
import signal
from collections.abc import Iterator, Sequence
from functools import _lru_cache_wrapper, cached_property, partial
from pathlib import Path
from time import monotonic, process_time
from types import CodeType, FunctionType
from typing import Any

import pytest

from tests.quality.figures.places import TRIES, UNFINISHED, UNPLANTED

MEMORY = 8 << 30

work: dict[str, Any] = {}
replaced: dict[str, str] = {}
read = importlib.machinery.SourceFileLoader.get_code


def pytest_configure() -> None:
    """Read what is to be tried, before any module of the package is imported."""
    work.update(json.loads(Path(os.environ[TRIES]).read_text(encoding="utf-8")))
    replaced.update(work["imported"])
    if replaced:
        importlib.machinery.SourceFileLoader.get_code = _get_code  # type: ignore[assignment, method-assign]


def _get_code(loader: importlib.machinery.SourceFileLoader, name: str) -> CodeType | None:
    """Give the code of a mutant in place of its module's."""
    path = loader.get_filename(name)
    source = replaced.get(os.path.realpath(path))
    return read(loader, name) if source is None else compile(source, path, "exec", dont_inherit=True)


def pytest_runtestloop(session: pytest.Session) -> bool:
    """Try the mutants, some at a time."""
    items = {item.nodeid: item for item in session.items}
    gc.unfreeze()
    functions = _functions()
    kept = _kept()
    reliable, running = _Reliable(session, items), {}
    waiting = list(work["tries"])
    while waiting or running:
        while waiting and len(running) < work["processes"]:
            one = waiting.pop(0)
            reading, writing = os.pipe()
            process = os.fork()
            if not process:
                os.close(reading)
                _run(session, items, one, functions, kept, writing)
            os.close(writing)
            running[process] = one, reading, monotonic()
        process, status = os.wait()
        if process not in running:
            continue
        one, reading, start = running.pop(process)
        with os.fdopen(reading) as told:
            found = told.read()
        if os.WIFSIGNALED(status):
            found = "timeout"
        if found in items and not reliable[found]:
            one["tests"].remove(found)
            waiting.append(one)
            continue
        with Path(os.environ[TRIES]).with_suffix(".verdicts").open("a") as output:
            output.write(json.dumps([one["name"], found, round(monotonic() - start, 1)]) + "\n")
    return True


class _Reliable(dict[str, bool]):
    """Whether a test passes without a fault, in a process of its own."""

    def __init__(self, session: pytest.Session, items: dict[str, pytest.Item]) -> None:
        self.session, self.items = session, items

    def __missing__(self, name: str) -> bool:
        reading, writing = os.pipe()
        process = os.fork()
        if not process:
            alone = {"source": None, "tests": [name], "seconds": 600, "enough": 600}
            _run(self.session, self.items, alone, {}, [], writing)
        os.close(writing)
        with os.fdopen(reading) as told:
            self[name] = not told.read()
        os.waitpid(process, 0)
        return self[name]


def _run(
    session: pytest.Session,
    items: dict[str, pytest.Item],
    one: dict[str, Any],
    functions: dict[tuple[str, str, int], list[FunctionType]],
    kept: Sequence[Any],
    writing: int,
) -> None:
    """Run tests until one fails, write down its name, and end the process."""
    silent = os.open(os.devnull, os.O_RDWR)
    for stream in (0, 1, 2):
        os.dup2(silent, stream)
    seconds = int(one["seconds"])
    resource.setrlimit(resource.RLIMIT_CPU, (seconds, seconds))
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, resource.getrlimit(resource.RLIMIT_AS)[1]))
    signal.setitimer(signal.ITIMER_REAL, 10 * seconds)
    found = "error"
    try:
        if one["source"] is not None and not _plant(one, functions, kept):
            found = UNPLANTED
        else:
            found = _first_failure(session, [items[name] for name in one["tests"] if name in items], one["enough"])
    finally:
        os.write(writing, found.encode())
        os._exit(0)


def _first_failure(session: pytest.Session, items: Sequence[pytest.Item], enough: float) -> str:
    start = process_time()
    for item, following in zip(items, [*items[1:], None], strict=True):
        if process_time() - start > enough:
            return UNFINISHED
        item.config.hook.pytest_runtest_protocol(item=item, nextitem=following)
        if session.testsfailed:
            return item.nodeid
    return ""


def _functions() -> dict[tuple[str, str, int], list[FunctionType]]:
    """Functions of modules, by file, name and first line."""
    found: dict[tuple[str, str, int], list[FunctionType]] = {}
    for each in gc.get_objects():
        if type(each) is FunctionType and "<" not in each.__code__.co_filename:
            path = os.path.realpath(each.__code__.co_filename)
            found.setdefault(_place(path, each.__code__), []).append(each)
    return found


def _place(path: str, code: CodeType) -> tuple[str, str, int]:
    return path, code.co_name, code.co_firstlineno


def _kept() -> list[Any]:
    """What may hold what was made by the code of before."""
    from graphrewrite import Rule  # not before a mutant can be imported in its place
    from graphrewrite.rewriting.rule.tracing import Definition

    return [
        each
        for each in gc.get_objects()
        if type(each) in (Definition, Rule)
        or (type(each) is _lru_cache_wrapper and each.__module__.startswith("graphrewrite."))
    ]


def _plant(one: dict[str, Any], functions: dict[tuple[str, str, int], list[FunctionType]], kept: Sequence[Any]) -> bool:
    """Give functions the code of a mutant, and drop what was made by the code of before; tell whether that is possible.

    What stands in the function was made when its module was imported, where it is a table's row, say: it is changed as
    well. It cannot be where it reads other variables of the function than before.
    """
    original = Path(one["path"]).read_text(encoding="utf-8")
    before, after = (
        _code_of(compile(source, one["file"], "exec", dont_inherit=True), one) for source in (original, one["source"])
    )
    inner, changed = list(codes_in(before)), list(codes_in(after))
    alive = [place for place in map(partial(_place, one["path"]), inner) if place in functions]
    alike = [code.co_name for code in inner] == [code.co_name for code in changed]
    if alive and (not alike or len({*alive}) < len(alive)):
        return False
    planted: list[FunctionType] = []
    for old, new in zip((before, *inner), (after, *changed), strict=False):
        for function in functions.get(_place(one["path"], old), ()):
            planted.append(function)
            if function.__code__.co_freevars != new.co_freevars:
                return False
            function.__code__ = new.replace(co_filename=function.__code__.co_filename)
    for each in sorted(kept, key=lambda each: type(each) is not _lru_cache_wrapper):  # rules are read through some
        if type(each) is _lru_cache_wrapper:
            each.cache_clear()
        elif hasattr(each, "definition"):
            # The pattern of a rule was read when the rule was made.
            if any(each.function is function for function in planted):
                vars(each).update(vars(type(each)(each.function, keeps=each.keeps, shared=each.shared, kind=each.kind)))
        else:
            for name in [name for name, value in vars(type(each)).items() if isinstance(value, cached_property)]:
                vars(each).pop(name, None)
    return True


def _code_of(tree: CodeType, one: dict[str, Any]) -> CodeType:
    (code,) = [c for c in codes_in(tree) if c.co_firstlineno == one["first"] and c.co_name == one["function"]]
    return code


def codes_in(code: CodeType) -> Iterator[CodeType]:
    """Yield the codes of functions, and of methods of classes."""
    for each in code.co_consts:
        if isinstance(each, CodeType):
            yield each
            yield from codes_in(each)
