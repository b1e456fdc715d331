"""Gradients equal PyTorch's: every op that has a rule, over the branches of its attributes, at kinks too."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any, NamedTuple

import numpy as np
import pytest

from graphrewrite import Graph, Tensor, evaluate, rewrite
from graphrewrite.learning.preparation import differentiated_ops
from graphrewrite.lowering.gradients import GRADIENTS
from graphrewrite.op import LIBRARY
from graphrewrite.types import element_dtype, element_of

torch = pytest.importorskip("torch", reason="PyTorch is not installed: gradients are not compared with its own")
F = torch.nn.functional


class Case(NamedTuple):
    """An op, its attributes, the shapes or arrays of its operands, and PyTorch's function of them."""

    name: str
    other: Callable[..., Any]
    operands: tuple[Any, ...]
    attributes: Mapping[str, Any] = MappingProxyType({})
    kinks: bool = True
    held: tuple[int, ...] = ()
    """Operands along which PyTorch has no gradient."""


def _index(*values: int) -> np.ndarray:
    return np.array(values, np.int64)


X, ROW = (2, 3, 4), (4,)


def _deformed(
    x: Any,
    w: Any,
    offset: Any,
    b: Any = None,
    mask: Any = None,
    *,
    pads: Any,
    groups: int,
    offset_groups: int,
    strides: Any,
    dilations: Any,
) -> Any:
    ops = pytest.importorskip("torchvision.ops")
    return ops.deform_conv2d(x, offset, w, b, strides, pads[:2], dilations, mask)


def _of_regions(
    x: Any,
    rois: Any,
    indices: Any,
    *,
    output_height: int,
    output_width: int,
    sampling_ratio: int,
    spatial_scale: float,
    coordinate_transformation_mode: str,
    **_: Any,
) -> Any:
    ops = pytest.importorskip("torchvision.ops")
    boxes = torch.cat([indices[:, None].to(x.dtype), rois], dim=1)
    aligned = coordinate_transformation_mode == "half_pixel"
    return ops.roi_align(x, boxes, (output_height, output_width), spatial_scale, sampling_ratio or -1, aligned)


ANY = [
    "abs",
    "atan",
    "asinh",
    "ceil",
    "cos",
    "cosh",
    "erf",
    "exp",
    "floor",
    "neg",
    "relu",
    "round",
    "sigmoid",
    "sign",
    "sin",
    "sinh",
    "softplus",
    "tan",
    "tanh",
]
WITHIN = {"acos": 0.5, "asin": 0.5, "atanh": 0.5}
ABOVE = {"acosh": 1.5, "log": 0.2, "sqrt": 0.2, "reciprocal": 0.2}
OF_TORCH = {"softplus": F.softplus}
AXES = [{"axes": None}, {"axes": (1,), "keep_dims": False}, {"axes": (0, -1)}]


def _positive(low: float) -> np.ndarray:
    return low + np.random.default_rng(1).random(X)


def _reduced(function: Callable[..., Any]) -> Callable[..., Any]:
    def reduce(x: Any, *, axes: Any = None, keep_dims: bool = True) -> Any:
        return function(x, tuple(range(x.ndim)) if axes is None else axes, keep_dims)

    return reduce


def _transformed(x: Any, length: Any, axis: int, inverse: bool, onesided: bool) -> Any:
    values = x[..., 0] if x.shape[-1] == 1 else torch.view_as_complex(x.contiguous())
    if inverse and onesided:
        return torch.fft.irfft(values, length, axis)[..., None]
    transform = torch.fft.rfft if onesided else torch.fft.ifft if inverse else torch.fft.fft
    return torch.view_as_real(transform(values, length, axis))


def _of_frames(x: Any, window: Any = None, *, step: int, length: Any, onesided: bool) -> Any:
    frames = x.unfold(1, length or len(window), step)  # N, frames, parts, entries
    weighted = frames if window is None else frames * window
    return _transformed(weighted.swapaxes(2, 3), None, 2, inverse=False, onesided=onesided)


def _into_cache(x: Any, updates: Any, first: Any = None, *, mode: str, axis: int) -> Any:
    steps = torch.arange(updates.shape[axis]) + (torch.zeros(len(x), 1).long() if first is None else first[:, None])
    at = (steps % x.shape[axis])[:, :, None].expand(updates.shape)
    return x.scatter(axis, at, updates)


