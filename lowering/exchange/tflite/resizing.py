"""Resizing of images of TensorFlow Lite: products with matrices, whose weights are those of the kernels."""

from __future__ import annotations

from typing import Any

import numpy as np

from graphrewrite import op
from graphrewrite.lowering.exchange.entry import Unfit
from graphrewrite.lowering.exchange.nearest_entries import nearest_entries
from graphrewrite.lowering.exchange.tflite.layers import image
from graphrewrite.lowering.exchange.tflite.operands import Operand, Result
from graphrewrite.lowering.exchange.tflite.windows import channels_last, channels_second

__all__ = ["resized_bilinear", "resized_nearest", "resized_stored"]


def resized_bilinear(
    x: Operand, size: Operand, *, to: tuple[Result], align_corners: bool = False, half_pixel_centers: bool = False
) -> Any:
    """RESIZE_BILINEAR."""
    wanted = _wanted(size)
    if min(image(x)) < 1:
        raise Unfit("there is nothing to resize")
    matrices = [_weights(n, m, align_corners, half_pixel_centers) for n, m in zip(image(x), wanted, strict=True)]
    return _resized(x.value, *matrices)


def _wanted(size: Operand) -> tuple[int, int]:
    height, width = size.numbers()
    if min(height, width) < 1:
        raise Unfit(f"an image of {height} by {width} is asked for")
    return height, width


_MOST_WEIGHTS = 1 << 24


def _weights(n: int, m: int, align_corners: bool, half_pixel: bool) -> np.ndarray:
    """Return the matrix [M, N] that interpolates along an axis, in float32."""
    _check_matrix(n, m)
    scale = np.float32(n - 1) / np.float32(m - 1) if align_corners and m > 1 else np.float32(n) / np.float32(m)
    half = np.float32(0.5 if half_pixel else 0)
    at = (np.arange(m, dtype=np.float32) + half) * scale - half
    lower = np.maximum(np.floor(at), 0).astype(np.int64)
    upper = np.minimum(np.floor(at).astype(np.int64) + 1, n - 1)
    found = np.zeros((m, n), np.float32)
    np.add.at(found, (np.arange(m), np.minimum(lower, n - 1)), np.float32(1) - (at - lower))
    np.add.at(found, (np.arange(m), np.maximum(upper, 0)), at - lower)
    return found


def _check_matrix(n: int, m: int) -> None:
    if n * m > _MOST_WEIGHTS:
        raise Unfit(f"{n} positions become {m}, more than can be interpolated")


def _resized(x: Any, rows: np.ndarray, columns: np.ndarray) -> Any:
    """Multiply an image by a matrix along its height, and by another along its width."""
    second = channels_second(x)
    return channels_last(op.matmul(op.matmul(np.ascontiguousarray(rows), second), np.ascontiguousarray(columns.T)))


def resized_nearest(
    x: Operand, size: Operand, *, to: tuple[Result], align_corners: bool = False, half_pixel_centers: bool = False
) -> Any:
    """RESIZE_NEAREST_NEIGHBOR, with positions in float32."""
    y = x.value
    for axis, (n, m) in enumerate(zip(image(x), _wanted(size), strict=True), start=1):
        if not n or m > _MOST_WEIGHTS:
            raise Unfit(f"{n} positions cannot become {m}")
        index = nearest_entries(n, m, half_pixel=half_pixel_centers, align_corners=align_corners)
        y = op.gather(y, index, axis=axis)
    return y


def resized_stored(
    x: Operand, size: Operand, *, to: tuple[Result], align_corners: bool = False, half_pixel_centers: bool = False
) -> Any:
    """RESIZE_BILINEAR of stored numbers: weights have 10 bits right of the point, and sums are exact in float64."""
    matrices = []
    for n, m in zip(image(x), _wanted(size), strict=True):
        _check_matrix(n, m)
        scale = ((n - 1 << 10) + (m - 1) // 2) // (m - 1) if align_corners and m > 1 else ((n << 10) + m // 2) // m
        at = np.arange(m) * scale + (scale // 2 - 512 if half_pixel_centers else 0)
        lower = np.maximum(np.trunc(at / 1024).astype(np.int64), 0)
        upper = np.clip(np.trunc((at + 1023) / 1024).astype(np.int64), 0, n - 1)
        found = np.zeros((m, n))
        np.add.at(found, (np.arange(m), np.minimum(lower, n - 1)), 1024 - (at - 1024 * lower))
        np.add.at(found, (np.arange(m), upper), at - 1024 * lower)
        matrices.append(found)
    sums = _resized(op.cast(x.value, element="f64"), *matrices)
    return op.round_half_away(op.mul(sums, 2.0**-20), **to[0].limits)
