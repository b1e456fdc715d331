"""A network as it is trained: norms take the statistics of the batch, and dropout drops entries."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from graphrewrite import Graph, Tensor, op
from graphrewrite.graph import Operand
from graphrewrite.graph.rewiring import rewire
from graphrewrite.learning.errors import TrainingError
from graphrewrite.types import element_dtype

__all__ = ["TrainingForm", "parameters", "training_form"]

_LEARNT: Mapping[str, tuple[int, ...]] = {
    **dict.fromkeys(("conv", "conv_transpose", "linear", "gemm", "batch_norm", "layer_norm"), (1, 2)),
    **dict.fromkeys(("instance_norm", "group_norm"), (1, 2)),
    **dict.fromkeys(("rnn", "gru"), (1, 2, 3)),
    "lstm": (1, 2, 3, 6),
    "matmul": (0, 1),
    "rms_norm": (1,),
    "prelu": (1,),
    "gather": (0,),
}
"""Operands of layers that are learnt: weights, biases, gains, and rows of tables."""
_PEEPHOLES = 6
"""The operand of an LSTM that has them."""
_PRODUCTS = frozenset({"conv", "conv_transpose", "linear", "gemm", "matmul"})
"""Ops to whose results a bias is added."""


def parameters(graph: Graph) -> tuple[str, ...]:
    r"""Return the names of the constants of a network that are learnt.

    These are weights, biases and gains of layers, biases that are added to products, and tables that rows are gathered
    from; no statistics of norms, no single numbers, nothing with the annotation ``trainable=False``, and no peepholes
    of zeros, which an LSTM has that has none.

    Examples
    --------
    >>> graph = Graph.parse('''graph g
    ... x = input() : f32[N,2]
    ... w = constant(value=[[1.0, 2.0]]) : f32[1,2]
    ... y = linear(x, w)
    ... out = output(y)''')
    >>> parameters(graph)
    ('w',)
    """
    found: dict[str, None] = {}
    for node in graph.in_order():
        kind, sources = graph.nodes[node]["type"], graph.operands(node)
        at = _LEARNT.get(kind, ())
        if kind == "add" and any(graph.nodes[source.node]["type"] in _PRODUCTS for source in sources):
            at = (0, 1)
        for position in at:
            if position < len(sources) and _is_learnt(graph, sources[position]):
                if (
                    kind == "lstm"
                    and position == _PEEPHOLES
                    and not np.any(graph.nodes[sources[position].node]["value"])
                ):
                    continue
                found[sources[position].node] = None
    return tuple(found)


def _is_learnt(graph: Graph, source: Operand) -> bool:
    kind = graph.result_type(*source)
    is_float = isinstance(kind, Tensor) and kind.element in ("f32", "f64")
    data = graph.nodes[source.node]
    return data["type"] == "constant" and is_float and bool(kind.shape) and data.get("trainable", True)


@dataclass(frozen=True, eq=False)
class TrainingForm:
    """A network as it is trained.

    Attributes
    ----------
    graph : Graph
        With inputs for what dropout keeps, and outputs for the statistics of norms.
    statistics : mapping of str to str
        Constants that are statistics, and the outputs that give the next ones.
    kept : mapping of str to float
        Inputs that say by what entries are multiplied, and the share of them that is dropped.
    """

    graph: Graph
    statistics: Mapping[str, str]
    kept: Mapping[str, float]

    def draw(self, rng: np.random.Generator, count: int) -> dict[str, np.ndarray]:
        """Return what dropout keeps of so many samples: nothing, or more of the entry, so that the mean stays."""
        drawn = {}
        for name, ratio in self.kept.items():
            kind = self.graph.result_type(name)
            shape = (count, *(size for size in kind.shape[1:] if isinstance(size, int)))
            if len(shape) < len(kind.shape):
                raise TrainingError(f"a dropout of {kind} has an open size; give the graph numbers by with_sizes")
            kept = rng.random(shape) >= ratio
            drawn[name] = np.asarray(kept, element_dtype(kind.element)) * element_dtype(kind.element).type(
                1 / (1 - ratio)
            )
        return drawn


def training_form(graph: Graph) -> TrainingForm:
    """Return a network as it is trained: `batch_norm` by the statistics of the batch, `dropout` with what is kept."""
    new = graph.copy()
    statistics: dict[str, str] = {}
    kept: dict[str, float] = {}
    for node in graph.in_order():
        kind = graph.nodes[node]["type"]
        if kind == "batch_norm":
            sources = graph.operands(node)
            names = [source.node for source in sources[3:]]
            if any(graph.nodes[name]["type"] != "constant" for name in names):
                continue
            if taken := statistics.keys() & {*names}:
                raise TrainingError(
                    f"the statistics {min(taken)!r} are those of two norms, among them {node!r}; give each its own"
                )
            made = _norm_in_training(new, node)
            _replace(new, node, made[0])
            statistics.update({name: _output(new, name, value) for name, value in zip(names, made[1:], strict=True)})
        elif kind == "dropout" and graph.attributes(node)["ratio"] > 0:
            x = new.value(*new.operands(node)[0])
            factor = new.input(new.fresh("kept"), x.type)
            kept[factor.node] = graph.attributes(node)["ratio"]
            _replace(new, node, x * factor)
    return TrainingForm(new, statistics, kept)


def _norm_in_training(graph: Graph, node: str) -> list[Any]:
    """Add the training form of a norm, whose channels are on the second axis wherever its operand has them."""
    x, *rest = (graph.value(*source) for source in graph.operands(node))
    layout, order = getattr(x.type, "layout", None), op.batch_norm.arrangement([x.type])
    if layout is not None:
        x = op.name_axes(x, layout=None)
    if order is not None:
        x = op.transpose(x, perm=order.operand)
    given = {"epsilon": graph.attributes(node)["epsilon"]}
    y, *statistics = graph.add(op.batch_norm_training, [x, *rest], given)
    if order is not None:
        y = op.transpose(y, perm=order.result)
    return [y if layout is None else op.name_axes(y, layout=layout), *statistics]


def _replace(graph: Graph, node: str, value: Any) -> None:
    rewire(graph, node, Operand(value.node, value.result))
    graph.remove_node(node)


def _output(graph: Graph, name: str, value: Any) -> str:
    return graph.output(graph.fresh(f"next_{name}"), value)
