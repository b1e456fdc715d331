"""Random graphs in double precision with a loss, and their slope along a direction."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from hypothesis import assume
from hypothesis import strategies as st

from graphrewrite import Graph, Tensor, evaluate, op
from graphrewrite.testing import graphs
from graphrewrite.types import with_sizes

__all__ = ["SMOOTH", "inputs_of", "slope", "with_losses"]

SMOOTH = (
    *("add", "sub", "mul", "div", "neg", "abs", "sqrt", "exp", "log", "pow", "reciprocal", "erf", "sin", "tanh"),
    *("sigmoid", "relu", "leaky_relu", "elu", "gelu", "silu", "mish", "softplus", "hard_swish", "clip", "maximum"),
    *("minimum", "where", "sum", "mean", "softmax", "log_softmax", "reduce_sum", "reduce_mean", "reduce_max"),
    *("reduce_l2", "reduce_prod", "reduce_log_sum_exp", "cum_sum", "matmul", "linear", "gemm", "conv", "einsum"),
    *("conv_transpose", "max_pool", "average_pool", "global_average_pool", "batch_norm", "layer_norm", "rms_norm"),
    *("group_norm", "lp_norm", "lrn", "lp_pool", "reshape", "flatten", "transpose", "squeeze", "unsqueeze", "concat"),
    *("pad", "slice", "split", "expand", "tile", "gather", "trilu", "attention", "rnn", "gru", "lstm", "top_k"),
    *("space_to_depth", "depth_to_space", "resize", "arg_max"),
)
"""Ops of a network, most of which have gradients."""


@st.composite
def with_losses(draw: st.DrawFn, ops: Sequence[str] = SMOOTH) -> Graph:
    """Return a graph in double precision whose output `loss` is a sum of sines of all that the graph gives."""
    chosen = draw(st.lists(st.sampled_from(ops), min_size=3, max_size=7))
    graph = draw(graphs(ops=chosen))
    assume(all(kind in ("f32", "f64", "bool", "i64", "i8") for kind in _elements(graph)))
    new, values = Graph("loss"), {}
    for node in graph.in_order():
        data = graph.nodes[node]
        if data["type"] == "input":
            kind = graph.result_type(node)
            values[node, 0] = new.input(node, Tensor(_wide(kind.element), kind.shape))
        elif data["type"] == "constant":
            value = data["value"]
            values[node, 0] = new.constant(value.astype(np.float64) if value.dtype == np.float32 else value, name=node)
        elif data["type"] != "output":
            given = {key: _wide(value) if key == "element" else value for key, value in graph.attributes(node).items()}
            made = new.add(graph.op(node), [values[tuple(s)] for s in graph.operands(node)], given, name=node)
            values.update({(node, i): v for i, v in enumerate(made if isinstance(made, tuple) else (made,))})
    ends = [values[tuple(graph.operands(name)[0])] for name in graph.outputs]
    terms = [op.reduce_sum(op.sin(each * 0.7), keep_dims=False) for each in ends if each.type.element == "f64"]
    assume(terms)
    total = terms[0]
    for term in terms[1:]:
        total = total + term
    new.output("loss", total)
    return new


def _wide(element: Any) -> Any:
    return "f64" if element == "f32" else element


def _elements(graph: Graph) -> set[Any]:
    kinds = (graph.nodes[node].get("result", ()) for node in graph)
    return {kind.element for each in kinds for kind in (each if isinstance(each, tuple) else (each,))}


def inputs_of(graph: Graph, rng: np.random.Generator) -> dict[str, np.ndarray]:
    """Return a batch of two, of moderate numbers."""
    found = {}
    for name in graph.inputs:
        kind = with_sizes(graph.result_type(name), {"N": 2})
        if kind.element == "f64":
            found[name] = rng.uniform(0.1, 1.7, kind.shape) * rng.choice([-1.0, 1.0, 1.0], kind.shape)
        else:
            found[name] = np.zeros(kind.shape, {"bool": bool, "i8": np.int8}.get(kind.element, np.int64))
    return found


def slope(graph: Graph, inputs: dict[str, np.ndarray], along: dict[str, np.ndarray]) -> float | None:
    """Return the difference quotient of the loss along a direction; None where it does not settle, as at a kink."""

    def at(step: float) -> float:
        moved = {name: array + step * along.get(name, 0) if name in along else array for name, array in inputs.items()}
        with np.errstate(all="ignore"):
            return float(evaluate(graph, moved)["loss"])

    wide, narrow = ((at(h) - at(-h)) / (2 * h) for h in (1e-5, 5e-6))
    one_sided = (at(1e-5) - at(0.0)) / 1e-5
    scale = max(1.0, abs(narrow))
    settles = np.isfinite([wide, narrow, one_sided]).all() and abs(wide - narrow) < 1e-7 * scale
    return narrow if settles and abs(one_sided - narrow) < 1e-2 * scale and scale < 1e6 else None
