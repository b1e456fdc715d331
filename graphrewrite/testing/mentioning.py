"""Which ops a function speaks of: it does something where they are."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from types import FunctionType
from typing import Any

from graphrewrite.definition import codes_of
from graphrewrite.op import LIBRARY
from graphrewrite.op.op import Op

__all__ = ["ops_mentioned"]

_FORMS = ("input", "output", "constant")
"""What is in every graph."""


def ops_mentioned(function: Callable[..., Any]) -> tuple[Op, ...]:
    """Return the ops of the library that a function names, or functions of its module that it calls.

    Ops that keep a state are among them if it asks ops for that.

    Parameters
    ----------
    function : callable
        That of a pass, say.

    Returns
    -------
    tuple of Op

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
    found = {word: LIBRARY[word] for word in words if word in LIBRARY and word not in _FORMS}
    if "stateful" in words:
        found.update({name: op for name, op in LIBRARY.items() if op.stateful})
    return tuple(found.values())


def _words(function: FunctionType, seen: set[int]) -> Iterator[str]:
    """Yield the texts and names in the code of a function, and of what it uses of its own module."""
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
            elif used is None:
                yield name
            else:
                yield from _texts(used)


def _texts(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, tuple | list | set | frozenset):
        yield from sorted(text for text in value if isinstance(text, str))
