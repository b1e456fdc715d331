"""Ops of TensorFlow on images: convolutions, pools, norms, borders and sizes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from graphrewrite import op
from graphrewrite.graph import Value
from graphrewrite.lowering.exchange.attribute_values import number
from graphrewrite.lowering.exchange.entry import Unfit
from graphrewrite.lowering.exchange.nearest_entries import are_those_of_resize, gathered, nearest_entries
from graphrewrite.lowering.exchange.tensorflow.importer import Operands, Row
from graphrewrite.lowering.exchange.tflite.windows import channels_last, channels_second, transposed_window, window
from graphrewrite.types import Dimension

__all__ = ["IMAGES", "transposed_conv"]

_SAME = {"SAME": 0, "VALID": 1}


def _laid_out(x: Operands, compute: Callable[[Value], Value], value: Value) -> Any:
    """Compute with channels second, whatever the order of the file is."""
    form = x.get("data_format", "NHWC")
    if form == "NCHW":
        return compute(value)
    if form != "NHWC":
        raise Unfit(f"the data format {form!r} is not supported; there are NHWC and NCHW")
    return channels_last(compute(channels_second(value)))


def _pair(x: Operands, name: str) -> tuple[int, int]:
    """Return the entries of an attribute for height and width; those for batch and channels are 1."""
    given = x.get(name, (1, 1, 1, 1))
    image, others = ((1, 2), (0, 3)) if x.get("data_format", "NHWC") == "NHWC" else ((2, 3), (0, 1))
    if len(given) != 4 or any(given[axis] != 1 for axis in others):
        raise Unfit(f"{name}={given} moves along the batch or the channels, which is not supported")
    return given[image[0]], given[image[1]]


def _size(x: Operands, value: Value) -> tuple[Dimension, Dimension]:
    """Return height and width of an image."""
    shape = value.type.shape
    if len(shape) != 4:
        raise Unfit(f"images have four axes, and its input is {value.type}")
    height, width = shape[1:3] if x.get("data_format", "NHWC") == "NHWC" else shape[2:4]
    return height, width


def _window(x: Operands, value: Value, kernel: Sequence[int]) -> dict[str, Any]:
    """Return strides, borders and dilations of a window."""
    (stride_h, stride_w), (dilation_h, dilation_w) = _pair(x, "strides"), _pair(x, "dilations")
    padding = x.get("padding", "VALID")
    if padding == "EXPLICIT":
        borders = x.get("explicit_paddings", ())
        axes = (1, 2) if x.get("data_format", "NHWC") == "NHWC" else (2, 3)
        if len(borders) != 8:
            raise Unfit(f"explicit_paddings={borders} are not two numbers for each axis")
        pads = (*(borders[2 * axis] for axis in axes), *(borders[2 * axis + 1] for axis in axes))
        found: dict[str, Any] = {"strides": (stride_h, stride_w), "pads": pads}
        return found if (dilation_h, dilation_w) == (1, 1) else {**found, "dilations": (dilation_h, dilation_w)}
    if padding not in _SAME:
        raise Unfit(f"the padding {padding!r} is not supported; there are SAME, VALID and EXPLICIT")
    sizes = _size(x, value)
    if padding == "SAME" and any(
        stride > 1 and not isinstance(n, int) for n, stride in zip(sizes, (stride_h, stride_w), strict=True)
    ):
        raise Unfit(f"height and width must be numbers where strides are above 1, and it reads {value.type}")
    return window(
        sizes,
        kernel,
        padding=_SAME[padding],
        stride_h=stride_h,
        stride_w=stride_w,
        dilation_h_factor=dilation_h,
        dilation_w_factor=dilation_w,
    )


def _weights(value: Value) -> tuple[int, int, int, int]:
    shape = value.type.shape
    if len(shape) != 4 or not all(isinstance(size, int) for size in shape):
        raise Unfit(f"weights have four axes of known sizes, and these are {value.type}")
    height, width, inputs, outputs = map(int, shape)
    return height, width, inputs, outputs


def _channels(x: Operands, value: Value) -> Any:
    return value.type.shape[3 if x.get("data_format", "NHWC") == "NHWC" else 1]


def _conv(x: Operands) -> Any:
    """Weights are [H, W, channels of a group, outputs]."""
    height, width, inputs, _ = _weights(x[1])
    channels = _channels(x, x[0])
    if not inputs or channels % inputs:
        raise Unfit(f"weights {x[1].type} do not fit {channels} channels")
    moved = op.transpose(x[1], perm=(3, 2, 0, 1))
    sizes = _window(x, x[0], (height, width))
    return _laid_out(x, lambda image: op.conv(image, moved, groups=channels // inputs, **sizes), x[0])


def _depthwise(x: Operands) -> Any:
    """Weights are [H, W, channels, multiplier]; output ``c*m + j`` reads channel c."""
    height, width, inputs, multiplier = _weights(x[1])
    moved = op.reshape(op.transpose(x[1], perm=(2, 3, 0, 1)), shape=(inputs * multiplier, 1, height, width))
    sizes = _window(x, x[0], (height, width))
    return _laid_out(x, lambda image: op.conv(image, moved, groups=inputs, **sizes), x[0])


def _conv_transpose(x: Operands) -> Any:
    """Reads the wanted shape, weights [H, W, outputs, inputs], and the image."""
    wanted = x.sizes(0)
    if len(wanted) != 4:
        raise Unfit(f"the wanted shape {wanted} is no image's")
    return transposed_conv(x, x[2], x[1], wanted[1:3] if x.get("data_format", "NHWC") == "NHWC" else wanted[2:4])


def transposed_conv(x: Operands, image: Value, weights: Value, wanted: Sequence[Dimension]) -> Any:
    """Return the transposed convolution of an image, with a wanted height and width."""
    height, width, *_ = _weights(weights)
    if _pair(x, "dilations") != (1, 1):
        raise Unfit("its window is dilated, which is not supported")
    padding = x.get("padding", "VALID")
    if padding not in _SAME:
        raise Unfit(f"the padding {padding!r} of a transposed convolution is not supported; there are SAME and VALID")
    attributes = transposed_window(
        _size(x, image), wanted, (height, width), _pair(x, "strides"), padding=_SAME[padding]
    )
    moved = op.transpose(weights, perm=(3, 2, 0, 1))
    return _laid_out(x, lambda turned: op.conv_transpose(turned, moved, **attributes), image)


def _pool(pool: Any) -> Row:
    def pooled(x: Operands) -> Any:
        kernel = _pair(x, "ksize")
        sizes = _window(x, x[0], kernel)
        return _laid_out(x, lambda image: pool(image, kernel=kernel, **sizes), x[0])

    return pooled


def _norm(x: Operands) -> Any:
    if x.get("is_training", True):
        raise Unfit("it computes in training mode; export the graph for inference")
    rest = (x[1], x[2], x[3], x[4])
    return (_laid_out(x, lambda image: op.batch_norm(image, *rest, epsilon=number(x.get("epsilon", 1e-4))), x[0]),)


def _bias(x: Operands) -> Any:
    if x.get("data_format", "NHWC") == "NCHW" and len(x[0].type.shape) > 2:
        rank = len(x[0].type.shape)
        return op.add(x[0], op.reshape(x[1], shape=(-1, *[1] * (rank - 2))))
    return op.add(x[0], x[1])


def _borders(x: Operands) -> tuple[int, ...]:
    table = x.array(1).reshape(-1, 2)
    if len(table) != len(x[0].type.shape) or (table < 0).any():
        raise Unfit(f"borders {table.tolist()} do not fit {x[0].type}")
    return (*map(int, table[:, 0]), *map(int, table[:, 1]))


def _pad(x: Operands) -> Any:
    fill = x.array(2).reshape(()).item() if len(x) > 2 else 0
    return op.pad(x[0], pads=_borders(x), fill=fill)


def _mirror(x: Operands) -> Any:
    if x.get("mode") != "REFLECT":
        raise Unfit(f"the mode {x.get('mode')!r} is not supported; there is REFLECT")
    return op.pad(x[0], pads=_borders(x), mode="reflect")


def _resized(mode: str) -> Row:
    def resize(x: Operands) -> Any:
        height, width = x.integers(1)
        if x.get("align_corners"):
            how, near = "align_corners", "round_prefer_ceil"
        elif x.get("half_pixel_centers"):
            # Of the nearest, TensorFlow takes the floor of the middle.
            how, near = ("half_pixel", "floor") if mode == "linear" else ("tf_half_pixel_for_nn", "floor")
        else:
            how, near = "asymmetric", "floor"
        shape = x[0].type.shape
        form: dict[str, Any] = {"mode": mode, "coordinate_transformation_mode": how, "nearest_mode": near}
        known = [size for size in shape[1:3] if isinstance(size, int) and size]
        if mode == "nearest" and len(known) == 2:
            options = {"half_pixel": bool(x.get("half_pixel_centers")), "align_corners": bool(x.get("align_corners"))}
            entries = [nearest_entries(n, m, **options) for n, m in zip(known, (height, width), strict=True)]
            if not are_those_of_resize(known, entries, None, **form):
                return gathered(x[0], (1, 2), entries)
        sizes = (shape[0], shape[3], height, width)
        return channels_last(op.resize(channels_second(x[0]), sizes=sizes, **form))

    return resize


def _blocks(name: str) -> Row:
    def moved(x: Operands) -> Any:
        size = int(x.get("block_size"))
        return _laid_out(x, lambda image: getattr(op, name)(image, block_size=size), x[0])

    return moved


IMAGES: dict[str, Row] = {
    "AvgPool": _pool(op.average_pool),
    "BiasAdd": _bias,
    "Conv2D": _conv,
    "Conv2DBackpropInput": _conv_transpose,
    "DepthToSpace": _blocks("depth_to_space"),
    "DepthwiseConv2dNative": _depthwise,
    "FusedBatchNorm": _norm,
    "FusedBatchNormV2": _norm,
    "FusedBatchNormV3": _norm,
    "MaxPool": _pool(op.max_pool),
    "MirrorPad": _mirror,
    "Pad": _pad,
    "PadV2": _pad,
    "ResizeBilinear": _resized("linear"),
    "ResizeNearestNeighbor": _resized("nearest"),
    "SpaceToDepth": _blocks("space_to_depth"),
}
"""What each op means."""
