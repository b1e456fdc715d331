"""Ops of images and losses against others of the library, and against their formulas."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from graphrewrite import Tensor, op
from graphrewrite.errors import EvaluationError, TypeMismatchError

seeds = st.integers(0, 2**32 - 1).map(np.random.default_rng)
small = st.integers(1, 3)


@given(seeds, st.tuples(small, small, small, small), st.sampled_from(["linear", "nearest", "cubic"]), st.booleans())
def test_sampling_where_the_entries_are_gives_the_image(rng, shape, mode, align):
    x = rng.normal(size=shape)
    theta = np.tile(np.eye(3)[:2], (shape[0], 1, 1))
    grid = op.affine_grid(theta, size=shape, align_corners=align)
    for padding in ("zeros", "border", "reflection"):
        found = op.grid_sample(x, grid, mode=mode, padding_mode=padding, align_corners=align)
        if align and 1 in shape[2:]:  # of a single entry there is no distance from -1 to 1
            continue
        np.testing.assert_allclose(found, x, atol=1e-9)


@given(seeds, st.floats(1.01, 50), st.sampled_from(["linear", "nearest", "cubic"]), st.booleans())
def test_what_lies_outside_is_zero_or_of_the_image(rng, far, mode, align):
    x = rng.uniform(1, 2, (1, 1, 5))
    grid = np.array([[[far], [-far]]])
    inside = op.grid_sample(x, grid, mode="nearest", padding_mode="reflection", align_corners=align)
    assert set(inside.ravel()) <= set(x.ravel())
    ends = op.grid_sample(x, np.sign(grid) * 9, mode=mode, padding_mode="border", align_corners=align)
    np.testing.assert_allclose(ends[0, 0], [x[0, 0, -1], x[0, 0, 0]])
    assert not op.grid_sample(x, np.sign(grid) * 9, mode=mode, align_corners=align).any()


@given(seeds, st.tuples(small, small), st.tuples(small, small), st.integers(0, 1))
def test_folding_is_the_adjoint_of_taking_apart(rng, kernel, strides, pad):
    size = tuple(k + s + 1 for k, s in zip(kernel, strides, strict=True))
    entries = kernel[0] * kernel[1]
    window = {"strides": strides, "pads": (pad, 0, 0, pad), "dilations": (1, 1)}
    x = rng.normal(size=(2, 1, *size))
    apart = op.conv(x, np.eye(entries).reshape(entries, 1, *kernel), **window).reshape(2, entries, -1)
    columns = rng.normal(size=apart.shape)
    put = op.fold(columns, size=size, kernel=kernel, **window)
    np.testing.assert_allclose((put * x).sum(), (columns * apart).sum())


@given(seeds, st.integers(1, 3), st.integers(0, 2))
def test_maxima_put_back_are_pooled_again(rng, width, more):
    x = rng.uniform(1, 2, (2, 3, 2 * width, 3 * width))
    window = {"kernel": (width, width), "strides": (width, width), "pads": (0, 0, 0, 0)}
    maxima, indices = op.max_pool_with_indices(x, **window)
    put = op.max_unpool(maxima, indices, **window)
    assert put.shape == x.shape
    assert np.array_equal(op.max_pool(put, **window), maxima)
    wide = op.max_unpool(maxima, indices, **window, size=(2 * width + more, 3 * width))
    assert np.array_equal(wide[:, :, : 2 * width], put)
    with pytest.raises(EvaluationError, match="outside of axis"):
        op.max_unpool(maxima, indices + x.size, **window)


@given(seeds, st.sampled_from([1, 2]), st.sampled_from([1, 2]), st.booleans())
def test_a_deformable_convolution_without_offsets_is_one(rng, groups, offset_groups, padded):
    x, w, b = rng.normal(size=(2, 4, 5, 6)), rng.normal(size=(2, 4 // groups, 3, 2)), rng.normal(size=2)
    window = {"strides": (2, 1), "pads": (1, 0, 1, 2) if padded else (0, 0, 0, 0), "dilations": (1, 2)}
    expected = op.conv(x, w, b, groups=groups, **window)
    offset = np.zeros((2, offset_groups * 12, *expected.shape[2:]))
    mask = np.full((2, offset_groups * 6, *expected.shape[2:]), 0.5)
    found = op.deform_conv(x, w, offset, b, groups=groups, offset_groups=offset_groups, **window)
    np.testing.assert_allclose(found, expected)
    half = op.deform_conv(x, w, offset, None, mask, groups=groups, offset_groups=offset_groups, **window)
    np.testing.assert_allclose(half, (expected - b[:, None, None]) / 2)


@given(seeds, st.integers(1, 3), st.integers(1, 3))
def test_a_region_of_whole_entries_is_pooled(rng, rows, columns):
    x = rng.normal(size=(2, 3, 2 * rows, 2 * columns))
    whole = np.array([[0.0, 0.0, 2.0 * columns, 2.0 * rows]])
    found = op.roi_align(x, whole, np.array([1]), output_height=rows, output_width=columns)
    np.testing.assert_allclose(found, op.average_pool(x[1:], kernel=(2, 2), strides=(2, 2)))
    greatest = op.roi_align(x, whole, np.array([-1]), output_height=rows, output_width=columns, mode="max")
    np.testing.assert_allclose(greatest, np.maximum(op.max_pool(x[1:], kernel=(2, 2), strides=(2, 2)), 0), atol=1e-12)


@given(seeds, st.booleans(), st.booleans())
def test_losses_are_reduced_as_they_say(rng, weighted, ignoring):
    x, target = np.log(rng.dirichlet(np.ones(3), (4, 2))).swapaxes(1, 2), rng.integers(0, 3, (4, 2))
    target[0, 0], target[1, 0] = 1, 0
    weight = rng.uniform(1, 2, 3) if weighted else None
    ignored = 1 if ignoring else None
    each = op.nll_loss(x, target, weight, reduction="none", ignore_index=ignored)
    counts = (np.ones(3) if weight is None else weight)[target] * (target != ignored)
    np.testing.assert_allclose(each, -np.take_along_axis(x, target[:, None], 1)[:, 0] * counts)
    np.testing.assert_allclose(op.nll_loss(x, target, weight, reduction="sum", ignore_index=ignored), each.sum())
    mean = op.nll_loss(x, target, weight, ignore_index=ignored)
    np.testing.assert_allclose(mean, each.sum() / counts.sum())
    with pytest.raises(EvaluationError, match="the target 3 is outside of axis 1"):
        op.nll_loss(x, target + 3 * (target == 0))


@pytest.mark.parametrize(
    ("sampling", "shapes"),
    [
        (op.grid_sample, [(1, 2, 2, 0), (1, 3, 3, 2)]),
        (op.roi_align, [(1, 2, 0, 2), (1, 4), (1,)]),
        (op.deform_conv, [(1, 1, 0, 2), (1, 1, 1, 1), (1, 2, 2, 4)]),
    ],
)
def test_nothing_is_sampled_of_an_image_without_entries(sampling, shapes):
    types = [Tensor("i64" if sampling is op.roi_align and len(s) == 1 else "f32", s) for s in shapes]
    attributes = {"pads": (1, 1, 1, 1)} if sampling is op.deform_conv else {}
    with pytest.raises(TypeMismatchError, match="is empty: nothing can be interpolated"):
        sampling.infer(*types, **attributes)
