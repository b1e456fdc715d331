"""Connect two graphs to one."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from graphrewrite.dataflow import Operand
from graphrewrite.errors import GraphError, TypeMismatchError, did_you_mean
from graphrewrite.given import as_graph
from graphrewrite.graph import Graph
from graphrewrite.graph_view.border import operands_of
from graphrewrite.infer import infer
from graphrewrite.nested.sizes import with_sizes
from graphrewrite.types import Dimension, Type

__all__ = ["compose"]

Wires = Mapping[str, str | Iterable[str]]


def compose(first: Graph, second: Graph, wires: Wires | None = None, *, name: str | None = None) -> Graph:
    r"""Connect outputs of a graph to inputs of another one.

    Inputs and outputs that are left open are those of the result, the first graph's before the second's. Names of the
    first graph stay; a name of the second that is taken becomes a fresh one. Symbolic sizes of the second graph become
    what they are connected with.

    Parameters
    ----------
    first, second : Graph
        Both stay as they are; the second may be the first.
    wires : mapping of str to str or list of str, optional
        Outputs of the first graph to inputs of the second; one after the other where not given.
    name : str, optional
        Of the result; that of the first graph where not given.

    Returns
    -------
    Graph

    Raises
    ------
    GraphError
        If there is no such output or input, an input is connected twice, or the graphs know different ops of one name.
    TypeMismatchError
        If types do not fit; names both ends.

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
    joined = _checked(first, second, wires)
    sizes = _bound(first, second, joined)
    made = first.copy()
    made.graph["name"] = first.name if name is None else name
    for op in second.ops.values():
        made.adopt(op)
    given = {target: made.operands(output)[0] for target, output in joined.items()}
    made.remove_nodes_from(set(joined.values()))
    stems = {node: str(data.get("type", node)) for node, data in second.nodes(data=True)}
    names: dict[str, str] = {}
    for node in second.in_order():
        if node in joined:
            continue
        is_port = stems[node] in ("input", "output")
        names[node] = node if node not in made else made.fresh(node if is_port else stems[node])
        made.add_node(names[node], **_adapted(second.nodes[node], sizes))
    for node, called in names.items():
        for slot, (source, result) in enumerate(operands_of(second, node)):
            there = given.get(source) or Operand(names[source], result)
            made._connect(there.node, called, slot, there.result)
        for source, kind in second.controls(node):
            there = given.get(source) or Operand(names[source])
            made.add_control(there.node, called, kind)
    for kind in ("input", "output"):
        ports = [n for n in getattr(first, f"{kind}s") if n not in joined.values()]
        ports += [names[n] for n in getattr(second, f"{kind}s") if n in names]
        for index, port in enumerate(ports):
            made.nodes[port]["index"] = index
    _take_views(made, second, names, given)
    if sizes:
        infer(made, [n for n in names.values() if made.nodes[n]["type"] not in ("input", "output", "constant")])
    return made


def _checked(first: Graph, second: Graph, wires: Any) -> dict[str, str]:
    """Return for each connected input of the second graph the output of the first."""
    if wires is None:
        if len(first.outputs) != len(second.inputs):
            raise GraphError(
                f"graph {first.name!r} has {len(first.outputs)} outputs, and graph {second.name!r} has "
                f'{len(second.inputs)} inputs; say what is connected: {{"output": "input"}}'
            )
        return dict(zip(second.inputs, first.outputs, strict=True))
    joined: dict[str, str] = {}
    if not isinstance(wires, Mapping):
        raise GraphError(f'what is connected is given as {{"output": "input"}}, not as {wires!r}')
    for output, inputs in wires.items():
        if output not in first.outputs:
            raise GraphError(f"graph {first.name!r} has no output {output!r}{did_you_mean(str(output), first.outputs)}")
        for target in inputs if isinstance(inputs, Iterable) and not isinstance(inputs, str) else (inputs,):
            if target not in second.inputs:
                hint = did_you_mean(str(target), second.inputs)
                raise GraphError(f"graph {second.name!r} has no input {target!r}{hint}")
            if target in joined:
                raise GraphError(f"the input {target!r} of graph {second.name!r} is connected twice")
            joined[target] = output
    return joined


def _bound(first: Graph, second: Graph, joined: Mapping[str, str]) -> dict[str, Dimension]:
    """Return what the symbolic sizes of the second graph become."""
    sizes: dict[str, Dimension] = {}
    for target, output in joined.items():
        (source,) = first.operands(output)
        given, wanted = first.result_type(*source), second.result_type(target)
        fits = type(given) is type(wanted) and given.element == wanted.element and len(given.shape) == len(wanted.shape)
        layouts = {layout for t in (given, wanted) if (layout := getattr(t, "layout", None)) is not None}
        if fits and len(layouts) < 2:
            for size, there in zip(wanted.shape, given.shape, strict=True):
                bound = sizes.setdefault(size, there) if isinstance(size, str) else size
                fits = fits and bound == there
        if not fits or len(layouts) > 1:
            raise TypeMismatchError(
                f"the output {output!r} of graph {first.name!r} gives {given}, and the input {target!r} of graph "
                f"{second.name!r} takes {wanted}{_known(wanted, sizes)}; put an op between them that converts it"
            )
    return {size: bound for size, bound in sizes.items() if size != bound}


def _known(wanted: Type, sizes: Mapping[str, Dimension]) -> str:
    known = [f"{s} is {sizes[s]}" for s in dict.fromkeys(wanted.shape) if isinstance(s, str) and sizes.get(s, s) != s]
    return f", where {' and '.join(known)}" if known else ""


def _adapted(data: Mapping[str, Any], sizes: Mapping[str, Dimension]) -> dict[str, Any]:
    """Return the data of a node with symbolic sizes replaced, in its types and where it states a shape."""
    found = dict(data)
    if not sizes:
        return found
    result = found.get("result")
    if isinstance(result, tuple):
        found["result"] = tuple(with_sizes(t, sizes) for t in result)
    elif result is not None:
        found["result"] = with_sizes(result, sizes)
    if isinstance(found.get("shape"), tuple):
        found["shape"] = tuple(sizes.get(d, d) if isinstance(d, str) else d for d in found["shape"])
    return found


def _take_views(made: Graph, second: Graph, names: Mapping[str, str], given: Mapping[str, Operand]) -> None:
    """Take over the views of the second graph, under fresh names where there are views of that name."""
    views = dict(made.graph.get("views", {}))
    for view in second.views:
        stored = second.view(view).data
        sides = {
            side: tuple(tuple(given.get(n) or (names[n], r)) for n, r in stored[side]) for side in ("inputs", "outputs")
        }
        count, free = 1, view
        while free in views:
            count += 1
            free = f"{view}_{count}"
        views[free] = {"nodes": tuple(names[n] for n in stored["nodes"] if n in names), **sides}
    if views:
        made.graph["views"] = views
