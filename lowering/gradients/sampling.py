"""Gradients of images that are sampled between entries: of the entries by weights, of the positions by their slopes."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from itertools import product
from typing import Any, NamedTuple

import numpy as np

from graphrewrite import decline, op, rule
from graphrewrite.lowering.composite.precision import converted, widened
from graphrewrite.lowering.gradients.shapes import number, repeated, zeros
from graphrewrite.op.nn.convolution import per_axis
from graphrewrite.op.nn.deformable_convolution import window_positions
from graphrewrite.op.nn.sampling import CUBIC_SLOPE, FARTHEST

__all__ = ["DIFFERENTIATE_SAMPLING"]


@rule(keeps="rounding")
def differentiate_grid_sample(g, x, grid):
    """A sample is a sum of entries by weights: theirs is its gradient by weight, a position's that by slope."""
    d = op.grid_sample.vjp(g, x, grid)
    yield d
    sizes, rank, places = x.shape[2:], len(x.shape) - 2, grid.shape[1:-1]
    if any(isinstance(size, str) for size in (*x.shape[1:], *places)):
        return decline("a size besides the batch is symbolic", at=d)
    if 0 in (*x.shape, *grid.shape):
        return decline("there are no entries", at=d)
    if d.wrt == 1 and d.mode == "nearest":
        return zeros(grid)
    units = op.reshape(widened(grid), shape=(-1, math.prod(places), rank))
    halves = [(size - 1) / 2 if d.align_corners else size / 2 for size in sizes]  # of the grid, in entries
    first = 0.0 if d.align_corners else -0.5
    at = [(op.gather(units, np.array(rank - 1 - i), axis=2) + 1.0) * half + first for i, half in enumerate(halves)]
    corners = _corners(at, sizes, x, d.mode, d.padding_mode, align_corners=d.align_corners)
    samples = op.reshape(g, shape=(-1, x.shape[1], math.prod(places)))
    if d.wrt == 0:
        return op.reshape(_of_entries(samples, math.prod(sizes), corners), shape=x.shape)
    slopes = _of_positions(samples, _flat(x), corners)
    along = [op.unsqueeze(slope * half, axes=(2,)) for slope, half in zip(slopes, halves, strict=True)]
    return op.reshape(converted(op.concat(*reversed(along), axis=2), grid.type.element), shape=grid.shape)


@rule(keeps="rounding")
def differentiate_deform_conv(g, x, w, offset, b=None, mask=None):
    """A product of weights and masked samples: as of a product, then as of samples at the moved places of windows."""
    d = op.deform_conv.vjp(g, x, w, offset, b, mask)
    yield d
    rank, kernel, places = len(x.shape) - 2, w.shape[2:], g.shape[2:]
    if d.wrt == 3:
        return op.reduce_sum(g, axes=(0, *range(2, rank + 2)), keep_dims=False)
    if any(isinstance(size, str) for size in (*x.shape[1:], *w.shape)):
        return decline("a size besides the batch is symbolic", at=d)
    if 0 in (*x.shape, *w.shape, *g.shape):
        return decline("there are no entries", at=d)
    taps, count, owners, sizes = math.prod(kernel), math.prod(places), d.offset_groups, x.shape[2:]
    own = x.shape[1] // owners  # channels with the same offsets
    starts = window_positions(kernel, places, per_axis(d.strides, rank, 1), d.pads, per_axis(d.dilations, rank, 1))
    moved = op.reshape(offset, shape=(-1, taps, rank, count)) + number(starts.reshape(taps, rank, count), x)
    at = [op.reshape(op.gather(moved, np.array(i), axis=2), shape=(-1, taps * count)) for i in range(rank)]
    corners = _corners(at, sizes, x, "linear", "zeros", align_corners=False)
    entries = op.reshape(x, shape=(-1, own, math.prod(sizes)))
    masks = None if mask is None else op.reshape(mask, shape=(-1, 1, taps * count))

    rows = w.shape[0] // d.groups
    results = op.reshape(g, shape=(-1, d.groups, rows, count))
    if d.wrt == 1:
        samples = _sampled(entries, corners) if masks is None else _sampled(entries, corners) * masks
        columns = op.reshape(samples, shape=(-1, d.groups, w.shape[1] * taps, count))
        each = op.matmul(results, op.transpose(columns, perm=(0, 1, 3, 2)))
        return op.reshape(op.reduce_sum(each, axes=(0,), keep_dims=False), shape=w.shape)
    filters = op.reshape(w, shape=(d.groups, rows, w.shape[1] * taps))
    masked = op.reshape(op.matmul(op.transpose(filters, perm=(0, 2, 1)), results), shape=(-1, own, taps * count))
    if d.wrt == 4:
        of_mask = op.reduce_sum(masked * _sampled(entries, corners), axes=(1,), keep_dims=False)
        return op.reshape(of_mask, shape=mask.shape)
    samples = masked if masks is None else masked * masks
    if d.wrt == 0:
        return op.reshape(_of_entries(samples, math.prod(sizes), corners), shape=x.shape)
    slopes = _of_positions(samples, entries, corners)
    along = [op.reshape(slope, shape=(-1, taps, 1, count)) for slope in slopes]
    return op.reshape(op.concat(*along, axis=2), shape=offset.shape)


