"""Configurations of `constant`."""

from collections.abc import Iterator

import numpy as np

from graphrewrite.hdl.component import Site
from graphrewrite.hdl.components.constant import constant
from tests.hdl.configurations.drawing import S1, S8, S48, U1, U31, U48, Rng, divisor, element_of, positions, values


def draw(rng: Rng) -> Site:
    channels, element = int(rng.choice([1, 2, 3, 4, 6])), element_of(rng, 48)
    frame = values(rng, element, (channels, *positions(rng)))
    return Site.of(constant, value=frame, element=element, lanes=divisor(rng, channels) if rng.integers(2) else None)


def corners() -> Iterator[Site]:
    yield Site.of(constant, value=[1], element=U1)
    yield Site.of(constant, value=[[0, -1, 0]], element=S1)
    yield Site.of(constant, value=np.arange(-64, 64).reshape(4, 32), element=S8, lanes=1)
    yield Site.of(constant, value=[[2**31 - 1, 0], [1, 2**30]], element=U31)
    yield Site.of(constant, value=[[-(2**47), 2**47 - 1], [-1, 2**40]], element=S48, lanes=1)
    yield Site.of(constant, value=[2**48 - 1, 2**31], element=U48)
