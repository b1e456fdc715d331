"""The strata of the package: a module imports its own room and the rooms below it, in functions too."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from functools import cache
from importlib import import_module
from pathlib import Path

import networkx as nx
import pytest

ROOT = Path(__file__).parents[1]
OUTER = ("rules", "hdl", "lowering")

STRATA = (
    {"errors"},
    {"runtime"},
    {"types"},
    {"schema"},
    {"op"},
    {"graph"},
    {"hierarchy"},
    {"formats", "compare"},
    {"rewriting"},
    {"memory"},
    {"execution"},
    {"summary"},
    {"rules", "hdl"},
    {"lowering"},
    {"learning"},
    {"view"},
    {"testing", "models"},
    {"cli", "pytest_plugin"},
    {"__main__"},
)
"""Rooms, lowest first; those of one stratum do not import each other, with the one exception below."""
BESIDE = {("compare", "formats"), ("testing", "models")}
"""A difference is printed in the text form; pairs within a stratum, the importing room first."""
REACHING_UP = {"runtime.display": "view", "graph.methods": ""}
"""The files whose methods load what stands above them by name, when they are called; and the one room that this is."""
PUBLIC = (
    "",
    *[
        "compare",
        "formats",
        "hdl",
        "hierarchy",
        "learning",
        "lowering",
        "memory",
        "models",
        "op",
        "rules",
        "schema",
        "testing",
        "types",
        "view",
    ],
)
"""The documented packages."""


@cache
def modules() -> dict[str, Path]:
    """Every module below graphrewrite by its name there: `op.define`, `hdl.schedule`."""
    found = {}
    for top in ("graphrewrite", *OUTER):
        for path in sorted((ROOT / top).rglob("*.py")):
            parts = path.relative_to(ROOT / top).with_suffix("").parts
            if top == "graphrewrite" and parts[0] in OUTER:
                continue  # a link to the folder beside
            parts = (*([] if top == "graphrewrite" else [top]), *(p for p in parts if p != "__init__"))
            found[".".join(parts)] = path
    return found


@cache
def imports(path: Path) -> list[tuple[str, int]]:
    """Return the modules of this project that a module imports at run time, and the lines."""
    return [*_imported(path)]


def _imported(path: Path) -> Iterator[tuple[str, int]]:
    tree = ast.parse(path.read_text(encoding="utf-8"))
    typing = {
        id(inner)
        for node in ast.walk(tree)
        if isinstance(node, ast.If) and ast.unparse(node.test).endswith("TYPE_CHECKING")
        for inner in ast.walk(node)
    }
    for node in ast.walk(tree):
        if id(node) in typing:
            continue
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}:{node.lineno}: relative import"
            names = [f"{node.module}.{alias.name}" for alias in node.names]
        elif isinstance(node, ast.Call) and ast.unparse(node.func).endswith("import_module") and node.args:
            names = [ast.unparse(node.args[0]).strip("f'\"")]
        else:
            continue
        for name in names:
            if name.split(".")[0] == "graphrewrite":
                yield target_of(name.partition(".")[2]), node.lineno


def target_of(name: str) -> str:
    """Return the module that an imported name is, or is in."""
    while name not in modules() and name:
        name = name.rpartition(".")[0]
    return name


def stratum(name: str) -> int:
    """Index of the stratum of a module."""
    room = name.split(".", maxsplit=1)[0]
    found = [i for i, rooms in enumerate(STRATA) if room in rooms]
    assert found, f"enter the room {room!r} in a stratum, in {Path(__file__).name}"
    return found[0]


def refusal(source: str, target: str) -> str | None:
    """Return why one module may not import another, or None."""
    here, there = source.split(".", maxsplit=1)[0], target.split(".", maxsplit=1)[0]
    if here == there or not here or not there:
        return None  # the package itself holds public names only, each loaded when it is asked for
    if (here, there) in BESIDE or stratum(there) < stratum(here):
        return None
    return f"{there} stands {'beside' if stratum(there) == stratum(here) else 'above'} {here}"


def test_imports_go_down() -> None:
    for source, path in modules().items():
        if not source or source in REACHING_UP:
            continue
        for target, line in imports(path):
            reason = refusal(source, target)
            assert reason is None, f"{source}, line {line}, imports {target}: {reason}"
            is_above = target or stratum(source) > stratum("summary")
            assert is_above, f"{source}, line {line}: the public names stand above it"


@pytest.mark.parametrize("source", REACHING_UP)
def test_what_reaches_up_names_what_is_there(source: str) -> None:
    tree = ast.parse(modules()[source].read_text(encoding="utf-8"))
    assert {target for target, _ in imports(modules()[source]) if refusal(source, target)} <= {REACHING_UP[source]}
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and ast.unparse(node.func) == "_above":
            module, _, name = ast.literal_eval(node.args[0]).rpartition(".")
            assert hasattr(import_module(f"graphrewrite.{module}"), name)


def test_circles_stay_in_one_package() -> None:
    arrows = nx.DiGraph()
    for source, path in modules().items():
        if source not in {"", *REACHING_UP}:
            arrows.add_edges_from((source, target) for target, _ in imports(path) if target not in {"", source})
    for circle in nx.strongly_connected_components(arrows):
        assert len({str(modules()[name].parent) for name in circle}) == 1, sorted(circle)


def test_few_modules_stand_at_the_root() -> None:
    assert len([name for name in modules() if name and "." not in name and modules()[name].name != "__init__.py"]) < 10


def test_no_module_has_the_name_of_a_function_that_its_package_exports() -> None:
    for name, path in modules().items():
        if path.name == "__init__.py":
            package = import_module(f"graphrewrite.{name}".rstrip("."))
            inside = {p.stem for p in path.parent.glob("*.py")} | {
                p.parent.name for p in path.parent.glob("*/__init__.py")
            }
            exported = {n for n in getattr(package, "__all__", ()) if callable(getattr(package, n))}
            assert not inside & exported, f"{name}: {sorted(inside & exported)}"


@pytest.mark.parametrize("name", PUBLIC)
def test_only_public_names_show(name: str) -> None:
    package = import_module(f"graphrewrite.{name}".rstrip("."))
    assert not name or name in dir(import_module("graphrewrite")), "a documented package is found without an import"
    assert len(set(package.__all__)) == len(package.__all__)
    shown = {each for each in dir(package) if not (each.startswith("__") and each.endswith("__"))}
    extra = {"": {p for p in PUBLIC if p}, "op": set(getattr(package, "LIBRARY", ()))}.get(name, set())
    assert set(package.__all__) <= shown <= set(package.__all__) | extra


@pytest.mark.parametrize(
    ("source", "target", "allowed"),
    [
        ("rewriting.rule.tracing", "graph.graph", True),
        ("graph.graph", "rewriting.engine.entry", False),
        ("graph.graph", "view", False),
        ("errors", "view", False),
        ("hdl.schedule", "types", True),
        ("hdl.schedule", "lowering.host", False),
        ("lowering.host", "hdl.component", True),
        ("rules.affine", "hdl", False),
        ("lowering.host", "rules.affine", True),
        ("execution.evaluator", "hdl", False),
        ("cli.commands", "hdl", True),
        ("rewriting.passes", "cli", False),
        ("formats.json_file", "compare.equality", False),
    ],
)
def test_the_test_itself(source: str, target: str, allowed: bool) -> None:
    assert (refusal(source, target) is None) == allowed
