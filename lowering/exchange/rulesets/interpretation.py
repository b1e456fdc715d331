"""Single nodes of frameworks, read as calls of ops: arguments resolved, with defaults and any number of inputs."""

from __future__ import annotations

import inspect
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from graphrewrite.errors import MissingDependencyError, did_you_mean
from graphrewrite.lowering.errors import ModelError
from graphrewrite.lowering.exchange.entry import Entry, Unfit
from graphrewrite.lowering.exchange.hooks import Hook, Hooks, ModelInfo, ModelNode
from graphrewrite.lowering.exchange.onnx.node_hooks import hooked_node, node_of_hook
from graphrewrite.lowering.exchange.onnx.tables import TABLE
from graphrewrite.lowering.exchange.rulesets.definitions import FrameworkOp, attribute_value, onnx_ops
from graphrewrite.lowering.exchange.rulesets.kinds import KINDS_OF_RULES, FrameworkNode
from graphrewrite.lowering.exchange.rulesets.messages import new_message, read_message
from graphrewrite.lowering.exchange.rulesets.ruleset import Ruleset, kind_of_argument
from graphrewrite.op.descriptor import OpDescriptor
from graphrewrite.op.op import Op
from graphrewrite.op.ordered_call import OrderedCall, without_ends
from graphrewrite.types import Tensor

__all__ = ["Interpretation", "interpret_onnx", "interpret_tensorflow"]


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
    """

    descriptor: OpDescriptor
    values: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    name: str = ""

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
        return called.after_node(changed, _by_table(node, name, attributes, known, types or {}))
    definition = ruleset.ops.get(node.op_type) or _defined(onnx_ops(opset), node.op_type, "onnx")
    plain = {name: _plain(value) for name, value in attributes.items()}
    bound = _bound(definition, node.name, list(node.input), plain, known)
    return called.after_node(changed, _by_ruleset(bound, list(node.output), ruleset))


def interpret_tensorflow(
    node: Any, ruleset: Ruleset, *, constants: Mapping[str, Any] | None = None, hooks: Iterable[Hook] = ()
) -> Interpretation:
    """Return a node of TensorFlow as a call of an op that a ruleset maps to.

    Parameters
    ----------
    node : NodeDef, bytes or str
        The node: TensorFlow's message, its bytes, or its text form.
    ruleset : Ruleset
        Mappings, and TensorFlow's definitions.
    constants : mapping of str to array-like, optional
        Values that the node reads, where these are arguments of the op.
    hooks : iterable of Hook
        Functions before and after: they get a `ModelNode` whose inputs are names, and `Interpretation` as its result.

    Raises
    ------
    ModelError
        If the op is not known, or numbers of an input must be known and are not.
    """
    message = new_message("NodeDef")
    if isinstance(node, str):
        read_message(node, message, "the node")
    else:
        message.MergeFromString(node if isinstance(node, bytes) else node.SerializeToString())
    inputs = tuple(name for name in message.input if not name.startswith("^"))  # the others say what comes before
    attributes = {each.key: attribute_value(each.value) for each in message.attr}
    known = {name: np.asarray(value) for name, value in (constants or {}).items()}
    count = len(ruleset.ops[message.op].outputs) if message.op in ruleset.ops else 1
    called = Hooks(hooks, ModelInfo("tensorflow"))
    seen = called.before_node(ModelNode(message.op, message.name, inputs, attributes, count, called.model))
    definition = _defined(ruleset.ops, seen.op, "tensorflow")
    outputs = [f"{message.name}:{i}" if i else message.name for i in range(len(definition.outputs))]
    bound = _bound(definition, message.name, list(seen.inputs), seen.attributes, known)
    return called.after_node(seen, _by_ruleset(bound, outputs, ruleset))


def _defined(ops: Mapping[str, FrameworkOp], name: str, framework: str) -> FrameworkOp:
    if name not in ops:
        raise ModelError(f"{framework} defines no op {name!r}{did_you_mean(name, ops)}")
    return ops[name]


def _bound(
    op: FrameworkOp, name: str, inputs: list[str], attributes: Mapping[str, Any], constants: Mapping[str, np.ndarray]
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
    return FrameworkNode(op.name, name, named, every, held)


def _by_ruleset(node: FrameworkNode, outputs: list[str], ruleset: Ruleset) -> Interpretation:
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
                values["inputs"] = _in_order(descriptor, value)
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
    return Interpretation(descriptor, values, node.name)


def _in_order(descriptor: OpDescriptor, inputs: tuple[str | None, ...]) -> dict[str, Any]:
    return descriptor.named(OrderedCall(descriptor.name, {"inputs": inputs})).get("inputs", {}) if inputs else {}


def _kind_of_value(descriptor: OpDescriptor, argument: str, value: Any) -> str | None:
    """Return the kind of an argument that fits a value, where a rule does not state it."""
    kinds = [kind for kind in descriptor.kinds_of(argument) if kind not in ("inputs", "outputs")]
    for kind, classes in (("booleans", bool), ("integers", int), ("floats", float), ("strings", str)):
        if kind in kinds and isinstance(value, classes):
            return kind
    return next(iter(kinds or descriptor.kinds_of(argument)), None)


def _plain(value: Any) -> Any:
    """Return an attribute of ONNX as a number, text, array, or a tuple of these."""
    if isinstance(value, bytes):
        return value.decode("utf-8", "replace")
    if isinstance(value, list | tuple):
        return tuple(map(_plain, value))
    if hasattr(value, "dims"):
        from onnx import numpy_helper

        return numpy_helper.to_array(value)
    return value


def _by_table(
    node: Any,
    name: str,
    attributes: dict[str, Any],
    constants: Mapping[str, np.ndarray],
    types: Mapping[str, Tensor],
) -> Interpretation:
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
        return _of_library(entry.op, node, inputs, read)
    if node.op_type == "Constant":
        reasons.append("it is a value, and no op; onnx.numpy_helper.to_array reads it")
    elif node.op_type in TABLE:
        reasons.append("it is written by several ops; from_onnx imports the graph that holds it")
    else:
        reasons.append(f"the library has no op for it; it would be imported as op.generic({node.op_type!r})")
    raise ModelError(f"node {name!r} ({node.op_type}): {reasons[0]}")


def _inputs(entry: Entry, node: Any) -> tuple[str | None, ...]:
    """Return the names of the operands of a node, None for those that are left out."""
    indices = entry.operands or [i for i in range(len(node.input)) if i not in entry.constants]
    return without_ends((node.input[i] or None) if i < len(node.input) else None for i in indices)


def _of_library(op: Op, node: Any, inputs: tuple[str | None, ...], read: Mapping[str, Any]) -> Interpretation:
    descriptor = op.descriptor()
    values = {"inputs": _in_order(descriptor, inputs)}
    values["outputs"] = descriptor.named(OrderedCall(descriptor.name, {"outputs": tuple(node.output)})).get(
        "outputs", {}
    )
    for argument in descriptor.arguments:
        if argument.kind in ("inputs", "outputs"):
            continue
        value = read.get(argument.name, argument.default)
        if value is not inspect.Parameter.empty and value is not None:
            values.setdefault(argument.kind, {})[argument.name] = value
    return Interpretation(descriptor, {kind: found for kind, found in values.items() if found}, node.name)
