"""Widths for a budget: chosen by the noise that they add to the outputs, then learnt with the weights."""

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
from graphrewrite.learning.optimisers import Arrays, Optimiser
from graphrewrite.lowering.errors import QuantisationWarning
from graphrewrite.lowering.quantisation.calibration import Widths, layer_names
from graphrewrite.lowering.quantisation.fake_network import FakeNetwork
from graphrewrite.lowering.quantisation.output_noise import output_noise
from graphrewrite.lowering.quantisation.quantiser import Choices, Quantiser

__all__ = ["Budget", "LearntWidths", "WithinBudget", "chosen_widths"]

_LEAST, _MOST = 2, 8
_PACE = 0.01
"""What the price of a bit grows by in a step, times by how much the budget is exceeded."""

_QUICK = 8
"""By how much the exponents of ends and steps move further than other parameters: a bit is a long way for these."""

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

    def slopes(self, widths: Mapping[Place, float]) -> dict[Place, float]:
        """Return how much more of the budget a bit more of each place would cost."""
        found = dict.fromkeys(self.places, 0.0)
        every = sum(n for *_, n in self.products) * self.bits**2
        for weights, values, n in self.products:
            widest = max(values, key=lambda each: widths[each])
            found[weights] += n * widths[widest] / every
            found[widest] += n * widths[weights] / every
        return found

    def whole(self, widths: Mapping[Place, float]) -> dict[Place, int]:
        """Return whole widths near to learnt ones, which cost no more than the budget, and use it."""
        found = {place: int(np.clip(np.rint(width), _LEAST, _MOST)) for place, width in widths.items()}

        def excess(place: Place) -> float:
            return found[place] - widths[place]

        while self.share(found) > 1 and (above := [each for each in found if found[each] > _LEAST]):
            found[max(above, key=excess)] -= 1
        for place in sorted(found, key=excess):
            if found[place] < _MOST and self.share(found | {place: found[place] + 1}) <= 1:
                found[place] += 1
        return found


def chosen_widths(
    folded: Graph, inputs: dict[str, np.ndarray], asked: str, *, budget: Any, per_channel: bool
) -> dict[str, tuple[int, int]]:
    """Return widths by layer, of weights and results, that cost no more than so many bits everywhere.

    All begin at 8 bits. How much noise fewer bits of one place add to the outputs is measured once; then bits go where
    that is least for the bit operations that it saves.
    """
    if asked not in ("auto", "learnt"):
        raise TrainingError(f"bits is a width, widths by layer, 'auto' or 'learnt', got {asked!r}")
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


@dataclass(frozen=True, eq=False)
class LearntWidths:
    """The widths of a flexible network, each the distance of two parameters: of the exponents of ends and of steps.

    Attributes
    ----------
    network : FakeNetwork
    budget : Budget
    ends : mapping of Place to (str, str, int)
        Of widths that are learnt the exponents of steps and of ends, and the bits of a sign.
    begun : mapping of Place to int
        All widths as they begin.
    nodes : mapping of (str, int) to Place
        The places of nodes; several have the width of one place where they have one name.
    names : list of str
        Layers and inputs.
    """

    network: FakeNetwork
    budget: Budget
    ends: Mapping[Place, tuple[str, str, int]]
    begun: Mapping[Place, int]
    nodes: Mapping[tuple[str, int], Place]
    names: list[str]

    @classmethod
    def of(
        cls, network: FakeNetwork, folded: Graph, budget: Budget, bits: Mapping[str, tuple[int, int]]
    ) -> LearntWidths:
        """Return the widths of a network, which are some to begin with."""
        names = layer_names(folded)
        nodes: dict[tuple[str, int], Place] = {}
        ends: dict[Place, tuple[str, str, int]] = {}
        for (node, part), reach in network.reaches.items():
            place = _name(folded, node, names) or node, part
            if place not in budget.places or (part and network.choices.formats[node].width != bits[place[0]][1]):
                continue  # a sign has a width of its own
            nodes[node, part] = place
            ends.setdefault(place, (network.exponent((node, part)), reach, int(network.is_signed((node, part)))))
        begun = {(name, part): bits[name][part] for name, part in budget.places}
        return cls(network, budget, ends, begun, nodes, names)

    @property
    def reaches(self) -> list[str]:
        """The parameters that are exponents of ends."""
        return [reach for _, reach, _ in self.ends.values()]

    def widths(self, parameters: Mapping[str, np.ndarray]) -> dict[Place, float]:
        """Return the widths, of which those that are learnt are no whole numbers."""
        learnt = {
            place: float(parameters[reach] - parameters[step]) + sign
            for place, (step, reach, sign) in self.ends.items()
        }
        return {**self.begun, **learnt}

    def settled(self, trained: Graph) -> tuple[dict[str, tuple[int, int]], Choices]:
        """Return whole widths within the budget, as `quantise` reads them, and the formats."""
        learnt = {name: trained.nodes[name]["value"] for ends in self.ends.values() for name in ends[:2]}
        whole = self.budget.whole(self.widths(learnt))
        choices = self.network.choices_in(trained, {node: whole[place] for node, place in self.nodes.items()})
        return _as_bits(whole, self.names), choices


@dataclass(frozen=True, eq=False)
class WithinBudget:
    """Steps of another optimiser, in which bits have a price that grows as long as a budget is exceeded.

    The loss tells how much a bit is worth in each place, and the price what it costs: where both are in balance
    everywhere, no bit would be of more use elsewhere.

    Attributes
    ----------
    optimiser : Optimiser
        What makes the steps.
    learnt : LearntWidths
    """

    optimiser: Optimiser
    learnt: LearntWidths

    def start(self, parameters: Mapping[str, np.ndarray]) -> Arrays:
        """Return the state before the first step."""
        return {**self.optimiser.start(parameters), "price": np.zeros(())}

    def step(
        self, parameters: Mapping[str, np.ndarray], gradients: Mapping[str, np.ndarray], state: Mapping[str, np.ndarray]
    ) -> tuple[Arrays, Arrays]:
        """Return the next parameters and the next state."""
        widths, budget = self.learnt.widths(parameters), self.learnt.budget
        price = max(float(state["price"]) + _PACE * (budget.share(widths) - 1), 0.0)
        slopes, priced = budget.slopes(widths), dict(gradients)
        for place, (step, reach, _) in self.learnt.ends.items():
            more = priced[step].dtype.type(price * slopes[place])
            priced[step], priced[reach] = priced[step] - more, priced[reach] + more
        new, after = self.optimiser.step(parameters, priced, state)
        for step, reach, sign in self.learnt.ends.values():
            for name in (step, reach):
                new[name] = parameters[name] + new[name].dtype.type(_QUICK) * (new[name] - parameters[name])
            width = np.clip(new[reach] - new[step] + sign, _LEAST, _MOST)
            new[step] = np.asarray(new[reach] + sign - width, new[step].dtype)
        return new, {**after, "price": np.array(price)}


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
