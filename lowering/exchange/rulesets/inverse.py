"""Mapping rules backwards: from arguments of an op to the node of a framework from which they follow."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any

import numpy as np

from graphrewrite.lowering.errors import ModelError
from graphrewrite.lowering.exchange.entry import Unfit
from graphrewrite.lowering.exchange.rulesets.definitions import FrameworkOp
from graphrewrite.lowering.exchange.rulesets.kinds import MappingRule
from graphrewrite.lowering.exchange.rulesets.ruleset import OpMapping

__all__ = ["inverted", "part_of", "usual_entries"]

_PAIRED = frozenset({"pads"})
"""Lists with two entries for each axis, of which the others have one."""

Given = Callable[[MappingRule, str], Any]
"""The value of an argument that a rule gives; None where the call leaves it out."""


@dataclass(frozen=True)
class _Draft:
    """A node that is being written."""

    source: FrameworkOp
    shapes: Mapping[str, Sequence[Any]]
    unsaid: Mapping[str, Any]
    reads: dict[str, Any] = field(default_factory=dict)
    found: dict[str, Any] = field(default_factory=dict)
    entries: dict[str, dict[int, Any]] = field(default_factory=dict)
    otherwise: dict[str, dict[int, Any]] = field(default_factory=dict)
    texts: dict[str, list[tuple[str, Callable[[str], bool]]]] = field(default_factory=dict)
    named: dict[str, list[str]] = field(default_factory=dict)

    def say(self, name: str, value: Any) -> None:
        """Set an attribute, or the numbers of an input; other rules may give them as well."""
        if name in self.found and not _same(self.found[name], value):
            raise Unfit(f"{name} would be {self.found[name]!r} by one rule, and {value!r} by another")
        self.found[name] = value

    def say_entry(self, name: str, index: int, value: Any, otherwise: Any = None) -> None:
        """Set an entry of a list, and what it is read as where the node does not have the list."""
        if self.entries.setdefault(name, {}).setdefault(index, value) != value:
            raise Unfit(f"{name}[{index}] would be {self.entries[name][index]!r} by one rule, and {value!r} by another")
        self.otherwise.setdefault(name, {})[index] = otherwise

    def settle_texts(self) -> None:
        """Find the texts that the rules about them leave."""
        for name, facts in self.texts.items():
            said = " and ".join(dict.fromkeys(words for words, _ in facts))
            known = [text for text in (self.unsaid.get(name), self.source.defaults.get(name)) if text is not None]
            choices = dict.fromkeys([*self.source.choices.get(name, ()), *self.named.get(name, ()), *known])
            left = [text for text in choices if all(fact(text) for _, fact in facts)]
            if len(left) == 1 or self.unsaid.get(name) in left:
                self.say(name, left[0] if len(left) == 1 else self.unsaid[name])
            elif left or known:
                told = f"; {' and '.join(map(repr, left))} are left" if left else ""
                raise Unfit(f"{name} {said}, which does not say what it is{told}")

    def settle_lists(self) -> None:
        """Make lists of their entries; those that no rule gives are as in the definition's default."""
        axes = max((len(each) for name, each in self.entries.items() if name not in _PAIRED), default=None)
        for name, entries in self.entries.items():
            base = self.unsaid.get(name, self.source.defaults.get(name)) or ()
            every = {**dict(enumerate(base)), **entries}
            if name in _PAIRED and len(every) == axes:  # rules for one end of each axis hold where both are alike
                every |= {at + axes: value for at, value in entries.items()}
            short = name in _PAIRED and axes is not None and len(every) < 2 * axes
            if sorted(every) == list(range(len(every))) and not short:
                self.say(name, tuple(every[at] for at in range(len(every))))
            elif entries != self.otherwise[name]:  # else a node without the list reads the same
                given = ", ".join(map(str, sorted(entries)))
                raise Unfit(f"of its list {name} only the entries {given} are arguments, and the others are lost")


def _same(one: Any, other: Any) -> bool:
    return bool(np.array_equal(np.asarray(one), np.asarray(other)))


