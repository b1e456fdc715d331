"""Equalisation: channels that share a format are scaled so that they share its range, by layers or by the host.

Of a value between layers, one layer gives a multiple of each channel, and those that read it divide their weights
(Nagel et al. 2019, Data-free quantisation through weight equalisation and bias correction). An input is scaled by the
host, and what is far from zero is shifted: the network is the same function of the model's input.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from typing import NamedTuple

import networkx as nx
import numpy as np

from graphrewrite import Graph, op
from graphrewrite.errors import GraphRewriteError
from graphrewrite.execution.evaluator import evaluate_nodes
from graphrewrite.graph import Operand
from graphrewrite.graph.rewiring import inherit, move_slot, rewire
from graphrewrite.lowering.errors import QuantisationError
from graphrewrite.lowering.quantisation.calibration import Widths
from graphrewrite.lowering.quantisation.channel_ties import ChannelTies
from graphrewrite.lowering.quantisation.rounding_noise import Factors, Layer, noise_around
from graphrewrite.op.op import Op
from graphrewrite.types import element_dtype

__all__ = ["equalised"]

_OF_INPUT, _OF_LAYER = 0.5, 0.8
"""The share of the noise to which factors must bring it: work for the host is worth 3 dB, that of nobody 1 dB."""
_ENOUGH = 1e-3
"""With less noise than so much of the signal a network is left as it is; each bit beyond 8 halves it twice."""
_WORTH = 0.9
"""The share of the outputs' noise to which a network must come: a smaller gain on the samples may be chance."""
_ALMOST = 1.25
"""Powers of two are preferred where they have at most so many times the noise."""
_FEW, _FEWEST = 32, 8
"""With fewer numbers a channel its range is not known; with still fewer not even its middle."""
_CONSTANT = 1e-6
"""What differs by less, as a share of itself, is constant."""
_EXPONENTS = ((1, 0, 0), (0.5, 0.5, 0), (0, 1, 0), (0.5, 0, 0.5), (0.34, 0.33, 0.33), (0, 0, 0))
"""Exponents of the ranges of columns, values and rows, of which factors are made; of the latter two, reciprocals."""
_BEST = 2
"""So many factors are tried in earnest."""
_FRACTIONS = 2.0 ** np.array([0, 0.25, 0.5, 0.75])
"""Parts of a power of two, by one of which all factors of a value are multiplied."""
_FARTHEST = 100.0
"""The greatest exponent of a factor."""


class _Block(NamedTuple):
    """Classes whose factors are chosen together, with the layers and inputs around their values."""

    classes: np.ndarray
    producers: list[str]
    readers: list[str]
    inputs: list[str]


def equalised(
    graph: Graph,
    inputs: Mapping[str, np.ndarray],
    widths: Widths,
    *,
    per_channel: bool,
    quantised: Callable[[Graph], Graph],
    noise: Callable[[Graph], float],
) -> Graph:
    """Return a network quantised, its channels scaled where that lowers the noise of its outputs.

    Parameters
    ----------
    graph : Graph
        In floats.
    inputs : mapping of str to ndarray
        Samples.
    widths : Widths
    per_channel : bool
        Whether channels of weights have binary points of their own.
    quantised : callable
        Quantises a network.
    noise : callable
        Measures the noise of a quantised network.
    """
    ties = ChannelTies(graph, inputs)
    blocks = [block for block in _blocks(graph, ties) if block.readers]
    if not blocks:
        return quantised(graph)

    def tried(network: Graph) -> tuple[float, Graph | None]:
        try:
            result = quantised(network)
        except QuantisationError:
            return np.inf, None
        return noise(result), result

    least, best = tried(graph)
    readers = {node for block in blocks for node in block.readers}
    narrowest = min(min(widths.of_weights(graph, node), widths.of(graph, node)) for node in readers)
    if best is not None and least < _ENOUGH * 4.0 ** -max(narrowest - 8, 0):
        return best
    try:
        with np.errstate(all="ignore"):
            equaliser = _Equaliser(graph, inputs, ties, blocks, widths, per_channel)
    except GraphRewriteError:
        return quantised(graph)  # which says why its samples cannot be evaluated
    # First the inputs alone, which is worth the most, then layers too.
    for some in ([block for block in blocks if block.inputs], blocks):
        before = equaliser.factors
        for block in some:
            with np.errstate(all="ignore"):  # where there is no number, there is no factor
                equaliser.choose(block)
        if equaliser.factors is before:
            continue
        share, result = tried(equaliser.applied())
        if share < _WORTH * least:
            least, best = share, result
        else:
            equaliser.factors = before
    return quantised(graph) if best is None else best