def _product(x: Any, axes: Any, keep: bool) -> Any:
    for axis in sorted((axis % x.ndim for axis in axes), reverse=True):
        x = x.prod(axis, keepdim=keep)
    return x


REDUCE = {
    "reduce_l1": lambda x, a, k: x.abs().sum(a, keepdim=k),
    "reduce_l2": lambda x, a, k: x.square().sum(a, keepdim=k).sqrt(),
    "reduce_log_sum": lambda x, a, k: x.sum(a, keepdim=k).log(),
    "reduce_log_sum_exp": lambda x, a, k: torch.logsumexp(x, a, keepdim=k),
    "reduce_max": lambda x, a, k: torch.amax(x, a, keepdim=k),
    "reduce_mean": lambda x, a, k: x.mean(a, keepdim=k),
    "reduce_min": lambda x, a, k: torch.amin(x, a, keepdim=k),
    "reduce_prod": _product,
    "reduce_sum": lambda x, a, k: x.sum(a, keepdim=k),
    "reduce_sum_square": lambda x, a, k: x.square().sum(a, keepdim=k),
}
PAIRS = {
    "add": torch.add,
    "sub": torch.sub,
    "mul": torch.mul,
    "maximum": torch.maximum,
    "minimum": torch.minimum,
    "div": torch.div,
    "mod": torch.remainder,
}
BROADCAST = [(X, X), (X, ROW), ((3, 1), X), ((), X)]


def _conv(rank: int, transposed: bool = False) -> Callable[..., Any]:
    function = getattr(F, f"conv{'_transpose' if transposed else ''}{rank}d")

    def conv(
        x: Any, w: Any, b: Any = None, *, strides: Any, pads: Any, dilations: Any, groups: int, **more: Any
    ) -> Any:
        if transposed:
            return function(x, w, b, strides, pads[:rank], more["output_padding"], groups, dilations)
        border = [p for i in reversed(range(rank)) for p in (pads[i], pads[rank + i])]
        return function(F.pad(x, border), w, b, strides, 0, dilations, groups)

    return conv


def _pool(name: str) -> Callable[..., Any]:
    def pool(x: Any, *, kernel: Any, strides: Any, pads: Any, dilations: Any, ceil_mode: bool, **more: Any) -> Any:
        if name == "max":
            return F.max_pool2d(x, kernel, strides, pads[:2], dilations, ceil_mode)
        return F.avg_pool2d(x, kernel, strides, pads[:2], ceil_mode, more["count_include_pad"])

    return pool


def _padded(x: Any, *, pads: Any, fill: float, mode: str) -> Any:
    if mode == "constant":
        return F.pad(x, [p for i in (2, 1, 0) for p in (pads[i], pads[3 + i])], value=fill)
    named = {"reflect": "reflect", "edge": "replicate", "wrap": "circular"}[mode]
    return F.pad(x, (pads[2], pads[5]), mode=named)


def _scattered(x: Any, at: Any, updates: Any, *, axis: int, reduction: str) -> Any:
    if reduction == "none":
        return x.scatter(axis, at, updates)
    named = {"add": "sum", "mul": "prod", "max": "amax", "min": "amin"}[reduction]
    return x.scatter_reduce(axis, at, updates, named)


def _attention(q: Any, k: Any, v: Any, mask: Any = None, *, scale: float | None, is_causal: bool) -> Any:
    return F.scaled_dot_product_attention(q, k, v, mask, scale=scale, is_causal=is_causal)


def _cumulated(x: Any, *, axis: int, exclusive: bool, reverse: bool, function: Callable[..., Any], first: float) -> Any:
    x = x.flip(axis) if reverse else x
    found = function(x, axis)
    if exclusive:
        found = torch.cat(
            [torch.full_like(found.narrow(axis, 0, 1), first), found.narrow(axis, 0, x.shape[axis] - 1)], axis
        )
    return found.flip(axis) if reverse else found


