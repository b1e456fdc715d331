"""Ops that a function mentions, and on which it is therefore tested."""

from __future__ import annotations

import builtins
import dis
from collections.abc import Callable, Iterator
from functools import partial
from itertools import pairwise
from types import CodeType, FunctionType
from typing import Any

import numpy as np

from graphrewrite.op import LIBRARY
from graphrewrite.op.op import Op
from graphrewrite.rewriting.rule.bytecode import codes_of
from graphrewrite.testing.generation.tables import DEFAULT_OPS

__all__ = ["ops_mentioned"]

_FORMS = ("input", "output", "constant")
"""Ops of every graph."""


def ops_mentioned(function: Callable[..., Any]) -> tuple[Op, ...]:
    """Return the ops of the library that a function names, or functions of its module that it calls.

    Ops that keep a state are among them if it asks ops for that.

    Examples
    --------
    >>> def count_sums(graph):
    ...     return sum(data["type"] in ("add", "sub") for data in graph.nodes.values())
    >>> ops_mentioned(count_sums)
    (<op add>, <op sub>)
    """
    while isinstance(function, partial):
        function = function.func
    words = dict.fromkeys(_words(function, set())) if isinstance(function, FunctionType) else {}
    mentioned = {word: LIBRARY[word] for word in words if word in LIBRARY and word not in _FORMS}
    if words.keys() & {"stateful", "has_state"}:
        mentioned.update({name: op for name, op in LIBRARY.items() if op.stateful})
    return tuple(mentioned.values())


_KNOWN_BEFORE = frozenset({*DEFAULT_OPS, "exp", "log", "pow"})
_AMBIGUOUS = frozenset(
    name
    for name in LIBRARY
    if name not in _KNOWN_BEFORE and any(hasattr(home, name) for home in (builtins, str, np, np.ndarray))
)
"""Names of ops that mean something else as well: ``x.shape`` mentions no op, and ``op.shape`` does."""


def _words(function: FunctionType, seen: set[int]) -> Iterator[str]:
    """Yield the texts and names in the code of a function, and in that of the functions of its module that it uses."""
    if id(function) in seen:
        return
    seen.add(id(function))
    for code in codes_of(function.__code__):
        for constant in code.co_consts:
            yield from _texts(constant)
        for name in code.co_names:
            used = function.__globals__.get(name)
            if isinstance(used, FunctionType) and used.__module__ == function.__module__:
                yield from _words(used, seen)
            elif used is None and (name not in _AMBIGUOUS or name in _of_ops(code)):
                yield name
            else:
                yield from _texts(used)


def _of_ops(code: CodeType) -> set[str]:
    """Return the attributes of ``op`` that code accesses."""
    steps = [step for step in dis.get_instructions(code) if step.opname not in ("CACHE", "EXTENDED_ARG")]
    return {
        then.argval
        for one, then in pairwise(steps)
        if one.argval == "op" and then.opname in ("LOAD_ATTR", "LOAD_METHOD")
    }


def _texts(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, tuple | list | set | frozenset):
        yield from sorted(text for text in value if isinstance(text, str))
