"""Pools: the greatest or the mean of each window."""

from __future__ import annotations

import numpy as np

from graphrewrite.lowering.c.along import accumulator
from graphrewrite.lowering.c.arrays import Array, literal
from graphrewrite.lowering.c.kernel import Kernel, Step, Unfit
from graphrewrite.lowering.c.loops import counted
from graphrewrite.lowering.c.products import window_loops
from graphrewrite.op.nn.convolution import per_axis
from graphrewrite.op.nn.windows import window_counts
from graphrewrite.op.precision import least_of

__all__ = ["POOLS"]


def _pool(step: Step, start: str, kind: str, update: str, result: str, counts: Array | None = None) -> list[str]:
    """Return loops over all windows: what each begins with, what an entry ``v0`` does, and what is written."""
    x, y, rank = step.operands[0], step.result, len(step.result.shape) - 2
    given = step.attributes
    strides, dilations = (per_axis(given[name], rank, 1) for name in ("strides", "dilations"))
    begins = per_axis(given["pads"], 2 * rank, 0)[:rank]
    if not y.size:
        return []
    names = [f"i{axis}" if y.shape[axis] > 1 else "0" for axis in range(len(y.shape))]
    entry = x.at(*names[:2], *(f"p{axis}" for axis in range(rank)))
    windows = window_loops(
        names[2:],
        x.shape[2:],
        tuple(given["kernel"]),
        strides,
        begins,
        dilations,
        y.shape[2:],
        [f"const {x.type} v0 = {entry};", update],
    )
    count = "" if counts is None else str(counts.at(*names[2:]))
    lines = [f"{kind} folded = {start};", *windows, f"{y.at(*names)} = {result.format(count=count)};"]
    for name, size in zip(reversed(names), reversed(y.shape), strict=True):
        lines = lines if name == "0" else counted(name, size, lines)
    return ["{", *(f"    {line}" for line in lines), "}"] if set(names) == {"0"} else lines


def _max_pool(step: Step) -> list[str]:
    x = step.operands[0]
    also = " || v0 != v0" if x.dtype.kind == "f" else ""
    update = f"folded = v0 > folded{also} ? v0 : folded;"
    return _pool(step, literal(least_of(x.dtype), x.dtype), x.type, update, "folded")


def _average_pool(step: Step) -> list[str]:
    x, y, given = step.operands[0], step.result, step.attributes
    if x.dtype.kind != "f" and x.dtype.itemsize > 4:
        raise Unfit(f"means of {x.dtype.name}, which are rounded to 53 bits")
    rank = len(x.shape) - 2
    windows = (given["kernel"], given["strides"], given["pads"], given["dilations"])
    # Of a window that counts its border, all entries count, except what lies beyond that.
    border = bool(given["count_include_pad"])
    inside = window_counts(x.shape[2:], y.shape[2:], *windows, border=border)
    full = int(np.prod(given["kernel"]))
    if not border and not given["ceil_mode"] and not any(given["pads"]):
        inside = np.full_like(inside, full)
    is_even = inside.size > 0 and (inside == inside.ravel()[0]).all()
    numbers = inside.ravel()[:1].reshape((1,) * rank) if is_even else inside
    counts = step.table("count", numbers, x.dtype if x.dtype.kind == "f" else np.float64)
    spread = counts.broadcast(y.shape[2:])
    kind = accumulator(x.dtype)
    if x.dtype.kind == "f":
        return _pool(step, "0", kind, "folded += v0;", "folded / {count}", spread)
    # A sum wraps around in the operand's type; its quotient is computed in double precision, and cut off.
    whole = f"({y.type})((double)({x.type})folded / {{count}})"
    return _pool(step, "0", kind, f"folded += ({kind})v0;", whole, spread)


POOLS = {"average_pool": Kernel(_average_pool), "max_pool": Kernel(_max_pool)}
"""Kernels of pools."""
