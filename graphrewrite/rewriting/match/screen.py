"""A screen before the search: what has to be below a node by types and numbers of readers, whatever variables bind."""

from __future__ import annotations

import math
from collections.abc import Mapping
from functools import lru_cache
from typing import Any, NamedTuple

from graphrewrite.graph.dataflow import only_orders_effects
from graphrewrite.rewriting.pattern import Either, Literal, Pattern, PatternNode, Repeated, Result, Variable, kinds_of

__all__ = ["Screen", "screen_of"]

_CONSTANT = frozenset({"constant"})
_DEPTH = 4
"""Terms so far below a root are left to the search: one that several terms read is looked at for each of them."""


class Screen(NamedTuple):
    """What has to be below a node: for each operand of which a pattern names the op, types and what is below these.

    With the types goes the most readers that a node of them may have: one that goes with the match has them all there.
    An operand may have alternatives. In which order operands are, and whether two are one, is left to the search.

    Examples
    --------
    >>> from graphrewrite import Graph, op, rule
    >>> @rule
    ... def r(x, c):
    ...     yield op.add(op.exp(op.neg(x)), c)
    ...     return x
    >>> screen = screen_of(r.pattern.roots[0])
    >>> g = Graph.parse('''graph g
    ... x = input() : f32[N]
    ... n = neg(x)
    ... e = exp(n)
    ... f = exp(x)
    ... a = add(x, e)
    ... b = add(x, f)
    ... y = output(a)
    ... z = output(b)''')
    >>> screen.admits("a", g), screen.admits("b", g)
    (True, False)
    """

    operands: tuple[tuple[tuple[frozenset[str], float, Screen], ...], ...]

    def admits(self, name: Any, graph: Any) -> bool:
        """Tell whether all of that is below a node; the pattern may fail to match all the same."""
        nodes, succ = graph._node, graph._succ
        for alternatives in self.operands:
            for source in graph._pred[name]:
                kind = nodes[source].get("type")
                for kinds, most, screen in alternatives:
                    readers = succ[source]
                    is_fit = kind in kinds and (len(readers) <= most or _count(readers) <= most)
                    if is_fit and (not screen.operands or screen.admits(source, graph)):
                        break
                else:
                    continue
                break
            else:
                return False
        return True


def _count(readers: Mapping[Any, Mapping[str, Any]]) -> int:
    """Return how many nodes read a value; to the order of effects a rewrite sees itself."""
    return sum(not only_orders_effects(edge) for edge in readers.values())


@lru_cache(maxsize=1024)
def screen_of(top: PatternNode, depth: int = _DEPTH, pattern: Pattern | None = None) -> Screen:
    """Return the screen of a pattern node, below which only nodes of the match read others, if its pattern is given."""
    found = [_alternatives(term, depth - 1, pattern) for term in top.operands] if depth else []
    # Most nodes have a constant: what is rarer decides sooner.
    return Screen(tuple(sorted(filter(None, found), key=lambda each: any(kinds is _CONSTANT for kinds, *_ in each))))


def _alternatives(term: Any, depth: int, pattern: Pattern | None) -> tuple[tuple[frozenset[str], float, Screen], ...]:
    """Return what the node of an operand may be; nothing where that may be any."""
    match term:
        case PatternNode():
            most = math.inf if pattern is None else pattern.most_readers(term)
            return ((term.kinds, most, screen_of(term, depth, pattern)),) if term.kinds else ()
        case Result():
            return _alternatives(term.node, depth, pattern)
        case Literal() | Variable(constant=True, optional=False):
            return ((_CONSTANT, math.inf, Screen(())),)
        case Repeated():  # whose links may have readers outside of the match
            return ((kinds, math.inf, Screen(())),) if (kinds := kinds_of(term)) else ()
        case Either():
            each = [_alternatives(option, depth, pattern) for option in term.options]
            return tuple(one for several in each for one in several) if all(each) else ()
    return ()
