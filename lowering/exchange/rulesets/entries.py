"""Mappings of a ruleset as entries of the table of exchange, for `from_onnx` and `to_onnx`; skeletons of rulesets."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from graphrewrite.lowering.errors import ModelError
from graphrewrite.lowering.exchange.attribute_values import plain
from graphrewrite.lowering.exchange.entry import Entry, Unfit
from graphrewrite.lowering.exchange.rulesets.definitions import FrameworkOp
from graphrewrite.lowering.exchange.rulesets.described_ops import DescribedOp
from graphrewrite.lowering.exchange.rulesets.inverse import inverted, part_of, usual_entries
from graphrewrite.lowering.exchange.rulesets.kinds import KINDS_OF_RULES, FrameworkNode, MappingRule
from graphrewrite.lowering.exchange.rulesets.messages import new_message, written
from graphrewrite.lowering.exchange.rulesets.ruleset import OpMapping, Ruleset
from graphrewrite.op import LIBRARY
from graphrewrite.op.op import Op
from graphrewrite.types import Tensor

__all__ = ["entries_of", "skeleton"]

_INPUTS = ("ndarraymapping", "multiinputindex", "passthrough")
_OF_CONSTANTS = ("ndarrayinputtonumericalattribute", "ndarraytointattributevalue")
_SHOWN = 20


def entries_of(ruleset: Ruleset, ops: Mapping[str, Op] | None = None) -> tuple[Entry, ...]:
    """Return entries for the mappings of a ruleset: pass them to `from_onnx` and `to_onnx`, or to `from_tensorflow`.

    Without ``ops``, each op that the library lacks, by its name or with its arguments, becomes a generic node
    ``nd4j.name`` with the arguments of its descriptor, so that the graph can be read, drawn and rewritten; such entries
    only fill what the tables of the library lack. An op without inputs has none: nothing says the type of its result.

    Parameters
    ----------
    ruleset : Ruleset
        Mappings.
    ops : mapping of str to Op, optional
        Ops by the names that the ruleset gives them, by default those of the library. If they are given, mappings to
        others are left out.

    Raises
    ------
    ModelError
        If mappings contradict the ops or ONNX's definitions; with all of them.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from graphrewrite.lowering.exchange.rulesets import onnx_ops, read_ruleset, skeleton
    >>> text = skeleton([onnx_ops(13)["LeakyRelu"]], "onnx")
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder) / "rules.pbtxt"
    ...     _ = path.write_text(text)
    ...     entry, = entries_of(read_ruleset(path, ops=onnx_ops(13), descriptors={}))
    >>> entry.onnx, entry.op.name, entry.read_attributes({"alpha": 0.5}, 1)
    ('LeakyRelu', 'leaky_relu', {'alpha': 0.5})
    """
    known = LIBRARY if ops is None else ops
    found, wrong = list[Entry](), list[str]()
    for mapping in ruleset.mappings.values():
        before = len(found)
        source, target = ruleset.ops.get(mapping.source), known.get(mapping.target)
        problems = [] if target is None else list(_problems(mapping, source, target))
        if target is not None and source is not None and not problems:
            found.append(_Compiled(mapping, source, target).entry())
        elif ops is None and source is not None and mapping.target in ruleset.descriptors:
            # An op of the same name with other arguments is another op.
            if source.inputs:  # without, nothing says of which type its result is
                described = DescribedOp(ruleset.descriptors[mapping.target], source)
                found.append(_Compiled(mapping, source, described).entry())
            continue
        elif target is None and ops is None:
            wrong.append(f"{mapping.source} -> {mapping.target}: there is no such op, and no descriptor of it")
        wrong += [f"{mapping.source} -> {mapping.target}: {p}" for p in problems if len(found) == before]
    if wrong:
        more = f"\n… and {len(wrong) - _SHOWN} others" if len(wrong) > _SHOWN else ""
        listed = "\n".join(wrong[:_SHOWN])
        raise ModelError(
            f"the ruleset of {ruleset.framework} has {len(wrong)} mappings that do not fit:\n{listed}{more}"
        )
    return tuple(found)


def _problems(mapping: OpMapping, source: FrameworkOp | None, target: Op) -> Iterator[str]:
    if source is None:
        yield "its framework has no such op"
        return
    for rule in mapping.rules:
        if rule.kind not in KINDS_OF_RULES:
            yield f"there is no rule {rule.kind!r}"
        elif rule.kind in _INPUTS:
            yield from (f"{target.name} has no operand {n!r}" for n in rule.names if n not in target.operands)
            yield from (f"it has no input {n!r}" for n in rule.names.values() if n not in source.inputs)
        else:
            for name in _arguments(rule):
                if name not in target.attributes:
                    yield f"{target.name} has no attribute {name!r}"
    yield from (f"no rule reads its input {name!r}" for name in mapping.unread(source))


def _arguments(rule: MappingRule) -> list[str]:
    """Return the attributes of the op that a rule gives."""
    if rule.kind == "argdescriptorconstant":
        return [each.name for group in rule.arguments.values() for each in group]
    return list(rule.names)


@dataclass(frozen=True)
class _Compiled:
    """A mapping of an op as functions of an entry."""

    mapping: OpMapping
    source: FrameworkOp
    target: Op | DescribedOp

    def entry(self) -> Entry:
        """Return the entry."""
        rules = [rule for rule in self.mapping.rules if rule.kind not in _INPUTS]
        read = {name for rule in rules if rule.kind in _OF_CONSTANTS for name in rule.names.values()}
        constants = {
            self.source.inputs.index(name): (name, _plain, np.asarray) for name in sorted(read & {*self.source.inputs})
        }
        return Entry(
            self.mapping.source,
            self.target,
            attributes={name: (name, plain) for name in self.source.attributes},
            constants=constants,
            complete=self.read,
            operands=self.operands(),
            outputs=len(self.source.outputs),
            shown=self.write,
        )

    def operands(self) -> tuple[int, ...] | None:
        """Return the inputs in the order of the op's operands; None where they have that order already."""
        names = {a: n for rule in self.mapping.rules if rule.kind == "ndarraymapping" for a, n in rule.names.items()}
        if not names or self.source.variadic:
            return None
        return tuple(self.source.inputs.index(names[each]) for each in self.target.operands if each in names)

    def shapes(self, types: Sequence[Tensor]) -> dict[str, Any]:
        """Return the shapes of the framework's inputs by name, from the types of the operands."""
        inputs = self.source.inputs
        places = self.operands() or range(len(inputs))
        return {inputs[at]: kind.shape for at, kind in zip(places, types, strict=False)}

    def read(self, attributes: dict[str, Any], types: list[Tensor]) -> dict[str, Any]:
        """Return the op's attributes from the framework's."""
        said = {name for rule in self.mapping.rules for name in rule.names.values()}
        kept: dict[str, Any] = {}
        for name, value in attributes.items():
            if name in said or value == self.source.defaults.get(name) or self.source.attributes.get(name) == "type":
                continue
            if isinstance(self.target, DescribedOp):
                kept[name] = value
            else:
                raise Unfit(f"its attribute {name}={value!r} has no place in the ruleset")
        constants = {name: np.asarray(attributes[name]) for name in attributes if name in self.source.inputs}
        own = {**self.source.defaults, **{n: v for n, v in attributes.items() if n not in constants}}
        for name, value in self.parts(own):
            if isinstance(self.target, DescribedOp):
                kept[name] = value
            elif isinstance(value, tuple):
                raise Unfit(f"of its list {name}={value!r} the ruleset does not read all that counts")
        node = FrameworkNode(self.source.name, self.source.name, {}, own, constants, self.shapes(types))
        found: dict[str, Any] = kept
        try:
            for rule in self.mapping.rules:
                if rule.kind not in _INPUTS:
                    found |= {name: _listed(value) for name, value in KINDS_OF_RULES[rule.kind](rule, node)}
        except ModelError as error:
            raise Unfit(str(error)) from None
        return found

    def parts(self, attributes: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
        """Yield attributes of which rules read a part; lists only if an entry that no rule reads says something."""
        read: dict[str, set[int | None]] = {}
        for rule in self.mapping.rules:
            for name, index in part_of(rule, attributes):
                if name in attributes:
                    read.setdefault(name, set()).add(index)
        for name, indices in read.items():
            value = attributes[name]
            if isinstance(value, tuple):
                usual = usual_entries(name, value, self.source)
                if all(at in indices or value[at] == usual[at] for at in range(len(value))):
                    continue
            yield name, value

    def write(self, attributes: dict[str, Any], types: Sequence[Tensor]) -> dict[str, Any]:
        """Return the framework's attributes from the op's; what they cannot say is `Unfit`."""

        def given(rule: MappingRule, argument: str) -> Any:
            return None if rule.kind in _INPUTS else attributes.get(argument)

        beside = attributes if isinstance(self.target, DescribedOp) else {}
        _, found = inverted(self.mapping, self.source, given, self.shapes(types), beside)
        said = {name for rule in self.mapping.rules if rule.kind not in _INPUTS for name in _arguments(rule)}
        for name, value in attributes.items():
            if name in said or value == self.target.attributes.get(name):
                continue
            if not isinstance(self.target, DescribedOp) or name not in self.source.attributes:
                raise Unfit(f"{name}={value!r} has no place in the ruleset")
            found.setdefault(name, value)
        return found


def _plain(array: Any) -> Any:
    return _listed(np.asarray(array).tolist())


def _listed(value: Any) -> Any:
    """Return numbers as attributes of ops have them: lists are tuples."""
    if isinstance(value, np.ndarray):
        value = value.tolist()
    return tuple(map(_listed, value)) if isinstance(value, list | tuple) else value


# ---------------------------------------------------------------------- skeletons


def skeleton(ops: Iterable[FrameworkOp], framework: str, targets: Mapping[str, Op] | None = None) -> str:
    """Return a ruleset to begin with, from definitions of ops: operands in order, and attributes of equal names.

    An op that has no counterpart of its name is mapped to that name, which is then to be filled in.

    Parameters
    ----------
    ops : iterable of FrameworkOp
        Definitions, such as some of `onnx_ops()`, or of a file.
    framework : str
        ``onnx`` or ``tensorflow``.
    targets : mapping of str to Op, optional
        Ops that they are mapped to; by default those of the library.
    """
    known = LIBRARY if targets is None else targets
    message = new_message("MappingDefinitionSet")
    for each in ops:
        stem = re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", each.name).lower()
        target = known.get(stem)
        mapping = message.mappings.add(frameworkName=framework, opName=stem, inputFrameworkOpName=each.name)
        operands = target.operands if target is not None else tuple(name.lower() for name in each.inputs)
        _add_rule(mapping, "ndarraymapping", "outputTensorName", zip(operands, each.inputs, strict=False))
        attributes = target.attributes if target is not None else each.attributes
        same = [(name, name) for name in each.attributes if name in attributes]
        if same:
            _add_rule(mapping, "valuemapping", None, same)
    return written(message)


def _add_rule(mapping: Any, kind: str, field: str | None, names: Iterable[tuple[str, str]]) -> None:
    rule = mapping.rule.add(ruleName=kind)
    for ours, theirs in names:
        if field is not None:
            getattr(rule, field).append(ours)
        rule.inputToOutput.add(key=ours, value=theirs)
