"""Python's operators on symbolic operands: ``x + 1`` is ``op.add(x, 1)``."""

from __future__ import annotations

from contextvars import ContextVar
from typing import Any

__all__ = ["CURRENT", "Symbolic"]

CURRENT: ContextVar[Any] = ContextVar("CURRENT", default=None)
"""What the upper half of a rule that is running makes patterns with, or has matched: ops whose operands are all
literals, or missing from this match, find no other way to it."""


class Symbolic:
    """Mixin for whatever an op can be applied to without computing: values of a graph, variables of a rule."""

    __slots__ = ()
    __array_ufunc__ = None  # lets numpy arrays on the left defer to the operators below

    def apply_op(self, op: Any, operands: tuple[Any, ...], attributes: dict[str, Any]) -> Any:
        """Build whatever stands for ``op(*operands, **attributes)``."""
        raise NotImplementedError

    def _binary(self, name: str, left: Any, right: Any) -> Any:
        from graphrewrite import op  # the library defines its ops in terms of this module's users

        return self.apply_op(op.LIBRARY[name], (left, right), {})

    def __add__(self, other: Any) -> Any:
        return self._binary("add", self, other)

    def __radd__(self, other: Any) -> Any:
        return self._binary("add", other, self)

    def __sub__(self, other: Any) -> Any:
        return self._binary("sub", self, other)

    def __rsub__(self, other: Any) -> Any:
        return self._binary("sub", other, self)

    def __mul__(self, other: Any) -> Any:
        return self._binary("mul", self, other)

    def __rmul__(self, other: Any) -> Any:
        return self._binary("mul", other, self)

    def __truediv__(self, other: Any) -> Any:
        return self._binary("div", self, other)

    def __rtruediv__(self, other: Any) -> Any:
        return self._binary("div", other, self)

    def __matmul__(self, other: Any) -> Any:
        return self._binary("matmul", self, other)

    def __neg__(self) -> Any:
        from graphrewrite import op  # see above

        return self.apply_op(op.LIBRARY["neg"], (self,), {})
