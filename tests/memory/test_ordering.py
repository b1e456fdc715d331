"""Order of steps: allowed, repeatable, and of the least peak, on generated steps."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from random import Random
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from graphrewrite.errors import ScheduleError
from graphrewrite.memory import Schedule, Step, order, place

Problem = tuple[dict[str, Step], dict[str, int], list[tuple[str, int]]]


def peak_of(
    steps: Mapping[str, Step], found: Iterable[str], sizes: Mapping[str, int], keep: list[tuple[str, int]]
) -> int:
    """Return the peak of an order, by looking at each step at which values live."""
    found = list(found)
    place_of = {name: i for i, name in enumerate(found)}
    last: dict[tuple[str, int], int] = {}
    for name, step in steps.items():
        for read in step.reads:
            value = (read, 0) if isinstance(read, str) else read
            last[value] = max(last.get(value, -1), place_of[name])
    last.update(dict.fromkeys(keep, len(found)))
    values = [((name, 0), size, 0) for name, size in sizes.items() if (name, 0) in last]
    values += [((n, k), size, place_of[n]) for n, step in steps.items() for k, size in enumerate(step.sizes)]
    loads = [0] * (len(found) + 1)
    for value, size, begin in values:
        for i in range(begin, last.get(value, begin) + 1):
            loads[i] += size
    for i, name in enumerate(found):
        if any(last[(read, 0) if isinstance(read, str) else read] == i for read in steps[name].over):
            loads[i] -= steps[name].sizes[0]
    return max(loads)


def all_orders(steps: Mapping[str, Step]) -> Iterator[list[str]]:
    before = {
        name: {*step.after, *(r if isinstance(r, str) else r[0] for r in step.reads)} for name, step in steps.items()
    }

    def extend(done: list[str]) -> Iterator[list[str]]:
        if len(done) == len(steps):
            yield done
        for name in steps:
            if name not in done and not (before[name] & steps.keys()) - set(done):
                yield from extend([*done, name])

    return extend([])


@st.composite
def problems(draw: st.DrawFn, most: int = 7) -> Problem:
    steps: dict[str, Step] = {}
    sizes = {name: draw(st.integers(0, 9)) for name in draw(st.sampled_from(["", "x", "xy"]))}
    values = [(name, 0) for name in sizes]
    known = {(name, 0): size for name, size in sizes.items()}
    for i in range(draw(st.integers(0, most))):
        name = f"s{i}"
        reads = draw(st.lists(st.sampled_from(values), max_size=3, unique=True)) if values else []
        after = draw(st.lists(st.sampled_from(list(steps)), max_size=1)) if steps else []
        same = [value for value in reads if draw(st.booleans())]
        first = known[same[0]] if same else draw(st.integers(0, 9))
        results = (first, *draw(st.sampled_from([(), (), (), (2,), (3, 0)])))
        steps[name] = Step(
            results if len(results) > 1 else first,
            tuple(value if value[1] else value[0] for value in reads),
            tuple(after),
            tuple(value for value in same if known[value] == first),
        )
        known.update(((name, k), size) for k, size in enumerate(results))
        values += [(name, k) for k in range(len(results))]
    keep = draw(st.lists(st.sampled_from(values), max_size=2, unique=True)) if values else []
    names = draw(st.permutations(list(steps)))
    return {name: steps[name] for name in names}, sizes, keep


def check(problem: Problem, found: Schedule) -> None:
    steps, sizes, keep = problem
    assert sorted(found.order) == sorted(steps)
    seen: set[str] = set(sizes)
    for name in found.order:
        step = steps[name]
        assert {read if isinstance(read, str) else read[0] for read in step.reads} | set(step.after) <= seen
        seen.add(name)
    assert found.peak == peak_of(steps, found.order, sizes, keep) == max(found.loads)
    assert found.bound <= found.peak


@given(problems())
def test_small_orders_are_the_best_of_all(problem: Problem) -> None:
    steps, sizes, keep = problem
    found = order(steps, given=sizes, keep=keep)
    check(problem, found)
    assert found.is_optimal
    assert not found.gap
    assert found.peak == min(peak_of(steps, each, sizes, keep) for each in all_orders(steps))


@given(problems(most=12), st.integers(0, 3))
def test_a_search_that_ends_early_is_honest(problem: Problem, cuts: int) -> None:
    steps, sizes, keep = problem
    early, best = order(steps, given=sizes, keep=keep, cuts=cuts), order(steps, given=sizes, keep=keep)
    check(problem, early)
    check(problem, best)
    assert best.is_optimal
    assert early.cuts <= cuts
    assert early.bound <= best.peak <= early.peak
    assert early.is_optimal == (early.gap == 0)


@given(problems(most=12))
def test_an_order_that_is_allowed_is_never_made_worse(problem: Problem) -> None:
    steps, sizes, keep = problem
    given_order = order(steps, given=sizes, keep=keep, cuts=0).order
    again = {name: steps[name] for name in given_order}
    assert order(again, given=sizes, keep=keep, cuts=0).peak <= peak_of(steps, given_order, sizes, keep)


@given(problems(most=12))
def test_spans_can_be_placed(problem: Problem) -> None:
    steps, sizes, keep = problem
    found = order(steps, given=sizes, keep=keep)
    values = list(found.spans)
    spans = list(found.spans.values())
    placed = place(spans)
    assert placed.pools[""].load == found.peak if spans and found.peak else placed.height == 0
    assert [spans[i].size for i in range(len(spans))] == [
        sizes[name] if name in sizes else steps[name].sizes[k] for name, k in values
    ]


def ladder(width: int, length: int) -> dict[str, Step]:
    """Return chains side by side with one end, each with sizes that rise and fall at its own place."""
    steps = {}
    for chain in range(width):
        for i in range(length):
            reads = (f"c{chain}_{i - 1}",) if i else ()
            steps[f"c{chain}_{i}"] = Step(1 + (7 * chain + 5 * i) % 11, reads)
    steps["end"] = Step(1, tuple(f"c{chain}_{length - 1}" for chain in range(width)))
    return steps


def test_a_long_network_is_exact_part_by_part() -> None:
    steps = {"x0": Step(3)}
    for i in range(200):
        for name, each in ladder(3, 3).items():
            steps[f"{name}_{i}"] = Step(each.size, tuple(f"{read}_{i}" for read in each.reads) or (f"x{i}",))
        steps[f"x{i + 1}"] = Step(3, (f"end_{i}",))
    found = order(steps)
    assert found.is_optimal
    assert found.cuts < 100 * 200


def test_a_wide_network_gets_a_bound() -> None:
    found = order(ladder(12, 6), cuts=50)
    assert found.bound <= found.peak
    assert found.cuts == 50 or found.is_optimal


def test_a_search_never_ends_above_the_fast_orders() -> None:
    for seed in (2, 3):
        random, steps = Random(seed), dict[str, Step]()
        for i in range(400):
            reads = {f"s{random.randrange(max(0, i - 200), i)}" for _ in range(random.randrange(4))} if i else set()
            size = random.choice((1, 4, 16, 64)) * random.randrange(1, 20)
            steps[f"s{i}"] = Step(size, reads=tuple(sorted(reads)))
        assert order(steps).peak <= order(steps, cuts=0).peak


def test_what_frees_comes_at_once() -> None:
    steps = {
        "a": Step(64),
        "b": Step(64),
        "c": Step(64, ("a", "b")),
        "seen_a": Step(0, ("a",)),
        "seen_b": Step(0, ("b",)),
    }
    assert order(steps, keep=["c"]).order == ("a", "seen_a", "b", "seen_b", "c")


def test_a_result_may_overwrite_its_operand() -> None:
    steps = {"a": Step(8), "b": Step(8, ("a",), over=("a",)), "c": Step(8, ("b",), over=("b",))}
    found = order(steps, keep=["c"])
    assert found.peak == found.bound == 8
    assert place(list(found.spans.values())).offsets == (0, 0, 0)
    assert order(steps, keep=["a", "c"]).peak == 16
    assert order({}).peak == 0
    assert order({}, given={"x": 4}, keep=["x"]).peak == 4


@pytest.mark.parametrize(
    ("steps", "message"),
    [
        ({"a": Step(-1)}, "node 'a': a size is not negative, got -1"),
        ({"a": Step(1, ("given_1",))}, "node 'a': there is no value 'given_1'; did you mean 'given'?"),
        ({"a": Step(1), "b": Step(1, (("a", 1),))}, "node 'b': 'a' has no result 1"),
        ({"a": Step(1, after=("given",))}, "node 'a': there is no step 'given' to come after"),
        ({"a": Step(1, ("b",)), "b": Step(1, ("c",)), "c": Step(1, after=("b",))}, "comes after itself: b -> c -> b"),
        (
            {"a": Step(1, ("given",), over=("given",))},
            "node 'a': overwrites 'given', which it does not read",
        ),
        ({"a": Step(1, "given")}, "node 'a': `reads` is a tuple of names, got 'given'; write ('given',)"),
        ({"a": Step(2.5)}, "node 'a': a size is a whole number, got 2.5; round it up"),
        ({"a": 4}, "node 'a': is no Step, got 4; write Step(size, reads=(…))"),
        ([Step(1)], "steps are a mapping from names to Step, got list; name each step"),
        ({"given": Step(1)}, "node 'given': is a step and a given value; rename one"),
    ],
)
def test_steps_that_contradict_each_other_are_refused(steps: Any, message: str) -> None:
    with pytest.raises(ScheduleError) as caught:
        order(steps, given={"given": 4})
    assert message in str(caught.value)


def test_values_that_are_kept_exist() -> None:
    with pytest.raises(ScheduleError, match="there is no value 'aa'; did you mean 'a'"):
        order({"a": Step(1)}, keep=["aa"])
    with pytest.raises(ScheduleError, match=r"`keep` lists names, got 'ab'; write \['ab'\]"):
        order({"ab": Step(1)}, keep="ab")
    with pytest.raises(ScheduleError, match="a number of cuts is 0 or more, got -1"):
        order({}, cuts=-1)
