"""What the code of a function mentions, on which it is tested therefore: ops, and values near to which it decides."""

from __future__ import annotations

import builtins
import dis
import inspect
from collections.abc import Callable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass
from functools import partial
from itertools import chain, pairwise
from types import CodeType, FunctionType, MethodType, ModuleType
from typing import Any, NamedTuple

import numpy as np

from graphrewrite.op import LIBRARY
from graphrewrite.op.op import Op
from graphrewrite.rewriting.facts import Predicate
from graphrewrite.rewriting.passes import Pipeline
from graphrewrite.rewriting.rule.declaration import Rule
from graphrewrite.testing.generation.kinds import UNSIGNED
from graphrewrite.testing.generation.tables import DEFAULT_OPS
from graphrewrite.types import NAMES, Element, FixedPoint, Quantised

__all__ = [
    "Mentioned",
    "Used",
    "code_used",
    "mentions_memory",
    "ops_mentioned",
    "rules_used",
    "texts_in",
    "values_mentioned",
]


class Used(NamedTuple):
    """Code that runs when a function is called.

    Attributes
    ----------
    start : int
        Where it begins: of a rule below its yield.
    """

    code: CodeType
    function: Callable[..., Any]
    start: int = 0

    @property
    def steps(self) -> list[dis.Instruction]:
        """The instructions."""
        steps = [step for step in dis.get_instructions(self.code) if step.offset > self.start or not self.start]
        return [step for step in steps if step.opname not in ("CACHE", "EXTENDED_ARG")]

    def value(self, step: dis.Instruction) -> Any:
        """Return what an instruction loads from outside of the code; None if that is unknown."""
        match step.opname:
            case "LOAD_CONST" | "RETURN_CONST" | "LOAD_SMALL_INT":
                return step.argval
            case "LOAD_GLOBAL" | "LOAD_NAME":
                return self.function.__globals__.get(step.argval)
            case "LOAD_DEREF":
                cells = dict(zip(self.function.__code__.co_freevars, self.function.__closure__ or (), strict=True))
                try:
                    return cells[step.argval].cell_contents
                except (KeyError, ValueError):  # a variable of an outer function in the code, or not set yet
                    return None
        return None


def code_used(function: Callable[..., Any]) -> tuple[Used, ...]:
    """Return the code of a function, of functions inside it, and of those of its module that it uses.

    Examples
    --------
    >>> def by_size(graph):
    ...     return sorted(graph, key=lambda node: -node)
    >>> [used.code.co_name for used in code_used(by_size)]
    ['by_size', '<lambda>']
    """
    while isinstance(function, partial | MethodType):
        function = function.func if isinstance(function, partial) else function.__func__
    if not isinstance(function, FunctionType):
        return ()
    found: dict[CodeType, Used] = {}
    start = 0
    if function.__code__.co_flags & inspect.CO_GENERATOR:
        start = next(step.offset for step in dis.get_instructions(function) if step.opname == "YIELD_VALUE")
    work = [Used(function.__code__, function, start)]
    while work:
        used = work.pop(0)
        if used.code in found:
            continue
        found[used.code] = used
        for step in used.steps:
            value = used.value(step)
            if isinstance(value, CodeType):
                work.append(Used(value, used.function))
            elif isinstance(value, FunctionType) and value.__module__ == function.__module__:
                work.append(Used(value.__code__, value))
    return tuple(found.values())


# ---------------------------------------------------------------------- rules


def rules_used(function: Callable[..., Any]) -> tuple[Rule, ...]:
    """Return the rules that the code of a function loads, alone, in rule sets, or from modules.

    Examples
    --------
    >>> from graphrewrite import rewrite, rules
    >>> def tidy(graph):
    ...     return rewrite(graph, [rules.drop_identity, rules.drop_abs])
    >>> [rule.name for rule in rules_used(tidy)]
    ['drop_identity', 'drop_abs']
    """
    loaded: list[Any] = []
    while isinstance(function, partial):
        loaded += [*function.args, *function.keywords.values()]
        function = function.func
    for used in code_used(function):
        for step, then in pairwise((*used.steps, used.steps[-1])):
            value = used.value(step)
            if isinstance(value, ModuleType) and then.opname in ("LOAD_ATTR", "LOAD_METHOD"):
                value = getattr(value, then.argval, None)
            loaded.append(value)
    return tuple(dict.fromkeys(rule for value in loaded for rule in _rules_in(value)))


def _rules_in(value: Any) -> Iterator[Rule]:
    if isinstance(value, Rule):
        yield value
    elif isinstance(value, Pipeline):
        yield from _rules_in(value.phases)
    elif isinstance(value, tuple | list):
        for each in value:
            yield from _rules_in(each)


# ---------------------------------------------------------------------- values

_LONGEST = 24
"""Characters of a text that is a value and no message."""
_SOON = 8
"""So many instructions after a length, a comparison is one with it."""
_MOST = 16
"""Entries of an array or a table that are looked at."""


