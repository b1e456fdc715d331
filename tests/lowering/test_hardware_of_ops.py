"""Every op of the integer level that has hardware: alone, behind a folded layer, and all of them in one design."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest

from graphrewrite import FixedPoint, Graph, Stream, Tensor, evaluate, op
from graphrewrite.hdl import cosimulate, emit
from graphrewrite.lowering import LoweringError, partition, to_stream
from graphrewrite.lowering.streaming.rearrangements import interleaved

S8, U4, S12 = FixedPoint(True, 8), FixedPoint(False, 4), FixedPoint(True, 12)
U8F8 = FixedPoint(False, 8, 8)
CHANNELS = 4
RNG = np.random.default_rng(7)
TABLE = RNG.integers(-99, 99, 40)
LEVELS = np.sort(RNG.integers(-120, 120, (CHANNELS, 7)), axis=1)
OFFSETS = np.array([3, -5, 0, 9], np.int8).reshape(1, CHANNELS, 1, 1)
PLACES = RNG.integers(-9, 99, (CHANNELS, 4, 5)).astype(np.int8)
Build = Callable[[Any], Any]


def _each(rank: int, value: int = 1) -> tuple[int, ...]:
    return (value,) * rank


def _mean(x: Any, kernel: Sequence[int], **attributes: Any) -> Any:
    rank, ones = len(kernel), np.ones((CHANNELS, 1, *kernel), np.int64)
    geometry = {"strides": _each(rank), "dilations": _each(rank), "pads": _each(2 * rank, 0), **attributes}
    return op.integer_conv(
        x, ones, np.zeros(CHANNELS, np.int64), groups=CHANNELS, element=FixedPoint(True, 16), **geometry
    )


def _table(x: Any, values: np.ndarray) -> Any:
    return x.graph.constant(values, type=Tensor(FixedPoint(True, 14), values.shape))


IMAGES: dict[str, Build] = {
    "rescale": lambda x: op.rescale(x, multiplier=77, shift=9, element=S8, offset=3, rounding="half_up"),
    "rescale, channels": lambda x: op.rescale(
        x, multiplier=(3, -5, 7, 1), addend=(1, 0, -9, 4), shift=(1, 2, 3, 0), element=U4, low=1, high=12
    ),
    "power of two": lambda x: op.rescale(x, multiplier=4, shift=1, element=S12, rounding="to_zero"),
    "threshold": lambda x: op.integer_threshold(x, LEVELS),
    "threshold for all": lambda x: op.integer_threshold(x, LEVELS[:1]),
    "lookup": lambda x: op.lookup(x, _table(x, TABLE), low=-20),
    "wide lookup": lambda x: op.lookup(op.integer_mul(x, x), _table(x, TABLE), low=5),
    "mul": lambda x: op.integer_mul(x, op.relu(x)),
    "square": lambda x: op.integer_mul(x, x),
    "mul by constants": lambda x: op.integer_mul(x, OFFSETS),
    "add constants": lambda x: op.integer_add(x, OFFSETS, shifts=(1, 2), element=S12),
    "sub": lambda x: op.integer_sub(x, op.relu(x), shifts=(0, 1)),
    "sub constants": lambda x: op.integer_sub(x, OFFSETS),
    "concat": lambda x: op.concat(x, op.relu(x), op.clip(x, low=-3, high=3), axis=1),
    "concat with itself": lambda x: op.concat(x, x, axis=1),
    "rows below rows": lambda x: op.concat(x, op.relu(x), op.max_pool(x, kernel=(2, 1)), axis=2),
    "columns beside columns": lambda x: op.concat(op.max_pool(x, kernel=(1, 3)), x, axis=-1),
    "rows below themselves": lambda x: op.concat(x, x, axis=2),
    "mul by places": lambda x: op.integer_mul(PLACES[0], x),
    "add places": lambda x: op.integer_add(x, PLACES[None], shifts=(0, 2), element=S12),
    "sub places": lambda x: op.integer_sub(x, PLACES[1:2, :, :1]),
    "sub from places": lambda x: op.integer_sub(PLACES[2, :, :1], x, shifts=(1, 0)),
    "slice": lambda x: op.slice(x, starts=(1,), ends=(3,), axes=(1,)),
    "split": lambda x: op.concat(*reversed(op.split(x, sizes=(1, 2, 1), axis=1)), axis=1),
    "split in two": lambda x: op.integer_mul(*op.split(x, sizes=(2, 2), axis=1)),
    "softmax": lambda x: op.integer_softmax(x, table=(255, 94, 35, 13, 5, 2, 1, 0), shift=3, element=U8F8),
    "straight lines": lambda x: op.integer_interpolate(
        x, base=(8, 30, 7, -99), slope=(1, -2, 0, 3), rest=6, shift=2, element=S12, low=-128
    ),
    "shuffle": lambda x: op.channel_shuffle(x, groups=2),
    "tile": lambda x: op.tile(x, repeats=(1, 2, 1, 1)),
    "pad": lambda x: op.pad(x, pads=(0, 0, 1, 0, 0, 0, 2, 1), fill=-7),
    "up-sampling": lambda x: op.resize(x, scales=(1, 1, 2, 3)),
    "space to depth": lambda x: op.space_to_depth(op.pad(x, pads=(0, 0, 0, 0, 0, 0, 0, 1)), block_size=2),
    "depth to space": lambda x: op.depth_to_space(x, block_size=2),
    "depth to space, by columns": lambda x: op.depth_to_space(x, block_size=2, mode="CRD"),
    "down-sampling": lambda x: op.resize(x, scales=(1, 1, 0.5, 1)),
    "some rows": lambda x: op.slice(x, starts=(1,), ends=(3,), axes=(2,)),
    "every other column": lambda x: op.slice(x, starts=(1, 0), ends=(4, 3), axes=(3, 1), steps=(2, 2)),
    "sums": lambda x: _mean(x, (2, 2), strides=(2, 1), pads=(1, 0, 0, 1)),
    "global sums": lambda x: _mean(x, (4, 5)),
    "global maxima": lambda x: op.max_pool(x, kernel=(4, 5)),
    "maxima, rounded up": lambda x: op.max_pool(x, kernel=(2, 2), strides=(3, 2), ceil_mode=True),
    "maxima, dilated": lambda x: op.max_pool(x, kernel=(2, 2), dilations=(2, 3), pads=(1, 1, 0, 0)),
    "gains": lambda x: op.integer_conv(
        x,
        np.arange(1, 5).reshape(4, 1, 1, 1),
        np.arange(4),
        groups=4,
        element=FixedPoint(True, 12),
        strides=(1, 1),
        pads=_each(4, 0),
        dilations=(1, 1),
    ),
}
"""On images of four channels."""
LINES: dict[str, Build] = {
    "maxima": lambda x: op.max_pool(x, kernel=(3,), strides=(2,), pads=(1, 1)),
    "sums": lambda x: _mean(x, (3,), strides=(2,), pads=(2, 0)),
    "up-sampling": lambda x: op.resize(
        x, scales=(1, 1, 3), nearest_mode="floor", coordinate_transformation_mode="asymmetric"
    ),
    "pad": lambda x: op.pad(x, pads=(0, 0, 3, 0, 0, 1)),
    "one and the next": lambda x: op.concat(op.slice(x, starts=(0,), ends=(6,), axes=(2,)), x, axis=2),
}
"""On sequences of four channels."""
CASES = [(name, build, (CHANNELS, 4, 5)) for name, build in IMAGES.items()]
CASES += [(f"{name}, a sequence", build, (CHANNELS, 7)) for name, build in LINES.items()]


def network(shape: tuple[int, ...], builds: Sequence[Build], *, behind_a_layer: bool) -> Graph:
    """Ops on an input, perhaps behind a convolution that may be folded."""
    g, rank = Graph("ops"), len(shape) - 1
    x = op.to_fixed(g.input("x", Tensor("f32", ("N", *shape))), element=S8)
    if behind_a_layer:
        w = np.random.default_rng(1).integers(-9, 9, (CHANNELS, CHANNELS, *_each(rank)))
        geometry = {"strides": _each(rank), "pads": _each(2 * rank, 0), "dilations": _each(rank)}
        x = op.integer_conv(x, w, np.arange(CHANNELS), element=FixedPoint(True, 14), **geometry)
        x = op.requantise(x, shift=5, element=S8)
    for i, build in enumerate(builds):
        g.output(f"y{i}", op.from_fixed(build(x), fraction=0))
    return g


def samples(shape: tuple[int, ...], frames: int = 3) -> dict[str, np.ndarray]:
    return {"x": np.random.default_rng(2).integers(-140, 140, (frames, *shape)).astype(np.float32)}


def assert_streams_equal(graph: Graph, shape: tuple[int, ...], **options: Any) -> Graph:
    stream, parts, x = to_stream(graph, **options), partition(graph), samples(shape)
    assert {stream.op(n).level for n in stream} <= {"stream", "structure"}
    found, wanted = parts.decode(evaluate(stream, parts.encode(x))), evaluate(graph, x)
    for name, values in wanted.items():
        np.testing.assert_array_equal(found[name], values)
    return stream


@pytest.mark.parametrize(("name", "build", "shape"), CASES, ids=[case[0] for case in CASES])
def test_one_op_alone_and_folded(name: str, build: Build, shape: tuple[int, ...]) -> None:
    assert_streams_equal(network(shape, [build], behind_a_layer=False), shape)
    folded = assert_streams_equal(network(shape, [build], behind_a_layer=True), shape, parallelism=2, stages=3)
    assert any(folded.result_type(n).folds > 1 for n in folded if n not in folded.outputs)


@pytest.mark.parametrize("shape", [(2, 4, 5), (4, 2, 7), (24,), (4, 2), (1, 2, 3, 4), (4, 1, 6)])
def test_what_spreads_over_no_whole_number_of_places_is_not_interleaved(shape: tuple[int, ...]) -> None:
    x = Graph("g").input("x", Stream(S8, (4, 2, 3)))
    assert interleaved(x, np.arange(np.prod(shape)).reshape(shape) % 24) is None
    x = Graph("g").input("x", Stream(S8, (24,)))
    assert interleaved(x, np.arange(np.prod(shape)).reshape(shape) % 24) is None


def test_constants_of_channels_need_no_source() -> None:
    for name in ("mul by constants", "add constants", "sub constants"):
        stream = to_stream(network((CHANNELS, 4, 5), [IMAGES[name]], behind_a_layer=False))
        assert "stream_constant" not in {stream.nodes[n]["type"] for n in stream}


@pytest.mark.ghdl
@pytest.mark.parametrize("which", [0, 1, 2, 3])
def test_all_of_them_equal_ghdl(which: int) -> None:
    shape = (CHANNELS, 7) if which == 3 else (CHANNELS, 4, 5)
    builds = list(LINES.values()) if which == 3 else list(IMAGES.values())[which::3]
    graph = network(shape, builds, behind_a_layer=True)
    stream = to_stream(graph, parallelism=(2, 4, "full", 2)[which], stages=(1, 2, 3, 1)[which])
    report = cosimulate(emit(stream, frames=2, seed=which))
    assert report.equal, str(report)


@pytest.mark.parametrize(
    ("build", "told"),
    [
        (lambda x: op.rescale(x, multiplier=3, shift=1, element=U4, saturate=False), "it wraps around, and components"),
        (lambda x: op.rescale(x, multiplier=(1 << 31) + 1, shift=31, element=S8), "a multiplier has more than 30 bits"),
        (
            lambda x: op.lookup(op.integer_mul(x, x), _table(x, np.arange(5000)), low=-9),
            "its table has entries for numbers of more than 12 bits",
        ),
        (
            lambda x: op.integer_mul(op.max_pool(x, kernel=(4, 5)), PLACES),
            "its constant gives it another shape",
        ),
        (lambda x: op.pad(x, pads=(0, 1, 0, 0, 0, 0, 0, 0)), "only a constant border around one or two axes"),
        (lambda x: op.slice(x, starts=(-1,), ends=(-5,), axes=(2,), steps=(-1,)), "it neither reshapes nor selects"),
    ],
)
def test_what_has_no_hardware_is_told(build: Build, told: str) -> None:
    wide = network(
        (CHANNELS, 4, 5), [lambda x: build(op.rescale(x, multiplier=1, shift=0, element=S8))], behind_a_layer=False
    )
    with pytest.raises(LoweringError, match=told):
        to_stream(wide)
