"""Composition: connect outputs of one graph to inputs of another."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from graphrewrite.errors import GraphError, TypeMismatchError, did_you_mean
from graphrewrite.graph import Graph
from graphrewrite.graph.arguments import as_graph
from graphrewrite.graph.dataflow import Operand
from graphrewrite.graph.effects import order_effects
from graphrewrite.graph.storage import own
from graphrewrite.graph.type_inference import declared_types, infer
from graphrewrite.graph.unknown_sizes import first_free_number
from graphrewrite.hierarchy.border import free_name, operands_of, view_of_copies
from graphrewrite.hierarchy.bound_sizes import with_data_sizes
from graphrewrite.op import find_op
from graphrewrite.types import Dimension, Type, pairs_of, solved, symbols, with_sizes

__all__ = ["compose"]

Wires = Mapping[str, str | Iterable[str]]


def compose(first: Graph, second: Graph, wires: Wires | None = None, *, name: str | None = None) -> Graph:
    r"""Connect outputs of a graph to inputs of another one.

    Unconnected inputs and outputs are those of the result, the first graph's before the second's. Nodes of the first
    graph keep their names; a name of the second graph that is taken is replaced by a fresh one. Symbolic sizes of the
    second graph are bound by the connected types.

    Parameters
    ----------
    first, second : Graph
        Both are unchanged; they may be the same graph.
    wires : mapping of str to str or list of str, optional
        Outputs of the first graph to inputs of the second; in order if not given.
    name : str, optional
        Name of the result; that of the first graph if not given.

    Raises
    ------
    GraphError
        If an output or input does not exist, an input is connected twice, or the graphs have different ops of one name.
    TypeMismatchError
        If the types of a connection differ.

    Examples
    --------
    >>> a = Graph.parse("graph a\nx = input() : f32[N,2]\nr = relu(x)\ny = output(r)")
    >>> b = Graph.parse("graph b\nx = input() : f32[M,2]\nr = neg(x)\ny = output(r)")
    >>> print(compose(a, b, {"y": "x"}))
    graph a
    x = input() : f32[N,2]
    r = relu(x) : f32[N,2]
    neg_1 = neg(r) : f32[N,2]
    y = output(neg_1)
    """
    first, second = as_graph(first, "that can be connected"), as_graph(second, "that can be connected")
    wired = _checked(first, second, wires)
    sizes = _bound(first, second, wired)
    # The first graph without its connected outputs, then the second without its connected inputs.
    composed = first.copy()
    composed.graph["name"] = first.name if name is None else name
    for op in second.ops.values():
        composed.adopt(op)
    # The values that readers of connected inputs read instead.
    connected = {target: composed.operands(output)[0] for target, output in wired.items()}
    composed.remove_nodes_from(set(wired.values()))
    stems = {node: str(data.get("type", node)) for node, data in second.nodes(data=True)}
    names: dict[str, str] = {}
    for node in second.in_order():
        if node in wired:
            continue
        is_port = stems[node] in ("input", "output")
        names[node] = node if node not in composed else composed.fresh(node if is_port else stems[node])
        data = with_data_sizes(second._node[node], find_op(stems[node], second.ops), sizes)
        composed._new(names[node], own(data))
    for node, name_here in names.items():
        for slot, (source, result) in enumerate(operands_of(second, node)):
            operand = connected.get(source) or Operand(names[source], result)
            composed._connect(operand.node, name_here, slot, operand.result)
        for source, kind in second.controls(node):
            operand = connected.get(source) or Operand(names[source])
            composed.add_control(operand.node, name_here, kind)
        if (predicate := second.predicate(node)) is not None:
            composed.set_predicate(
                name_here, connected.get(predicate.node) or Operand(names[predicate.node], predicate.result)
            )
    order_effects(composed, (*first.effects, *(names[node] for node in second.effects)))
    # Ports are numbered anew, those of the first graph before the others.
    for kind in ("input", "output"):
        ports = [n for n in getattr(first, f"{kind}s") if n not in wired.values()]
        ports += [names[n] for n in getattr(second, f"{kind}s") if n in names]
        for index, port in enumerate(ports):
            composed.nodes[port]["index"] = index
    _take_views(composed, second, names, connected)
    if sizes:
        infer(composed, [n for n in names.values() if composed.nodes[n]["type"] not in ("input", "output", "constant")])
    return composed


def _checked(first: Graph, second: Graph, wires: Any) -> dict[str, str]:
    """Return the output of the first graph for each connected input of the second."""
    if wires is None:
        if len(first.outputs) != len(second.inputs):
            raise GraphError(
                f"graph {first.name!r} has {len(first.outputs)} outputs, and graph {second.name!r} has "
                f'{len(second.inputs)} inputs; state the connections as {{"output": "input"}}'
            )
        return dict(zip(second.inputs, first.outputs, strict=True))
    wired: dict[str, str] = {}
    if not isinstance(wires, Mapping):
        raise GraphError(f'connections are given as {{"output": "input"}}, got {wires!r}')
    for output, inputs in wires.items():
        if output not in first.outputs:
            raise GraphError(f"graph {first.name!r} has no output {output!r}{did_you_mean(str(output), first.outputs)}")
        # An output may feed several inputs.
        for target in inputs if isinstance(inputs, Iterable) and not isinstance(inputs, str) else (inputs,):
            if target not in second.inputs:
                hint = did_you_mean(str(target), second.inputs)
                raise GraphError(f"graph {second.name!r} has no input {target!r}{hint}")
            if target in wired:
                raise GraphError(f"the input {target!r} of graph {second.name!r} is connected twice")
            wired[target] = output
    return wired


def _bound(first: Graph, second: Graph, wired: Mapping[str, str]) -> dict[str, Dimension]:
    """Return the values of the second graph's symbolic sizes; its unknown ones get new numbers."""
    pairs = [
        (first.result_type(*first.operands(output)[0]), second.result_type(target)) for target, output in wired.items()
    ]
    sizes = solved(pairs_of([target for _, target in pairs], [source for source, _ in pairs]))
    for (target, output), (source_type, target_type) in zip(wired.items(), pairs, strict=True):
        wanted = with_sizes(target_type, sizes)
        # Types without a layout fit any; symbolic sizes of the second graph take the values of the first.
        layouts = {layout for t in (source_type, target_type) if (layout := getattr(t, "layout", None)) is not None}
        parts = [(type(t), t.element, t.shape) for t in (source_type, wanted)]
        if parts[0] != parts[1] or len(layouts) > 1:
            raise TypeMismatchError(
                f"the output {output!r} of graph {first.name!r} is {source_type}, and the input {target!r} of graph "
                f"{second.name!r} takes {target_type}{_known(target_type, sizes)}; insert a conversion between them"
            )
    kinds = [kind for node in second._node for kind in declared_types(second, node) or ()]
    unknown = dict.fromkeys(name for kind in kinds for name in kind.unknowns if name not in sizes)
    start = first_free_number(first) if unknown else 0
    sizes.update({name: f"?{number}" for number, name in enumerate(unknown, start=start)})
    return {size: bound for size, bound in sizes.items() if size != bound}


def _known(target_type: Type, sizes: Mapping[str, Dimension]) -> str:
    names = dict.fromkeys(name for size in target_type.shape for name in symbols(size))
    bindings = [f"{name} is {sizes[name]}" for name in names if sizes.get(name, name) != name]
    return f", where {' and '.join(bindings)}" if bindings else ""


def _take_views(composed: Graph, second: Graph, names: Mapping[str, str], connected: Mapping[str, Operand]) -> None:
    """Copy the views of the second graph, under fresh names where a name is taken."""
    views = dict(composed.graph.get("views", {}))
    for view in second.views:
        views[free_name(view, views)] = view_of_copies(second.view(view).data, names, connected)
    if views:
        composed.graph["views"] = views
