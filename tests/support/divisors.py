"""Arithmetic whose divisors are never zero, and whose results are never infinite."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from hypothesis import strategies as st

from graphrewrite import Graph, Tensor, op
from graphrewrite.graph import Value

Binary = Callable[[Value, Value, np.ndarray, np.ndarray], Value]

FORMS: list[Binary] = [
    lambda x, y, c, d: op.div(op.sub(c, c), x),
    lambda x, y, c, d: op.mul(op.sub(c, c), x),
    lambda x, y, c, d: op.add(x, op.sub(c, c)),
    lambda x, y, c, d: op.sub(op.sub(c, c), x),
    lambda x, y, c, d: op.sub(x, x),
    lambda x, y, c, d: op.neg(op.sub(x, y)),
    lambda x, y, c, d: op.add(op.sub(x, c), d),
    lambda x, y, c, d: op.sub(d, op.add(x, c)),
    lambda x, y, c, d: op.div(op.mul(x, c), d),
    lambda x, y, c, d: op.mul(op.div(x, c), d),
    lambda x, y, c, d: op.div(d, op.mul(x, c)),
    lambda x, y, c, d: op.div(d, op.div(c, x)),
    lambda x, y, c, d: op.pow(x, op.div(c, op.mul(c, c.dtype.type(0.5)))),
    lambda x, y, c, d: op.pow(x, op.div(c, op.mul(c, c.dtype.type(2)))),
    lambda x, y, c, d: op.pow(x, op.div(c, op.neg(c))),
    lambda x, y, c, d: op.sqrt(op.mul(x, x)),
    lambda x, y, c, d: op.log(op.exp(x)),
    lambda x, y, c, d: op.reciprocal(op.reciprocal(x)),
    lambda x, y, c, d: op.mul(y, op.reciprocal(x)),
    lambda x, y, c, d: op.div(y, op.reciprocal(x)),
]


@st.composite
def tame_arithmetic(draw: st.DrawFn, forms: list[Binary] = FORMS) -> Graph:
    """One or two steps on numbers from 1 to 3, with constants of their size."""
    graph = Graph("tame")
    element, dtype = draw(st.sampled_from([("f32", np.float32), ("f64", np.float64)]))
    shape = draw(st.sampled_from([(), ("N",), ("N", 3), (2, 1, 3)]))
    x, y = (op.add(op.sigmoid(graph.input(name, Tensor(element, shape))), 1.0) for name in ("x", "y"))
    numbers = st.sampled_from([1.5, 0.5, 2.0, 3.0, 0.75])
    c, d = (np.full(draw(st.sampled_from([(), shape[1:]])), draw(numbers), dtype) for _ in range(2))
    for name in ("p", "q"):
        graph.output(name, draw(st.sampled_from(forms))(x, y, c, d))
    return graph
