"""Single nodes of frameworks, read as calls of ops: arguments resolved, with defaults and any number of inputs."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from graphrewrite import Graph
from graphrewrite.errors import MissingDependencyError, did_you_mean
from graphrewrite.lowering.errors import ModelError
from graphrewrite.lowering.exchange.attribute_values import plain
from graphrewrite.lowering.exchange.hooks import Hook, Hooks, ModelInfo, ModelNode
from graphrewrite.lowering.exchange.onnx.generic_nodes import kind_of
from graphrewrite.lowering.exchange.onnx.node_hooks import hooked_node, node_of_hook
from graphrewrite.lowering.exchange.rulesets.definitions import FrameworkOp, attribute_value, onnx_ops
from graphrewrite.lowering.exchange.rulesets.inverse import part_of
from graphrewrite.lowering.exchange.rulesets.kinds import KINDS_OF_RULES, FrameworkNode
from graphrewrite.lowering.exchange.rulesets.library_calls import (
    Call,
    by_onnx_table,
    by_tensorflow_table,
    inputs_by_name,
)
from graphrewrite.lowering.exchange.rulesets.messages import new_message, read_message
from graphrewrite.lowering.exchange.rulesets.ruleset import OpMapping, Ruleset, kind_of_argument
from graphrewrite.op.descriptor import OpDescriptor
from graphrewrite.op.ordered_call import OrderedCall
from graphrewrite.types import Tensor

__all__ = ["Interpretation", "bound_node", "by_ruleset", "interpret_onnx", "interpret_tensorflow"]


@dataclass(frozen=True)
class Interpretation:
    """A node of a framework as a call of an op.

    Attributes
    ----------
    descriptor : OpDescriptor
        The op.
    values : mapping of str to mapping of str to object
        For each kind of arguments, values by name; inputs are names of values, or arrays that the node itself holds.
    name : str
        The node's own name.
    unsaid : mapping of str to object
        What the call does not say of a node that a ruleset read: inputs and attributes that no rule reads and that are
        not their defaults, and lists and texts of which rules read a part.
    graph : Graph, optional
        The ops that the node is, if it is several of the library; then `descriptor` has its inputs and outputs only.
        `graphrewrite.formats.to_calls` lists them as calls.
    """

    descriptor: OpDescriptor
    values: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    name: str = ""
    unsaid: Mapping[str, Any] = field(default_factory=dict)
    graph: Graph | None = None

    @property
    def call(self) -> OrderedCall:
        """The same by the order of the arguments."""
        return self.descriptor.ordered(self.values)


def interpret_onnx(
    node: Any,
    *,
    ruleset: Ruleset | None = None,
    constants: Mapping[str, Any] | None = None,
    types: Mapping[str, Tensor] | None = None,
    opset: int | None = None,
    hooks: Iterable[Hook] = (),
) -> Interpretation:
    """Return a node of ONNX as a call of an op: of the library, or of those that a ruleset maps to.

    Parameters
    ----------
    node : onnx.NodeProto
        The node; its graph is not needed.
    ruleset : Ruleset, optional
        Mappings to other ops.
    constants : mapping of str to array-like, optional
        Values that the node reads, where these are arguments of the op.
    types : mapping of str to Tensor, optional
        Types of values that the node reads, where arguments of the op follow from them, as with ``auto_pad``.
    opset : int, optional
        Which definitions count for defaults; by default the newest.
    hooks : iterable of Hook
        Functions before and after: they get a `ModelNode` whose inputs are names, and `Interpretation` as its result.

    Raises
    ------
    ModelError
        If the op is not known, or numbers of an input must be known and are not.

    Examples
    --------
    >>> import onnx
    >>> node = onnx.helper.make_node("Conv", ["x", "w"], ["y"], strides=[2, 2], name="c")
    >>> found = interpret_onnx(node)
    >>> found.descriptor.name, found.values["inputs"]
    ('conv', {'x': 'x', 'w': 'w'})
    >>> print(found.call)
    conv(inputs=("x", "w"), outputs=("y",), integers=((2, 2), (0, 0, 0, 0), (1, 1), 1))
    """
    known = {name: np.asarray(value) for name, value in (constants or {}).items()}
    try:
        import onnx
    except ImportError:
        raise MissingDependencyError.of_extra("nodes of ONNX", "onnx") from None
    if not isinstance(node, onnx.NodeProto):
        raise ModelError(f"a node is an onnx.NodeProto, not {type(node).__name__}; from_onnx reads a model")
    attributes = {each.name: onnx.helper.get_attribute_value(each) for each in node.attribute}
    name = node.name or next(filter(None, node.output), "")
    called = Hooks(hooks, ModelInfo("onnx", "", {} if opset is None else {"": opset}))
    seen = hooked_node(node, attributes, node.input, name, called.model)
    changed = called.before_node(seen)
    if changed is not seen:
        node = node_of_hook(node, changed)
        node.input[:] = changed.inputs
        attributes = {each.name: onnx.helper.get_attribute_value(each) for each in node.attribute}
    if ruleset is None:
        return called.after_node(
            changed, _of_library(by_onnx_table(node, name, attributes, known, types or {}, opset), node.name)
        )
    kind = kind_of(node)
    definition = ruleset.ops.get(kind) or _defined(onnx_ops(opset), kind, "onnx")
    held = {name: _held(value) for name, value in attributes.items()}
    read = bound_node(definition, node.name, list(node.input), held, known, types or {})
    return called.after_node(changed, by_ruleset(read, list(node.output), ruleset))


def interpret_tensorflow(
    node: Any,
    ruleset: Ruleset | None = None,
    *,
    constants: Mapping[str, Any] | None = None,
    types: Mapping[str, Tensor] | None = None,
    hooks: Iterable[Hook] = (),
) -> Interpretation:
    """Return a node of TensorFlow as a call of an op: of the library, or of those that a ruleset maps to.

    Parameters
    ----------
    node : NodeDef, bytes or str
        The node: TensorFlow's message, its bytes, or its text form.
    ruleset : Ruleset, optional
        Mappings to other ops, and TensorFlow's definitions.
    constants : mapping of str to array-like, optional
        Values that the node reads, where these are arguments of the op.
    types : mapping of str to Tensor, optional
        Types of all other values that the node reads; needed without a ruleset.
    hooks : iterable of Hook
        Functions before and after: they get a `ModelNode` whose inputs are names, and `Interpretation` as its result.

    Raises
    ------
    ModelError
        If the op is not known, or numbers of an input must be known and are not.

    Examples
    --------
    >>> text = 'name: "s" op: "Sum" input: "x" input: "axes" attr { key: "keep_dims" value { b: true } }'
    >>> found = interpret_tensorflow(text, constants={"axes": [1]}, types={"x": Tensor("f32", ("N", 3))})
    >>> print(found.call)
    reduce_sum(inputs=("x",), outputs=("s",), integers=((1,),), booleans=(True,))

    A node that is several ops of the library has their graph:

    >>> text = 'name: "s" op: "SquaredDifference" input: "x" input: "y"'
    >>> found = interpret_tensorflow(text, types={name: Tensor("f32", ("N", 3)) for name in "xy"})
    >>> print(found.call)
    SquaredDifference(inputs=("x", "y"), outputs=("s",))
    >>> [found.graph.nodes[name]["type"] for name in found.graph.in_order()]
    ['input', 'input', 'sub', 'mul', 'output']
    """
    message = _node_of_tensorflow(node)
    inputs = tuple(name for name in message.input if not name.startswith("^"))  # the others say what comes before
    attributes = {each.key: attribute_value(each.value) for each in message.attr}
    known = {name: np.asarray(value) for name, value in (constants or {}).items()}
    count = 1 if ruleset is None or message.op not in ruleset.ops else len(ruleset.ops[message.op].outputs)
    called = Hooks(hooks, ModelInfo("tensorflow"))
    seen = called.before_node(ModelNode(message.op, message.name, inputs, attributes, count, called.model))
    if ruleset is None:
        return called.after_node(seen, _of_library(by_tensorflow_table(seen, known, types or {}), seen.name))
    definition = _defined(ruleset.ops, seen.op, "tensorflow")
    outputs = [f"{message.name}:{i}" if i else message.name for i in range(len(definition.outputs))]
    read = bound_node(definition, message.name, list(seen.inputs), seen.attributes, known, types or {})
    return called.after_node(seen, by_ruleset(read, outputs, ruleset))


def _of_library(call: Call, name: str) -> Interpretation:
    descriptor, values, graph = call
    return Interpretation(descriptor, values, name, graph=graph)


def _node_of_tensorflow(node: Any) -> Any:
    """Return a message of a node, given as TensorFlow's, or ours, its bytes or its text."""
    message = new_message("NodeDef")
    if isinstance(node, str):
        return read_message(node, message, "the node")
    stored = node if isinstance(node, bytes) else getattr(node, "SerializeToString", bytes)()
    foreign = getattr(getattr(node, "DESCRIPTOR", None), "name", "NodeDef") != "NodeDef"
    try:
        message.MergeFromString(stored)
    except Exception as error:  # of the library for protocol buffers, whose class depends on its implementation
        raise ModelError(f"the bytes are no NodeDef of TensorFlow: {error}") from None
    if foreign or not message.op:
        raise ModelError(f"a node is a NodeDef of TensorFlow, its bytes or its text, not {type(node).__name__}")
    return message


