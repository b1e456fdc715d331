"""Ops of PyTorch that are layers: convolutions, norms, pools, sizes of images, attention."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from graphrewrite import op
from graphrewrite.graph import Value
from graphrewrite.lowering.exchange.entry import Unfit
from graphrewrite.lowering.exchange.torch.call import Call, Row

__all__ = ["LAYERS"]


def _each(given: Any, count: int) -> tuple[int, ...]:
    """Return one number an axis; PyTorch takes one number for all."""
    listed = tuple(given) if isinstance(given, Sequence) else (given,)
    return listed * count if len(listed) == 1 else listed


def _batched(compute: Callable[[Value], Any], value: Value, axes: int) -> Any:
    """Compute with a batch; PyTorch also takes one image alone."""
    if len(value.type.shape) == axes + 2:
        return compute(value)
    found = compute(op.unsqueeze(value, axes=(0,)))
    several = isinstance(found, tuple)
    alone = tuple(op.squeeze(each, axes=(0,)) for each in (found if several else (found,)))
    return alone if several else alone[0]


def _convolved(
    value: Value, weight: Value, bias: Value | None, x: Call, *, transposed: bool = False, fill: Any = 0
) -> Any:
    axes = len(weight.type.shape) - 2
    strides, dilations = _each(x.get("stride", 1), axes), _each(x.get("dilation", 1), axes)
    padding = x.get("padding", 0)
    kernel = weight.type.shape[2:]
    if padding == "valid":
        padding = 0
    if padding == "same":
        needed = [d * (k - 1) for d, k in zip(dilations, kernel, strict=True)]
        pads = (*(n // 2 for n in needed), *(n - n // 2 for n in needed))
    else:
        pads = _each(padding, axes) * 2
    rest = () if bias is None else (bias,)
    attributes: dict[str, Any] = {"strides": strides, "pads": pads, "dilations": dilations, "groups": x["groups"]}
    if transposed:
        attributes["output_padding"] = _each(x.get("output_padding", 0), axes)
    function = op.conv_transpose if transposed else op.conv
    return _batched(lambda image: function(image, weight, *rest, **attributes), value, axes)


def _conv(x: Call) -> Any:
    return _convolved(x[0], x["weight"], x.get("bias"), x, transposed=bool(x.get("transposed", False)))


def _conv_transpose(x: Call) -> Any:
    return _convolved(x[0], x["weight"], x.get("bias"), x, transposed=True)


def _channels(x: Call) -> Any:
    return x.shape_of(x[0])[1]


def _affine(x: Call, size: Any) -> tuple[Value, Value]:
    """Return gain and shift; 1 and 0 where the module has none."""
    if not isinstance(size, int):
        raise Unfit(f"it has no weights, and the number of channels is open: {size}")
    gain, shift = x.get("weight"), x.get("bias")
    element = x.element
    return (
        x.constant(np.ones(size), element) if gain is None else gain,
        x.constant(np.zeros(size), element) if shift is None else shift,
    )


def _batch_norm(x: Call) -> Any:
    gain, shift = _affine(x, _channels(x))
    mean, var, epsilon = x.get("running_mean"), x.get("running_var"), float(x["eps"])
    training = x.get("training", x.get("train", False))
    if training and len(x.results) > 1 and "momentum" in x.arguments:
        return _of_batch(x, gain, shift)
    if training or mean is None:
        return _of_batch(x, gain, shift)[0]
    normalised = op.batch_norm(x[0], gain, shift, mean, var, epsilon=epsilon)
    return (normalised, *[None] * (len(x.results) - 1)) if len(x.results) > 1 else normalised


def _of_batch(x: Call, gain: Value, shift: Value) -> tuple[Any, ...]:
    """Normalise by the statistics of the batch; the running ones of PyTorch take the unbiased variance."""
    value = x[0]
    shape = value.type.shape
    axes, more = (0, *range(2, len(shape))), (1,) * (len(shape) - 2)
    mean = op.reduce_mean(value, axes=axes)
    difference = op.sub(value, mean)
    var = op.reduce_mean(op.mul(difference, difference), axes=axes)
    scale = op.reciprocal(op.sqrt(op.add(var, x.value(float(x["eps"])))))
    wide = [op.reshape(each, shape=(shape[1], *more)) for each in (gain, shift)]
    normalised = op.add(op.mul(op.mul(difference, scale), wide[0]), wide[1])
    saved = (op.reshape(mean, shape=(shape[1],)), op.reshape(scale, shape=(shape[1],)))
    if len(x.results) < 5:
        return (normalised, *saved)
    count = 1
    for axis in axes:
        count = count * shape[axis]
    if not isinstance(count, int):
        raise Unfit(f"its running variance is of {count} entries, an open number; give a fixed batch")
    rate = float(x["momentum"])
    unbiased = op.mul(op.reshape(var, shape=(shape[1],)), x.value(count / max(count - 1, 1)))
    pairs = ((x["running_mean"], saved[0]), (x["running_var"], unbiased))
    running = [op.add(op.mul(old, x.value(1 - rate)), op.mul(new, x.value(rate))) for old, new in pairs]
    return (normalised, *saved, *running)


def _layer_norm(x: Call) -> Any:
    sizes = x["normalized_shape"]
    axis = len(x.shape_of(x[0])) - len(sizes)
    gain, shift, epsilon = x.get("weight"), x.get("bias"), float(x.get("eps", 1e-5))
    gain = x.constant(np.ones(sizes)) if gain is None else gain
    rest = () if shift is None else (shift,)
    found = op.layer_norm(x[0], gain, *rest, axis=axis, epsilon=epsilon)
    return (found, *[None] * (len(x.results) - 1)) if len(x.results) > 1 else found


def _rms_norm(x: Call) -> Any:
    sizes = x["normalized_shape"]
    epsilon = x.get("eps")
    epsilon = float(np.finfo(np.float64 if x.element == "f64" else np.float32).eps) if epsilon is None else epsilon
    gain = x.get("weight")
    gain = x.constant(np.ones(sizes)) if gain is None else gain
    return op.rms_norm(x[0], gain, axis=len(x.shape_of(x[0])) - len(sizes), epsilon=float(epsilon))


def _group_norm(x: Call) -> Any:
    gain, shift = _affine(x, _channels(x))
    groups = x["num_groups"] if "num_groups" in x.arguments else x["group"]
    found = op.group_norm(x[0], gain, shift, groups=groups, epsilon=float(x["eps"]))
    return (found, *[None] * (len(x.results) - 1)) if len(x.results) > 1 else found


def _instance_norm(x: Call) -> Any:
    if not x.get("use_input_stats", True):
        return _batch_norm(x)
    gain, shift = _affine(x, _channels(x))
    return op.instance_norm(x[0], gain, shift, epsilon=float(x["eps"]))


def _window(x: Call, axes: int) -> dict[str, Any]:
    kernel = _each(x["kernel_size"], axes)
    strides = _each(x.get("stride") or kernel, axes)
    return {
        "kernel": kernel,
        "strides": strides,
        "pads": _each(x.get("padding", 0), axes) * 2,
        "dilations": _each(x.get("dilation", 1), axes),
        "ceil_mode": bool(x.get("ceil_mode", False)),
    }


def _max_pool(axes: int) -> Row:
    def compute(x: Call) -> Any:
        window = _window(x, axes)
        if len(x.results) == 2:
            return _batched(lambda image: _with_places(image, axes, window), x[0], axes)
        return _batched(lambda image: op.max_pool(image, **window), x[0], axes)

    return compute


def _with_places(image: Value, axes: int, window: dict[str, Any]) -> tuple[Any, Any]:
    """Maxima and their places in the image of their channel, which PyTorch counts there."""
    sizes = image.type.shape[2:]
    values, places = op.max_pool_with_indices(image, **window)
    count = 1
    for size in sizes:
        count = count * size
    if not isinstance(count, int):
        raise Unfit("places of maxima need fixed sizes of the image")
    return values, op.mod(places, image.graph.constant(np.array(count)))


def _average_pool(axes: int) -> Row:
    def compute(x: Call) -> Any:
        window = _window(x, axes)
        counted = bool(x.get("count_include_pad", True))
        divisor = x.get("divisor_override")
        if divisor is not None:
            counted = True
        found = _batched(lambda image: op.average_pool(image, **window, count_include_pad=counted), x[0], axes)
        if divisor is None:
            return found
        if window["ceil_mode"]:
            raise Unfit("divisor_override with ceil_mode is not supported")
        return op.mul(found, x.value(float(np.prod(window["kernel"])) / divisor))

    return compute


def _adaptive(axes: int, *, mean: bool) -> Row:
    """Pools to a given size: windows from the floor of a share of the axis to the ceiling of the next."""

    def compute(x: Call) -> Any:
        wanted = _each(x["output_size"], axes)
        found = _batched(lambda image: _pooled_to(x, image, wanted, mean=mean), x[0], axes)
        return (found, None) if len(x.results) == 2 else found

    return compute


def _pooled_to(x: Call, image: Value, wanted: Sequence[int], *, mean: bool) -> Any:
    sizes = image.type.shape[2:]
    reduce = op.reduce_mean if mean else op.reduce_max
    if all(size == 1 for size in wanted):
        return reduce(image, axes=tuple(range(2, 2 + len(sizes))))
    wanted = [size if want is None else want for size, want in zip(sizes, wanted, strict=True)]
    if not all(isinstance(size, int) for size in (*sizes, *wanted)):
        raise Unfit(f"it pools an image of open sizes {list(sizes)} to {list(wanted)}")
    if all(want and size % want == 0 for size, want in zip(sizes, wanted, strict=True)):
        kernel = tuple(size // want for size, want in zip(sizes, wanted, strict=True))
        if set(kernel) == {1}:
            return op.identity(image)
        pool = op.average_pool if mean else op.max_pool
        count = len(sizes)
        return pool(image, kernel=kernel, strides=kernel, pads=(0,) * 2 * count, dilations=(1,) * count)
    for at, (size, want) in enumerate(zip(sizes, wanted, strict=True)):
        parts = []
        for index in range(want):
            start, end = index * size // want, -(-(index + 1) * size // want)
            part = op.slice(image, starts=(start,), ends=(end,), axes=(2 + at,))
            parts.append(reduce(part, axes=(2 + at,)) if end - start > 1 else part)
        image = op.concat(*parts, axis=2 + at) if len(parts) > 1 else parts[0]
    return image


def _resized(mode: str, axes: int, *, antialias: bool = False, exact: bool = False) -> Row:
    def compute(x: Call) -> Any:
        image = x[0]
        sizes, wanted = image.type.shape[2:], x.shape[2:]
        if x.get("align_corners", False):
            how = "align_corners"
        elif mode == "nearest":
            how = "half_pixel" if exact else "asymmetric"
        else:
            how = "half_pixel"
        near = "round_prefer_ceil" if exact else "floor"
        # Scales that are given say where entries lie, also where they make no whole sizes.
        scales = _scales(x, axes) if how != "align_corners" else None
        if scales is not None and any(
            n * s != m for n, s, m in zip(sizes, scales, wanted, strict=True) if isinstance(n, int)
        ):
            reached: dict[str, Any] = {"scales": scales}
        else:
            reached = {"sizes": tuple(wanted)}
        return op.resize(
            image,
            **reached,
            axes=tuple(range(2, 2 + axes)),
            mode=mode,
            coordinate_transformation_mode=how,
            nearest_mode=near,
            antialias=antialias,
            cubic_coeff_a=-0.5 if antialias else -0.75,
            exclude_outside=antialias,
        )

    return compute


def _scales(x: Call, axes: int) -> tuple[float, ...] | None:
    """Return the scales that a call gives, in any of the forms of its overloads."""
    given = x.get("scale_factors")
    if given is not None:
        return tuple(given)
    single = [x.get(name) for name in ("scales_d", "scales_h", "scales_w", "scales")]
    found = tuple(each for each in single if each is not None)
    return found if len(found) == axes else None


def _padded(x: Call) -> Any:
    """Borders are given from the last axis on."""
    pads, rank = x["pad"] if "pad" in x.arguments else x["padding"], len(x.shape)
    count = len(pads) // 2
    begins, ends = [0] * rank, [0] * rank
    for at in range(count):
        begins[rank - 1 - at], ends[rank - 1 - at] = pads[2 * at], pads[2 * at + 1]
    mode = x.get("mode", "constant")
    if mode not in _BORDERS:
        raise Unfit(f"mode={mode!r} is not supported; there are {', '.join(_BORDERS)}")
    borders = (*begins, *ends)
    if mode == "constant":
        fill = x.get("value")
        return op.pad(x[0], pads=borders, fill=0 if fill is None else fill)
    return op.pad(x[0], pads=borders, mode=_BORDERS[mode])


_BORDERS = {"constant": "constant", "reflect": "reflect", "replicate": "edge", "circular": "wrap"}


def _bordered(mode: str) -> Row:
    def compute(x: Call) -> Any:
        arguments = {**x.arguments, "mode": mode}
        return _padded(Call(x.graph, arguments, x.results, x.common, x.known))

    return compute


def _attention(x: Call) -> Any:
    query, key, value, mask = x["query"], x["key"], x["value"], x.get("attn_mask")
    if x.get("dropout_p", 0.0):
        raise Unfit("it drops scores at random; import the model for inference: model.eval()")
    shape = query.type.shape
    if mask is not None and mask.type.element not in ("bool", query.type.element):
        mask = op.cast(mask, element=query.type.element)
    # Ours takes [N, heads, T, size].
    lead = len(shape) - 2
    batches = [each.type.shape[:lead] for each in (query, key, value)]
    if lead == 2 and batches[0][0] == batches[1][0] == batches[2][0]:
        q, k, v = query, key, value
    elif batches[0] == batches[1] == batches[2]:
        q, k, v = (op.reshape(each, shape=_four(each.type.shape)) for each in (query, key, value))
        if mask is not None and len(mask.type.shape) > 2:
            if lead > 2:
                mask = op.expand(mask, shape=(*shape[:-2], *mask.type.shape[-2:]))
            mask = op.reshape(mask, shape=_four(mask.type.shape))
    else:
        raise Unfit(f"queries {query.type}, keys {key.type} and values {value.type} have different batches")
    rest = () if mask is None else (mask,)
    scale = x.get("scale")
    found = op.attention(
        q, k, v, *rest, scale=None if scale is None else float(scale), is_causal=bool(x.get("is_causal", False))
    )
    found = found if found.type.shape == x.shape else op.reshape(found, shape=x.shape)
    return (found, *[None] * (len(x.results) - 1)) if len(x.results) > 1 else found


def _four(shape: Sequence[Any]) -> tuple[Any, ...]:
    """Return a shape with four axes: all but the last three are one."""
    if len(shape) <= 3:
        return (1,) * (4 - len(shape)) + tuple(shape)
    batch = 1
    for size in shape[:-3]:
        batch = batch * size
    return (batch, *shape[-3:])


def _grid_sample(x: Call) -> Any:
    mode = ("linear", "nearest", "cubic")[x["interpolation_mode"]]
    border = ("zeros", "border", "reflection")[x["padding_mode"]]
    return op.grid_sample(x[0], x[1], mode=mode, padding_mode=border, align_corners=bool(x["align_corners"]))


def _fold(x: Call) -> Any:
    pads = tuple(x["padding"]) * 2
    return op.fold(
        x[0],
        size=x["output_size"],
        kernel=x["kernel_size"],
        strides=x["stride"],
        pads=pads,
        dilations=x["dilation"],
    )


def _unfold(x: Call) -> Any:
    """Windows as columns: a convolution with weights of one 1 each takes an image apart."""
    kernel, (batch, channels) = x["kernel_size"], x[0].type.shape[:2]
    entries = int(np.prod(kernel))
    weights = np.tile(np.eye(entries).reshape(entries, 1, *kernel), (channels, 1, 1, 1))
    windows = op.conv(
        x[0],
        x.constant(weights),
        strides=x["stride"],
        pads=tuple(x["padding"]) * 2,
        dilations=x["dilation"],
        groups=channels,
    )
    return op.reshape(windows, shape=(batch, channels * entries, x.shape[-1]))


def _nll_loss(x: Call) -> Any:
    reduction = ("none", "mean", "sum")[x["reduction"]]
    rest = () if x.get("weight") is None else (x["weight"],)
    return op.nll_loss(x[0], x["target"], *rest, reduction=reduction, ignore_index=x["ignore_index"])


def _weight_norm(x: Call) -> Any:
    """Weights of a given norm along all axes but one."""
    axes = tuple(axis for axis in range(len(x.shape)) if axis != x["dim"])
    return op.mul(x["v"], op.div(x["g"], op.reduce_l2(x["v"], axes=axes))), None


def _shuffled(x: Call) -> Any:
    return op.channel_shuffle(x[0], groups=x["groups"])


LAYERS: dict[str, Row] = {
    **dict.fromkeys(("aten.conv1d", "aten.conv2d", "aten.conv3d", "aten.convolution"), _conv),
    **dict.fromkeys(("aten.conv_transpose1d", "aten.conv_transpose2d", "aten.conv_transpose3d"), _conv_transpose),
    **dict.fromkeys(
        (
            *("aten.batch_norm", "aten._native_batch_norm_legit_no_training", "aten.native_batch_norm"),
            *("aten._native_batch_norm_legit", "aten._native_batch_norm_legit_functional"),
        ),
        _batch_norm,
    ),
    **dict.fromkeys(("aten.layer_norm", "aten.native_layer_norm"), _layer_norm),
    **dict.fromkeys(("aten.group_norm", "aten.native_group_norm"), _group_norm),
    **{f"aten.max_pool{axes}d": _max_pool(axes) for axes in (1, 2, 3)},
    **{f"aten.max_pool{axes}d_with_indices": _max_pool(axes) for axes in (1, 2, 3)},
    **{f"aten.avg_pool{axes}d": _average_pool(axes) for axes in (1, 2, 3)},
    **{f"aten.adaptive_avg_pool{axes}d": _adaptive(axes, mean=True) for axes in (1, 2, 3)},
    **{f"aten._adaptive_avg_pool{axes}d": _adaptive(axes, mean=True) for axes in (2, 3)},
    **{f"aten.adaptive_max_pool{axes}d": _adaptive(axes, mean=False) for axes in (1, 2, 3)},
    **{f"aten.upsample_nearest{axes}d": _resized("nearest", axes) for axes in (1, 2, 3)},
    **{f"aten._upsample_nearest_exact{axes}d": _resized("nearest", axes, exact=True) for axes in (1, 2, 3)},
    **{
        f"aten.{name}": _bordered(mode)
        for mode in ("reflect", "replicate")
        for name in (f"{'reflection' if mode == 'reflect' else 'replication'}_pad{axes}d" for axes in (1, 2, 3))
    },
    "aten._upsample_bicubic2d_aa": _resized("cubic", 2, antialias=True),
    "aten._upsample_bilinear2d_aa": _resized("linear", 2, antialias=True),
    "aten.channel_shuffle": _shuffled,
    "aten.col2im": _fold,
    "aten.constant_pad_nd": _padded,
    "aten.grid_sampler": _grid_sample,
    "aten.grid_sampler_2d": _grid_sample,
    "aten.grid_sampler_3d": _grid_sample,
    "aten.im2col": _unfold,
    "aten.instance_norm": _instance_norm,
    "aten.pad": _padded,
    "aten.rms_norm": _rms_norm,
    "aten._scaled_dot_product_flash_attention_for_cpu": _attention,
    "aten._weight_norm_interface": _weight_norm,
    "aten.nll_loss": _nll_loss,
    "aten.nll_loss_nd": _nll_loss,
    "aten.scaled_dot_product_attention": _attention,
    "aten.upsample_bicubic2d": _resized("cubic", 2),
    "aten.upsample_bilinear2d": _resized("linear", 2),
    "aten.upsample_linear1d": _resized("linear", 1),
    "aten.upsample_trilinear3d": _resized("linear", 3),
}
"""What each op means."""
