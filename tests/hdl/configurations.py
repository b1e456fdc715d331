"""Configurations of every component: corner cases first, then random ones, the same in every run."""

import itertools
from collections.abc import Callable, Iterator

import numpy as np

from graphrewrite.hdl.component import Component, Site
from graphrewrite.hdl.components import COMPONENTS
from graphrewrite.types import FixedPoint, Stream
from tests.hdl.bench import Case

SEED = 20260721
RANDOM = 50
Rng = np.random.Generator
BY_NAME = {component.entity: component for component in COMPONENTS}


def cases(name: str, count: int = RANDOM, seed: int = SEED) -> list[Case]:
    """All corner cases of a component and ``count`` random ones."""
    rng = np.random.default_rng([seed, *name.encode()])
    component = BY_NAME[name]
    corners = [_case(component, site, rng) for site in CORNERS[name]()]
    return [*corners, *(_case(component, DRAW[name](rng), rng) for _ in range(count))]


def _case(component: Component, site: Site, rng: Rng) -> Case:
    frames = int(rng.integers(2, 4))
    return Case(
        component,
        site,
        tuple(_values(rng, stream.element, (frames, *stream.shape)) for stream in site.operands),
        tuple(_gate(rng) for _ in site.operands),
        tuple(_gate(rng) for _ in site.results),
    )


def _values(rng: Rng, element: FixedPoint, shape: tuple[int, ...]) -> np.ndarray:
    low, high = element.minimum, element.maximum
    wide = rng.integers(low, high, shape, endpoint=True)
    small = rng.integers(max(low, -3), min(high, 3), shape, endpoint=True)
    ends = np.where(rng.random(shape) < 0.5, low, high)
    kind = rng.random(shape)
    return np.where(kind < 0.5, wide, np.where(kind < 0.8, small, ends)).astype(element.dtype)


def _gate(rng: Rng) -> np.ndarray:
    """Always open, nearly closed, random, or in bursts."""
    kind = rng.integers(4)
    if kind == 0:
        return np.ones(1, np.int64)
    gate = (rng.random(int(rng.integers(2, 40))) < (0.15 if kind == 1 else 0.6)).astype(np.int64)
    if kind == 3:
        gate = np.repeat(gate, int(rng.integers(2, 9)))
    gate[rng.integers(len(gate))] = 1
    return gate


def _element(rng: Rng, widest: int = 24) -> FixedPoint:
    return FixedPoint(bool(rng.integers(2)), int(rng.integers(1, widest, endpoint=True)))


def _positions(rng: Rng) -> tuple[int, ...]:
    return tuple(int(size) for size in rng.integers(1, 5, int(rng.integers(0, 3))))


def _stream(rng: Rng, lanes: int | None = None, widest: int = 24) -> Stream:
    return Stream(_element(rng, widest), (lanes or int(rng.integers(1, 7)), *_positions(rng)))


def _divisor(rng: Rng, total: int) -> int:
    return int(rng.choice([d for d in range(1, total + 1) if total % d == 0]))


U1, S1, U8, S8, U24, S24, S31, U31, S48, U48 = (
    FixedPoint(bool(signed), width)
    for signed, width in zip((0, 1, 0, 1, 0, 1, 1, 0, 1, 0), (1, 1, 8, 8, 24, 24, 31, 31, 48, 48), strict=True)
)


def _window(rng: Rng) -> Site:
    height, width = (int(size) for size in rng.integers(1, 8, 2))
    pads = [int(pad) for pad in rng.integers(0, 3, 4)]
    kernel = (
        int(rng.integers(pads[0] + 1, max(pads[0] + 1, min(4, height + pads[0] + pads[2])) + 1)),
        int(rng.integers(pads[1] + 1, max(pads[1] + 1, min(4, width + pads[1] + pads[3])) + 1)),
    )
    x = Stream(_element(rng), (int(rng.integers(1, 4)), height, width))
    fill = int(rng.choice([x.element.minimum, 0, x.element.maximum]))
    strides = tuple(int(s) for s in rng.integers(1, 5, 2))
    return Site.of(BY_NAME["window"].op, x, kernel=kernel, strides=strides, pads=tuple(pads), fill=fill)