def _defined(ops: Mapping[str, FrameworkOp], name: str, framework: str) -> FrameworkOp:
    if name not in ops:
        raise ModelError(f"{framework} defines no op {name!r}{did_you_mean(name, ops)}")
    return ops[name]


def bound_node(
    op: FrameworkOp,
    name: str,
    inputs: list[str],
    attributes: Mapping[str, Any],
    constants: Mapping[str, np.ndarray],
    types: Mapping[str, Tensor],
) -> FrameworkNode:
    """Return a node whose inputs have the names of the definition, and its attributes their defaults."""
    every = {**op.defaults, **attributes}
    named: dict[str, str | tuple[str, ...]] = {}
    at = 0
    for index, each in enumerate(op.inputs):
        if each in op.variadic:
            count = every.get(op.variadic[each], len(inputs) - at - (len(op.inputs) - index - 1))
            count = count if isinstance(count, int) else len(count)
            named[each] = tuple(inputs[at : at + count])
            at += count
        elif at < len(inputs):
            named[each] = inputs[at]
            at += 1
    if at < len(inputs):
        raise ModelError(f"node {name!r} ({op.name}) has {len(inputs)} inputs, and its op takes {at}: {op.inputs}")
    held = {each: constants[read] for each, read in named.items() if isinstance(read, str) and read in constants}
    shapes = {each: types[read].shape for each, read in named.items() if isinstance(read, str) and read in types}
    return FrameworkNode(op.name, name, named, every, held, shapes)


