"""Every test can fail: it asserts something, itself or by a function of the tests that it calls, and no tautology."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from functools import cache
from itertools import pairwise
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
DEMANDS = {"raises", "warns", "fail"}
"""Functions of pytest that fail a test."""
SOUND = {"verify"}
"""Functions of the library that raise where something is wrong, besides those that begin with ``assert_``."""

Part = ast.FunctionDef | ast.Assign | ast.AnnAssign
Place = tuple[Path, str]
"""A function, or a table of functions: its file, and its name, that of a method without its class."""


@cache
def tree_of(path: Path) -> ast.Module:
    return ast.parse(path.read_text(encoding="utf-8"))


@cache
def parts_of(path: Path) -> dict[str, list[Part]]:
    """Functions, methods, classes and variables of a file by name; a class stands for its methods."""
    found: dict[str, list[Part]] = {}
    for statement in tree_of(path).body:
        for target in statement.targets if isinstance(statement, ast.Assign) else [getattr(statement, "target", None)]:
            if isinstance(statement, ast.Assign | ast.AnnAssign) and isinstance(target, ast.Name):
                found.setdefault(target.id, []).append(statement)
    for node in ast.walk(tree_of(path)):
        if isinstance(node, ast.FunctionDef):
            found.setdefault(node.name, []).append(node)
        elif isinstance(node, ast.ClassDef):
            found.setdefault(node.name, []).extend(part for part in node.body if isinstance(part, ast.FunctionDef))
    return found


@cache
def imports_of(path: Path) -> dict[str, Place]:
    """What a file takes from other files of the tests, by the name that it has there."""
    found = {}
    for node in ast.walk(tree_of(path)):
        if isinstance(node, ast.ImportFrom) and node.module and node.module.split(".")[0] == "tests":
            folder = ROOT.joinpath(*node.module.split("."))
            for alias in node.names:
                module = folder / f"{alias.name}.py"
                inside = folder.with_suffix(".py") if folder.with_suffix(".py").exists() else folder / "__init__.py"
                found[alias.asname or alias.name] = (module, "") if module.exists() else (inside, alias.name)
    return found


def called_by(path: Path, part: Part) -> Iterator[Place]:
    """Functions of the tests that a function names, and fixtures that it asks for."""
    local, taken = parts_of(path), imports_of(path)
    for argument in part.args.args if isinstance(part, ast.FunctionDef) else ():
        for file in (path, *(folder / "conftest.py" for folder in path.parents if folder.is_relative_to(ROOT))):
            if file.exists() and argument.arg in parts_of(file):
                yield file, argument.arg
                break
    for node in ast.walk(part):
        if isinstance(node, ast.Name | ast.Attribute):
            name = node.id if isinstance(node, ast.Name) else node.attr
            owner = node.value.id if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) else ""
            if owner in taken:
                yield taken[owner][0], name
            elif name in local:
                yield path, name
            elif name in taken:
                yield taken[name]


def demands(part: Part) -> bool:
    """Tell whether a function's own text can fail a test."""
    for node in ast.walk(part):
        if isinstance(node, ast.Assert | ast.Raise):
            return True
        if isinstance(node, ast.Call):
            name = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
            ends_well = any(k.arg == "check" and is_always_so(k.value) for k in node.keywords)  # a program that is run
            if name in DEMANDS | SOUND or name.startswith("assert_") or ends_well:
                return True
    return False


def asserts(path: Path, function: ast.FunctionDef) -> bool:
    """Tell whether a function, or one that it calls, can fail a test."""
    open_: list[tuple[Path, Part]] = [(path, function)]
    seen = set[Place]()
    while open_:
        file, each = open_.pop()
        if demands(each):
            return True
        for place in called_by(file, each):
            if place not in seen:
                seen.add(place)
                open_ += [(place[0], found) for found in parts_of(place[0]).get(place[1], ())]
    return False


def tautologies(tree: ast.AST) -> Iterator[ast.Assert]:
    """Yield assertions that hold whatever the library does."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Assert) and any(is_always_so(part) for part in conjuncts(node.test)):
            yield node


def conjuncts(test: ast.expr) -> list[ast.expr]:
    return test.values if isinstance(test, ast.BoolOp) and isinstance(test.op, ast.And) else [test]


def is_always_so(test: ast.expr) -> bool:
    if isinstance(test, ast.BoolOp):
        return any(map(is_always_so, test.values))
    if isinstance(test, ast.Compare):
        sides = [test.left, *test.comparators]
        # Calls and subscripts may give another thing each time, which is what is asked then.
        return any(
            ast.dump(a) == ast.dump(b) and not any(isinstance(n, ast.Call | ast.Subscript) for n in ast.walk(a))
            for a, b in pairwise(sides)
        ) or (isinstance(test.ops[0], ast.GtE) and is_length(test.left) and is_zero(test.comparators[0]))
    return isinstance(test, ast.Tuple | ast.List | ast.JoinedStr | ast.Lambda) or (
        isinstance(test, ast.Constant) and bool(test.value)
    )


def is_length(node: ast.expr) -> bool:
    return isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "len"


def is_zero(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and node.value == 0


def files() -> list[Path]:
    return sorted((ROOT / "tests").rglob("test_*.py"))


def test_every_test_asserts_something() -> None:
    idle = [
        f"{path.relative_to(ROOT)}:{function.lineno} {function.name}"
        for path in files()
        for function in ast.walk(tree_of(path))
        if isinstance(function, ast.FunctionDef) and function.name.startswith("test_") and not asserts(path, function)
    ]
    assert idle == []


def test_no_assertion_holds_whatever_happens() -> None:
    found = [f"{path.relative_to(ROOT)}:{each.lineno}" for path in files() for each in tautologies(tree_of(path))]
    assert found == []


@pytest.mark.parametrize(
    "test",
    ["True", "x == x", "(x, y)", "x or True", "a.b is a.b", "x and y == y", "len(x) >= 0", "f'{x}'", "x < y == y"],
)
def test_tautologies_are_noticed(test: str) -> None:
    assert list(tautologies(ast.parse(f"assert {test}")))


@pytest.mark.parametrize("test", ["False", "f(x) == f(x)", "x == y == z", "x or y", "len(x) >= 1", "not ()"])
def test_others_are_left_alone(test: str) -> None:
    assert not list(tautologies(ast.parse(f"assert {test}")))


def test_tests_without_an_assertion_are_noticed(tmp_path: Path) -> None:
    path = tmp_path / "test_it.py"
    path.write_text(
        "def test_idle(): f()\n"
        "def test_by_a_helper(): g()\n"
        "def test_by_a_fixture(h): h(1)\n"
        "def test_by_an_error():\n    with pytest.raises(ValueError): f()\n"
        "def f(): return f\n"
        "def g(): f() and checked()\n"
        "def h(): return checked\n"
        "def checked(): assert f()\n"
    )
    found = {name: asserts(path, function) for name, (function,) in parts_of(path).items() if "test" in name}
    assert found == {
        "test_idle": False,
        "test_by_a_helper": True,
        "test_by_a_fixture": True,
        "test_by_an_error": True,
    }