def _window_corners() -> Iterator[Site]:
    for element, shape, kernel, strides, pads, fill in [
        (U1, (1, 1, 1), (1, 1), (1, 1), (0, 0, 0, 0), 0),
        (S8, (1, 1, 1), (3, 3), (1, 1), (1, 1, 1, 1), -128),
        (S1, (2, 5, 1), (3, 1), (1, 1), (0, 0, 0, 0), 0),
        (S8, (2, 6, 1), (2, 1), (2, 1), (1, 0, 1, 0), 5),
        (U8, (3, 1, 7), (1, 3), (1, 2), (0, 1, 0, 1), 255),
        (S8, (2, 7, 7), (2, 2), (3, 3), (0, 0, 0, 0), 0),
        (S8, (2, 6, 6), (2, 2), (2, 2), (0, 0, 0, 0), 0),
        (S24, (1, 6, 6), (5, 5), (1, 1), (2, 2, 2, 2), 0),
        (S8, (1, 4, 2), (3, 2), (1, 1), (2, 0, 0, 0), -1),
        (S48, (1, 3, 3), (2, 2), (1, 1), (0, 0, 0, 0), 0),
    ]:
        yield Site.of(
            BY_NAME["window"].op, Stream(element, shape), kernel=kernel, strides=strides, pads=pads, fill=fill
        )


def _site_of_matrix(x: Stream, weights: np.ndarray, bias: np.ndarray, spare: int = 0, **folding: int) -> Site | None:
    ends = weights * x.element.minimum, weights * x.element.maximum
    low = min(int((np.minimum(*ends).sum(axis=1) + bias).min()), int(bias.min()))
    high = max(int((np.maximum(*ends).sum(axis=1) + bias).max()), int(bias.max()))
    tight = FixedPoint.holding(low, high)
    element = FixedPoint(tight.signed, min(tight.width + spare, 48))
    if tight.width > 48:
        return None
    return Site.of(BY_NAME["matvec"].op, x, weights=weights, bias=bias, element=element, **folding)


def _matvec(rng: Rng) -> Site:
    while True:
        x = _stream(rng, int(rng.integers(1, 9)))
        outputs = int(rng.integers(1, 9))
        weights = _values(rng, _element(rng, int(rng.choice([2, 8, 24]))), (outputs, x.lanes)).astype(np.int64)
        bias = _values(rng, FixedPoint(True, int(rng.choice([2, 16, 31, 40]))), (outputs,)).astype(np.int64)
        folding = {"pe": _divisor(rng, outputs), "simd": _divisor(rng, x.lanes)}
        site = _site_of_matrix(x, weights, bias, int(rng.integers(3)), **folding)
        if site is not None:
            return site


def _matvec_corners() -> Iterator[Site | None]:
    ends = np.array([[-128, 127, -128, 127], [-128, -128, -128, -128], [127, 127, 127, 127], [0, 0, 0, 0]])
    bias = np.array([-7, 2**20, -(2**20), 0])
    for pe, simd in itertools.product((1, 2, 4), repeat=2):
        yield _site_of_matrix(Stream(S8, (4, 3)), ends, bias, pe=pe, simd=simd)
    for element in (S24, U24):
        for weight in (-(2**23), 2**23 - 1):
            yield _site_of_matrix(Stream(element, (1, 4)), np.array([[weight]]), np.array([0]))
    yield _site_of_matrix(Stream(U1, (1,)), np.array([[1]]), np.array([0]), pe=1, simd=1)
    yield _site_of_matrix(Stream(S1, (1, 2)), np.array([[-1]]), np.array([-1]))
    yield _site_of_matrix(Stream(S24, (2, 3)), np.full((2, 2), -(2**22)), np.array([2**40, -(2**40)]), pe=1, simd=1)
    for top in (S31.maximum, U31.maximum):
        yield _site_of_matrix(
            Stream(U1, (2, 3)),
            np.array([[1, -1], [0, 0]]),
            np.array([top - 1, 0 if top == S31.maximum else 1]),
            pe=1,
            simd=1,
        )
    yield _site_of_matrix(Stream(U8, (6, 2)), np.arange(-9, 9).reshape(3, 6), np.arange(3), pe=3, simd=2)


