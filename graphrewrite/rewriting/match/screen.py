"""A screen before the search: what has to be below a node by its types alone, whatever variables bind."""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from typing import Any, NamedTuple

from graphrewrite.rewriting.pattern import Either, Literal, PatternNode, Result, Variable

__all__ = ["Screen", "screen_of"]

_CONSTANT = frozenset({"constant"})
_DEPTH = 4
"""Terms so far below a root are left to the search: one that several terms read is looked at for each of them."""


class Screen(NamedTuple):
    """What has to be below a node: for each operand of which a pattern names the op, types and what is below these.

    An operand may have alternatives. In which order operands are, and whether two are one, is left to the search.

    Examples
    --------
    >>> from graphrewrite import op, rule
    >>> @rule
    ... def r(x, c):
    ...     yield op.add(op.exp(op.neg(x)), c)
    ...     return x
    >>> screen = screen_of(r.pattern.roots[0])
    >>> nodes = {name: {"type": name} for name in ("add", "exp", "neg", "relu")}
    >>> screen.admits("add", nodes, {"add": ["relu", "exp"], "exp": ["neg"]})
    True
    >>> screen.admits("add", nodes, {"add": ["relu", "exp"], "exp": ["relu"]})
    False
    """

    operands: tuple[tuple[tuple[frozenset[str], Screen], ...], ...]

    def admits(self, name: Any, nodes: Mapping[Any, Mapping[str, Any]], pred: Mapping[Any, Any]) -> bool:
        """Tell whether all of that is below a node; the pattern may fail to match all the same."""
        for alternatives in self.operands:
            for source in pred[name]:
                kind = nodes[source].get("type")
                for kinds, screen in alternatives:
                    if kind in kinds and (not screen.operands or screen.admits(source, nodes, pred)):
                        break
                else:
                    continue
                break
            else:
                return False
        return True


@lru_cache(maxsize=1024)
def screen_of(top: PatternNode, depth: int = _DEPTH) -> Screen:
    """Return the screen of a pattern node."""
    found = [_alternatives(term, depth - 1) for term in top.operands] if depth else []
    # Most nodes have a constant: what is rarer decides sooner.
    return Screen(tuple(sorted(filter(None, found), key=lambda each: any(kinds is _CONSTANT for kinds, _ in each))))


def _alternatives(term: Any, depth: int) -> tuple[tuple[frozenset[str], Screen], ...]:
    """Return what the node of an operand may be; nothing where that may be any."""
    match term:
        case PatternNode():
            return ((term.kinds, screen_of(term, depth)),) if term.kinds else ()
        case Result():
            return _alternatives(term.node, depth)
        case Literal() | Variable(constant=True, optional=False):
            return ((_CONSTANT, Screen(())),)
        case Either():
            each = [_alternatives(option, depth) for option in term.options]
            return tuple(one for several in each for one in several) if all(each) else ()
    return ()
