"""If, Loop and Scan of ONNX, whose subgraphs become bodies: graphs that are attributes of a node.

A subgraph reads values from around it by name; a body gets them as operands of its node, and constants as its own.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from graphrewrite import Graph, Tensor, op
from graphrewrite.graph import Value
from graphrewrite.lowering.errors import OpenSizesError
from graphrewrite.lowering.exchange.entry import Unfit
from graphrewrite.lowering.exchange.onnx.generic_nodes import free_names_of
from graphrewrite.lowering.exchange.symbols import Symbol
from graphrewrite.op.control_flow import ENDLESS
from graphrewrite.rules.control_flow import goes_on
from graphrewrite.types import Dimension, Size, Type, symbols

if TYPE_CHECKING:
    from graphrewrite.lowering.exchange.onnx.exporter import Exporter
    from graphrewrite.lowering.exchange.onnx.importer import Importer

__all__ = ["add_control_flow", "is_control_flow", "write_control_flow"]

_ATTEMPTS = 16
"""Imports of the body of a loop, until the sizes that iterations change are known."""
_MOST = 1000
"""Nodes of ONNX that a loop may be repeated as."""


def is_control_flow(kind: str) -> bool:
    """Tell whether an ONNX op, by its name and domain, is one that this module imports."""
    return kind in _IMPORTED


def add_control_flow(importer: Importer, node: Any, inputs: Sequence[Value | None], label: str) -> tuple[Value, ...]:
    """Import a node; return its results."""
    attributes = {a.name: importer.onnx.helper.get_attribute_value(a) for a in node.attribute}
    results = _IMPORTED[node.op_type](importer, attributes, list(inputs), label)
    return results if isinstance(results, tuple) else (results,)


class _Captured:
    """Values that subgraphs of a node read from around it, in the order of their nodes' names; and its own inputs."""

    def __init__(self, importer: Importer, subgraphs: Iterable[Any], given: Iterable[Value | None] = ()) -> None:
        self.given = [value for value in given if value is not None]
        names = dict.fromkeys(name for graph in subgraphs for name in free_names_of(graph))
        self.importer = importer
        self.names = {name: importer.values[name] for name in names if name in importer.values}
        is_constant = {name: importer.known.array(value) for name, value in self.names.items()}
        self.constants = {
            name: array for name, array in is_constant.items() if array is not None and array.dtype != object
        }
        # One value may have several names.
        read = {(v.node, v.result): v for name, v in self.names.items() if name not in self.constants}
        self.values = [value for _, value in sorted(read.items())]
        self.own = 0

    def body(self, subgraph: Any, prepare: Callable[[Importer, Sequence[str]], None]) -> Graph:
        """Import a subgraph; `prepare` adds the inputs of its own, which come before the captured values."""
        child = self.importer.child(subgraph)
        prepare(child, [info.name for info in subgraph.input])
        added = {}
        self.own = len(child.graph.inputs)
        sizes = {name for kind in (*child.graph.input_types, *(v.type for v in self.values)) for name in _names(kind)}
        for value in self.values:
            stem = value.node if not value.result else f"{value.node}.{value.result}"
            name = stem if stem not in child.graph and stem not in child.reserved else child.graph.fresh(stem)
            added[value.node, value.result] = child.graph.input(name, value.type)
            # Sizes that are computed around the subgraph, of values that it reads.
            array = self.importer.known.array(value)
            if array is not None and {n for e in array.flat if isinstance(e, Symbol) for n in symbols(e.size)} <= sizes:
                child.known.given[name] = array
        needed = dict.fromkeys(free_names_of(subgraph))
        for name in needed:
            if name in self.constants:
                value = self.names[name]
                child.constant(name, self.constants[name], str(value.type.element))
                self.importer.consumed.append(value.node)
            elif name in self.names:
                child.values[name] = added[self.names[name].node, self.names[name].result]
        try:
            return child.run(subgraph.node)
        except OpenSizesError as error:
            # The inputs of the body depend on those of the graph around it.
            known, ports = self.importer.known, {added[v.node, v.result].node: [v] for v in self.values}
            values = [value for name in error.inputs for value in ports.get(name, self.given)]
            around = dict.fromkeys(name for value in values for name in known.inputs(value))
            raise OpenSizesError(error.reason, tuple(around)) from None

    def trim(self, *bodies: Graph) -> None:
        """Leave out the values that no body reads, as sizes that were known."""
        names = list(zip(*(body.inputs[self.own :] for body in bodies), strict=True))
        unread = [i for i, ports in enumerate(names) if not any(b.succ[n] for b, n in zip(bodies, ports, strict=True))]
        for i in reversed(unread):
            self.importer.consumed.append(self.values.pop(i).node)
            for body, name in zip(bodies, names[i], strict=True):
                body.remove_node(name)
        for body in bodies:
            for index, name in enumerate(body.inputs):
                body.nodes[name]["index"] = index


