"""The quantiser: gives each value and each weight of a prepared float network a format, from samples."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import partial, reduce
from itertools import count
from typing import Any, NamedTuple

import numpy as np

from graphrewrite import FixedPoint, Graph, op, rewrite
from graphrewrite.errors import GraphRewriteError
from graphrewrite.execution.evaluator import evaluate_nodes
from graphrewrite.graph import Operand
from graphrewrite.graph.rewiring import inherit, move_slot, rewire
from graphrewrite.hierarchy.blocks import of_graph
from graphrewrite.lowering.errors import QuantisationError
from graphrewrite.lowering.quantisation.calibration import LAYERS, Widths
from graphrewrite.lowering.quantisation.elementwise_functions import functions_of
from graphrewrite.lowering.quantisation.fixed_point_formats import (
    accumulator,
    combined,
    constant_on_grid,
    fractions_of,
    on_grid,
)
from graphrewrite.lowering.quantisation.format_choice import format_by
from graphrewrite.lowering.quantisation.host_inputs import encoding
from graphrewrite.lowering.quantisation.value_histogram import ValueHistogram
from graphrewrite.lowering.quantisation.value_profile import Ranges
from graphrewrite.lowering.quantisation.weight_rounding import ENOUGH, fitted, mean_shift, moments
from graphrewrite.lowering.quantisation.window_sums import constant_side, is_mean, mean_of, total_format
from graphrewrite.rules import RULES
from graphrewrite.types import element_dtype, sizes_in, solved, with_sizes_in

__all__ = ["CARRIERS", "LAYERS", "Choices", "Quantiser"]

_JOINS = frozenset({"concat", "pad"})
"""Ops that combine several formats, followed by a quantise node where these differ."""

_WIDEST = 31
"""Most bits of a requantise component's result."""

CARRIERS = frozenset(
    {
        *("max_pool", "reshape", "transpose", "relu", "clip", "identity", "flatten", "squeeze", "unsqueeze", "slice"),
        *("split", "tile", "channel_shuffle", "depth_to_space", "space_to_depth", "resize", "pad", "name_axes"),
    }
)
"""Ops that keep the format of their operand."""

_REMEDIES = {
    "average_pool": "give its axes no names, and leave no window wholly in the border",
    "resize": "let it repeat numbers (mode='nearest'), or make both axes longer by one whole number",
    "reduce_mean": "take it over axes of positions",
    "reduce_max": "take it over axes of positions",
}
"""Remedies for ops that have a fixed-point form with other attributes only."""

_FINER = 8
"""Extra bits for the factors of a mean where these differ."""
_SPARE = 4
"""Extra bits of an addend beyond those of the value, half of them below its binary point."""

_OF_HOST = frozenset({"sigmoid", "tanh", "greater"})
"""Functions that the host computes if they stand alone after the last layer, like a softmax."""

_UNITS = 8
"""Outputs whose greatest weights differ by more have binary points of their own: no layer behind could scale them."""

_ACCUMULATOR = 48  # bits that an accumulator in hardware has at most


class Choices(NamedTuple):
    """Formats of a network that nothing but samples or training decides.

    Attributes
    ----------
    formats : dict of str to FixedPoint
        Of values, by input or op.
    fractions : dict of str to ndarray
        Of the weights of a layer, one for each output.
    """

    formats: dict[str, FixedPoint]
    fractions: dict[str, np.ndarray]


