"""The exact search: finds the least height of small problems, and proves that there is none below."""

from __future__ import annotations

from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from graphrewrite.memory.problem import Problem
from graphrewrite.memory.search import search


def least_height(problem: Problem) -> int:
    """Return the least height of any placement, by trial of every order, each item as low as those before it allow."""
    best = sum(problem.sizes)
    meet = [{j for alive in problem.sections if alive >> i & 1 for j in bits(alive)} for i in range(len(problem.sizes))]

    def extend(placed: dict[int, int], height: int) -> None:
        nonlocal best
        if height < best and len(placed) == len(problem.sizes):
            best = height
        for i, size in enumerate(problem.sizes):
            if i not in placed and height < best:
                offset = max((placed[j] + problem.sizes[j] for j in meet[i] if j in placed), default=0)
                extend({**placed, i: offset}, max(height, offset + size))

    extend({}, 0)
    return best


def bits(items: int) -> list[int]:
    return [i for i in range(items.bit_length()) if items >> i & 1]


@st.composite
def problems(draw: st.DrawFn) -> Problem:
    """Return items that live in any sets of sections, not in intervals only."""
    count = draw(st.integers(1, 6))
    sections = draw(st.lists(st.integers(1, 2**count - 1), min_size=1, max_size=7))
    alone = [1 << i for i in range(count) if not any(alive >> i & 1 for alive in sections)]
    sizes = draw(st.lists(st.integers(1, 6), min_size=count, max_size=count))
    return Problem(tuple(sizes), (*sections, *alone))


@given(problems())
def test_the_least_height_is_found_and_none_below(problem: Problem) -> None:
    least = least_height(problem)
    found = search(problem, least, 10_000)
    assert found.offsets is not None
    assert max(map(int.__add__, found.offsets, problem.sizes)) == least
    for alive in problem.sections:
        spans = sorted((found.offsets[i], found.offsets[i] + problem.sizes[i]) for i in bits(alive))
        assert all(a[1] <= b[0] for a, b in pairwise(spans))
    below = search(problem, least - 1, 10_000)
    assert below.proved
    assert below.offsets is None


def test_the_limit_is_one_of_steps() -> None:
    problem = Problem((1, 2, 2, 1, 3, 3, 2), (0b0011001, 0b0110010, 0b1100100, 0b1010101))
    assert [search(problem, 9, limit) for limit in (0, 1)] == [search(problem, 9, limit) for limit in (0, 1)]
    assert search(problem, 9, 1).steps == 1
    assert not search(problem, 9, 1).proved
