"""A strategy of attributes that fit an op."""

from __future__ import annotations

from typing import Any

from hypothesis import assume
from hypothesis import strategies as st

from graphrewrite.op.op import Op
from graphrewrite.testing.generation.backward import tensor_of
from graphrewrite.testing.generation.demand import Demand, Unfit
from graphrewrite.testing.generation.tables import kinds_of, meet
from graphrewrite.testing.strategies.picking import picking

__all__ = ["attributes_of"]


@st.composite
def attributes_of(draw: Any, op: Op) -> dict[str, Any]:
    """Return a strategy of attributes that fit an op and some operands; shrinks to its defaults.

    Parameters
    ----------
    op : Op
        The op.

    Returns
    -------
    SearchStrategy of dict

    Examples
    --------
    >>> from graphrewrite import op
    >>> from hypothesis import find
    >>> find(attributes_of(op.transpose), lambda found: found["perm"][0] == 1 and len(found["perm"]) == 2)
    {'perm': (1, 0)}
    """
    pick = picking(draw)
    kinds = kinds_of(op.name)
    for _ in range(20):
        try:
            return meet(Demand(op, tensor_of(*pick(kinds), pick), max(op.required, 1), pick)).attributes
        except Unfit:
            continue
    assume(False)
    raise AssertionError("assume(False) raises")
