"""Placement of spans: no overlap, the least height, on generated spans, on recorded traces and on hard instances."""

from __future__ import annotations

import csv
from collections.abc import Iterator
from itertools import combinations, product
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from graphrewrite.errors import GraphRewriteError, PlacementError
from graphrewrite.memory import Placement, Span, place

DATA = Path(__file__).parents[3] / "shared" / "data"
TRACES = DATA / "memory_traces.txt"
HARD = [*"ABCDEFHIJK", pytest.param("G", marks=pytest.mark.thorough)]
"""The last takes 24,000 steps, several seconds; the others about one, or less."""


def meet(a: Span, b: Span) -> bool:
    """Whether two spans live at the same time in the same pool."""
    return a.pool == b.pool and any(c < f and e < d for (c, d), (e, f) in product(a.lives(), b.lives()))


def check(spans: list[Span], placement: Placement, align: int = 1) -> None:
    offsets = placement.offsets
    assert len(offsets) == len(spans)
    for span, offset in zip(spans, offsets, strict=True):
        assert offset >= 0
        assert offset % align == 0
        assert offset % span.align == 0
        assert span.offset in {None, offset}
        assert span.over is None or offset == offsets[span.over]
        if span.lives() and span.size:
            assert offset + span.size <= placement.pools[span.pool].height
    root = [span.over if span.over is not None else i for i, span in enumerate(spans)]
    for (i, a), (j, b) in combinations(enumerate(spans), 2):
        if meet(a, b) and a.size and b.size and root[i] != root[j]:
            assert offsets[i] + a.size <= offsets[j] or offsets[j] + b.size <= offsets[i], (i, j)
    for usage in placement.pools.values():
        assert usage.height >= usage.bound >= usage.load


def least_height(spans: list[Span]) -> int:
    """Return the least height of any placement, by trial of every order, each span as low as those before it allow."""
    best = sum(span.size for span in spans)

    def extend(placed: list[tuple[Span, int]], left: list[Span], height: int) -> None:
        nonlocal best
        if height >= best:
            return
        if not left:
            best = height
        for i, span in enumerate(left):
            offset = max((o + other.size for other, o in placed if meet(span, other)), default=0)
            extend([*placed, (span, offset)], left[:i] + left[i + 1 :], max(height, offset + span.size))

    extend([], [span for span in spans if span.lives() and span.size], 0)
    return best


@st.composite
def lists_of_spans(draw: st.DrawFn, most: int = 12, *, plain: bool = False) -> list[Span]:
    found: list[Span] = []
    for _ in range(draw(st.integers(0, most))):
        begin, length = draw(st.integers(0, 8)), draw(st.integers(0, 5))
        holes: tuple[tuple[int, int], ...] = ()
        if length > 2 and draw(st.booleans()):
            start = draw(st.integers(begin + 1, begin + length - 1))
            holes = ((start, draw(st.integers(start, begin + length))),)
        size = draw(st.integers(0, 9))
        if plain:
            found.append(Span(size, begin, begin + length, holes))
            continue
        roots = [i for i, span in enumerate(found) if span.over is None and span.offset is None]
        over = draw(st.none() | st.sampled_from(roots)) if roots else None
        pool = draw(st.sampled_from(["", "fast"])) if over is None else found[over].pool
        offset = None
        if over is None and not any(span.offset is not None for span in found):
            offset = draw(st.none() | st.sampled_from([0, 4, 12]))
        align = draw(st.sampled_from([1, 2, 4]))
        found.append(Span(size, begin, begin + length, holes, align, offset, pool, over))
    return found


@given(lists_of_spans(), st.sampled_from([1, 2, 4]))
def test_spans_that_live_together_do_not_overlap(spans: list[Span], align: int) -> None:
    placement = place(spans, align=align, steps=200)
    check(spans, placement, align)
    assert place(spans, align=align, steps=200) == placement


@given(lists_of_spans(most=6, plain=True))
def test_small_cases_are_optimal(spans: list[Span]) -> None:
    placement = place(spans)
    check(spans, placement)
    assert placement.optimal
    assert placement.height == least_height(spans)
    check(spans, place(spans, capacity=placement.height + 1))


def test_offsets_may_be_given_at_will() -> None:
    spans = [Span(4, 0, 2, offset=4), Span(4, 0, 2), Span(6, 1, 3)]
    placement = place(spans)
    check(spans, placement)
    assert placement.offsets == (4, 0, 8)


def test_spans_over_one_another_have_one_offset() -> None:
    placement = place([Span(4, 0, 2), Span(4, 1, 3, over=0), Span(2, 2, 4, over=1), Span(3, 0, 4)])
    assert placement.offsets[0] == placement.offsets[1] == placement.offsets[2]
    assert placement.height == 7


def test_pools_are_independent() -> None:
    placement = place([Span(4, 0, 2), Span(5, 0, 2, pool="fast")], capacity={"": 4})
    assert placement.offsets == (0, 0)
    assert {name: usage.height for name, usage in placement.pools.items()} == {"": 4, "fast": 5}
    assert placement.height == placement.bound == 9


