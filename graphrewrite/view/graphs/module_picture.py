"""A module as a picture: its graphs side by side, and a table of what they share."""

from __future__ import annotations

from typing import Any

from graphrewrite.formats.text import format_attribute
from graphrewrite.hierarchy.graph_ops import nested_once
from graphrewrite.hierarchy.module import Module
from graphrewrite.summary import summary
from graphrewrite.view.graphs.summary_table import summary_tables
from graphrewrite.view.picture import Picture
from graphrewrite.view.plain import plain
from graphrewrite.view.scene import scene_of
from graphrewrite.view.table import Table

__all__ = ["module_picture"]


def module_picture(module: Module, *, direction: str = "TB", max_nodes: int = 200) -> Picture:
    """Return a picture of a module.

    Examples
    --------
    >>> from graphrewrite import Tensor
    >>> module = Module("net")
    >>> w = module.constant("w", [1.0, 2.0])
    >>> main = module.add_graph("main")
    >>> _ = main.output("y", main.input("x", Tensor("f64", (2,))) * w.on(main))
    >>> picture = module_picture(module)
    >>> picture.scenes[0].box("mul_1").notes, picture.data.tables[0].rows
    (('y: shared w, [1.0, 2.0]',), (('w', 'constant', 'f64[2]', '[1.0, 2.0]', 'main'),))
    """
    tables = (_shared(module),) if module.constants or module.placeholders else ()
    with nested_once():
        scenes = tuple(scene_of(graph, title=name) for name, graph in module.items())
    count = sum(len(scene.boxes) for scene in scenes)
    if count > max_nodes:
        table = summary(module)
        names = ", ".join(plain(repr(name), 40) for name in list(module)[:5])
        hint = f"{count:,} nodes are more than max_nodes={max_nodes}; show one graph of the module: "
        hint += f"show(module[{plain(repr(next(iter(module))), 40)}]); it has {names}{', …' * (len(module) > 5)}"
        summaries = tuple(map(summary_tables, table.graphs))
        return Picture((), str(table), summaries=summaries, tables=tables, hints=(hint,))
    drawn = tuple(scene for scene in scenes if scene.boxes)
    return Picture(drawn, str(module), direction=direction, tables=tables)


def _shared(module: Module) -> Table:
    rows = []
    for name, array in module.constants.items():
        value = format_attribute(array) if array.size <= 4 else ""
        rows.append((name, "constant", str(module.type_of(name)), value, _users(module, name)))
    for name, kind in module.placeholders.items():
        rows.append((name, "placeholder", str(kind), "", _users(module, name)))
    columns = ("shared", "is a", "type", "value", "used in")
    return Table(columns, tuple(tuple(plain(cell, 80) for cell in row) for row in rows))


def _users(module: Module, name: str) -> str:
    def uses(graph: Any) -> bool:
        return any(data.get("shared") == name for _, data in graph.nodes(data=True))

    return ", ".join(each for each, graph in module.items() if uses(graph)) or "nowhere"
