"""Regions of images, as detectors propose them: pooled to one size."""

from __future__ import annotations

from typing import Literal

import numpy as np

from graphrewrite.errors import TypeMismatchError
from graphrewrite.op.define import define_op
from graphrewrite.op.domain import FLOATS, check_elements, one_element
from graphrewrite.op.nn.sampling import check_positions, check_word
from graphrewrite.op.precision import narrowed, widened
from graphrewrite.op.tensor.cutting import check_indices
from graphrewrite.op.tensor.gathering import check_bounds
from graphrewrite.types import Tensor

__all__ = ["roi_align"]

_MODES = ("avg", "max")
_COORDINATES = ("half_pixel", "output_half_pixel")


def _infer(
    x: Tensor,
    rois: Tensor,
    indices: Tensor,
    *,
    mode: str,
    output_height: int,
    output_width: int,
    sampling_ratio: int,
    coordinate_transformation_mode: str,
    **_: float,
) -> Tensor:
    check_elements(FLOATS, [x])
    one_element(x, rois)
    check_indices(indices)
    check_word("mode", mode, _MODES)
    check_word("coordinate_transformation_mode", coordinate_transformation_mode, _COORDINATES)
    if len(x.shape) != 4 or len(rois.shape) != 2 or rois.shape[1] != 4:
        raise TypeMismatchError(f"images [N,C,H,W] need regions [R,4], as x1, y1, x2, y2, got {x} and {rois}")
    check_positions(x)
    if indices.shape != rois.shape[:1]:
        raise TypeMismatchError(f"the regions {rois} need the index of an image each, got {indices}")
    if output_height < 1 or output_width < 1 or sampling_ratio < 0:
        raise TypeMismatchError(
            f"a result of {output_height} by {output_width} of {sampling_ratio} samples cannot be; give sizes from 1, "
            "and 0 samples for as many as the region has entries"
        )
    return Tensor(x.element, (rois.shape[0], x.shape[1], output_height, output_width))


@define_op(infer=_infer)
def roi_align(
    x: np.ndarray,
    rois: np.ndarray,
    indices: np.ndarray,
    *,
    mode: Literal["avg", "max"] = "avg",
    output_height: int = 1,
    output_width: int = 1,
    sampling_ratio: int = 0,
    spatial_scale: float = 1.0,
    coordinate_transformation_mode: Literal["half_pixel", "output_half_pixel"] = "half_pixel",
) -> np.ndarray:
    """Regions of images, pooled to one size (ONNX specification, RoiAlign; He et al. 2017).

    Parameters
    ----------
    x
        Images [N, C, H, W].
    rois
        Regions [R, 4], as x1, y1, x2, y2.
    indices
        Index of the image of each region [R].
    mode
        A part is the "avg" of bilinear samples in it, or the "max" of their weighted entries.
    output_height
        Number of parts of the height.
    output_width
        Number of parts of the width.
    sampling_ratio
        Number of samples along each axis of a part; as many as it has entries if 0.
    spatial_scale
        Factor of the coordinates.
    coordinate_transformation_mode
        Coordinates are minus a half for "half_pixel", as they are for "output_half_pixel".

    Examples
    --------
    >>> x = np.arange(16.0).reshape(1, 1, 4, 4)
    >>> roi_align(x, np.array([[0.0, 0.0, 4.0, 4.0]]), np.array([0]), output_height=2, output_width=2).tolist()
    [[[[2.5, 4.5], [10.5, 12.5]]]]
    """
    wide = widened(x)
    images = check_bounds(np.asarray(indices), len(x), 0)
    result = np.zeros((len(rois), x.shape[1], output_height, output_width), wide.dtype)
    half = coordinate_transformation_mode == "half_pixel"
    corners = widened(rois) * wide.dtype.type(spatial_scale) - wide.dtype.type(0.5 * half)
    for region, (left, top, right, bottom) in enumerate(corners):
        image = wide[images[region]]
        extents = (bottom - top, right - left)
        rows, columns = (
            _samples(start, extent if half else max(extent, 1), parts, sampling_ratio, size)
            for start, extent, parts, size in zip(
                (top, left), extents, (output_height, output_width), image.shape[1:], strict=True
            )
        )
        result[region] = _average(image, rows, columns) if mode == "avg" else _greatest(image, rows, columns)
    return narrowed(result, x)


_Samples = tuple[np.ndarray, np.ndarray]
"""Entries on both sides of each sample of each part, and their weights: [parts, samples, 2]."""


def _samples(start: float, extent: float, parts: int, ratio: int, size: int) -> _Samples:
    each = extent / parts
    # A box without extent, or with a negative one, has no samples of its own number.
    count = ratio or max(int(np.ceil(np.nan_to_num(min(each, 2.0**20)))), 0)
    steps = (np.arange(count) + 0.5) / max(count, 1)
    at = start + (np.arange(parts)[:, None] + steps) * each
    inside = (at >= -1) & (at <= size)
    at = np.clip(np.where(inside, at, 0), 0, size - 1)
    low = np.floor(at).astype(np.int64)
    beyond = at - low
    entries = np.stack([low, np.minimum(low + 1, size - 1)], axis=-1)
    weights = np.stack([1 - beyond, beyond], axis=-1) * inside[..., None]
    return entries, weights


def _matrix(samples: _Samples, size: int, dtype: np.dtype[np.floating]) -> np.ndarray:
    """The weights of all entries of an axis in the mean of each part."""
    entries, weights = samples
    matrix = np.zeros((len(entries), size), dtype)
    np.add.at(matrix, (np.arange(len(entries))[:, None, None], entries), weights)
    return matrix / max(entries.shape[1], 1)


def _average(image: np.ndarray, rows: _Samples, columns: _Samples) -> np.ndarray:
    return np.asarray(
        _matrix(rows, image.shape[1], image.dtype) @ image @ _matrix(columns, image.shape[2], image.dtype).T
    )


def _greatest(image: np.ndarray, rows: _Samples, columns: _Samples) -> np.ndarray:
    """The greatest weighted entry of all samples of a part, as the reference of ONNX has it."""
    (y, of_y), (x, of_x) = rows, columns
    entries = image[:, y[:, None, :, None, :, None], x[None, :, None, :, None, :]]
    weighted = entries * (of_y[:, None, :, None, :, None] * of_x[None, :, None, :, None, :])
    flat = weighted.reshape(*weighted.shape[:3], -1)
    return np.asarray(flat.max(axis=-1) if flat.shape[-1] else flat.sum(axis=-1))
