"""Python's operators on symbolic operands: ``x + 1`` is ``op.add(x, 1)``."""

from __future__ import annotations

from typing import Any

from graphrewrite.op.library import LIBRARY
from graphrewrite.op.symbolic import Symbolic

__all__ = ["Operators"]


def _binary(name: str) -> Any:
    def apply(self: Symbolic, other: Any) -> Any:
        return self.apply_op(LIBRARY[name], (self, other), {})

    return apply


def _reflected(name: str) -> Any:
    def apply(self: Symbolic, other: Any) -> Any:
        return self.apply_op(LIBRARY[name], (other, self), {})

    return apply


class Operators(Symbolic):
    """Mixin of symbolic operands, such as values of graphs and variables of rules, that Python's operators work on."""

    __slots__ = ()

    __add__, __radd__ = _binary("add"), _reflected("add")
    __sub__, __rsub__ = _binary("sub"), _reflected("sub")
    __mul__, __rmul__ = _binary("mul"), _reflected("mul")
    __truediv__, __rtruediv__ = _binary("div"), _reflected("div")
    __matmul__ = _binary("matmul")

    def __neg__(self) -> Any:
        return self.apply_op(LIBRARY["neg"], (self,), {})
