"""Sums of products: layers, products of matrices, convolutions."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from graphrewrite.lowering.c.along import accumulator
from graphrewrite.lowering.c.arrays import Array, Reference
from graphrewrite.lowering.c.kernel import Kernel, Step
from graphrewrite.lowering.c.loops import block, counted, nest
from graphrewrite.op.nn.convolution import per_axis
from graphrewrite.types import FixedPoint

__all__ = ["PRODUCTS", "window_loops"]


def _sum_type(step: Step, x: Array, w: Array) -> str:
    """Return the type of sums: of mantissas, 32 bits where they are known to be enough."""
    if not isinstance(step.types[0].element, FixedPoint):
        return accumulator(step.result.dtype)
    if w.value is None or step.result.dtype.itemsize > 4:
        return "int64_t"
    ends = np.iinfo(x.dtype)
    rows = np.abs(w.value.astype(np.float64)).reshape(len(w.value), -1).sum(axis=1)
    return "int32_t" if rows.max(initial=0) * max(ends.max, -ends.min) < 1 << 31 else "int64_t"


def _product(kind: str, x: Reference, w: Reference) -> str:
    return f"{x} * {w}" if kind in ("float", "double") else f"({kind}){x} * ({kind}){w}"


def _result(step: Step, kind: str, bias: Reference | None) -> str:
    added = "" if bias is None else f" + {bias}" if kind in ("float", "double") else f" + ({kind}){bias}"
    own = step.result.type
    text = f"sum{added}"
    return text if own == kind else f"({own})({text})" if added else f"({own})sum"


def _linear(step: Step) -> list[str]:
    x, w, *b = step.operands
    (rows, inner), outer, kind = x.shape, w.shape[0], _sum_type(step, x, w)
    shape = (rows, outer)
    columns = replace(x.along([0]).with_ones([1]), shape=(rows, 1))
    # Weights and bias by output: their rows begin at a multiple of the row's length.
    row = Array(w.name, w.dtype, (1, outer), (0, w.strides[0]), w.offset, w.value if w.size == 1 else None)

    def body(y: Reference, entry: Reference, weights: Reference, *bias: Reference) -> list[str]:
        own = entry.plus("k" if x.strides[1] == 1 else f"k * {x.strides[1]}")
        weight = weights.plus("k" if w.strides[1] == 1 else f"k * {w.strides[1]}") if w.number is None else weights
        return [
            f"{kind} sum = 0;",
            *counted("k", inner, [f"sum += {_product(kind, own, weight)};"]),
            f"{y} = {_result(step, kind, bias[0] if bias else None)};",
        ]

    return nest(shape, [step.result, columns, row, *(each.with_ones([0]) for each in b)], body)


def _matmul(step: Step) -> list[str]:
    x, y, result = step.operands[0], step.operands[1], step.result
    if len(x.shape) == 1:
        x, result = x.with_ones([0]), result.with_ones([max(len(result.shape) - (len(y.shape) > 1), 0)])
    if len(y.shape) == 1:
        y, result = y.with_ones([1]), result.with_ones([len(result.shape)])
    kind, inner = accumulator(result.dtype), x.shape[-1]
    *batch, rows, columns = result.shape
    # Rows of the one and columns of the other, each at its first entry.
    left = replace(x, shape=(*x.shape[:-1], 1), strides=(*x.strides[:-1], 0), value=x.value if x.size == 1 else None)
    right = replace(
        y,
        shape=(*y.shape[:-2], 1, columns),
        strides=(*y.strides[:-2], 0, y.strides[-1]),
        value=y.value if y.size == 1 else None,
    )

    def body(to: Reference, a: Reference, b: Reference) -> list[str]:
        own = a if x.number else a.plus("k" if x.strides[-1] == 1 else f"k * {x.strides[-1]}")
        its = b if y.number else b.plus("k" if y.strides[-2] == 1 else f"k * {y.strides[-2]}")
        return [
            f"{kind} sum = 0;",
            *counted("k", inner, [f"sum += {_product(kind, own, its)};"]),
            f"{to} = {_result(step, kind, None)};",
        ]

    return nest((*batch, rows, columns), [result, left, right], body)


def window_loops(
    positions: list[str],
    sizes: tuple[int, ...],
    kernel: tuple[int, ...],
    strides: tuple[int, ...],
    begins: tuple[int, ...],
    dilations: tuple[int, ...],
    counts: tuple[int, ...],
    body: list[str],
) -> list[str]:
    """Return loops over a window that lies at a position, in which ``p0``, ``p1``, … are where its entries lie.

    What lies in the border is left out; where no window reaches it, nothing asks.
    """
    lines = body
    for axis in reversed(range(len(sizes))):
        terms = [_scaled(positions[axis], strides[axis]), _scaled(f"k{axis}", dilations[axis])]
        text = " + ".join(term for term in terms if term) or "0"
        at = f"const int32_t p{axis} = {text}{f' - {begins[axis]}' if begins[axis] else ''};"
        reach = (counts[axis] - 1) * strides[axis] + (kernel[axis] - 1) * dilations[axis] - begins[axis]
        conditions = [f"p{axis} < 0"] * (begins[axis] > 0) + [f"p{axis} >= {sizes[axis]}"] * (reach >= sizes[axis])
        if conditions:
            lines = [at, *block(f"if ({' || '.join(conditions)})", ["continue;"]), *lines]
        elif any(f"p{axis}" in line for line in lines):  # not of a number that is everywhere the same
            lines = [at, *lines]
        lines = counted(f"k{axis}", kernel[axis], lines)
    return lines


def _scaled(index: str, factor: int) -> str:
    return "" if index == "0" else index if factor == 1 else f"{index} * {factor}"


def _conv(step: Step) -> list[str]:
    x, w, *b = step.operands
    y, rank = step.result, len(x.shape) - 2
    if not y.size:
        return []
    given, sizes, kernel = step.attributes, x.shape[2:], w.shape[2:]
    strides, dilations = (per_axis(given[name], rank, 1) for name in ("strides", "dilations"))
    begins, groups, kind = per_axis(given["pads"], 2 * rank, 0)[:rank], given["groups"], _sum_type(step, x, w)
    inner, outer = w.shape[1], w.shape[0] // groups
    names = [f"i{axis}" if y.shape[axis] > 1 else "0" for axis in range(len(y.shape))]
    group = "0" if groups == 1 else names[1] if outer == 1 else f"{names[1]} / {outer}"
    first = "" if group == "0" else _scaled(group if inner == 1 or group.isidentifier() else f"({group})", inner)
    channel = " + ".join(part for part in (first, "c" if inner > 1 else "") if part) or "0"
    taps = [f"k{axis}" if kernel[axis] > 1 else "0" for axis in range(rank)]
    entry = x.at(names[0], channel, *(f"p{axis}" for axis in range(rank)))
    weight = w.at(names[1], "c" if inner > 1 else "0", *taps)
    windows = window_loops(
        names[2:],
        sizes,
        kernel,
        strides,
        begins,
        dilations,
        y.shape[2:],
        [f"sum += {_product(kind, entry, weight)};"],
    )
    lines = [
        f"{kind} sum = 0;",
        *(counted("c", inner, windows) if inner > 1 else windows),
        f"{y.at(*names)} = {_result(step, kind, b[0].at(names[1]) if b else None)};",
    ]
    for name, size in zip(reversed(names), reversed(y.shape), strict=True):
        lines = lines if name == "0" else counted(name, size, lines)
    if all(name == "0" for name in names):
        lines = ["{", *(f"    {line}" for line in lines), "}"]
    return lines


def _letters(step: Step) -> tuple[list[str], str]:
    """Return a letter for each axis of the operands, and of the result; axes without one have digits."""
    left, arrow, right = step.attributes["equation"].replace(" ", "").replace("...", "*").partition("->")
    if not arrow:
        right = "*" * ("*" in left) + "".join(sorted(c for c in {*left} - {*",*"} if left.count(c) == 1))
    terms = left.split(",")
    counts = [len(x.shape) - len(term.replace("*", "")) for term, x in zip(terms, step.operands, strict=True)]
    digits = "".join(chr(ord("0") + number) for number in range(max(counts)))
    return [
        term.replace("*", digits[len(digits) - count :]) for term, count in zip(terms, counts, strict=True)
    ], right.replace("*", digits)


def _einsum(step: Step) -> list[str]:
    """Sums over the letters that the result has not; a letter twice in an operand is its diagonal."""
    terms, right = _letters(step)
    summed = sorted({*"".join(terms)} - {*right})
    sizes: dict[str, int] = {}
    for term, x in zip(terms, step.operands, strict=True):
        for letter, size in zip(term, x.shape, strict=True):
            sizes[letter] = max(size, sizes.get(letter, 1)) if size else 0
    kind, cast = accumulator(step.result.dtype), step.result.dtype.kind in "iu"

    def spread(x: Array, term: str, letters: Sequence[str]) -> Array:
        strides = [
            sum(s for own, s, n in zip(term, x.strides, x.shape, strict=True) if own == a and n > 1) for a in letters
        ]
        return Array(
            x.name,
            x.dtype,
            tuple(sizes[a] for a in letters),
            tuple(strides),
            x.offset,
            x.value if x.size == 1 else None,
        )

    def body(y: Reference, *entries: Reference) -> list[str]:
        def inner(*own: Reference) -> list[str]:
            parts = [
                entry.plus(each.index) if each.index not in ("", "0") else entry
                for entry, each in zip(entries, own, strict=True)
            ]
            return [f"sum += {' * '.join(f'({kind}){part}' if cast else str(part) for part in parts)};"]

        parts = [replace(spread(x, term, summed), offset=0) for x, term in zip(step.operands, terms, strict=True)]
        return [
            f"{kind} sum = 0;",
            *nest([sizes[letter] for letter in summed], parts, inner, variable="k"),
            f"{y} = {_result(step, kind, None)};",
        ]

    outer = [spread(x, term, right) for x, term in zip(step.operands, terms, strict=True)]
    return nest(step.result.shape, [step.result, *outer], body)


PRODUCTS = {
    "conv": Kernel(_conv),
    "einsum": Kernel(_einsum),
    "integer_conv": Kernel(_conv),
    "integer_linear": Kernel(_linear),
    "linear": Kernel(_linear),
    "matmul": Kernel(_matmul),
}
"""Kernels of sums of products."""