def _maximum(rng: Rng) -> Site:
    groups = int(rng.integers(1, 6))
    return Site.of(BY_NAME["maximum"].op, _stream(rng, groups * int(rng.integers(1, 5)), 48), groups=groups)


def _maximum_corners() -> Iterator[Site]:
    for element, lanes, groups in [(U1, 1, 1), (S1, 2, 2), (S8, 9, 9), (U48, 4, 2), (S48, 4, 4)]:
        yield Site.of(BY_NAME["maximum"].op, Stream(element, (lanes, 3, 2)), groups=groups)


def _requantise(rng: Rng) -> Site:
    x = _stream(rng, widest=48)
    element = _element(rng)
    least, most = 12 if x.element.width > 46 else -12, min(x.element.width + 4, 50)
    shifts = rng.integers(min(least, most), most, x.lanes, endpoint=True).tolist()
    bounds = sorted(rng.integers(element.minimum, element.maximum, 2, endpoint=True).tolist())
    limited = {"low": bounds[0], "high": bounds[1]} if rng.integers(2) else {}
    return Site.of(
        BY_NAME["requantise"].op, x, shift=shifts if rng.integers(2) else shifts[0], element=element, **limited
    )


def _requantise_corners() -> Iterator[Site]:
    for given, element, shift in [
        (U1, U1, 0),
        (S1, S1, 1),
        (S8, S8, 0),
        (S8, S8, 1),
        (S8, U8, 2),
        (U8, S8, -3),
        (S8, S31, -12),
    ]:
        yield Site.of(BY_NAME["requantise"].op, Stream(given, (2, 40)), shift=shift, element=element)
    for given, element, shift in [
        (S8, S8, 8),
        (S8, S8, 9),
        (S8, S8, 20),
        (S48, S24, 24),
        (U48, U24, 24),
        (S31, U31, 0),
    ]:
        yield Site.of(BY_NAME["requantise"].op, Stream(given, (1, 40)), shift=shift, element=element)
    yield Site.of(BY_NAME["requantise"].op, Stream(S8, (1, 40)), shift=2, element=S8, low=0, high=6)


def _clip(rng: Rng) -> Site:
    x = _stream(rng, widest=48)
    element = _element(rng, 48) if rng.integers(2) else None
    inside = element or x.element
    low, high = sorted(rng.integers(inside.minimum, inside.maximum, 2, endpoint=True).tolist())
    bounds = [{}, {"low": 0} if inside.maximum >= 0 else {}, {"low": low, "high": high}][int(rng.integers(3))]
    return Site.of(BY_NAME["clip"].op, x, element=element, **bounds)


def _clip_corners() -> Iterator[Site]:
    op = BY_NAME["clip"].op
    yield Site.of(op, Stream(S8, (1, 20)), low=0)
    yield Site.of(op, Stream(S1, (1, 20)), low=0)
    yield Site.of(op, Stream(S48, (2, 20)), low=-(2**40) - 3, high=2**40 + 5)
    yield Site.of(op, Stream(U48, (2, 20)), high=2**31)
    yield Site.of(op, Stream(S8, (2, 20)), element=U48)
    yield Site.of(op, Stream(S48, (2, 20)), element=U1)
    yield Site.of(op, Stream(S31, (1, 20)), low=-(2**30), high=-(2**29))