def _names(kind: Type) -> Iterator[str]:
    """Yield the symbols of a type that its sizes bind."""
    yield from (str(size) for size in kind.shape if symbols(size) == (size,))


# ---------------------------------------------------------------------- import


def _import_if(importer: Importer, attributes: Mapping[str, Any], inputs: list[Value | None], label: str) -> Any:
    branches = [attributes["then_branch"], attributes["else_branch"]]
    (condition,) = inputs
    if condition is None:
        raise Unfit("its condition is missing")
    known = importer.known.array(condition)
    if known is not None and known.dtype == bool and known.size == 1:
        importer.consumed.append(condition.node)
        return importer.inlined(branches[0] if known.item() else branches[1])
    captured = _Captured(importer, branches)
    then, otherwise = (captured.body(each, lambda child, names: None) for each in branches)
    captured.trim(then, otherwise)
    return _added(importer, op.cond, [condition, *captured.values], {"then": then, "otherwise": otherwise}, label)


def _import_loop(importer: Importer, attributes: Mapping[str, Any], inputs: list[Value | None], label: str) -> Any:
    subgraph = attributes["body"]
    count, condition, *given = [*inputs, None, None][: max(2, len(inputs))]
    if None in given:
        raise Unfit("an initial value is missing")
    values: list[Any] = list(given)
    if len(subgraph.input) != 2 + len(values):
        raise Unfit(f"its body has {len(subgraph.input)} inputs, and needs {2 + len(values)}")
    captured = _Captured(importer, [subgraph], inputs)
    ranks = [len(info.type.tensor_type.shape.dim) for info in subgraph.input]

    def body_for(types: Sequence[Type]) -> Graph:
        def prepare(child: Importer, names: Sequence[str]) -> None:
            number = child.graph.input(names[0], Tensor("i64", ()))
            child.values[names[0]] = op.reshape(number, shape=(1,)) if ranks[0] else number
            # A body runs while the condition is true.
            child.constant(names[1], np.full((1,) * min(ranks[1], 1), True), "bool")
            child.consumed.append(child.values[names[1]].node)
            for name, kind in zip(names[2:], types, strict=True):
                child.values[name] = child.graph.input(name, kind)

        return captured.body(subgraph, prepare)

    try:
        body = _settled(body_for, [value.type for value in values])
    except OpenSizesError as error:
        # With the number of the iteration known, all sizes may be.
        number = None if count is None else importer.known.array(count)
        if number is not None and number.dtype == object:
            open_sizes = ", ".join(f"{name!r}: [...]" for name in importer.graph.inputs)
            raise OpenSizesError(
                f"it has {number.item()} iterations, an open size, and {error.reason}; give numbers by "
                f"from_onnx(..., shapes={{{open_sizes}}}), and batch=None to keep them"
            ) from None
        repeated = _repeated(importer, subgraph, count, condition, values)
        if repeated is None:
            raise
        return repeated
    captured.trim(body)
    carried = {"carried": len(values)} if captured.values else {}
    return _added(importer, op.loop, [count, condition, *values, *captured.values], {"body": body, **carried}, label)


