"""Models as coloured trees, for a terminal: a line for each node, graphs that are nodes below them."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

import networkx as nx
from rich.text import Text
from rich.tree import Tree

from graphrewrite import Graph, Module
from graphrewrite.hierarchy.graph_ops import GraphOp
from graphrewrite.view.colour import look_of
from graphrewrite.view.plain import plain
from graphrewrite.view.scene.box import box_of, feeds_of, is_tucked, op_of
from graphrewrite.view.scene.graph import drawn_nodes

__all__ = ["tree_of"]

_FAMILIES = {
    "weights": "blue",
    "arithmetic": "yellow",
    "activation": "green",
    "pooling": "magenta",
    "shapes": "bright_black",
    "reduction": "red",
}
_PORTS = "bold cyan"
_DEEPEST = 8
_LETTERS = 60
"""Of a name or a note."""


def tree_of(model: Graph | Module, nodes: Collection[Any] | None = None) -> Tree:
    r"""Return a model as a tree: its graphs, their nodes with operands first, and below a node the graph that it is.

    Examples
    --------
    >>> tree = tree_of(Graph.parse("graph g\nx = input() : f32[N]\nr = relu(x)\ny = output(r)"))
    >>> [child.label.plain for child in tree.children]
    ['x = input() : f32[N]', 'r = relu(x) : f32[N]', 'y = output(r)']
    """
    if isinstance(model, Module):
        root = Tree(Text(f"module {plain(model.name, _LETTERS)}: {len(model)} graphs", style="bold"))
        for name, graph in model.items():
            _fill(root.add(_title(name, graph)), graph, drawn_nodes(graph), 0)
        return root
    root = Tree(_title(model.name, model))
    drawn = drawn_nodes(model)
    _fill(root, model, drawn if nodes is None else [node for node in drawn if node in nodes], 0)
    return root


def _title(name: str, graph: nx.DiGraph) -> Text:
    count = f": {len(graph)} node{'' if len(graph) == 1 else 's'}"
    return Text(f"graph {plain(name, _LETTERS)}", style="bold").append(count, style="dim not bold")


def _fill(branch: Tree, graph: nx.DiGraph, nodes: list[Any], depth: int) -> None:
    for node in nodes:
        inside = branch.add(_line(graph, node))
        op = op_of(graph, node)
        if isinstance(op, GraphOp) and depth < _DEEPEST:
            _fill(inside, op.body, drawn_nodes(op.body), depth + 1)
        held = {key: value for key, value in graph.nodes[node].items() if isinstance(value, Graph)}
        for key, body in held.items() if depth < _DEEPEST else ():
            part = inside.add(Text(f"{key}: ", style="dim").append(_title(body.name, body)))
            _fill(part, body, drawn_nodes(body), depth + 1)


def _line(graph: nx.DiGraph, node: Any) -> Text:
    data, feeds = graph.nodes[node], feeds_of(graph, node)
    tucked = [source for _, source, _ in feeds if is_tucked(graph, source)]
    box = box_of(graph, node, feeds, tucked)
    look = look_of(box.kind, op_of(graph, node), data.get("result"))
    style = _PORTS if box.kind in ("input", "output") else f"bold {_FAMILIES.get(look.family, 'default')}"
    line = Text(plain(node, _LETTERS)).append(" = ", style="dim")
    line.append(plain(box.kind, _LETTERS) or "node", style=style)
    sources = [plain(f"{s}:{result}" if result else s, _LETTERS) for _, s, result in feeds if s not in tucked]
    line.append(f"({', '.join([*sources, *(plain(note, _LETTERS) for note in box.notes)])})")
    result = data.get("result")
    if result is not None:
        types = result if isinstance(result, tuple) else (result,)
        line.append(" : ", style="dim").append(", ".join(map(str, types)), style="cyan")
    if look.level not in ("", "nn"):
        line.append(f"  {look.level}", style="dim italic")
    return line