def _like(name: str) -> Callable[..., Any]:
    """PyTorch's function of one operand, with our names of attributes left out where it has others."""
    return {
        "celu": F.celu,
        "clip": lambda x, low, high: torch.clamp(x, min=low, max=high),
        "elu": F.elu,
        "gelu": F.gelu,
        "hard_sigmoid": lambda x, alpha, beta: F.hardsigmoid(x),
        "hard_swish": F.hardswish,
        "hard_tanh": lambda x, low, high: F.hardtanh(x, min_val=low, max_val=high),
        "leaky_relu": lambda x, alpha: F.leaky_relu(x, negative_slope=alpha),
        "mish": F.mish,
        "selu": lambda x, alpha, gamma: F.selu(x),
        "silu": lambda x, alpha: F.silu(x * alpha) / alpha,
        "softsign": F.softsign,
        "threshold": lambda x, alpha: F.threshold(x, alpha, 0.0),
        "log_softmax": lambda x, axis: F.log_softmax(x, dim=axis),
        "softmax": lambda x, axis: F.softmax(x, dim=axis),
    }[name]


MANY = (
    ("celu", {"alpha": 0.7}),
    ("clip", {"low": -0.5, "high": 1.0}),
    ("clip", {"high": 0.5}),
    ("elu", {"alpha": 1.3}),
)
MORE = (("gelu", {}), ("gelu", {"approximate": "tanh"}), ("hard_sigmoid", {"alpha": 1 / 6}), ("hard_swish", {}))
LAST = (("hard_tanh", {"low": -1.0, "high": 0.5}), ("leaky_relu", {"alpha": 0.2}), ("mish", {}), ("selu", {}))
REST = (("silu", {}), ("silu", {"alpha": 1.7}), ("softsign", {}), ("threshold", {"alpha": 0.5}))
SOFT = tuple((name, {"axis": axis}) for name in ("softmax", "log_softmax") for axis in (-1, 1))

IMAGE = (2, 4, 6, 5)
WINDOWS = {"kernel": (3, 2), "strides": (2, 1), "pads": (1, 1, 1, 1)}
INDICES = np.array([[[0, 2, 1, 1], [1, 1, 0, 2]], [[2, 2, 2, 0], [0, 1, 2, 1]]], np.int64)
DISTINCT = np.array([[[0, 2, 1, 1], [1, 1, 0, 2]], [[2, 1, 2, 0], [0, 0, 1, 1]]], np.int64)

