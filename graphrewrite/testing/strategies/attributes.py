"""A strategy of attributes that fit an op."""

from __future__ import annotations

from typing import Any

from hypothesis import assume
from hypothesis import strategies as st

from graphrewrite.op.op import Op
from graphrewrite.testing.generation.backward import tensor_of
from graphrewrite.testing.generation.demand import Demand, Pick, Unfit
from graphrewrite.testing.generation.experience import taken
from graphrewrite.testing.generation.fitting import Case
from graphrewrite.testing.generation.proposing import TURNS, propose, sources
from graphrewrite.testing.generation.suggested import starts_of
from graphrewrite.testing.generation.tables import TABLE, kinds_of, meet
from graphrewrite.testing.strategies.picking import picking

__all__ = ["attributes_of"]


def _proposed(op: Op, pick: Pick) -> Case | None:
    """A case of an op for operands that it was found to take."""
    if not op.operands:
        cases = sources(op)
        return pick(cases) if cases else None
    known = taken(op)
    if not known:
        return None
    kind = pick(list(known))
    first, count = pick(starts_of(op, kind)), pick(known[kind])
    return propose(op, first, count, pick(range(TURNS))) or propose(op, first, count, 0)


@st.composite
def attributes_of(draw: Any, op: Op) -> dict[str, Any]:
    """Return a strategy of attributes that fit an op and some operands; shrinks to its defaults.

    Examples
    --------
    >>> from graphrewrite import op
    >>> from hypothesis import find
    >>> find(attributes_of(op.transpose), lambda found: found["perm"][0] == 1 and len(found["perm"]) == 2)
    {'perm': (1, 0)}
    """
    pick = picking(draw)
    if op.name not in TABLE:
        found = _proposed(op, pick)
        if found is not None:
            return found.attributes
    kinds = kinds_of(op.name)
    for _ in range(20):
        try:
            return meet(Demand(op, tensor_of(*pick(kinds), pick), max(op.required, 1), pick)).attributes
        except Unfit:
            continue
    assume(False)
    raise AssertionError("assume(False) raises")
