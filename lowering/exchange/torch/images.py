"""Ops of PyTorch on images: pools, sizes, borders, samples, windows."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from graphrewrite import op
from graphrewrite.graph import Value
from graphrewrite.lowering.exchange.entry import Unfit
from graphrewrite.lowering.exchange.nearest_entries import are_those_of_resize, gathered, nearest_entries
from graphrewrite.lowering.exchange.torch.call import Call, Row, batched, each_axis

__all__ = ["IMAGES", "check_grid_sample", "pooled_to"]


def _window(x: Call, axes: int) -> dict[str, Any]:
    kernel = each_axis(x["kernel_size"], axes)
    strides = each_axis(x["stride"] or kernel, axes)
    return {
        "kernel": kernel,
        "strides": strides,
        "pads": each_axis(x["padding"], axes) * 2,
        "dilations": each_axis(x.get("dilation", 1), axes),
        "ceil_mode": bool(x["ceil_mode"]),
    }


def _max_pool(axes: int) -> Row:
    def compute(x: Call) -> Any:
        window = _window(x, axes)
        if len(x.results) == 2:
            return batched(lambda image: _with_places(image, axes, window), x[0], axes)
        return batched(lambda image: op.max_pool(image, **window), x[0], axes)

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
        counted = bool(x["count_include_pad"])
        divisor = x.get("divisor_override")
        if divisor is not None:
            counted = True
        found = batched(lambda image: op.average_pool(image, **window, count_include_pad=counted), x[0], axes)
        if divisor is None:
            return found
        if window["ceil_mode"]:
            raise Unfit("divisor_override with ceil_mode is not supported")
        return op.mul(found, x.value(float(np.prod(window["kernel"])) / divisor))

    return compute


def _adaptive(axes: int, *, mean: bool) -> Row:
    """Pools to a given size: windows from the floor of a share of the axis to the ceiling of the next."""

    def compute(x: Call) -> Any:
        wanted = each_axis(x["output_size"], axes)
        found = batched(lambda image: pooled_to(image, wanted, mean=mean), x[0], axes)
        return x.first(found)

    return compute


def pooled_to(image: Value, wanted: Sequence[int | None], *, mean: bool) -> Any:
    """Return the means or maxima of windows of an image, channels second, so that there are as many as wanted."""
    sizes = image.type.shape[2:]
    reduce = op.reduce_mean if mean else op.reduce_max
    if all(size == 1 for size in wanted):
        return reduce(image, axes=tuple(range(2, 2 + len(sizes))))
    kept: list[Any] = [size if want is None else want for size, want in zip(sizes, wanted, strict=True)]
    if not all(isinstance(size, int) and size for size in (*sizes, *kept)):
        raise Unfit(f"it pools an image of sizes {list(sizes)} to {list(kept)}, which must be numbers, and not 0")
    if all(size % want == 0 for size, want in zip(sizes, kept, strict=True)):
        kernel = tuple(size // want for size, want in zip(sizes, kept, strict=True))
        if set(kernel) == {1}:
            return op.identity(image)
        pool = op.average_pool if mean else op.max_pool
        return pool(image, kernel=kernel, strides=kernel)
    for at, (size, want) in enumerate(zip(sizes, kept, strict=True)):
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
            if antialias:
                raise Unfit("align_corners=True with antialias=True is not supported")
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
        along = tuple(range(2, 2 + axes))
        if mode == "nearest" and all(isinstance(size, int) and size for size in (*sizes, *wanted)):
            copies = axes == 2 and not exact
            entries = [
                # In two dimensions, axes of the same size, and of twice it, are copied, whatever scale is given.
                nearest_entries(n, m, half_pixel=exact, scale=None if copies and m in (n, 2 * n) else s)
                for n, m, s in zip(sizes, wanted, scales or (None,) * axes, strict=True)
            ]
            form = {"mode": mode, "coordinate_transformation_mode": how, "nearest_mode": near}
            if not are_those_of_resize(sizes, entries, reached.get("scales"), **form):
                return gathered(image, along, entries)
        return op.resize(
            image,
            **reached,
            axes=along,
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


def check_grid_sample(mode: str, border: str) -> None:
    """Refuse samples of which PyTorch computes others than ONNX."""
    if (mode, border) == ("cubic", "border"):
        raise Unfit("bicubic samples of images whose border goes on are not supported: PyTorch has others than ONNX")


def _grid_sample(x: Call) -> Any:
    mode: Any = ("linear", "nearest", "cubic")[x["interpolation_mode"]]
    border: Any = ("zeros", "border", "reflection")[x["padding_mode"]]
    check_grid_sample(mode, border)
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


def _shuffled(x: Call) -> Any:
    return op.channel_shuffle(x[0], groups=x["groups"])


IMAGES: dict[str, Row] = {
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
    "aten.pad": _padded,
    "aten.upsample_bicubic2d": _resized("cubic", 2),
    "aten.upsample_bilinear2d": _resized("linear", 2),
    "aten.upsample_linear1d": _resized("linear", 1),
    "aten.upsample_trilinear3d": _resized("linear", 3),
}
"""What each op means."""
