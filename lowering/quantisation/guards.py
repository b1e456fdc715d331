"""Guards of a quantised network: what its formats lost on samples, by layer, with what to do about it."""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from graphrewrite import Graph, rewrite
from graphrewrite.execution.evaluator import evaluate_nodes
from graphrewrite.execution.origin_pairing import counterparts
from graphrewrite.hierarchy.blocks import flattened
from graphrewrite.lowering.errors import QuantisationWarning
from graphrewrite.lowering.predicates import without_predicates
from graphrewrite.lowering.quantisation.elementwise_functions import functions_of
from graphrewrite.lowering.quantisation.host_inputs import encoding
from graphrewrite.rules import FOLDING, RULES

__all__ = ["Finding", "findings", "warn_of_lost_layer"]

_SAMPLES = 1024
"""At most so many samples are looked at, evenly spread."""
_CLIPPED = 0.02
_VANISHED = 0.5
_NOISE = 0.1
"""Shares of values that are clipped, of other numbers than zero that become zero, and of the signal's variance that is
lost: beyond them a layer is named."""
_ENOUGH = 32
"""What never varies over fewer samples is no reason for a warning."""
_RARE = 0.05
"""A channel that differs from its usual value in fewer samples may be lost."""
_WEAK = 0.005
"""So may channels that add a smaller share to the power of the sums."""
_SLACK = 1.5
"""What is cut off by fewer steps of the format is rounded rather than clipped."""
_WIDEST = 16
_LAYERS = ("conv", "linear")
_MATRICES = (*_LAYERS, "gemm", "matmul")


@dataclass(frozen=True)
class Finding:
    """Something that quantising lost, or that samples lack.

    Attributes
    ----------
    layer : str
        The layer by its origin, or the input.
    kind : str
        ``"constant"``, ``"channels"``, ``"clipped"``, ``"vanished"``, ``"noise"``, ``"weights"`` or ``"samples"``.
    share : float
        How much, from 0 to 1.
    text : str
        What it is, in words.
    remedy : str
        What to do about it.
    """

    layer: str
    kind: str
    share: float
    text: str
    remedy: str

    def __str__(self) -> str:
        return f"{self.layer}: {self.text}; {self.remedy}"

    def as_dict(self) -> dict[str, Any]:
        """Return primitive data."""
        return asdict(self)


def findings(
    graph: Graph, quantised: Graph, inputs: Mapping[str, Any], *, most_noise: float = _NOISE
) -> tuple[Finding, ...]:
    r"""Return what formats lost: constant and clipped values, vanished weights, signals that drown in noise.

    Parameters
    ----------
    graph : Graph
        The float network.
    quantised : Graph
        What `quantise` made of it.
    inputs : mapping of str to array-like
        Samples, batch first.
    most_noise : float
        The share of a signal's variance beyond which its loss is a finding.

    Returns
    -------
    tuple of Finding
        Operands first; of layers that lost their signal only those that did so themselves.

    Examples
    --------
    >>> from graphrewrite import Tensor, op
    >>> from graphrewrite.lowering import quantise
    >>> g = Graph("g")
    >>> _ = g.output("y", op.linear(g.input("x", Tensor("f32", ("N", 1))), np.float32([[1.0]]), np.float32([0.0])))
    >>> x = np.linspace(0, 1, 50, dtype=np.float32)[:, None]
    >>> findings(g, quantise(g, x), {"x": x})
    ()
    >>> print(findings(g, quantise(g, x), {"x": 2 * x})[0])
    x: 50.0% of its values are clipped; calibrate with samples of the whole range, or give it more bits (--bits x=10)
    """
    graph = flattened(graph)
    folded = rewrite(graph, (*FOLDING, *RULES))
    return tuple(_Review(graph, folded, quantised, inputs, most_noise).run())


