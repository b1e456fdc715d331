"""Search the foldings with the fewest multipliers within a latency, by measuring candidates."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from graphrewrite.lowering.folding.matrix_foldings import Folding

__all__ = ["Choice", "Measure", "fewest_multipliers", "weighted"]

Choice = Mapping[str, Folding]
"""The folding of each layer."""
Measure = Callable[[Choice], tuple[int, int]]
"""Takes a choice; returns its latency and its multipliers."""
Options = Mapping[str, Sequence[Folding]]

_STARTS = 3
"""Choices from which layers are folded more."""
_WEIGHTS = range(-16, 49)
"""Powers of two that weigh multipliers against cycles, in halves of an exponent."""


def fewest_multipliers(options: Options, starts: Sequence[Choice], measure: Measure, latency: int) -> Choice | None:
    """Return a choice within a latency of which no layer can be folded more, the cheapest that is found, or None.

    The search folds the layers of the cheapest starts that are fast enough.
    """
    fast = sorted((start for start in starts if measure(start)[0] <= latency), key=lambda start: measure(start)[1])
    found = [_folded_more(options, start, measure, latency) for start in fast[:_STARTS]]
    return min(found, key=lambda choice: measure(choice)[1], default=None)


def weighted(options: Options, products: Mapping[str, int]) -> list[Choice]:
    """Return choices that minimise the cycles of all layers plus their multipliers, weighed.

    Where layers work one after the other, their cycles add up to the latency.
    """
    choices: list[Choice] = []
    for exponent in _WEIGHTS:
        weight = 2.0 ** (exponent / 2)
        choice = {
            node: min(own, key=lambda f: (f.steps * products[node] + weight * f.multipliers, f.lanes_out))
            for node, own in options.items()
        }
        if choice not in choices[-1:]:
            choices.append(choice)
    return choices


def _folded_more(options: Options, start: Choice, measure: Measure, latency: int) -> Choice:
    """Fold one layer after the other as far as the latency allows, the dearest first, until nothing changes."""
    choice, before = dict(start), None
    while choice != before:
        before = dict(choice)
        for node in sorted(choice, key=lambda n: (-choice[n].multipliers, n)):
            cheaper = sorted({f.multipliers for f in options[node] if f.multipliers < choice[node].multipliers})
            low, high = 0, len(cheaper)  # `high` stands for what the layer has now
            while low < high:
                middle = (low + high) // 2
                if fitting := _fitting(options, choice, node, cheaper[middle], measure, latency):
                    choice[node], high = fitting, middle
                else:
                    low = middle + 1
    return choice


def _fitting(
    options: Options, choice: Choice, node: str, multipliers: int, measure: Measure, latency: int
) -> Folding | None:
    """The first folding of a layer with so many multipliers that keeps to the latency and saves multipliers."""
    dearest = measure(choice)[1]
    for folding in options[node]:
        if folding.multipliers == multipliers:
            took, cost = measure({**choice, node: folding})
            if took <= latency and cost <= dearest:
                return folding
    return None
