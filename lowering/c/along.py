"""Ops along axes: sums and other folds, extrema and their places, softmax, running sums."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from graphrewrite.lowering.c.arrays import Array, Reference, literal
from graphrewrite.lowering.c.kernel import Kernel, Step, unsigned
from graphrewrite.lowering.c.loops import counted, nest
from graphrewrite.op.precision import greatest_of, least_of

__all__ = ["ALONG", "accumulator"]


def accumulator(dtype: np.dtype) -> str:
    """Return the C type in which numbers of a dtype are summed: integers wrap around there."""
    return unsigned(dtype) if dtype.kind in "iu" else "double" if dtype == np.float64 else "float"


@dataclass(frozen=True)
class _Fold:
    """A fold: what it begins with, what a number ``v0`` makes of it, and whether that is a sum or a product."""

    start: Callable[[np.dtype], str]
    update: str
    summed: bool = False


def _extreme(sign: str) -> str:
    return f"folded = v0 {sign} folded || v0 != v0 ? v0 : folded;"


_FOLDS = {
    "reduce_max": _Fold(lambda dtype: literal(least_of(dtype), dtype), _extreme(">")),
    "reduce_min": _Fold(lambda dtype: literal(greatest_of(dtype), dtype), _extreme("<")),
    "reduce_prod": _Fold(lambda _: "1", "folded *= v0;", summed=True),
    "reduce_sum": _Fold(lambda _: "0", "folded += v0;", summed=True),
    "reduce_mean": _Fold(lambda _: "0", "folded += v0;", summed=True),
}


def _fold(name: str) -> Callable[[Step], list[str]]:
    fold = _FOLDS[name]

    def write(step: Step) -> list[str]:
        x, y = step.operands[0], step.result
        chosen = step.attributes["axes"]
        reduced = range(len(x.shape)) if chosen is None else sorted(axis % len(x.shape) for axis in chosen)
        kept = [axis for axis in range(len(x.shape)) if axis not in reduced]
        target = y.along(kept) if step.attributes["keep_dims"] else y
        count = int(np.prod([x.shape[axis] for axis in reduced], dtype=np.int64))
        kind = accumulator(x.dtype) if fold.summed else x.type
        update = fold.update if x.dtype.kind == "f" else fold.update.replace(" || v0 != v0", "")
        result = f"({y.type})folded" if kind != y.type else "folded"
        if name == "reduce_mean":
            kind, result = _mean_of(x, count, kind)
        cast = "" if kind == x.type else f"({kind})"

        def body(to: Reference, entry: Reference) -> list[str]:
            def inner(own: Reference) -> list[str]:
                value = entry.plus(own.index) if own.index not in ("", "0") else entry
                return [f"const {kind} v0 = {cast}{value};", update]

            part = replace(x.along(list(reduced)), offset=0)
            return [
                f"{kind} folded = {fold.start(x.dtype)};",
                *nest(part.shape, [part], inner, variable="k"),
                f"{to} = {result};",
            ]

        return nest(target.shape, [target, x.along(kept)], body)

    return write


def _mean_of(x: Array, count: int, kind: str) -> tuple[str, str]:
    """Return the type of the sum, and the mean: of integers, rounded towards zero."""
    if x.dtype.kind == "f":
        return kind, "folded / " + (f"{count}" if count else "0")
    total = "(int64_t)folded" if x.dtype.kind == "i" else "folded"
    return "uint64_t", f"({x.type})({total} / {count})" if count else "0"


def _split_axis(step: Step) -> tuple[int, list[int], Array]:
    x = step.operands[0]
    at = step.attributes["axis"] % len(x.shape)
    return at, [axis for axis in range(len(x.shape)) if axis != at], x


def _rows(step: Step, lines: Callable[[Callable[[str], str], Callable[[str], str], int], Sequence[str]]) -> list[str]:
    """Return loops over all rows along an axis, in which entries of operand and result are found by an index."""
    at, others, x = _split_axis(step)
    y = step.result
    if not x.size:
        return []

    def body(to: Reference, entry: Reference) -> list[str]:
        def read(index: str) -> str:
            return str(entry.plus(_times(index, x.strides[at])))

        def written(index: str) -> str:
            return str(to.plus(_times(index, y.strides[at])))

        return list(lines(read, written, x.shape[at]))

    return nest([x.shape[a] for a in others], [y.along(others), x.along(others)], body)


def _times(index: str, stride: int) -> str:
    simple = index if index.isalnum() or stride == 1 else f"({index})"
    return simple if stride == 1 else f"{simple} * {stride}"


def _softmax(step: Step) -> list[str]:
    kind, suffix = step.result.type, "f" * (step.result.dtype == np.float32)

    def lines(x: Callable[[str], str], y: Callable[[str], str], count: int) -> list[str]:
        return [
            f"{kind} greatest = {x('0')};",
            *counted("k", count, [f"greatest = {x('k')} > greatest ? {x('k')} : greatest;"]),
            f"{kind} sum = 0;",
            *counted("k", count, [f"{y('k')} = exp{suffix}({x('k')} - greatest);", f"sum += {y('k')};"]),
            *counted("k", count, [f"{y('k')} /= sum;"]),
        ]

    return _rows(step, lines)


def _log_softmax(step: Step) -> list[str]:
    kind, suffix = step.result.type, "f" * (step.result.dtype == np.float32)

    def lines(x: Callable[[str], str], y: Callable[[str], str], count: int) -> list[str]:
        return [
            f"{kind} greatest = {x('0')};",
            *counted("k", count, [f"greatest = {x('k')} > greatest ? {x('k')} : greatest;"]),
            f"{kind} sum = 0;",
            *counted("k", count, [f"sum += exp{suffix}({x('k')} - greatest);"]),
            *counted("k", count, [f"{y('k')} = {x('k')} - greatest - log{suffix}(sum);"]),
        ]

    return _rows(step, lines)


def _place(sign: str) -> Callable[[Step], list[str]]:
    """The index of the first extremum, or of the last; a NaN comes before all numbers."""

    def write(step: Step) -> list[str]:
        at, others, x = _split_axis(step)
        y = step.result.along(others) if step.attributes["keep_dims"] else step.result
        size, last = x.shape[at], step.attributes["select_last_index"]
        index = f"{size - 1} - k" if last else "k"

        def body(to: Reference, entry: Reference) -> list[str]:
            own = entry.plus(_times(index, x.strides[at]))
            is_better = f"{own} {sign} best"
            if x.dtype.kind == "f":
                is_better = f"{is_better} || ({own} != {own} && best == best)"
            return [
                f"int32_t found = {size - 1 if last else 0};",
                f"{x.type} best = {entry.plus(str((size - 1) * x.strides[at])) if last else entry};",
                *counted("k", size, [f"if ({is_better}) {{", f"    found = {index};", f"    best = {own};", "}"]),
                f"{to} = ({step.result.type})found;",
            ]

        return nest(y.shape, [y, x.along(others)], body)

    return write


def _running(sign: str, neutral: str) -> Callable[[Step], list[str]]:
    def write(step: Step) -> list[str]:
        kind, result = accumulator(step.result.dtype), step.result.type
        exclusive, backwards = step.attributes["exclusive"], step.attributes["reverse"]

        def lines(x: Callable[[str], str], y: Callable[[str], str], count: int) -> list[str]:
            index = f"{count - 1} - k" if backwards else "k"
            update, store = f"folded {sign}= ({kind}){x(index)};", f"{y(index)} = ({result})folded;"
            return [
                f"{kind} folded = {neutral};",
                *counted("k", count, [store, update] if exclusive else [update, store]),
            ]

        return _rows(step, lines)

    return write


ALONG = {
    **{name: Kernel(_fold(name)) for name in _FOLDS},
    "arg_max": Kernel(_place(">")),
    "arg_min": Kernel(_place("<")),
    "cum_prod": Kernel(_running("*", "1")),
    "cum_sum": Kernel(_running("+", "0")),
    "log_softmax": Kernel(_log_softmax),
    "softmax": Kernel(_softmax),
}
"""Kernels of ops along axes."""
