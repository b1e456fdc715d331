"""Configurations of `accumulate`."""

from collections.abc import Iterator

from graphrewrite.hdl.component import Site
from graphrewrite.hdl.components.accumulate import accumulate
from graphrewrite.types import FixedPoint, Stream
from tests.hdl.configurations.drawing import S1, S8, S24, S48, U1, U24, Rng, divisor, element_of


def draw(rng: Rng) -> Site:
    kind, keepdims = str(rng.choice(["sum", "maximum"])), bool(rng.integers(2))
    channels = int(rng.choice([1, 2, 3, 5, 6, 8, 12]))
    shape = (channels, *(int(size) for size in rng.integers(1, 6, int(rng.integers(0, 3)))))
    x = Stream(element_of(rng, 24 if kind == "sum" else 48), shape, divisor(rng, channels))
    if kind == "maximum":
        return Site.of(accumulate, x, kind=kind, keepdims=keepdims)
    tight = FixedPoint.holding(x.positions * x.element.minimum, x.positions * x.element.maximum)
    element = FixedPoint(tight.signed, tight.width + int(rng.choice([0, 0, 5, 19])))
    return Site.of(accumulate, x, kind=kind, element=element, keepdims=keepdims)


def corners() -> Iterator[Site]:
    for element, shape, lanes, width in [
        (U1, (1, 1, 1), 1, 1),
        (U1, (1, 7, 7), 1, 6),
        (S1, (2, 3), 1, 3),
        (S8, (8, 4, 4), 1, 12),
        (S8, (8, 4, 4), 2, 12),
        (S8, (8, 4, 4), 8, 13),
        (U24, (10, 2, 2), 2, 48),
        (S24, (5, 2, 3), 5, 30),
    ]:
        yield Site.of(accumulate, Stream(element, shape, lanes), kind="sum", element=FixedPoint(element.signed, width))
    yield Site.of(accumulate, Stream(S48, (7, 5), 1), kind="maximum")
    yield Site.of(accumulate, Stream(U1, (4, 3), 4), kind="maximum", keepdims=False)
