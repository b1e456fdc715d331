"""How the demand for each op of the library is met: one entry an op, read backwards from its type inference."""

from __future__ import annotations

import math
from collections.abc import Mapping
from itertools import permutations
from typing import Any

from graphrewrite.op import LIBRARY
from graphrewrite.testing.generation.demand import Demand, Entry, Need, Unfit, by_elements, unknown
from graphrewrite.testing.generation.layers import LAYERS
from graphrewrite.testing.generation.mantissas import MANTISSAS
from graphrewrite.types import Dimension, Element, FixedPoint, Quantised, Tensor

__all__ = ["CONTINUOUS", "DEFAULT_OPS", "KINDS", "TABLE", "kinds_of", "meet"]

ELEMENTS: tuple[Any, ...] = (
    "f32",
    FixedPoint(True, 8, 4),
    FixedPoint(True, 24, 6),
    FixedPoint(False, 4),
    "i64",
    FixedPoint(False, 1),
    "f64",
)
KINDS = tuple((element, rank) for element in ELEMENTS for rank in (2, 4, 1, 3))
"""Element types and ranks to try for a result, batch included."""
CONTINUOUS = ("neg", "relu", "add", "sub", "maximum", "identity")
"""Ops that carry a small error on as a small error, for what reads the result of a rule that rounds."""

# fmt: off
DEFAULT_OPS: tuple[str, ...] = (
    "neg", "relu", "add", "identity", "sub", "mul", "maximum", "minimum", "abs", "clip", "leaky_relu", "sigmoid",
    "tanh", "sqrt", "div", "fma", "softmax", "arg_max", "quantise", "batch_norm", "matmul", "linear", "conv",
    "max_pool", "average_pool", "global_average_pool", "reshape", "flatten", "transpose", "squeeze", "unsqueeze",
    "concat", "pad",
)
# fmt: on
"""The ops of generated graphs where none are named, the simplest first."""


def kinds_of(op_name: str) -> tuple[tuple[Any, int], ...]:
    """Return the kinds of result worth trying for an op."""
    if op_name in _RESULTS:
        return tuple((element, rank) for element in _RESULTS[op_name] for rank in (2, 1, 3))
    return KINDS


def meet(demand: Demand) -> Need:
    """Return operand types and attributes that give what is demanded.

    Examples
    --------
    >>> need = meet(Demand(LIBRARY["linear"], Tensor("f32", ("N", 3)), 2, lambda options: options[0]))
    >>> print(*need.types)
    f32[N,1] f32[3,1]
    """
    op = demand.op
    entry = TABLE.get(op.name, unknown) if LIBRARY.get(op.name) is op else unknown
    try:
        need = entry(demand)
    except (
        IndexError,
        TypeError,
        ValueError,
        ArithmeticError,
    ) as error:  # a settled attribute does not fit this result
        raise Unfit(f"{op.name}: {error}") from error
    return demand.checked(need)


_QUANTISED = (Quantised("i8", 0.5, 3), Quantised("u4", 0.25), Quantised("i16", 0.125, -7))
_RESULTS: Mapping[str, tuple[Element, ...]] = {
    "cast": ("f32", "i8", "bool", "bf16", "i4", "u8", "f16", "i64"),
    "to_quantised": _QUANTISED,
    "from_quantised": ("f32", "f64", "bf16"),
    "from_fixed": ("f32", "f64"),
}
"""What the result may be of ops that reach element types beyond `ELEMENTS`."""


def _same(d: Demand) -> Need:
    return d.need(d.result)


def _clip(d: Demand) -> Need:
    least = d.result.element.minimum if isinstance(d.result.element, FixedPoint) else -1
    most = d.result.element.maximum if isinstance(d.result.element, FixedPoint) else 6
    between = () if isinstance(d.result.element, FixedPoint) else (0.3, 0.7)  # off most grids, on either side
    low = d.choose("low", (0, None, max(least, -1), *between[:1]))
    most = min(most, 6)
    return d.need(d.result, low=low, high=d.choose("high", (*([] if low is None else [None]), most, 1, *between)))