def warn_of_lost_layer(graph: Graph, folded: Graph, quantised: Graph, inputs: Mapping[str, Any]) -> None:
    """Warn of the first layer whose quantised results never vary, although those of the folded float network do.

    Where the samples do not vary, neither shows: then they are warned of.
    """
    if min((len(array) for array in inputs.values()), default=0) < _ENOUGH:
        return
    if all((array == array[:1]).all() for array in inputs.values()):
        text = "all calibration samples are alike; give samples as the network will meet them"
        warnings.warn(text, QuantisationWarning, stacklevel=3)
        return
    review = _Review(graph, folded, quantised, inputs)
    found = (each for point in review.points for each in review.constant(point) if each.kind == "constant")
    if first := next(found, None):
        warnings.warn(f"quantising lost everything: {first}", QuantisationWarning, stacklevel=3)


def _is_sign(quantised: Graph, point: str) -> bool:
    """Tell whether a format is that of a sign: nobody chose its bits, and what it lost was lost before."""
    return bool(quantised.nodes[quantised.operands(point)[0].node]["type"] == "sign")


class _Review:
    def __init__(
        self, graph: Graph, folded: Graph, quantised: Graph, inputs: Mapping[str, Any], most_noise: float = _NOISE
    ) -> None:
        self.kinds = {o: graph.nodes[n]["type"] for n in graph for o in graph.origin(n)}
        folded, quantised = without_predicates(folded), without_predicates(quantised)
        self.folded, self.quantised, self.most_noise = folded, quantised, most_noise
        pairs = {**_scaled_inputs(quantised, folded), **counterparts(quantised, folded)}
        kinds = {n: quantised.nodes[n]["type"] for n in quantised.in_order()}
        self.points = [n for n, kind in kinds.items() if kind == "quantise" and not _is_sign(quantised, n)]
        self.layers = {n: pairs[n] for n, kind in kinds.items() if kind in _LAYERS and n in pairs}
        self.layers = {n: other for n, other in self.layers.items() if folded.nodes[other]["type"] == kinds[n]}
        self.widths = {p: quantised.nodes[p]["element"].width for p in self.points}
        arrays = {name: np.asarray(array) for name, array in inputs.items()}
        few = {name: array[:: -(-len(array) // _SAMPLES) or 1] for name, array in arrays.items()}
        before = {p: quantised.operands(p)[0].node for p in self.points}
        sources = {n: folded.operands(other)[0].node for n, other in self.layers.items()}
        with np.errstate(all="ignore"):
            own = evaluate_nodes(quantised, few, {*self.points, *before.values()})
            real = evaluate_nodes(folded, few, {*(pairs[p] for p in self.points if p in pairs), *sources.values()})
        self.rounded = {p: own[p] for p in self.points}
        self.exact = {p: own[node] for p, node in before.items()}
        self.wanted = {p: real[pairs[p]] for p in self.points if p in pairs and real[pairs[p]].shape == own[p].shape}
        self.sources = {n: real[node] for n, node in sources.items()}
        self.bent = {source.node: end for end, source in functions_of(quantised).ends.items()}
        """Points that a function reads, with its last op: they may saturate where that is flat."""
        self.lost: set[str] = set()
        """Points that lost their signal: of those behind them nothing else is to be expected."""

    def run(self) -> Iterator[Finding]:
        for node in self.quantised.in_order():
            if node in self.layers:
                yield from self.weights(node)
            elif node in self.rounded and self.lost.isdisjoint(self.quantised.upstream(node)):
                constant = list(self.constant(node))
                formatted = [] if constant else list(self.formatted(node))
                noise = list(self.noise(node))
                yield from constant or formatted or noise
                if constant or noise:
                    self.lost.add(node)

    def name(self, node: str) -> str:
        """The layer by the origin of its matrix or convolution; or the input."""
        upwards = node
        while upwards not in self.quantised.inputs and self.quantised.nodes[upwards]["type"] not in _LAYERS:
            values = [o.node for o in self.quantised.operands(upwards)]
            values = [n for n in values if self.quantised.nodes[n]["type"] != "constant"]
            if len(values) != 1 or (upwards != node and upwards in self.points):
                break
            upwards = values[0]
        origin = self.quantised.origin(upwards)
        return next((o for o in origin if self.kinds.get(o) in _MATRICES), (*origin, upwards)[0])

    def more_bits(self, name: str, width: int) -> str:
        """The remedy of a wider format: two more bits."""
        if width >= _WIDEST:
            return "scale the inputs alike, or train with weight decay"
        return f"give it more bits (--bits {name}={min(width + 2, _WIDEST)})"

    def wider(self, point: str) -> str:
        # The last layer has the width of its sums.
        is_last = self.quantised.downstream(point).isdisjoint(self.points)
        return self.more_bits(self.name(point), min(self.widths.values()) if is_last else self.widths[point])

    def constant(self, point: str) -> Iterator[Finding]:
        """Results or channels that never vary although they should."""
        if point not in self.wanted or len(self.wanted[point]) < 2:
            return
        wanted, rounded = (_by_channel(each, self.axis(point)) for each in (self.wanted[point], self.rounded[point]))
        varies, still = _varying(wanted), (rounded == rounded[:, :1]).all(axis=1)
        lost = varies & still
        if not lost.any():
            return
        name, remedy = self.name(point), self.wider(point)
        if name in self.folded.inputs and point in self.bent:
            function = self.quantised.origin(self.bent[point])[0]
            remedy = f"let the host compute {function} (--host {function}), or {remedy}"
        elif name in self.folded.inputs:
            remedy = f"scale its channels alike, or {remedy}"
        elif self.quantised.nodes[self.quantised.operands(point)[0].node]["type"] == "concat":
            remedy = f"scale its operands alike, or {remedy}"
        if still.all():
            values = "its quantised values never vary" if rounded.any() else "all its quantised values are zero"
            yield Finding(name, "constant", 1.0, values, remedy)
        else:
            text = f"{lost.sum()} of {varies.sum()} channels that vary are constant when quantised"
            yield Finding(name, "channels", float(lost.sum() / varies.sum()), text, remedy)

    def formatted(self, point: str) -> Iterator[Finding]:
        """Values that are clipped, or become zero."""
        element, exact = self.quantised.nodes[point]["element"], self.exact[point].astype(np.float64)
        if element.width == 1 or not exact.size:
            return
        low, high = (end * element.step for end in (element.minimum - _SLACK, element.maximum + _SLACK))
        low = low if element.signed else -np.inf  # what is below zero is meant to be cut off
        clipped = float(((exact > high) | (exact < low)).mean())
        if clipped > _CLIPPED and point not in self.bent:
            remedy = f"calibrate with samples of the whole range, or {self.wider(point)}"
            yield Finding(self.name(point), "clipped", clipped, f"{clipped:.1%} of its values are clipped", remedy)
        numbers = np.count_nonzero(exact if element.signed else exact > 0)
        vanished = 1 - np.count_nonzero(self.rounded[point]) / numbers if numbers else 0.0
        if vanished > _VANISHED:
            text = f"{vanished:.1%} of its values other than zero become zero"
            yield Finding(self.name(point), "vanished", vanished, text, self.wider(point))

    def noise(self, point: str) -> Iterator[Finding]:
        """A signal that drowns, whatever scale its channels have."""
        if point not in self.wanted or point in self.bent or not self.wanted[point].size:
            return
        wanted, rounded = (_by_channel(each, self.axis(point)) for each in (self.wanted[point], self.rounded[point]))
        lost = _lost(wanted, rounded, shifted=self.name(point) in self.folded.inputs)
        if lost > self.most_noise:
            text = f"its signal is only {-10 * np.log10(lost):.1f} dB above the noise of quantising"
            yield Finding(self.name(point), "noise", lost, text, f"{self.wider(point)}, or those before it")

    def weights(self, node: str) -> Iterator[Finding]:
        """Weights that become zero: many of them, or all of a channel."""
        constants = [(g, g.operands(n)[1].node) for g, n in ((self.quantised, node), (self.folded, self.layers[node]))]
        if any(g.nodes[n]["type"] != "constant" for g, n in constants):
            return
        rounded, wanted = (np.asarray(g.nodes[n]["value"], np.float64) for g, n in constants)
        if rounded.shape != wanted.shape or not wanted.any():
            return
        name, gone = self.name(node), (rounded == 0) & (wanted != 0)
        remedy = self.more_bits(name, _bits_of(rounded))
        parts = self.parts(node, wanted)
        remedies = {"output": "or a grid for each channel (--per-channel)", "input": "or scale its inputs alike"}
        for axis, (channels, other) in enumerate(remedies.items()) if parts is not None else ():
            rest = tuple(i for i in range(wanted.ndim) if i != axis)
            strength = np.sqrt(np.square(parts).sum(axis=1 - axis))  # type: ignore[arg-type]  # they are known here
            lost = (rounded == 0).all(axis=rest) & gone.any(axis=rest)
            if np.square(strength[lost]).sum() > _WEAK * np.square(strength).sum():
                text = f"all weights of {lost.sum()} of {lost.size} {channels} channels become zero"
                yield Finding(name, "weights", float(lost.mean()), text, f"{remedy}, {other}")
                return
        share = float(gone.sum() / np.count_nonzero(wanted))
        if share > _VANISHED:
            text = f"{share:.1%} of its weights other than zero become zero"
            yield Finding(name, "weights", share, text, f"{remedy}, {remedies['output']}")

    def parts(self, node: str, wanted: np.ndarray) -> np.ndarray | None:
        """How much each input channel adds to each output channel; None for groups."""
        axis = -1 if self.quantised.nodes[node]["type"] == "linear" else 1
        source = self.sources[node]
        if source.ndim < 2 or source.shape[axis] != wanted.shape[1]:
            return None
        spread = _by_channel(source, axis).std(axis=1)
        return np.asarray(np.sqrt(np.square(wanted).reshape(*wanted.shape[:2], -1).sum(axis=2)) * spread)

    def axis(self, point: str) -> int:
        """The axis of channels: the last behind a matrix, else the second."""
        node = self.quantised.operands(point)[0].node
        kinds = {self.quantised.nodes[n]["type"] for n in (node, *(o.node for o in self.quantised.operands(node)))}
        return -1 if "linear" in kinds else 1


def _scaled_inputs(quantised: Graph, folded: Graph) -> dict[str, str]:
    """The quantised value of each input, with the value that the host did not scale further."""
    ends = ((encoding(quantised, name)[-1], encoding(folded, name)[-1]) for name in folded.inputs)
    return {point: wanted for end, wanted in ends for point in quantised.successors(end)}


def _by_channel(array: np.ndarray, axis: int) -> np.ndarray:
    """Return an array [channels, all else]."""
    values = array.astype(np.float64)
    if values.ndim < 2:
        return values.reshape(1, -1)
    return np.moveaxis(values, axis, 0).reshape(values.shape[axis], -1)


def _varying(channels: np.ndarray) -> np.ndarray:
    """Which channels differ from their usual value in more than a few samples."""
    usual = np.median(channels, axis=1, keepdims=True)
    differs = np.abs(channels - usual) > 1e-6 * np.abs(usual)
    return np.asarray(differs.mean(axis=1) > _RARE)


def _lost(wanted: np.ndarray, values: np.ndarray, *, shifted: bool) -> float:
    """Return the share of the variance that no scale of the channels brings back, or no scale and shift of them."""
    centred = wanted - wanted.mean(axis=1, keepdims=True)
    power = np.square(centred).sum()
    if power <= 1e-12 * np.square(wanted).sum():  # nothing varies, but for the rounding of floats
        return 0.0
    if shifted:
        wanted, values = centred, values - values.mean(axis=1, keepdims=True)
    own, common = np.square(values).sum(axis=1), np.maximum((wanted * values).sum(axis=1), 0)
    left = np.square(wanted).sum() - (np.square(common) / np.where(own > 0, own, 1.0)).sum()
    return float(np.clip(left / power, 0, 1))


def _bits_of(weights: np.ndarray) -> int:
    """Return the width of the grid that weights lie on."""
    digits, exponents = np.frexp(weights[weights != 0])
    if not digits.size:
        return 2
    whole = np.abs(np.ldexp(digits, 53)).astype(np.int64)
    steps = exponents - 53 + np.log2((whole & -whole).astype(np.float64)).astype(np.int64)
    return int(exponents.max() - steps.min()) + 1
