"""A strategy of patterns of rules."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from hypothesis import assume
from hypothesis import strategies as st

from graphrewrite.op import LIBRARY
from graphrewrite.op.op import Op
from graphrewrite.rewriting.pattern import Pattern
from graphrewrite.testing.generation.demand import Unfit
from graphrewrite.testing.generation.instance import has_instance
from graphrewrite.testing.generation.patterns import random_pattern
from graphrewrite.testing.strategies.picking import Choices, picking

__all__ = ["patterns"]

_OPS = ("neg", "add", "relu", "sub", "mul", "maximum", "abs", "leaky_relu", "fma", "linear", "concat", "transpose")


def patterns(*, ops: Iterable[Op | str] | None = None) -> st.SearchStrategy[Pattern]:
    """Return a strategy of patterns that have instances: what finds them, draws them or compiles them can be tested.

    They have all forms of the pattern language: one of several ops, any op, operands that may be missing, any number of
    operands, runs of links, groups of readers, alternatives, literals, conditions, what must not be there, attributes
    that are bound, several roots, and variables and nodes that stand in several places.

    Shrinks to one node of the first op, with variables as its operands.

    Parameters
    ----------
    ops : iterable of Op or str, optional
        What their nodes may be; some element-wise ops, layers and moves where not given.

    Returns
    -------
    SearchStrategy of Pattern
        ``graphs(containing=pattern)`` are graphs with instances of one.

    Examples
    --------
    >>> from hypothesis import find
    >>> print(find(patterns(ops=["neg", "add"]), lambda pattern: len(pattern.nodes) > 1))
    neg(neg(a))
    """
    return _patterns(tuple(LIBRARY[o] if isinstance(o, str) else o for o in (_OPS if ops is None else ops)))


_RECORD = st.binary(min_size=24, max_size=24)
_DRAWN = st.tuples(_RECORD, st.lists(_RECORD, min_size=1, max_size=4))
"""All choices of a pattern: those of the whole, and a record for each node."""


def _turns(pick: Choices, whole: bytes, records: Iterable[bytes]) -> Iterator[None]:
    for record in records:
        pick.begin(record)
        yield
    pick.begin(whole)


@st.composite
def _patterns(draw: Any, ops: tuple[Op, ...]) -> Pattern:
    pick = picking(draw)
    whole, records = draw(_DRAWN)
    pick.begin(whole[:1])
    try:
        pattern = random_pattern(pick, ops, _turns(pick, whole[1:], records))
    except Unfit:
        assume(False)
        raise  # it has raised
    assume(has_instance(pattern))
    return pattern
