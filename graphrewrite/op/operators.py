"""Python's operators on symbolic operands: ``x + 1`` is ``op.add(x, 1)``."""

from __future__ import annotations

from typing import Any

from graphrewrite.op.library import LIBRARY
from graphrewrite.op.symbolic import Symbolic

__all__ = ["Operators"]


class Operators(Symbolic):
    """Mixin of symbolic operands, such as values of graphs and variables of rules, that Python's operators work on."""

    __slots__ = ()

    def _binary(self, name: str, left: Any, right: Any) -> Any:
        return self.apply_op(LIBRARY[name], (left, right), {})

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
        return self.apply_op(LIBRARY["neg"], (self,), {})
