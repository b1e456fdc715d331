"""Arguments of the calibration: samples of the inputs, finite weights, word widths by layer."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from graphrewrite import Graph
from graphrewrite.errors import did_you_mean
from graphrewrite.lowering.errors import QuantisationError
from graphrewrite.types import element_dtype

__all__ = ["Widths", "check_weights", "checked_samples"]


def checked_samples(graph: Graph, samples: Any) -> dict[str, np.ndarray]:
    """Return calibration samples by input."""
    if samples is None:
        raise QuantisationError(
            "calibration samples are missing; give at least one input of each kind the network will meet"
        )
    by_input = dict(samples) if isinstance(samples, Mapping) else dict.fromkeys(graph.inputs[:1], samples)
    checked = {}
    for name in graph.inputs:
        if name not in by_input:
            raise QuantisationError(
                f"calibration samples for the input {name!r} are missing; pass a mapping with {', '.join(graph.inputs)}"
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
    for name in by_input:
        raise QuantisationError(
            f"calibration samples name {name!r}, which is not an input{did_you_mean(name, graph.inputs)}"
        )
    return checked


def check_weights(graph: Graph) -> None:
    """Raise unless all weights are finite."""
    for node, data in graph.nodes(data=True):
        if data["type"] == "constant" and data["value"].dtype.kind == "f" and not np.isfinite(data["value"]).all():
            origin = ", ".join(graph.origin(node))
            raise QuantisationError(
                f"the weights of {origin} hold NaN or infinity; train or export the model again", node=node
            )


class Widths:
    """The word width of each layer."""

    def __init__(self, graph: Graph, bits: int | Mapping[str, int]) -> None:
        self.table: dict[str, Any] = dict(bits) if isinstance(bits, Mapping) else {"default": bits}
        names = {o for node in graph for o in graph.origin(node)} | set(graph) | {"default"}
        for name, width in self.table.items():
            if name not in names:
                raise QuantisationError(f"bits names {name!r}, which is not a layer{did_you_mean(name, names)}")
            if isinstance(width, bool) or not isinstance(width, int | np.integer) or not 4 <= width <= 16:
                raise QuantisationError(f"the width for {name!r} is {width!r}; widths are integers from 4 to 16")

    def of(self, graph: Graph, node: str) -> int:
        """Return the width of a node's values, also of a node with the same origins."""
        for name in (node, *graph.origin(node)):
            if name in self.table:
                return int(self.table[name])
        return int(self.table.get("default", 8))
