"""Names of nodes by modules of PyTorch, and the lines of the user's code that they come from."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any

from graphrewrite import Graph
from graphrewrite.graph import Value
from graphrewrite.lowering.exchange.torch.program import op_name

__all__ = ["Names", "output_names"]

_FRAME = re.compile(r'File "(?P<file>[^"]+)", line (?P<line>\d+), in (?P<function>[^\n]+)')
_LEAVES = re.compile(r"torch\.nn\.modules\.(?!container\.)")
_LIBRARY = re.compile(r"[/\\]torch[/\\](nn|utils|_\w+|fx|export|functional)\b")


class Names:
    """Names that nodes get when the import is done, and the record of where they come from.

    A module of `torch.nn` gives its path to its result, ``layers.0.attention.q_proj``; other ops have their own name
    after that of the module whose code calls them, ``layers.0.add``.
    """

    def __init__(self, graph: Graph, nodes: Iterable[Any]) -> None:
        self.graph = graph
        calls = [node for node in nodes if node.op == "call_function" and op_name(node.target) != "getitem"]
        self.last = {path: node.name for node in calls for path, is_leaf in [_module(node)] if is_leaf}
        self.wishes: dict[str, str] = {}
        self.records: dict[str, dict[str, Any]] = {}
        self.interface: dict[str, str] = {}
        self.labels: dict[str, str] = {}
        self.taken: set[str] = set()

    def own(self, name: str) -> str:
        """Return a free name for an input or output, which callers know."""
        free = name
        number = 0
        while free in self.graph or free in self.interface.values():
            number += 1
            free = f"{name}_{number}"
        self.interface[name] = free
        return free

    def kept(self, name: str) -> str:
        """Return the name that an input got."""
        return self.interface[name]

    def label(self, node: Any) -> str:
        """Return what a call is called."""
        if node.name in self.labels:
            return self.labels[node.name]
        path, is_leaf = _module(node)
        kind = op_name(node.target).removeprefix("aten.").strip("_")
        label = path if is_leaf and self.last[path] == node.name else ".".join(filter(None, (path, kind)))
        base, number = label, 0
        while label in self.taken:
            number += 1
            label = f"{base}_{number}"
        self.taken.add(label)
        self.labels[node.name] = label
        return label

    def wish(self, node: str, name: str) -> None:
        """Say how a node is to be called."""
        self.wishes[node] = name

    def note(self, node: Any, label: str, before: int, results: Any) -> None:
        """Give the new nodes of a call their origin and their names."""
        new = list(self.graph)[before:] if len(self.graph) > before else []
        if not new:
            return
        last = results if isinstance(results, Value) else next((each for each in results if each is not None), None)
        for each in new:
            if own := self.graph.nodes[each].get("origin"):  # another view of a weight
                self.wishes[each] = own[0]
                continue
            self.graph.nodes[each]["origin"] = (label,)
            kind = self.graph.nodes[each]["type"]
            self.wishes[each] = label if last is not None and each == last.node else f"{label}.{kind}"
        self.records[label] = {"metadata": _metadata(node)}

    def applied(self) -> Graph:
        """Return the graph with the names and the records."""
        fixed = {*self.graph.inputs, *self.graph.outputs}
        taken, names = set(fixed), {}
        for node in self.graph:
            if node in fixed:
                continue
            base = free = self.wishes.get(node, node)
            number = 0
            while free in taken:
                number += 1
                free = f"{base}_{number}"
            taken.add(free)
            names[node] = free
        graph = self.graph.renamed(names)
        kept = {origin for node in graph for origin in graph.origin(node)}
        records = {label: record for label, record in self.records.items() if label in kept}
        if records:
            graph.graph["origin"] = {"nodes": dict(sorted(records.items()))}
        return graph


def _module(node: Any) -> tuple[str, bool]:
    """Return the path of the module whose code makes a call, and whether that is a layer of `torch.nn`."""
    stack = list(node.meta.get("nn_module_stack", {}).values())
    path, module = stack[-1] if stack else ("", "")
    path = re.sub(r"^L__self__*\.?|^L\['self'\]\.?|^_empty_nn_module_stack.*", "", str(path))
    return path, bool(path and _LEAVES.match(_class_name(module)))


def _class_name(module: Any) -> str:
    return module if isinstance(module, str) else f"{module.__module__}.{module.__qualname__}"


def _metadata(node: Any) -> dict[str, str]:
    """Return op, modules and line of a call, as texts."""
    found = {"op": str(node.target)}
    stack = node.meta.get("nn_module_stack", {}).values()
    classes = [_class_name(module) for path, module in stack if path]
    if classes:
        found["module"] = classes[-1]
    frames = list(_FRAME.finditer(node.meta.get("stack_trace") or ""))
    # The user's own line is the last one that is not in PyTorch.
    own = [each for each in frames if not _LIBRARY.search(each["file"])] or frames
    if own:
        found["source"] = f"{own[-1]['file']}:{own[-1]['line']} in {own[-1]['function'].strip()}"
    return found


def output_names(program: Any, torch: Any) -> list[str]:
    """Return names of what the module returns: keys of dictionaries and fields, or output and output_1."""
    pytree = torch.utils._pytree
    spec = program.call_spec.out_spec
    count = spec.num_leaves
    if spec is None or count == 0:
        return []
    try:
        paths = [path for path, _ in pytree.tree_flatten_with_path(pytree.tree_unflatten(list(range(count)), spec))[0]]
    except Exception:  # containers of others that do not take numbers
        paths = [()] * count
    names = []
    for index, path in enumerate(paths):
        keys = [str(getattr(key, "key", getattr(key, "name", getattr(key, "idx", "")))) for key in path]
        named = bool(keys) and not keys[0].isdigit()
        names.append("_".join(keys) if named else f"output_{index}" if index else "output")
    return names
