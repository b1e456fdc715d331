"""Symbolic operands, to which ops apply without computing."""

from __future__ import annotations

from contextlib import AbstractContextManager, nullcontext
from contextvars import ContextVar
from typing import Any

__all__ = ["BELOW", "CURRENT", "Symbolic"]

CURRENT: ContextVar[Any] = ContextVar("CURRENT", default=None)
"""The run of the upper half of a rule: ops whose operands are all literals, or missing from a match, have no symbolic
operand to ask for it."""

BELOW: ContextVar[Any] = ContextVar("BELOW", default=None)
"""The run of the lower half of a rule: an op of literals only is computed there, unless it has a state, or a size among
its attributes is known to the graph alone."""


class Symbolic:
    """Mixin of symbolic operands: values of a graph, variables of a rule."""

    __slots__ = ()
    __array_ufunc__ = None  # lets numpy arrays on the left defer to the operators below

    def apply_op(self, op: Any, operands: tuple[Any, ...], attributes: dict[str, Any]) -> Any:
        """Return the symbolic result of ``op(*operands, **attributes)``."""
        raise NotImplementedError

    def undone_on_error(self, what: str) -> AbstractContextManager[None]:
        """Return a context in which several ops are applied or, if one fails, none; errors say what was applied."""
        return nullcontext()
