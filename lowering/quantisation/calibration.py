"""Arguments of the calibration: samples of the inputs, finite weights, word widths by layer."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fnmatch import fnmatchcase
from typing import Any

import numpy as np

from graphrewrite import Graph
from graphrewrite.errors import did_you_mean
from graphrewrite.hierarchy.blocks import names_of
from graphrewrite.lowering.errors import QuantisationError
from graphrewrite.lowering.predicates import without_predicates
from graphrewrite.lowering.quantisation.elementwise_functions import functions_of
from graphrewrite.types import element_dtype

__all__ = ["LAYERS", "Bits", "Widths", "check_counts", "check_weights", "checked_samples", "layer_names"]

LAYERS = frozenset({"conv", "linear", "add", "sub", "mul"})
"""Computing ops, each followed by one quantise node."""


def checked_samples(graph: Graph, samples: Any) -> dict[str, np.ndarray]:
    """Return calibration samples by input."""
    if samples is None:
        raise QuantisationError(
            "calibration samples are missing; give at least one input of each kind the network will meet"
        )
    inputs = without_predicates(graph).inputs
    by_input = dict(samples) if isinstance(samples, Mapping) else dict.fromkeys(inputs[:1], samples)
    checked = {}
    for name in inputs:
        if name not in by_input:
            raise QuantisationError(
                f"calibration samples for the input {name!r} are missing; pass a mapping with {', '.join(inputs)}"
            )
        array = np.asarray(by_input.pop(name))
        kind = graph.result_type(name)
        fits = array.ndim == len(kind.shape) and all(
            isinstance(d, str) or d == s for d, s in zip(kind.shape, array.shape, strict=False)
        )
        if array.dtype.kind not in "fiub" or not fits:
            raise QuantisationError(
                f"calibration samples for {name!r} have the shape {list(array.shape)} of {array.dtype}, and the "
                f"input is {kind}"
            )
        if not array.size:
            raise QuantisationError(f"calibration samples for {name!r} are empty; give at least one")
        # In the type of the input: a double may be finite, and infinite as float32.
        with np.errstate(over="ignore"):
            finite = np.isfinite(array.astype(element_dtype(kind.element))).all()
        if not finite:
            raise QuantisationError(
                f"calibration samples for {name!r} hold NaN, infinity or numbers beyond {kind}; remove those samples"
            )
        checked[name] = array
    for name in (each for each in by_input if each not in graph.inputs):  # predicates' inputs need none
        raise QuantisationError(
            f"calibration samples name {name!r}, which is not an input{did_you_mean(name, graph.inputs)}"
        )
    check_counts(graph, checked)
    return checked


def check_counts(graph: Graph, samples: Mapping[str, Any]) -> None:
    """Raise unless all inputs of one batch have as many samples."""
    for batch in dict.fromkeys(graph.result_type(name).shape[:1] for name in samples):
        if not batch:  # a single value is the same for all
            continue
        counts = {name: len(array) for name, array in samples.items() if graph.result_type(name).shape[:1] == batch}
        if len({*counts.values()}) > 1:
            told = ", ".join(f"{count} of {name!r}" for name, count in counts.items())
            raise QuantisationError(f"samples differ in number: {told}; give as many of each input")


def check_weights(graph: Graph) -> None:
    """Raise unless all weights are finite."""
    for node, data in graph.nodes(data=True):
        if data["type"] == "constant" and data["value"].dtype.kind == "f" and not np.isfinite(data["value"]).all():
            origin = ", ".join(graph.origin(node))
            raise QuantisationError(
                f"the weights of {origin} hold NaN or infinity; train or export the model again", node=node
            )


def layer_names(graph: Graph) -> list[str]:
    """Return how inputs and what is rounded behind them are called in widths: by the first of their origins."""
    functions = functions_of(graph)
    layers = {n for n in graph if graph.nodes[n]["type"] in LAYERS and n not in functions.members}
    rounded = [n for n in graph.in_order() if n in layers or n in functions.ends]
    return list(dict.fromkeys([*graph.inputs, *(graph.origin(n)[0] for n in rounded)]))


Bits = int | Mapping[str, int | Sequence[int]]
"""A width, or by layer a width or those of its weights and of its result."""


class Widths:
    """The word widths of each layer: of its weights, and of its result."""

    def __init__(self, graph: Graph, bits: Bits, least: int = 4) -> None:
        given: dict[str, Any] = dict(bits) if isinstance(bits, Mapping) else {"default": bits}
        names = {o for node in graph for o in names_of(graph, node)} | {"default"}
        self.table: dict[str, tuple[int, int]] = {}
        self.patterns: dict[str, tuple[int, int]] = {}
        for name, widths in given.items():
            pair = widths if isinstance(widths, tuple | list) and len(widths) == 2 else (widths, widths)
            for width in pair:
                if isinstance(width, bool) or not isinstance(width, int | np.integer) or not least <= width <= 16:
                    raise QuantisationError(
                        f"the width for {name!r} is {widths!r}; widths are integers from {least} to 16, or a pair of "
                        "them for weights and results"
                    )
            is_name = name in names
            if not is_name and not any(fnmatchcase(other, name) for other in names - {"default"}):
                what = "fits no layer" if set(name) & set("*?[") else f"is not a layer{did_you_mean(name, names)}"
                raise QuantisationError(f"bits names {name!r}, which {what} (layers: {', '.join(layer_names(graph))})")
            (self.table if is_name else self.patterns)[name] = (int(pair[0]), int(pair[1]))

    def of_weights(self, graph: Graph, node: str) -> int:
        """Return the width of a layer's weights."""
        return self._of(graph, node)[0]

    def of(self, graph: Graph, node: str) -> int:
        """Return the width of a node's values, also of a node with the same origins."""
        return self._of(graph, node)[1]

    def named(self, graph: Graph, node: str) -> tuple[int, int] | None:
        """Return the widths that are given for a node by name or pattern, if there are any."""
        names = names_of(graph, node)
        for name in names:
            if name in self.table:
                return self.table[name]
        for pattern, widths in self.patterns.items():
            if any(fnmatchcase(name, pattern) for name in names):
                return widths
        return None

    def _of(self, graph: Graph, node: str) -> tuple[int, int]:
        return self.named(graph, node) or self.table.get("default", (8, 8))
