"""A network with fake quantisation: float weights and binary points to learn, and the arithmetic of its hardware."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np

from graphrewrite import Graph, op, rewrite
from graphrewrite.graph import Operand
from graphrewrite.graph.rewiring import move_slot, rewire
from graphrewrite.lowering.quantisation.calibration import Widths
from graphrewrite.lowering.quantisation.folded_norms import Statistics, channel_axis
from graphrewrite.lowering.quantisation.quantiser import Choices, Quantiser
from graphrewrite.rules import RULES
from graphrewrite.types import element_dtype

__all__ = ["FakeNetwork"]

_BIAS = 48
"""Bits of a bias: those of the widest accumulator."""
_EPSILON = 1e-5
"""What norms add to variances."""
_WIDEST = 16
"""Bits of a format whose reach is learnt, at most."""

Place = tuple[str, int]
"""A node, and 0 for its weights, 1 for its value."""


class _Norm(NamedTuple):
    """The constants of a layer's norm; the bias of the layer is its shift."""

    gain: str
    mean: str
    variance: str


@dataclass(frozen=True, eq=False)
class FakeNetwork:
    """A network as it is trained for hardware.

    Attributes
    ----------
    graph : Graph
        In floats: each weight, bias and value that the hardware rounds is rounded by a `fake_quantise`.
    fixed : Graph
        The same network as `quantise` gives it, of quantised constants.
    choices : Choices
        Its formats.
    layers : mapping of str to pair of str
        By layer of the prepared network, the constants of `graph` that are its weights and its bias.
    norms : mapping of str to _Norm
        By layer with a norm, the other constants of that; as the bias serves its shift.
    value_exponents, weight_exponents : mapping of str to str
        The constants that are exponents, by input or op, and by layer.
    reaches : mapping of (str, int) to str
        The constants that are exponents of the ends of formats, where widths can be learnt: a width is the distance of
        both exponents, and a bit more where there is a sign (Uhlich et al. 2020). By input or op, and 0 for its
        weights, 1 for its value.
    """

    graph: Graph
    fixed: Graph
    choices: Choices
    layers: Mapping[str, tuple[str, str]]
    norms: Mapping[str, _Norm]
    value_exponents: Mapping[str, str]
    weight_exponents: Mapping[str, str]
    reaches: Mapping[Place, str]

    @classmethod
    def of(
        cls,
        folded: Graph,
        inputs: dict[str, np.ndarray],
        widths: Widths,
        *,
        per_channel: bool,
        choices: Choices | None = None,
        norms: Mapping[str, Statistics] | None = None,
        is_flexible: bool = False,
    ) -> FakeNetwork:
        """Return a prepared network with fake quantisation; formats that are not given are chosen by samples.

        A flexible one computes the same, and its formats have reaches: those of values, and of weights that have one
        binary point.

        Layers whose statistics are given have a norm behind them, with which they compute the same at first. Their
        weights are scaled by its gain and running deviation before they are rounded, as they will be when it is folded.
        """
        made = Quantiser(folded, inputs, widths, per_channel, fit=False, choices=choices)
        return _Writer(folded, made, norms or {}, is_flexible=is_flexible).run()

    def choices_in(self, trained: Graph, widths: Mapping[Place, int] | None = None) -> Choices:
        """Return the formats that the exponents of a trained network stand for; with other widths those of its ends."""
        widths = widths or {}

        def fractions(place: Place, exponent: str) -> np.ndarray:
            if place in widths:
                reach = np.rint(np.asarray(trained.nodes[self.reaches[place]]["value"], np.float64))
                return np.asarray(widths[place] - self.is_signed(place) - reach).astype(np.int64).reshape(-1)
            return -np.rint(np.asarray(trained.nodes[exponent]["value"], np.float64)).astype(np.int64).reshape(-1)

        formats = dict(self.choices.formats)
        for node, name in self.value_exponents.items():
            width = widths.get((node, 1), formats[node].width)
            formats[node] = replace(formats[node], width=width, fraction=int(fractions((node, 1), name)[0]))
        of_weights = dict(self.choices.fractions)
        for node, name in self.weight_exponents.items():
            of_weights[node] = np.broadcast_to(fractions((node, 0), name), of_weights[node].shape).copy()
        return Choices(formats, of_weights)

    def is_signed(self, place: Place) -> bool:
        """Whether the numbers at a place have a sign."""
        node, part = place
        return not part or self.choices.formats[node].signed

    def exponent(self, place: Place) -> str:
        """Return the constant that is the exponent of the steps at a place."""
        node, part = place
        return (self.value_exponents if part else self.weight_exponents)[node]

    def learnt(self, folded: Graph, trained: Graph) -> Graph:
        """Return the prepared network with the weights and biases of a trained one, and its norms folded."""
        new = folded.copy()
        for node in self.layers:
            for slot, value in enumerate(self._weights_and_bias(node, trained), start=1):
                old = new.operands(node)[slot]
                made = new.constant(np.array(value), type=new.result_type(*old), origin=new.origin(old.node))
                move_slot(new, node, slot, Operand(made.node))
                if not new.succ[old.node]:
                    new.remove_node(old.node)
        return new

    def _weights_and_bias(self, node: str, trained: Graph) -> tuple[np.ndarray, np.ndarray]:
        weights, bias = (trained.nodes[name]["value"] for name in self.layers[node])
        if node not in self.norms:
            return weights, bias
        gain, mean, variance = (trained.nodes[name]["value"] for name in self.norms[node])
        scale = gain / np.sqrt(variance + gain.dtype.type(_EPSILON))
        return weights * scale.reshape(-1, *[1] * (weights.ndim - 1)), bias - mean * scale


