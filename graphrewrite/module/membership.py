"""Which graphs, constants and placeholders come with a graph that is put into a module."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import networkx as nx
import numpy as np

from graphrewrite.errors import GraphError
from graphrewrite.graph import Graph
from graphrewrite.nested import GraphOp, check_nesting, nested_ops

if TYPE_CHECKING:
    from graphrewrite.module.module import Module

__all__ = ["admit", "inner_first", "rebind"]


def admit(module: Module, name: Any, graph: nx.DiGraph) -> None:
    """Put a graph into a module, and with it the graphs that are nodes of it, and the constants that it shares.

    Parameters
    ----------
    module : Module
        Changed, or as it was if the graph does not fit in.
    name : str
        What the graph is called from now on.
    graph : Graph or networkx.DiGraph
        A plain digraph is made a `Graph`.

    Raises
    ------
    GraphError
        If it is in the module under another name, or uses a graph, constant or placeholder whose name means something
        else in the module.
    """
    if not isinstance(name, str) or not name:
        raise GraphError(f"a graph of a module needs a name, not {name!r}")
    if not isinstance(graph, nx.DiGraph) or graph.is_multigraph():
        raise GraphError(f"{type(graph).__name__} is no graph; a module holds Graph or networkx.DiGraph")
    own = graph if isinstance(graph, Graph) else Graph(graph)
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
    """Let the graph ops of a graph be those of a module that has graphs of their names.

    Parameters
    ----------
    graph : Graph
        Changed.
    module : Module
        Where its graph ops look their graphs up.
    of : Module, optional
        Whose graph ops they are now; all of them where not given.
    """
    for name, op in graph.ops.items():
        if isinstance(op, GraphOp) and name in module and (of is None or op.library is of):
            graph.ops[name] = module.op(name)


def inner_first(module: Module) -> list[str]:
    """Return the names of a module's graphs, those that are nodes of another one before it.

    Parameters
    ----------
    module : Module
        Any module.

    Returns
    -------
    list of str

    Raises
    ------
    GraphError
        If a graph contains itself.
    """
    done: dict[str, None] = {}
    for root in module:
        check_nesting(module[root])
        work = [root]
        while work:
            inner = [op.name for op in nested_ops(module[work[-1]]) if op.name in module and op.name not in done]
            if inner:
                work += inner
            else:
                done[work.pop()] = None
    return list(done)


def _graphs_with(module: Module, name: str, graph: Graph) -> dict[str, Graph]:
    """Return a graph and those that it brings along, by name."""
    found = {name: graph}
    work = [name]
    for key in work:  # grows as it goes
        for other, known in module._graphs.items():
            if known is found[key] and other != key:
                raise GraphError(f"the graph {other!r} of the module {module.name!r} cannot be {key!r} too; copy it")
        for op in _named_ops(found[key]):
            if op.library is module:
                continue
            here = found.get(op.name) or module._graphs.get(op.name)
            if here is not None:
                if here is not op.body and here != op.body:
                    raise GraphError(
                        f"the graph {key!r} has nodes of another graph {op.name!r} than that of the module "
                        f"{module.name!r}; rename one of them"
                    )
            elif not isinstance(op.library, dict):
                raise GraphError(
                    f"the graph {key!r} has nodes of {op.name!r}, a graph of {op.library!r}; put a copy of that into "
                    f"the module {module.name!r} first"
                )
            else:
                found[op.name] = op.body
                work.append(op.name)
    return found


def _named_ops(graph: Graph) -> list[GraphOp]:
    """Return the graph ops that a graph's nodes are of, or name as their implementation, by name."""
    named = {data.get("implementation") for data in graph._node.values()}
    named.update(op.name for op in nested_ops(graph))
    return sorted(
        (op for op in graph.ops.values() if isinstance(op, GraphOp) and op.name in named), key=lambda op: op.name
    )


def _shared_with(module: Module, graphs: Any) -> tuple[dict[str, np.ndarray], dict[str, Any]]:
    """Return the constants and the types that graphs share by name and the module does not have yet."""
    from graphrewrite.module.sharing import frozen  # it is made of what stands here

    arrays: dict[str, np.ndarray] = {}
    types: dict[str, Any] = {}
    for graph in graphs:
        for node, data in graph.nodes(data=True):
            name = data.get("shared")
            if name is None:
                continue
            if data.get("type") not in ("constant", "input"):
                raise GraphError(f"is {data.get('type')}, and cannot share {name!r}; drop its mark", node=node)
            kind, known = graph.result_type(node), types.get(name, module._types.get(name))
            array = arrays.get(name, module._constants.get(name))
            is_constant = data["type"] == "constant"
            if known is None:
                types[name] = kind
                if is_constant:
                    arrays[name], types[name] = frozen(name, data.get("value"), kind)
            elif known != kind or is_constant != (array is not None) or not _same(array, data.get("value")):
                raise GraphError(
                    f"is another {data['type']} than {name!r} of the module {module.name!r}; drop its mark",
                    node=node,
                )
    return arrays, types


def _same(known: np.ndarray | None, given: Any) -> bool:
    """Whether two arrays are equal bit for bit."""
    if known is None or known is given:
        return True
    array = np.asarray(given)
    return array.dtype == known.dtype and array.shape == known.shape and array.tobytes() == known.tobytes()