class Quantiser:
    """A network whose values and weights get formats, and what was chosen.

    Attributes
    ----------
    graph : Graph
        The network, in which each value is quantised after `build`.
    choices : Choices
        Formats that are given, and those that were chosen by samples.
    formats : dict of str to FixedPoint
        Of each value, those that follow from others too, by the node that quantises it.
    rounding_at : dict of str to str
        The nodes that quantise values to chosen formats, by input or op.
    fitted : set of str
        Layers whose weights may change.
    """

    def __init__(
        self,
        graph: Graph,
        inputs: dict[str, np.ndarray],
        widths: Widths,
        per_channel: bool,
        fit: bool,
        choices: Choices | None = None,
        ranges: Ranges | None = None,
    ) -> None:
        self.ranges = Ranges() if ranges is None else ranges
        self.choices = Choices({}, {}) if choices is None else Choices({**choices.formats}, {**choices.fractions})
        self.graph, self.widths, self.per_channel = graph.copy(), widths, per_channel
        self.uses: dict[tuple[str, str], list[str]] = {}
        """Nodes by the nested graph and the node of it that they are uses of."""
        for node in graph.in_order():
            if (use := of_graph(graph, node)) is not None and graph.nodes[node]["type"] != "constant":
                self.uses.setdefault(use, []).append(node)
        functions, before = functions_of(graph), [encoding(graph, node) for node in graph.inputs]
        of_host = {node for nodes in before for node in nodes}
        self.functions = {end for end, source in functions.ends.items() if not self.is_of_host(end, source.node)}
        self.functions -= of_host
        self.ends = {end: source for end, source in functions.ends.items() if end in self.functions}
        self.members = functions.members
        self.computing = self.functions | {
            n for n in graph if graph.nodes[n]["type"] in LAYERS and n not in functions.members | of_host
        }
        joins = {n for n in graph if graph.nodes[n]["type"] in _JOINS}
        self.rounding = [n for n in graph.in_order() if n in self.computing | joins]
        self.points = {nodes[0]: nodes[-1] for nodes in before}
        self.points |= {n: n if n in self.functions else self.point(n) for n in self.rounding}
        layers = {n for n in self.computing if graph.nodes[n]["type"] in ("conv", "linear")}
        self.fitted, self.fit = {n for n in layers if not is_mean(graph, n)}, fit
        self.names = _names(graph, self.points)
        self.rounded = dict(inputs)
        """Values of the quantised network."""
        self.values = self.evaluated(inputs, self.fitted if fit else ()) if inputs else {}
        self.formats: dict[str, FixedPoint] = {}
        self.rounding_at: dict[str, str] = {}
        self.totals: set[str] = set()
        """Exact sums that constant factors make means."""

    def evaluated(self, inputs: Mapping[str, np.ndarray], more: Iterable[str] = ()) -> dict[str, np.ndarray]:
        """The values of the float network that are rounded, and some more; an error where they are not finite."""
        try:
            # What overflows is named below, by its node.
            with np.errstate(over="ignore", invalid="ignore"):
                values = evaluate_nodes(self.graph, inputs, {*self.points.values(), *more}, by_functions=False)
        except GraphRewriteError as error:
            raise QuantisationError(f"the calibration samples cannot be evaluated: {error}") from error
        for node, point in self.points.items():
            if not np.isfinite(values[point]).all():
                raise QuantisationError(
                    "overflows on the calibration samples; scale its weights, or export the model again", node=node
                )
        return values

    def point(self, node: str) -> str:
        """The node whose result is quantised: a relu or clip after a node."""
        readers = list(self.graph.successors(node))
        while len(readers) == 1 and self.graph.nodes[readers[0]]["type"] in ("relu", "clip"):
            node = readers[0]
            readers = list(self.graph.successors(node))
        return node

    def is_of_host(self, end: str, source: str) -> bool:
        """Whether a function is a single op between the last layer and an output, which the host computes."""
        uses = self.uses.get(of_graph(self.graph, end) or ("", ""), [end])
        is_alone = self.graph.nodes[end]["type"] in _OF_HOST and self.graph.operands(end)[0].node == source
        return is_alone and all(n in self.graph.outputs for use in uses for n in self.graph.successors(use))

    def run(self) -> Graph:
        """Return the network in fixed point."""
        self.build()
        return rewrite(self.graph, RULES)

    def build(self) -> None:
        """Quantise values and weights, each by a node of its own, or a constant."""
        for node in self.graph.inputs:
            if self.graph.succ[node]:
                self.rounding_at[node] = self.insert(self.points[node], self.chosen(node))
        # In topological order: the formats of all operands are known when a node has its turn.
        for node in self.rounding:
            # The sums of a mean stay exact, so that only its product with a constant is rounded.
            if mean_of(self.graph, node) in self.computing:
                operand_format = self.format_of(self.graph.operands(node)[0].node)
                self.totals.add(self.insert(node, total_format(self.graph, node, operand_format)))
                continue
            exact = None if node in self.functions else self.exact(node)
            # A concatenation or a border of one format rounds nothing, and needs no quantise node.
            if exact is not None and node not in self.computing and self.is_of_one_format(node):
                self.formats[node] = exact
            elif exact is not None and (self.is_compared(node) or self.is_last(node)):
                self.insert(self.points[node], self.at_the_end(node, exact))
            else:
                self.rounding_at[node] = self.insert(self.points[node], self.chosen(node))

    def exact(self, node: str) -> FixedPoint:
        """The format of exact results."""
        kind, operands = self.graph.nodes[node]["type"], self.graph.operands(node)
        if kind in ("conv", "linear"):
            return self.quantise_weights(node)
        if kind == "pad":
            operand_format = self.format_of(operands[0].node)
            return combined("concat", operand_format, self.border(node, operand_format))
        constant = constant_side(self.graph, node)
        formats = [
            self.quantise_constant(node, i) if i == constant else self.format_of(o.node) for i, o in enumerate(operands)
        ]
        return reduce(partial(combined, kind), formats)

    def border(self, node: str, operand_format: FixedPoint) -> FixedPoint:
        """The format that the border of a value needs, on the grid of the value."""
        fill = round(float(self.graph.nodes[node].get("fill", 0.0)) / operand_format.step)
        return FixedPoint.holding(min(fill, 0), max(fill, 0), operand_format.fraction)

    def is_of_one_format(self, node: str) -> bool:
        """Whether all operands of a node lie on one grid."""
        formats = {self.format_of(o.node) for o in self.graph.operands(node)}
        (first, *others) = formats
        fill = self.graph.nodes[node].get("fill", 0.0) / first.step
        return not others and fill == round(fill) and first.minimum <= fill <= first.maximum

    def is_last(self, node: str) -> bool:
        """Whether no layer computes with its results, nor with those of other uses of its nested graph."""
        uses = self.uses.get(of_graph(self.graph, node) or ("", ""), [node])
        return all(self.graph.downstream(n).isdisjoint(self.computing) for n in uses if n in self.graph)

    def is_compared(self, node: str) -> bool:
        """Whether all that is read of a node is its sign: sums are not rounded before."""
        readers = self.graph.successors(self.points[node])
        return {self.graph.nodes[n]["type"] for n in readers} == {"sign"}

    def at_the_end(self, node: str, exact: FixedPoint) -> FixedPoint:
        """The format of the last layer: its exact sums, or as many of their bits as a requantise can give.

        An arg_max or a sign compares floats and a concat rounds them: their operands have no more bits than floats.
        """
        widest = _WIDEST
        if self.is_compared(node) or any(
            self.graph.nodes[n]["type"] in {"arg_max", *_JOINS} for n in (node, *self.graph.downstream(node))
        ):
            dtype = element_dtype(self.graph.result_type(self.points[node]).element)
            widest = min(widest, int(np.finfo(dtype).nmant) + 1 + exact.signed)
        surplus = exact.width - widest
        if surplus <= 0:
            return exact
        return FixedPoint(exact.signed, widest, exact.fraction - surplus)

    def chosen(self, node: str) -> FixedPoint:
        """The format that is given for a value, or that of its range."""
        if node not in self.choices.formats:
            self.choices.formats[node] = self.by_range(node)
        return self.choices.formats[node]

    def by_range(self, node: str) -> FixedPoint:
        """The format of a value's range; an error is that of the functions that alone read it."""
        point = self.points[node]
        if self.graph.nodes[point]["type"] == "sign":
            return FixedPoint(True, 2)
        width = self.widths.of(self.graph, node)
        ends = [Operand(end) for end, source in self.ends.items() if source.node in (node, point)]
        kind, through = self.graph.result_type(point), None

        def functions(x: np.ndarray) -> np.ndarray:
            """What all functions are of numbers, in each channel."""
            channels = kind.shape[1]
            assert isinstance(channels, int), "others have no functions"
            shape = (len(x), channels, *[1] * (len(kind.shape) - 2))
            columns = np.broadcast_to(x.reshape(-1, *[1] * (len(shape) - 1)), shape)
            known = {point: columns.astype(element_dtype(kind.element))}
            found = np.stack([self.computed(end, known)[end.node][0] for end in ends])
            return np.moveaxis(found, 1, -1)

        if ends and self.members.issuperset(self.graph.successors(point)):
            through = functions
        if self.ranges.profile is not None:
            return self.ranges.profile.format(self.names[node], width, self.ranges.method, through=through)
        return format_by(self.ranges.method, ValueHistogram.of(self.values[point]), width, through=through)

    def insert(self, point: str, element: FixedPoint) -> str:
        """Insert a quantise node before all readers of a value; return it."""
        quantised = self.graph.add(
            op.quantise, [self.graph.value(point)], {"element": element}, origin=self.graph.origin(point)
        )
        self.formats[quantised.node] = element
        rewire(self.graph, point, Operand(quantised.node))
        return str(quantised.node)

    def format_of(self, node: str) -> FixedPoint:
        """The format of a value that reaches a layer."""
        return self.formats[self.origin_of_format(node)]

    def origin_of_format(self, node: str) -> str:
        """The node whose format a value has, looked up through ops that keep it."""
        while node not in self.formats:
            kind = self.graph.nodes[node]["type"]
            if kind == "constant":
                raise QuantisationError(
                    "is a constant that is concatenated with values, which has no component; leave it to the host",
                    node=node,
                )
            if kind not in CARRIERS or (
                kind == "resize" and self.graph.nodes[node].get("mode", "nearest") != "nearest"
            ):
                remedy = f"; {_REMEDIES[kind]}" if kind in _REMEDIES else ""
                raise QuantisationError(
                    f"is {kind}, which has no fixed-point form; "
                    f"supported are {', '.join(sorted(LAYERS | CARRIERS | _JOINS))}, poolings, functions of one "
                    f"value, and softmax at the end{remedy}",
                    node=node,
                )
            node = self.graph.operands(node)[0].node
        return node

    def quantise_constant(self, node: str, slot: int) -> FixedPoint:
        """Round a constant addend or factor to its grid; return its format.

        An addend is as fine as the grid of the value, within some extra bits, and does not saturate. Even the least
        factor of a mean has as many bits as weights.
        """
        operands = self.graph.operands(node)
        constant, x = operands[slot], operands[1 - slot]
        value = np.asarray(self.graph.nodes[constant.node]["value"])
        kind, operand_format = self.graph.result_type(x.node, x.result), self.format_of(x.node)
        if self.graph.result_type(node).shape != kind.shape or (value.ndim == len(kind.shape) and len(value) > 1):
            raise QuantisationError(
                f"is a constant of shape {list(value.shape)} beside {kind}: it differs from sample to sample, or gives "
                "values another shape; repeat these by op.tile first",
                node=constant.node,
            )
        width, is_factor = self.widths.of(self.graph, node), self.graph.nodes[node]["type"] == "mul"
        if {x.node, self.graph.operands(x.node)[0].node} & self.totals and value.min() > 0:
            width += min(_FINER, int(np.ceil(np.log2(value.max() / value.min()))))
        addend = width + _SPARE, operand_format.fraction + _SPARE // 2
        element, on_its_grid = constant_on_grid(value, *(addend if not is_factor else (width,)))
        self.replace_constant(node, slot, on_its_grid)
        return element

    def quantise_weights(self, node: str) -> FixedPoint:
        """Round a layer's weights and bias to their grids; return the format of the exact accumulator."""
        source, weights, bias = self.graph.operands(node)
        for operand in (weights, bias):
            if self.graph.nodes[operand.node]["type"] != "constant":
                raise QuantisationError(
                    "has weights that are not constants; only the input of a layer may be computed", node=node
                )
        operand_format = self.format_of(source.node)
        w = np.asarray(self.graph.nodes[weights.node]["value"], np.float64)
        b = np.asarray(self.graph.nodes[bias.node]["value"], np.float64)
        w, b, fractions = self.on_grids(node, w, b)
        b = on_grid(b, fractions + operand_format.fraction, None)
        dtype = self.graph.nodes[weights.node]["value"].dtype
        for slot, array in ((1, w), (2, b)):
            self.replace_constant(node, slot, array.astype(dtype))
        try:
            # No format may hold the sums at all: that is a fault of the samples, and said as one.
            element = accumulator(w, b, operand_format, fractions + operand_format.fraction)
        except (GraphRewriteError, OverflowError):
            element = None
        if element is None or element.width > _ACCUMULATOR:
            raise QuantisationError(
                f"needs sums of {'more than 63' if element is None else element.width} bits, and an accumulator "
                f"has at most {_ACCUMULATOR}: weights and bias are out of proportion to the calibration samples; "
                "scale them or give fewer bits",
                node=node,
            )
        return element

    def on_grids(self, node: str, w: np.ndarray, b: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """A layer's weights on the grids that suit them best, the bias that then fits, and the binary points."""
        width = self.widths.of_weights(self.graph, node)
        fractions = self.choices.fractions.get(node)
        if fractions is None:
            fractions = fractions_of(w, width, per_channel=self.per_channel or self.gives_units(node, w))
            self.choices.fractions[node] = fractions
        nearest = on_grid(w, fractions, width)
        if not self.fit or node not in self.fitted or np.array_equal(nearest, w):
            return nearest, b, fractions
        x, wanted = self.value(self.graph.operands(node)[0]), self.values[node]
        order = self.graph.op(node).arrangement([self.graph.result_type(*o) for o in self.graph.operands(node)])
        if order is not None:
            x, wanted = np.transpose(x, order.operand), np.transpose(wanted, np.argsort(order.result))
        seen = moments(x, w, wanted, self.graph.attributes(node))
        common = [] if not self.per_channel else [fractions_of(w, width, per_channel=False)]
        w, fractions = fitted(w, seen, width, [fractions, *common])
        return w, mean_shift(w, seen) if len(x) >= ENOUGH else b, fractions

    def gives_units(self, node: str, w: np.ndarray) -> bool:
        """Whether a layer gives outputs of so different units that weights of one binary point would vanish."""
        greatest = np.abs(w).reshape(len(w), -1).max(axis=1)
        greatest = greatest[greatest > 0]
        differs = len(greatest) > 1 and greatest.max() > _UNITS * greatest.min()
        return bool(differs) and self.graph.downstream(self.points[node]).isdisjoint(self.computing)

    def value(self, operand: Operand) -> np.ndarray:
        """The value of an operand in the quantised network, as far as that has been built."""
        found = self.computed(operand, self.rounded)
        # What lies between two of them is computed again where it is needed again.
        self.rounded |= {n: y for n, (y, *_) in found.items() if self.graph.nodes[n]["type"] == "quantise"}
        return found[operand.node][operand.result]

    def computed(self, operand: Operand, known: Mapping[str, np.ndarray]) -> dict[str, tuple[np.ndarray, ...]]:
        """An operand's node and those before it, as far as they are not known, with their values."""
        found: dict[str, tuple[np.ndarray, ...]] = {}
        waiting = [operand.node]
        while waiting:
            node = waiting[-1]
            operands, data = self.graph.operands(node), self.graph.nodes[node]
            if node in known:
                found[node] = (known[node],)
            elif data["type"] == "constant":
                found[node] = (data["value"],)
            elif missing := [o.node for o in operands if o.node not in found]:
                waiting += missing
                continue
            else:
                node_op, kinds = self.graph.op(node), [self.graph.result_type(*o) for o in operands]
                arrays = [found[o.node][o.result] for o in operands]
                found[node] = node_op.compute(arrays, self.numbers(node, found), node_op.arrangement(kinds))
            waiting.pop()
        return found

    def numbers(self, node: str, found: Mapping[str, tuple[np.ndarray, ...]]) -> dict[str, Any]:
        """Attributes of a node with numbers for the sizes in them, as values before it have them."""
        attributes, sized = self.graph.attributes(node), self.graph.op(node).sized
        if any(any(sizes_in(attributes[key])) for key in sized):
            pairs = [
                pair
                for other, (array, *_) in found.items()
                for pair in zip(self.graph.result_type(other).shape, array.shape, strict=True)
            ]
            sizes = solved(pairs)
            attributes.update({key: with_sizes_in(attributes[key], sizes) for key in sized})
        return attributes

    def replace_constant(self, node: str, slot: int, array: np.ndarray) -> None:
        """Give an operand of a node another value."""
        old = self.graph.operands(node)[slot]
        new = self.graph.constant(array, origin=self.graph.origin(old.node))
        inherit(self.graph, new.node, old.node)
        move_slot(self.graph, node, slot, Operand(new.node))
        if not self.graph.succ[old.node]:
            self.graph.remove_node(old.node)


def _names(graph: Graph, nodes: Iterable[str]) -> dict[str, str]:
    """The first origin of each node, by which widths know it; numbered from the second of a name on."""
    names: dict[str, str] = {}
    for node in nodes:
        name, taken = graph.origin(node)[0], {*names.values()}
        names[node] = next(each for i in count(1) if (each := name if i == 1 else f"{name}#{i}") not in taken)
    return names