class _Writer:
    """Writes the network of a quantiser, with fake quantisation in the places of its rounding."""

    def __init__(
        self, folded: Graph, made: Quantiser, statistics: Mapping[str, Statistics], *, is_flexible: bool
    ) -> None:
        made.build()
        self.folded, self.made, self.graph, self.statistics = folded, made, made.graph.copy(), statistics
        self.choices = made.choices
        self.value_exponents: dict[str, str] = {}
        self.weight_exponents: dict[str, str] = {}
        self.layers: dict[str, tuple[str, str]] = {}
        self.norms: dict[str, _Norm] = {}
        self.reaches: dict[Place, str] = {}
        self.is_flexible = is_flexible

    def run(self) -> FakeNetwork:
        """Return the network."""
        fixed = rewrite(self.made.graph, RULES)
        chosen = {at: node for node, at in self.made.rounding_at.items()}
        for at in [n for n in self.graph.in_order() if n in self.made.formats]:
            if self.graph.nodes[at]["type"] != "quantise":  # a join of one format
                continue
            value = self.graph.value(*self.graph.operands(at)[0])
            kept = self.rounded(value, chosen[at], at) if at in chosen else value  # sums of the last layer are exact
            rewire(self.graph, at, Operand(kept.node, kept.result))
            self.graph.remove_node(at)
        for node in self.folded.in_order():
            if node in self.made.fitted:
                self.round_weights(node)
        names = self.layers, self.norms, self.value_exponents, self.weight_exponents, self.reaches
        return FakeNetwork(self.graph, fixed, self.choices, *names)

    def rounded(self, value: Any, node: str, at: str) -> Any:
        """Return a value that is rounded to its format."""
        element = self.choices.formats[node]
        exponent = self.constant(f"{node}_exponent", np.array(-element.fraction), value)
        self.value_exponents[node] = exponent.node
        if self.is_flexible:
            return self.within(
                (node, 1), value, exponent, element.width, signed=element.signed, origin=self.made.graph.origin(at)
            )
        return self.fake(value, exponent, element.width, signed=element.signed, origin=self.made.graph.origin(at))

    def round_weights(self, node: str) -> None:
        """Round the weights and the bias of a layer, which are constants of its own."""
        fractions = self.choices.fractions[node]
        _, *old = self.folded.operands(node)
        w, b = (np.asarray(self.folded.nodes[each.node]["value"]) for each in old)
        if node in self.statistics:  # the shift of a norm that takes the mean away
            b = (b + self.statistics[node].mean).astype(b.dtype)
        own = []
        for each, array, what in zip(old, (w, b), ("weights", "bias"), strict=True):
            kind, origin = self.folded.result_type(*each), self.folded.origin(each.node)
            name = self.graph.fresh(f"{node}_{what}")
            own.append(self.graph.constant(array.copy(), name=name, type=kind, origin=origin))
        self.layers[node] = (own[0].node, own[1].node)
        is_one = len({*fractions.tolist()}) == 1 and not self.made.per_channel
        start = np.array(-fractions[0]) if is_one else -fractions.reshape(-1, *[1] * (w.ndim - 1))
        exponent = self.constant(f"{node}_weight_exponent", start, own[0])
        self.weight_exponents[node] = exponent.node
        width = self.made.widths.of_weights(self.folded, node)
        if node in self.statistics:
            weights, bias = self.with_norm(node, *own), self.constant(f"{node}_zero", np.zeros(len(w)), own[1])
        else:
            of_weights = exponent if is_one else op.reshape(exponent, shape=(len(w),))
            of_bias = op.add(op.round(of_weights), op.round(self.exponent_of(node, own[1])))  # the grid of products
            weights, bias = own[0], self.fake(own[1], of_bias, _BIAS, signed=True, origin=(node,))
        if self.is_flexible and is_one:
            rounded = self.within((node, 0), weights, exponent, width, signed=True, origin=(node,))
        else:
            rounded = self.fake(weights, exponent, width, signed=True, origin=(node,))
        for slot, value in enumerate((rounded, bias), start=1):
            before = self.graph.operands(node)[slot]
            move_slot(self.graph, node, slot, Operand(value.node))
            if not self.graph.succ[before.node]:
                self.graph.remove_node(before.node)

    def with_norm(self, node: str, weights: Any, shift: Any) -> Any:
        """Give a layer a norm that leaves its results as they are, and return its weights with the scale of that."""
        mean, variance = self.statistics[node]
        starts = np.sqrt(variance + _EPSILON), mean, variance
        parts = zip(_Norm._fields, starts, strict=True)
        gain, middle, spread = (self.constant(f"{node}_{name}", array, shift) for name, array in parts)
        self.norms[node] = _Norm(gain.node, middle.node, spread.node)
        scale = op.div(gain, op.sqrt(op.add(spread, _EPSILON)))
        rank, channels = len(self.folded.result_type(node).shape), channel_axis(self.folded, node)
        shape = tuple(-1 if axis == channels else 1 for axis in range(rank))
        sums = op.div(self.graph.value(node), op.reshape(scale, shape=shape))
        rewire(self.graph, node, Operand(sums.node))
        normed = op.batch_norm(sums, gain, shift, middle, spread, epsilon=_EPSILON)
        rewire(self.graph, sums.node, Operand(normed.node))
        return op.mul(weights, op.reshape(scale, shape=(-1, *[1] * (len(weights.type.shape) - 1))))

    def exponent_of(self, layer: str, like: Any) -> Any:
        """Return the exponent of the steps of what a layer reads."""
        at = self.made.origin_of_format(self.made.graph.operands(layer)[0].node)
        for node, chosen in self.made.rounding_at.items():
            if chosen == at:
                return self.graph.value(self.value_exponents[node])
        return self.constant(f"{layer}_exponent", np.array(-self.made.formats[at].fraction), like)

    def constant(self, name: str, array: np.ndarray, like: Any) -> Any:
        """Return an exponent in the element type of what it is for."""
        return self.graph.constant(array.astype(element_dtype(like.type.element)), name=self.graph.fresh(name))

    def within(self, place: Place, x: Any, exponent: Any, width: int, *, signed: bool, origin: tuple[str, ...]) -> Any:
        """Round a value to a format of such a width, whose ends are at an exponent of their own."""
        start = np.asarray(self.graph.nodes[exponent.node]["value"]) + (width - signed)
        reach = self.constant(f"{exponent.node.removesuffix('_exponent')}_reach", start, x)
        self.reaches[place] = reach.node
        whole = self.constant(f"{reach.node}_step", np.zeros(()), x)
        top = op.pow(2.0, self.fake(reach, whole, _WIDEST, signed=True, origin=origin))
        step = op.pow(2.0, self.fake(exponent, whole, _WIDEST, signed=True, origin=origin))
        limited = op.minimum(op.maximum(x, op.neg(top) if signed else 0.0), top - step)
        return self.fake(limited, exponent, _WIDEST, signed=signed, origin=origin)

    def fake(self, x: Any, exponent: Any, width: int, *, signed: bool, origin: tuple[str, ...]) -> Any:
        return self.graph.add(op.fake_quantise, [x, exponent], {"width": width, "signed": signed}, origin=origin)