def by_ruleset(node: FrameworkNode, outputs: list[str], ruleset: Ruleset) -> Interpretation:
    """Return a node as a call by the rules for its op."""
    mapping = ruleset.mapping(node.op)
    if mapping.target not in ruleset.descriptors:
        raise ModelError(f"node {node.name!r} ({node.op}) becomes {mapping.target!r}, of which there is no descriptor")
    descriptor = ruleset.descriptors[mapping.target]
    values: dict[str, dict[str, Any]] = {}
    for rule in mapping.rules:
        if rule.kind not in KINDS_OF_RULES:
            raise ModelError(f"node {node.name!r} ({node.op}): there is no rule {rule.kind!r}; Ruleset.check lists all")
        for argument, value in KINDS_OF_RULES[rule.kind](rule, node):
            if argument == "*":
                values["inputs"] = inputs_by_name(descriptor, value)
                continue
            kind = kind_of_argument(rule, argument) or _kind_of_value(descriptor, argument, value)
            if kind not in descriptor.kinds_of(argument):
                kind = next(iter(descriptor.kinds_of(argument)), None) or ""
            if not kind:
                raise ModelError(
                    f"node {node.name!r} ({node.op}): {rule.kind} gives {argument!r}, which {mapping.target} does not "
                    "have; Ruleset.check lists all such problems"
                )
            values.setdefault(kind, {})[argument] = value
    named = descriptor.names("outputs")
    if named:
        values["outputs"] = dict(zip(named, outputs, strict=False))
    return Interpretation(descriptor, values, node.name, _unsaid(node, mapping, ruleset.ops.get(node.op)))


def _unsaid(node: FrameworkNode, mapping: OpMapping, source: FrameworkOp | None) -> dict[str, Any]:
    """Return what the arguments of a call do not say of its node."""
    if source is None:
        return {}
    left: dict[str, Any] = {name: node.inputs[name] for name in mapping.unread(source) if node.inputs.get(name)}
    parts = {name for rule in mapping.rules for name, _ in part_of(rule, node.attributes)}
    left |= {name: tuple(node.constants[name].tolist()) for name in parts if name in node.constants}
    read = mapping.read()
    for name, value in node.attributes.items():
        default = source.defaults.get(name)
        other = name not in read and (default is None or not np.array_equal(value, default))
        if value is not None and (other or name in parts):
            left[name] = value
    return left


def _kind_of_value(descriptor: OpDescriptor, argument: str, value: Any) -> str | None:
    """Return the kind of an argument that fits a value, where a rule does not state it."""
    kinds = [kind for kind in descriptor.kinds_of(argument) if kind not in ("inputs", "outputs")]
    for kind, classes in (("booleans", bool), ("integers", int), ("floats", float), ("strings", str)):
        if kind in kinds and isinstance(value, classes):
            return kind
    return next(iter(kinds or descriptor.kinds_of(argument)), None)


def _held(value: Any) -> Any:
    """Return an attribute of ONNX as a number, text, array, or a tuple of these."""
    if hasattr(value, "dims"):
        from onnx import numpy_helper

        return numpy_helper.to_array(value)
    return plain(value)
