"""Means over windows that count more here and less there: of floats, of models that bring scales, in hardware."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from graphrewrite import Graph, Tensor, evaluate, op, rewrite, verify
from graphrewrite.graph import Value
from graphrewrite.hdl import cosimulate, emit
from graphrewrite.lowering import LoweringError, partition, quantise, to_integer, to_stream
from graphrewrite.lowering.preparation.pooling_windows import windows_of
from graphrewrite.lowering.preparation.position_means import BY_WINDOWS
from graphrewrite.lowering.quantisation.window_sums import mean_of

SAMPLES = 20


@st.composite
def pools(draw: st.DrawFn) -> tuple[tuple[int, ...], dict[str, Any]]:
    """The sizes of an image or a line, and windows that fit."""
    rank = draw(st.integers(1, 2))
    sizes = tuple(draw(st.integers(1, 6)) for _ in range(rank))
    kernel = tuple(draw(st.integers(1, 4)) for _ in sizes)
    dilations = tuple(draw(st.integers(1, 2)) for _ in sizes)
    pads = tuple(draw(st.integers(0, k - 1)) for k in kernel * 2)
    spare = (n + a + b - d * (k - 1) for n, a, b, d, k in zip(
        sizes, pads[:rank], pads[rank:], dilations, kernel, strict=True
    ))  # fmt: skip
    assume(min(spare) > 0)
    pool = {"kernel": kernel, "dilations": dilations, "pads": pads}
    pool |= {"strides": tuple(draw(st.integers(1, 3)) for _ in sizes)}
    pool |= {name: draw(st.booleans()) for name in ("ceil_mode", "count_include_pad")}
    return (draw(st.integers(1, 3)), *sizes), pool


def nowhere_nothing(shape: tuple[int, ...], pool: dict[str, Any]) -> bool:
    """Whether no window lies wholly in the border, where the mean of floats is no number."""
    with np.errstate(invalid="ignore"):
        return bool(np.isfinite(op.average_pool(np.ones((1, *shape)), **pool)).all())


@given(pools(), st.integers(0, 2**32))
def test_a_mean_is_a_sum_divided_place_by_place(drawn: tuple[tuple[int, ...], dict[str, Any]], seed: int) -> None:
    shape, pool = drawn
    g = Graph("mean")
    made = op.average_pool(g.input("x", Tensor("f64", ("N", *shape))), **pool)
    g.output("y", made)
    found = rewrite(g, BY_WINDOWS)
    if not nowhere_nothing(shape, pool):
        assert found == g
        return
    x = {"x": np.random.default_rng(seed).normal(size=(SAMPLES, *shape))}
    np.testing.assert_allclose(evaluate(found, x)["y"], evaluate(g, x)["y"], rtol=0, atol=1e-12)
    even = [found.attributes(n) for n in found if found.nodes[n]["type"] == "average_pool"]
    assert all(a["count_include_pad"] and not a["ceil_mode"] for a in even if pool["ceil_mode"] or any(a["pads"]))


@given(
    st.tuples(*[st.integers(1, 5)] * 3),
    st.sampled_from([(2, 2), (3, 3), (4, 4), (0.5, 0.5), (1, 0.25)]),
    st.sampled_from(["half_pixel", "pytorch_half_pixel", "asymmetric", "align_corners"]),
    st.sampled_from(["linear", "cubic"]),
)
def test_interpolated_numbers_are_sums_over_windows(
    shape: tuple[int, ...], scales: tuple[float, float], coordinates: str, mode: str
) -> None:
    g = Graph("interpolated")
    how = {"mode": mode, "coordinate_transformation_mode": coordinates}
    g.output("y", op.resize(g.input("x", Tensor("f64", ("N", *shape))), scales=(1, 1, *scales), **how))
    found = rewrite(g, BY_WINDOWS)
    x = {"x": np.random.default_rng(0).normal(size=(SAMPLES, *shape))}
    np.testing.assert_allclose(evaluate(found, x)["y"], evaluate(g, x)["y"], rtol=0, atol=1e-12)
    whole = all(size * scale % 1 == 0 and size * scale > 0 for size, scale in zip(shape[1:], scales, strict=True))
    assert found != g or mode == "cubic" or coordinates == "align_corners" or not whole


@given(pools(), st.integers(4, 12))
def test_each_factor_is_as_near_as_weights_are(drawn: tuple[tuple[int, ...], dict[str, Any]], bits: int) -> None:
    shape, pool = drawn
    assume(nowhere_nothing(shape, pool))
    g = Graph("mean")
    x = g.input("x", Tensor("f64", ("N", *shape)))
    g.output("y", op.average_pool(x, **pool))
    node = g.node("average_pool_1")
    counts = windows_of(node, ("N", *shape)).counts
    fixed = quantise(g, np.random.default_rng(0).normal(size=(SAMPLES, *shape)), bits=bits)
    for product in (n for n in fixed if fixed.nodes[n]["type"] == "mul"):  # not where all windows count the same
        (factors,) = (v for o in fixed.operands(product) if (v := fixed.nodes[o.node].get("value")) is not None)
        assert np.abs(np.broadcast_to(factors, (1, 1, *counts.shape))[0, 0] * counts - 1).max() <= 2.0**-bits


def stored(shape: tuple[int, ...], pool: dict[str, Any], *, scales: tuple[float, float]) -> Graph:
    """A mean of stored numbers whose scales are powers of two, so that sums of floats are exact."""
    g = Graph("stored")

    def number(value: Value, scale: float, zero: np.ndarray) -> Value:
        step = np.float32(scale)
        return op.dequantize_linear(op.quantize_linear(value, step, zero), step, zero)

    x = number(g.input("x", Tensor("f32", ("N", *shape))), scales[0], np.asarray(-7, np.int8))
    g.output("y", number(op.average_pool(x, **pool), scales[1], np.asarray(99, np.uint8)))
    return g


@given(pools(), st.sampled_from([2.0**-5, 2.0**-4, 2.0**-3]), st.sampled_from(["full", "folded", 2]))
def test_means_of_stored_numbers_are_exact_down_to_streams(
    drawn: tuple[tuple[int, ...], dict[str, Any]], scale: float, parallelism: str | int
) -> None:
    shape, pool = drawn
    assume(nowhere_nothing(shape, pool))
    graph = stored(shape, pool, scales=(2.0**-5, scale))
    integer = to_integer(graph)
    verify(integer)
    stream, parts = to_stream(integer, parallelism=parallelism), partition(integer)
    x = {"x": np.random.default_rng(0).normal(scale=3, size=(SAMPLES, *shape)).astype(np.float32)}
    wanted = evaluate(graph, x)["y"]
    np.testing.assert_array_equal(evaluate(integer, x)["y"], wanted)
    np.testing.assert_array_equal(parts.decode(evaluate(stream, parts.encode(x)))["y"], wanted)


@pytest.mark.ghdl
@pytest.mark.parametrize("parallelism", ["full", "folded"])
def test_they_equal_ghdl(parallelism: str) -> None:
    pool = {"kernel": (3, 3), "strides": (2, 1), "pads": (1, 1, 1, 1), "dilations": (1, 1), "ceil_mode": True}
    stream = to_stream(to_integer(stored((2, 4, 5), pool, scales=(0.125, 0.125))), parallelism=parallelism)
    assert {"stream_sum", "stream_constant", "multiply"} <= {stream.nodes[n]["type"] for n in stream}
    report = cosimulate(emit(stream, frames=3, seed=2))
    assert report.equal, str(report)


def test_scales_of_channels_are_those_of_means() -> None:
    g, zero, bits = Graph("channels"), np.float32(0), np.float32(6)
    steps = np.float32([0.25, 0.0625, 0.5]).reshape(1, 3, 1)
    x = op.quant(g.input("x", Tensor("f32", ("N", 3, 4))), steps, zero, bits)
    mean = op.average_pool(x, kernel=(3,), strides=(1,), pads=(1, 1), dilations=(1,))
    g.output("y", op.quant(mean, np.float32(0.125), zero, bits))
    numbers = {"x": np.random.default_rng(3).normal(scale=4, size=(SAMPLES, 3, 4)).astype(np.float32)}
    np.testing.assert_array_equal(evaluate(to_integer(g), numbers)["y"], evaluate(g, numbers)["y"])


def test_numbers_without_a_narrow_denominator() -> None:
    pool = {"kernel": (25, 25), "strides": (1, 1), "pads": (12,) * 4, "dilations": (1, 1)}
    with pytest.raises(LoweringError, match=r"least common multiple is \d+: .* needs more than 47"):
        to_integer(stored((1, 25, 25), pool, scales=(0.125, 0.125)))


def test_a_window_in_the_border() -> None:
    pool = {"kernel": (2,), "strides": (1,), "pads": (2, 0), "dilations": (1,)}
    with pytest.raises(LoweringError, match="a window lies wholly in the border, where nothing counts"):
        to_integer(stored((1, 4), pool, scales=(0.125, 0.125)))


def test_symbolic_positions_are_not_counted() -> None:
    g = Graph("open")
    pool = g.node(op.average_pool(g.input("x", Tensor("f32", ("N", 2, 4, 4))), kernel=(2, 2)).node)
    assert isinstance(windows_of(pool, ("N", 2, "H", 4)), str)
    assert "symbolic" in str(windows_of(pool, ("N", "C", 4, 4)))


@pytest.mark.parametrize("total", [op.reduce_mean, op.reduce_sum])
def test_a_layer_of_equal_weights_multiplies_at_most_once(total: Any) -> None:
    """Weights that are fitted to the samples one by one would be a multiplier each."""
    g, x = Graph("total"), np.random.default_rng(0).normal(size=(40, 2, 3, 5)).astype(np.float32)
    made = op.relu(total(g.input("x", Tensor("f32", ("N", 2, 3, 5))), axes=(2, 3), keep_dims=False))
    g.output("y", op.linear(made, np.ones((1, 2), np.float32)))
    whole = to_integer(quantise(g, x))
    layer = next(n for n in whole.in_order() if whole.nodes[n]["type"] == "integer_conv")
    assert (whole.nodes[whole.operands(layer)[1].node]["value"] == 1).all()
    wanted = evaluate(g, {"x": x})["y"]
    assert np.abs(evaluate(whole, {"x": x})["y"] - wanted).max() < 0.05 * np.abs(wanted).max()


@pytest.mark.parametrize(
    ("weight", "bias", "behind", "is_found"),
    [
        (1.0, 0.0, "mul", True),
        (0.375, 0.0, "mul", True),
        (1 / 3, 0.0, "mul", False),
        (1.0, 0.5, "mul", False),
        (1.0, 0.0, "add", False),
        (1.0, 0.0, "both", False),
        (1.0, 0.0, "square", False),
    ],
)
def test_the_product_behind_sums_is_that_of_a_mean(weight: float, bias: float, behind: str, is_found: bool) -> None:
    g = Graph("g")
    x = g.input("x", Tensor("f32", ("N", 2, 6, 6)))
    shape = {"strides": (2, 2), "pads": (0,) * 4, "dilations": (1, 1), "groups": 2}
    kernel = np.full((2, 1, 2, 2), weight, np.float32)
    sums = op.conv(x, kernel, np.full(2, bias, np.float32), **shape)
    other = sums if behind == "square" else np.float32(0.25)
    found = (op.add if behind == "add" else op.mul)(sums, other)
    g.output("y", found)
    if behind == "both":
        g.output("z", op.relu(sums))
    assert mean_of(g, sums.node) == (found.node if is_found else None)
    assert mean_of(g, found.node) is None
