"""Estimates of what components cost: those of `resources.txt`, on configurations of each; no change goes unseen.

How near they are to what Yosys makes of a component is in `synthesis/test_prediction.py`. Where an estimate is meant to
change, ``python -m tests.hdl.test_resources`` writes the table again, and its difference is to be looked at.
"""

from __future__ import annotations

import zlib
from pathlib import Path

import numpy as np
import pytest

from graphrewrite.hdl import Resources
from graphrewrite.hdl.component import Site
from tests.hdl.configurations import BY_NAME, configurations_of
from tests.hdl.synthesis.test_prediction import MEASURED

TABLE = Path(__file__).with_name("resources.txt")
RANDOM = 6
"""Configurations of each component that are drawn."""
FURTHER = range(RANDOM, RANDOM + 40)
"""Seeds of others, of which the table has a checksum."""


def sites(name: str) -> list[Site]:
    found = configurations_of(name)
    measured = [site for op, site, *_ in MEASURED if op is BY_NAME[name].op]
    return [*measured, *found.corners(), *(found.draw(np.random.default_rng(seed)) for seed in range(RANDOM))]


def line(name: str, number: int, found: Resources) -> str:
    """One configuration, as the table has it: sums, then the pieces that there are."""
    pieces = " ".join(
        f"{p.times}*{p.kind}:{p.width}" + f"x{p.size}" * bool(p.size) + f"-{p.alike}" * bool(p.alike)
        for p in found.pieces
        if p.times and p.width
    )
    sums = f"{found.multipliers} {found.adders} {found.registers} {found.memory_bits}"
    return f"{name} {number}: {sums} | {pieces}".rstrip()


def lines(name: str) -> list[str]:
    resources = BY_NAME[name].resources
    shown = [line(name, number, resources(site)) for number, site in enumerate(sites(name))]
    drawn = (configurations_of(name).draw(np.random.default_rng(seed)) for seed in FURTHER)
    others = "\n".join(line(name, seed, resources(site)) for seed, site in zip(FURTHER, drawn, strict=True))
    return [*shown, f"{name} further: {zlib.crc32(others.encode()):08x}"]


@pytest.mark.parametrize("name", BY_NAME)
def test_estimates_are_those_of_the_table(name: str) -> None:
    table = TABLE.read_text(encoding="utf-8").splitlines()
    assert lines(name) == [each for each in table if each.startswith(f"{name} ")]


if __name__ == "__main__":
    TABLE.write_text("".join(f"{each}\n" for name in sorted(BY_NAME) for each in lines(name)), encoding="utf-8")
