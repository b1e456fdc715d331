"""The predicted cycles equal those of a plain simulation of registers and credits, on networks of every form."""

from collections.abc import Collection, Mapping
from contextlib import suppress
from dataclasses import replace
from fractions import Fraction
from itertools import pairwise
from random import Random

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from graphrewrite.hdl.checking.definition import transfers
from graphrewrite.hdl.errors import DeadlockError, NetlistError
from graphrewrite.hdl.schedule import Schedule
from graphrewrite.hdl.simulation.signals import Signals
from graphrewrite.hdl.timing import events as events_module
from graphrewrite.hdl.timing.cycles import predict_cycles
from graphrewrite.hdl.timing.deadlock import check_progress
from graphrewrite.hdl.timing.depths import fifo_depths
from graphrewrite.hdl.timing.events import Events
from graphrewrite.hdl.timing.network import Link, Network
from tests.support.simulated_registers import Gates, Simulator, some_gates, some_network, some_schedule

RANDOMS = st.randoms(use_true_random=False)
MANY = 2520  # a multiple of all that a run is likely to repeat after


def assert_as_simulated(
    network: Network, frames: int, sources: Gates, sinks: Gates, unbounded: Collection[tuple[str, int]] = ()
) -> bool:
    simulator = Simulator(network, sources, sinks, unbounded, frames)
    if simulator.dead:
        with pytest.raises(DeadlockError, match="stops for good"):
            predict_cycles(network, frames, source_gates=sources, sink_gates=sinks, unbounded=unbounded)
        return False
    cycles = predict_cycles(network, frames, source_gates=sources, sink_gates=sinks, unbounded=unbounded)
    for link in network.links:
        shape = (frames, network.beats(link))
        assert cycles.transfers[link].shape == cycles.visible[link].shape == shape
        assert cycles.transfers[link].ravel().tolist() == simulator.transfers[link], link
        assert cycles.visible[link].ravel().tolist() == simulator.visible[link], link
        if link.source in network.components:
            assert cycles.high_water[link.source, link.source_port] == simulator.held[link]
    last = np.max(
        [np.reshape(simulator.transfers[x], (frames, -1))[:, -1] for x in network.links if x.sink[0] == "y"], 0
    )
    first = np.min(
        [np.reshape(simulator.transfers[x], (frames, -1))[:, 0] for x in network.links if x.source[0] == "x"], 0
    )
    assert cycles.latency.tolist() == (last - first).tolist()
    assert cycles.empty_latency == last[0] - first[0]
    return True


@given(RANDOMS, st.integers(1, 5), st.sampled_from([1, 2, 4, 9]))
def test_any_network_with_any_gates_is_as_simulated(random: Random, frames: int, room: int) -> None:
    network = some_network(random, room)
    assert_as_simulated(network, frames, some_gates(random, network.inputs), some_gates(random, network.outputs))


@given(RANDOMS, st.integers(1, 5), st.sampled_from([1, 2, 4, 9]))
def test_valid_and_ready_of_any_window_are_those_of_the_simulation(random: Random, frames: int, room: int) -> None:
    network = some_network(random, room)
    sources, sinks = some_gates(random, network.inputs), some_gates(random, network.outputs)
    simulator = Simulator(network, sources, sinks, (), frames)
    if simulator.dead:
        return
    timing = predict_cycles(network, frames, source_gates=sources, sink_gates=sinks)
    last = max(moved[-1] for moved in simulator.transfers.values())
    middle = random.randint(0, last)
    for first, length in ((0, last + 1), (middle, last + 1 - middle), (middle, 1)):
        signals = Signals(timing, sinks, first, length)
        for link in network.links:
            moved = simulator.transfers[link]
            pairs = simulator.signals[link][first : first + length]
            assert signals.valid(link).tolist() == [valid for valid, _ in pairs]
            # After its last beat a reader may be ready for that of a further frame.
            until = max(moved[-1] + 1 - first, 0)
            assert signals.ready(link).tolist()[:until] == [ready for _, ready in pairs][:until]
            numbers = np.arange(len(moved))
            assert signals.ends(link, numbers).tolist() == moved
            offered = np.maximum(simulator.visible[link], [-1, *(cycle + 1 for cycle in moved[:-1])])
            assert signals.starts(link, numbers).tolist() == offered.tolist()
            shown = [n for n in numbers if moved[n] >= first and offered[n] < first + length]
            assert list(signals.beats(link)) == shown