class _Corner(NamedTuple):
    """An entry of each image that is read for each position, [images, positions]: its number, and its weight."""

    index: Any
    weight: Any
    slopes: list[Any]
    """Of the weight, along the position on each axis."""


def _corners(
    at: Sequence[Any], sizes: Sequence[int], x: Any, mode: str, padding: str, *, align_corners: bool
) -> list[_Corner]:
    """The entries between which positions lie, given along each axis."""
    each = [
        list(_along(position, size, x, mode, padding, align_corners=align_corners))
        for position, size in zip(at, sizes, strict=True)
    ]
    found = []
    for chosen in product(*each):
        index, weight, slopes = chosen[0]
        slopes = [slopes]
        for size, (more, factor, slope) in zip(sizes[1:], chosen[1:], strict=True):
            index = index * size + more
            slopes = [*(other * factor for other in slopes), weight * slope]
            weight = weight * factor
        found.append(_Corner(index, weight, slopes))
    return found


def _along(
    at: Any, size: int, x: Any, mode: str, padding: str, *, align_corners: bool
) -> Iterator[tuple[Any, Any, Any]]:
    """Entries of an axis that are read for positions, their weights, and the slopes of these."""
    low, high = (0.0, size - 1.0) if align_corners else (-0.5, size - 0.5)
    at = op.clip(op.where(op.is_nan(at), number(-FARTHEST, at), at), low=-FARTHEST, high=FARTHEST)
    at = op.round(at) if mode == "nearest" else at
    at, turn = _brought_inside(at, size, mode, padding, low, high)
    first = op.floor(at)
    for offset, weight, slope in _taps(at - first, mode):
        index = first + float(offset)
        outside = op.logical_or(op.less(index, 0.0), op.greater(index, size - 1.0))
        if padding == "zeros":
            weight, slope = (op.where(outside, number(0, at), each) for each in (weight, slope))
        elif padding == "reflection":
            index = op.where(outside, _reflected(index, low, high)[0], index)
        index = op.cast(op.clip(index, low=0.0, high=size - 1.0), element="i64")
        yield index, converted(weight, x.type.element), converted(slope * turn, x.type.element)


def _taps(beyond: Any, mode: str) -> list[tuple[int, Any, Any]]:
    """Which entries from the one before a position on are read, their weights, and their slopes."""
    if mode == "nearest":
        return [(0, 1.0 - beyond, beyond * 0.0)]
    if mode == "linear":
        return [(0, 1.0 - beyond, number(-1, beyond)), (1, beyond, number(1, beyond))]
    return [(offset, *_cubic(beyond - float(offset), near=offset in (0, 1))) for offset in (-1, 0, 1, 2)]


def _brought_inside(at: Any, size: int, mode: str, padding: str, low: float, high: float) -> tuple[Any, Any]:
    """The positions that are read for positions outside, and their slope; those among zeros stay."""
    if padding == "zeros":
        return at, 1.0
    outside = op.logical_or(op.less(at, low), op.greater(at, high))
    border = op.clip(at, low=0.0, high=size - 1.0), number(0, at)
    inner, slope = border if padding == "border" else _reflected(at, low, high)
    at, turn = op.where(outside, inner, at), op.where(outside, slope, number(1, at))
    if mode == "linear":  # at the outer entries themselves there is none, as in PyTorch
        turn = op.where(op.logical_and(op.greater(at, 0.0), op.less(at, size - 1.0)), turn, number(0, at))
    return at, turn


