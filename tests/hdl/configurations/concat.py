"""Configurations of `concat`."""

from collections.abc import Iterator

from graphrewrite.hdl.component import Site
from graphrewrite.hdl.components.concat import concat
from graphrewrite.types import FixedPoint, Stream
from tests.hdl.configurations.drawing import S8, S48, U1, Rng, element_of, positions


def draw(rng: Rng) -> Site:
    element, shape, lanes = element_of(rng, 48), positions(rng), int(rng.integers(1, 5))
    if rng.integers(3) == 0:
        x, y = (Stream(element, (int(rng.integers(1, 6)), *shape)) for _ in "xy")
    else:
        x, y = (Stream(element, (lanes * int(rng.integers(1, 5)), *shape), lanes) for _ in "xy")
    return Site.of(concat, x, y)


def corners() -> Iterator[Site]:
    yield Site.of(concat, Stream(U1, (1,)), Stream(U1, (1,)))
    yield Site.of(concat, Stream(S48, (3, 9)), Stream(S48, (1, 9)))
    yield Site.of(concat, Stream(S8, (1, 20)), Stream(S8, (7, 20), 1))
    yield Site.of(concat, Stream(S8, (6, 9), 2), Stream(S8, (2, 9)))
    yield Site.of(concat, Stream(FixedPoint(True, 8, 4), (6, 9), 3), Stream(FixedPoint(True, 8, 4), (6, 9), 3))
