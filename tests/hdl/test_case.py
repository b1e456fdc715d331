"""What is drawn for a configuration, and what it should do: each run on its own gives the same."""

from __future__ import annotations

import numpy as np
import pytest

from graphrewrite.hdl.checking.case import Case, draw_case
from graphrewrite.hdl.checking.definition import transfers
from graphrewrite.hdl.component import Site
from graphrewrite.hdl.components.accumulate import ACCUMULATE, accumulate
from graphrewrite.hdl.components.fifo import FIFO, fifo
from graphrewrite.types import FixedPoint, Stream
from tests.hdl.configurations import BY_NAME, cases

SEEDS = range(150)
NAMES = ("add", "constant", "fork", "pad", "split", "window")
"""Components with two inputs, with none, with two outputs; that give before they take; with windows."""


def words(stream: Stream, frames: np.ndarray) -> list[int]:
    """Each beat as one number, written down bit by bit: lane 0 last."""
    found = []
    for frame in frames:
        flat = frame.reshape(stream.channels, -1)
        for position in range(flat.shape[1]):
            for first in range(0, stream.channels, stream.lanes):
                numbers = flat[first : first + stream.lanes, position].tolist()
                bits = [f"{n % (1 << stream.element.width):0{stream.element.width}b}" for n in numbers[::-1]]
                found.append(int("".join(bits), 2))
    return found


@pytest.mark.parametrize("name", NAMES)
def test_what_is_expected_of_a_run_is_what_it_alone_would_give(name: str) -> None:
    for case in cases(name, count=3, seed=11):
        site, schedule = case.site, case.schedule
        expected = case.expected
        operands, results = (["x", "y"][: len(site.operands)], ["z0", "z1"] if len(site.results) > 1 else ["z"])
        assert set(expected) == {*operands, *results}
        for r, run in enumerate(case.runs):
            taken, left = transfers(schedule, run.frames, case.sources, case.sinks)
            end = case.cycles[r]
            last = max(cycles[-1] for cycles in (*taken, *left) if cycles)
            if run.cut < 1:
                assert 1 <= end <= max(1, last * run.cut)
                assert end > last * run.cut - 1
            else:
                # After a quiet time every sink is ready once more: a beat too many would show.
                assert end > last + schedule.latency + min(schedule.steps, 40) + 2
                assert any(gate[(end - 1) % len(gate)] for gate in case.sinks)
                quiet = range(last + schedule.latency + min(schedule.steps, 40) + 2, end - 1)
                assert all(any(not gate[cycle % len(gate)] for gate in case.sinks) for cycle in quiet)
            frames = [np.concatenate([each, np.zeros_like(each[:1])]) for each in run.inputs]
            computed = case.component.op(*frames, **site.attributes)
            outputs = computed if len(site.results) > 1 else (computed,)
            for port, stream, cycles, values in (
                *zip(operands, site.operands, taken, run.inputs, strict=True),
                *zip(results, site.results, left, outputs, strict=True),
            ):
                values = np.broadcast_to(values, (run.frames + (port[0] == "z"), *stream.shape))
                pairs = zip(cycles, words(stream, values), strict=False)
                assert expected[port][r] == [(cycle, word) for cycle, word in pairs if cycle < end]


def drawn(beats: int) -> list[Case]:
    """Of a component that takes so many beats of a frame, and gives one."""
    site = Site.of(accumulate, Stream(FixedPoint(True, 8), (1, beats)), kind="maximum")
    return [draw_case(ACCUMULATE, site, np.random.default_rng(seed)) for seed in SEEDS]


def test_runs_differ_in_length_and_the_second_is_cut_off() -> None:
    found = drawn(200)
    kinds = [tuple((run.frames, run.resets) for run in case.runs) for case in found]
    assert {tuple(frames for frames, _ in kind) for kind in kinds} == {(a, b, 1) for a in (2, 3) for b in (1, 2)}
    assert {resets for kind in kinds for _, resets in kind} == {1, 2, 3}
    assert all(run.inputs[0].shape == (run.frames, 1, 200) for case in found for run in case.runs)
    assert {(case.runs[0].cut, case.runs[2].cut) for case in found} == {(1.0, 1.0)}
    cuts = np.array([case.runs[1].cut for case in found])
    assert 0.05 <= cuts.min() < 0.1
    assert 0.9 < cuts.max() <= 0.95


def test_long_frames_are_few() -> None:
    assert {tuple(run.frames for run in case.runs) for case in drawn(201)[:20]} == {(1, 1, 1)}


@pytest.mark.parametrize(("signed", "width"), [(True, 8), (False, 8), (True, 24), (True, 2), (False, 1)])
def test_frames_hold_numbers_of_the_whole_range_many_small_ones_and_many_ends(signed: bool, width: int) -> None:
    element = FixedPoint(signed, width)
    site = Site.of(fifo, Stream(element, (1, 150)), depth=2)
    numbers = np.concatenate(
        [draw_case(FIFO, site, np.random.default_rng(seed)).inputs[0].ravel() for seed in range(40)]
    )
    low, high = element.minimum, element.maximum
    assert (numbers.min(), numbers.max()) == (low, high)
    assert numbers.dtype == element.dtype
    small = set(range(max(low, -3), min(high, 3) + 1))
    assert small <= set(numbers.tolist())
    if signed and width > 2:  # of others 0 is small, and an end
        share = {kind: np.isin(numbers, kept).mean() for kind, kept in (("small", [*small]), ("ends", [low, high]))}
        assert 0.25 < share["small"] < 0.37
        assert 0.15 < share["ends"] < 0.27
        between = numbers[~np.isin(numbers, [*small, low, high])]
        thirds = np.histogram(between, bins=3, range=(low, high))[0] / len(numbers)
        assert thirds.min() > 0.12
        for end in (low, high):
            assert 0.07 < (numbers == end).mean() < 0.14


def test_every_stream_has_a_stall_pattern_of_its_own() -> None:
    case = cases("add", count=0)[0]
    assert (len(case.sources), len(case.sinks)) == (2, 1)
    assert any(len({*case.sources, *case.sinks}) == 3 for case in cases("add", count=20))


def test_a_text_names_all_streams_and_attributes_and_cuts_long_ones() -> None:
    small = Site.of(fifo, Stream(FixedPoint(True, 8), (1, 3)), depth=2)
    assert str(draw_case(FIFO, small, np.random.default_rng(0))) == "fifo(stream s8f0[1,3]; depth=2) : stream s8f0[1,3]"
    constant = BY_NAME["constant"]
    texts = {}
    for digits in (120, 121):
        value = np.array([[1] * ((digits - 2) // 3) + [10 ** ((digits - 2) % 3)]])
        text = str(value.tolist())
        site = Site.of(constant.op, value=value, element=FixedPoint(False, 8))
        texts[len(text)] = text, str(draw_case(constant, site, np.random.default_rng(0)))
    for length, (text, told) in texts.items():
        assert (f"value={text}" in told) == (length <= 120)
        assert (f"value={text[:119]}…" in told) == (length > 120)
