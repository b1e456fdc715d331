"""Symbolic sizes of PyTorch, which are expressions of sympy, as sizes of a graph."""

from __future__ import annotations

import functools
import operator
from collections.abc import Callable, Mapping
from typing import Any

from graphrewrite.lowering.exchange.entry import Unfit
from graphrewrite.types import as_size, size_max, size_min

__all__ = ["size_of"]

_FUNCTIONS: Mapping[str, Callable[[Any, Any], Any]] = {
    "Add": operator.add,
    "CleanDiv": operator.floordiv,
    "FloorDiv": operator.floordiv,
    "Max": size_max,
    "Min": size_min,
    "Mod": operator.mod,
    "Mul": operator.mul,
    "PythonMod": operator.mod,
}


def size_of(size: Any, names: Mapping[str, str]) -> Any:
    """Return a size, or the value of a whole symbolic number; ``names`` are those of symbols."""
    if isinstance(size, int):
        return size
    return _converted(size.node.expr, names)


def _converted(expression: Any, names: Mapping[str, str]) -> Any:
    kind = type(expression).__name__
    if expression.is_Integer:
        return int(expression)
    if expression.is_Symbol:
        return as_size(names.get(expression.name, expression.name))
    if kind == "Pow" and expression.exp.is_Integer and expression.exp > 0:
        return functools.reduce(operator.mul, [_converted(expression.base, names)] * int(expression.exp))
    if kind not in _FUNCTIONS:
        raise Unfit(f"the size {expression} is not supported; there are + - * // % min and max")
    return functools.reduce(_FUNCTIONS[kind], [_converted(each, names) for each in expression.args])
