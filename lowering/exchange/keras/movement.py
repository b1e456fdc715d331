"""Layers of Keras that move entries: shapes, borders, parts, sizes; and those that do nothing but in training."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from graphrewrite import op
from graphrewrite.graph import Value
from graphrewrite.lowering.exchange.entry import Unfit
from graphrewrite.lowering.exchange.keras.layer import Layer, Row
from graphrewrite.lowering.exchange.strided_slices import LAST

__all__ = ["MOVEMENT", "repeated"]


def _same(layer: Layer, x: Value) -> Any:
    return x


def _known(x: Value) -> tuple[int, ...]:
    sizes = x.type.shape[1:]
    if not all(isinstance(size, int) for size in sizes):
        raise Unfit(f"all sizes but that of the batch must be numbers, and its input is {x.type}; pass shapes=…")
    return tuple(map(int, sizes))


def _flatten(layer: Layer, x: Value) -> Any:
    rank = len(x.type.shape)
    if layer.get("data_format", "channels_last") == "channels_first" and rank > 2:
        x = op.transpose(x, perm=(0, *range(2, rank), 1))
    return op.reshape(x, shape=(x.type.shape[0], math.prod(_known(x))))


def _reshape(layer: Layer, x: Value) -> Any:
    target, count = list(layer.get("target_shape")), math.prod(_known(x))
    if -1 in target:
        others = math.prod(size for size in target if size != -1)
        target = [size if size != -1 else count // max(others, 1) for size in target]
    return op.reshape(x, shape=(x.type.shape[0], *target))


def _permute(layer: Layer, x: Value) -> Any:
    return op.transpose(x, perm=(0, *layer.get("dims")))


def _repeat(layer: Layer, x: Value) -> Any:
    return op.tile(op.unsqueeze(x, axes=(1,)), repeats=(1, int(layer.get("n")), 1))


def _concatenate(layer: Layer, *xs: Value) -> Any:
    return op.concat(*xs, axis=int(layer.get("axis", -1)))


def _image_axes(layer: Layer, count: int) -> range:
    return range(1, 1 + count) if layer.get("data_format", "channels_last") == "channels_last" else range(2, 2 + count)


def _pairs(setting: Any, count: int) -> list[tuple[int, int]]:
    """Return a number before and after each axis, which may be written as one for all, or one for each."""
    if isinstance(setting, int):
        return [(setting, setting)] * count
    if count == 1 and all(isinstance(each, int) for each in setting):
        return [(setting[0], setting[-1])]
    return [(each, each) if isinstance(each, int) else tuple(each) for each in setting]


def _padded(count: int) -> Row:
    def pad(layer: Layer, x: Value) -> Any:
        borders = [(0, 0)] * len(x.type.shape)
        for axis, pair in zip(_image_axes(layer, count), _pairs(layer.get("padding", 1), count), strict=True):
            borders[axis] = pair
        return op.pad(x, pads=(*(before for before, _ in borders), *(after for _, after in borders)))

    return pad


def _cropped(count: int) -> Row:
    def crop(layer: Layer, x: Value) -> Any:
        pairs = zip(_image_axes(layer, count), _pairs(layer.get("cropping", 0), count), strict=True)
        cut = [(axis, a, -b if b else LAST) for axis, (a, b) in pairs if (a, b) != (0, 0)]
        if not cut:
            return x
        axes, starts, ends = zip(*cut, strict=True)
        return op.slice(x, starts=starts, ends=ends, axes=axes)

    return crop


def _enlarged(count: int) -> Row:
    def enlarge(layer: Layer, x: Value) -> Any:
        setting = layer.get("size", 2)
        factors = (setting,) * count if isinstance(setting, int) else tuple(setting)
        axes, how = _image_axes(layer, count), layer.get("interpolation", "nearest")
        if how == "nearest":
            for axis, factor in zip(axes, factors, strict=True):
                x = repeated(x, axis, int(factor))
            return x
        sizes = [int(x.type.shape[axis]) * factor for axis, factor in zip(axes, factors, strict=True)]
        return _resized(layer, x, axes, sizes, how)

    return enlarge


def repeated(x: Value, axis: int, factor: int) -> Any:
    """Repeat each entry along an axis."""
    shape = list(x.type.shape)
    wide = op.tile(
        op.unsqueeze(x, axes=(axis + 1,)), repeats=tuple(factor if i == axis + 1 else 1 for i in range(len(shape) + 1))
    )
    shape[axis] = shape[axis] * factor
    return op.reshape(wide, shape=tuple(shape))


def _resizing(layer: Layer, x: Value) -> Any:
    if layer.get("crop_to_aspect_ratio", False) or layer.get("pad_to_aspect_ratio", False):
        raise Unfit("keeping the aspect ratio is not supported")
    sizes = [int(layer.get(name)) for name in ("height", "width")]
    return _resized(layer, x, _image_axes(layer, 2), sizes, layer.get("interpolation", "bilinear"))


def _resized(layer: Layer, x: Value, axes: range, sizes: list[int], how: str) -> Any:
    if axes[0] != 1 or how not in ("nearest", "bilinear"):
        raise Unfit(f"the interpolation {how!r} of images with channels first, or of this kind, is not supported")
    x = x if str(x.type.element).startswith("f") else op.cast(x, element="f32")
    name = {"nearest": "ResizeNearestNeighbor", "bilinear": "ResizeBilinear"}[how]
    return layer.tf(name, x, np.array(sizes, np.int32), half_pixel_centers=True)


def _middle(layer: Layer, x: Value) -> Any:
    """Cut the middle out of images that are large enough."""
    axes, wanted = _image_axes(layer, 2), [int(layer.get(name)) for name in ("height", "width")]
    sizes = [x.type.shape[axis] for axis in axes]
    if not all(isinstance(size, int) and size >= least for size, least in zip(sizes, wanted, strict=True)):
        raise Unfit(f"images {x.type} are to be numbers, and at least {wanted}")
    starts = [(int(size) - kept) // 2 for size, kept in zip(sizes, wanted, strict=True)]
    ends = [start + kept for start, kept in zip(starts, wanted, strict=True)]
    return op.slice(x, starts=tuple(starts), ends=tuple(ends), axes=tuple(axes))


def _inside(layer: Layer, x: Value) -> Any:
    """A layer around another one, which in training changes its weights."""
    inner = layer.get("layer")
    return layer.build(inner, layer.inner("layer", str(inner["config"].get("name", ""))), (x,))


_ONLY_IN_TRAINING = (
    "ActivityRegularization AlphaDropout AugMix CutMix Dropout Equalization GaussianDropout GaussianNoise Identity "
    "MaxNumBoundingBoxes MixUp RandAugment RandomBrightness RandomColorDegeneration RandomColorJitter RandomContrast "
    "RandomElasticTransform RandomErasing RandomFlip RandomGaussianBlur RandomGrayscale RandomHue RandomInvert "
    "RandomPerspective RandomPosterization RandomRotation RandomSaturation RandomSharpness RandomShear "
    "RandomTranslation RandomZoom Solarization SpatialDropout1D SpatialDropout2D SpatialDropout3D"
)

MOVEMENT: dict[str, Row] = {
    **dict.fromkeys(_ONLY_IN_TRAINING.split(), _same),
    **{f"Cropping{n}D": _cropped(n) for n in (1, 2, 3)},
    **{f"UpSampling{n}D": _enlarged(n) for n in (1, 2, 3)},
    **{f"ZeroPadding{n}D": _padded(n) for n in (1, 2, 3)},
    "CenterCrop": _middle,
    "Concatenate": _concatenate,
    "Flatten": _flatten,
    "Permute": _permute,
    "RepeatVector": _repeat,
    "Reshape": _reshape,
    "Resizing": _resizing,
    "SpectralNormalization": _inside,
}
"""What each layer means."""
