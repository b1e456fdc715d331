"""Configurations of `concat`."""

from collections.abc import Iterator

from graphrewrite.hdl.component import Site
from graphrewrite.hdl.components.concat import concat
from graphrewrite.types import FixedPoint, Stream
from tests.hdl.configurations.drawing import S8, S48, U1, Rng, element_of, positions


def draw(rng: Rng) -> Site:
    element, shape, lanes = element_of(rng, 48), positions(rng), int(rng.integers(1, 5))
    if shape and rng.integers(2):
        axis, channels = int(rng.integers(2, 2 + len(shape))), lanes * int(rng.integers(1, 4))
        sizes = [(*shape[: axis - 2], int(rng.integers(1, 5)), *shape[axis - 1 :]) for _ in "xy"]
        return Site.of(concat, *(Stream(element, (channels, *size), lanes) for size in sizes), axis=axis)
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
    yield Site.of(concat, Stream(S8, (2, 1, 5)), Stream(S8, (2, 3, 5)), axis=2)
    yield Site.of(concat, Stream(S8, (2, 4, 1)), Stream(S8, (2, 4, 3)), axis=3)
    for axis in (2, 3):
        yield Site.of(concat, Stream(S48, (3, 2, 2), 1), Stream(S48, (3, 2, 2), 1), axis=axis)
        yield Site.of(concat, Stream(U1, (1, 1, 1)), Stream(U1, (1, 1, 1)), axis=axis)
    yield Site.of(concat, Stream(S8, (4, 1), 2), Stream(S8, (4, 13), 2), axis=2)