@given(RANDOMS, st.sampled_from([1, 3, 9, 20]), st.booleans())
def test_any_long_run_is_as_simulated(random: Random, room: int, some_unbounded: bool) -> None:
    network = some_network(random, room)
    ports = [(name, q) for name, schedule in network.components.items() for q in range(len(schedule.gives))]
    unbounded = [port for port in ports if some_unbounded and random.random() < 0.4]
    assert_as_simulated(network, 40, {}, {}, unbounded)


@given(RANDOMS)
def test_a_network_deadlocks_if_and_only_if_counting_says_so(random: Random) -> None:
    network = some_network(random, 6)
    try:
        check_progress(network)
    except DeadlockError:
        assert Simulator(network, {}, {}, (), 2).dead
        with pytest.raises(DeadlockError):
            predict_cycles(network, 2)
    else:
        assert not Simulator(network, {}, {}, (), 2).dead
        predict_cycles(network, 2)


@given(RANDOMS)
def test_repeating_equals_solving_every_frame(random: Random) -> None:
    network = some_network(random, 12)
    try:
        check_progress(network)
    except DeadlockError:
        return
    short = predict_cycles(network, 150 + MANY)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Events, "_periods", lambda *_: None)
        long = predict_cycles(network, 150)
    for link in network.links:
        np.testing.assert_array_equal(short.transfers[link][:150], long.transfers[link])
        np.testing.assert_array_equal(short.visible[link][:150], long.visible[link])
    assert dict(short.high_water) == dict(long.high_water)
    ends = [short.transfers[link][:, -1] for link in network.links if link.sink in network.outputs]
    interval = Fraction(short.interval).limit_denominator(MANY)
    assert interval * MANY == max(int(end[-1] - end[-1 - MANY]) for end in ends)


@given(RANDOMS, st.sampled_from([1, 3, 9, 20]), st.booleans())
def test_whether_a_pace_is_kept_is_known_early(random: Random, room: int, some_unbounded: bool) -> None:
    network = some_network(random, room)
    ports = [(name, q) for name, schedule in network.components.items() for q in range(len(schedule.gives))]
    unbounded = [port for port in ports if some_unbounded and random.random() < 0.4]
    try:
        interval, latency = pace(network, unbounded)
    except DeadlockError:
        with pytest.raises(DeadlockError):
            Events(network, {}, {}, unbounded).keeps(9, 9, MANY)
        return
    for wanted in (interval - 1e-6, interval, interval + 0.25, interval - 1, interval + 3):
        for first in (latency - 1, latency, latency + 5):
            kept = Events(network, {}, {}, unbounded).keeps(wanted, first, MANY)
            assert kept == (interval <= wanted and latency <= first), (wanted, first)