CASES = [
    *[Case(name, OF_TORCH.get(name) or getattr(torch, name), (X,), {}, name != "tan") for name in ANY],
    *[Case(name, getattr(torch, name), (np.random.default_rng(0).uniform(-a, a, X),)) for name, a in WITHIN.items()],
    *[Case(name, getattr(torch, name), (_positive(low),)) for name, low in ABOVE.items()],
    # At the limits of a clip, versions of PyTorch differ.
    *[Case(name, _like(name), (X,), own, name != "clip") for name, own in (*MANY, *MORE, *LAST, *REST, *SOFT)],
    *[
        Case(name, _reduced(f), (X if "log_sum" not in name[-8:] else _positive(0.5),), own)
        for name, f in REDUCE.items()
        for own in AXES
    ],
    *[Case(name, f, shapes) for name, f in PAIRS.items() if name not in ("div", "mod") for shapes in BROADCAST],
    *[Case("div", torch.div, (shape, _positive(0.3))) for shape in (X, ROW)],
    Case("mod", lambda x, y, fmod: torch.remainder(x, y), (X, _positive(0.3)), kinks=False),
    Case("mod", lambda x, y, fmod: torch.fmod(x, y), (X, _positive(0.3)), {"fmod": True}, kinks=False),
    Case("pow", torch.pow, (_positive(0.3), X)),
    Case("pow", torch.pow, (X, np.float64(3.0))),
    Case("prelu", lambda x, s: torch.where(x > 0, x, s * x), (X, (3, 1))),
    Case("fma", lambda x, y, z: x * y + z, (X, ROW, ())),
    Case("where", torch.where, (np.arange(24).reshape(X) % 3 == 0, X, ROW)),
    *[
        Case(n, lambda *x, f=f: f(torch.stack(torch.broadcast_tensors(*x))), (X, ROW, X))
        for n, f in (("sum", lambda x: x.sum(0)), ("mean", lambda x: x.mean(0)))
    ],
    Case("identity", lambda x: x * 1, (X,)),
    Case("transfer", lambda x, backend: x * 1, (X,)),
    Case("dropout", lambda x, ratio: x * 1, (X,)),
    *[
        Case(
            f"cum_{word}",
            lambda x, f=f, one=one, **own: _cumulated(x, function=f, first=one, **own),
            (X,),
            {"axis": 1, "exclusive": a, "reverse": b},
        )
        for word, f, one in (("sum", torch.cumsum, 0.0), ("prod", torch.cumprod, 1.0))
        for a in (False, True)
        for b in (False, True)
    ],
    *[
        Case("matmul", torch.matmul, shapes)
        for shapes in (
            ((2, 3), (3, 4)),
            ((5, 2, 3), (3, 4)),
            ((2, 1, 2, 3), (4, 3, 2)),
            ((3,), (3,)),
            ((2, 3), (3,)),
            ((3,), (2, 3, 4)),
        )
    ],
    *[Case("linear", F.linear, shapes) for shapes in (((2, 3), (4, 3), (4,)), ((2, 3), (4, 3)))],
    *[
        Case(
            "gemm",
            lambda x, w, b, alpha, beta, trans_a, trans_b: (
                alpha * ((x.T if trans_a else x) @ (w.T if trans_b else w)) + beta * b
            ),
            ((3, 2) if a else (2, 3), (4, 3) if b else (3, 4), (4,)),
            {"alpha": 0.5, "beta": 2.0, "trans_a": a, "trans_b": b},
        )
        for a in (False, True)
        for b in (False, True)
    ],
    *[
        Case("einsum", lambda *x, equation: torch.einsum(equation, *x), shapes, {"equation": text})
        for text, shapes in (
            ("bij,bjk->bik", ((2, 3, 4), (2, 4, 5))),
            ("ij,j,i->", ((3, 4), (4,), (3,))),
            ("ij->ji", ((2, 3),)),
        )
    ],
    *[
        Case("conv", _conv(2), (IMAGE, (6, 4 // g, 3, 2), (6,)), {"strides": s, "pads": p, "dilations": d, "groups": g})
        for s, p, d, g in (
            ((1, 1), (0,) * 4, (1, 1), 1),
            ((2, 1), (1, 0, 2, 1), (1, 2), 1),
            ((3, 2), (1, 1, 1, 1), (2, 1), 2),
        )
    ],
    Case("conv", _conv(1), ((2, 4, 9), (4, 1, 3)), {"groups": 4, "strides": (2,), "pads": (1, 1), "dilations": (1,)}),
    *[
        Case(
            "conv_transpose",
            _conv(2, True),
            (IMAGE, (4, 6 // g, 3, 2), (6,)),
            {"strides": s, "pads": p, "dilations": d, "groups": g, "output_padding": o},
        )
        for s, p, d, g, o in (((1, 1), (0,) * 4, (1, 1), 1, (0, 0)), ((2, 3), (1, 0, 1, 0), (2, 1), 2, (1, 2)))
    ],
    *[
        Case("max_pool", _pool("max"), (IMAGE,), {**WINDOWS, "ceil_mode": c, "dilations": d})
        for c in (False, True)
        for d in ((1, 1), (2, 1))
    ],
    Case("max_pool_with_indices", _pool("max"), (IMAGE,), WINDOWS),
    *[
        Case("average_pool", _pool("average"), (IMAGE,), {**WINDOWS, "ceil_mode": c, "count_include_pad": i})
        for c in (False, True)
        for i in (False, True)
    ],
    *[
        Case(
            "lp_pool",
            lambda x, kernel, strides, p, **_: F.lp_pool2d(x.abs(), p, kernel, strides),
            (IMAGE,),
            {"kernel": (2, 2), "strides": (2, 2), "p": p},
            False,
        )
        for p in (1, 2, 3)
    ],
    Case("global_average_pool", lambda x: x.mean((2, 3), keepdim=True), (IMAGE,)),
    *[
        Case(
            "global_lp_pool",
            lambda x, p: x.abs().pow(p).sum((2, 3), keepdim=True).pow(1 / p),
            (IMAGE,),
            {"p": p},
            False,
        )
        for p in (1, 2, 3)
    ],
    Case(
        "fold",
        lambda x, size, kernel, strides, **_: F.fold(x, size, kernel, stride=strides),
        ((2, 8, 6),),
        {"size": (4, 5), "kernel": (2, 2), "strides": (2, 1)} | {"strides": (2, 1), "size": (4, 4)},
    ),
    Case(
        "max_unpool",
        lambda x, at, kernel, **_: F.max_unpool2d(x, at, kernel),
        ((1, 1, 2, 2), _index(0, 3, 9, 14).reshape(1, 1, 2, 2)),
        {"kernel": (2, 2), "strides": (2, 2)},
    ),
    *[
        Case("attention", _attention, shapes, own)
        for shapes, own in (
            (((2, 2, 3, 4), (2, 2, 5, 4), (2, 2, 5, 6)), {}),
            (((2, 2, 3, 4), (2, 2, 5, 4), (2, 2, 5, 6), (3, 5)), {"scale": 0.3}),
            (((2, 2, 4, 4),) * 3, {"is_causal": True}),
        )
    ],
    *[
        Case("concat", lambda *x, axis: torch.cat(x, axis), ((2, 3), (2, 1), (2, 2)), {"axis": axis})
        for axis in (1, -1)
    ],
    Case("expand", lambda x, shape: x.expand(shape), ((3, 1),), {"shape": (2, 3, 4)}),
    Case("flatten", lambda x, axis: x.flatten(1), (X,)),
    Case("reshape", lambda x, shape, allow_zero: x.reshape(shape), (X,), {"shape": (6, -1)}),
    Case("squeeze", lambda x, axes: x.squeeze(1), ((2, 1, 3),), {"axes": (1,)}),
    Case("unsqueeze", lambda x, axes: x.unsqueeze(1), ((2, 3),), {"axes": (1,)}),
    Case("transpose", lambda x, perm: x.permute(perm), (X,), {"perm": (2, 0, 1)}),
    Case("tile", lambda x, repeats: x.repeat(repeats), (X,), {"repeats": (1, 2, 3)}),
    *[
        Case("trilu", lambda x, k, upper: (torch.triu if upper else torch.tril)(x, k), (X,), {"k": k, "upper": u})
        for k in (-1, 1)
        for u in (False, True)
    ],
    *[Case("pad", _padded, (X,), {"pads": (0, 0, 2, 0, 0, 1), "mode": mode}) for mode in ("reflect", "edge", "wrap")],
    Case("pad", _padded, (X,), {"pads": (1, 0, 2, 0, -1, 1), "fill": 0.5}),
    Case(
        "slice",
        lambda x, starts, ends, axes, steps: x[:, 1:3, ::2],
        (X,),
        {"starts": (1, 0), "ends": (3, 4), "axes": (1, 2), "steps": (1, 2)},
    ),
    Case("split", lambda x, axis, sizes: x.split(sizes, axis)[0], (X,), {"axis": 2, "sizes": (1, 3)}),
    *[
        Case(
            "gather",
            lambda x, at, axis: torch.take_along_dim(x, at.reshape(1, -1, 1), axis),
            (X, _index(2, 0, 2)),
            {"axis": 1},
        )
    ],
    Case("gather_elements", lambda x, at, axis: x.gather(axis, at), (X, INDICES), {"axis": 1}),
    Case("gather_nd", lambda x, at, batch_dims: x[at[:, 0], at[:, 1]], (X, np.array([[0, 2], [1, 1], [0, 2]]))),
    Case("scatter_elements", _scattered, (X, INDICES, (2, 2, 4)), {"axis": 1, "reduction": "add"}),
    Case("scatter_elements", _scattered, (X, DISTINCT, (2, 2, 4)), {"axis": 1}),
    Case(
        "scatter_nd", lambda x, at, u, reduction: x.index_put((at[:, 0],), u), (X, _index(1).reshape(1, 1), (1, 3, 4))
    ),
    Case(
        "scatter_nd",
        lambda x, at, u, reduction: x.index_put((at[:, 0],), u, accumulate=True),
        (X, _index(1, 1).reshape(2, 1), (2, 3, 4)),
        {"reduction": "add"},
    ),
    *[
        Case(
            "top_k",
            lambda x, k, axis, largest, **_: x.topk(k, axis, largest)[0],
            (X,),
            {"k": 2, "axis": 1, "largest": one},
            False,
        )
        for one in (False, True)
    ],
    Case(
        "reverse_sequence",
        lambda x, n, batch_axis, time_axis: torch.stack(
            [torch.cat([x[i, :c].flip(0), x[i, c:]]) for i, c in enumerate((3, 2))]
        ),
        (X, _index(3, 2)),
        {"batch_axis": 0, "time_axis": 1},
    ),
    *[
        Case(
            "nll_loss",
            lambda x, t, w, reduction, ignore_index: F.nll_loss(
                x, t, w, reduction=reduction, ignore_index=-100 if ignore_index is None else ignore_index
            ),
            ((4, 3), _index(0, 2, 1, 2), _positive(0.5)[0, :, 0].copy()),
            {"reduction": r, "ignore_index": i},
            held=(2,),
        )
        for r in ("mean", "sum", "none")
        for i in (None, 2)
    ],
    Case(
        "one_hot",
        lambda at, values, depth, axis: torch.where(F.one_hot(at, depth) > 0, values[1], values[0]),
        (_index(0, 2), (2,)),
        {"depth": 3},
    ),
    *[
        Case(
            "resize",
            lambda x, scales, mode, **_: F.interpolate(
                x, scale_factor=scales[2:], mode={"linear": "bilinear"}.get(mode, "nearest-exact")
            ),
            (IMAGE,),
            {"scales": (1.0, 1.0, 2.0, 2.0), "mode": mode},
        )
        for mode in ("nearest", "linear")
    ],
    *[
        Case("dft", _transformed, ((2, 5, parts),), {"axis": 1, "length": length, "inverse": inverse, "onesided": half})
        for parts, inverse, half in ((1, False, False), (2, False, False), (2, True, False), (1, False, True))
        for length in (None, 3, 8)
    ],
    *[
        Case("dft", _transformed, ((2, 5, 2),), {"axis": 1, "length": length, "inverse": True, "onesided": True})
        for length in (None, 5, 8, 10)
    ],
    *[
        Case("stft", _of_frames, ((2, 7, parts), *window), {"step": 2, "length": length, "onesided": half})
        for parts, half in ((1, False), (2, False), (1, True))
        for window, length in ((((4,),), None), ((), 3))
    ],
    *[Case("det", torch.linalg.det, ((2, n, n),), kinks=False) for n in (1, 2, 3, 4)],
    *[
        Case(
            "affine_grid",
            lambda theta, size, align_corners: F.affine_grid(theta, list(size), align_corners),
            ((2, rank, rank + 1),),
            {"size": (2, 1, 3, 4, 2)[: rank + 2], "align_corners": align},
        )
        for rank in (2, 3)
        for align in (False, True)
    ],
    *[
        Case("tensor_scatter", _into_cache, ((2, 5, 3), (2, 2, 3), *first), {"mode": mode})
        for mode, first in (("circular", (_index(4, 1),)), ("linear", (_index(3, 0),)), ("linear", ()))
    ],
    *[
        Case(
            "grid_sample",
            lambda x, grid, mode, padding_mode, align_corners: F.grid_sample(
                x,
                grid,
                {"linear": "bilinear", "cubic": "bicubic"}.get(mode, mode),
                padding_mode,
                align_corners,
            ),
            ((2, 3, *sizes), grid),
            {"mode": mode, "padding_mode": padding, "align_corners": align},
        )
        for mode, padding, sizes, grid in (
            *(("linear", each, (4, 3), (2, 3, 2, 2)) for each in ("zeros", "border", "reflection")),
            ("linear", "reflection", (4, 3, 2), (2, 2, 3, 2, 3)),
            ("nearest", "border", (4, 3), (2, 3, 2, 2)),
            ("cubic", "zeros", (4, 3), (2, 3, 2, 2)),
            # PyTorch brings what a position reads back to the border, and the specification the position.
            *(
                ("cubic", each, (4, 3), _positive(-1)[:, :, :2, None] * np.array([0.9, -0.8]))
                for each in ("border", "reflection")
            ),
        )
        for align in (False, True)
    ],
    *[
        Case(
            "deform_conv",
            _deformed,
            ((2, 4, 5, 4), (6, 4 // groups, 3, 2), (2, 12 * owners, *places), *rest(owners, places)),
            {"strides": s, "pads": p, "dilations": d, "groups": groups, "offset_groups": owners},
        )
        for s, p, d, groups, owners, places in (
            ((1, 1), (0,) * 4, (1, 1), 1, 1, (3, 3)),
            ((2, 1), (1, 0, 1, 0), (1, 2), 2, 2, (3, 2)),
        )
        for rest in (
            lambda owners, places: (),
            lambda owners, places: ((6,), (2, 6 * owners, *places)),
        )
    ],
    *[
        Case(
            "roi_align",
            _of_regions,
            (
                (2, 3, 5, 6),
                np.array([[0.3, 0.1, 3.2, 4.4], [-3.1, 1.2, 5.3, 9.4], [2.0, 1.1, 2.4, 1.9]]),
                _index(1, 0, 1),
            ),
            {
                "output_height": 3,
                "output_width": 2,
                "sampling_ratio": ratio,
                "spatial_scale": 0.8,
                "coordinate_transformation_mode": mode,
            },
            held=(1,),
        )
        for ratio in (0, 2)
        for mode in ("half_pixel", "output_half_pixel")
    ],
    *[
        Case(
            "compress",
            lambda x, condition, axis: x.flatten()[condition] if axis is None else x[:, condition],
            (shape, np.array(keep)),
            {"axis": axis},
        )
        for axis, shape, keep in ((1, (2, 3, 2), [True, False, True]), (None, (2, 2), [False, True, False, True]))
    ],
    *[
        Case(
            "scatter_elements",
            lambda x, at, updates, reduction, name=name, **_: x.scatter_reduce(1, at, updates, name),
            ((2, 4), np.array([[1, 1, 3], [0, 2, 0]]), (2, 3)),
            {"axis": 1, "reduction": reduction},
        )
        for reduction, name in (("mul", "prod"), ("max", "amax"), ("min", "amin"))
    ],
    Case("cast", lambda x, element, **_: x.float(), (X,), {"element": "f32"}),
]
WITHOUT_CASE = {
    "fake_quantise": "straight-through: PyTorch's own is of other operands",
    "random_dropout": "draws its own numbers",
}


def test_every_rule_is_compared():
    known = {name.removeprefix("vjp_") for name in differentiated_ops(GRADIENTS)}
    assert known - {case.name for case in CASES} == WITHOUT_CASE.keys()


def _filled(case: Case, seed: int) -> list[np.ndarray]:
    """Arrays for the operands; every other time on a coarse grid, where kinks and ties are."""
    rng = np.random.default_rng(seed)
    arrays = [each if isinstance(each, np.ndarray | np.generic) else rng.normal(0, 1.2, each) for each in case.operands]
    if seed % 2 and case.kinks:
        arrays = [
            a if isinstance(o, np.ndarray) else np.rint(2 * a) / 2 for a, o in zip(arrays, case.operands, strict=True)
        ]
    return [np.asarray(each) for each in arrays]


@pytest.mark.parametrize(
    "case", CASES, ids=lambda case: f"{case.name}-{case.attributes}" if isinstance(case, Case) else ""
)
def test_a_gradient_is_that_of_pytorch(case):
    op = LIBRARY[case.name]
    for seed in range(2):
        arrays = _filled(case, seed)
        along = [i for i, a in enumerate(arrays) if a.dtype.kind == "f" and i not in case.held]
        tensors = [torch.tensor(a, requires_grad=i in along) for i, a in enumerate(arrays)]
        graph = Graph("g")
        values = [graph.input(f"x{i}", Tensor(element_of(a.dtype), a.shape)) for i, a in enumerate(arrays)]
        made = graph.add(op, values, case.attributes)
        (first, *_) = made if isinstance(made, tuple) else (made,)
        settled = graph.attributes(first.node)
        wanted = case.other(*tensors, **settled)
        graph.output("y", first)
        upstream = np.random.default_rng(9).normal(size=tuple(wanted.shape))
        gradient = graph.input("g", first.type)
        for position in along:
            own = {key: value for key, value in (("wrt", position), ("of_result", 0)) if key in op.vjp.attributes}
            graph.output(f"d{position}", graph.add(op.vjp, [gradient, *values], {**settled, **own}))
        graph = rewrite(graph, GRADIENTS)
        assert not any(graph.nodes[node]["type"].startswith("vjp_") for node in graph)
        upstream = upstream.astype(element_dtype(first.type.element))
        found = evaluate(graph, {"g": upstream, **{f"x{i}": a for i, a in enumerate(arrays)}})
        assert np.allclose(found.pop("y"), wanted.detach().numpy(), atol=1e-6)
        wanted.backward(torch.tensor(upstream))
        for name, value in found.items():
            assert np.allclose(value, tensors[int(name[1:])].grad.numpy(), rtol=1e-6, atol=1e-7, equal_nan=True), (
                name,
                seed,
            )
