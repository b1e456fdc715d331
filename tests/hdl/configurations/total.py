"""Configurations of `total`; what is grouped there is so in `maximum`."""

from collections.abc import Iterator

from graphrewrite.hdl.component import Site
from graphrewrite.hdl.components.total import total
from graphrewrite.types import FixedPoint, Stream
from tests.hdl.configurations.drawing import S1, S8, S24, U1, U8, U24, Rng, element_of, positions


def grouped(rng: Rng, widest: int) -> tuple[Stream, dict[str, int]]:
    """A stream with lanes that divide the channels of a group, hold them several times, or hold a block; attributes."""
    groups, channels = int(rng.integers(1, 10)), int(rng.choice([1, 1, 2, 3, 4, 5, 6, 8, 12]))
    blocks = int(rng.choice([1, 1, 1, 2, 3]))
    each = [lanes for lanes in range(1, channels + 1) if channels % lanes == 0]
    several = [channels * taps for taps in range(1, groups + 1) if groups % taps == 0]
    lanes = int(rng.choice(each + several)) if blocks == 1 else groups * channels
    x = Stream(element_of(rng, widest), (blocks * groups * channels, *positions(rng)), lanes)
    taps = max(lanes // channels, 1)
    stages = int(rng.integers(1, max((taps - 1).bit_length() + (taps < groups), 1), endpoint=True))
    return x, {"groups": groups, "blocks": blocks, "stages": stages}


def draw(rng: Rng) -> Site:
    x, attributes = grouped(rng, 24)
    groups = attributes["groups"]
    tight = FixedPoint.holding(groups * x.element.minimum, groups * x.element.maximum)
    element = FixedPoint(tight.signed, tight.width + int(rng.choice([0, 0, 3, 20])))
    return Site.of(total, x, element=element, **attributes)


def corners() -> Iterator[Site]:
    for element, channels, lanes, groups, stages, width in [
        (U1, 1, 1, 1, 1, 1),
        (S1, 2, 2, 2, 1, 2),
        (U1, 25, 25, 25, 5, 5),
        (S8, 9, 9, 9, 2, 12),
        (S8, 49, 1, 49, 1, 14),
        (U24, 36, 1, 4, 1, 48),
        (S24, 36, 3, 4, 1, 26),
        (U8, 24, 12, 6, 3, 11),
    ]:
        result = FixedPoint(element.signed, width)
        yield Site.of(total, Stream(element, (channels, 2, 2), lanes), groups=groups, element=result, stages=stages)
