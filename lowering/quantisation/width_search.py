"""Search of widths: bits are taken away where the outputs mind it least, as long as the loss stays within a limit."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from typing import Any

from graphrewrite import Graph, evaluate
from graphrewrite.hierarchy.implementations import Library
from graphrewrite.lowering.errors import QuantisationLossError, QuantisationWarning
from graphrewrite.lowering.predicates import without_predicates
from graphrewrite.lowering.quantisation.agreement import Reference
from graphrewrite.lowering.quantisation.calibration import Widths, layer_names
from graphrewrite.lowering.quantisation.fixed_point_network import in_fixed_point
from graphrewrite.lowering.quantisation.format_choice import Method
from graphrewrite.lowering.quantisation.output_noise import output_noise
from graphrewrite.lowering.quantisation.preparation import prepared
from graphrewrite.lowering.quantisation.profile_gathering import check_profile
from graphrewrite.lowering.quantisation.value_profile import Ranges, ValueProfile
from graphrewrite.runtime.progress import progress

__all__ = ["search_widths"]

_LEAST = 4
_STARTS = (8, 10, 12, 14, 16)

Place = tuple[str, int]
"""A layer's name, and 0 for its weights, 1 for its result."""


def search_widths(
    graph: Graph,
    samples: Any,
    *,
    max_loss: float = 0.005,
    labels: Any = None,
    ranges: Method = "mse",
    profile: ValueProfile | None = None,
    per_channel: bool = False,
    implementations: Library | None = None,
) -> dict[str, int | tuple[int, int]]:
    """Return widths by layer, of weights and of results, with which a network loses no more than a limit.

    All widths begin at 8 bits, or more where these lose too much. How much noise each bit less adds to the outputs is
    measured once, place by place. Bits are then taken away in the order of that noise, as many as the limit allows, and
    after that wherever one more still can go.

    Parameters
    ----------
    graph : Graph
        A float network, as for `quantise`.
    samples : ndarray or mapping of str to ndarray
        Calibration inputs, on which the loss is measured too.
    max_loss : float
        The limit, from 0 to 1: of classes the share of predictions that change, or with labels the drop of their
        accuracy; of numbers the power of the error over their variance.
    labels : array-like or mapping of str to array-like, optional
        What is right for the samples, by output.
    ranges, profile, per_channel
        As for `quantise`.
    implementations : mapping of str to Graph, Op or Component, optional
        As for `quantise`.

    Returns
    -------
    dict of str to int or pair of int
        Widths by layer, for the parameter ``bits`` of `quantise`.

    Raises
    ------
    QuantisationLossError
        If 16 bits lose more than the limit.
    QuantisationError
        As for `quantise`.

    Examples
    --------
    >>> from graphrewrite import Tensor, op
    >>> import numpy as np
    >>> g = Graph("g")
    >>> x = g.input("x", Tensor("f64", ("N", 2)))
    >>> _ = g.output("y", op.linear(x, np.array([[0.5, -0.25], [0.3, 0.7]]), np.zeros(2)))
    >>> samples = np.random.default_rng(0).normal(size=(200, 2))
    >>> bits = search_widths(g, samples, max_loss=0.01)
    >>> list(bits), max(bits.values()) < 8
    (['x', 'linear_1'], True)
    """
    folded, inputs = prepared(graph, samples, implementations=implementations)
    folded = without_predicates(folded)
    chosen = Ranges(ranges, profile)
    if profile is not None:
        check_profile(folded, profile)
    reference = Reference(folded, inputs, labels)

    def quantised(widths: Mapping[Place, int]) -> Graph:
        with warnings.catch_warnings():  # of widths that are tried only
            warnings.simplefilter("ignore", QuantisationWarning)
            own = Widths(folded, _as_bits(widths))
            return in_fixed_point(folded, inputs, own, per_channel=per_channel, ranges=chosen)

    def loss(widths: Mapping[Place, int]) -> float:
        return reference.loss(evaluate(quantised(widths), inputs, implementations=None))

    places = [(name, part) for name in layer_names(folded) for part in (0, 1) if part or name not in folded.inputs]
    for start in _STARTS:
        widths = dict.fromkeys(places, start)
        if (lost := loss(widths)) <= max_loss:
            break
    else:
        raise QuantisationLossError(
            f"even {start} bits lose {lost:.2%}, and no more than {max_loss:.2%} are allowed; allow more, or see by "
            "`graphrewrite compile --bits 16` which layer it is"
        )
    curves: dict[Place, list[float]] = {}
    with progress(places, "search widths") as shown:
        for place in shown:
            tried = [widths | {place: width} for width in range(_LEAST, start + 1)]
            found = [output_noise(folded, inputs, quantised(each)) for each in tried]
            if len(set(found)) > 1:  # else it has no say, as the exact results of a last layer
                curves[place] = found
    order = _order(curves)
    few, many = 0, len(order)
    while few < many:
        middle = (few + many + 1) // 2
        few, many = (middle, many) if loss(_without(widths, order[:middle])) <= max_loss else (few, middle - 1)
    widths = _without(widths, order[:few])
    refused: set[Place] = set()
    for place in order[few:]:
        if place not in refused:
            narrower = _without(widths, [place])
            if loss(narrower) <= max_loss:
                widths = narrower
            else:
                refused.add(place)
    return _as_bits({place: widths[place] for place in curves})


def _order(curves: Mapping[Place, Sequence[float]]) -> list[Place]:
    """The places of bits to take away one by one, next the one that adds least noise."""
    left = {place: len(curve) - 1 for place, curve in curves.items()}
    order: list[Place] = []
    while any(left.values()):
        # A dear bit may stand before cheap ones: they go together, at their mean price.
        prices = [
            ((curves[place][fewer] - curves[place][now]) / (now - fewer), place, now - fewer)
            for place, now in left.items()
            for fewer in range(now)
        ]
        _, place, count = min(prices)
        order += [place] * count
        left[place] -= count
    return order


def _without(widths: Mapping[Place, int], places: Sequence[Place]) -> dict[Place, int]:
    fewer = dict(widths)
    for place in places:
        fewer[place] -= 1
    return fewer


def _as_bits(widths: Mapping[Place, int]) -> dict[str, int | tuple[int, int]]:
    """Widths as `quantise` reads them; where only one of two matters, it stands for both."""
    bits: dict[str, int | tuple[int, int]] = {}
    for name, part in widths:
        both = [widths[name, p] for p in (0, 1) if (name, p) in widths]
        bits[name] = widths[name, part] if len(set(both)) == 1 else (both[0], both[1])
    return bits
