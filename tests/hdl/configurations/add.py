"""Configurations of `add`."""

from collections.abc import Iterator

from graphrewrite.hdl.component import Site
from graphrewrite.hdl.components.add import add
from graphrewrite.types import FixedPoint, Stream
from tests.hdl.configurations.drawing import S1, S8, S24, S48, U1, U8, U24, Rng, element_of, folded, stream_of


def draw(rng: Rng) -> Site:
    x = folded(rng, stream_of(rng))
    y = Stream(element_of(rng), x.shape, x.lanes)
    shifts = tuple(int(s) for s in rng.integers(0, 9, 2)) if rng.integers(2) else (0, 0)
    low = (x.element.minimum << shifts[0]) + (y.element.minimum << shifts[1])
    high = (x.element.maximum << shifts[0]) + (y.element.maximum << shifts[1])
    tight = FixedPoint.holding(low, high)
    element = FixedPoint(tight.signed, tight.width + int(rng.integers(3)))
    return Site.of(add, x, y, element=element, shifts=shifts)


def corners() -> Iterator[Site]:
    op = add
    yield Site.of(op, Stream(U1, (1,)), Stream(U1, (1,)), element=FixedPoint(False, 2))
    yield Site.of(op, Stream(S1, (1, 9)), Stream(S1, (1, 9)), element=FixedPoint(True, 2))
    yield Site.of(op, Stream(U8, (6, 9), 2), Stream(S8, (6, 9), 2), element=FixedPoint(True, 10))
    yield Site.of(op, Stream(S24, (2, 9)), Stream(U24, (2, 9)), element=S48, shifts=(22, 0))
