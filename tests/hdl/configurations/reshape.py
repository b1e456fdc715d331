"""Configurations of `reshape`."""

from collections.abc import Iterator

from graphrewrite.hdl.component import Site
from graphrewrite.hdl.components.reshape import reshape
from graphrewrite.types import Stream
from tests.hdl.configurations.drawing import S8, S48, U1, Rng, divisor, element_of


def draw(rng: Rng) -> Site:
    numbers = int(rng.choice([1, 2, 6, 8, 12, 24, 30, 36]))
    given, wanted = divisor(rng, numbers), divisor(rng, numbers)
    x = Stream(element_of(rng), (given, numbers // given), divisor(rng, given))
    shape = (wanted, numbers // wanted) if wanted < numbers or rng.integers(2) else (wanted,)
    return Site.of(reshape, x, shape=shape, lanes=divisor(rng, wanted) if rng.integers(2) else None)


def corners() -> Iterator[Site]:
    for element, given, lanes, shape, lanes_out in [
        (U1, (1,), 1, (1, 1, 1), None),
        (S8, (3, 2, 2), 3, (12,), None),
        (S8, (12,), 12, (3, 2, 2), None),
        (S8, (1, 12), 1, (12,), None),
        (S8, (12,), 12, (1, 12), None),
        (S8, (3, 4), 3, (4, 3), None),
        (S8, (3, 2, 2), 3, (3, 4), None),
        (S8, (6, 2, 2), 2, (24,), 1),
        (S8, (6, 2, 2), 2, (24,), 12),
        (S8, (24,), 3, (6, 2, 2), 2),
        (S8, (12, 1, 1), 4, (12,), 4),
        (S8, (12,), 1, (1, 12), 1),
        (S48, (2, 2), 2, (4,), None),
    ]:
        yield Site.of(reshape, Stream(element, given, lanes), shape=shape, lanes=lanes_out)
