"""Windows and convolutions against loops over every index."""

from __future__ import annotations

import itertools
import tracemalloc
from unittest.mock import patch

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from graphrewrite import FixedPoint, Graph, Tensor, evaluate, op, rewrite
from graphrewrite.errors import TypeMismatchError
from graphrewrite.formats.text import to_text
from graphrewrite.op.nn import correlation
from graphrewrite.rules import FOLDING, RULES


@st.composite
def windows(draw):
    kernel = tuple(draw(st.lists(st.integers(1, 3), min_size=2, max_size=2)))
    strides = tuple(draw(st.lists(st.integers(1, 3), min_size=2, max_size=2)))
    pads = tuple(draw(st.lists(st.integers(0, 2), min_size=4, max_size=4)))
    dilations = tuple(draw(st.lists(st.integers(1, 2), min_size=2, max_size=2)))
    sizes = tuple(draw(st.lists(st.integers(1, 6), min_size=2, max_size=2)))
    return kernel, strides, pads, dilations, sizes


def positions(sizes, kernel, strides, pads, dilations):
    counts = []
    for axis in range(2):
        room = sizes[axis] + pads[axis] + pads[2 + axis] - dilations[axis] * (kernel[axis] - 1) - 1
        assume(room >= 0)
        counts.append(room // strides[axis] + 1)
    return counts


def at(x, n, c, i, j):
    inside = 0 <= i < x.shape[2] and 0 <= j < x.shape[3]
    return x[n, c, i, j] if inside else None


@given(
    windows(),
    st.sampled_from([(1, 1, 1), (2, 1, 3), (1, 2, 2), (2, 2, 4), (3, 3, 3)]),
    st.integers(0, 99),
    st.booleans(),
)
def test_convolution_is_the_sum_over_every_index(window, groups_and_channels, seed, bias):
    kernel, strides, pads, dilations, sizes = window
    groups, inner, outer = groups_and_channels[0], 2, groups_and_channels[2] * groups_and_channels[0]
    rng = np.random.default_rng(seed)
    height, width = positions(sizes, kernel, strides, pads, dilations)
    x = rng.integers(-4, 5, (2, inner * groups, *sizes)).astype(np.float32)
    w = rng.integers(-4, 5, (outer, inner, *kernel)).astype(np.float32)
    b = rng.integers(-4, 5, outer).astype(np.float32) if bias else None
    expected = np.zeros((2, outer, height, width), np.float32)
    for n, o, i, j in itertools.product(range(2), range(outer), range(height), range(width)):
        total = 0.0 if b is None else b[o]
        for c, u, v in itertools.product(range(inner), range(kernel[0]), range(kernel[1])):
            channel = o // (outer // groups) * inner + c
            row, column = i * strides[0] + u * dilations[0] - pads[0], j * strides[1] + v * dilations[1] - pads[1]
            total += w[o, c, u, v] * (at(x, n, channel, row, column) or 0)
        expected[n, o, i, j] = total
    attributes = {"strides": strides, "pads": pads, "dilations": dilations, "groups": groups}
    operands = (x, w) if b is None else (x, w, b)
    found = op.conv(*operands, **attributes)
    np.testing.assert_array_equal(found, expected)
    with patch.multiple(correlation, _CACHE=1 << 8, _PADDED=1 << 8):  # pieces of a few rows
        shapes = x.shape[1:], w.shape, (height, width), strides, pads, dilations, groups, x.itemsize
        np.testing.assert_array_equal(correlation.correlate(x, w, b, correlation.Correlation.of(*shapes)), expected)
    inferred = op.conv.infer(*(Tensor("f32", a.shape) for a in operands), **attributes)[0]
    assert inferred.shape == found.shape
    element = FixedPoint(True, 24)
    whole = op.integer_conv(
        x.astype(np.int8),
        w.astype(np.int64),
        (np.zeros(outer) if b is None else b).astype(np.int64),
        element=element,
        **attributes,
    )
    np.testing.assert_array_equal(whole, expected)
    assert whole.dtype == element.dtype


@given(windows(), st.integers(0, 99))
def test_pooling_is_over_every_index(window, seed):
    kernel, strides, _, _, sizes = window
    pads = tuple(min(p, k - 1) for p, k in zip(window[2], kernel * 2, strict=True))
    height, width = positions(sizes, kernel, strides, pads, (1, 1))
    x = np.random.default_rng(seed).integers(-9, 10, (1, 2, *sizes)).astype(np.float32)
    shape = (1, 2, height, width)
    greatest, mean, padded = np.zeros(shape), np.zeros(shape), np.zeros(shape)
    for c, i, j in itertools.product(range(2), range(height), range(width)):
        taps = [
            at(x, 0, c, i * strides[0] + u - pads[0], j * strides[1] + v - pads[1])
            for u in range(kernel[0])
            for v in range(kernel[1])
        ]
        inside = [t for t in taps if t is not None]
        assume(inside)
        greatest[0, c, i, j], mean[0, c, i, j], padded[0, c, i, j] = (
            max(inside),
            np.mean(inside),
            sum(inside) / len(taps),
        )
    window_ = {"kernel": kernel, "strides": strides, "pads": pads}
    np.testing.assert_array_equal(op.max_pool(x, **window_), greatest)
    np.testing.assert_array_equal(op.max_pool(x.astype(np.int8), **window_), greatest)
    np.testing.assert_allclose(op.average_pool(x, **window_), mean, rtol=1e-6)
    np.testing.assert_allclose(op.average_pool(x, count_include_pad=True, **window_), padded, rtol=1e-6)
    assert op.max_pool.infer(Tensor("f32", x.shape), **window_)[0].shape == shape


def test_a_convolution_over_one_axis():
    x = np.arange(5.0).reshape(1, 1, 5)
    found = op.conv(x, np.array([[[1.0, -1.0]]]), strides=(2,), pads=(1, 0), dilations=(1,))
    assert found.tolist() == [[[0.0, -1.0, -1.0]]]


@pytest.mark.parametrize(
    ("x", "w", "attributes", "message"),
    [
        ((1, 3, 4, 4), (2, 2, 2, 2), {}, "3 channels in 1 groups need weights"),
        ((1, 2, 4, 4), (2, 2, 5, 5), {}, "does not fit the padded size 4"),
        ((1, 2, 4, 4), (2, 2, 2, 2), {"strides": (2,)}, "2 spatial axes need"),
        ((1, 2, 4, 4), (2, 2, 2), {}, "same rank"),
        ((1, 2, 4, 4), (3, 1, 2, 2), {"groups": 2}, "2 channels in 2 groups"),
        ((1, 2, 4, 4), (2, 2, 2, 2), {"strides": (0, 1)}, "stride 0"),
    ],
)
def test_what_does_not_fit_is_refused(x, w, attributes, message):
    with pytest.raises(TypeMismatchError, match=message):
        op.conv.infer(Tensor("f32", x), Tensor("f32", w), **attributes)


@pytest.mark.parametrize("rank", [1, 2, 3])
def test_the_defaults_are_those_of_any_number_of_axes(rank):
    rng = np.random.default_rng(rank)
    x, w = rng.normal(size=(2, 3, *[5] * rank)), rng.normal(size=(4, 3, *[2] * rank))
    plain = {"strides": (1,) * rank, "pads": (0,) * 2 * rank, "dilations": (1,) * rank}
    np.testing.assert_array_equal(op.conv(x, w), op.conv(x, w, **plain))
    pooled = {"kernel": (2,) * rank}
    for pool in (op.max_pool, op.average_pool):
        without = {k: v for k, v in plain.items() if k != "dilations"}
        np.testing.assert_array_equal(pool(x, **pooled), pool(x, **pooled, **without))
    graph = Graph("g")
    value = graph.input("x", Tensor("f64", ("N", 3, *[5] * rank)))
    border = (0, 0, *[1] * rank) * 2
    graph.output("y", op.average_pool(op.max_pool(op.conv(op.pad(value, pads=border), w), **pooled), **pooled))
    expected = evaluate(graph, {"x": x})["y"]
    made = rewrite(graph, (*FOLDING, *RULES), verify=True)
    np.testing.assert_allclose(evaluate(made, {"x": x})["y"], expected)
    assert Graph.parse(to_text(made, whole=True)) == made
    with pytest.raises(TypeMismatchError, match="need"):
        op.conv(x, w, strides=(2,) * (rank + 1))


@pytest.mark.parametrize("rank", [1, 3])
def test_integer_convolutions_have_them_too(rank):
    byte = FixedPoint(True, 8)
    graph = Graph("g")
    value = graph.input("x", Tensor(byte, ("N", 2, *[4] * rank)))
    weights = np.ones((3, 2, *[2] * rank), np.int8)
    sums = op.integer_conv(value, weights, np.zeros(3, np.int64), element=FixedPoint(True, 20))
    graph.output("y", op.max_pool(sums, kernel=(2,) * rank))
    x = np.random.default_rng(0).integers(-9, 9, (40, 2, *[4] * rank))
    found = evaluate(graph, {"x": x})["y"]
    np.testing.assert_array_equal(found, np.concatenate([evaluate(graph, {"x": x[i : i + 1]})["y"] for i in range(40)]))


@pytest.mark.parametrize(
    ("name", "weights", "attributes"),
    [
        ("conv", [np.ones((24, 1, 3, 3), np.float32)], {"pads": (1, 1, 1, 1), "groups": 24}),
        ("max_pool", [], {"kernel": (3, 3), "strides": (2, 2), "pads": (1, 1, 1, 1)}),
        ("average_pool", [], {"kernel": (3, 3), "strides": (2, 2), "pads": (1, 1, 1, 1)}),
        ("lrn", [], {"size": 5}),
    ],
)
def test_layers_of_large_images_take_little_memory_on_the_way(name, weights, attributes):
    x = np.random.default_rng(0).normal(size=(2, 24, 160, 160)).astype(np.float32)
    function = getattr(op, name)
    wanted = function(x, *weights, **attributes)
    tracemalloc.start()
    found = function(x, *weights, **attributes)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    np.testing.assert_array_equal(found, wanted)
    assert peak - found.nbytes < 0.6 * x.nbytes
    if name.endswith("pool"):
        np.testing.assert_array_equal(function(x[1:, 20:21], **attributes), found[1:, 20:21])
    elif name == "lrn":
        np.testing.assert_array_equal(function(x[1:, :, 40:41], **attributes), found[1:, :, 40:41])