def _factors(size: int) -> list[tuple[int, ...]]:
    found: list[tuple[int, ...]] = [(size,), (1, size), (size, 1), (1, 1, size), (size, 1, 1)]
    for a in range(2, size):
        if size % a == 0:
            found += [(a, size // a), (1, a, size // a), (a, 1, size // a)]
    return found


def _reshape(d: Demand) -> Need:
    shape = tuple(d.result.shape)
    lead: tuple[Dimension, ...] = tuple(s for s in shape if isinstance(s, str))
    if len(lead) > 1 or (lead and shape[0] != lead[0]):
        raise Unfit("one symbolic size, in front")
    rest = [s for s in shape if isinstance(s, int)]
    sources = [*_factors(math.prod(rest)), tuple(rest), tuple(reversed(rest))]
    written: list[tuple[Dimension, ...]] = [shape, (-1, *rest), (0, *rest)] if lead else [shape]
    return d.need(Tensor(d.result.element, (*lead, *d.pick(sources))), shape=d.choose("shape", written))


def _flatten(d: Demand) -> Need:
    shape = d.result.shape
    if len(shape) != 2 or isinstance(shape[1], str):
        raise Unfit("flatten gives two axes")
    return d.need(Tensor(d.result.element, (shape[0], *d.pick(_factors(shape[1])))), axis=d.choose("axis", (1,)))


def _transpose(d: Demand) -> Need:
    rank = len(d.result.shape)
    perm = tuple(d.choose("perm", [*permutations(range(rank))]))
    if sorted(perm) != list(range(rank)):
        raise Unfit("another rank")
    return d.need(Tensor(d.result.element, tuple(d.result.shape[perm.index(i)] for i in range(rank))), perm=perm)


def _squeeze(d: Demand) -> Need:
    rank = len(d.result.shape) + 1
    axes = tuple(d.choose("axes", [(a,) for a in range(rank)]))
    shape = list(d.result.shape)
    for axis in sorted(a % (len(d.result.shape) + len(axes)) for a in axes):
        shape.insert(axis, 1)
    return d.need(Tensor(d.result.element, tuple(shape)), axes=axes)


def _unsqueeze(d: Demand) -> Need:
    shape = d.result.shape
    ones = [(i,) for i, size in enumerate(shape) if size == 1]
    if not ones and "axes" not in d.given:
        raise Unfit("no axis of size 1")
    axes = tuple(d.choose("axes", ones))
    gone = {a % len(shape) for a in axes}
    return d.need(Tensor(d.result.element, tuple(s for i, s in enumerate(shape) if i not in gone)), axes=axes)


def _concat(d: Demand) -> Need:
    shape = list(d.result.shape)
    axes = [i for i, s in enumerate(shape) if isinstance(s, int) and s >= d.count]
    if not axes:
        raise Unfit("too small to be split")
    chosen = d.choose("axis", axes)
    axis = chosen % len(shape)
    # Operands that are settled have their sizes, the others one, and the last of these what is left.
    sizes = [d.size(i, axis, (1,)) for i in range(d.count)]
    free = [i for i in range(d.count) if i >= len(d.known) or d.known[i] is None]
    whole = shape[axis]
    if not isinstance(whole, int) or whole < sum(sizes) or (not free and whole != sum(sizes)):
        raise Unfit("too small to be split")
    if free:
        sizes[free[-1]] += whole - sum(sizes)
    return d.need(*(Tensor(d.result.element, (*shape[:axis], s, *shape[axis + 1 :])) for s in sizes), axis=chosen)


def _pad(d: Demand) -> Need:
    pads: list[tuple[int, int]] = []
    for size in d.result.shape:
        options = [(0, 0), (1, 0), (0, 1), (-1, 0), (1, 1)]
        pads.append(d.pick([p for p in options if isinstance(size, int) and size - sum(p) >= 1] or [(0, 0)]))
    chosen = d.choose("pads", [(*(p[0] for p in pads), *(p[1] for p in pads))])
    rank = len(pads)
    if len(chosen) != 2 * rank:
        raise Unfit("another rank")
    shape = tuple(s if isinstance(s, str) else s - chosen[i] - chosen[rank + i] for i, s in enumerate(d.result.shape))
    return d.need(Tensor(d.result.element, shape), pads=chosen, fill=d.choose("fill", (0.0, 1.0)))


def _tile(d: Demand) -> Need:
    shape = d.result.shape
    drawn = [d.pick([n for n in (1, 2, 3) if isinstance(size, int) and size % n == 0] or [1]) for size in shape]
    repeats = tuple(d.choose("repeats", [tuple(drawn)]))
    if len(repeats) != len(shape) or any(
        n != 1 and (n < 1 or isinstance(s, str) or s % n) for n, s in zip(repeats, shape, strict=True)
    ):
        raise Unfit("another rank, or sizes that are no multiples")
    source = tuple(s if isinstance(s, str) else s // n for n, s in zip(repeats, shape, strict=True))
    return d.need(Tensor(d.result.element, source), repeats=repeats)


def _expand(d: Demand) -> Need:
    """Some axes had one entry, and the first ones may have been missing."""
    kept = [size if isinstance(size, str) else d.pick((size, size, 1)) for size in d.result.shape]
    gone = d.pick((0, 0, 0, 1)) if kept and not isinstance(kept[0], str) else 0
    return d.need(Tensor(d.result.element, tuple(kept[gone:])), shape=d.choose("shape", [tuple(d.result.shape)]))


def _slice(d: Demand) -> Need:
    """One axis was longer, before the part, behind it or within it."""
    shape = list(d.result.shape)
    settled = {"starts", "ends", "axes", "steps"} & {*d.given, *d.conditions}
    whole = [axis for axis, size in enumerate(shape) if isinstance(size, int) and size]
    if settled or not whole:
        raise Unfit("its part is settled, or there is no axis to cut")
    axis, start, step, more = d.pick(whole), d.pick((0, 1, 2)), d.pick((1, 1, 1, 2)), d.pick((0, 1, 2))
    end = start + (int(shape[axis]) - 1) * step + 1
    shape[axis] = end + more
    source = Tensor(d.result.element, tuple(shape))
    return d.need(source, starts=(start,), ends=(end,), axes=(axis,), steps=(step,) if step > 1 else None)


def _axis(d: Demand) -> Need:
    return d.need(d.result, axis=d.choose("axis", [-1, *range(len(d.result.shape))]))


def _arg_max(d: Demand) -> Need:
    shape, element = d.result.shape, d.result.element
    keep = d.choose("keep_dims", (True, True, False))
    axes = [i for i, s in enumerate(shape) if s == 1] if keep else list(range(1, len(shape) + 1))
    if not axes:
        raise Unfit("no axis of size 1")
    axis = d.choose("axis", [*axes, *([-1] if axes[-1] == len(shape) - keep else [])])
    at = axis % (len(shape) + (not keep))
    fixed = isinstance(element, FixedPoint)
    size = 2**element.width if isinstance(element, FixedPoint) else d.pick((2, 3))
    source = d.pick((FixedPoint(True, 8, 4), FixedPoint(False, 4))) if fixed else "f32"
    return d.need(Tensor(source, (*shape[:at], size, *shape[at + keep :])), axis=axis, keep_dims=keep)


def _reduce(d: Demand) -> Need:
    """Axes that are gone from the result, or have one entry in it, had a few."""
    shape = list(d.result.shape)
    keep = d.choose("keep_dims", (True, False))
    ones = [i for i, size in enumerate(shape) if size == 1] if keep else [*range(1, len(shape) + 1)]
    options: list[tuple[int, ...] | None] = [(axis,) for axis in ones]
    if keep and ones:
        options.append(tuple(ones))
    if len(ones) == len(shape) and (keep or not shape):
        options.append(None)
    if not options:
        raise Unfit("no axis of size 1")
    axes = d.choose("axes", options)
    if axes is None:
        source = tuple(d.pick((2, 3)) for _ in range(len(shape) if keep else d.pick((1, 2, 3))))
        return d.need(Tensor(d.result.element, source), axes=axes, keep_dims=keep)
    rank = len(shape) + (0 if keep else len(axes))
    if any(not -rank <= axis < rank for axis in axes):
        raise Unfit("another rank")
    for axis in sorted(axis % rank for axis in axes):
        shape[axis : axis + keep] = [d.pick((2, 3, 1))]
    return d.need(Tensor(d.result.element, tuple(shape)), axes=axes, keep_dims=keep)


def _quantise(d: Demand) -> Need:
    channels = next((s for s in d.result.shape[1:2] if isinstance(s, int)), None)
    element = d.choose("element", (FixedPoint(True, 8, 4), FixedPoint(False, 4, 2), FixedPoint(True, 4, 1), *d.formats))
    need = d.need(d.result, element=element)
    if channels and "fractions" not in d.given and d.pick((False, False, False, True)):
        need.attributes.update(fractions=tuple(d.pick((0, 2, 4)) for _ in range(channels)), axis=1)
    return need


def _to_fixed(d: Demand) -> Need:
    if not isinstance(d.result.element, FixedPoint):
        raise Unfit("to_fixed gives mantissas")
    return d.need(Tensor("f32", d.result.shape), element=d.choose("element", (d.result.element,)))


def _from_fixed(d: Demand) -> Need:
    element: FixedPoint = d.pick(
        [*d.formats, *d.formats, *(FixedPoint(*f) for f in ((True, 8, 4), (True, 8, 0), (False, 4, 2), (True, 12, 6)))]
    )
    fraction = d.choose("fraction", (element.fraction,))
    return d.need(
        Tensor(FixedPoint(element.signed, element.width, fraction), d.result.shape),
        fraction=fraction,
        element=d.result.element,
    )


def _cast(d: Demand) -> Need:
    source = d.pick(("f32", "i64", "bool", "f64", "u4", "bf16"))
    return d.need(Tensor(source, d.result.shape), element=d.choose("element", (d.result.element,)))


def _to_quantised(d: Demand) -> Need:
    if not isinstance(d.result.element, Quantised):
        raise Unfit("to_quantised gives quantised numbers")
    return d.need(Tensor("f32", d.result.shape), element=d.choose("element", (d.result.element,)))


def _from_quantised(d: Demand) -> Need:
    sources: list[Quantised] = [*_QUANTISED]
    channels = next((s for s in d.result.shape[1:2] if isinstance(s, int)), None)
    if channels:
        sources.append(Quantised("i8", tuple((0.5, 0.25, 2.0)[i % 3] for i in range(channels)), axis=1))
    source = d.choose("source", sources)
    return d.need(Tensor(source, d.result.shape), source=source, element=d.result.element)


_REDUCTIONS = [
    f"reduce_{name}"
    for name in ("l1", "l2", "log_sum", "log_sum_exp", "max", "mean", "min", "prod", "sum", "sum_square")
]

TABLE: Mapping[str, Entry] = {
    **LAYERS,
    **MANTISSAS,
    **dict.fromkeys(("sigmoid", "tanh", "sqrt", "exp", "log", "relu", "neg", "abs", "identity"), _same),
    **dict.fromkeys(("add", "sub", "mul", "div", "maximum", "minimum", "pow", "fma"), by_elements),
    "leaky_relu": lambda d: d.need(d.result, alpha=d.choose("alpha", (0.5, 0.01))),
    "clip": _clip,
    "reshape": _reshape,
    "flatten": _flatten,
    "transpose": _transpose,
    "squeeze": _squeeze,
    "unsqueeze": _unsqueeze,
    "concat": _concat,
    "pad": _pad,
    "slice": _slice,
    "expand": _expand,
    "tile": _tile,
    "softmax": _axis,
    "arg_max": _arg_max,
    "arg_min": _arg_max,
    **dict.fromkeys(_REDUCTIONS, _reduce),
    "quantise": _quantise,
    "cast": _cast,
    "name_axes": lambda d: d.need(d.result, layout=d.choose("layout", (None,))),
    "to_quantised": _to_quantised,
    "from_quantised": _from_quantised,
    "to_fixed": _to_fixed,
    "from_fixed": _from_fixed,
}
