"""The layout of the project is part of its design."""

from __future__ import annotations

from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
FOLDERS = {"graphrewrite", "rules", "lowering", "hdl", "tests", "notebooks"}
FILES = {"pyproject.toml", "README.md", "LICENSE", "CHANGELOG.md", "Makefile"}
MADE = {"build", "dist"}
VAGUE = {"util", "utils", "base", "common", "helper", "helpers", "misc", "manager"}
LIMIT = 350


def modules() -> list[Path]:
    """Every Python file of the package, by its place in the tree without the links."""
    found = [p for folder in ("graphrewrite", "rules", "lowering", "hdl") for p in (ROOT / folder).rglob("*.py")]
    return sorted({path.resolve() for path in found})


def test_top_level_is_as_designed() -> None:
    seen = {p.name for p in ROOT.iterdir() if not p.name.startswith(".") and p.name != "__pycache__"}
    assert seen - MADE == FOLDERS | FILES


@pytest.mark.parametrize("name", ["rules", "lowering", "hdl"])
def test_packages_are_linked(name: str) -> None:
    link = ROOT / "graphrewrite" / name
    assert link.is_symlink(), f"graphrewrite/{name} is a link (on Windows: git config core.symlinks true, clone again)"
    assert link.readlink() == Path("..", name)


def test_modules_are_small() -> None:
    sizes = {
        path.relative_to(ROOT).as_posix(): len(path.read_text(encoding="utf-8").splitlines()) for path in modules()
    }
    assert {path: size for path, size in sizes.items() if size > LIMIT} == {}


def test_module_names_say_something() -> None:
    parts = {path: path.relative_to(ROOT).with_suffix("").parts for path in modules()}
    assert [path for path, names in parts.items() if VAGUE & set(names)] == []


def test_packages_have_a_front() -> None:
    folders = {path.parent for path in modules()}
    assert [folder for folder in folders if not (folder / "__init__.py").exists()] == []
