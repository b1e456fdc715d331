"""Kinds of mapping rules, as pure functions from a node of a framework to arguments of an op."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any

import numpy as np

from graphrewrite.lowering.errors import ModelError

__all__ = ["KINDS_OF_RULES", "FrameworkNode", "MappingRule", "RuleArgument"]


@dataclass(frozen=True)
class FrameworkNode:
    """A node of a framework's graph, by the names of its op's definition.

    Attributes
    ----------
    op, name : str
        Its op, and its own name.
    inputs : mapping of str to str or tuple of str
        What each input reads; several names for an input that stands for any number.
    attributes : mapping of str to object
        Values, with the defaults of the definition.
    constants : mapping of str to ndarray
        Arrays of the inputs that are known.
    shapes : mapping of str to sequence
        Shapes of the others, as far as they are known.
    """

    op: str
    name: str
    inputs: Mapping[str, str | tuple[str, ...]]
    attributes: Mapping[str, Any]
    constants: Mapping[str, np.ndarray] = field(default_factory=dict)
    shapes: Mapping[str, Sequence[Any]] = field(default_factory=dict)


@dataclass(frozen=True)
class RuleArgument:
    """A constant in a mapping rule: a name, deeplearning4j's word for its type, a place, and a value."""

    name: str
    type: str
    index: int
    value: Any


@dataclass(frozen=True)
class MappingRule:
    """How some arguments of an op follow from a node of a framework.

    Attributes
    ----------
    kind : str
        One of `KINDS_OF_RULES`.
    names : mapping of str to str
        For each argument, the input or attribute of the node from which it follows.
    arguments : mapping of str to tuple of RuleArgument
        Constants for an argument.
    targets : mapping of str to str
        The kind of the arguments of the op that the rule states.
    """

    kind: str
    names: Mapping[str, str]
    arguments: Mapping[str, tuple[RuleArgument, ...]] = field(default_factory=dict)
    targets: Mapping[str, str] = field(default_factory=dict)

    def constant(self, argument: str, name: str | None = None) -> Any:
        """Return the value of a constant for an argument: of a name, or the first one.

        Raises
        ------
        ModelError
            If there is none.
        """
        for each in self.arguments.get(argument, ()):
            if name is None or each.name == name:
                return each.value
        raise ModelError(f"a rule {self.kind!r} lacks a constant {name or ''!r} for {argument!r}")

    def entry(self, argument: str) -> tuple[int, Any]:
        """Return which entry of a list an argument is, and what it is without the list: the first two constants."""
        values = [each.value for each in self.arguments.get(argument, ())]
        return int(values[0]) if values else 0, values[1] if len(values) > 1 else None


Values = Iterator[tuple[str, Any]]


def _attribute(node: FrameworkNode, name: str) -> Any:
    """Return an attribute of a node, or what a constant input of the name holds; None if it has neither."""
    if name in node.attributes:
        return node.attributes[name]
    return _plain(node.constants[name]) if name in node.constants else None


def _known(node: FrameworkNode, name: str) -> Any:
    """Return the numbers of an input that must be known; None where the node does not have the input."""
    if name in node.constants:
        return _plain(node.constants[name])
    if not node.inputs.get(name):
        return _attribute(node, name)
    raise ModelError(
        f"node {node.name!r} ({node.op}): its input {name!r} is an argument of the op, and its numbers are not known; "
        "fold the graph first, or pass them in constants"
    )


def _plain(array: Any) -> Any:
    """Return an array as a number, or as a tuple of numbers or of tuples."""
    values = np.asarray(array).tolist()
    return _tuples(values)


def _tuples(value: Any) -> Any:
    return tuple(map(_tuples, value)) if isinstance(value, list) else value


def _tensors(rule: MappingRule, node: FrameworkNode) -> Values:
    for argument, name in rule.names.items():
        if node.inputs.get(name):
            yield argument, node.inputs[name]
        elif name in node.attributes:  # a value of the node itself, as in a constant
            yield argument, node.attributes[name]


def _all_tensors(rule: MappingRule, node: FrameworkNode) -> Values:
    every: list[str] = []
    for read in node.inputs.values():
        every += [read] if isinstance(read, str) else read
    yield "*", tuple(every)


def _constants(rule: MappingRule, node: FrameworkNode) -> Values:
    for arguments in rule.arguments.values():
        for each in arguments:
            yield each.name, each.value


def _values(rule: MappingRule, node: FrameworkNode) -> Values:
    for argument, name in rule.names.items():
        if (value := _attribute(node, name)) is not None:
            yield argument, value


def _truth_or_number(rule: MappingRule, node: FrameworkNode) -> Values:
    """A number is true if it is above 0; a truth value is the number 1 or 0."""
    for argument, name in rule.names.items():
        value = _attribute(node, name)
        if isinstance(value, bool):
            yield argument, int(value)
        elif value is not None:
            yield argument, value > 0