def _reflected(at: Any, low: float, high: float) -> tuple[Any, Any]:
    """Positions reflected at both ends until they lie between them, and their slope."""
    span = high - low
    if span <= 0:
        return number(low, at), number(0, at)
    turns = op.floor(op.abs(at - low) / span)
    rest = op.abs(at - low) - turns * span
    even = op.equal(op.mod(turns, number(2, at)), 0.0)
    side = op.sign(at - low)
    return op.where(even, low + rest, high - rest), op.where(even, side, -side)


def _cubic(x: Any, *, near: bool) -> tuple[Any, Any]:
    """Weights by distance, with its sign, and their slopes (Keys 1981): up to 1, or from 1 to 2."""
    s, far = CUBIC_SLOPE, op.abs(x)
    if near:
        return ((s + 2) * far - (s + 3)) * far * far + 1.0, (3 * (s + 2) * far - 2 * (s + 3)) * x
    return ((s * far - 5 * s) * far + 8 * s) * far - 4 * s, ((3 * s * far - 10 * s) * far + 8 * s) * op.sign(x)


def _flat(x: Any) -> Any:
    """Images with their entries along one axis."""
    return op.reshape(x, shape=(-1, x.shape[1], math.prod(x.shape[2:])))


def _of_entries(g: Any, count: int, corners: Sequence[_Corner]) -> Any:
    """Each entry has the sum of the gradients of its readings by their weights."""
    total = zeros(g, (*g.shape[:2], count))
    for index, weight, _ in corners:
        at = repeated(op.unsqueeze(index, axes=(1,)), g.shape)
        total = op.scatter_elements(total, at, g * op.unsqueeze(weight, axes=(1,)), axis=2, reduction="add")
    return total


def _read(entries: Any, index: Any) -> Any:
    shape = (*entries.shape[:2], index.shape[1])
    return op.gather_elements(entries, repeated(op.unsqueeze(index, axes=(1,)), shape), axis=2)


def _sampled(entries: Any, corners: Sequence[_Corner]) -> Any:
    return _sum([_read(entries, index) * op.unsqueeze(weight, axes=(1,)) for index, weight, _ in corners])


def _of_positions(g: Any, entries: Any, corners: Sequence[_Corner]) -> list[Any]:
    """The gradient along each axis of the positions, of all channels together."""
    shares = [op.reduce_sum(g * _read(entries, index), axes=(1,), keep_dims=False) for index, _, _ in corners]
    return [
        _sum([share * corner.slopes[axis] for share, corner in zip(shares, corners, strict=True)])
        for axis in range(len(corners[0].slopes))
    ]


def _sum(terms: Sequence[Any]) -> Any:
    total = terms[0]
    for term in terms[1:]:
        total = total + term
    return total


@rule(keeps="rounding")
def differentiate_roi_align(g, x, rois, indices):
    """Means of samples on a grid are a matrix of the rows, times the image, times one of the columns: A @ x @ B.T."""
    d = op.roi_align.vjp(g, x, rois, indices)
    yield d
    if d.mode == "max":
        return decline("of the greatest weighted entries there is none; use mode='avg'", at=d)
    if any(isinstance(size, str) for size in x.shape[1:]):
        return decline("a size besides the batch is symbolic", at=d)
    if 0 in (*x.shape, *rois.shape):
        return decline("there are no entries", at=d)
    half = d.coordinate_transformation_mode == "half_pixel"
    left, top, right, bottom = (
        op.gather(rois, np.array([i]), axis=1) * d.spatial_scale - (0.5 if half else 0.0) for i in range(4)
    )
    least = None if half else 1.0
    rows = _samples_of_parts(top, bottom - top, least, d.output_height, d.sampling_ratio, x.shape[2])
    columns = _samples_of_parts(left, right - left, least, d.output_width, d.sampling_ratio, x.shape[3])
    a, b = (
        op.unsqueeze(_matrix(samples, size), axes=(1,)) for samples, size in ((rows, x.shape[2]), (columns, x.shape[3]))
    )
    if d.wrt == 0:
        of_images = op.matmul(op.matmul(_turned(a), g), b)
        return op.scatter_nd(zeros(x), op.unsqueeze(indices, axes=(1,)), of_images, reduction="add")
    images = op.gather(x, indices, axis=0)
    of_a = op.reduce_sum(op.matmul(g, op.matmul(b, _turned(images))), axes=(1,), keep_dims=False)
    of_b = op.reduce_sum(op.matmul(_turned(g), op.matmul(a, images)), axes=(1,), keep_dims=False)
    of_top, of_height = _of_starts_and_extents(of_a, rows, bottom - top, least)
    of_left, of_width = _of_starts_and_extents(of_b, columns, right - left, least)
    return op.concat(of_left - of_width, of_top - of_height, of_width, of_height, axis=1) * d.spatial_scale


