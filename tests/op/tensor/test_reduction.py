"""Reductions, places, shares and running sums: ONNX's cases, and plain loops over the entries."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from graphrewrite import FixedPoint, Graph, Tensor, evaluate, op
from graphrewrite.errors import TypeMismatchError
from graphrewrite.types import Quantised, element_kind
from tests.support.node_cases import Case, assert_case, cases_of

REDUCTIONS = {
    "ReduceSum": op.reduce_sum,
    "ReduceMean": op.reduce_mean,
    "ReduceProd": op.reduce_prod,
    "ReduceMax": op.reduce_max,
    "ReduceMin": op.reduce_min,
    "ReduceL1": op.reduce_l1,
    "ReduceL2": op.reduce_l2,
    "ReduceSumSquare": op.reduce_sum_square,
    "ReduceLogSum": op.reduce_log_sum,
    "ReduceLogSumExp": op.reduce_log_sum_exp,
}
ALONG = {
    "ArgMax": op.arg_max,
    "ArgMin": op.arg_min,
    "TopK": op.top_k,
    "Softmax": op.softmax,
    "LogSoftmax": op.log_softmax,
    "Hardmax": op.hardmax,
    "CumSum": op.cum_sum,
    "CumProd": op.cum_prod,
}
FLAGS = {"keepdims": "keep_dims"}


def attributes_of(kind: str, case: Case) -> dict[str, Any]:
    """Ours of a case."""
    found = {FLAGS.get(k, k): v for k, v in case.attributes.items()}
    if kind in REDUCTIONS:
        none = found.pop("noop_with_empty_axes", 0)
        axes = tuple(case.operands[1].tolist()) if len(case.operands) > 1 else ()
        return {**found, "axes": axes if axes or none else None}
    if kind == "TopK":
        return {**found, "k": int(case.operands[1][0])}
    if kind in ("CumSum", "CumProd"):
        return {**found, "axis": int(case.operands[1])}
    return {"axis": 0, **found} if kind in ("ArgMax", "ArgMin") else found


@pytest.mark.parametrize(("kind", "tested"), {**REDUCTIONS, **ALONG}.items())
def test_onnx_s_cases(kind, tested):
    for case in cases_of(kind):
        attributes, x = attributes_of(kind, case), case.operands[0]
        assert_case(tested(x, **attributes), case)
        found = tested.infer(Tensor(case.elements[0], x.shape), **attributes)
        assert [kind.shape for kind in found] == [result.shape for result in case.results]


FOLDS = {
    op.reduce_sum: math.fsum,
    op.reduce_mean: lambda v: math.fsum(v) / len(v) if v else math.nan,
    op.reduce_prod: math.prod,
    op.reduce_max: lambda v: max(v, default=-math.inf),
    op.reduce_min: lambda v: min(v, default=math.inf),
    op.reduce_l1: lambda v: math.fsum(map(abs, v)),
    op.reduce_l2: lambda v: math.hypot(*v),
    op.reduce_sum_square: lambda v: math.fsum(n * n for n in v),
    op.reduce_log_sum: lambda v: math.log(s) if (s := sum(v)) > 0 else -math.inf if s == 0 else math.nan,
    op.reduce_log_sum_exp: lambda v: math.log(math.fsum(map(math.exp, v))) if v else -math.inf,
}


@st.composite
def axes_of(draw, rank: int):
    """Axes to reduce: all, none, or some, counted from either end."""
    if draw(st.booleans()):
        return None
    chosen = draw(st.lists(st.integers(0, rank - 1), unique=True, max_size=rank)) if rank else []
    return tuple(draw(st.sampled_from([a, a - rank])) for a in chosen)


@pytest.mark.parametrize("tested", FOLDS, ids=lambda tested: tested.name)
@given(hnp.array_shapes(min_dims=0, max_dims=3, min_side=0, max_side=3), st.booleans(), st.data())
def test_reductions_fold_the_entries_along_their_axes(tested, shape, keep_dims, data):
    axes = data.draw(axes_of(len(shape)))
    x = data.draw(hnp.arrays(np.float64, shape, elements=st.integers(-3, 3)))
    found = np.asarray(tested(x, axes=axes, keep_dims=keep_dims))
    (kind,) = tested.infer(Tensor("f64", shape), axes=axes, keep_dims=keep_dims)
    assert (kind.shape, found.dtype) == (found.shape, np.float64)
    gone = set(range(len(shape))) if axes is None else {a % len(shape) for a in axes}
    kept = [i for i in range(len(shape)) if i not in gone]
    rows = np.transpose(x, [*kept, *sorted(gone)]).reshape(math.prod(shape[i] for i in kept), -1 if x.size else 0)
    expected = [FOLDS[tested](row.tolist()) for row in rows]
    np.testing.assert_allclose(found.reshape(-1), expected, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("tested", FOLDS, ids=lambda tested: tested.name)
@pytest.mark.parametrize("element", ["i4", "u8", "i16", "i64", "f16", "bf16", "bool"])
def test_a_reduction_keeps_the_element_type(tested, element):
    kind, g = Tensor(element, ("N", 3, 4), "NCW"), Graph("g")
    x = g.input("x", kind)
    if element_kind(element) not in tested.elements:
        with pytest.raises(TypeMismatchError, match="first"):
            tested(x)
        return
    made = tested(x, axes=(-1,), keep_dims=False)
    assert made.type == Tensor(element, ("N", 3), "NC")
    g.output("y", made)
    sums = tested in (op.reduce_sum, op.reduce_l1, op.reduce_sum_square)
    others = {op.reduce_log_sum: math.log(4), op.reduce_log_sum_exp: 1 + math.log(4), op.reduce_l2: 2}
    found = evaluate(g, {"x": np.ones((2, 3, 4))})["y"]
    np.testing.assert_allclose(found.astype(float), np.full((2, 3), 4 if sums else others.get(tested, 1)), rtol=0.01)


def test_integers_without_entries_and_means():
    assert op.reduce_max(np.zeros((0, 2), np.int8), axes=(0,)).tolist() == [[-128, -128]]
    assert op.reduce_min(np.zeros((0,), np.bool_)).tolist() == [True]
    assert op.reduce_mean(np.array([-128, -128, -1], np.int8)).tolist() == [-85]
    assert op.reduce_mean(np.zeros(0, np.int8)).tolist() == [0]
    assert op.reduce_l2(np.full(9, 127, np.int8)).tolist() == [127]
    assert op.reduce_sum(np.full(9, 60000, np.float16)).tolist() == [np.inf]
    assert op.reduce_mean(np.full(9, 60000, np.float16)).tolist() == [60000]


rows_of_numbers = hnp.arrays(
    st.sampled_from([np.float64, np.float16, np.int8, np.uint8]),
    hnp.array_shapes(min_dims=1, max_dims=3, min_side=1, max_side=4),
    elements=st.integers(0, 3),
)


@given(rows_of_numbers, st.booleans(), st.booleans(), st.booleans(), st.data())
def test_the_place_of_the_first_or_last_extreme(x, least, last, keep_dims, data):
    axis = data.draw(st.integers(-x.ndim, x.ndim - 1))
    tested = op.arg_min if least else op.arg_max
    found = tested(x, axis=axis, keep_dims=keep_dims, select_last_index=last)
    (kind,) = tested.infer(Tensor("f64", x.shape), axis=axis, keep_dims=keep_dims, select_last_index=last)
    assert (found.shape, found.dtype) == (kind.shape, np.int64)
    rows = np.moveaxis(x, axis, -1).reshape(-1, x.shape[axis]).tolist()
    extreme = min if least else max
    places = [len(r) - 1 - r[::-1].index(extreme(r)) if last else r.index(extreme(r)) for r in rows]
    assert found.reshape(-1).tolist() == places


@given(rows_of_numbers, st.booleans(), st.data())
def test_the_first_k_of_a_stable_order(x, largest, data):
    axis = data.draw(st.integers(-x.ndim, x.ndim - 1))
    k = data.draw(st.integers(0, x.shape[axis]))
    values, places = op.top_k(x, k=k, axis=axis, largest=largest)
    assert (values.dtype, places.dtype) == (x.dtype, np.int64)
    assert [t.shape for t in op.top_k.infer(Tensor("f64", x.shape), k=k, axis=axis)] == [values.shape, places.shape]
    np.testing.assert_array_equal(values, np.take_along_axis(x, places, axis))
    for row, chosen in zip(
        np.moveaxis(x, axis, -1).reshape(-1, x.shape[axis]).tolist(),
        np.moveaxis(places, axis, -1).reshape(-1, k).tolist() if k else [],
        strict=bool(k),
    ):
        assert chosen == sorted(range(len(row)), key=lambda i: (-row[i] if largest else row[i], i))[:k]


@given(hnp.arrays(np.float64, st.sampled_from([(3,), (2, 3), (0, 3)]), elements=st.floats(-700, 700)))
def test_shares_of_a_whole(x):
    share = np.exp(x - x.max(axis=-1, keepdims=True, initial=-700))
    share = share / share.sum(axis=-1, keepdims=True)
    np.testing.assert_allclose(op.softmax(x), share, rtol=1e-12)
    np.testing.assert_allclose(op.softmin(-x), share, rtol=1e-12)
    logarithm = op.log_softmax(x)
    np.testing.assert_allclose(np.exp(logarithm), share, rtol=1e-9, atol=1e-300)
    assert np.isfinite(logarithm).all()
    hard = op.hardmax(x)
    assert hard.sum() == len(hard) if x.ndim > 1 else 1
    np.testing.assert_array_equal(np.where(hard == 1, x, -np.inf).max(-1, initial=-np.inf), x.max(-1, initial=-np.inf))


def _log_sum_exp(x, *, axis):
    return op.reduce_log_sum_exp(x, axes=(axis,))


@pytest.mark.parametrize("axis", [1, 2])
@pytest.mark.parametrize(
    "tested",
    [op.softmax, op.softmin, op.log_softmax, _log_sum_exp],
    ids=lambda tested: getattr(tested, "name", "log_sum_exp"),
)
def test_the_bits_depend_on_neither_batch_nor_layout(tested, axis):
    x = np.random.default_rng(0).normal(0, 3, (6, 50, 40)).astype(np.float32)
    x[1] -= 20  # beyond what exponentials add up in
    x[2] += 60
    x[3, 0, 0], x[4, 0, :], x[5, 0, 0] = np.inf, -np.inf, np.nan
    whole = tested(x, axis=axis)
    for other in (tested(np.asfortranarray(x), axis=axis), np.concatenate([tested(e[None], axis=axis) for e in x])):
        np.testing.assert_array_equal(other, whole)
    if tested is op.softmax:
        with np.errstate(invalid="ignore"):
            shares = np.exp(x - x.max(axis=axis, keepdims=True))
        np.testing.assert_allclose(whole, shares / shares.sum(axis=axis, keepdims=True), rtol=1e-5)


@pytest.mark.parametrize("tested", [op.softmax, op.softmin, op.log_softmax, op.hardmax], ids=lambda t: t.name)
@pytest.mark.parametrize("dtype", [np.float16, np.float32])
def test_shares_of_nothing_and_of_infinities_do_not_warn(tested, dtype):
    assert tested(np.zeros((2, 0), dtype)).shape == (2, 0)
    found = tested(np.array([[np.inf, 1], [-np.inf, -np.inf], [60000, -60000]], dtype))
    assert (found.dtype, found.shape) == (dtype, (3, 2))


@given(rows_of_numbers, st.booleans(), st.booleans(), st.booleans(), st.data())
def test_running_sums_and_products(x, product, exclusive, reverse, data):
    axis = data.draw(st.integers(-x.ndim, x.ndim - 1))
    tested = op.cum_prod if product else op.cum_sum
    found = tested(x, axis=axis, exclusive=exclusive, reverse=reverse)
    assert (found.dtype, found.shape) == (x.dtype, x.shape)
    rows = np.moveaxis(x, axis, -1).reshape(-1, x.shape[axis])
    for row, sums in zip(rows, np.moveaxis(found, axis, -1).reshape(rows.shape), strict=True):
        for i, value in enumerate(sums):
            part = row[i + exclusive :] if reverse else row[: i + 1 - exclusive]
            assert value == (np.prod if product else np.sum)(part, dtype=x.dtype)


def test_formats_are_ordered_as_well():
    kind = Tensor(FixedPoint(True, 8, 4), ("N", 5), "NC")
    assert op.arg_min.infer(kind)[0] == Tensor(FixedPoint(False, 3), ("N", 1), "NC")
    values, places = op.top_k.infer(kind, k=2)
    assert (values, places) == (Tensor(kind.element, ("N", 2), "NC"), Tensor("i64", ("N", 2), "NC"))


def test_refusals():
    x = Tensor("f32", ("N", 3))
    with pytest.raises(TypeMismatchError, match="axis 2 is outside"):
        op.reduce_sum.infer(x, axes=(2,))
    with pytest.raises(TypeMismatchError, match=r"contain an axis of .* twice"):
        op.reduce_sum.infer(x, axes=(1, -1))
    with pytest.raises(TypeMismatchError, match="gives floats first"):
        op.reduce_log_sum.infer(Tensor("i8", (3,)))
    with pytest.raises(TypeMismatchError, match="and so no extremum"):
        op.reduce_max.infer(Tensor("i4", (0, 3)), axes=(0,))
    with pytest.raises(TypeMismatchError, match="has no entries along axis 1"):
        op.arg_max.infer(Tensor("f32", ("N", 0)), axis=1)
    with pytest.raises(TypeMismatchError, match="have different scales"):
        op.arg_min.infer(Tensor(Quantised("i8", (0.5, 0.25), axis=1), ("N", 2)))
    with pytest.raises(TypeMismatchError, match="has 3 entries, fewer than k=4"):
        op.top_k.infer(x, k=4)
    for tested in (op.softmax, op.softmin, op.log_softmax, op.hardmax, op.cum_sum, op.cum_prod, op.arg_min):
        with pytest.raises(TypeMismatchError, match="axis -3 is outside"):
            tested.infer(x, axis=-3)
