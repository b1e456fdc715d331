"""Rulesets: how the ops of a framework are mapped to others, as data in files of users."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from graphrewrite.errors import did_you_mean
from graphrewrite.lowering.errors import ModelError
from graphrewrite.lowering.exchange.attribute_values import number
from graphrewrite.lowering.exchange.rulesets.definitions import KIND_OF, FrameworkOp, text_of
from graphrewrite.lowering.exchange.rulesets.kinds import KINDS_OF_RULES, MappingRule, RuleArgument
from graphrewrite.lowering.exchange.rulesets.messages import new_message, read_message, written
from graphrewrite.op.descriptor import OpDescriptor

__all__ = ["OpMapping", "Ruleset", "read_ruleset"]

_STATED = {
    "outputIntName": "integers",
    "outputFloatName": "floats",
    "outputDoubleName": "floats",
    "outputBooleanName": "booleans",
    "outputDataTypeName": "types",
    "outputStringAttrName": "strings",
    "outputTensorName": "inputs",
}
"""Fields of a rule that state of which kind its arguments are."""
_VALUES = {
    "FLOAT": "floatValue",
    "DOUBLE": "doubleValue",
    "INT32": "int32Value",
    "INT64": "int64Value",
    "BOOL": "boolValue",
    "STRING": "stringValue",
}
_ARRAYS = frozenset(
    {"listnumbertondarray", "convertinputnumberlisttondarray", "convertinputstringtondarray", "ndarrayinputtondarray"}
)
"""Kinds of rules whose arguments are inputs, although they stand among those of attributes."""
_NEEDED = {
    "conditionalfieldvalueintindex": ("targetValue", "trueIndex", "falseIndex", "attributeNameOfListAttribute"),
    "conditionalfieldvalueintindexndarray": ("targetValue", "trueIndex", "falseIndex", "attributeNameOfListAttribute"),
}
"""Constants without which rules of a kind cannot be."""
_SHOWN = 20
"""Problems that a message lists."""


@dataclass(frozen=True)
class OpMapping:
    """How one op of a framework is mapped.

    Attributes
    ----------
    source, target : str
        Names of the framework's op, and of the one that it becomes.
    rules : tuple of MappingRule
        What its arguments follow from.
    places : mapping of int to int
        Inputs that change places: from the framework's to the op's.
    """

    source: str
    target: str
    rules: tuple[MappingRule, ...]
    places: Mapping[int, int] = field(default_factory=dict)

    def unread(self, source: FrameworkOp) -> tuple[str, ...]:
        """Return the inputs of the framework's op that no rule reads; one that passes all on reads all."""
        if any(rule.kind == "passthrough" for rule in self.rules):
            return ()
        read = self.read()
        return tuple(name for name in source.inputs if name not in read)

    def read(self) -> frozenset[str]:
        """Return the names that the rules read; a constant of a rule can be one."""
        names = (name for rule in self.rules for name in rule.names.values())
        constants = (str(each.value) for rule in self.rules for group in rule.arguments.values() for each in group)
        return frozenset((*names, *constants))


@dataclass(frozen=True)
class Ruleset:
    """Mappings of the ops of a framework.

    Attributes
    ----------
    framework : str
        ``onnx`` or ``tensorflow``.
    mappings : mapping of str to OpMapping
        By the framework's name of the op.
    ops : mapping of str to FrameworkOp
        The framework's definitions.
    descriptors : mapping of str to OpDescriptor
        The ops that they are mapped to.
    text : str
        The file's text in its normal form.
    """

    framework: str
    mappings: Mapping[str, OpMapping]
    ops: Mapping[str, FrameworkOp] = field(repr=False)
    descriptors: Mapping[str, OpDescriptor] = field(repr=False)
    text: str = field(repr=False, compare=False, default="")

    def problems(self) -> tuple[str, ...]:
        """Return all that contradicts the definitions: names, kinds of arguments, rules, constants, unread inputs."""
        return tuple(problem for mapping in self.mappings.values() for problem in self._of(mapping))

    def check(self) -> None:
        """Raise if anything contradicts the definitions.

        Raises
        ------
        ModelError
            With the problems, all at once.
        """
        found = self.problems()
        if found:
            more = f"\n… and {len(found) - _SHOWN} others" if len(found) > _SHOWN else ""
            listed = "\n".join(found[:_SHOWN])
            raise ModelError(f"the ruleset of {self.framework} has {len(found)} problems:\n{listed}{more}")

    def mapping(self, op: str) -> OpMapping:
        """Return how an op is mapped.

        Raises
        ------
        ModelError
            If it is not.
        """
        if op not in self.mappings:
            raise ModelError(f"the ruleset of {self.framework} does not map {op!r}{did_you_mean(op, self.mappings)}")
        return self.mappings[op]

    def _of(self, mapping: OpMapping) -> Iterator[str]:
        source, target = self.ops.get(mapping.source), self.descriptors.get(mapping.target)
        place = f"{mapping.source} -> {mapping.target}"
        if source is None:
            yield f"{place}: {self.framework} has no op {mapping.source!r}{did_you_mean(mapping.source, self.ops)}"
        if target is None:
            near = did_you_mean(mapping.target, self.descriptors)
            yield f"{place}: there is no op {mapping.target!r}{near}"
        for rule in mapping.rules:
            if rule.kind not in KINDS_OF_RULES:
                yield f"{place}: there is no rule {rule.kind!r}{did_you_mean(rule.kind, KINDS_OF_RULES)}"
                continue
            if source is not None:
                for name in dict.fromkeys(rule.names.values()):
                    if name not in source:
                        known = (*source.inputs, *source.attributes)
                        yield f"{place}: {rule.kind} reads {name!r}, which it does not have{did_you_mean(name, known)}"
            if target is not None:
                for argument in dict.fromkeys((*rule.names, *rule.targets)):
                    yield from (f"{place}: {problem}" for problem in _wrong_argument(rule, argument, target))
            for argument in rule.names:
                given = {each.name for each in rule.arguments.get(argument, ())}
                for name in _NEEDED.get(rule.kind, ()):
                    if name not in given:
                        yield f"{place}: {rule.kind} needs the constant {name!r} for {argument!r}"
        if source is not None:
            yield from (f"{place}: no rule reads its input {name!r}" for name in mapping.unread(source))


