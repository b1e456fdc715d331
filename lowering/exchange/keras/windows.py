"""Layers of Keras that slide a window: convolutions and pools of one to three axes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from graphrewrite import op
from graphrewrite.graph import Value
from graphrewrite.lowering.exchange.entry import Unfit
from graphrewrite.lowering.exchange.keras.activations import activated
from graphrewrite.lowering.exchange.keras.layer import Layer, Row
from graphrewrite.lowering.exchange.keras.masks import masked_mean
from graphrewrite.lowering.exchange.tensorflow.images import transposed_conv
from graphrewrite.lowering.exchange.tensorflow.importer import Operands
from graphrewrite.lowering.exchange.tensorflow.volumes import transposed_volume
from graphrewrite.lowering.exchange.torch.images import pooled_to

__all__ = ["WINDOWS", "biased", "convolved"]

_FORMATS = {"channels_last": ("NHWC", "NDHWC"), "channels_first": ("NCHW", "NCDHW")}


def _axes(setting: Any, count: int) -> tuple[int, ...]:
    return (int(setting),) * count if isinstance(setting, int | float) else tuple(map(int, setting))


def _flat(layer: Layer) -> bool:
    return bool(layer.get("data_format", "channels_last") == "channels_last")


def _attributes(layer: Layer, count: int, **settings: Sequence[int]) -> dict[str, Any]:
    """Return attributes of an op of TensorFlow over two or three axes; those of a single axis get one in front."""
    last = _flat(layer)
    padding = str(layer.get("padding", "valid")).upper()
    found: dict[str, Any] = {"padding": {"CAUSAL": "VALID"}.get(padding, padding)}
    found["data_format"] = _FORMATS["channels_last" if last else "channels_first"][count == 3]
    for name, values in settings.items():
        wide = (1, *values) if len(values) == 1 else tuple(values)
        found[name] = (1, *wide, 1) if last else (1, 1, *wide)
    return found


def _widened(layer: Layer, x: Value, count: int, compute: Callable[[Value], Value]) -> Any:
    """Compute with two axes where there is one."""
    if count > 1:
        return compute(x)
    axis = 1 if _flat(layer) else 2
    return op.squeeze(compute(op.unsqueeze(x, axes=(axis,))), axes=(axis,))


def biased(layer: Layer, y: Value, bias: Sequence[Value]) -> Any:
    """Add the bias of each channel."""
    if bias and not _flat(layer):
        rank = len(y.type.shape)
        y = op.add(y, op.reshape(bias[0], shape=(-1, *[1] * (rank - 2))))
    elif bias:
        y = op.add(y, bias[0])
    return y


def _names(layer: Layer, *names: str) -> list[Value]:
    return layer.weights(*names, *(["bias"] if layer.has("use_bias") else []))


def _causal(layer: Layer, x: Value, kernel: Value) -> Value:
    """A border before the first axis, so that no result sees a later entry."""
    if layer.get("padding") != "causal":
        return x
    (dilation,) = _axes(layer.get("dilation_rate", 1), 1)
    before = dilation * (int(kernel.type.shape[-3]) - 1)
    padded: Value = op.pad(x, pads=(0, before, 0, 0, 0, 0) if _flat(layer) else (0, 0, before, 0, 0, 0))
    return padded


def convolved(layer: Layer, x: Value, kernel: Value, count: int, name: str) -> Any:
    """Apply a convolution of TensorFlow with the strides, the dilations and the borders of a layer."""
    attributes = _attributes(
        layer,
        count,
        strides=_axes(layer.get("strides", 1), count),
        dilations=_axes(layer.get("dilation_rate", 1), count),
    )
    wide = op.unsqueeze(kernel, axes=(0,)) if count == 1 else kernel
    return _widened(layer, _causal(layer, x, kernel), count, lambda image: layer.tf(name, image, wide, **attributes))


def _conv(count: int) -> Row:
    def conv(layer: Layer, x: Value) -> Any:
        kernel, *bias = _names(layer, "kernel")
        return activated(
            layer, biased(layer, convolved(layer, x, kernel, count, "Conv3D" if count == 3 else "Conv2D"), bias)
        )

    return conv


_DEPTHWISE = "DepthwiseConv2dNative"


def _depthwise(count: int) -> Row:
    def depthwise(layer: Layer, x: Value) -> Any:
        kernel, *bias = _names(layer, "depthwise_kernel" if layer.archive.version < 3 else "kernel")
        return activated(layer, biased(layer, convolved(layer, x, kernel, count, _DEPTHWISE), bias))

    return depthwise


def _separable(count: int) -> Row:
    def separable(layer: Layer, x: Value) -> Any:
        depth, point, *bias = _names(layer, "depthwise_kernel", "pointwise_kernel")
        y = convolved(layer, x, depth, count, _DEPTHWISE)
        ones = (1,) * count
        plain = {**_attributes(layer, count, strides=ones, dilations=ones), "padding": "VALID"}
        wide = op.unsqueeze(point, axes=(0,)) if count == 1 else point
        y = _widened(layer, y, count, lambda image: layer.tf("Conv2D", image, wide, **plain))
        return activated(layer, biased(layer, y, bias))

    return separable


def _transposed(count: int) -> Row:
    def transposed(layer: Layer, x: Value) -> Any:
        kernel, *bias = _names(layer, "kernel")
        strides, dilations = (_axes(layer.get(name, 1), count) for name in ("strides", "dilation_rate"))
        if not _flat(layer) or any(d != 1 for d in dilations):
            raise Unfit("channels_first and dilation_rate are not supported for transposed convolutions")
        more = layer.get("output_padding")
        extra = (None,) * count if more is None else _axes(more, count)
        wanted = [
            _transposed_size(n, int(k), s, layer.get("padding", "valid"), e)
            for n, k, s, e in zip(x.type.shape[1:-1], kernel.type.shape[:count], strides, extra, strict=True)
        ]
        attributes = _attributes(layer, count, strides=strides)
        wide = op.unsqueeze(kernel, axes=(0,)) if count == 1 else kernel
        settings, shape = Operands((), attributes, layer.known), [1, *wanted] if count == 1 else wanted
        compute = transposed_volume if count == 3 else transposed_conv
        y = _widened(layer, x, count, lambda image: compute(settings, image, wide, shape))
        return activated(layer, biased(layer, y, bias))

    return transposed


def _transposed_size(size: Any, kernel: int, stride: int, padding: str, more: int | None) -> Any:
    """Return the size that a transposed convolution gives (keras.src.backend.common: compute_conv_transpose)."""
    if more is not None:
        pad = kernel // 2 if padding == "same" else 0
        return (size - 1) * stride + kernel - 2 * pad + more
    return size * stride if padding == "same" else size * stride + max(kernel - stride, 0)


def _pool(name: str, count: int) -> Row:
    def pool(layer: Layer, x: Value) -> Any:
        kernel = _axes(layer.get("pool_size", 2), count)
        strides = layer.get("strides")
        attributes = _attributes(
            layer, count, ksize=kernel, strides=kernel if strides is None else _axes(strides, count)
        )
        full = f"{name}3D" if count == 3 else name
        return _widened(layer, x, count, lambda image: layer.tf(full, image, **attributes))

    return pool


def _global(reduce: Any) -> Row:
    def pool(layer: Layer, x: Value) -> Any:
        rank = len(x.type.shape)
        mask = layer.mask(x) if layer.kind == "GlobalAveragePooling1D" else None
        if mask is not None:
            return masked_mean(x, mask, 1 if _flat(layer) else 2, keep_dims=bool(layer.get("keepdims", False)))
        axes = tuple(range(1, rank - 1)) if _flat(layer) else tuple(range(2, rank))
        return reduce(x, axes=axes, keep_dims=bool(layer.get("keepdims", False)))

    return pool


def _adaptive(count: int, *, mean: bool) -> Row:
    def pool(layer: Layer, x: Value) -> Any:
        wanted, rank = _axes(layer.get("output_size"), count), len(x.type.shape)
        if not _flat(layer):
            return pooled_to(x, wanted, mean=mean)
        y = pooled_to(op.transpose(x, perm=(0, rank - 1, *range(1, rank - 1))), wanted, mean=mean)
        return op.transpose(y, perm=(0, *range(2, rank), 1))

    return pool


WINDOWS: dict[str, Row] = {
    **{f"Conv{n}D": _conv(n) for n in (1, 2, 3)},
    **{f"Conv{n}DTranspose": _transposed(n) for n in (1, 2, 3)},
    **{f"DepthwiseConv{n}D": _depthwise(n) for n in (1, 2)},
    **{f"SeparableConv{n}D": _separable(n) for n in (1, 2)},
    **{f"MaxPooling{n}D": _pool("MaxPool", n) for n in (1, 2, 3)},
    **{f"AveragePooling{n}D": _pool("AvgPool", n) for n in (1, 2, 3)},
    **{f"GlobalMaxPooling{n}D": _global(op.reduce_max) for n in (1, 2, 3)},
    **{f"GlobalAveragePooling{n}D": _global(op.reduce_mean) for n in (1, 2, 3)},
    **{f"AdaptiveMaxPooling{n}D": _adaptive(n, mean=False) for n in (1, 2, 3)},
    **{f"AdaptiveAveragePooling{n}D": _adaptive(n, mean=True) for n in (1, 2, 3)},
}
"""What each layer means."""
