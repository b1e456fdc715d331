"""Configurations of `register`."""

from collections.abc import Iterator

from graphrewrite.hdl.component import Site
from graphrewrite.hdl.components.register import register
from graphrewrite.types import Stream
from tests.hdl.configurations.drawing import S8, S48, U1, Rng, folded, stream_of


def draw(rng: Rng) -> Site:
    return Site.of(register, folded(rng, stream_of(rng, widest=48)))


def corners() -> Iterator[Site]:
    yield Site.of(register, Stream(U1, (1,)))
    yield Site.of(register, Stream(S8, (6, 20), 2))
    yield Site.of(register, Stream(S48, (3, 3)))
