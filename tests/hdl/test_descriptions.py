"""Schedules and generics of components: those of `descriptions.txt`, on configurations of each; no change goes unseen.

That these are right is shown by `test_components.py`, which compares such configurations with GHDL. Where they are
meant to change, that test has to pass; then ``python -m tests.hdl.test_descriptions`` writes the table again.
"""

from __future__ import annotations

import zlib
from pathlib import Path

import numpy as np
import pytest

from graphrewrite.hdl.component import Component, Generic, Site
from graphrewrite.hdl.schedule import Schedule
from tests.hdl.configurations import BY_NAME, configurations_of

TABLE = Path(__file__).with_name("descriptions.txt")
RANDOM = 4
"""Configurations of each component that are drawn."""
FURTHER = range(RANDOM, RANDOM + 30)
"""Seeds of others, of which the table has a checksum."""
SHORT = 8
"""Numbers of a vector that are written out."""


def shown(value: Generic) -> str:
    """A value; of a long vector how many numbers, and a checksum."""
    if not isinstance(value, np.ndarray):
        return str(value)
    numbers = ",".join(map(str, value.tolist()))
    return f"[{numbers}]" if len(value) <= SHORT else f"[{len(value)} numbers, {zlib.crc32(numbers.encode()):08x}]"


def timed(schedule: Schedule) -> str:
    takes, gives = (" ".join(map(shown, each)) or "nothing" for each in (schedule.takes, schedule.gives))
    return f"{schedule.steps} steps, takes {takes}, gives {gives}, latency {schedule.latency}"


def line(component: Component, site: Site) -> str:
    """A schedule, and the generics in the order of their names."""
    generics = sorted(component.generics(site).items())
    return f"{timed(component.schedule(site))};" + "".join(f" {name}={shown(value)}" for name, value in generics)


def lines(name: str) -> list[str]:
    found, component = configurations_of(name), BY_NAME[name]
    sites = [*found.corners(), *(found.draw(np.random.default_rng(seed)) for seed in range(RANDOM))]
    told = [f"{name} {number}: {line(component, site)}" for number, site in enumerate(sites)]
    others = "\n".join(line(component, found.draw(np.random.default_rng(seed))) for seed in FURTHER)
    return [*told, f"{name} further: {zlib.crc32(others.encode()):08x}"]


@pytest.mark.parametrize("name", BY_NAME)
def test_descriptions_are_those_of_the_table(name: str) -> None:
    table = TABLE.read_text(encoding="utf-8").splitlines()
    assert lines(name) == [each for each in table if each.startswith(f"{name} ")]


if __name__ == "__main__":
    TABLE.write_text("".join(f"{each}\n" for name in sorted(BY_NAME) for each in lines(name)), encoding="utf-8")
