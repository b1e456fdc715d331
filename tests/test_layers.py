"""Who may import whom: a module imports its own layer and the layers below it."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]

CORE = (
    {"bytecode", "errors", "types", "data", "garbage", "interruption", "marks", "numbering", "progress"},
    {
        *("composed", "dataflow", "display", "graph", "value", "op", "parse", "storage", "text", "serial", "module"),
        *(
            "building",
            "cycles",
            "edit",
            "given",
            "graph_view",
            "infer",
            "nested",
            "node",
            "refusal",
            "soundness",
            "structure",
            "summary",
        ),
    },
    {
        *(
            "attempt",
            "conversion",
            "definition",
            "engine",
            "explanation",
            "following",
            "fused",
            "graph_rule",
            "index",
            "journal",
            "levels",
            "match",
            "module_rewriting",
            "neighbourhood",
        ),
        *("pattern", "plan", "place", "provenance"),
        *("replacement", "rewrite", "rule", "strategy", "template", "verify", "wake", "wiring", "worklist"),
    },
    {
        *("diff", "distribution", "evaluate", "evaluation", "implementation", "naming", "pairing", "passes", "profile"),
        *("program", "trace"),
    },
    {"view", "testing"},
)
"""The layers of the engine, lowest first. A new module is entered here, in the lowest layer that it can live in."""
LEAVES = {"view", "testing"}
OUTER = {"rules": {"rules"}, "lowering": {"rules", "lowering", "hdl"}, "hdl": {"hdl"}}
"""What of the outer packages an outer package may import; all of them may import the engine.

The ops of the level `stream` are the components, so what lowers to them imports `hdl`, never the other way round.
"""
ENTRY = {"__main__", "cli", "front", "models", "pytest_plugin"}
"""Nobody imports these; they may import everything."""
LAZY = {
    ("building", "evaluate"): "a graph that is a part computes",
    ("graph_view", "evaluate"): "a view evaluates itself",
    ("graph_view", "conversion"): "a view sets its element and layout",
    ("diff", "view"): "a comparison draws itself",
    ("explanation", "view"): "an explanation draws itself",
    ("graph", "text"): "a graph prints itself",
    ("graph", "parse"): "a graph reads itself",
    ("graph_rule", "rewrite"): "a rule applies itself",
    ("graph_rule", "view"): "a rule draws itself",
    ("display", "view"): "a graph draws itself",
    ("evaluation", "view"): "an evaluation draws itself",
    ("nested", "evaluate"): "a graph that is an op computes itself",
    ("passes", "view"): "a pass and a pipeline draw themselves",
    ("profile", "view"): "a profile shows itself as a table",
    ("rule", "view"): "a rule draws itself",
    ("rule", "rewrite"): "a rule applies itself",
    ("summary", "view"): "a summary shows itself as a table",
    ("trace", "view"): "a trace draws itself",
    ("types", "view"): "a type shows itself in words",
}
"""Upward imports that a method may do when it is called, and why."""


def modules() -> list[Path]:
    """Every module of the package, by its place in the tree without the links."""
    engine = [p for p in (ROOT / "graphrewrite").rglob("*.py") if not set(p.relative_to(ROOT).parts[1:2]) & set(OUTER)]
    return sorted([*engine, *(p for outer in OUTER for p in (ROOT / outer).rglob("*.py"))])


def dotted(path: Path) -> str:
    """Name of a module below graphrewrite: `op.define`, `hdl.schedule`."""
    parts = path.relative_to(ROOT).with_suffix("").parts
    parts = parts[1:] if parts[0] == "graphrewrite" else parts
    return ".".join(part for part in parts if part != "__init__")


def imports(path: Path) -> Iterator[tuple[str, bool, int]]:
    """Modules of this project that a module imports, whether a function does it, and the line."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    parents = {child: node for node in ast.walk(tree) for child in ast.iter_child_nodes(node)}
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}:{node.lineno}: relative import"
            # `from graphrewrite import op` imports a module, `from graphrewrite import Graph` the package's front.
            names = [
                f"{node.module}.{a.name}" if node.module == "graphrewrite" else str(node.module) for a in node.names
            ]
        else:
            continue
        above, lazy = node, False
        while above in parents:
            above = parents[above]
            lazy |= isinstance(above, ast.FunctionDef | ast.AsyncFunctionDef)
            if isinstance(above, ast.If) and ast.unparse(above.test).endswith("TYPE_CHECKING"):
                break
        else:
            yield from ((name.removeprefix("graphrewrite."), lazy, node.lineno) for name in names if is_ours(name))


def is_ours(name: str) -> bool:
    """True of names in the package."""
    return name.split(".", maxsplit=1)[0] == "graphrewrite"


def layer(name: str) -> int:
    """Index of the layer of an engine's module."""
    return next(i for i, layer in enumerate(CORE) if name in layer)


def refusal(source: str, target: str, lazy: bool) -> str | None:
    """Why the module `source` may not import `target`, or None."""
    here, there = source.split(".", maxsplit=1)[0], target.split(".", maxsplit=1)[0]
    if here in ENTRY | {"", there}:
        return None
    if there in ENTRY:
        return f"nobody imports {there}"
    if here in OUTER:
        if there in OUTER:
            return None if there in OUTER[here] else f"{here} never imports {there}"
        return None if lazy or there not in LEAVES else f"{there} is a leaf"
    if there in OUTER:
        return f"the engine never imports {there}"
    if there not in set().union(*CORE):
        return "import names from the module that defines them, not from the package's front"
    if layer(there) <= layer(here) or (lazy and (here, there) in LAZY):
        return None
    return f"{there} is in a layer above {here}"


@pytest.mark.parametrize("path", modules(), ids=dotted)
def test_imports_go_down(path: Path) -> None:
    source = dotted(path)
    if source.split(".")[0] not in ENTRY | set(OUTER) | {""}:
        assert source.split(".")[0] in set().union(*CORE), f"enter {source} in a layer, in {Path(__file__).name}"
    for target, lazy, line in imports(path):
        reason = refusal(source, target, lazy)
        assert reason is None, f"{path.relative_to(ROOT)}:{line} imports {target}: {reason}"


@pytest.mark.parametrize(
    ("source", "target", "lazy", "allowed"),
    [
        ("rule", "graph", False, True),
        ("graph", "rule", False, False),
        ("graph", "view", False, False),
        ("display", "view", True, True),
        ("errors", "view", True, False),
        ("hdl.schedule", "types", False, True),
        ("hdl.schedule", "lowering.quantise", True, False),
        ("lowering.to_stream", "hdl.component", False, True),
        ("rules.constants", "hdl", True, False),
        ("lowering.quantise", "rules.constants", False, True),
        ("rules.constants", "lowering", False, False),
        ("evaluate", "hdl", True, False),
        ("cli", "hdl", False, True),
        ("rewrite", "cli", True, False),
    ],
)
def test_the_test_itself(source: str, target: str, lazy: bool, allowed: bool) -> None:
    assert (refusal(source, target, lazy) is None) == allowed