def _repeated(
    importer: Importer, subgraph: Any, count: Value | None, condition: Value | None, values: list[Value]
) -> tuple[Value, ...] | None:
    """Import the nodes of a body once for each iteration; None where the number of these is not known, or large."""
    known, graph = importer.known, importer.graph
    limit = np.array(ENDLESS) if count is None else known.array(count)
    again = np.array(True) if condition is None else known.array(condition)
    names, rows = [info.name for info in subgraph.input], list[Sequence[Value]]()
    ranks = [len(info.type.tensor_type.shape.dim) for info in subgraph.input]
    while limit is not None and again is not None and again.item() and len(rows) < limit.item():
        if (len(rows) + 1) * len(subgraph.node) > _MOST:
            return None
        entries = (np.int64(len(rows)), np.True_)
        own = [graph.constant(np.full((1,) * min(r, 1), x)) for r, x in zip(ranks, entries, strict=False)]
        going, *results = importer.inlined(subgraph, dict(zip(names, [*own, *values], strict=True)))
        importer.consumed += [value.node for value in (*own, going)]
        again, values = known.array(going), results[: len(values)]
        rows.append(results[len(values) :])
    if limit is None or again is None or not (rows or len(subgraph.output) == 1 + len(values)):
        return None
    stacks = [op.concat(*(op.unsqueeze(each, axes=(0,)) for each in row), axis=0) for row in zip(*rows, strict=True)]
    return (*values, *stacks)


def _settled(body_for: Callable[[Sequence[Type]], Graph], types: Sequence[Type]) -> Graph:
    """Return the body for types that all iterations keep: a size that one of them changes gets a name."""
    current = list(types)
    names: dict[tuple[Dimension, Dimension], str] = {}
    taken = {str(size) for kind in types for size in kind.shape}
    for _ in range(_ATTEMPTS):
        body = body_for(current)
        made = [body.result_type(*body.operands(name)[0]) for name in body.outputs][1 : 1 + len(types)]
        alike = [(a, b) for a, b in zip(current, made, strict=False) if len(a.shape) == len(b.shape)]
        becomes: dict[Dimension, set[Dimension]] = {}
        for a, b in ((a, b) for kinds in alike for a, b in zip(*(kind.shape for kind in kinds), strict=True)):
            becomes.setdefault(a, set()).add(b)
        wider = []
        for before, after in zip(current, made, strict=False):
            shape: list[Dimension] = list(before.shape)
            if len(shape) == len(after.shape):
                for axis, (a, b) in enumerate(zip(before.shape, after.shape, strict=True)):
                    # A name stands for what differs from iteration to iteration, as long as all that have it agree.
                    if a != b and (a not in names.values() or len(becomes[a]) > 1):
                        stem = f"size_{len(names) + 1}"
                        shape[axis] = Size(names.setdefault((a, b), stem if stem not in taken else f"{stem}_"))
            wider.append(Tensor(before.element, tuple(shape), before.layout) if isinstance(before, Tensor) else before)
        if wider == current:
            break
        current = wider
    return body


def _import_scan(importer: Importer, attributes: Mapping[str, Any], inputs: list[Value | None], label: str) -> Any:
    subgraph = attributes["body"]
    if None in inputs:
        raise Unfit("an input is missing")
    values: list[Any] = list(inputs)
    sequences = int(attributes["num_scan_inputs"])
    carried = len(values) - sequences
    stacked = len(subgraph.output) - carried
    if carried < 0 or stacked < 0 or len(subgraph.input) != len(values):
        raise Unfit(f"its body has {len(subgraph.input)} inputs and {len(subgraph.output)} outputs, which do not fit")
    axes = list(attributes.get("scan_input_axes", ())) or [0] * sequences
    captured = _Captured(importer, [subgraph], inputs)
    types = [value.type for value in values]
    for index, axis in enumerate(axes, start=carried):
        rank = len(types[index].shape)
        if not -rank <= axis < rank:
            raise Unfit(f"there is no axis {axis} of {types[index]} to run along")
        shape = tuple(size for i, size in enumerate(types[index].shape) if i != axis % rank)
        types[index] = Tensor(types[index].element, shape)

    def prepare(child: Importer, names: Sequence[str]) -> None:
        for name, kind in zip(names, types, strict=True):
            child.values[name] = child.graph.input(name, kind)

    body = captured.body(subgraph, prepare)
    captured.trim(body)
    ours = {"body": body, "carried": carried, "sequences": sequences}
    for key, name in _SCAN.items():
        given = tuple(attributes.get(name, ()))
        if any(given):
            ours[key] = tuple(map(bool, given)) if "backwards" in key else given
    return _added(importer, op.scan, [*values, *captured.values], ours, label)


