"""The search of foldings within a latency: what it gives can be folded no further, and is near to the cheapest."""

from __future__ import annotations

from itertools import pairwise, product

from hypothesis import given, settings
from hypothesis import strategies as st

from graphrewrite.lowering.folding.latency_search import fewest_multipliers, weighted
from graphrewrite.lowering.folding.matrix_foldings import foldings

SIZES = st.lists(st.sampled_from([(2, 3), (4, 6), (8, 4), (6, 1), (1, 12)]), min_size=1, max_size=3)


def cycles(choice, products):
    return sum(choice[node].steps * products[node] for node in choice)


def cost(choice):
    return sum(choice[node].multipliers for node in choice)


@settings(max_examples=60)
@given(SIZES, st.lists(st.integers(1, 9), min_size=3, max_size=3), st.floats(0, 1))
def test_a_choice_within_the_latency_folds_no_layer_further(sizes, counts, share):
    options = {f"n{i}": foldings(*size) for i, size in enumerate(sizes)}
    products = dict(zip(options, counts, strict=False))
    every = [dict(zip(options, own, strict=True)) for own in product(*options.values())]
    least, most = min(cycles(c, products) for c in every), max(cycles(c, products) for c in every)
    latency = int(least + share * (most - least))

    def measure(choice):
        return cycles(choice, products), cost(choice)

    starts = weighted(options, products)
    for start in starts:  # of no other choice are both less
        assert not any(cycles(c, products) < cycles(start, products) and cost(c) < cost(start) for c in every)
    assert cycles(starts[0], products) == least
    assert cost(starts[-1]) == len(options)
    assert all(a != b for a, b in pairwise(starts))
    found = fewest_multipliers(options, starts, measure, latency)
    assert cycles(found, products) <= latency
    for node, own in options.items():
        changed = [{**found, node: folding} for folding in own if folding.multipliers < found[node].multipliers]
        assert not any(cycles(c, products) <= latency for c in changed)
    cheapest = min(cost(c) for c in every if cycles(c, products) <= latency)
    assert cost(found) <= min([cost(s) for s in starts if cycles(s, products) <= latency])
    assert cost(found) <= 2 * cheapest
    assert fewest_multipliers(options, starts, measure, least - 1) is None
