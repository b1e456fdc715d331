"""Generics of components: those of `generics.txt`, on configurations of each; no change goes unseen.

What they do is in `test_components.py`, which compares these configurations and others with GHDL. Where they are meant
to change, that test has to pass; then ``python -m tests.hdl.test_component_generics`` writes the table again.
"""

from __future__ import annotations

import zlib
from pathlib import Path

import numpy as np
import pytest

from graphrewrite.hdl.component import Generic
from tests.hdl.configurations import BY_NAME, configurations_of

TABLE = Path(__file__).with_name("generics.txt")
RANDOM = 4
"""Configurations of each component that are drawn."""
_SHORT = 12


def shown(value: Generic) -> str:
    """A value; of a long vector its length and a checksum."""
    if not isinstance(value, np.ndarray):
        return str(value)
    numbers = ",".join(map(str, value.tolist()))
    return f"[{numbers}]" if len(value) <= _SHORT else f"[{len(value)} numbers, {zlib.crc32(numbers.encode()):08x}]"


def lines(name: str) -> list[str]:
    """Each configuration, its generics in the order of their names."""
    found = configurations_of(name)
    sites = [*found.corners(), *(found.draw(np.random.default_rng(seed)) for seed in range(RANDOM))]
    given = (sorted(BY_NAME[name].generics(site).items()) for site in sites)
    return [
        f"{name} {number}: {' '.join(f'{generic}={shown(value)}' for generic, value in generics)}"
        for number, generics in enumerate(given)
    ]


@pytest.mark.parametrize("name", BY_NAME)
def test_generics_are_those_of_the_table(name: str) -> None:
    table = TABLE.read_text(encoding="utf-8").splitlines()
    assert lines(name) == [each for each in table if each.startswith(f"{name} ")]


if __name__ == "__main__":
    TABLE.write_text("".join(f"{each}\n" for name in sorted(BY_NAME) for each in lines(name)), encoding="utf-8")