@given(RANDOMS, st.integers(1, 4))
def test_one_component_is_as_defined(random: Random, frames: int) -> None:
    schedule = some_schedule(
        random, [random.randint(1, 5) for _ in range(2)], [random.randint(1, 5) for _ in range(2)], 4
    )
    links = tuple(Link(f"x{i}", 0, "c", i) for i in range(2)) + tuple(Link("c", i, f"y{i}", 0) for i in range(2))
    network = Network({"c": schedule}, links, ("x0", "x1"), ("y0", "y1"))
    ones: dict[str, list[int]] = {name: [1] for name in (*network.inputs, *network.outputs)}
    gates = ones | some_gates(random, network.inputs) | some_gates(random, network.outputs)
    sources, sinks = ({name: gates[name] for name in names} for names in (network.inputs, network.outputs))
    cycles = predict_cycles(network, frames, source_gates=sources, sink_gates=sinks)
    patterns = [[gates[name] for name in names] for names in (network.inputs, network.outputs)]
    taken, left = transfers(schedule, frames, *patterns)
    for link, wanted in zip(links, (*taken, *left), strict=True):
        # The definition also has the beats that the component gives before it needs a beat of a further frame.
        assert cycles.transfers[link].ravel().tolist() == wanted[: frames * network.beats(link)]


BEATS = list(range(8))
STEP = Schedule(8, (BEATS,), (BEATS,))
FORK = Schedule(8, (BEATS,), (BEATS, BEATS))
ADD = Schedule(8, (BEATS, BEATS), (BEATS,))
TURN = Schedule(16, (BEATS,), (range(8, 16),))
DIRECT, LATE = Link("fork", 0, "add", 0), Link("turn", 0, "add", 1)


def residual(turn: Schedule, capacity: int = 2) -> Network:
    fork = Schedule(8, (BEATS,), (BEATS, BEATS), 1, (capacity, 2))
    links = (Link("x", 0, "fork", 0), DIRECT, Link("fork", 1, "turn", 0), LATE, Link("add", 0, "y", 0))
    return Network({"fork": fork, "turn": turn, "add": ADD}, links, ("x",), ("y",))


def test_a_short_branch_without_room_stops_for_good() -> None:
    with pytest.raises(DeadlockError, match="fork waits for a free slot towards add"):
        predict_cycles(residual(TURN), 1)
    assert predict_cycles(residual(TURN, 8), 1).high_water["fork", 0] == 8


def test_fifos_are_as_deep_as_needed_and_no_deeper() -> None:
    assert fifo_depths(residual(TURN), [DIRECT, LATE]) == {DIRECT: 6, LATE: 0}
    assert fifo_depths(residual(TURN, 8), [LATE, DIRECT]) == {DIRECT: 0, LATE: 0}
    assert fifo_depths(residual(STEP), [DIRECT, LATE]) == {DIRECT: 2, LATE: 0}


def with_fifos(network: Network, depths: Mapping[Link, int]) -> Network:
    components = dict(network.components)
    links = [link for link in network.links if not depths.get(link)]
    for number, link in enumerate(link for link in depths if depths[link]):
        beats = range(network.beats(link))
        components[f"f{number}"] = Schedule(len(beats), (beats,), (beats,), 1, (depths[link],))
        links += [replace(link, sink=f"f{number}", sink_port=0), replace(link, source=f"f{number}", source_port=0)]
    return Network(components, tuple(links), network.inputs, network.outputs)


def pace(network: Network, unbounded: Collection[tuple[str, int]] = ()) -> tuple[float, int]:
    cycles = predict_cycles(network, MANY, unbounded=unbounded)
    return cycles.interval, cycles.empty_latency


def assert_least_depths(network: Network) -> set[int]:
    """None of the fifos before joins can be less deep; return their depths."""
    joins = [link for link in network.links if len(network.components.get(link.sink, STEP).takes) > 1]
    try:
        check_progress(network, frozenset((link.source, link.source_port) for link in joins))
    except DeadlockError:
        return set()
    depths = fifo_depths(network, joins)
    interval, latency = pace(with_fifos(network, depths))
    for link, depth in depths.items():
        if depth:
            with suppress(DeadlockError):
                slower, later = pace(with_fifos(network, depths | {link: depth - 1}))
                assert slower > interval or later > latency, link
    return set(depths.values())


@given(RANDOMS)
def test_with_its_fifos_a_network_runs_and_none_of_them_can_be_less_deep(random: Random) -> None:
    assert_least_depths(some_network(random, 8))


