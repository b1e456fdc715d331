r"""Implementations: functions that compute an op on a backend, in an element type, layout or kernel of their own.

Examples
--------
>>> import numpy as np
>>> from graphrewrite import Graph, evaluate, op
>>> g = Graph.parse("graph g\nx = input() : f32[N,2]\nr = relu(x)\ny = output(r)")
>>> fast = Implementation(op.relu, lambda x: np.maximum(x, 0), backend="numpy", element="f64")
>>> print(insert_conversions([fast])(g))
graph g
x = input() : f32[N,2]
cast_1 = cast(x, element='f64') : f64[N,2]
r = relu(cast_1) : f64[N,2]
cast_2 = cast(r, element='f32') : f32[N,2]
y = output(cast_2)
>>> evaluate(g, {"x": [[-1, 2]]}, implementations=[fast])["y"].tolist()
[[0.0, 2.0]]
"""

from __future__ import annotations

from graphrewrite.execution.implementation.choice import Fit, Wanted, choose, fits
from graphrewrite.execution.implementation.generic_nodes import replace_generic
from graphrewrite.execution.implementation.implementation import (
    Implementation,
    Implementations,
    check_implementations,
)
from graphrewrite.execution.implementation.insertion import insert_conversions

__all__ = [
    "Fit",
    "Implementation",
    "Implementations",
    "Wanted",
    "check_implementations",
    "choose",
    "fits",
    "insert_conversions",
    "replace_generic",
]


def __dir__() -> list[str]:
    return sorted(__all__)
