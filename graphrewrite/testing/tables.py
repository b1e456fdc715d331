"""How the demand for each op of the library is met: one entry an op, read backwards from its type inference."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from itertools import permutations
from typing import Any

from graphrewrite.op import LIBRARY
from graphrewrite.testing.demand import (
    Demand,
    Entry,
    Need,
    Unfit,
    broadcasts,
    by_elements,
    sizes_without_symbol,
    unknown,
)
from graphrewrite.types import Dimension, FixedPoint, Tensor, Type

__all__ = ["CONTINUOUS", "KINDS", "SIZES", "kinds_of", "meet"]

SIZES = (1, 2, 3)
"""Sizes of generated tensors: small ones show everything."""
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


def kinds_of(op_name: str) -> tuple[tuple[Any, int], ...]:
    """Return the kinds of result worth trying for an op.

    Parameters
    ----------
    op_name : str
        Name of an op.

    Returns
    -------
    tuple of (element, rank)
    """
    return tuple(k for k in KINDS if op_name not in _FLOATS or k[0] in ("f32", "f64"))


def meet(demand: Demand) -> Need:
    """Return operand types and attributes that give what is demanded.

    Parameters
    ----------
    demand : Demand
        The wanted node.

    Returns
    -------
    Need

    Raises
    ------
    Unfit
        If nothing was found.

    Examples
    --------
    >>> need = meet(Demand(LIBRARY["linear"], Tensor("f32", ("N", 3)), 2, lambda options: options[0]))
    >>> print(*need.types)
    f32[N,1] f32[3,1]
    """
    op = demand.op
    if op.name in _FLOATS and not (isinstance(demand.result.element, str) and demand.result.element.startswith("f")):
        raise Unfit(f"{op.name} gives floats")
    entry = TABLE.get(op.name, unknown) if LIBRARY.get(op.name) is op else unknown
    return demand.checked(entry(demand))


_ACTIVATIONS = ("sigmoid", "tanh", "sqrt", "exp", "log")
_LAYERS = ("linear", "conv", "gemm", "matmul", "batch_norm", "average_pool", "global_average_pool")
_FLOATS = frozenset({*_ACTIVATIONS, *_LAYERS, "leaky_relu", "softmax", "div", "pow", "quantise", "from_fixed"})


def _same(d: Demand) -> Need:
    return d.need(d.result)


def _clip(d: Demand) -> Need:
    least = d.result.element.minimum if isinstance(d.result.element, FixedPoint) else -1
    most = d.result.element.maximum if isinstance(d.result.element, FixedPoint) else 6
    low = d.choose("low", (0, None, max(least, -1)))
    return d.need(
        d.result, low=low, high=d.choose("high", (None, min(most, 6), 1) if low is not None else (min(most, 6), 1))
    )


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
    axis = d.choose("axis", axes)
    whole = shape[axis]
    if not isinstance(whole, int) or whole < d.count:
        raise Unfit("too small to be split")
    sizes = [1] * (d.count - 1)
    sizes.append(whole - sum(sizes))
    return d.need(*(Tensor(d.result.element, (*shape[:axis], s, *shape[axis + 1 :])) for s in sizes), axis=axis)


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


def _matmul(d: Demand) -> Need:
    if len(d.result.shape) < 2:
        raise Unfit("matmul needs two axes")
    *batch, rows, columns = d.result.shape
    inner = d.pick(SIZES)
    return d.need(Tensor(d.result.element, (*batch, rows, inner)), Tensor(d.result.element, (inner, columns)))


def _gemm(d: Demand) -> Need:
    if len(d.result.shape) != 2:
        raise Unfit("gemm gives two axes")
    inner, e = d.pick(SIZES), d.result.element
    flips = {name: d.choose(name, (False, True)) for name in ("trans_a", "trans_b")}
    a, b = (d.result.shape[0], inner), (inner, d.result.shape[1])
    addend = Tensor(e, d.pick(broadcasts(d.result.shape)))
    scales = {name: d.choose(name, (1.0, 1.0, 0.5)) for name in ("alpha", "beta")}
    return d.need(
        Tensor(e, a[::-1] if flips["trans_a"] else a),
        Tensor(e, b[::-1] if flips["trans_b"] else b),
        addend,
        **flips,
        **scales,
    )


def _linear(d: Demand) -> Need:
    if len(d.result.shape) != 2:
        raise Unfit("linear gives two axes")
    inner, e, outer = d.pick((1, 2, 3, 4, 6)), d.result.element, d.result.shape[1]
    return d.need(Tensor(e, (d.result.shape[0], inner)), Tensor(e, (outer, inner)), Tensor(e, (outer,)))


def _window(d: Demand, kernel: Sequence[int], *, dilated: bool) -> tuple[dict[str, Any], tuple[int, ...]]:
    """Choose strides, pads and dilations, and the sizes that they turn into the demanded ones."""
    spatial = sizes_without_symbol(d.result.shape)[-(len(d.result.shape) - 2) :]
    rank = len(spatial)
    if len(d.result.shape) < 3 or len(spatial) != len(kernel):
        raise Unfit("needs batch, channels and positions")
    ones = (1,) * rank
    strides = d.choose("strides", (ones, ones, (2,) * rank, (1, 2)[:rank]))
    dilations = d.choose("dilations", (ones, ones, (2,) * rank)) if dilated else ones
    limit = 1 if min(kernel) > 1 else 0  # a border as wide as the kernel would be a window of nothing
    pads = d.choose("pads", ((0,) * 2 * rank, (limit,) * 2 * rank, (limit, *[0] * (2 * rank - 1))))
    if not len(strides) == len(dilations) == rank or len(pads) != 2 * rank:
        raise Unfit("another rank")
    reach = [
        (n - 1) * s + dil * (k - 1) + 1 - pads[i] - pads[rank + i]
        for i, (n, s, dil, k) in enumerate(zip(spatial, strides, dilations, kernel, strict=True))
    ]
    if min(reach) < 1:
        raise Unfit("the border alone is larger")
    return {"strides": strides, "pads": pads, **({"dilations": dilations} if dilated else {})}, tuple(reach)


def _conv(d: Demand) -> Need:
    rank = len(d.result.shape) - 2
    if rank < 1 or not isinstance(d.result.shape[1], int):
        raise Unfit("needs batch, channels and positions")
    outer = d.result.shape[1]
    kernel = tuple(d.pick((1, 2, 3)) for _ in range(rank))
    attributes, sizes = _window(d, kernel, dilated=True)
    groups = d.choose("groups", [1, 1, 1, *(g for g in (2, 3) if outer % g == 0)])
    inner, e = d.pick((1, 2)), d.result.element
    return d.need(
        Tensor(e, (d.result.shape[0], inner * groups, *sizes)),
        Tensor(e, (outer, inner, *kernel)),
        Tensor(e, (outer,)),
        groups=groups,
        **attributes,
    )


def _pool(d: Demand) -> Need:
    rank = max(len(d.result.shape) - 2, 1)
    kernel = d.choose("kernel", ((2,) * rank, (1,) * rank, (3,) * rank, (1, 2)[:rank]))
    attributes, sizes = _window(d, kernel, dilated=False)
    if "count_include_pad" in d.op.attributes:
        attributes["count_include_pad"] = d.choose("count_include_pad", (False, True))
    return d.need(Tensor(d.result.element, (*d.result.shape[:2], *sizes)), kernel=kernel, **attributes)


def _global_average_pool(d: Demand) -> Need:
    return d.need(Tensor(d.result.element, (*d.result.shape[:2], *(d.pick((2, 1, 3)) for _ in d.result.shape[2:]))))


def _batch_norm(d: Demand) -> Need:
    if len(d.result.shape) < 2:
        raise Unfit("needs channels")
    per_channel = Tensor(d.result.element, (d.result.shape[1],))
    return d.need(d.result, *[per_channel] * 4, positive=frozenset({4}), epsilon=d.choose("epsilon", (1e-5, 1e-3, 0.5)))


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


def _accumulator(d: Demand, terms: int) -> tuple[FixedPoint, FixedPoint, FixedPoint]:
    """Formats of operand, weights and bias whose sum of products fits the demanded accumulator."""
    wide = d.result.element
    if not isinstance(wide, FixedPoint) or not wide.signed:
        raise Unfit("an accumulator is a signed format")
    width = d.pick((8, 4))
    if 2 * width + terms.bit_length() + 2 > wide.width:
        raise Unfit("the accumulator is too narrow")
    fraction = d.pick((4, 0, 2))
    return (
        FixedPoint(d.pick((True, False)), width, fraction),
        FixedPoint(True, width, wide.fraction - fraction),
        FixedPoint(True, wide.width - 2, wide.fraction),
    )


def _integer_layer(entry: Entry) -> Entry:
    def meet_layer(d: Demand) -> Need:
        shaped = entry(d)
        weights = shaped.types[1].shape
        formats = _accumulator(d, math.prod(int(s) for s in weights[1:]))
        types: list[Type] = [Tensor(f, t.shape) for f, t in zip(formats, shaped.types, strict=False)]
        return d.need(*types, **{**shaped.attributes, "element": d.choose("element", (d.result.element,))})

    return meet_layer


def _integer_add(d: Demand) -> Need:
    wide = d.result.element
    if not isinstance(wide, FixedPoint) or wide.width < 8:
        raise Unfit("the sum is too narrow")
    shifts = d.choose("shifts", ((0, 0), (0, 1), (2, 0)))
    types = [Tensor(FixedPoint(wide.signed, wide.width - 4, wide.fraction - s), d.result.shape) for s in shifts]
    return d.need(*types, element=d.choose("element", (wide,)), shifts=shifts)


def _requantise(d: Demand) -> Need:
    narrow = d.result.element
    if not isinstance(narrow, FixedPoint):
        raise Unfit("requantise gives a fixed-point format")
    channels = next((s for s in d.result.shape[1:2] if isinstance(s, int)), None)
    shift = d.choose("shift", [0, 2, 0, 5, -1, *([tuple(i + 1 for i in range(channels))] if channels else [])])
    wide = d.pick(
        [
            narrow,
            FixedPoint(True, 16, narrow.fraction + (shift if isinstance(shift, int) else 2)),
            FixedPoint(True, 24, narrow.fraction),
        ]
    )
    return d.need(Tensor(wide, d.result.shape), shift=shift, element=d.choose("element", (narrow,)))


TABLE: Mapping[str, Entry] = {
    **dict.fromkeys((*_ACTIVATIONS, "relu", "neg", "abs", "identity"), _same),
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
    "matmul": _matmul,
    "gemm": _gemm,
    "linear": _linear,
    "conv": _conv,
    "max_pool": _pool,
    "average_pool": _pool,
    "global_average_pool": _global_average_pool,
    "batch_norm": _batch_norm,
    "softmax": _axis,
    "arg_max": _arg_max,
    "quantise": _quantise,
    "to_fixed": _to_fixed,
    "from_fixed": _from_fixed,
    "integer_linear": _integer_layer(_linear),
    "integer_conv": _integer_layer(_conv),
    "integer_add": _integer_add,
    "requantise": _requantise,
}
