"""Layers of Keras that slide windows, reduce images and move entries, as numpy computes them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import product
from typing import Any

import numpy as np

from tests.support.keras_files import IMAGE, Case, T, X, drawn

__all__ = ["moved", "reduced", "sliding"]


def windows(
    x: np.ndarray, size: Sequence[int], strides: Sequence[int], dilations: Sequence[int], padding: str, fill: float = 0
) -> np.ndarray:
    """Windows [N, *sizes, *size, C] of an array with channels last, with TensorFlow's borders."""
    pads = [(0, 0)]
    for n, k, s, d in zip(x.shape[1:-1], size, strides, dilations, strict=True):
        reach = (k - 1) * d
        total = max((-(-n // s) - 1) * s + reach + 1 - n, 0) if padding == "same" else 0
        pads.append((reach, 0) if padding == "causal" else (total // 2, total - total // 2))
    wide = np.pad(x, [*pads, (0, 0)], constant_values=fill)
    axes = tuple(range(1, x.ndim - 1))
    reach = tuple((k - 1) * d + 1 for k, d in zip(size, dilations, strict=True))
    view = np.lib.stride_tricks.sliding_window_view(wide, reach, axes)  # [N, *sizes, C, *reach]
    view = view[(slice(None), *(slice(None, None, s) for s in strides), slice(None))]
    view = view[(..., *(slice(None, None, d) for d in dilations))]
    return np.moveaxis(view, x.ndim - 1, -1)


def convolved(x: np.ndarray, kernel: np.ndarray, *, depthwise: bool = False, **how: Any) -> np.ndarray:
    count = x.ndim - 2
    found = windows(x, kernel.shape[:count], **how)
    letters = "abc"[:count]
    weights = f"{letters}xm->...xm" if depthwise else f"{letters}xm->...m"
    y = np.einsum(f"...{letters}x,{weights}", found, kernel)
    return y.reshape(*y.shape[: count + 1], -1)


def transposed(x: np.ndarray, kernel: np.ndarray, strides: Sequence[int], sizes: Sequence[int], same: bool) -> Any:
    """What each entry adds to the window that it came from, for kernels [*size, O, I]."""
    count = x.ndim - 2
    whole = [(n - 1) * s + k for n, s, k in zip(x.shape[1:-1], strides, kernel.shape[:count], strict=True)]
    before = [max(w - size, 0) // 2 if same else 0 for w, size in zip(whole, sizes, strict=True)]
    room = [max(w, b + size) for w, b, size in zip(whole, before, sizes, strict=True)]
    y = np.zeros((len(x), *room, kernel.shape[-2]))
    for place in np.ndindex(*x.shape[1:-1]):
        window = tuple(slice(p * s, p * s + k) for p, s, k in zip(place, strides, kernel.shape[:count], strict=True))
        y[(slice(None), *window)] += np.einsum("ni,...oi->n...o", x[(slice(None), *place)], kernel)
    return y[(slice(None), *(slice(b, b + size) for b, size in zip(before, sizes, strict=True)))]


def sliding() -> Iterator[Case]:
    """Convolutions and pools of one to three axes, with borders of each kind, channels last and first."""
    shapes = {1: (7,), 2: (6, 7), 3: (4, 5, 6)}
    sizes = {1: (3,), 2: (3, 2), 3: (2, 3, 2)}
    one = {n: (1,) * n for n in shapes}
    several = {1: (2,), 2: (2, 3), 3: (1, 2, 2)}
    for n, padding in product(shapes, ("valid", "same")):
        x, size, bias = drawn(2, *shapes[n], 2), sizes[n], drawn(4)
        kernel = drawn(*size, 2, 4)
        for strides, dilations in ((several[n], one[n]), (one[n], several[n])):
            how = {"strides": strides, "dilations": dilations, "padding": padding}
            said = {"strides": list(strides), "dilation_rate": list(dilations), "padding": padding}
            wanted = convolved(x, kernel, **how)
            yield f"Conv{n}D", (x,), {**said, "weights": [kernel, bias]}, wanted + bias
            yield f"Conv{n}D", (x,), {**said, "weights": [kernel], "use_bias": False}, wanted
            first = {**said, "weights": [kernel, bias], "data_format": "channels_first", "activation": "relu"}
            yield f"Conv{n}D", (np.moveaxis(x, -1, 1),), first, np.maximum(np.moveaxis(wanted + bias, -1, 1), 0)
        if n < 3:
            stride = several[n][:1] * n
            how = {"strides": stride, "dilations": one[n], "padding": padding}
            said = {"strides": list(stride), "padding": padding}
            depth, point = drawn(*size, 2, 3), drawn(*one[n], 6, 4)
            deep = convolved(x, depth, depthwise=True, **how)
            add = drawn(6)
            yield f"DepthwiseConv{n}D", (x,), {**said, "weights": [depth, add]}, deep + add
            plain = {"strides": one[n], "dilations": one[n], "padding": "valid"}
            wanted = convolved(deep, point, **plain) + bias
            yield f"SeparableConv{n}D", (x,), {**said, "weights": [depth, point, bias]}, wanted
        for kind, fold, fill in (("MaxPooling", np.nanmax, np.nan), ("AveragePooling", np.nanmean, np.nan)):
            for strides in (size, one[n]):
                found = windows(x, size, strides, one[n], padding, fill)
                wanted = fold(found, axis=tuple(range(n + 1, 2 * n + 1)))
                said = {"pool_size": list(size), "padding": padding, "strides": None if strides == size else strides}
                yield f"{kind}{n}D", (x,), said, wanted
                first = {**said, "data_format": "channels_first"}
                yield f"{kind}{n}D", (np.moveaxis(x, -1, 1),), first, np.moveaxis(wanted, -1, 1)
        turned = drawn(*size, 4, 2)
        for strides in (one[n], several[n], (4,) * n):
            triples = [*zip(shapes[n], strides, size, strict=True)]
            wide = [m * s if padding == "same" else m * s + max(k - s, 0) for m, s, k in triples]
            wanted = transposed(x, turned, strides, wide, padding == "same") + bias
            said = {"strides": list(strides), "padding": padding, "weights": [turned, bias]}
            yield f"Conv{n}DTranspose", (x,), said, wanted
        if n == 2:
            wide = [
                (m - 1) * 3 + k - 2 * (k // 2) * (padding == "same") + 1 for m, k in zip(shapes[n], size, strict=True)
            ]
            said = {"strides": 3, "output_padding": 1, "padding": padding, "weights": [turned, bias]}
            yield "Conv2DTranspose", (x,), said, transposed(x, turned, (3, 3), wide, padding == "same") + bias
    x, kernel = drawn(2, 7, 2), drawn(3, 2, 4)
    how = {"strides": (1,), "dilations": (2,), "padding": "causal"}
    said = {"dilation_rate": 2, "padding": "causal", "use_bias": False, "weights": [kernel]}
    yield "Conv1D", (x,), said, convolved(x, kernel, **how)
    first = {**said, "data_format": "channels_first"}
    yield "Conv1D", (x.swapaxes(1, 2),), first, convolved(x, kernel, **how).swapaxes(1, 2)


def reduced() -> Iterator[Case]:
    """Pools over whole images, or to a given size."""
    for n, shape in ((1, (6,)), (2, (6, 4)), (3, (2, 6, 4))):
        x = drawn(2, *shape, 3)
        first = np.moveaxis(x, -1, 1)
        for kind, fold in (("Max", np.max), ("Average", np.mean)):
            name = f"Global{kind}Pooling{n}D"
            wanted = fold(x, axis=tuple(range(1, n + 1)), keepdims=True)
            yield name, (x,), {}, wanted.reshape(2, 3)
            yield name, (x,), {"keepdims": True}, wanted
            yield name, (first,), {"data_format": "channels_first"}, wanted.reshape(2, 3)
            out = [size // 2 for size in shape]
            parts = x.reshape(2, *(e for size in out for e in (size, 2)), 3)
            wanted = fold(parts, axis=tuple(range(2, 2 * n + 1, 2)))
            yield f"Adaptive{kind}Pooling{n}D", (x,), {"output_size": out}, wanted
            said = {"output_size": out, "data_format": "channels_first"}
            yield f"Adaptive{kind}Pooling{n}D", (first,), said, np.moveaxis(wanted, -1, 1)


def moved() -> Iterator[Case]:
    """Layers that move entries."""
    first = IMAGE.transpose(0, 3, 1, 2)
    for n in (1, 2, 3):
        x = drawn(2, *(5, 6, 4)[:n], 3)
        pairs = [(1, 2), (0, 1), (2, 0)][:n]
        inner = tuple(slice(a, -b or None) for a, b in pairs)
        said = pairs[0] if n == 1 else pairs
        yield f"Cropping{n}D", (x,), {"cropping": said}, x[(slice(None), *inner)]
        yield f"Cropping{n}D", (x,), {"cropping": 1}, x[(slice(None), *[slice(1, -1)] * n)]
        yield f"ZeroPadding{n}D", (x,), {"padding": said}, np.pad(x, [(0, 0), *pairs, (0, 0)])
        yield f"ZeroPadding{n}D", (x,), {}, np.pad(x, [(0, 0), *[(1, 1)] * n, (0, 0)])
        wanted = x
        for axis, factor in enumerate((2, 3, 2)[:n], 1):
            wanted = wanted.repeat(factor, axis)
        yield f"UpSampling{n}D", (x,), {"size": 2 if n == 1 else [2, 3, 2][:n]}, wanted
    yield "Cropping2D", (IMAGE,), {"cropping": 0}, IMAGE
    yield "Cropping2D", (first,), {"cropping": [2, 1], "data_format": "channels_first"}, first[:, :, 2:-2, 1:-1]
    yield (
        "ZeroPadding2D",
        (first,),
        {"padding": [2, 1], "data_format": "channels_first"},
        np.pad(first, [(0, 0), (0, 0), (2, 2), (1, 1)]),
    )
    yield "UpSampling2D", (first,), {"size": [1, 2], "data_format": "channels_first"}, first.repeat(2, 3)
    yield (
        "UpSampling2D",
        (IMAGE[:, :1, :2],),
        {"interpolation": "bilinear"},
        (
            IMAGE[:, [0, 0]][:, :, [0, 0, 0, 1]] * np.float32([1, 0.75, 0.25, 0])[:, None]
            + IMAGE[:, [0, 0]][:, :, [1, 1, 1, 1]] * np.float32([0, 0.25, 0.75, 1])[:, None]
        ),
    )
    yield "Resizing", (IMAGE,), {"height": 10, "width": 3, "interpolation": "nearest"}, IMAGE.repeat(2, 1)[:, :, 1::2]
    yield "Resizing", (IMAGE,), {"height": 5, "width": 3}, (IMAGE[:, :, ::2] + IMAGE[:, :, 1::2]) / 2
    yield "CenterCrop", (IMAGE,), {"height": 2, "width": 3}, IMAGE[:, 1:3, 1:4]
    yield "Flatten", (IMAGE,), {}, IMAGE.reshape(2, -1)
    yield "Flatten", (first,), {"data_format": "channels_first"}, IMAGE.reshape(2, -1)
    yield "Reshape", (IMAGE,), {"target_shape": [-1, 9]}, IMAGE.reshape(2, 10, 9)
    yield "Reshape", (IMAGE,), {"target_shape": [3, 30]}, IMAGE.reshape(2, 3, 30)
    yield "Permute", (IMAGE,), {"dims": [3, 1, 2]}, first
    yield "RepeatVector", (X,), {"n": 3}, X[:, None].repeat(3, 1)
    yield "Concatenate", ([T, 2 * T],), {"axis": 1}, np.concatenate([T, 2 * T], 1)
    yield "Concatenate", ([T, 2 * T],), {}, np.concatenate([T, 2 * T], 2)
    yield "Dropout", (X,), {"rate": 0.5}, X
