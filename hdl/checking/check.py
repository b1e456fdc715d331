"""Check a component against GHDL over its parameter space: values and cycles, with stalls and resets."""

import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice

import numpy as np

from graphrewrite.hdl.checking.case import Case, draw_case
from graphrewrite.hdl.checking.comparison import compare
from graphrewrite.hdl.checking.simulation import StoppedError, simulate_cases
from graphrewrite.hdl.component import Component, Site
from graphrewrite.hdl.errors import ComponentError, ContractError, MismatchError

__all__ = ["CheckReport", "check_component", "draw_cases"]

_TOGETHER = 200  # configurations of one simulation


@dataclass(frozen=True)
class CheckReport:
    """Numbers of what a check compared; it found no difference.

    Attributes
    ----------
    component : str
        Name of the op.
    configurations, beats, cycles : int
        How many were compared: corner cases and random ones, beats at all ports, cycles of all runs.
    seed : int
        Of the random configurations.
    seconds : float
        Real time.
    """

    component: str
    configurations: int
    beats: int
    cycles: int
    seed: int
    seconds: float

    def __str__(self) -> str:
        return (
            f"{self.component}: values and cycles of {self.configurations} configurations equal GHDL's"
            f" (seed {self.seed}): {self.beats} beats, {self.cycles} cycles, {self.seconds:.1f} s"
        )


def check_component(
    component: Component,
    draw: Callable[[np.random.Generator], Site] | None = None,
    *,
    corners: Iterable[Site] = (),
    count: int = 100,
    seed: int = 0,
    only: int | None = None,
    timeout: float | None = 600.0,
) -> CheckReport:
    """Check that GHDL gives what a component's meaning in numpy says, in the cycles that its schedule says.

    Each configuration runs after a reset with random frames, back to back, and random stalls at every stream; then it
    is reset between two frames, runs again and is reset in mid-frame; then it has to be exact once more. Every stream
    is watched for what ``STREAM_CONTRACT.md`` demands. Beats are compared at the inputs too: a component has to take
    them when its schedule says. There is no tolerance.

    Parameters
    ----------
    component : Component
        One of the library or your own.
    draw : callable, optional
        Takes a numpy random generator, returns a random configuration of the component: a `Site`.
    corners : iterable of Site
        Configurations that must not be missed; checked first.
    count : int
        How many random ones; without ``draw`` there are none.
    seed : int
        Of the random numbers: the same configurations, frames and stalls for the same seed.
    only : int, optional
        The configuration of this number alone, as a failure names it.
    timeout : float or None
        Seconds after which a simulation is given up; one holds 200 configurations.

    Raises
    ------
    ComponentError
        If the component's parts contradict each other: its entity lacks a generic or a port, its schedule has another
        number of beats than its streams, its meaning gives numbers outside of the format.
    ContractError
        If it breaks the stream contract: names seed, configuration, stream, rule and cycle.
    MismatchError
        If a value or a cycle differs: names seed, configuration (the shortest that differs), stream, frame, beat and
        cycle, as does its `difference`.
    GhdlMissingError
        If there is no GHDL; says how to get it.
    SimulatorError
        If GHDL refuses the VHDL.

    Examples
    --------
    >>> from graphrewrite.hdl.components.fifo import FIFO, fifo
    >>> from graphrewrite.hdl.ghdl.simulator import find_ghdl
    >>> from graphrewrite.types import FixedPoint, Stream
    >>> def draw(rng):
    ...     x = Stream(FixedPoint(True, int(rng.integers(1, 25))), (int(rng.integers(1, 5)), 6))
    ...     return Site.of(fifo, x, depth=int(rng.integers(1, 9)))
    >>> if find_ghdl():
    ...     assert check_component(FIFO, draw, count=5).configurations == 5
    """
    started = time.perf_counter()
    drawn = enumerate(draw_cases(component, draw, corners=corners, count=count, seed=seed))
    chosen = ((number, case) for number, case in drawn if only is None or number == only)
    configurations = beats = cycles = 0
    while batch := list(islice(chosen, _TOGETHER)):
        _check([case for _, case in batch], [f"configuration {n} of seed {seed}" for n, _ in batch], timeout)
        configurations += len(batch)
        beats += sum(len(run) for _, case in batch for runs in case.expected.values() for run in runs)
        cycles += sum(sum(case.cycles) for _, case in batch)
    if not configurations:
        reason = f"there is no configuration {only}" if only is not None else "there is nothing to check"
        raise ComponentError(f"{component.op.name}: {reason}; give draw, a function from a random generator to a Site")
    return CheckReport(component.op.name, configurations, beats, cycles, seed, time.perf_counter() - started)


def draw_cases(
    component: Component,
    draw: Callable[[np.random.Generator], Site] | None,
    *,
    corners: Iterable[Site] = (),
    count: int = 100,
    seed: int = 0,
) -> Iterator[Case]:
    """Yield the configurations of a check: corner cases, then random ones, each from the seed and its number alone."""
    number = -1
    for number, site in enumerate(corners):
        yield draw_case(component, _site(component, site), _random(component, seed, number))
    for index in range(number + 1, number + 1 + count):
        if draw is None:
            return
        random = _random(component, seed, index)
        yield draw_case(component, _site(component, draw(random)), random)


def _random(component: Component, seed: int, number: int) -> np.random.Generator:
    return np.random.default_rng([seed, number, *component.entity.encode()])


def _site(component: Component, site: object) -> Site:
    if not isinstance(site, Site):
        raise ComponentError(
            f"{component.op.name}: a configuration is a Site, not {site!r}; return Site.of(op, stream, …)"
        )
    return site


def _check(cases: Sequence[Case], names: Sequence[str], timeout: float | None) -> None:
    try:
        simulated = simulate_cases(cases, timeout=timeout)
    except StoppedError as error:
        where = "" if error.number is None else f"{names[error.number]}, {cases[error.number]}: "
        raise ContractError(f"{where}{error}") from None
    different = [
        (case, name, difference)
        for case, name, beats in zip(cases, names, simulated, strict=True)
        if (difference := compare(case, beats)) is not None
    ]
    if different:
        # The smallest tells most; what goes wrong at an input only, least.
        case, name, difference = min(different, key=lambda entry: (entry[2].port in "xy", sum(entry[0].cycles)))
        share = f" ({len(different)} of {len(cases)} configurations differ)" if len(cases) > 1 else ""
        raise MismatchError(f"{name}, {case}: {difference}{share}", difference)
