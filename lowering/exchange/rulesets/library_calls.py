"""Single nodes as calls of the library's ops, by its own tables of ONNX and of TensorFlow."""

from __future__ import annotations

import inspect
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from graphrewrite import Graph, GraphRewriteError
from graphrewrite.errors import did_you_mean
from graphrewrite.lowering.errors import ModelError
from graphrewrite.lowering.exchange.entry import Entry, Unfit
from graphrewrite.lowering.exchange.hooks import ModelNode
from graphrewrite.lowering.exchange.onnx.tables import TABLE
from graphrewrite.lowering.exchange.tensorflow.importer import Operands
from graphrewrite.lowering.exchange.tensorflow_import import TENSORFLOW
from graphrewrite.op.descriptor import OpDescriptor
from graphrewrite.op.op import Op
from graphrewrite.op.ordered_call import OrderedCall, without_ends
from graphrewrite.types import Tensor

__all__ = ["by_onnx_table", "by_tensorflow_table", "inputs_by_name"]

Call = tuple[OpDescriptor, dict[str, dict[str, Any]]]
"""An op, and for each kind of arguments values by name."""


def by_onnx_table(
    node: Any,
    name: str,
    attributes: dict[str, Any],
    constants: Mapping[str, np.ndarray],
    types: Mapping[str, Tensor],
) -> Call:
    """Interpret a node by the library's table of ONNX's ops."""
    reasons = []
    for entry in TABLE.get(node.op_type, ()):
        if not isinstance(entry.op, Op):
            continue
        try:
            read = entry.read_attributes(attributes, len(node.output))
            for index, (ours, convert, *_) in entry.constants.items():
                read_by = node.input[index] if index < len(node.input) else ""
                if read_by and read_by not in constants:
                    raise Unfit(f"its input {read_by!r} is the attribute {ours!r}; give its numbers in constants")
                if read_by:
                    read[ours] = convert(constants[read_by])
            inputs = _inputs(entry, node)
            if entry.complete is not None and all(each in types for each in inputs if each):
                read = entry.complete(read, [types[each] for each in inputs if each])
            theirs = {ours: key for key, (ours, *_) in entry.attributes.items()}
            own = entry.op.attributes
            if other := [theirs.get(key, key) for key, value in read.items() if key not in own and value is not None]:
                raise Unfit(f"what {', '.join(other)} means follows from its operands; give their types in types")
        except Unfit as error:
            reasons.append(str(error))
            continue
        return _call(entry.op, inputs, tuple(node.output), read)
    if node.op_type == "Constant":
        reasons.append("it is a value, and no op; onnx.numpy_helper.to_array reads it")
    elif node.op_type in TABLE:
        reasons.append("it is written by several ops; from_onnx imports the graph that holds it")
    else:
        reasons.append(f"the library has no op for it; it would be imported as op.generic({node.op_type!r})")
    raise ModelError(f"node {name!r} ({node.op_type}): {reasons[0]}")


def by_tensorflow_table(node: ModelNode, constants: Mapping[str, np.ndarray], types: Mapping[str, Tensor]) -> Call:
    """Interpret a node by the library's table of TensorFlow's ops, which adds it to a graph of its inputs."""
    place = f"node {node.name!r} ({node.op})"
    if node.op not in TENSORFLOW:
        raise ModelError(f"{place}: the library has no such op{did_you_mean(node.op, TENSORFLOW)}; pass a ruleset")
    graph = Graph("node")
    values, names = [], {}
    for at, name in enumerate(node.inputs):
        if name not in constants and name not in types:
            raise ModelError(f"{place}: give the type of its input {name!r} in types, or its numbers in constants")
        known = name in constants
        value = graph.constant(np.asarray(constants[name])) if known else graph.input(f"input_{at}", types[name])
        values.append(value)
        names[value.node] = name
    arrays = {value.node: constants[name] for value, name in zip(values, node.inputs, strict=True) if name in constants}
    try:
        found = TENSORFLOW[node.op](Operands(tuple(values), node.attributes, lambda value: arrays.get(value.node)))
    except (GraphRewriteError, Unfit, ValueError, TypeError, KeyError, IndexError) as error:
        reason = f"its attribute {error} is missing" if isinstance(error, KeyError) else str(error)
        raise ModelError(f"{place}: {reason}") from error
    results = found if isinstance(found, tuple) else (found,)
    made = [each for each in graph if graph.nodes[each]["type"] not in ("input", "constant")]
    if len(made) != 1 or any(result.node != made[0] for result in results):
        kinds = ", ".join(graph.nodes[each]["type"] for each in made) or "none"
        raise ModelError(
            f"{place}: it is written by other ops ({kinds}); from_tensorflow imports the graph that holds it"
        )
    read = [each.node for each in graph.operands(made[0])]
    inputs = tuple(names.get(each, graph.nodes[each].get("value")) for each in read)
    outputs = tuple(f"{node.name}:{i}" if i else node.name for i in range(len(results)))
    return _call(graph.op(made[0]), inputs, outputs, graph.attributes(made[0]))


def inputs_by_name(descriptor: OpDescriptor, inputs: Sequence[Any]) -> dict[str, Any]:
    """Return inputs by their names, from their order."""
    return descriptor.named(OrderedCall(descriptor.name, {"inputs": tuple(inputs)})).get("inputs", {}) if inputs else {}


def _inputs(entry: Entry, node: Any) -> tuple[str | None, ...]:
    """Return the names of the operands of a node, None for those that are left out."""
    indices = entry.operands or [i for i in range(len(node.input)) if i not in entry.constants]
    return without_ends((node.input[i] or None) if i < len(node.input) else None for i in indices)


def _call(op: Op, inputs: Sequence[Any], outputs: tuple[str, ...], read: Mapping[str, Any]) -> Call:
    descriptor = op.descriptor()
    values = {"inputs": inputs_by_name(descriptor, inputs)}
    values["outputs"] = descriptor.named(OrderedCall(descriptor.name, {"outputs": outputs})).get("outputs", {})
    for argument in descriptor.arguments:
        if argument.kind in ("inputs", "outputs"):
            continue
        value = read.get(argument.name, argument.default)
        if value is not inspect.Parameter.empty and value is not None:
            values.setdefault(argument.kind, {})[argument.name] = value
    return descriptor, {kind: found for kind, found in values.items() if found}