def _entry(rule: MappingRule, node: FrameworkNode) -> Values:
    """An entry of a list; if the node does not have the list, what the rule says of it, or nothing."""
    for argument, name in rule.names.items():
        listed = _attribute(node, name)
        index, other = rule.entry(argument)
        if listed is not None and index < len(listed):
            yield argument, listed[index]
        elif other is not None:
            yield argument, other


def _entry_by_text(rule: MappingRule, node: FrameworkNode) -> Values:
    """One of two entries of a list, as a text says: of an attribute, or of an input that is known."""
    for argument, name in rule.names.items():
        found = rule.constant(argument, "targetValue") == _attribute(node, name)
        index = int(rule.constant(argument, "trueIndex" if found else "falseIndex"))
        source = str(rule.constant(argument, "attributeNameOfListAttribute"))
        listed = _known(node, source)
        if listed is not None and index < len(listed):
            yield argument, listed[index]


def _numbers(rule: MappingRule, node: FrameworkNode) -> Values:
    for argument, name in rule.names.items():
        if (value := _known(node, name)) is not None:
            yield argument, value


def _number_of_array(rule: MappingRule, node: FrameworkNode) -> Values:
    for argument, name in rule.names.items():
        value = node.attributes.get(name)
        if value is not None:
            yield argument, np.asarray(value).reshape(-1)[0].item()


def _arrays(rule: MappingRule, node: FrameworkNode) -> Values:
    for argument, name in rule.names.items():
        if (value := _attribute(node, name)) is not None:
            yield argument, np.asarray(value)


def _is_text(rule: MappingRule, node: FrameworkNode) -> Values:
    for argument, name in rule.names.items():
        if (value := _attribute(node, name)) is not None:
            yield argument, value == rule.constant(argument)


def _is_other_text(rule: MappingRule, node: FrameworkNode) -> Values:
    for argument, value in _is_text(rule, node):
        yield argument, not value


def _has_text(rule: MappingRule, node: FrameworkNode) -> Values:
    for argument, name in rule.names.items():
        if (value := _attribute(node, name)) is not None:
            yield argument, str(rule.constant(argument)) in value


def _place_of_text(rule: MappingRule, node: FrameworkNode) -> Values:
    """The place of a text among those that the rule lists."""
    for argument, name in rule.names.items():
        value = _attribute(node, name)
        listed = [each.value for each in rule.arguments.get(argument, ())]
        if value in listed:
            yield argument, listed.index(value)
        elif value is not None:
            raise ModelError(f"node {node.name!r} ({node.op}): {name} is {value!r}, and none of {listed}")


def _number_of_text(rule: MappingRule, node: FrameworkNode) -> Values:
    """The number that the rule gives to a text; of a list of texts, to the one at the index of the rule."""
    for argument, name in rule.names.items():
        value = _attribute(node, name)
        numbers = {each.name: each.value for each in rule.arguments.get(argument, ())}
        if isinstance(value, tuple | list):
            index = int(numbers.get("index", 0))
            value = value[index] if index < len(value) else None
        if value in numbers:
            yield argument, numbers[value]
        elif value is not None:
            raise ModelError(f"node {node.name!r} ({node.op}): {name} has {value!r}, and none of {sorted(numbers)}")


def _size(rule: MappingRule, node: FrameworkNode) -> Values:
    for argument, name in rule.names.items():
        shape = node.constants[name].shape if name in node.constants else node.shapes.get(name)
        if shape is not None:
            yield argument, shape[int(rule.constant(argument))]


KINDS_OF_RULES: Mapping[str, Callable[[MappingRule, FrameworkNode], Values]] = MappingProxyType(
    {
        "ndarraymapping": _tensors,
        "multiinputindex": _tensors,
        "passthrough": _all_tensors,
        "argdescriptorconstant": _constants,
        "valuemapping": _values,
        "datatypetoint": _values,
        "listnumbertolistnumber": _values,
        "invertbooleannumber": _truth_or_number,
        "listattributevaluelookuptoindex": _entry,
        "conditionalfieldvalueintindex": _entry_by_text,
        "conditionalfieldvalueintindexndarray": _entry_by_text,
        "ndarrayinputtonumericalattribute": _numbers,
        "ndarraytointattributevalue": _numbers,
        "attributendarraytoscalarattribute": _number_of_array,
        "listnumbertondarray": _arrays,
        "convertinputnumberlisttondarray": _arrays,
        "convertinputstringtondarray": _arrays,
        "attributenumberlistndarray": _arrays,
        "attributescalarndarrayattribute": _arrays,
        "ndarrayattributetondarrayinput": _arrays,
        "ndarrayinputtondarray": _arrays,
        "stringequals": _is_text,
        "stringnotequalsadapterrule": _is_other_text,
        "stringcontains": _has_text,
        "stringtoindex": _place_of_text,
        "mapstringtoindex": _number_of_text,
        "ndarraysizeat": _size,
    }
)
"""What each kind of rule does, by deeplearning4j's name of it."""