@pytest.mark.parametrize(("seed", "depths"), [(21, {0, 1}), (47, {1}), (6, {0, 1, 2}), (30, {0, 1, 2})])
def test_one_place_is_enough_where_it_is_and_none_where_nobody_waits(seed: int, depths: set[int]) -> None:
    assert assert_least_depths(some_network(Random(seed), 3)) == depths


@given(RANDOMS, st.integers(2, 5))
def test_a_branch_gets_the_least_depth_that_does_not_slow_it(random: Random, capacity: int) -> None:
    steps = random.randint(16, 24)
    # All is taken before anything is given, so the fifo's own cycle does not show.
    turn = Schedule(steps, (sorted(random.sample(range(8), 8)),), (sorted(random.sample(range(8, steps), 8)),), 3, (4,))
    network = residual(turn, capacity)
    depths = fifo_depths(network, [DIRECT, LATE])
    assert depths[LATE] == 0
    ideal = pace(network, [("fork", 0), ("turn", 0)])
    assert pace(with_fifos(network, depths)) == ideal
    if depths[DIRECT]:
        with suppress(DeadlockError):
            assert pace(with_fifos(network, {DIRECT: depths[DIRECT] - 1})) > ideal


def test_figures_of_a_chain() -> None:
    links = (Link("x", 0, "turn", 0), Link("turn", 0, "step", 0), Link("step", 0, "y", 0))
    network = Network({"turn": TURN, "step": STEP}, links, ("x",), ("y",))
    cycles = predict_cycles(network, 1000)
    assert cycles.interval == 16
    assert cycles.empty_latency == 17
    assert cycles.occupation == {"turn": 1.0, "step": 0.5}
    assert cycles.transfers[links[2]][999].tolist() == (cycles.transfers[links[2]][0] + 999 * 16).tolist()
    assert predict_cycles(network, 1).interval == 16


def test_the_interval_is_exact_where_only_every_fifth_frame_is_alike() -> None:
    one = np.arange(1)
    fork, add = Schedule(1, (one,), (one, one), 1, (5, 2)), Schedule(1, (one, one), (one,))
    slow = Schedule(1, (one,), (one,), 8, (9,))
    links = (Link("x", 0, "fork", 0), DIRECT, Link("fork", 1, "turn", 0), LATE, Link("add", 0, "y", 0))
    cycles = predict_cycles(Network({"fork": fork, "turn": slow, "add": add}, links, ("x",), ("y",)), 1000)
    # The fifth beat leaves the fork when it has been through the ten cycles of the longer way.
    assert np.diff(cycles.transfers[links[-1]][:11, 0]).tolist() == [1, 1, 1, 1, 6] * 2
    assert cycles.interval == 2


def test_what_waits_for_its_own_beats_is_a_deadlock() -> None:
    both = Schedule(1, ([0], [0]), ([0], [0]))
    links = Link("x", 0, "add", 0), Link("add", 0, "y", 0), Link("add", 1, "add", 1)
    with pytest.raises(DeadlockError, match="add waits for beat 0 from add"):
        predict_cycles(Network({"add": both}, links, ("x",), ("y",)), 3)


def test_a_closed_gate_is_a_deadlock() -> None:
    network = Network({"step": STEP}, (Link("x", 0, "step", 0), Link("step", 0, "y", 0)), ("x",), ("y",))
    with pytest.raises(DeadlockError, match="gate of x never opens"):
        predict_cycles(network, 1, source_gates={"x": [0, 0]})
    with pytest.raises(DeadlockError, match="gate of y never opens"):
        predict_cycles(network, 1, sink_gates={"y": [0]})
    with pytest.raises(NetlistError, match="no such port"):
        predict_cycles(network, 1, sink_gates={"z": [1]})
    with pytest.raises(ValueError, match="at least 1"):
        predict_cycles(network, 0)