@dataclass(frozen=True)
class Mentioned:
    """Values near to which a function may decide.

    Attributes
    ----------
    numbers : tuple of int and float
        Each once.
    others : tuple
        Texts and formats.
    attributes : frozenset of str
        Names of attributes that it reads.
    lengths : tuple of int
        With what it compares lengths, such as numbers of axes.
    moderate : bool
        Whether floats are to stay between -8 and 8, for what it gives is compared within a tolerance.
    asks : bool
        Whether it asks what is known of a value.

    Examples
    --------
    >>> Mentioned((4, 0.5)).boundaries
    (4, 5, 3, -4, 0.5, 1.5, -0.5)
    """

    numbers: tuple[float, ...] = ()
    others: tuple[Any, ...] = ()
    attributes: frozenset[str] = frozenset()
    lengths: tuple[int, ...] = ()
    moderate: bool = False
    asks: bool = False

    @property
    def limits(self) -> tuple[float, ...] | None:
        """Limits that it may ask for; None if it asks for nothing that is known of a value."""
        return tuple(number for number in self.numbers if abs(number) > 1) if self.asks else None

    @property
    def boundaries(self) -> tuple[float, ...]:
        """The numbers, their neighbours, and their negatives, for code may ask for what is absolute."""
        return tuple(dict.fromkeys(near for n in self.numbers for near in (n, n + 1, n - 1, -n)))

    @property
    def elements(self) -> tuple[Element, ...]:
        """The element types among them; all without a sign if it looks at the letter of these."""
        named = tuple(other for other in self.others if not isinstance(other, str) or other in NAMES)
        return tuple(dict.fromkeys((*named, *UNSIGNED))) if "u" in self.others else named

    def __or__(self, other: Mentioned) -> Mentioned:
        """Values that either mentions."""
        joined = {
            name: tuple(dict.fromkeys((*getattr(self, name), *getattr(other, name))))
            for name in ("numbers", "others", "lengths")
        }
        return Mentioned(
            attributes=self.attributes | other.attributes,
            moderate=self.moderate,
            asks=self.asks or other.asks,
            **joined,
        )

    def __bool__(self) -> bool:
        return bool(self.numbers or self.others)


def values_mentioned(function: Callable[..., Any]) -> Mentioned:
    """Return the values in the code of a function: of a rule below its yield.

    Examples
    --------
    >>> def is_narrow(kind, most=8):
    ...     return kind.width < most or kind.name in ("s4", "u4") and kind.fraction == 31
    >>> values_mentioned(is_narrow).numbers, values_mentioned(is_narrow).others
    ((8, 31), ('s4', 'u4'))
    """
    found: list[Any] = []
    names: set[str] = set()
    lengths: dict[int, None] = {}
    while isinstance(function, partial):
        found += [*function.args, *function.keywords.values()]
        function = function.func
    found.append(function)
    for used in code_used(function):
        if used.code is used.function.__code__:
            found += [*(used.function.__defaults__ or ()), *(used.function.__kwdefaults__ or {}).values()]
        steps = used.steps
        found += [used.value(step) for step in steps]
        names.update(step.argval for step in steps if step.opname in ("LOAD_ATTR", "LOAD_METHOD"))
        lengths.update(dict.fromkeys(_lengths(steps)))
    values = dict.fromkeys(value for each in found for value in _scalars(each))
    # Names of keywords, and what messages are made of, are in the code as well.
    numbers = tuple(v for v in values if isinstance(v, int | float))
    others = tuple(v for v in values if not isinstance(v, int | float))
    asks = "fact" in names or any(isinstance(each, Predicate) for each in found)
    return Mentioned(numbers, others, frozenset(names), tuple(lengths), asks=asks)


def _lengths(steps: Sequence[dis.Instruction]) -> Iterator[int]:
    """Yield the numbers with which a length is compared soon after it is taken."""
    since = _SOON
    for one, then in pairwise(steps):
        since = 0 if one.argval == "len" else since + 1
        if since < _SOON and then.opname in ("COMPARE_OP", "CONTAINS_OP"):
            entries = one.argval if isinstance(one.argval, tuple | frozenset) else (one.argval,)
            yield from (n for n in entries if type(n) is int)


def _scalars(value: Any) -> Iterator[Any]:
    """Yield numbers, short texts and formats in a value."""
    if isinstance(value, bool | np.bool_):
        return
    if isinstance(value, np.ndarray | np.generic):
        for entry in value.ravel()[:_MOST].tolist():
            yield from _scalars(entry) if not isinstance(entry, np.generic) else ()
    elif isinstance(value, float):
        if np.isfinite(value):
            yield value
    elif isinstance(value, int | FixedPoint | Quantised):
        yield value
    elif isinstance(value, str):
        if value and len(value) <= _LONGEST and not any(character.isspace() for character in value):
            yield value
    elif isinstance(value, slice):
        yield from _scalars((value.start, value.stop, value.step))
    elif isinstance(value, Mapping):
        yield from _scalars([*list(value)[:_MOST], *list(value.values())[:_MOST]])
    elif isinstance(value, Set):
        yield from _scalars(sorted(value, key=repr))
    elif isinstance(value, tuple | list | range):
        for entry in value[:_MOST]:
            yield from _scalars(entry)


