"""Configurations of `fork`."""

from collections.abc import Iterator

from graphrewrite.hdl.component import Site
from graphrewrite.hdl.components.fork import fork
from graphrewrite.types import Stream
from tests.hdl.configurations.drawing import S8, U1, Rng, folded, stream_of


def draw(rng: Rng) -> Site:
    return Site.of(fork, folded(rng, stream_of(rng, widest=48)))


def corners() -> Iterator[Site]:
    yield Site.of(fork, Stream(U1, (1,)))
    yield Site.of(fork, Stream(S8, (2, 40)))
