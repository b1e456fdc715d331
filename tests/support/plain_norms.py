"""Batch norms that do nothing: the gain is the standard deviation, and the shift is the mean."""

from __future__ import annotations

import numpy as np
from hypothesis import strategies as st

from graphrewrite import Graph, Tensor, op

__all__ = ["norms_with_limits", "plain_norms"]


@st.composite
def plain_norms(draw: st.DrawFn) -> Graph:
    """Return graphs of a norm that does nothing, after another op or before one."""
    element, dtype = draw(st.sampled_from([("f32", np.float32), ("f64", np.float64), ("f16", np.float16)]))
    layout = draw(st.sampled_from([None, None, "NHWC"]))
    channels = draw(st.integers(1, 3))
    positions = (2, 3) if layout else draw(st.sampled_from([(), (4,), (2, 3)]))
    shape = ("N", *positions, channels) if layout else ("N", channels, *positions)
    numbers = st.lists(st.floats(0.25, 4, width=16), min_size=channels, max_size=channels)
    var, mean = (np.array(draw(numbers), dtype) for _ in range(2))
    epsilon = draw(st.sampled_from([0.0, 1e-5, 0.5]))
    gain = np.sqrt(var + dtype(epsilon))
    graph = Graph("plain")
    x = graph.input("x", Tensor(element, shape, layout))
    if draw(st.booleans()):
        x = op.relu(x)
    y = op.batch_norm(x, gain, mean, mean, var, epsilon=epsilon)
    graph.output("y", op.abs(y) if draw(st.booleans()) else y)
    return graph


@st.composite
def norms_with_limits(draw: st.DrawFn) -> Graph:
    """Return graphs of whole numbers divided by their norm, or by a limit of it that only zeros are below."""
    graph = Graph("limited")
    x = op.round(graph.input("x", Tensor(draw(st.sampled_from(["f32", "f64"])), ("N", 2, 3))))
    norm = draw(st.sampled_from([op.reduce_l1, op.reduce_l2]))(x, axes=(draw(st.sampled_from([1, 2, -1])),))
    graph.output("y", op.div(x, op.clip(norm, low=draw(st.sampled_from([1e-12, 1e-6, 1.0])))))
    return graph
