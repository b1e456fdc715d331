"""Configurations of `maximum`."""

from collections.abc import Iterator

from graphrewrite.hdl.component import Site
from graphrewrite.hdl.components.maximum import maximum
from graphrewrite.types import FixedPoint, Stream
from tests.hdl.configurations.drawing import S1, S8, S24, S48, U1, U8, U48, Rng
from tests.hdl.configurations.total import grouped


def draw(rng: Rng) -> Site:
    x, attributes = grouped(rng, 48)
    return Site.of(maximum, x, **attributes)


def corners() -> Iterator[Site]:
    for element, channels, lanes, groups, stages in [
        (U1, 1, 1, 1, 1),
        (S1, 2, 2, 2, 1),
        (S8, 9, 9, 9, 4),
        (S8, 7, 1, 7, 1),
        (S24, 36, 1, 4, 1),
        (S8, 36, 3, 4, 1),
        (S8, 24, 12, 6, 3),
        (U48, 4, 4, 2, 1),
        (S48, 4, 2, 4, 2),
    ]:
        yield Site.of(maximum, Stream(element, (channels, 3, 2), lanes), groups=groups, stages=stages)
    yield Site.of(maximum, Stream(S8, (24, 5), 12), groups=3, blocks=2)
    yield Site.of(maximum, Stream(U8, (12, 2), 4), groups=4, blocks=3, stages=2)
    yield Site.of(maximum, Stream(FixedPoint(True, 32), (144, 1, 3), 72), groups=9, blocks=2, stages=3)