def inverted(
    mapping: OpMapping,
    source: FrameworkOp,
    given: Given,
    shapes: Mapping[str, Sequence[Any]] = MappingProxyType({}),
    unsaid: Mapping[str, Any] = MappingProxyType({}),
) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return what the inputs of a node read, and its attributes and the numbers of inputs, by the framework's names.

    Parameters
    ----------
    mapping : OpMapping
        Its rules.
    source : FrameworkOp
        The op of the node.
    given : callable
        The value of an argument, by the rule that gives it and its name.
    shapes : mapping of str to sequence, optional
        Shapes of inputs, with which arguments that are sizes are compared.
    unsaid : mapping of str to object, optional
        What is known of the node beside the call: of lists and texts of which arguments say a part.

    Raises
    ------
    Unfit
        If a rule cannot be written back; names the op, the rule and the reason.
    """
    draft = _Draft(source, shapes, unsaid)
    # Which entry of a list an argument is may depend on a text that other rules give.
    rules = sorted(mapping.rules, key=lambda rule: rule.kind.startswith("conditional"))
    settled = False
    for rule in rules:
        try:
            if rule.kind not in _WRITTEN:
                raise Unfit("there is no such kind")
            if rule.kind.startswith("conditional") and not settled:
                draft.settle_texts()
                settled = True
            _WRITTEN[rule.kind](rule, draft, given)
        except (Unfit, ModelError) as error:
            raise Unfit(f"{source.name} by the rule {rule.kind!r}: {error}") from None
    try:
        if not settled:
            draft.settle_texts()
        draft.settle_lists()
    except Unfit as error:
        raise Unfit(f"{source.name}: {error}") from None
    return draft.reads, draft.found


def _tensors(rule: MappingRule, draft: _Draft, given: Given) -> None:
    for argument, name in rule.names.items():
        value = given(rule, argument)
        if isinstance(value, np.ndarray) or name not in draft.source.inputs:  # a value of the node itself
            if value is not None:
                draft.say(name, value)
        elif value is not None:
            draft.reads[name] = value


def _all_tensors(rule: MappingRule, draft: _Draft, given: Given) -> None:
    values: Iterable[Any] = given(rule, "*") or ()
    flat = [each for value in values for each in (value if isinstance(value, tuple) else (value,))]
    source = draft.source
    several = [name for name in source.inputs if name in source.variadic]
    # Of inputs that stand for any number, each stands for as many: TensorFlow counts them by one attribute.
    count, left = divmod(max(0, len(flat) - len(source.inputs) + len(several)), max(1, len(several)))
    if several and left:
        raise Unfit(f"{len(flat)} inputs cannot be {' and '.join(several)} in equal numbers")
    at = 0
    for name in source.inputs:
        if name in several:
            draft.reads[name] = tuple(flat[at : at + count])
            at += count
        elif at < len(flat):
            draft.reads[name] = flat[at]
            at += 1


def _constants(rule: MappingRule, draft: _Draft, given: Given) -> None:
    for each in (each for group in rule.arguments.values() for each in group):
        if (value := given(rule, each.name)) != each.value:
            raise Unfit(f"{each.name} is {value!r}, and the ruleset has {each.value!r} only")


def _values(rule: MappingRule, draft: _Draft, given: Given) -> None:
    for argument, name in rule.names.items():
        if (value := given(rule, argument)) is not None:
            kind = draft.source.attributes.get(name)
            draft.say(name, int(value) if kind == "int" and isinstance(value, bool) else value)


def _truth_or_number(rule: MappingRule, draft: _Draft, given: Given) -> None:
    for argument, name in rule.names.items():
        if (value := given(rule, argument)) is not None:
            draft.say(name, bool(value) if draft.source.attributes.get(name) == "bool" else int(bool(value)))


def _arrays(rule: MappingRule, draft: _Draft, given: Given) -> None:
    for argument, name in rule.names.items():
        if (value := given(rule, argument)) is None:
            continue
        if draft.source.attributes.get(name, "tensor") != "tensor":
            value = np.asarray(value).tolist()
            value = tuple(value) if isinstance(value, list) else value
        draft.say(name, value)


def _entry(rule: MappingRule, draft: _Draft, given: Given) -> None:
    for argument, name in rule.names.items():
        if (value := given(rule, argument)) is not None:
            index, otherwise = rule.entry(argument)
            draft.say_entry(name, index, value, otherwise)


def _entry_by_text(rule: MappingRule, draft: _Draft, given: Given) -> None:
    for argument, name in rule.names.items():
        if (value := given(rule, argument)) is None:
            continue
        text = draft.found.get(name, draft.unsaid.get(name, draft.source.defaults.get(name)))
        if text is None:
            raise Unfit(f"{name}, on which it depends, is given by no other rule, and has no default")
        found = text == rule.constant(argument, "targetValue")
        index = int(rule.constant(argument, "trueIndex" if found else "falseIndex"))
        draft.say_entry(str(rule.constant(argument, "attributeNameOfListAttribute")), index, value)


def _text(rule: MappingRule, draft: _Draft, given: Given) -> None:
    for argument, name in rule.names.items():
        if (value := given(rule, argument)) is None:
            continue
        text, holds = str(rule.constant(argument)), bool(value) == (rule.kind != "stringnotequalsadapterrule")
        if rule.kind == "stringcontains":
            words, fact = f"contain {text!r}", lambda each, text=text, holds=holds: (text in each) == holds
        else:
            words, fact = f"be {text!r}", lambda each, text=text, holds=holds: (text == each) == holds
            draft.named.setdefault(name, []).append(text)
        draft.texts.setdefault(name, []).append((f"must {'' if holds else 'not '}{words}", fact))


def _place_of_text(rule: MappingRule, draft: _Draft, given: Given) -> None:
    for argument, name in rule.names.items():
        texts = [each.value for each in rule.arguments.get(argument, ())]
        if (index := given(rule, argument)) is None:
            continue
        if not isinstance(index, int) or not 0 <= index < len(texts):
            raise Unfit(f"{argument}={index!r} is no place in {texts}")
        draft.say(name, texts[index])


def _number_of_text(rule: MappingRule, draft: _Draft, given: Given) -> None:
    for argument, name in rule.names.items():
        constants = rule.arguments.get(argument, ())
        texts = {each.value: each.name for each in constants if each.name != "index"}
        if (value := given(rule, argument)) is None:
            continue
        if value not in texts:
            raise Unfit(f"{argument}={value!r} is none of {sorted(texts)}")
        if draft.source.attributes.get(name, "").startswith("list"):
            index = next((int(each.value) for each in constants if each.name == "index"), 0)
            draft.say_entry(name, index, texts[value])
        else:
            draft.say(name, texts[value])


def _size(rule: MappingRule, draft: _Draft, given: Given) -> None:
    """Compare a size with the input that has it, and which says it."""
    for argument, name in rule.names.items():
        shape, value = draft.shapes.get(name), given(rule, argument)
        at = int(rule.constant(argument))
        if value is not None and shape is not None and shape[at] != value:
            raise Unfit(f"{argument} is {value!r}, and its input {name} has {shape[at]} at axis {at}")


def _number_of_array(rule: MappingRule, draft: _Draft, given: Given) -> None:
    for argument, name in rule.names.items():
        if (value := given(rule, argument)) is None:
            continue
        if name not in draft.unsaid:
            raise Unfit(f"{argument}={value!r} does not say the shape and element type of the array {name}")
        array = np.array(draft.unsaid[name])
        array.reshape(-1)[0] = value
        draft.say(name, array)


def part_of(rule: MappingRule, attributes: Mapping[str, Any]) -> Iterator[tuple[str, int | None]]:
    """Yield lists and the index of the entry that a rule reads, and what it reads a part of in another way."""
    for argument, name in rule.names.items():
        if rule.kind == "listattributevaluelookuptoindex":
            yield name, rule.entry(argument)[0]
        elif rule.kind.startswith("conditional"):
            found = rule.constant(argument, "targetValue") == attributes.get(name)
            index = int(rule.constant(argument, "trueIndex" if found else "falseIndex"))
            yield name, None
            yield str(rule.constant(argument, "attributeNameOfListAttribute")), index
        elif rule.kind in _PARTIAL:
            yield name, None


def usual_entries(name: str, value: tuple[Any, ...], source: FrameworkOp) -> tuple[Any, ...]:
    """Return entries of a list that say nothing more: the default's, of pads those of the other end, else ones."""
    if name in _PAIRED:
        half = len(value) // 2
        return (*value[half : 2 * half], *value[:half], *value[2 * half :])
    default = source.defaults.get(name) or ()
    return (*default, *(1 for _ in value))[: len(value)]


_PARTIAL = ("attributendarraytoscalarattribute", "stringcontains", "stringequals", "stringnotequalsadapterrule")
_WRITTEN: Mapping[str, Callable[[MappingRule, _Draft, Given], None]] = {
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
    "ndarrayinputtonumericalattribute": _values,
    "ndarraytointattributevalue": _values,
    "listnumbertondarray": _arrays,
    "convertinputnumberlisttondarray": _arrays,
    "convertinputstringtondarray": _arrays,
    "attributenumberlistndarray": _arrays,
    "attributescalarndarrayattribute": _arrays,
    "ndarrayattributetondarrayinput": _arrays,
    "ndarrayinputtondarray": _arrays,
    "attributendarraytoscalarattribute": _number_of_array,
    "stringcontains": _text,
    "stringequals": _text,
    "stringnotequalsadapterrule": _text,
    "stringtoindex": _place_of_text,
    "mapstringtoindex": _number_of_text,
    "ndarraysizeat": _size,
}
