"""What ops are in PyTorch: functions of its tensors, for graphs that become modules."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from graphrewrite.lowering.exchange.entry import Unfit
from graphrewrite.op.tensor.slice_sizes import picked

__all__ = ["Written", "written_ops"]

Written = Callable[..., Any]
"""Function of a context, the operands and the attributes of an op."""

_SAME = [
    "abs",
    "acos",
    "acosh",
    "asin",
    "asinh",
    "atan",
    "atanh",
    "ceil",
    "cos",
    "cosh",
    "erf",
    "exp",
    "floor",
    "log",
    "neg",
    "reciprocal",
    "relu",
    "round",
    "sigmoid",
    "sign",
    "sin",
    "sinh",
    "sqrt",
    "tan",
    "tanh",
    "logical_not",
    "logical_and",
    "logical_or",
    "logical_xor",
    "bitwise_and",
    "bitwise_or",
    "bitwise_xor",
    "bitwise_not",
    "maximum",
    "minimum",
    "matmul",
    "where",
    "det",
]
_COMPARED = {"equal": "eq", "greater": "gt", "greater_or_equal": "ge", "less": "lt", "less_or_equal": "le"}
_ACTIVATIONS = {"hard_swish": "hardswish", "mish": "mish", "softplus": "softplus", "softsign": "softsign"}
_REDUCTIONS = {"reduce_sum": "sum", "reduce_mean": "mean", "reduce_max": "amax", "reduce_min": "amin"}


def written_ops(torch: Any) -> Mapping[str, Written]:
    """Return the functions by the names of ops."""
    functional = torch.nn.functional

    def plain(function: Any) -> Written:
        return lambda c, *xs: function(*xs)

    def reduced(name: str, before: Any = None, after: Any = None) -> Written:
        def compute(c: Any, x: Any, *, axes: Sequence[int] | None, keep_dims: bool) -> Any:
            over = list(range(c.rank(0)) if axes is None else axes)
            x = x if before is None else before(x)
            if name in ("amax", "amin") and 0 in c.operand_shape(0):
                least = float("-inf") if name == "amax" else float("inf")
                return c.new(torch.full, list(c.sizes(c.shape)), least, dtype=c.dtype)
            if over and c.rank(0):
                rest = {"dtype": c.dtype} if name in ("sum", "mean") else {}
                x = getattr(torch, name)(x, dim=over, keepdim=keep_dims, **rest)
            return x if after is None else after(x)

        return compute

    def product(c: Any, x: Any, *, axes: Sequence[int] | None, keep_dims: bool) -> Any:
        over = range(c.rank(0)) if axes is None else (axis % c.rank(0) for axis in axes)
        for axis in sorted(over, reverse=True):
            x = torch.prod(x, axis, keepdim=keep_dims, dtype=c.dtype)
        return x

    def log_sum_exp(c: Any, x: Any, *, axes: Sequence[int] | None, keep_dims: bool) -> Any:
        over = list(range(c.rank(0)) if axes is None else axes)
        return torch.logsumexp(x, over, keepdim=keep_dims) if over else x

    def power(c: Any, x: Any, y: Any) -> Any:
        return torch.pow(x, y).to(c.dtype)

    def divided(c: Any, x: Any, y: Any) -> Any:
        return torch.div(x, y) if c.is_float() else torch.div(x, y, rounding_mode="trunc")

    def remainder(c: Any, x: Any, y: Any, *, fmod: bool) -> Any:
        return (torch.fmod if fmod else torch.remainder)(x, y)

    def selu(c: Any, x: Any, *, alpha: float, gamma: float) -> Any:
        return torch.where(x > 0, gamma * x, gamma * alpha * torch.expm1(torch.clamp(x, max=0)))

    def hardmax(c: Any, x: Any, *, axis: int) -> Any:
        return torch.scatter(torch.zeros_like(x), axis, torch.argmax(x, axis, keepdim=True), 1.0)

    def unit(c: Any, x: Any, *, axis: int, p: int) -> Any:
        norm = torch.linalg.vector_norm(x, p, axis, keepdim=True)
        return torch.where(norm == 0, torch.zeros_like(x), x / norm)

    def total(c: Any, *xs: Any) -> Any:
        found = xs[0]
        for x in xs[1:]:
            found = found + x
        return found

    def cast(c: Any, x: Any, *, element: Any, **rest: Any) -> Any:
        return x.to(c.dtype)

    def clip(c: Any, x: Any, *, low: Any, high: Any) -> Any:
        return x if low is None and high is None else torch.clamp(x, min=low, max=high)

    def place(function: Any) -> Written:
        def compute(c: Any, x: Any, *, axis: int, keep_dims: bool, select_last_index: bool) -> Any:
            if select_last_index:
                return (
                    c.size(c.operand_shape(0)[axis]) - 1 - function(torch.flip(x, (axis,)), dim=axis, keepdim=keep_dims)
                )
            return function(x, dim=axis, keepdim=keep_dims)

        return compute

    def resized_axes(c: Any, x: Any, *, shape: Any, **rest: Any) -> Any:
        return torch.reshape(x, c.sizes(c.shape))

    def to_shape(c: Any, x: Any, **attributes: Any) -> Any:
        return torch.reshape(x, c.sizes(c.shape))

    def expand(c: Any, x: Any, *, shape: Any) -> Any:
        return x.expand(c.sizes(c.shape))

    def sliced(c: Any, x: Any, *, starts: Any, ends: Any, axes: Any, steps: Any) -> Any:
        axes = range(len(starts)) if axes is None else axes
        index: list[Any] = [slice(None)] * c.rank(0)
        turned = []
        for start, end, axis, step in zip(starts, ends, axes, steps or (1,) * len(starts), strict=True):
            axis %= c.rank(0)
            if step > 0:
                index[axis] = slice(c.size(start), c.size(end), step)
                continue
            size = c.operand_shape(0)[axis]
            if not isinstance(size, int):
                raise Unfit(f"it goes backwards along an axis of the open size {size}")
            chosen = range(size)[picked(size, start, end, step)]
            turned.append((axis, list(chosen)))
        x = x[tuple(index)] if any(each != slice(None) for each in index) else x
        for axis, places in turned:
            x = torch.index_select(x, axis, c.vector(places))
        return x

    def split(c: Any, x: Any, *, axis: int, sizes: Any) -> Any:
        return torch.split(x, c.sizes(sizes), axis)

    def joined(c: Any, *xs: Any, axis: int) -> Any:
        return torch.cat(xs, axis)

    def gathered(c: Any, x: Any, indices: Any, *, axis: int) -> Any:
        axis %= c.rank(0)
        return x[(*[slice(None)] * axis, indices.long())]

    def gathered_elements(c: Any, x: Any, indices: Any, *, axis: int) -> Any:
        whole = indices.long()
        return torch.gather(x, axis, torch.where(whole < 0, whole + x.shape[axis], whole))

    def gathered_nd(c: Any, x: Any, indices: Any, *, batch_dims: int) -> Any:
        depth = c.operand_shape(1)[-1]
        if not isinstance(depth, int):
            raise Unfit(f"the open size {depth} of indices is not supported")
        parts = c.several(torch.unbind(indices.long(), -1), depth)
        rank = c.rank(1) - 1
        own = []
        for axis in range(batch_dims):
            places = c.new(torch.arange, c.size(c.operand_shape(0)[axis]))
            own.append(torch.reshape(places, tuple(-1 if at == axis else 1 for at in range(rank))))
        return x[(*own, *parts)]

    def padded(c: Any, x: Any, *, pads: Any, fill: Any, mode: str) -> Any:
        half = len(pads) // 2
        order = [pads[at + side * half] for at in reversed(range(half)) for side in (0, 1)]
        if mode == "constant":
            return functional.pad(x, c.sizes(order), value=fill)
        # Of one to three last axes, and of all but one or two.
        while len(order) > 2 * max(half - 2, 1) and order[-2:] == [0, 0]:
            del order[-2:]
        if half < 2 or len(order) > 2 * min(half - 1, 3):
            raise Unfit(f"mode={mode!r} of these axes is not supported")
        names = {"reflect": "reflect", "edge": "replicate", "wrap": "circular"}
        return functional.pad(x, c.sizes(order), mode=names[mode])

    def tile(c: Any, x: Any, *, repeats: Any) -> Any:
        return x.repeat(c.sizes(repeats))

    def triangle(c: Any, x: Any, *, k: int, upper: bool) -> Any:
        return (torch.triu if upper else torch.tril)(x, k)

    def cumulated(function: Any) -> Written:
        def compute(c: Any, x: Any, *, axis: int, exclusive: bool, reverse: bool) -> Any:
            x = torch.flip(x, (axis,)) if reverse else x
            if exclusive:
                start = torch.narrow(x, axis, 0, 1) * 0 + (1 if function is torch.cumprod else 0)
                x = torch.cat([start, torch.narrow(x, axis, 0, c.size(c.shape[axis]) - 1)], axis)
            found = function(x, axis, dtype=c.dtype)
            return torch.flip(found, (axis,)) if reverse else found

        return compute

    def top(c: Any, x: Any, *, k: Any, axis: int, largest: bool, sorted: bool) -> Any:
        # Of equal entries the first comes first, which topk does not say.
        found = c.several(torch.sort(x, dim=axis, descending=largest, stable=True), 2)
        return tuple(torch.narrow(each, axis, 0, c.size(k)) for each in found)

    def counted(c: Any, *, start: Any, limit: Any, delta: Any, element: Any) -> Any:
        return c.new(torch.arange, c.size(start), c.size(limit), c.size(delta), dtype=c.dtype)

    def filled(c: Any, *, shape: Any, value: Any, element: Any) -> Any:
        return c.new(torch.full, c.sizes(shape), value, dtype=c.dtype)

    def shape_of(c: Any, x: Any, *, start: int, end: int | None) -> Any:
        return c.vector(c.sizes(c.operand_shape(0)[start:end]))

    def scattered(c: Any, x: Any, indices: Any, updates: Any, *, axis: int, reduction: str) -> Any:
        whole = indices.long()
        indices = torch.where(whole < 0, whole + x.shape[axis], whole)
        if reduction == "none":
            return torch.scatter(x, axis, indices, updates)
        names = {"add": "sum", "mul": "prod", "max": "amax", "min": "amin"}
        return torch.scatter_reduce(x, axis, indices, updates, names[reduction])

    def scattered_nd(c: Any, x: Any, indices: Any, updates: Any, *, reduction: str) -> Any:
        if reduction not in ("none", "add"):
            raise Unfit(f"reduction={reduction!r} is not supported")
        parts = c.several(torch.unbind(indices.long(), -1), c.operand_shape(1)[-1])
        return torch.index_put(x, parts, updates, accumulate=reduction == "add")

    def infinite(c: Any, x: Any, *, detect_negative: bool, detect_positive: bool) -> Any:
        if detect_negative and detect_positive:
            return torch.isinf(x)
        return torch.isposinf(x) if detect_positive else torch.isneginf(x)

    def gemm(c: Any, x: Any, w: Any, b: Any = None, *, alpha: float, beta: float, **turned: bool) -> Any:
        x = x.t() if turned.get("trans_a") else x
        w = w.t() if turned.get("trans_b") else w
        found = torch.matmul(x, w) * alpha if alpha != 1 else torch.matmul(x, w)
        return found if b is None else found + (b * beta if beta != 1 else b)

    return {
        **{name: plain(getattr(torch, name)) for name in _SAME},
        **{name: plain(getattr(torch, other)) for name, other in _COMPARED.items()},
        **{name: plain(getattr(functional, other)) for name, other in _ACTIVATIONS.items()},
        **{name: reduced(other) for name, other in _REDUCTIONS.items()},
        **dict.fromkeys(("flatten", "reshape", "squeeze", "unsqueeze"), to_shape),
        "add": plain(torch.add),
        "arg_max": place(torch.argmax),
        "arg_min": place(torch.argmin),
        "bit_cast": lambda c, x, **_: x.view(c.dtype),
        "cast": cast,
        "celu": lambda c, x, *, alpha: functional.celu(x, alpha),
        "channel_shuffle": lambda c, x, *, groups: functional.channel_shuffle(x, groups),
        "clip": clip,
        "concat": joined,
        "constant_of_shape": filled,
        "cum_prod": cumulated(torch.cumprod),
        "cum_sum": cumulated(torch.cumsum),
        "div": divided,
        "dropout": lambda c, x, **_: x,
        "einsum": lambda c, *xs, equation: torch.einsum(equation, *xs),
        "elu": lambda c, x, *, alpha: functional.elu(x, alpha),
        "expand": expand,
        "fma": lambda c, x, y, z: x * y + z,
        "gather": gathered,
        "gather_elements": gathered_elements,
        "gather_nd": gathered_nd,
        "gelu": lambda c, x, *, approximate: functional.gelu(x, approximate=approximate),
        "gemm": gemm,
        "global_average_pool": lambda c, x: torch.mean(x, list(range(2, c.rank(0))), keepdim=True),
        "global_max_pool": lambda c, x: torch.amax(x, list(range(2, c.rank(0))), keepdim=True),
        "hard_sigmoid": lambda c, x, *, alpha, beta: torch.clamp(x * alpha + beta, 0.0, 1.0),
        "hardmax": hardmax,
        "hard_tanh": lambda c, x, *, low, high: torch.clamp(x, low, high),
        "identity": lambda c, x: x,
        "is_inf": infinite,
        "is_nan": plain(torch.isnan),
        "leaky_relu": lambda c, x, *, alpha: functional.leaky_relu(x, alpha),
        "linear": plain(functional.linear),
        "lp_norm": unit,
        "log_softmax": lambda c, x, *, axis: torch.log_softmax(x, axis),
        "mean": lambda c, *xs: total(c, *xs) / len(xs),
        "mod": remainder,
        "mul": plain(torch.mul),
        "name_axes": lambda c, x, **_: x,
        "pad": padded,
        "pow": power,
        "range": counted,
        "reduce_l1": reduced("sum", before=torch.abs),
        "reduce_l2": reduced("sum", before=torch.square, after=torch.sqrt),
        "reduce_log_sum": reduced("sum", after=torch.log),
        "reduce_log_sum_exp": log_sum_exp,
        "reduce_prod": product,
        "reduce_sum_square": reduced("sum", before=torch.square),
        "scatter_elements": scattered,
        "selu": selu,
        "scatter_nd": scattered_nd,
        "shape": shape_of,
        "silu": lambda c, x, *, alpha: functional.silu(x) if alpha == 1 else x * torch.sigmoid(x * alpha),
        "slice": sliced,
        "softmax": lambda c, x, *, axis: torch.softmax(x, axis),
        "softmin": lambda c, x, *, axis: torch.softmax(torch.neg(x), axis),
        "split": split,
        "sub": plain(torch.sub),
        "sum": total,
        "threshold": lambda c, x, *, alpha: functional.threshold(x, alpha, 0.0),
        "tile": tile,
        "top_k": top,
        "transpose": lambda c, x, *, perm: torch.permute(x, perm),
        "trilu": triangle,
    }