# ---------------------------------------------------------------------- ops

_FORMS = ("input", "output")
"""Ops of every graph."""
_MOST_ALIKE, _LEAST = 24, 4
"""Ops whose names have a part in common that code asks for, and letters of one that is anywhere in a name."""


def ops_mentioned(function: Callable[..., Any]) -> tuple[Op, ...]:
    """Return the ops of the library that a function names, or functions and classes of its module that it calls.

    Ops that keep a state are among them if it asks ops for that.

    Examples
    --------
    >>> def count_sums(graph):
    ...     return sum(data["type"] in ("add", "sub") for data in graph.nodes.values())
    >>> ops_mentioned(count_sums)
    (<op add>, <op sub>)
    """
    words = dict.fromkeys(word for used in _all_code(function) for word in _words(used))
    # Ops of memory have names such as `copy` and `insert`, which are those of methods.
    known = {name: op for name, op in LIBRARY.items() if op.level != "memory"}
    mentioned = {word: known[word] for word in words if word in known and word not in _FORMS}
    for part, holds in chain.from_iterable(map(_parts_of_names, _all_code(function))):
        alike = {name: op for name, op in known.items() if name not in _FORMS and holds(name, part)}
        mentioned |= alike if len(alike) <= _MOST_ALIKE else {}
    if words.keys() & {"stateful", "has_state"}:
        mentioned.update({name: op for name, op in known.items() if op.stateful})
    return tuple(mentioned.values())


def _parts_of_names(used: Used) -> Iterator[tuple[str, Callable[[str, str], bool]]]:
    """Yield the texts with which code asks whether names begin or end, or hold them, each with what tells."""
    steps = used.steps
    for number, step in enumerate(steps):
        if step.argval in ("startswith", "endswith"):
            texts = (text for later in steps[number + 1 : number + 3] for text in _texts(used.value(later)))
            yield from ((text, getattr(str, step.argval)) for text in texts)
        elif step.opname == "CONTAINS_OP":
            held = map(used.value, steps[max(0, number - _SOON) : number])
            texts = (text for text in held if isinstance(text, str) and len(text) >= _LEAST and text not in LIBRARY)
            yield from ((text, str.__contains__) for text in texts)


def mentions_memory(function: Callable[..., Any]) -> bool:
    """Tell whether a function has texts in it that are names of ops of memory.

    Examples
    --------
    >>> def count_regions(graph):
    ...     return sum(data["type"] == "alloc" for data in graph.nodes.values())
    >>> mentions_memory(count_regions), mentions_memory(sorted)
    (True, False)
    """
    return any(LIBRARY[text].level == "memory" for text in texts_in(function) if text in LIBRARY)


def texts_in(function: Callable[..., Any]) -> frozenset[str]:
    """Return the texts in the code of a function, and of functions and classes of its module that it uses."""
    return frozenset(text for used in _all_code(function) for step in used.steps for text in _texts(used.value(step)))


def _all_code(function: Callable[..., Any]) -> tuple[Used, ...]:
    """Return the code of a function, and that of methods of classes of its module as well."""
    found: dict[CodeType, Used] = {}
    work = [function]
    seen: set[type] = set()
    while work:
        for used in code_used(work.pop(0)):
            if found.setdefault(used.code, used) is not used:
                continue
            classes = [v for step in used.steps if isinstance(v := used.value(step), type)]
            for each in classes:
                if each.__module__ == used.function.__module__ and each not in seen:
                    seen.add(each)
                    work += [member for member in vars(each).values() if isinstance(member, FunctionType)]
    return tuple(found.values())


_KNOWN_BEFORE = frozenset({*DEFAULT_OPS, "exp", "log", "pow"})
_AMBIGUOUS = frozenset(
    name
    for name in LIBRARY
    if name not in _KNOWN_BEFORE and any(hasattr(home, name) for home in (builtins, str, np, np.ndarray))
)
"""Names of ops that mean something else as well: ``x.shape`` mentions no op, and ``op.shape`` does."""


def _words(used: Used) -> Iterator[str]:
    """Yield the texts and names in code."""
    for constant in used.code.co_consts:
        yield from _texts(constant)
    for name in used.code.co_names:
        value = used.function.__globals__.get(name)
        if value is None and (name not in _AMBIGUOUS or name in _of_ops(used)):
            yield name
        else:
            yield from _texts(value)


def _of_ops(used: Used) -> set[str]:
    """Return the attributes of ``op`` that code accesses."""
    return {
        then.argval
        for one, then in pairwise(used.steps)
        if one.argval == "op" and then.opname in ("LOAD_ATTR", "LOAD_METHOD")
    }


def _texts(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, tuple | list | set | frozenset):
        yield from sorted(text for text in value if isinstance(text, str))
