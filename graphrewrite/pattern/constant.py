"""The annotation that narrows a variable to constants."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import numpy as np

__all__ = ["Constant"]


class Constant:
    """Annotation of a rule's variable: it binds a constant, whose array is then known as ``w.value``.

    Examples
    --------
    >>> from graphrewrite import op
    >>> from graphrewrite.rule import rule
    >>> @rule
    ... def double_constant(x, c: Constant):
    ...     "A sum with a constant."
    ...     yield op.add(x, c)
    ...     return op.add(x, c)
    >>> print(double_constant.pattern)
    add(x, c: Constant)
    """

    if TYPE_CHECKING:  # what such a variable offers below the yield (see `graphrewrite.replacement.Bound`)
        value: np.ndarray[Any, Any]
        shape: tuple[int, ...]
        type: Any
