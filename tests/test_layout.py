"""The layout of the project is part of its design."""

from __future__ import annotations

import ast
import re
import tomllib
from pathlib import Path

from tests.test_layers import STRATA

ROOT = Path(__file__).parents[1]
FOLDERS = {"graphrewrite", "rules", "lowering", "hdl", "tests", "notebooks", "docs"}
FILES = {"pyproject.toml", "README.md", "LICENSE", "CHANGELOG.md", "ARCHITECTURE.md", "CONTRIBUTING.md", "Makefile"}
MADE = {"build", "dist"}
VAGUE = {"util", "utils", "base", "common", "helper", "helpers", "misc", "manager"}
LIMIT = 400


def modules() -> list[Path]:
    """Every Python file of the package, by its place in the tree without the links."""
    found = [p for folder in ("graphrewrite", "rules", "lowering", "hdl") for p in (ROOT / folder).rglob("*.py")]
    return sorted({path.resolve() for path in found})


def test_top_level_is_as_designed() -> None:
    seen = {p.name for p in ROOT.iterdir() if not p.name.startswith(".") and p.name != "__pycache__"}
    assert seen - MADE <= FOLDERS | FILES


def test_a_long_module_is_one_class() -> None:
    for path in modules():
        text = path.read_text(encoding="utf-8")
        lines = len(text.splitlines())
        if lines > LIMIT:
            classes = [node for node in ast.parse(text).body if isinstance(node, ast.ClassDef)]
            largest = max((node.end_lineno - node.lineno for node in classes if node.end_lineno), default=0)
            assert largest > lines / 2, f"{path.relative_to(ROOT)}: {lines} lines that are not one class"


def test_module_names_say_something() -> None:
    parts = {path: path.relative_to(ROOT).with_suffix("").parts for path in modules()}
    assert [path for path, names in parts.items() if VAGUE & set(names)] == []


def test_packages_have_a_front() -> None:
    folders = {path.parent for path in modules()}
    assert [folder for folder in folders if not (folder / "__init__.py").exists()] == []


def test_the_architecture_names_every_room_and_files_that_are_there() -> None:
    text = (ROOT / "ARCHITECTURE.md").read_text(encoding="utf-8")
    picture = (ROOT / "docs" / "strata.svg").read_text(encoding="utf-8")
    rooms = {room for stratum in STRATA for room in stratum} - {"__main__"}
    assert {room for room in rooms if f">{room}<" not in picture} == set()
    assert {room for room in rooms - {"pytest_plugin"} if f"**{room}**" not in text} == set()
    paths = re.findall(r"`((?:graphrewrite|rules|lowering|hdl|tests)/[^`]+)`", text)
    assert len(paths) > 25
    assert [path for path in paths if not (ROOT / path).exists()] == []


def test_paths_in_the_configuration_are_there() -> None:
    tool = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["tool"]
    mutmut = tool["mutmut"]
    prefix = "--deselect="
    tests = [option.removeprefix(prefix) for option in mutmut["pytest_add_cli_args"] if option.startswith(prefix)]
    for test in tests:
        file, _, name = test.partition("::")
        assert f"def {name}" in (ROOT / file).read_text(encoding="utf-8"), test
    paths = [*mutmut["only_mutate"], *mutmut["also_copy"], *mutmut["pytest_add_cli_args_test_selection"]]
    paths += [one.replace(".", "/") for options in tool["mypy"]["overrides"] for one in modules_of(options)]
    paths += tool["coverage"]["run"]["source"]
    for pattern in tool["ruff"]["lint"]["per-file-ignores"]:
        before, _, rest = pattern.partition("{")
        among, _, after = rest.partition("}")
        paths += [f"{before}{choice}{after}" for choice in among.split(",")]
    assert [path for path in paths if not any(ROOT.glob(path)) and not any(ROOT.glob(f"{path}.py"))] == []


def modules_of(options: dict[str, list[str]]) -> list[str]:
    """The modules of this package that options of mypy are for."""
    return [name for name in options["module"] if name.startswith("graphrewrite.")]