def _wrong_argument(rule: MappingRule, argument: str, target: OpDescriptor) -> Iterator[str]:
    """Yield what is wrong with an argument of a rule."""
    kinds = target.kinds_of(argument)
    stated = kind_of_argument(rule, argument)
    if not kinds:
        known = [each.name for each in target.arguments]
        yield f"{rule.kind} gives {argument!r}, which the op does not have{did_you_mean(argument, known)}"
    elif stated is not None and stated not in kinds:
        yield f"{rule.kind} gives {argument!r} as one of its {stated}, and it is one of its {' and '.join(kinds)}"


def kind_of_argument(rule: MappingRule, argument: str) -> str | None:
    """Return the kind of an argument, if a rule states it."""
    return "inputs" if rule.kind in _ARRAYS else rule.targets.get(argument)


def read_ruleset(
    path: str | Path, *, ops: Mapping[str, FrameworkOp], descriptors: Mapping[str, OpDescriptor]
) -> Ruleset:
    """Read a ruleset of deeplearning4j's form; `Ruleset.check` compares it with the definitions.

    Parameters
    ----------
    path : path
        A file of mappings in the text form of protocol buffers.
    ops : mapping of str to FrameworkOp
        The framework's definitions, such as those of `onnx_ops`.
    descriptors : mapping of str to OpDescriptor
        Ops that they are mapped to, such as those of `read_descriptors`.

    Raises
    ------
    ModelError
        If the file is missing or damaged, with line and column; if an op is mapped twice, or several frameworks are.
    """
    message = read_message(text_of(path), new_message("MappingDefinitionSet"), Path(path).name)
    frameworks = {each.frameworkName for each in message.mappings}
    if len(frameworks) > 1:
        raise ModelError(f"{Path(path).name!r} maps ops of {' and '.join(sorted(frameworks))}; write one file for each")
    mappings: dict[str, OpMapping] = {}
    for each in message.mappings:
        if each.inputFrameworkOpName in mappings:
            raise ModelError(f"{Path(path).name!r} maps {each.inputFrameworkOpName!r} twice; keep one of them")
        places = {pair.key: pair.value for pair in each.indexOverrides}
        rules = tuple(_rule(rule) for rule in each.rule)
        mappings[each.inputFrameworkOpName] = OpMapping(each.inputFrameworkOpName, each.opName, rules, places)
    return Ruleset(next(iter(frameworks), ""), mappings, ops, descriptors, written(message))


def _rule(message: Any) -> MappingRule:
    arguments: dict[str, tuple[RuleArgument, ...]] = {}
    for group in message.transformerArgs:
        arguments.setdefault(group.key, tuple(map(_argument, group.transformerArgs)))
    targets = {name: kind for field_, kind in _STATED.items() for name in getattr(message, field_)}
    if message.ruleName == "argdescriptorconstant":
        targets |= {each.name: KIND_OF[each.type] for group in arguments.values() for each in group}
    return MappingRule(message.ruleName, {pair.key: pair.value for pair in message.inputToOutput}, arguments, targets)


def _argument(message: Any) -> RuleArgument:
    values = message.DESCRIPTOR.fields_by_name["argType"].enum_type.values_by_number
    word = str(values[message.argType].name)
    stated = next((name for name in _VALUES.values() if message.HasField(name)), _VALUES.get(word, "int64Value"))
    if not message.HasField("argType"):  # the first of the types is not written, and often none is meant
        word = next((each for each, name in _VALUES.items() if name == stated), word)
        stated = stated if message.HasField(stated) else "int64Value"
    value = getattr(message, stated)
    return RuleArgument(message.name, word, message.argIndex, number(value) if stated == "floatValue" else value)
