"""Texts of a rule's conditions beyond the form of its pattern."""

from __future__ import annotations

import ast
import inspect
import textwrap
from collections.abc import Callable, Iterator
from typing import Any

from graphrewrite.rewriting.pattern import PatternNode, Variable, Where, walk
from graphrewrite.rewriting.rule.declaration import Rule
from graphrewrite.view.plain import plain

__all__ = ["conditions_of", "declines_of", "options_of"]


def conditions_of(rule: Rule) -> tuple[str, ...]:
    """Return the requirements of a rule and its reasons to decline, one line each.

    Examples
    --------
    >>> from graphrewrite import decline, op, rule
    >>> @rule
    ... def drop_small_pool(x):
    ...     "A pool of one pixel is its input."
    ...     pool = op.max_pool(x, kernel=rule.where(lambda k: set(k) == {1}, "one pixel"))
    ...     yield pool
    ...     if any(pool.pads):
    ...         return decline("its border is not empty", at=pool)
    ...     return x
    >>> conditions_of(drop_small_pool)
    ('requires kernel: one pixel', 'declines: its border is not empty')
    """
    required = [
        f"requires {subject}: {reason}" if subject else f"requires: {reason}" for subject, reason in _words(rule)
    ]
    return (*dict.fromkeys(required), *(f"declines: {reason}" for reason in declines_of(rule.function)))


def _words(rule: Rule) -> Iterator[tuple[str, str]]:
    """Yield the conditions on values and attributes, each with the name of its subject."""
    terms = {id(part): part for root in (*rule.pattern.roots, *rule.pattern.forbidden) for part in walk(root)}
    for term in terms.values():
        if isinstance(term, Where):
            yield "", term.reason
        if isinstance(term, Variable) and term.condition is not None:
            yield term.name, term.condition.reason
        if isinstance(term, PatternNode):
            for name, value in term.attributes.items():
                if isinstance(value, Where):
                    yield name, value.reason
                elif isinstance(value, Variable) and value.condition is not None:
                    yield value.name, value.condition.reason


def declines_of(function: Callable[..., Any]) -> tuple[str, ...]:
    """Return the reasons for which a rule's function declines, as they stand in its source.

    Examples
    --------
    >>> from graphrewrite import decline, op, rule
    >>> @rule
    ... def drop_reshape(x):
    ...     "A reshape to the shape that is there already does nothing."
    ...     same = op.reshape(x)
    ...     yield same
    ...     return x if x.type == same.type else decline(f"the shape changes to {same.type}", at=same)
    >>> declines_of(drop_reshape.function)
    ('the shape changes to …',)
    """
    try:
        tree = ast.parse(textwrap.dedent(inspect.getsource(function)))
    except (OSError, TypeError, SyntaxError):  # typed at a prompt, or part of a larger expression
        return ()
    calls = [n for n in ast.walk(tree) if isinstance(n, ast.Call) and _is_decline(n.func)]
    calls.sort(key=lambda call: (call.lineno, call.col_offset))
    reasons = (_text(call.args[0] if call.args else _keyword(call, "reason")) for call in calls)
    return tuple(dict.fromkeys(plain(reason, 200) for reason in reasons if reason))


def _is_decline(function: ast.expr) -> bool:
    name = function.attr if isinstance(function, ast.Attribute) else getattr(function, "id", "")
    return name == "decline"


def _keyword(call: ast.Call, name: str) -> ast.expr | None:
    return next((keyword.value for keyword in call.keywords if keyword.arg == name), None)


def _text(reason: ast.expr | None) -> str:
    if isinstance(reason, ast.Constant) and isinstance(reason.value, str):
        return reason.value
    if isinstance(reason, ast.JoinedStr):
        return "".join(str(part.value) if isinstance(part, ast.Constant) else "…" for part in reason.values)
    return ""


def options_of(value: set[Any] | frozenset[Any] | range) -> list[Any]:
    """Return the members of a set or a range in a stable order.

    Examples
    --------
    >>> options_of({(2, 2), (1, 1)})
    [(1, 1), (2, 2)]
    """
    try:
        return sorted(value)
    except TypeError:  # members of several types
        return sorted(value, key=repr)
