"""How the demand for layers is met, in floats and on mantissas: windows, products, normalisation."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

from graphrewrite.op.attribute_forms import same_pads
from graphrewrite.testing.generation.demand import Demand, Entry, Need, Unfit, broadcasts, sizes_without_symbol
from graphrewrite.types import FixedPoint, Tensor, Type

__all__ = ["LAYERS"]

_SIZES = (1, 2, 3)


def _matmul(d: Demand) -> Need:
    if len(d.result.shape) < 2:
        raise Unfit("matmul needs two axes")
    *batch, rows, columns = d.result.shape
    inner = d.size(0, len(batch) + 1, _SIZES)
    # One matrix for the whole batch, or one each: what the second operand computes may have more than two axes.
    each = d.pick(((), (), (), tuple(batch)))
    return d.need(Tensor(d.result.element, (*batch, rows, inner)), Tensor(d.result.element, (*each, inner, columns)))


def _gemm(d: Demand) -> Need:
    if len(d.result.shape) != 2:
        raise Unfit("gemm gives two axes")
    inner, e = d.pick(_SIZES), d.result.element
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
    inner, e, outer = d.size(0, 1, (1, 2, 3, 4, 6)), d.result.element, d.result.shape[1]
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
    if "pads" in d.conditions and d.conditions["pads"].of_node:  # those of "same", for sizes that are whole strides
        sizes = [n * s for n, s in zip(spatial, strides, strict=False)]
        pads = same_pads(sizes, kernel, strides, dilations, upper=d.pick((True, False)))
    else:
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


LAYERS: Mapping[str, Entry] = {
    "matmul": _matmul,
    "gemm": _gemm,
    "linear": _linear,
    "conv": _conv,
    "max_pool": _pool,
    "average_pool": _pool,
    "global_average_pool": _global_average_pool,
    "batch_norm": _batch_norm,
    "integer_linear": _integer_layer(_linear),
    "integer_conv": _integer_layer(_conv),
}
"""One entry an op."""
