"""Networks of adders in natural numbers: what each holds, by Python's integers, and where, in a vector of bits."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

import numpy as np
import pytest

from graphrewrite.hdl.arithmetic.adder_layout import layout
from graphrewrite.hdl.arithmetic.adder_network import HeldSum, Network, network
from graphrewrite.types import FixedPoint

Rows = list[list[int]]


def drawn(seed: int) -> tuple[Rows, Rows, int, FixedPoint]:
    rng = np.random.default_rng(seed)
    inputs = int(rng.integers(1, 5))
    adders = []
    for k in range(int(rng.integers(0, 7))):
        first, second = rng.integers(0, inputs + k, 2).tolist()
        shifts = [0, int(rng.choice([0, 1, 3, 9]))]
        adders.append([first, second, *(shifts if rng.integers(2) else shifts[::-1]), int(rng.integers(2))])
    outputs = [
        [int(rng.integers(inputs + len(adders))), int(rng.integers(3)), int(rng.integers(-1, 2))] for _ in range(3)
    ]
    return adders, outputs, inputs, FixedPoint(bool(rng.integers(2)), int(rng.integers(1, 9)))


def read(seed: int) -> tuple[Network, Rows, Rows, int, FixedPoint]:
    return network(*drawn(seed)), *drawn(seed)


def numbers(adders: Rows, given: list[int]) -> list[int]:
    """All numbers of a network, as its adders are defined."""
    found = list(given)
    for first, second, shift, other, subtract in adders:
        found.append((found[first] << shift) + (-1 if subtract else 1) * (found[second] << other))
    return found


def natural(net: Network, given: list[int]) -> list[int]:
    """What the adders give: sums of natural numbers, or of complements of these."""
    held = list(given)
    for added in net.sums:
        ends = [
            flipped(held[number], net.held[number].width, is_inverted)
            for number, is_inverted in ((added.low, added.low_inverted), (added.high, added.high_inverted))
        ]
        held.append(ends[0] + (ends[1] << added.shift))
    return held


def frames(inputs: int, element: FixedPoint, seed: int) -> Iterator[list[int]]:
    """Inputs counted from their least: at their ends, and between."""
    most = (1 << element.width) - 1
    for ends in np.ndindex(*[2] * inputs):
        yield [most * end for end in ends]
    yield from np.random.default_rng(seed).integers(0, most, (5, inputs), endpoint=True).tolist()


@pytest.mark.parametrize("seed", range(40))
def test_every_number_is_held_as_its_encoding_says(seed: int) -> None:
    net, adders, outputs, inputs, element = read(seed)
    greatest = [0] * len(net.held)
    for given in frames(inputs, element, seed):
        held, meant = natural(net, given), numbers(adders, given)
        assert held == [how.offset + how.sign * n for how, n in zip(net.held, meant, strict=True)]
        greatest = [max(one, other) for one, other in zip(greatest, held, strict=True)]
        values = numbers(adders, [n + element.minimum for n in given])
        assert (net.weights @ np.array([n + element.minimum for n in given])).tolist() == [
            sign * (values[number] << shift) for number, shift, sign in outputs
        ]
    assert [how.width for how in net.held] == [max(1, number.bit_length()) for number in greatest]


@pytest.mark.parametrize("seed", range(40))
def test_costs_are_those_of_the_adders_that_are_read(seed: int) -> None:
    net, adders, outputs, inputs, _ = read(seed)
    depths = [0] * inputs
    for first, second, *_ in adders:
        depths.append(1 + max(depths[first], depths[second]))
    ends = [number for number, _, sign in outputs if sign]
    assert net.depths == tuple(depths)
    assert net.levels == 1 + max((depths[number] for number in ends), default=0)
    reached, fresh = set(ends), list(ends)
    while fresh:
        number = fresh.pop()
        new = {*adders[number - inputs][:2]} - reached if number >= inputs else set()
        reached |= new
        fresh += new
    assert net.used == [number - inputs for number in sorted(reached) if number >= inputs]
    used = [net.sums[k] for k in net.used]
    places = [(range(net.held[s.low].width), range(s.shift, s.shift + net.held[s.high].width)) for s in used]
    assert net.overlaps == Counter(len({*low} & {*high}) for low, high in places)
    inverted = {s.low for s in used if s.low_inverted} | {s.high for s in used if s.high_inverted}
    assert net.inverted == sum(net.held[number].width for number in inverted)


@pytest.mark.parametrize(
    ("adder", "wanted"),
    [
        ([2, 0, 0, 0, 1], HeldSum(2, 0, True, False, 0)),
        ([0, 2, 0, 0, 1], HeldSum(0, 2, False, True, 0)),
        ([2, 0, 0, 1, 1], HeldSum(2, 0, False, True, 1)),
        ([2, 0, 1, 0, 1], HeldSum(0, 2, False, True, 1)),
        ([2, 0, 0, 9, 1], HeldSum(2, 0, False, True, 9)),
        ([0, 2, 0, 8, 1], HeldSum(0, 2, True, False, 8)),
        ([0, 1, 0, 8, 1], HeldSum(0, 1, False, True, 8)),
        ([2, 0, 0, 3, 0], HeldSum(2, 0, False, False, 3)),
    ],
)
def test_the_longer_operand_is_inverted_where_both_meet_and_else_the_shorter(adder: list[int], wanted: HeldSum) -> None:
    """Numbers 0 and 1 have 8 bits, their sum 2 has 9."""
    net = network([[0, 1, 0, 0, 0], adder], [[3, 0, 1]], 2, FixedPoint(False, 8))
    assert net.sums[1] == wanted


def flipped(number: int, width: int, is_inverted: int) -> int:
    return (1 << width) - 1 - number if is_inverted else number


def filled(adders: Rows, copies: Rows, vector: dict[int, int]) -> dict[int, int]:
    """The numbers in the vector by their lowest bits, once all adders and registers have worked."""
    for _ in range(len(adders) + len(copies)):
        vector |= {after: vector[before] for before, after, *_ in copies if before in vector}
        for low, low_width, is_low, high, high_width, is_high, shift, place, _ in adders:
            if low in vector and high in vector:
                ends = flipped(vector[low], low_width, is_low), flipped(vector[high], high_width, is_high)
                vector[place] = ends[0] + (ends[1] << shift)
    return vector


@pytest.mark.parametrize("seed", range(30))
def test_results_are_read_from_the_vector_whatever_the_stages(seed: int) -> None:
    net, *_, inputs, element = read(seed)
    bias = [5, -7, 0]
    places = range(0, inputs * element.width, element.width)
    for limited in (False, True):
        for stages in range(1, net.levels + limited + 1):
            laid = layout(net, bias, element, stages, limited=limited)
            assert laid.last_rank == (limited and 2 * stages > net.levels + 1)
            adders, copies, results = laid.adders.tolist(), laid.copies.tolist(), laid.results.tolist()
            widths = dict.fromkeys(places, element.width) | {row[7]: row[8] for row in adders}
            widths |= {after: width for _, after, width, _ in copies}
            taken = sorted(widths.items())
            assert [place + width for place, width in taken] == [*(place for place, _ in taken[1:]), laid.bits]
            assert {stage for *_, stage in copies} <= set(range(1, stages))
            readers = {row[k] for row in adders for k in (0, 3)} | {row[0] for row in copies + results}
            assert {after for _, after, *_ in copies} <= readers
            for given in frames(inputs, element, seed):
                vector = filled(adders, copies, dict(zip(places, given, strict=True)))
                assert all(0 <= vector[place] < 1 << width for place, width in taken)
                found = [
                    (flipped(vector[place], width, is_inverted) << shift) + constant if width else constant
                    for (place, width, is_inverted, shift), constant in zip(results, laid.constants, strict=True)
                ]
                assert found == (net.weights @ np.array([n + element.minimum for n in given]) + bias).tolist()