def test_memory_of_a_hole_is_free() -> None:
    assert place([Span(8, 0, 9, holes=((2, 6),)), Span(8, 3, 6)]).height == 8


def test_nothing_takes_nothing() -> None:
    assert place([]).height == 0
    assert place([Span(0, 0, 3), Span(5, 2, 2)]).offsets == (0, 0)


@pytest.mark.parametrize(
    ("spans", "message"),
    [
        ([Span(-1, 0, 1)], "span 0: a size is not negative, got -1"),
        ([Span(1, 2, 1)], "span 0: a life ends after it begins, got 2 to 1"),
        ([Span(1, 0, 1, align=0)], "span 0: an alignment is 1 or more, got 0"),
        ([Span(1, 0, 1, offset=-4)], "span 0: an offset is not negative, got -4"),
        ([Span(1, 0, 1, offset=2, align=4)], "span 0: the offset 2 is no multiple of the alignment 4"),
        ([Span(1, 0, 4, holes=((1, 9),))], "span 0: holes are disjoint and within the life"),
        ([Span(1, 0, 1, over=0)], "span 0: `over` is the index of another of 1 spans, got 0"),
        ([Span(1, 0, 1), Span(1, 0, 1, over=0, pool="b")], "spans 0 and 1 share their place, but have the pools"),
        ([Span(1, 0, 1, offset=0), Span(1, 0, 1, over=0, offset=4)], "but have the offsets 0 and 4"),
        ([Span(4, 0, 2, offset=0), Span(4, 1, 3, offset=2)], "spans 0 and 1 live at the same time, and overlap"),
        ([Span(9, 0, 2, offset=8)], "at its offset 8 its size 9 goes beyond the capacity"),
        ([Span(9, 0, 2), Span(8, 1, 2)], "spans 0 and 1 live at 1 and take 17, more than the capacity 16"),
    ],
)
def test_what_cannot_be_placed_is_refused_with_the_reason(spans: list[Span], message: str) -> None:
    with pytest.raises(PlacementError) as caught:
        place(spans, capacity=16)
    assert message in str(caught.value)
    assert isinstance(caught.value, GraphRewriteError)


def test_a_capacity_of_an_unknown_pool_is_refused() -> None:
    with pytest.raises(PlacementError, match=r"names the pool 'fats', but spans lie in \['fast'\]"):
        place([Span(1, 0, 1, pool="fast")], capacity={"fats": 3})


def test_what_does_not_fit_says_whether_that_is_proved() -> None:
    # A ring of five spans, each two neighbours live together: an odd ring of ones has no placement in two rows.
    spans = [Span(1, 2 * i, 2 * i + 3) for i in range(4)] + [Span(1, 0, 9, holes=((1, 8),))]
    assert place(spans).pools[""].load == 2
    with pytest.raises(PlacementError, match="do not fit into the capacity 2, which is proved"):
        place(spans, capacity=2)
    with pytest.raises(PlacementError, match="do not fit into the capacity 2 as far as tried, but into 3"):
        place(spans, capacity=2, steps=0)
    assert place(spans).height == place(spans).bound == 3


def traces() -> Iterator[tuple[str, int, list[Span]]]:
    """Yield name, alignment and spans of each recorded sequence of allocations."""
    for text in TRACES.read_text().split("\nMODEL ")[1:]:
        name, *lines = text.splitlines()
        born: dict[str, tuple[int, int]] = {}
        spans, align = [], 1
        for time, (word, *rest) in enumerate(line.split() for line in lines if line and not line.startswith("#")):
            if word == "ALIGN":
                align = int(rest[0])
            elif word == "ALLOC":
                born[rest[0]] = int(rest[1]), time
            elif word == "FREE":
                size, begin = born.pop(rest[0])
                spans.append(Span(size, begin, time))
        yield name, align, spans


def test_all_traces_reach_the_greatest_load() -> None:
    if not TRACES.exists():
        pytest.skip("there are no recorded traces beside this checkout")
    count = 0
    for _, align, spans in traces():
        placement = place(spans, align=align)
        check(spans, placement, align)
        assert placement.optimal
        assert placement.height == placement.pools[""].load
        count += 1
    assert count == 79


@pytest.mark.slow(cases=2)
@pytest.mark.parametrize("name", HARD)
def test_hard_instances_fit(name: str) -> None:
    path = DATA / "minimalloc" / f"{name}.1048576.csv"
    if not path.exists():
        pytest.skip("there are no instances of MiniMalloc beside this checkout")
    with path.open() as file:
        spans = [Span(int(r["size"]), int(r["lower"]), int(r["upper"])) for r in csv.DictReader(file)]
    last = max(span.end for span in spans)
    mirrored = [Span(span.size, last - span.end, last - span.begin) for span in spans]
    for each in (spans, mirrored):
        check(each, place(each, capacity=1_048_576, steps=10_000))  # a few seconds at most
