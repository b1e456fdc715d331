"""Schedules: what they are made of, and what they mean, by hand."""

from __future__ import annotations

import numpy as np
import pytest

from graphrewrite.hdl.checking.definition import transfers
from graphrewrite.hdl.schedule import Schedule


def test_steps_are_any_iterable_of_numbers() -> None:
    wanted = Schedule(2, (np.array([0, 1]),), (np.array([1]),))
    assert Schedule(2, (iter([0, 1]),), (range(1, 2),)) == wanted
    assert Schedule(2, ([0, 1],), ((k for k in [1]),)) == wanted
    for other in (Schedule(3, ([0, 1],), ([1],)), Schedule(2, ([0],), ([1],)), Schedule(2, ([0, 1],), ([0],))):
        assert other != wanted
    assert Schedule(2, ([0, 1],), ([1],), 2, (2,)) != wanted
    assert Schedule(2, ([0, 1],), ([1],), 1, (3,)) != wanted
    assert wanted != 2
    for wrong in ([[0, 1]], [], [0.5], 3.5):
        with pytest.raises((ValueError, TypeError)):
            Schedule(2, (wrong,), ([1],))
    for steps, told in (
        ([0, 1, 1], "beat 2 is not after beat 1"),
        ([0, 2, 1, 3, 3], "beat 2 is not after beat 1"),
        ([0, 4], "step 4 is outside of 0..3"),
        ([-1, 4], "step -1 is outside of 0..3"),
    ):
        with pytest.raises(ValueError, match=rf"^gives\[1\]: {told}"):
            Schedule(4, (), ([1], steps))
    for parts, told in (
        ({"steps": 0}, "steps is 0"), ({"steps": 1.5}, "steps is 1.5"), ({"latency": 0}, "latency is 0"),
        ({"capacity": (1, 0)}, r"capacity\[1\] is 0"), ({"capacity": (1,)}, "capacity has 1 entries for 2 outputs"),
    ):  # fmt: skip
        with pytest.raises(ValueError, match=f"{told}; give"):
            Schedule(**{"steps": 1, "takes": (), "gives": ([0], [0]), **parts})


@pytest.mark.parametrize(
    ("schedule", "taken", "left"),
    [
        (Schedule(4, ([1], [3]), ([2],)), [[1], [3]], [[3]]),
        (Schedule(4, ([2], [3]), ([0, 1],)), [[2], [3]], [[1, 2, 5, 6]]),
        (Schedule(2, (), ([0],)), [], [[1]]),
        (Schedule(3, (), ([1],), 2), [], [[3]]),
        (Schedule(1, ([0],), ([0],), 1, (1,)), [[1]], [[2]]),
    ],
)
def test_after_a_frame_a_component_goes_on_to_the_next_beat_that_it_takes(
    schedule: Schedule, taken: list[list[int]], left: list[list[int]]
) -> None:
    """By hand: a beat comes from cycle 1 on, a step takes a cycle, and a result is valid `latency` cycles later."""
    assert transfers(schedule, 1, [[1]] * len(taken), [[1]]) == (taken, left)


def test_gates_and_free_slots_hold_up_steps() -> None:
    """By hand: the second beat waits for the gate of its input, the third for the slot that the first one leaves."""
    one = Schedule(1, ([0],), ([0],), 1, (1,))
    assert transfers(one, 3, [[0, 0, 1]], [[1]]) == ([[2, 5, 8]], [[3, 6, 9]])
    assert transfers(one, 3, [[1]], [[1]]) == ([[1, 3, 5]], [[2, 4, 6]])
    assert transfers(one, 3, [[1]], [[0, 0, 0, 1]]) == ([[1, 4, 8]], [[3, 7, 11]])
    two = Schedule(1, ([0],), ([0],), 2, (2,))
    assert transfers(two, 4, [[1]], [[1]]) == ([[1, 2, 4, 5]], [[3, 4, 6, 7]])
