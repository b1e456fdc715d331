"""Partition of an integer network into the hardware's part and the host's parts before and after it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

import numpy as np

from graphrewrite import Graph, evaluate
from graphrewrite.graph import Value
from graphrewrite.graph.rewiring import inherit
from graphrewrite.graph.type_inference import infer
from graphrewrite.lowering.errors import LoweringError
from graphrewrite.lowering.predicates import without_predicates
from graphrewrite.op.axes import canonical
from graphrewrite.rules import eliminate_dead_nodes
from graphrewrite.types import Tensor

__all__ = ["Partition", "forget_names_of_axes", "partition"]


@dataclass(frozen=True)
class Partition:
    """An integer network in three parts; evaluated one after the other they are the whole.

    Attributes
    ----------
    before : Graph
        From the model's inputs to mantissas.
    core : Graph
        Mantissas to mantissas: what becomes hardware.
    after : Graph
        From mantissas to the model's outputs.
    outputs : tuple of str
        Names of the model's outputs.
    """

    before: Graph
    core: Graph
    after: Graph
    outputs: tuple[str, ...]

    def encode(self, inputs: Mapping[str, Any]) -> dict[str, np.ndarray]:
        """Return the mantissas that the hardware takes for inputs of the model.

        Parameters
        ----------
        inputs : mapping of str to array-like
            The model's inputs, batch first.

        Returns
        -------
        dict of str to ndarray
            By input of the core.
        """
        values = evaluate(self.before, inputs, implementations=None)
        return {name: values[output] for name, output in zip(self.core.inputs, self.before.outputs, strict=True)}

    def decode(self, outputs: Mapping[str, Any]) -> dict[str, np.ndarray]:
        """Return the model's outputs for the mantissas that the hardware gives.

        Parameters
        ----------
        outputs : mapping of str to array-like
            By output of the core, batch first.

        Returns
        -------
        dict of str to ndarray
            By output of the model.
        """
        read = dict(zip(self.after.inputs, self.core.outputs, strict=True))
        if missing := [source for source in read.values() if source not in outputs]:
            raise LoweringError(
                f"outputs of the hardware are missing: {', '.join(missing)}; give an array for each output of the core"
            )
        values = evaluate(self.after, {name: outputs[source] for name, source in read.items()}, implementations=None)
        return {name: values[output] for name, output in zip(self.outputs, self.after.outputs, strict=True)}


def partition(graph: Graph) -> Partition:
    """Cut an integer network at its ``to_fixed`` and ``from_fixed`` nodes, without predicates and what only they need.

    Parameters
    ----------
    graph : Graph
        What `to_integer` gives.

    Returns
    -------
    Partition
        Inputs of the core have the names of the model's inputs, its outputs those of the model's outputs, with a number
        where one of them has several.

    Raises
    ------
    LoweringError
        If there is nothing between the two, or a node there has an effect, or one after it an effect that comes before
        one of those that the host has first.

    Examples
    --------
    >>> g = Graph.parse('''graph g
    ... x = input() : f32[N,2]
    ... f = to_fixed(x, element=s8f4)
    ... r = relu(f)
    ... z = from_fixed(r, fraction=4)
    ... y = output(z)''')
    >>> print(partition(g).core)
    graph g
    x = input() : s8f4[N,2]
    r = relu(x) : s8f4[N,2]
    y = output(r)
    """
    whole, graph = graph, without_predicates(graph)
    entries = [n for n in graph.in_order() if graph.nodes[n]["type"] == "to_fixed"]
    # Of several readings of one value the first stands for all, which is the last of the reversed order.
    ends = {graph.operands(n)[0]: n for n in reversed(graph.in_order()) if graph.nodes[n]["type"] == "from_fixed"}
    exits = [n for n in graph.in_order() if n in ends.values()]  # one for each value that leaves
    if not entries or not exits:
        raise LoweringError("there is no integer part between to_fixed and from_fixed; call to_integer(graph) first")
    ins = _names(graph, entries, [[n for n in graph.inputs if n in graph.upstream(e)] for e in entries])
    outs = _names(graph, exits, [[n for n in graph.outputs if n in graph.downstream(e)] for e in exits])
    fixed = {e: graph.operands(e)[0] for e in exits}
    first, last = _effects(graph, entries, exits)
    before = _part(graph, (), {n: (n, 0) for n in entries}, ins, also=first)
    for name in whole.inputs:  # the host takes those of predicates, and ignores them
        if name not in graph:
            before.input(name, whole.result_type(name))
    core = _part(graph, entries, {e: fixed[e] for e in exits}, outs, ins)
    cut = {fixed[e].node: outs[e] for e in exits}
    ends_after = {output: graph.operands(output)[0] for output in graph.outputs}
    after = _part(graph, list(cut), ends_after, {output: output for output in graph.outputs}, cut, last)
    return Partition(before, core, after, graph.outputs)


def _effects(graph: Graph, entries: Iterable[str], exits: Iterable[str]) -> tuple[list[str], list[str]]:
    """Return the nodes with effects before and after the hardware; raise for those in it, or in another order."""
    entered, left = (_reached(graph, nodes) for nodes in (entries, exits))
    first, last = list[str](), list[str]()
    for node in graph.effects:
        if node in entered - left:
            raise LoweringError(
                f"has an effect ({graph.nodes[node]['type']}), which hardware cannot have; let it read an input or "
                "output of the network, or remove it",
                node=node,
            )
        if node not in left and last:
            raise LoweringError(
                f"has an effect, which comes after that of {last[-1]!r}, and the host has this one before the hardware "
                "runs; change their order",
                node=node,
            )
        (last if node in left else first).append(node)
    return first, last


def _reached(graph: Graph, nodes: Iterable[str]) -> set[str]:
    """Return nodes, and all that read their values."""
    reached, work = set[str](), list(nodes)
    while work:
        if (node := work.pop()) not in reached:
            reached.add(node)
            work += [reader for reader, edge in graph.succ[node].items() if edge.get("slots")]
    return reached


def _names(graph: Graph, nodes: list[str], ports: list[list[str]]) -> dict[str, str]:
    names: dict[str, str] = {}
    for node, connected in zip(nodes, ports, strict=True):
        stem = connected[0] if connected else node
        count, name = 1, stem
        while name in names.values():
            count += 1
            name = f"{stem}_{count}"
        names[node] = name
    return names


def _part(
    graph: Graph,
    cut: Sequence[str],
    ends: Mapping[str, tuple[str, int]],
    names: dict[str, str],
    starts: Mapping[str, str] = MappingProxyType({}),
    also: Iterable[str] = (),
) -> Graph:
    """Copy the part between cut nodes, which become inputs, and ends, which become outputs; both keep their order.

    What else belongs to it, such as effects, nobody need read.
    """
    part = Graph(graph.name, ops=graph.ops.values())
    part.graph.update(graph.graph)
    values: dict[str, Value | tuple[Value, ...]] = {}
    # From the ends upwards, as far as the cut: all else belongs to another part.
    needed = {node for node, _ in ends.values()} | {*also}
    order = graph.in_order()
    for node in reversed(order):
        if node in needed and node not in cut:
            needed.update(o.node for o in graph.operands(node))
    values.update({n: part.input(starts[n], graph.result_type(n)) for n in cut})
    for name in starts.values():
        if name in graph:
            inherit(part, name, name, of=graph)
    # The parts' ports have the names of the model's; nodes leave these free.
    reserved = set(names.values()) | set(starts.values())
    for node in order:
        data = graph.nodes[node]
        if node in values or node not in needed or data["type"] == "output":
            continue
        if data["type"] == "input":
            values[node] = part.input(node, graph.result_type(node))
        elif data["type"] == "constant":
            name, kind = _free(part, node, reserved), graph.result_type(node)
            values[node] = part.constant(data["value"], name=name, type=kind, origin=data.get("origin", ()))
        else:
            operands = [_pick(values[o.node], o.result) for o in graph.operands(node)]
            attributes = {k: v for k, v in data.items() if k in graph.op(node).attributes}
            name = _free(part, node, reserved)
            values[node] = part.add(graph.op(node), operands, attributes, name=name, origin=data.get("origin", ()))
        inherit(part, _pick(values[node], 0).node, node, of=graph)
    for end, (node, result) in ends.items():
        name = names[end] if names[end] not in part else part.fresh(names[end])
        part.output(name, _pick(values[node], result))
        if names[end] in graph:
            inherit(part, name, names[end], of=graph)
    return eliminate_dead_nodes(part)


def _free(part: Graph, name: str, reserved: set[str]) -> str:
    return name if name not in reserved and name not in part else part.fresh(_stem(name))


def _stem(name: str) -> str:
    """Return a name without a trailing number."""
    stem, _, number = name.rpartition("_")
    return stem if number.isdigit() and stem else name


def _pick(value: Value | tuple[Value, ...], result: int) -> Value:
    return value[result] if isinstance(value, tuple) else value


def forget_names_of_axes(core: Graph) -> None:
    r"""Remove the layouts of a core, in place: the axes of a stream have a fixed order, channels first.

    Examples
    --------
    >>> g = Graph.parse("graph g\nx = input() : s8f4[N,3] NC\nr = relu(x)\ny = output(r)")
    >>> forget_names_of_axes(g)
    >>> print(g.result_type("r"))
    s8f4[N,3]
    """
    kinds = {name: core.result_type(name) for name in core.inputs}
    named = {n: (kind, kind.layout) for n, kind in kinds.items() if isinstance(kind, Tensor) and kind.layout}
    for name, (kind, layout) in named.items():
        order = canonical("[NC*]", layout)
        if order != layout:
            raise LoweringError(
                f"its axes are {layout}, and a stream needs {order}; transpose the input of the model", node=name
            )
        core.nodes[name]["result"] = Tensor(kind.element, kind.shape)
    if named:
        infer(core)
