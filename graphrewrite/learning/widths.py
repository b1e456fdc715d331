"""Widths for a budget: chosen by the noise that they add to the outputs."""

from __future__ import annotations

import warnings
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
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

__all__ = ["Budget", "chosen_widths"]

_LEAST, _MOST = 2, 8

Place = tuple[str, int]
"""The name of a layer or an input, and 0 for its weights, 1 for its result."""


@dataclass(frozen=True, eq=False)
class Budget:
    """What widths may cost: a product costs the width of its weight times that of its value.

    Attributes
    ----------
    products : list of (Place, tuple of Place, int)
        Of each layer its weights, the values that it reads, and its products a sample.
    places : list of Place
        All of them, in the order of the layers.
    bits : float
        The widths cost no more than so many bits everywhere.
    """

    products: list[tuple[Place, tuple[Place, ...], int]]
    places: list[Place]
    bits: float

    @classmethod
    def of(cls, folded: Graph, bits: Any) -> Budget:
        """Return the budget of a prepared network."""
        if isinstance(bits, bool) or not isinstance(bits, int | float) or not _LEAST <= bits <= _MOST:
            raise TrainingError(f"budget is a mean width, a number from {_LEAST} to {_MOST}, got {bits!r}")
        products = _products(folded)
        found = {place for weights, values, _ in products for place in (weights, *values)}
        places = [place for name in layer_names(folded) for place in ((name, 0), (name, 1)) if place in found]
        return cls(products, places, float(bits))

    def share(self, widths: Mapping[Place, float]) -> float:
        """Return how much of the budget some widths cost."""
        own = sum(n * widths[weights] * max(widths[each] for each in values) for weights, values, n in self.products)
        return float(own / (sum(n for *_, n in self.products) * self.bits**2))


def chosen_widths(
    folded: Graph, inputs: dict[str, np.ndarray], asked: str, *, budget: Any, per_channel: bool
) -> dict[str, tuple[int, int]]:
    """Return widths by layer, of weights and results, that cost no more than so many bits everywhere.

    All begin at 8 bits. How much noise fewer bits of one place add to the outputs is measured once; then bits go where
    that is least for the bit operations that it saves.
    """
    if asked != "auto":
        raise TrainingError(f"bits is a width, widths by layer or 'auto', got {asked!r}")
    allowed, names = Budget.of(folded, budget), layer_names(folded)
    widths = dict.fromkeys(allowed.places, _MOST)

    def noise(tried: Mapping[Place, int]) -> float:
        bits = {name: (tried.get((name, 0), _MOST), tried.get((name, 1), _MOST)) for name in names}
        with warnings.catch_warnings():  # of widths that are tried only
            warnings.simplefilter("ignore", QuantisationWarning)
            made = Quantiser(folded, inputs, Widths(folded, bits, least=_LEAST), per_channel, fit=False).run()
        return output_noise(folded, inputs, made)

    curves = {place: {fewer: noise(widths | {place: fewer}) for fewer in range(_LEAST, _MOST + 1)} for place in widths}
    while (before := allowed.share(widths)) > 1:
        prices = [
            ((curves[place][fewer] - curves[place][now]) / saved, number, place, fewer)
            for number, (place, now) in enumerate(widths.items())
            for fewer in range(_LEAST, now)  # a dear bit may stand before cheap ones
            if (saved := before - allowed.share(widths | {place: fewer})) > 0
        ]
        if not prices:  # several values are read together, and none of them alone saves anything
            widths = {place: max(width - 1, _LEAST) for place, width in widths.items()}
            continue
        *_, place, fewer = min(prices)
        widths[place] = fewer
    return _as_bits(widths, names)


def _as_bits(widths: Mapping[Place, int], names: Iterable[str]) -> dict[str, tuple[int, int]]:
    """Return widths as `quantise` reads them; of what no product reads, 8 bits."""
    return {name: (widths.get((name, 0), _MOST), widths.get((name, 1), _MOST)) for name in names}


def _name(folded: Graph, node: str, names: Collection[str]) -> str | None:
    """Return the name of a node among those of layers and inputs."""
    return next((each for each in names_of(folded, node) if each in names), None)


def _products(folded: Graph) -> list[tuple[Place, tuple[Place, ...], int]]:
    """Return for each layer the place of its weights, those of the values that it reads, and its products a sample."""
    names = {*layer_names(folded)}

    def name(node: str) -> str | None:
        return _name(folded, node, names)

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
