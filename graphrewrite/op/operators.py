"""Python's operators on symbolic operands: ``x + 1`` is ``op.add(x, 1)``, and ``x[0]`` a slice."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from graphrewrite.op.library import LIBRARY
from graphrewrite.op.subscripts import subscripted
from graphrewrite.op.symbolic import Symbolic
from graphrewrite.types import Dimension, Type, element_dtype

__all__ = ["Operators", "TypedOperators"]


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
    __matmul__, __rmatmul__ = _binary("matmul"), _reflected("matmul")
    __pow__, __rpow__ = _binary("pow"), _reflected("pow")

    def __neg__(self) -> Any:
        return self.apply_op(LIBRARY["neg"], (self,), {})


class TypedOperators(Operators):
    """Mixin of symbolic operands whose type is known, which have what an array has besides."""

    __slots__ = ()

    if TYPE_CHECKING:

        @property
        def type(self) -> Type:
            """The type of the value."""

    @property
    def shape(self) -> tuple[Dimension, ...]:
        """The sizes of the axes."""
        return self.type.shape

    @property
    def ndim(self) -> int:
        """The number of axes."""
        return len(self.shape)

    @property
    def dtype(self) -> np.dtype[Any]:
        """The dtype of the arrays that hold it."""
        return element_dtype(self.type.element)

    @property
    def T(self) -> Any:  # as numpy calls it
        """The value with its axes in the opposite order."""
        if self.ndim < 2:
            return self
        return self.apply_op(LIBRARY["transpose"], (self,), {"perm": tuple(reversed(range(self.ndim)))})

    def __getitem__(self, index: Any) -> Any:
        return subscripted(self, index)