_SCAN: Mapping[str, str] = {
    "axes": "scan_input_axes",
    "backwards": "scan_input_directions",
    "output_axes": "scan_output_axes",
    "output_backwards": "scan_output_directions",
}
"""Attributes of our op, and their names in ONNX."""
_IMPORTED: Mapping[str, Callable[..., Any]] = {"If": _import_if, "Loop": _import_loop, "Scan": _import_scan}


def _added(importer: Importer, kind: Any, operands: list[Any], attributes: dict[str, Any], label: str) -> Any:
    return importer.graph.add(kind, operands, attributes, name=importer.free(label), origin=(label,))


# ---------------------------------------------------------------------- export


def write_control_flow(exporter: Exporter, node: str) -> bool:
    """Write a node, if it is one of control flow."""
    kind = exporter.graph.nodes[node]["type"]
    if kind not in _WRITTEN:
        return False
    operands = [exporter.name(*operand) for operand in exporter.graph.operands(node)]
    name, inputs, attributes = _WRITTEN[kind](exporter, node, operands, exporter.graph.attributes(node))
    exporter.emit(node, name, "", inputs, attributes)
    return True


Written = tuple[str, list[str], dict[str, Any]]
"""An op of ONNX, the names of its inputs, and its attributes."""


def _write_cond(exporter: Exporter, node: str, operands: list[str], attributes: Mapping[str, Any]) -> Written:
    condition, *values = operands
    branches = {
        ours: exporter.child(attributes[ours], dict(zip(attributes[ours].inputs, values, strict=True))).subgraph([])
        for ours in ("then", "otherwise")
    }
    return "If", [condition], {"then_branch": branches["then"], "else_branch": branches["otherwise"]}


def _write_loop(exporter: Exporter, node: str, operands: list[str], attributes: Mapping[str, Any]) -> Written:
    count, condition, *values = operands
    carried = len(values) if attributes["carried"] is None else attributes["carried"]
    body: Graph = attributes["body"]
    own = body.inputs[: 1 + carried]
    child = exporter.child(body, dict(zip(body.inputs[1 + carried :], values[carried:], strict=True)))
    number, *state = [child.declared_input(name) for name in own]
    again = exporter.onnx.helper.make_tensor_value_info(exporter.fresh("condition"), exporter.onnx.TensorProto.BOOL, [])
    subgraph = child.subgraph([number, again, *state])
    sources = [operand.node for operand in exporter.graph.operands(node)[:2]]
    first = "" if exporter.is_entry(sources[0], ENDLESS) else count
    # ONNX's specification lets a loop without a condition go on whatever its body says.
    second = "" if exporter.is_entry(sources[1], True) and goes_on(body) else condition
    return "Loop", [first, second, *values[:carried]], {"body": subgraph}


def _write_scan(exporter: Exporter, node: str, operands: list[str], attributes: Mapping[str, Any]) -> Written:
    body: Graph = attributes["body"]
    own = attributes["carried"] + attributes["sequences"]
    child = exporter.child(body, dict(zip(body.inputs[own:], operands[own:], strict=True)))
    subgraph = child.subgraph([child.declared_input(name) for name in body.inputs[:own]])
    settings = {theirs: list(map(int, attributes[ours])) for ours, theirs in _SCAN.items() if attributes[ours]}
    return "Scan", operands[:own], {"body": subgraph, "num_scan_inputs": attributes["sequences"], **settings}


_WRITTEN: Mapping[str, Callable[..., Written]] = {"cond": _write_cond, "loop": _write_loop, "scan": _write_scan}
