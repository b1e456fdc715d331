"""Configurations of `multiply`."""

from collections.abc import Iterator

from graphrewrite.hdl.component import Site
from graphrewrite.hdl.components.multiply import multiply
from graphrewrite.types import FixedPoint, Stream
from tests.hdl.configurations.drawing import S1, S8, S24, U1, U8, U24, Rng, element_of, folded, stream_of


def _site(x: Stream, y: Stream, spare: int = 0, stages: int = 1) -> Site:
    ends = [a * b for a in (x.element.minimum, x.element.maximum) for b in (y.element.minimum, y.element.maximum)]
    tight = FixedPoint.holding(min(ends), max(ends))
    return Site.of(multiply, x, y, element=FixedPoint(tight.signed, tight.width + spare), stages=stages)


def draw(rng: Rng) -> Site:
    x = folded(rng, stream_of(rng))
    y = Stream(element_of(rng), x.shape, x.lanes)
    return _site(x, y, int(rng.integers(1 if x.element.width + y.element.width > 44 else 4)), int(rng.integers(1, 4)))


def corners() -> Iterator[Site]:
    for given, other in ((U1, U1), (S1, S1), (U1, S24), (U24, S8), (S24, S24), (U24, U24)):
        yield _site(Stream(given, (2, 20), 1), Stream(other, (2, 20), 1))
    for stages in (2, 3):
        yield _site(Stream(S8, (6, 9), 3), Stream(U8, (6, 9), 3), stages=stages)
