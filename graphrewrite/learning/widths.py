"""Choice of widths for a budget: bits are taken away where the outputs mind it least for what it saves."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from math import prod
from typing import Any

import numpy as np

from graphrewrite import Graph
from graphrewrite.hierarchy.blocks import names_of
from graphrewrite.learning.errors import TrainingError
from graphrewrite.lowering.errors import QuantisationWarning
from graphrewrite.lowering.quantisation.calibration import Widths, layer_names
from graphrewrite.lowering.quantisation.output_noise import output_noise
from graphrewrite.lowering.quantisation.quantiser import Quantiser

__all__ = ["chosen_widths"]

_LEAST, _MOST = 2, 8

Place = tuple[str, int]
"""The name of a layer or an input, and 0 for its weights, 1 for its result."""


def chosen_widths(
    folded: Graph, inputs: dict[str, np.ndarray], asked: str, *, budget: Any, per_channel: bool
) -> dict[str, tuple[int, int]]:
    """Return widths by layer, of weights and results, that cost no more than so many bits everywhere.

    All begin at 8 bits. How much noise fewer bits of one place add to the outputs is measured once; then bits go where
    that is least for the bit operations that it saves.
    """
    if asked != "auto":
        raise TrainingError(f"bits is a width, widths by layer, or 'auto', got {asked!r}")
    if isinstance(budget, bool) or not isinstance(budget, int | float) or not _LEAST <= budget <= _MOST:
        raise TrainingError(f"budget is a mean width, a number from {_LEAST} to {_MOST}, got {budget!r}")
    products = _products(folded)
    names = layer_names(folded)
    places = {place for weights, values, _ in products for place in (weights, *values)}
    widths = {place: _MOST for name in names for place in ((name, 0), (name, 1)) if place in places}

    def noise(tried: Mapping[Place, int]) -> float:
        bits = {name: (tried.get((name, 0), _MOST), tried.get((name, 1), _MOST)) for name in names}
        with warnings.catch_warnings():  # of widths that are tried only
            warnings.simplefilter("ignore", QuantisationWarning)
            made = Quantiser(folded, inputs, Widths(folded, bits, least=_LEAST), per_channel, fit=False).run()
        return output_noise(folded, inputs, made)

    def cost(tried: Mapping[Place, int]) -> float:
        return sum(count * tried[weights] * max(tried[each] for each in values) for weights, values, count in products)

    limit = cost(dict.fromkeys(widths, 1)) * budget**2
    curves = {place: {fewer: noise(widths | {place: fewer}) for fewer in range(_LEAST, _MOST + 1)} for place in widths}
    while cost(widths) > limit:
        before = cost(widths)
        prices = [
            ((curves[place][fewer] - curves[place][now]) / saved, number, place, fewer)
            for number, (place, now) in enumerate(widths.items())
            for fewer in range(_LEAST, now)  # a dear bit may stand before cheap ones
            if (saved := before - cost(widths | {place: fewer})) > 0
        ]
        if not prices:  # several values are read together, and none of them alone saves anything
            widths = {place: max(width - 1, _LEAST) for place, width in widths.items()}
            continue
        *_, place, fewer = min(prices)
        widths[place] = fewer
    return {name: (widths.get((name, 0), _MOST), widths.get((name, 1), _MOST)) for name in names}


def _products(folded: Graph) -> list[tuple[Place, tuple[Place, ...], int]]:
    """Return for each layer the place of its weights, those of the values that it reads, and its products a sample."""
    names = layer_names(folded)

    def name(node: str) -> str | None:
        return next((each for each in names_of(folded, node) if each in names), None)

    def read(node: str) -> tuple[Place, ...]:
        found: dict[Place, None] = {}
        for source in folded.operands(node):
            own = name(source.node)
            if own is not None:
                found[own, 1] = None
            elif folded.nodes[source.node]["type"] != "constant":
                found.update(dict.fromkeys(read(source.node)))
        return tuple(found)

    rows = []
    for node in folded.in_order():
        own, kind = name(node), folded.nodes[node]["type"]
        if kind in ("conv", "linear") and own is not None:
            weights = folded.result_type(*folded.operands(node)[1]).shape
            positions = folded.result_type(node).shape[2:] if kind == "conv" else folded.result_type(node).shape[1:-1]
            count = prod(int(size) for size in (*weights, *positions) if not isinstance(size, str))
            rows.append(((own, 0), read(node), count))
    return rows