def _blocks(graph: Graph, ties: ChannelTies) -> list[_Block]:
    """Values that have classes in common, or one reader, from inputs to outputs."""
    # A layer gives a value, and it reads one.
    shared = nx.Graph()
    for part, all_classes in (("gives", ties.sources), ("reads", ties.columns)):
        for node, classes in all_classes.items():
            shared.add_edges_from(((part, node), (int(one), "")) for one in np.unique(classes[classes > 0]))
    order = {node: place for place, node in enumerate(graph.in_order())}
    found = []
    for component in nx.connected_components(shared):
        classes = np.array(sorted(one for one, node in component if not node))
        gives, reads = (
            sorted((node for part, node in component if node and part == wanted), key=order.__getitem__)
            for wanted in ("gives", "reads")
        )
        layers = [node for node in gives if node in ties.columns]
        inputs = [node for node in gives if node not in ties.columns]
        found.append(_Block(classes, layers, reads, inputs))
    return sorted(found, key=lambda block: order[[*block.inputs, *block.producers][0]])


class _Equaliser:
    def __init__(
        self,
        graph: Graph,
        inputs: Mapping[str, np.ndarray],
        ties: ChannelTies,
        blocks: list[_Block],
        widths: Widths,
        per_channel: bool,
    ) -> None:
        self.graph, self.ties, self.blocks, self.per_channel = graph, ties, blocks, per_channel
        self.factors = Factors(np.ones(ties.count), np.zeros(ties.count))
        wanted = {node for block in self.blocks for node in (*block.producers, *block.readers)}
        read = wanted | {graph.operands(node)[0].node for node in wanted}
        values = evaluate_nodes(graph, inputs, read, by_functions=False)
        self.layers = {
            node: Layer.of(
                graph,
                node,
                (ties.columns[node], ties.sources[node]),
                values,
                (widths.of_weights(graph, node), widths.of(graph, self._source(node))),
            )
            for node in graph.in_order()
            if node in wanted
        }
        # Errors of what is scaled back count as they do behind, those of outputs relative to each output.
        gains = np.zeros(ties.count)
        for layer in self.layers.values():
            np.add.at(gains, layer.columns, layer.gains)
        for node, layer in self.layers.items():
            if layer.rows.all() and (worth := gains[layer.rows]) @ layer.variances > 0:
                self.layers[node] = replace(layer, worth=worth / (worth @ layer.variances))

    def _source(self, node: str) -> str:
        """The input or layer whose values a layer reads."""
        node = self.graph.operands(node)[0].node
        while node not in self.ties.sources and self.graph.operands(node):
            node = self.graph.operands(node)[0].node
        return next((name for name in self.graph.inputs if self.ties.ends[name] == node), node)

    def choose(self, block: _Block) -> None:
        """Choose the factors of a block, if they are worth it."""
        producers, readers = ([self.layers[node] for node in nodes] for nodes in (block.producers, block.readers))

        def noise(factors: Factors, *, smooth: bool = False) -> float:
            found = noise_around(factors, producers, readers, per_channel=self.per_channel, smooth=smooth)
            return found if np.isfinite(found) else np.inf

        ranked = sorted(self._candidates(block, producers, readers), key=lambda one: noise(one, smooth=True))
        trials = [self._times(one, block.classes, part) for one in ranked[:_BEST] for part in _FRACTIONS]
        measured = [noise(trial) for trial in trials]
        least = min(measured, default=np.inf)
        if not least < noise(self.factors) * (_OF_INPUT if block.inputs else _OF_LAYER):
            return
        best = trials[measured.index(least)]
        # The host multiplies by powers of two without rounding.
        even = replace(best, scale=np.exp2(np.rint(np.log2(best.scale))))
        self.factors = even if block.inputs and noise(even) <= _ALMOST * least else best

    def _times(self, factors: Factors, classes: np.ndarray, part: float) -> Factors:
        scale = factors.scale.copy()
        scale[classes] *= part
        return replace(factors, scale=scale)

    def _candidates(self, block: _Block, producers: list[Layer], readers: list[Layer]) -> Iterator[Factors]:
        count = min(reader.count for reader in readers)
        shifts = [self.factors.shift]
        if block.inputs and count >= _FEWEST and self.ties.unshifted.isdisjoint(block.classes.tolist()):
            shifts += self._shifts(block.classes, readers)
        for shift in shifts:
            ranges = self._ranges(Factors(self.factors.scale, shift), producers, readers)
            seen = (count < _FEWEST) | self._varies(readers)
            for exponents in _EXPONENTS:
                if (count < _FEW and exponents[1]) or (exponents[2] and not producers):
                    continue
                logs = self._logarithms(block, exponents, ranges, seen)
                if logs is not None:
                    scale = self.factors.scale.copy()
                    scale[block.classes] = np.exp2(np.clip(logs, -_FARTHEST, _FARTHEST))
                    yield Factors(scale, shift)

    def _extremes(self, readers: list[Layer]) -> tuple[np.ndarray, np.ndarray]:
        """The least and the greatest number of each class."""
        low, high = np.full(self.ties.count, np.inf), np.full(self.ties.count, -np.inf)
        for reader in readers:
            np.minimum.at(low, reader.columns, reader.moments[2])
            np.maximum.at(high, reader.columns, reader.moments[3])
        return low, high

    def _varies(self, readers: list[Layer]) -> np.ndarray:
        """Whether a class takes several values; of a constant no range is known."""
        low, high = self._extremes(readers)
        return np.asarray(high - low > _CONSTANT * np.maximum(np.abs(low), np.abs(high)))

    def _shifts(self, classes: np.ndarray, readers: list[Layer]) -> list[np.ndarray]:
        """The middle of the range of each class that varies, and its mean."""
        total, numbers = np.zeros(self.ties.count), np.zeros(self.ties.count)
        for reader in readers:
            np.add.at(total, reader.columns, reader.moments[0])
            np.add.at(numbers, reader.columns, 1)
        shifted = np.isin(np.arange(self.ties.count), classes) & self._varies(readers)
        middles = sum(self._extremes(readers)) / 2, total / np.maximum(numbers, 1)
        return [np.where(shifted, each, 0.0) for each in middles]

    def _ranges(
        self, factors: Factors, producers: list[Layer], readers: list[Layer]
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """By class, the greatest weight of its columns, its greatest number, and the greatest weight of its rows.

        Weights count as shares of the greatest one that has the same format.
        """
        of_columns, of_values, of_rows = (np.zeros(self.ties.count) for _ in range(3))
        axis = 1 if self.per_channel else None
        for reader in readers:
            w = np.abs(reader.weights) * factors.scale[reader.rows, None]
            shares = w / np.maximum(w.max(axis=axis, keepdims=True), np.finfo(float).tiny)
            np.maximum.at(of_columns, reader.columns[reader.channels].ravel(), shares.ravel())
            farthest = np.abs(reader.moments[2:] - factors.shift[reader.columns]).max(axis=0)
            np.maximum.at(of_values, reader.columns, farthest)
        for producer in producers:
            w = np.abs(producer.weights) / factors.scale[producer.columns][producer.channels]
            shares = w.max(axis=1) / np.maximum(w.max(axis=axis), np.finfo(float).tiny)
            np.maximum.at(of_rows, producer.rows, shares)
        return of_columns, of_values, of_rows if producers else np.ones_like(of_rows)

    def _logarithms(
        self,
        block: _Block,
        exponents: tuple[float, float, float],
        ranges: tuple[np.ndarray, np.ndarray, np.ndarray],
        seen: np.ndarray,
    ) -> np.ndarray | None:
        """Logarithms of factors; what carries no signal gets one that harms no other. None if nothing carries any."""
        columns, values, rows = (np.log2(each) for each in ranges)
        of_column, of_value = columns[block.classes], values[block.classes]
        alive = np.isfinite(of_column) & np.isfinite(of_value) & np.isfinite(rows[block.classes]) & seen[block.classes]
        if not alive.any():
            return None
        logs = np.zeros(len(alive))
        for exponent, each in zip(exponents, (columns, -values, -rows), strict=True):
            logs[alive] += exponent * each[block.classes][alive]
        if np.isfinite(values[0]) and not block.inputs:
            logs = logs + values[0] - (logs + of_value)[alive].max()  # beside channels that cannot be scaled
        else:
            logs = logs - ((logs + of_value)[alive].max() if block.inputs else logs[alive].mean())
        # A value that was constant may be large one day, but its weights shall not widen the format of all weights, nor
        # a value that nobody weighs the format of all values.
        unseen, unread = of_column - (of_column - logs)[alive].max(), (logs + of_value)[alive].max() - of_value
        others = np.where(np.isfinite(unseen), np.minimum(unseen, unread), unread)
        return np.asarray(np.where(alive, logs, np.where(np.isfinite(others), others, logs[alive].min())))

    def applied(self) -> Graph:
        """The network with the factors taken up by layers and inputs."""
        graph, scale, shift = self.graph.copy(), self.factors.scale, self.factors.shift
        for node, layer in self.layers.items():
            moves = (layer.weights * shift[layer.columns][layer.channels]).sum(axis=1)
            bias = np.asarray(graph.nodes[graph.operands(node)[2].node]["value"], np.float64)
            _replace(graph, node, 1, layer.scaled(self.factors))
            _replace(graph, node, 2, (bias + moves) * scale[layer.rows])
        for source in (source for block in self.blocks for source in block.inputs):
            classes = self.ties.sources[source]
            for applied, entries, neutral in ((op.sub, shift, 0.0), (op.mul, scale, 1.0)):
                source = _on_host(graph, source, applied, entries[classes], neutral)
        return graph


def _replace(graph: Graph, node: str, slot: int, array: np.ndarray) -> None:
    """Give a layer another constant, in the type of the old one."""
    old = graph.operands(node)[slot].node
    value = graph.nodes[old]["value"]
    with np.errstate(over="ignore"):
        new = array.reshape(value.shape).astype(value.dtype)
    if not np.array_equal(new, value):
        constant = graph.constant(new, origin=graph.origin(old)).node
        inherit(graph, constant, old)
        move_slot(graph, node, slot, Operand(constant))
        if not graph.succ[old]:
            graph.remove_node(old)


def _on_host(graph: Graph, source: str, applied: Op, entries: np.ndarray, neutral: float) -> str:
    """Let the host apply an op to an input before all readers; return the node."""
    if (entries == neutral).all():
        return source
    for axis in range(entries.ndim):
        if (entries == entries.take([0], axis)).all():
            entries = entries.take([0], axis)
    value = graph.value(source)
    constant = graph.constant(entries.astype(element_dtype(value.type.element)), origin=graph.origin(source))
    result = str(graph.add(applied, [value, constant]).node)  # of no origin: its values are others
    rewire(graph, source, Operand(result))
    return result
