"""Single nodes as calls of the library's ops, by its own tables of ONNX and of TensorFlow."""

from __future__ import annotations

import inspect
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from graphrewrite import Graph, GraphRewriteError
from graphrewrite.errors import did_you_mean
from graphrewrite.graph import Value
from graphrewrite.lowering.errors import ModelError
from graphrewrite.lowering.exchange.attribute_values import data_type
from graphrewrite.lowering.exchange.entry import Entry, Unfit
from graphrewrite.lowering.exchange.hooks import ModelNode
from graphrewrite.lowering.exchange.onnx.generic_nodes import kind_of
from graphrewrite.lowering.exchange.onnx.importer import Importer
from graphrewrite.lowering.exchange.onnx.tables import TABLE
from graphrewrite.lowering.exchange.tensorflow.importer import Operands
from graphrewrite.lowering.exchange.tensorflow_import import TENSORFLOW
from graphrewrite.op.descriptor import Argument, OpDescriptor
from graphrewrite.op.op import Op
from graphrewrite.op.ordered_call import OrderedCall, without_ends
from graphrewrite.types import Tensor

__all__ = ["Call", "by_onnx_table", "by_tensorflow_table", "inputs_by_name"]

Call = tuple[OpDescriptor, dict[str, dict[str, Any]], Graph | None]
"""An op, and for each kind of arguments values by name; of a node that is several ops of the library, their graph."""


def by_onnx_table(
    node: Any,
    name: str,
    attributes: dict[str, Any],
    constants: Mapping[str, np.ndarray],
    types: Mapping[str, Tensor],
    opset: int | None,
) -> Call:
    """Interpret a node by the library's table of ONNX's ops."""
    reasons: list[str] = []
    kind = kind_of(node)
    entries = TABLE.get(kind, ())
    for entry in entries:
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
        return *_arguments(entry.op, inputs, tuple(node.output), read), None
    if kind == "Constant":
        reasons.append("it is a value, and no op; onnx.numpy_helper.to_array reads it")
    elif not all(isinstance(entry.op, Op) for entry in entries):
        if not (lacking := [each for each in node.input if each and each not in types and each not in constants]):
            return _called(_imported(node, name, constants, types, opset), kind, node.input, node.output)
        told = f"give the type of its input {lacking[0]!r} in types, or its numbers in constants"
        reasons.append(f"it is several ops, which follow from its operands; {told}")
    else:
        reasons.append(f"the library has no op for it; it would be imported as op.generic({kind!r})")
    raise ModelError(f"node {name!r} ({kind}): {reasons[0]}")


def by_tensorflow_table(node: ModelNode, constants: Mapping[str, np.ndarray], types: Mapping[str, Tensor]) -> Call:
    """Interpret a node by the library's table of TensorFlow's ops, which adds it to a graph of its inputs."""
    place = f"node {node.name!r} ({node.op})"
    if node.op not in TENSORFLOW:
        raise ModelError(f"{place}: the library has no such op{did_you_mean(node.op, TENSORFLOW)}; pass a ruleset")
    graph = Graph(node.name or "node")
    values: dict[str, Value] = {}
    for name in node.inputs:
        if name not in constants and name not in types:
            raise ModelError(f"{place}: give the type of its input {name!r} in types, or its numbers in constants")
        if name not in values and name in constants:
            values[name] = graph.constant(np.asarray(constants[name]), name=name)
        elif name not in values:
            values[name] = graph.input(name, types[name])
    operands = tuple(values[name] for name in node.inputs)
    try:
        found = TENSORFLOW[node.op](Operands(operands, node.attributes, lambda value: constants.get(value.node)))
    except (GraphRewriteError, Unfit, ValueError, TypeError, KeyError, IndexError) as error:
        reason = f"its attribute {error} is missing" if isinstance(error, KeyError) else str(error)
        raise ModelError(f"{place}: {reason}") from error
    outputs = []
    for at, result in enumerate(found if isinstance(found, tuple) else (found,)):
        outputs.append(f"{node.name}:{at}" if at else node.name)
        graph.output(graph.fresh(outputs[-1]) if outputs[-1] in graph else outputs[-1], result)
    return _called(graph, node.op, node.inputs, outputs)


def _imported(
    node: Any, name: str, constants: Mapping[str, np.ndarray], types: Mapping[str, Tensor], opset: int | None
) -> Graph:
    """Return the graph of a node of ONNX alone."""
    from onnx import ValueInfoProto, helper, numpy_helper

    read = list(dict.fromkeys(filter(None, node.input)))
    inputs = [
        helper.make_tensor_value_info(each, data_type(types[each].element), list(types[each].shape))
        for each in read
        if each not in constants
    ]
    held = [numpy_helper.from_array(np.asarray(constants[each]), each) for each in read if each in constants]
    results = [ValueInfoProto(name=each) for each in node.output if each]
    given = {} if opset is None else {"opset_imports": [helper.make_opsetid("", opset)]}
    model = helper.make_model(helper.make_graph([node], name or "node", inputs, results, held), **given)
    return Importer(model, {}, {}, TABLE).run(model.graph.node)


def _called(graph: Graph, kind: str, inputs: Sequence[str], outputs: Sequence[str]) -> Call:
    """Return the one op of a graph as a call; of several, the node itself, and their graph."""
    for name in [each for each in graph.independent_nodes() if graph.nodes[each]["type"] == "constant"]:
        if not any(True for _ in graph.readers(name)):
            graph.remove_node(name)
    made = [each for each in graph if graph.nodes[each]["type"] not in ("input", "output", "constant")]
    results = [graph.operands(each)[0] for each in graph.outputs]
    if len(made) == 1 and all(result.node == made[0] for result in results):
        read = [each.node for each in graph.operands(made[0])]
        names = tuple(each if each in inputs else graph.nodes[each].get("value") for each in read)
        descriptor, values = _arguments(graph.op(made[0]), names, tuple(outputs), graph.attributes(made[0]))
        return descriptor, values, None
    ports = [*((name, "inputs", at) for at, name in enumerate(dict.fromkeys(filter(None, inputs))))]
    ports += [(name, "outputs", at) for at, name in enumerate(filter(None, outputs))]
    values = {}
    for name, side, _ in ports:
        values.setdefault(side, {})[name] = name
    return OpDescriptor(kind, tuple(Argument(*port) for port in ports)), values, graph


def inputs_by_name(descriptor: OpDescriptor, inputs: Sequence[Any]) -> dict[str, Any]:
    """Return inputs by their names, from their order."""
    return descriptor.named(OrderedCall(descriptor.name, {"inputs": tuple(inputs)})).get("inputs", {}) if inputs else {}


def _inputs(entry: Entry, node: Any) -> tuple[str | None, ...]:
    """Return the names of the operands of a node, None for those that are left out."""
    indices = entry.operands or [i for i in range(len(node.input)) if i not in entry.constants]
    return without_ends((node.input[i] or None) if i < len(node.input) else None for i in indices)


def _arguments(
    op: Op, inputs: Sequence[Any], outputs: tuple[str, ...], read: Mapping[str, Any]
) -> tuple[OpDescriptor, dict[str, dict[str, Any]]]:
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