class _Samples(NamedTuple):
    """Positions along one axis, [regions, parts, samples], whose mean the parts are."""

    at: Any
    share: Any
    """Of the mean; none outside of the image."""
    place: Any
    """How many extents of the region a sample lies behind its start."""


def _samples_of_parts(start: Any, extent: Any, least: float | None, parts: int, ratio: int, size: int) -> _Samples:
    extent = op.unsqueeze(extent if least is None else op.maximum(extent, least), axes=(2,))
    start, each = op.unsqueeze(start, axes=(2,)), extent / float(parts)
    part = number(np.arange(parts)[:, None], start)
    if ratio:
        count, steps = number(ratio, start), number(np.arange(ratio), start)
    else:  # as many as a part has entries; they lie more than half an entry apart, so few of them are in the image
        count = op.clip(op.ceil(each), low=0.0)
        before = op.floor((-1.0 - start - part * each) / op.maximum(each / op.maximum(count, 1.0), 0.5)) - 1.0
        steps = op.minimum(op.clip(before, low=0.0), op.clip(count - 1.0, low=0.0)) + number(
            np.arange(2 * size + 6), start
        )
    place = (part + (steps + 0.5) / (count if ratio else op.maximum(count, 1.0))) / float(parts)
    at = start + place * extent
    inside = op.logical_and(op.greater_or_equal(at, -1.0), op.less_or_equal(at, float(size)))
    if not ratio:
        inside = op.logical_and(inside, op.less(steps, count))
    return _Samples(at, converted(inside, start.type.element) / (count if ratio else op.maximum(count, 1.0)), place)


def _distances(at: Any, size: int) -> Any:
    """How far positions are behind each entry, [regions, parts, samples, entries]."""
    return op.unsqueeze(op.clip(at, low=0.0, high=size - 1.0), axes=(3,)) - number(np.arange(size), at)


def _matrix(samples: _Samples, size: int) -> Any:
    """The weights of the entries in the mean of each part: of those on both sides of a sample, linear."""
    weights = op.clip(1.0 - op.abs(_distances(samples.at, size)), low=0.0)
    return op.reduce_sum(weights * op.unsqueeze(samples.share, axes=(3,)), axes=(2,), keep_dims=False)


def _of_starts_and_extents(g: Any, samples: _Samples, extent: Any, least: float | None) -> tuple[Any, Any]:
    """From the gradient of such weights, those of the regions' starts and extents."""
    size = g.shape[2]
    distances = _distances(samples.at, size)
    slopes = op.where(op.less(op.abs(distances), 1.0), -op.sign(distances), number(0, g))
    moves = op.logical_and(op.greater_or_equal(samples.at, 0.0), op.less_or_equal(samples.at, size - 1.0))
    each = op.reduce_sum(op.unsqueeze(g, axes=(2,)) * slopes, axes=(3,), keep_dims=False)
    each = op.where(moves, each * samples.share, number(0, g))
    of_start, of_extent = (op.reduce_sum(v, axes=(1, 2), keep_dims=False) for v in (each, each * samples.place))
    of_start, of_extent = (op.unsqueeze(v, axes=(1,)) for v in (of_start, of_extent))
    return of_start, of_extent if least is None else op.where(op.greater(extent, least), of_extent, number(0, g))


def _turned(x: Any) -> Any:
    return op.transpose(x, perm=(0, 1, 3, 2))


DIFFERENTIATE_SAMPLING = (differentiate_grid_sample, differentiate_deform_conv, differentiate_roi_align)
"""Gradients of images that are sampled at computed positions."""
