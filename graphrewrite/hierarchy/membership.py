"""Insertion of a graph into a module, with the graphs, constants and placeholders that it uses."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import networkx as nx
import numpy as np

from graphrewrite.errors import GraphError
from graphrewrite.graph import Graph
from graphrewrite.hierarchy.graph_ops import GraphOp, check_nesting, nested_ops
from graphrewrite.hierarchy.shared import frozen

if TYPE_CHECKING:
    from graphrewrite.hierarchy.module import Module

__all__ = ["admit", "inner_first", "rebind"]


def admit(module: Module, name: Any, graph: nx.DiGraph) -> None:
    """Put a graph into a module, with the graphs that are nodes of it and the constants that it shares.

    The module is unchanged if the graph is in it under another name, or if a name of a graph, constant or placeholder
    means something else there.
    """
    if not isinstance(name, str) or not name:
        raise GraphError(f"names of graphs in a module are non-empty strings, got {name!r}")
    if not isinstance(graph, nx.DiGraph) or graph.is_multigraph():
        raise GraphError(f"a module contains Graph or networkx.DiGraph, got {type(graph).__name__}")
    own = graph if isinstance(graph, Graph) else Graph(graph)
    # Everything is checked before the module changes.
    graphs = _graphs_with(module, name, own)
    arrays, types = _shared_with(module, graphs.values())
    for key, each in graphs.items():
        each.name = key
        module._graphs[key] = each
    module._constants.update(arrays)
    module._types.update(types)
    for each in graphs.values():
        rebind(each, module)
        for data in each._node.values():
            if data.get("type") == "constant" and (shared := data.get("shared")) is not None:
                data["value"] = module._constants[shared]


def rebind(graph: Graph, module: Module, *, of: Module | None = None) -> None:
    """Let a graph find implementations in a module, and graph ops (all, or those of the module `of`) their graphs."""
    graph.library = module
    for name, op in graph.ops.items():
        if isinstance(op, GraphOp) and name in module and (of is None or op.library is of):
            graph.ops[name] = module.op(name)


def inner_first(module: Module) -> list[str]:
    """Return the names of a module's graphs, nested ones first."""
    done: dict[str, None] = {}
    for root in module:
        check_nesting(module[root])
        work = [root]
        while work:
            # Depth-first: a graph is done when all graphs in it are.
            inner = [op.name for op in nested_ops(module[work[-1]]) if op.name in module and op.name not in done]
            if inner:
                work += inner
            else:
                done[work.pop()] = None
    return list(done)


def _graphs_with(module: Module, name: str, graph: Graph) -> dict[str, Graph]:
    """Return a graph and the graphs that it refers to, by name."""
    graphs = {name: graph}
    work = [name]
    for key in work:  # grows during iteration: graphs of graphs
        for other, known in module._graphs.items():
            if known is graphs[key] and other != key:
                raise GraphError(
                    f"the graph {other!r} of the module {module.name!r} cannot have the second name {key!r}; copy it"
                )
        for op in _named_ops(graphs[key]):
            if op.library is module:
                continue
            here = graphs.get(op.name) or module._graphs.get(op.name)
            if here is not None:
                if here is not op.body and here != op.body:
                    raise GraphError(
                        f"the graph {key!r} has nodes of a graph {op.name!r} that differs from the graph of that name "
                        f"in the module {module.name!r}; rename one of them"
                    )
            elif not isinstance(op.library, dict):
                raise GraphError(
                    f"the graph {key!r} has nodes of {op.name!r}, a graph of {op.library!r}; add a copy of that to "
                    f"the module {module.name!r} first"
                )
            else:
                graphs[op.name] = op.body
                work.append(op.name)
    return graphs


def _named_ops(graph: Graph) -> list[GraphOp]:
    """Return the graph ops that a graph's nodes use, as their type or as their implementation, sorted by name."""
    named = {data.get("implementation") for data in graph._node.values()}
    named.update(op.name for op in nested_ops(graph))
    return sorted(
        (op for op in graph.ops.values() if isinstance(op, GraphOp) and op.name in named), key=lambda op: op.name
    )


def _shared_with(module: Module, graphs: Any) -> tuple[dict[str, np.ndarray], dict[str, Any]]:
    """Return the shared constants and types of graphs that the module does not have yet."""
    # Collected beside the module, which stays as it is if any graph is refused.
    arrays: dict[str, np.ndarray] = {}
    types: dict[str, Any] = {}
    for graph in graphs:
        for node, data in graph.nodes(data=True):
            name = data.get("shared")
            if name is None:
                continue
            if data.get("type") not in ("constant", "input"):
                raise GraphError(
                    f"is of type {data.get('type')!r} and cannot share {name!r}; remove the annotation 'shared'",
                    node=node,
                )
            kind, known = graph.result_type(node), types.get(name, module._types.get(name))
            array = arrays.get(name, module._constants.get(name))
            is_constant = data["type"] == "constant"
            if known is None:
                types[name] = kind
                if is_constant:
                    arrays[name], types[name] = frozen(name, data.get("value"), kind)
            elif known != kind or is_constant != (array is not None) or not _same(array, data.get("value")):
                other = f"the {data['type']} {name!r} of the module {module.name!r}"
                raise GraphError(f"differs from {other}; remove the annotation 'shared'", node=node)
    return arrays, types


def _same(shared: np.ndarray | None, other: Any) -> bool:
    """Tell whether two arrays are equal bit for bit."""
    if shared is None or shared is other:
        return True
    array = np.asarray(other)
    return array.dtype == shared.dtype and array.shape == shared.shape and array.tobytes() == shared.tobytes()
