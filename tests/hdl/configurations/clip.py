"""Configurations of `clip`."""

from collections.abc import Iterator

from graphrewrite.hdl.component import Site
from graphrewrite.hdl.components.clip import clip
from graphrewrite.types import Stream
from tests.hdl.configurations.drawing import S1, S8, S31, S48, U1, U48, Rng, element_of, folded, stream_of


def draw(rng: Rng) -> Site:
    x = folded(rng, stream_of(rng, widest=48))
    element = element_of(rng, 48) if rng.integers(2) else None
    inside = element or x.element
    low, high = sorted(rng.integers(inside.minimum, inside.maximum, 2, endpoint=True).tolist())
    bounds = [{}, {"low": 0} if inside.maximum >= 0 else {}, {"low": low, "high": high}][int(rng.integers(3))]
    return Site.of(clip, x, element=element, **bounds)


def corners() -> Iterator[Site]:
    op = clip
    yield Site.of(op, Stream(S8, (1, 20)), low=0)
    yield Site.of(op, Stream(S1, (1, 20)), low=0)
    yield Site.of(op, Stream(S48, (2, 20)), low=-(2**40) - 3, high=2**40 + 5)
    yield Site.of(op, Stream(U48, (2, 20)), high=2**31)
    yield Site.of(op, Stream(S8, (2, 20)), element=U48)
    yield Site.of(op, Stream(S48, (2, 20)), element=U1)
    yield Site.of(op, Stream(S31, (1, 20)), low=-(2**30), high=-(2**29))
