"""Pooling and transposed convolution: against the cases of ONNX, its reference, and plain loops."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import onnx
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from onnx.reference import ReferenceEvaluator

from graphrewrite import FixedPoint, Graph, Tensor, evaluate, op, verify
from graphrewrite.errors import TypeMismatchError
from graphrewrite.op.nn.convolution import spatial_sizes
from graphrewrite.op.nn.pooling import has_window_in_border
from graphrewrite.op.nn.transposed_convolution import transposed_pads, transposed_sizes
from tests.support.node_cases import Case, assert_case, cases_of

POOLS = {
    "MaxPool": "max_pool",
    "AveragePool": "average_pool",
    "LpPool": "lp_pool",
    "GlobalMaxPool": "global_max_pool",
    "GlobalAveragePool": "global_average_pool",
    "LRN": "lrn",
    "Conv": "conv",
    "ConvTranspose": "conv_transpose",
}
OURS = {"kernel_shape": "kernel", "group": "groups"}


def attributes_of(kind: str, case: Case) -> dict[str, Any]:
    """Ours of a case: border resolved, and one number for each axis."""
    given_ = {OURS.get(k, k): tuple(v) if isinstance(v, list) else v for k, v in case.attributes.items()}
    sizes = case.operands[0].shape[2:]
    rank, mode = len(sizes), given_.pop("auto_pad", b"NOTSET").decode()
    if kind in ("Conv", "ConvTranspose"):
        given_.pop("kernel", None)
    kernel = given_.get("kernel", case.operands[-1].shape[2:])
    strides, dilations = given_.get("strides", (1,) * rank), given_.get("dilations", (1,) * rank)
    wanted = given_.pop("output_shape", None)
    if kind == "ConvTranspose" and (wanted or mode.startswith("SAME")):
        wanted = wanted or [n * s for n, s in zip(sizes, strides, strict=True)]
        more = given_.get("output_padding", (0,) * rank)
        given_["pads"] = transposed_pads(
            sizes, kernel, wanted, strides=strides, dilations=dilations, output_padding=more, upper=mode == "SAME_UPPER"
        )
    elif mode.startswith("SAME"):
        totals = [
            max((-(-n // s) - 1) * s + d * (k - 1) + 1 - n, 0)
            for n, k, s, d in zip(sizes, kernel, strides, dilations, strict=True)
        ]
        less, more = [t // 2 for t in totals], [t - t // 2 for t in totals]
        given_["pads"] = (*less, *more) if mode == "SAME_UPPER" else (*more, *less)
    for flag in ("ceil_mode", "count_include_pad"):
        if flag in given_:
            given_[flag] = bool(given_[flag])
    return given_


@pytest.mark.parametrize("kind", POOLS)
def test_every_case_of_onnx(kind):
    for case in cases_of(kind):
        attributes = attributes_of(kind, case)
        tested = getattr(op, POOLS[kind])
        if len(case.results) == 2:
            tested = op.max_pool_with_indices
        elif "storage_order" in attributes:
            attributes.pop("storage_order")
        operands = [x for x in case.operands if x is not None]
        assert_case(tested(*operands, **attributes), case)
        inferred = tested.infer(
            *(Tensor(e, x.shape) for e, x in zip(case.elements, operands, strict=False)), **attributes
        )
        assert [t.shape for t in inferred] == [r.shape for r in case.results]


@st.composite
def windows(draw: st.DrawFn, rank: int) -> tuple[tuple[int, ...], dict[str, Any]]:
    """Sizes, and a pooling that fits them."""
    sizes = draw(st.tuples(*[st.integers(1, 8 - 2 * rank)] * rank))
    each = lambda low, high: draw(st.tuples(*[st.integers(low, high)] * rank))  # noqa: E731
    attributes = {
        "kernel": each(1, 3),
        "strides": each(1, 3),
        "dilations": each(1, 2),
        "pads": (*each(0, 2), *each(0, 2)),
        "ceil_mode": draw(st.booleans()),
    }
    try:
        sized = {k: v for k, v in attributes.items() if k != "ceil_mode"}
        spatial_sizes(sizes, **sized, ceil_mode=attributes["ceil_mode"])
    except TypeMismatchError:
        assume(False)
    return sizes, attributes


def by_hand(x: np.ndarray, a: dict[str, Any]) -> list[list[tuple[np.ndarray, np.ndarray, int]]]:
    """For each window: its numbers, their places, and how many lie within the border."""
    rank, found = x.ndim - 2, []
    for where in itertools.product(*map(range, x.shape[:2])):
        rows = []
        counts = []
        for i, n in enumerate(x.shape[2:]):
            span, room = a["dilations"][i] * (a["kernel"][i] - 1) + 1, n + a["pads"][i] + a["pads"][rank + i]
            steps = (room - span) / a["strides"][i]
            count = int(np.ceil(steps) if a["ceil_mode"] else np.floor(steps)) + 1
            if a["ceil_mode"] and (count - 1) * a["strides"][i] >= n + a["pads"][i]:
                count -= 1
            counts.append(count)
        for at in itertools.product(*map(range, counts)):
            numbers, places, within = [], [], 0
            for tap in itertools.product(*map(range, a["kernel"])):
                place = [
                    q * s + t * d - p
                    for q, s, t, d, p in zip(at, a["strides"], tap, a["dilations"], a["pads"][:rank], strict=True)
                ]
                if all(0 <= q < n for q, n in zip(place, x.shape[2:], strict=True)):
                    numbers.append(x[(*where, *place)])
                    places.append(np.ravel_multi_index((*where, *place), x.shape))
                within += all(
                    -p <= q < n + e
                    for q, n, p, e in zip(place, x.shape[2:], a["pads"][:rank], a["pads"][rank:], strict=True)
                )
            rows.append((np.array(numbers), np.array(places), within))
        found.append((rows, counts))
    return found


@pytest.mark.parametrize("rank", [1, 2, 3])
@given(st.data())
def test_pooling_is_what_windows_say(rank, data):
    sizes, a = data.draw(windows(rank))
    x = np.random.default_rng(data.draw(st.integers(0, 99))).integers(-9, 9, (1, 2, *sizes)).astype(np.float32)
    found = by_hand(x, a)
    counts = found[0][1]
    cells = [cell for rows, _ in found for cell in rows]
    shape = (1, 2, *counts)
    border = has_window_in_border(sizes, a["kernel"], a["strides"], a["pads"], a["dilations"], a["ceil_mode"])
    assert border == any(not numbers.size for numbers, _, _ in cells)
    greatest = np.reshape([n.max() if n.size else -np.inf for n, _, _ in cells], shape)
    np.testing.assert_array_equal(op.max_pool(x, **a), greatest)
    with np.errstate(invalid="ignore"):
        means = [np.float64(n.sum()) / n.size if n.size else np.nan for n, _, _ in cells]
        within = [np.float64(n.sum()) / w if w else np.nan for n, _, w in cells]
    np.testing.assert_allclose(op.average_pool(x, **a), np.reshape(means, shape), rtol=1e-6)
    np.testing.assert_allclose(op.average_pool(x, count_include_pad=True, **a), np.reshape(within, shape), rtol=1e-6)
    for p in (1, 2, 3):
        norms = [(np.abs(n) ** p).sum() ** (1 / p) if n.size else 0.0 for n, _, _ in cells]
        np.testing.assert_allclose(op.lp_pool(x, p=p, **a), np.reshape(norms, shape), rtol=1e-5)
    kind = Tensor("f32", x.shape)
    assert op.max_pool.infer(kind, **a)[0].shape == shape
    if border:
        with pytest.raises(TypeMismatchError, match="entirely in the border"):
            op.max_pool_with_indices.infer(kind, **a)
        return
    y, places = op.max_pool_with_indices(x, **a)
    np.testing.assert_array_equal(y, greatest)
    first = [p[n == n.max()].min() for n, p, _ in cells]
    np.testing.assert_array_equal(places, np.reshape(first, shape))
    columns = op.max_pool_with_indices(x, **a, storage_order=1)[1]
    outer, inner = np.divmod(places, np.prod(sizes))
    turned = np.ravel_multi_index(np.unravel_index(inner, sizes), sizes, order="F")
    np.testing.assert_array_equal(columns, outer * np.prod(sizes) + turned)


def test_indices_where_nothing_is_greater_than_the_border():
    x = np.full((1, 1, 2, 2), -np.inf, np.float32)
    y, places = op.max_pool_with_indices(x, kernel=(2, 2), pads=(1, 1, 0, 0))
    assert np.isneginf(y).all()
    assert places.tolist() == [[[[0, 0], [0, 0]]]]
    with_nan = op.max_pool_with_indices(np.array([[[1.0, np.nan, 3.0, np.nan]]]), kernel=(4,))
    assert np.isnan(with_nan[0]).all()
    assert with_nan[1].tolist() == [[[1]]]


@pytest.mark.parametrize("name", ["max_pool", "average_pool", "lp_pool"])
def test_axes_may_come_in_another_order(name):
    x = np.random.default_rng(0).normal(size=(2, 5, 6, 3)).astype(np.float32)
    g = Graph("g")
    tested = getattr(op, name)
    attributes = {"kernel": (2, 3), "strides": (2, 2), "dilations": (2, 1), "ceil_mode": True}
    g.output("y", tested(g.input("x", Tensor("f32", ("N", 5, 6, 3), "NHWC")), **attributes))
    verify(g)
    found = evaluate(g, {"x": x})["y"]
    wanted = tested(x.transpose(0, 3, 1, 2), **attributes).transpose(0, 2, 3, 1)
    np.testing.assert_array_equal(found, wanted)


def test_global_pools_and_their_refusals():
    x = np.array([[[[1.0, -7.0]], [[3.0, 4.0]]]], np.float32)
    assert op.global_max_pool(x).tolist() == [[[[1.0]], [[4.0]]]]
    assert op.global_lp_pool(x, p=1).tolist() == [[[[8.0]], [[7.0]]]]
    assert op.global_lp_pool(x)[0, 1, 0, 0] == 5.0
    with pytest.raises(TypeMismatchError, match="no positions"):
        op.global_max_pool.infer(Tensor("f32", ("N", 2, 0)))
    with pytest.raises(TypeMismatchError, match="at least 1, got p=0"):
        op.lp_pool.infer(Tensor("f32", ("N", 2, 3)), kernel=(1,), p=0)
    with pytest.raises(TypeMismatchError, match="no number for"):
        op.max_pool.infer(Tensor(FixedPoint(True, 8), ("N", 2, 2)), kernel=(2,), dilations=(3,), pads=(2, 2))


@given(st.integers(1, 5), st.integers(1, 6), st.integers(0, 99))
def test_lrn_is_its_formula(size, channels, seed):
    x = np.random.default_rng(seed).normal(size=(2, channels, 3))
    alpha, beta, bias = 0.3, 0.6, 1.5
    wanted = np.empty_like(x)
    for c in range(channels):
        around = x[:, max(0, c - (size - 1) // 2) : c + size // 2 + 1]
        wanted[:, c] = x[:, c] / (bias + alpha / size * (around**2).sum(axis=1)) ** beta
    np.testing.assert_allclose(op.lrn(x, size=size, alpha=alpha, beta=beta, bias=bias), wanted)
    assert op.lrn.infer(Tensor("f16", ("N", 3), "NC"), size=2) == (Tensor("f16", ("N", 3), "NC"),)
    with pytest.raises(TypeMismatchError, match="at least 1"):
        op.lrn.infer(Tensor("f16", ("N", 3)), size=0)


@st.composite
def transposed(draw: st.DrawFn) -> dict[str, Any]:
    rank = draw(st.integers(1, 3))
    each = lambda low, high: draw(st.tuples(*[st.integers(low, high)] * rank))  # noqa: E731
    strides, dilations = each(1, 3), each(1, 2)
    more = tuple(draw(st.integers(0, max(s, d) - 1)) for s, d in zip(strides, dilations, strict=True))
    return {
        "sizes": each(1, 4),
        "kernel": each(1, 3),
        "strides": strides,
        "dilations": dilations,
        "output_padding": more,
        "pads": (*each(0, 2), *each(0, 2)),
    }


@given(transposed(), st.integers(1, 2), st.integers(1, 2), st.integers(1, 2), st.integers(0, 99))
def test_a_transposed_convolution_is_the_transpose_of_a_convolution(a, groups, inner, outer, seed):
    sizes, kernel = a.pop("sizes"), a.pop("kernel")
    try:
        whole = transposed_sizes(sizes, kernel, **a)
    except TypeMismatchError:
        assume(False)
    rng = np.random.default_rng(seed)
    x = rng.integers(-5, 6, (2, groups * inner, *sizes)).astype(np.float64)
    w = rng.integers(-5, 6, (groups * inner, outer, *kernel)).astype(np.float64)
    b = rng.integers(-5, 6, groups * outer).astype(np.float64)
    y = op.conv_transpose(x, w, groups=groups, **a)
    assert y.shape == (2, groups * outer, *whole)
    np.testing.assert_array_equal(op.conv_transpose(x, w, b, groups=groups, **a), y + b.reshape(-1, *[1] * len(sizes)))
    # <conv(v), x> = <v, conv_transpose(x)> for every v, where the convolution's sizes are x's.
    v = rng.integers(-5, 6, y.shape).astype(np.float64)
    attributes = {k: a[k] for k in ("strides", "pads", "dilations")}
    forward = op.conv(v, w, groups=groups, **attributes)
    cut = forward[(slice(None), slice(None), *map(slice, sizes))]
    assert cut.shape == x.shape
    assert (cut * x).sum() == (v * y).sum()
    kind = Tensor("f64", x.shape), Tensor("f64", w.shape)
    assert op.conv_transpose.infer(*kind, groups=groups, **a)[0].shape == y.shape


@given(transposed(), st.data())
def test_pads_give_the_wanted_sizes(a, data):
    sizes, kernel = a.pop("sizes"), a.pop("kernel")
    a.pop("pads")
    wanted = tuple(data.draw(st.integers(1, 12)) for _ in sizes)
    pads = transposed_pads(sizes, kernel, wanted, upper=data.draw(st.booleans()), **a)
    assert transposed_sizes(sizes, kernel, pads=pads, **a) == wanted
    x, w = np.ones((1, 1, *sizes)), np.ones((1, 1, *kernel))
    assert op.conv_transpose(x, w, pads=pads, **a).shape[2:] == wanted


def test_transposed_convolutions_that_do_not_fit_are_refused():
    x, w = Tensor("f32", ("N", 4, 5)), Tensor("f32", (4, 2, 3))
    for message, attributes, weights in (
        ("need weights", {}, Tensor("f32", (3, 2, 3))),
        ("need weights", {"groups": 3}, w),
        ("is not positive; give at least 1", {"groups": 0}, w),
        ("leave nothing", {"pads": (4, 4)}, w),
        ("must be positive", {"strides": (0,)}, w),
        ("need 1 kernel sizes", {"output_padding": (1, 1)}, w),
        ("same rank", {}, Tensor("f32", (4, 2))),
        ("different element types", {}, Tensor("f64", (4, 2, 3))),
    ):
        with pytest.raises(TypeMismatchError, match=message):
            op.conv_transpose.infer(x, weights, **attributes)
    with pytest.raises(TypeMismatchError, match="the bias has shape"):
        op.conv_transpose.infer(x, w, Tensor("f32", (3,)))


def test_a_transposed_convolution_in_another_layout():
    rng = np.random.default_rng(0)
    x, w = rng.normal(size=(2, 5, 3)).astype(np.float32), rng.normal(size=(3, 2, 4)).astype(np.float32)
    g = Graph("g")
    g.output("y", op.conv_transpose(g.input("x", Tensor("f32", ("N", 5, 3), "NWC")), w, strides=(2,), pads=(0, 0)))
    verify(g)
    wanted = op.conv_transpose(x.transpose(0, 2, 1), w, strides=(2,), pads=(0, 0)).transpose(0, 2, 1)
    np.testing.assert_array_equal(evaluate(g, {"x": x})["y"], wanted)


def test_a_depthwise_convolution_is_one_with_as_many_groups_as_channels():
    rng = np.random.default_rng(0)
    x, w, b = rng.normal(size=(2, 3, 4, 4)), rng.normal(size=(6, 1, 2, 2)), rng.normal(size=6)
    np.testing.assert_array_equal(op.depthwise_conv(x, w, b), op.conv(x, w, b, groups=3))
    g = Graph("g")
    y = op.depthwise_conv(g.input("x", Tensor("f64", ("N", 4, 4, 3), "NHWC")), w, pads=(1, 1, 1, 1))
    assert y.type == Tensor("f64", ("N", 5, 5, 6), "NHWC")


@pytest.mark.parametrize("rank", [1, 2, 3])
@given(st.data())
def test_convolution_is_that_of_onnx(rank, data):
    sizes, a = data.draw(windows(rank))
    a.pop("ceil_mode")
    rng = np.random.default_rng(0)
    kernel = a.pop("kernel")
    x, w = rng.normal(size=(2, 4, *sizes)), rng.normal(size=(6, 2, *kernel))
    node = onnx.helper.make_node("Conv", ["x", "w"], ["y"], group=2, **a)
    wanted = ReferenceEvaluator(node).run(None, {"x": x, "w": w})[0]
    np.testing.assert_allclose(op.conv(x, w, groups=2, **a), wanted, rtol=1e-9, atol=1e-9)