def chain(*schedules: Schedule) -> Network:
    names = [f"c{number}" for number in range(len(schedules))]
    ends = ["x", *names, "y"]
    links = tuple(Link(source, 0, sink, 0) for source, sink in pairwise(ends))
    return Network(dict(zip(names, schedules, strict=True)), links, ("x",), ("y",))


def test_a_run_that_repeats_is_not_solved_to_its_end() -> None:
    """Two frames that are alike are seen in the first block, which has three more than may wait for one another."""
    for capacity in (2, 9, 40):
        network = chain(TURN, replace(STEP, capacity=(capacity,)), STEP)
        events = Events(network, {}, {}, ())
        assert events.lag == -(-capacity // 8)
        periods = events.run(MANY)
        assert periods is not None
        assert (periods.every, set(periods.cycles.values()), events.frames) == (1, {16}, events.lag + 3)


def test_a_pace_that_is_kept_or_not_is_told_at_once() -> None:
    network = chain(TURN, STEP)
    for interval, latency, kept in ((16, 17, True), (15.9, 17, False), (99, 17, True), (16, 16, False)):
        events = Events(network, {}, {}, ())
        assert events.keeps(interval, latency, MANY) is kept
        assert events.frames == events.lag + 3


@pytest.mark.parametrize("frames", [1, 3, 100, 250])
def test_blocks_grow_up_to_a_limit_and_end_with_the_last_frame(frames: int) -> None:
    events = Events(chain(STEP), {}, {}, ())
    wanted, left = [], frames
    for block in (4, 4, 8, 16, 32, *[33] * 9):
        wanted.append(min(block, left))
        left -= wanted[-1]
    assert list(events._blocks(frames)) == [block for block in wanted if block]
    assert events.frames == frames


def test_components_may_drift_apart_for_long_before_they_repeat() -> None:
    """The sum begins late, and is then quicker than one of its operands, until it has caught up with it."""
    one = np.arange(1)
    slow, late, add = (
        Schedule(3, (one,), (one,)),
        Schedule(2, (one,), (one,), 100, (60,)),
        Schedule(2, (one, one), (one,)),
    )
    links = (Link("x0", 0, "slow", 0), Link("x1", 0, "late", 0), Link("slow", 0, "add", 0), Link("late", 0, "add", 1))
    network = Network({"slow": slow, "late": late, "add": add}, (*links, Link("add", 0, "y", 0)), ("x0", "x1"), ("y",))
    cycles = predict_cycles(network, 1000, unbounded=[("slow", 0)])
    steps = np.diff(cycles.transfers[Link("add", 0, "y", 0)].ravel())
    assert set(steps[:95].tolist()) == {2}
    assert set(steps[110:].tolist()) == {3}
    assert cycles.interval == 3
    assert not Events(network, {}, {}, [("slow", 0)]).keeps(2.5, 200, 1000)
    assert Events(network, {}, {}, [("slow", 0)]).keeps(3, 200, 1000)


@given(RANDOMS, st.integers(1, 4), st.sampled_from([1, 2, 5]))
def test_frames_that_are_settled_in_parts_are_as_simulated(random: Random, frames: int, part: int) -> None:
    """As those of thousands of beats are."""
    network = some_network(random, 9)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(events_module, "_PART", part)
        assert_as_simulated(network, frames, some_gates(random, network.inputs), some_gates(random, network.outputs))


@pytest.mark.parametrize("gates", [([1, 0, 1], [1]), ([1], [1, 1, 0, 1, 0]), ([0, 1, 1, 0, 0, 0, 1], [0, 0, 1])])
def test_gates_hold_up_every_block_of_frames(gates: tuple[list[int], list[int]]) -> None:
    slow = Schedule(9, (BEATS,), ([0, 3, 8],), 2, (4,))
    for network in (chain(TURN, STEP), chain(slow), chain(STEP, slow)):
        assert assert_as_simulated(network, 30, {"x": gates[0]}, {"y": gates[1]})