def _reshape(rng: Rng) -> Site:
    numbers = int(rng.choice([1, 2, 6, 8, 12, 24, 30, 36]))
    lanes, beats = _divisor(rng, numbers), _divisor(rng, numbers)
    x = Stream(_element(rng), (lanes, numbers // lanes))
    return Site.of(BY_NAME["reshape"].op, x, shape=(numbers // beats, beats))


def _reshape_corners() -> Iterator[Site]:
    for element, given, shape in [
        (U1, (1,), (1, 1, 1)),
        (S8, (3, 2, 2), (12,)),
        (S8, (12,), (3, 2, 2)),
        (S8, (1, 12), (12,)),
        (S8, (12,), (1, 12)),
        (S8, (3, 4), (4, 3)),
        (S8, (3, 2, 2), (3, 4)),
        (S48, (2, 2), (4,)),
    ]:
        yield Site.of(BY_NAME["reshape"].op, Stream(element, given), shape=shape)


def _fork(rng: Rng) -> Site:
    return Site.of(BY_NAME["fork"].op, _stream(rng, widest=48))


def _fork_corners() -> Iterator[Site]:
    yield Site.of(BY_NAME["fork"].op, Stream(U1, (1,)))
    yield Site.of(BY_NAME["fork"].op, Stream(S8, (2, 40)))


def _add(rng: Rng) -> Site:
    x = _stream(rng)
    y = Stream(_element(rng), x.shape)
    shifts = tuple(int(s) for s in rng.integers(0, 9, 2)) if rng.integers(2) else (0, 0)
    low = (x.element.minimum << shifts[0]) + (y.element.minimum << shifts[1])
    high = (x.element.maximum << shifts[0]) + (y.element.maximum << shifts[1])
    tight = FixedPoint.holding(low, high)
    element = FixedPoint(tight.signed, tight.width + int(rng.integers(3)))
    return Site.of(BY_NAME["add"].op, x, y, element=element, shifts=shifts)


def _add_corners() -> Iterator[Site]:
    op = BY_NAME["add"].op
    yield Site.of(op, Stream(U1, (1,)), Stream(U1, (1,)), element=FixedPoint(False, 2))
    yield Site.of(op, Stream(S1, (1, 9)), Stream(S1, (1, 9)), element=FixedPoint(True, 2))
    yield Site.of(op, Stream(U8, (3, 9)), Stream(S8, (3, 9)), element=FixedPoint(True, 10))
    yield Site.of(op, Stream(S24, (2, 9)), Stream(U24, (2, 9)), element=S48, shifts=(22, 0))


def _fifo(rng: Rng) -> Site:
    return Site.of(
        BY_NAME["fifo"].op, Stream(_element(rng), (1, int(rng.integers(1, 60)))), depth=int(rng.integers(1, 20))
    )


def _fifo_corners() -> Iterator[Site]:
    for depth in (1, 2, 3, 4, 5, 6, 64):
        yield Site.of(BY_NAME["fifo"].op, Stream(U8, (1, 90)), depth=depth)


def _argmax(rng: Rng) -> Site:
    x = _stream(rng, int(rng.integers(1, 12)), 48)
    element = FixedPoint(False, FixedPoint.holding(0, x.lanes - 1).width + int(rng.integers(3)))
    return Site.of(BY_NAME["argmax"].op, x, element=element)


def _argmax_corners() -> Iterator[Site]:
    for element, lanes in [(U1, 1), (U1, 5), (S1, 5), (S8, 10), (U48, 3), (S48, 3)]:
        yield Site.of(BY_NAME["argmax"].op, Stream(element, (lanes, 30)), element=U8)


DRAW: dict[str, Callable[[Rng], Site]] = {
    "add": _add,
    "argmax": _argmax,
    "clip": _clip,
    "fifo": _fifo,
    "fork": _fork,
    "matvec": _matvec,
    "maximum": _maximum,
    "requantise": _requantise,
    "reshape": _reshape,
    "window": _window,
}
CORNERS: dict[str, Callable[[], Iterator[Site]]] = {
    "add": _add_corners,
    "argmax": _argmax_corners,
    "clip": _clip_corners,
    "fifo": _fifo_corners,
    "fork": _fork_corners,
    "matvec": _matvec_corners,
    "maximum": _maximum_corners,
    "requantise": _requantise_corners,
    "reshape": _reshape_corners,
    "window": _window_corners,
}
