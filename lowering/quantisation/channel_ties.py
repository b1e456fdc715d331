"""Which channels of a network can be scaled, and which of them only together.

A layer may give multiples of its channels, and an input be scaled by the host, where all that reads them are layers
that divide their weights by the same factors. Ops between the two pass a factor on (a relu), need it to be equal at all
positions (a pooling), or allow none (a sigmoid). What must have one factor is a class of channels; class 0 has none.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from graphrewrite import Graph
from graphrewrite.errors import GraphRewriteError
from graphrewrite.lowering.quantisation.host_inputs import MOVING, encoding
from graphrewrite.types import Tensor, element_kind

__all__ = ["ChannelTies", "channel_axes"]

_MOVING = frozenset(
    {
        *(*MOVING, "flatten", "squeeze", "unsqueeze", "slice", "tile", "channel_shuffle", "depth_to_space"),
        *("space_to_depth", "concat", "pad", "resize"),
    }
)
"""Ops that move numbers: they move the classes of their channels as well."""
_KEEPING = frozenset({"relu", "identity", "leaky_relu", "prelu", "abs", "neg", "mul", "div"})
"""Elementwise ops that give a multiple for a multiple, if other operands are constants."""
_NOTHING = -1
"""In place of a class: an entry that is always zero, which any factor keeps."""


def channel_axes(graph: Graph, node: str) -> tuple[int, int]:
    r"""Return the axes of the channels in a layer's or pooling's operand, and in its result.

    Examples
    --------
    >>> g = Graph.parse("graph g\nx = input() : f32[N,2,2,3] NHWC\np = global_max_pool(x)\ny = output(p)")
    >>> channel_axes(g, "p")
    (3, 3)
    """
    arrangement = graph.op(node).arrangement([graph.result_type(*o) for o in graph.operands(node)])
    return (1, 1) if arrangement is None else (arrangement.operand[1], arrangement.result.index(1))


class ChannelTies:
    """Classes of channels that need one factor.

    Parameters
    ----------
    graph : Graph
        A float network, folded.
    inputs : mapping of str to ndarray
        Calibration samples: they tell along which axis the numbers of an input differ most.

    Attributes
    ----------
    sources : dict of str to ndarray
        The class of each entry of an input, by the node that is quantised, and of each row of a layer.
    columns : dict of str to ndarray
        The class of each channel that a layer reads.
    ends : dict of str to str
        The node of each input that is quantised: what the host gives.
    unshifted : set of int
        Classes whose channels may be scaled, and not shifted.

    Examples
    --------
    >>> from graphrewrite import Tensor, op
    >>> g = Graph("g")
    >>> hidden = op.linear(g.input("x", Tensor("f64", ("N", 3))), np.eye(2, 3), np.zeros(2))
    >>> _ = g.output("y", op.linear(op.relu(hidden), np.eye(2), np.zeros(2)))
    >>> ties = ChannelTies(g, {"x": np.zeros((1, 3))})
    >>> {layer: classes.tolist() for layer, classes in ties.columns.items()}
    {'linear_1': [1, 2, 3], 'linear_2': [4, 5]}
    >>> {source: classes.tolist() for source, classes in ties.sources.items()}
    {'x': [1, 2, 3], 'linear_1': [4, 5], 'linear_2': [0, 0]}
    """

    def __init__(self, graph: Graph, inputs: Mapping[str, np.ndarray]) -> None:
        self.graph = graph
        self.sources: dict[str, np.ndarray] = {}
        self.columns: dict[str, np.ndarray] = {}
        self.parents = [0]
        self.classes: dict[str, np.ndarray] = {}
        """By node, for each entry of its result but the batch."""
        self.unshiftable: list[np.ndarray] = []
        chains = {node: encoding(graph, node) for node in graph.inputs}
        self.ends = {node: nodes[-1] for node, nodes in chains.items()}
        self.of_host = {node for nodes in chains.values() for node in nodes}
        for node in graph.in_order():
            if graph.nodes[node]["type"] != "constant":
                self._visit(node, inputs)
        self.sources = {node: self._roots(classes) for node, classes in self.sources.items()}
        self.columns = {node: self._roots(classes) for node, classes in self.columns.items()}
        self.unshifted = {int(root) for classes in self.unshiftable for root in self._roots(classes).ravel()}

    @property
    def count(self) -> int:
        """The number of classes, class 0 included, some of them empty."""
        return len(self.parents)

    def _visit(self, node: str, inputs: Mapping[str, np.ndarray]) -> None:
        kind = self.graph.nodes[node].get("result")
        if not isinstance(kind, Tensor) or not kind.shape or any(isinstance(size, str) for size in kind.shape[1:]):
            self._fix(node)
            return
        found = None
        if node in inputs and (element_kind(kind.element) == "float" or node not in self.ends.values()):
            found = self._input(node, inputs[node])
        elif element_kind(kind.element) == "float":
            found = self._passed(node)
        if found is None or found.shape != kind.shape[1:]:
            self._fix(node)
            found = np.zeros([int(size) for size in kind.shape[1:]], np.int64)
        self.classes[node] = found
        if node in self.ends.values():
            self.sources[node] = found

    def _input(self, node: str, samples: np.ndarray) -> np.ndarray:
        """A class for each index of the axis along which an input's numbers differ most."""
        kept = 0
        if samples.ndim > 2:
            with np.errstate(divide="ignore"):
                ranges = np.log2(np.ptp(np.asarray(samples, np.float64), axis=0))
            ranges = np.where(np.isfinite(ranges), ranges, np.nan)
            spreads = []
            for axis in range(ranges.ndim):
                along = np.moveaxis(ranges, axis, 0).reshape(ranges.shape[axis], -1)
                means = [row[~np.isnan(row)].mean() for row in along if not np.isnan(row).all()]
                spreads.append(float(np.var(means)) if means else 0.0)
            kept = int(np.argmax(spreads))
        sizes = samples.shape[1:]
        shape = [size if axis == kept else 1 for axis, size in enumerate(sizes)]
        return np.broadcast_to(self._fresh(sizes[kept]).reshape(shape), sizes) if sizes else self._fresh(1).reshape(())

    def _passed(self, node: str) -> np.ndarray | None:
        """The classes of an op's result; None if it allows no factors."""
        graph, kind = self.graph, self.graph.nodes[node]["type"]
        operands = graph.operands(node)
        computed = [o for o in operands if graph.nodes[o.node]["type"] != "constant"]
        if not computed or any(o.node not in self.classes or o.result for o in computed):
            return None
        first = self.classes[computed[0].node]
        if kind in ("conv", "linear"):
            return self._layer(node, first) if len(computed) == 1 and operands[0] == computed[0] else None
        if node in self.of_host and kind not in MOVING:
            return first  # the host scales behind
        if kind in _MOVING:
            return self._moved(node, [self.classes[o.node] for o in operands]) if computed == [*operands] else None
        if kind == "max_pool":
            return self._spread(node, self._along_channels(node, first))
        self.unshiftable += [self.classes[o.node] for o in computed]
        if kind in _KEEPING and len(computed) == 1 and operands[0] == computed[0]:
            return first
        if kind in ("add", "sub") and len(computed) == 2:
            other = self.classes[computed[1].node]
            if first.shape == other.shape:
                self._tie(first, other)
                return first
        return None

    def _layer(self, node: str, classes: np.ndarray) -> np.ndarray | None:
        weights, *bias = (self.graph.nodes[o.node].get("value") for o in self.graph.operands(node)[1:])
        if weights is None or len(bias) != 1 or bias[0] is None or classes.ndim != weights.ndim - 1:
            return None
        columns = self._along_channels(node, classes)
        groups = self.graph.attributes(node).get("groups", 1)
        if any(self.graph.attributes(node).get("pads", ())):
            self.unshiftable.append(columns)
        # A mean over windows, or interpolation: each channel alone, all alike.
        if groups == len(columns) and not bias[0].any():
            rows = weights.reshape(groups, len(weights) // groups, -1)
            if weights.ndim > 2 and (rows == rows[:1]).all():
                self.unshiftable.append(columns)
                return self._spread(node, np.repeat(columns, len(weights) // groups))
        self.columns[node] = columns
        self.sources[node] = self._fresh(len(weights))
        return self._spread(node, self.sources[node])

    def _moved(self, node: str, operands: list[np.ndarray]) -> np.ndarray | None:
        graph, attributes = self.graph, self.graph.attributes(node)
        kind, size = graph.nodes[node]["type"], graph.result_type(node).shape[0]
        if kind == "pad":
            if attributes.get("fill", 0.0) != 0.0:
                return None
            self.unshiftable += operands
            attributes = {**attributes, "fill": _NOTHING}
        if kind == "resize" and attributes.get("mode", "nearest") != "nearest":
            return None
        # Two samples, so that an op that mixes them shows.
        count, beyond = size if isinstance(size, int) else 2, len(self.parents)
        offsets = beyond * np.arange(count).reshape(-1, *[1] * operands[0].ndim)
        batches = [np.where(one == _NOTHING, one, one + offsets.reshape(-1, *[1] * one.ndim)) for one in operands]
        try:
            (moved,) = graph.op(node).compute(batches, attributes)
        except (GraphRewriteError, ValueError, TypeError, IndexError):
            return None
        if moved.shape[:1] != (count,):
            return None
        expected = np.where(moved[0] == _NOTHING, moved[0], moved[0] + offsets.reshape(-1, *[1] * (moved.ndim - 1)))
        return np.asarray(moved[0]) if np.array_equal(moved, expected) else None

    def _along_channels(self, node: str, classes: np.ndarray) -> np.ndarray:
        """One class for each channel of a node's operand: those of all its positions are tied."""
        classes = np.moveaxis(classes, channel_axes(self.graph, node)[0] - 1, 0)
        rows = classes.reshape(len(classes), -1)
        best = rows.max(axis=1, keepdims=True)
        self._tie(np.broadcast_to(best, rows.shape), rows)
        return np.where(best[:, 0] == _NOTHING, 0, best[:, 0])

    def _spread(self, node: str, channels: np.ndarray) -> np.ndarray:
        """Classes of channels, at each position of a node's result."""
        sizes: Any = self.graph.result_type(node).shape[1:]
        axis = channel_axes(self.graph, node)[1] - 1
        return np.broadcast_to(channels.reshape([-1 if i == axis else 1 for i in range(len(sizes))]), sizes)

    def _fix(self, node: str) -> None:
        """Allow no factors of the operands of a node."""
        for operand in self.graph.operands(node):
            if (found := self.classes.get(operand.node)) is not None:
                self._tie(found, np.zeros_like(found))

    # ------------------------------------------------------------------ classes that grow together

    def _fresh(self, count: int) -> np.ndarray:
        first = len(self.parents)
        self.parents += range(first, first + count)
        return np.arange(first, first + count)

    def _root(self, one: int) -> int:
        while self.parents[one] != one:
            self.parents[one] = self.parents[self.parents[one]]
            one = self.parents[one]
        return one

    def _tie(self, some: np.ndarray, others: np.ndarray) -> None:
        pairs = np.stack([some.ravel(), others.ravel()])
        pairs = pairs[:, (pairs != _NOTHING).all(axis=0) & (pairs[0] != pairs[1])]
        for one, other in np.unique(pairs, axis=1).T.tolist():
            low, high = sorted((self._root(one), self._root(other)))
            self.parents[high] = low

    def _roots(self, classes: np.ndarray) -> np.ndarray:
        distinct, where = np.unique(classes, return_inverse=True)
        roots = np.array([self._root(max(int(one), 0)) for one in distinct], np.int64)
        return np.asarray(roots[where].reshape(classes.shape))
