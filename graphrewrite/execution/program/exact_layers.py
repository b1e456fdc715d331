r"""Layers on numbers of a grid: exact sums of whole numbers, scaled once.

Of a float layer whose operands are dequantised, the sum depends on the order in which it is computed, and with it on
the batch, on threads and on the processor. It is therefore given a meaning of its own, wherever a program runs it:
each operand is whole numbers times a scale (of constants, the coarsest grid on which they are, one for all or one an
output), and the result is

    float32(float64(n) * (scale of x * scale of w)),   n = sum of products of the whole numbers, and the bias

with an exact sum ``n``, one product in float64, and one rounding to float32. A bias that is a multiple of that product
of scales (which is how quantised models store it) is part of ``n``; any other is added to the result in float32. A mean
is the sum times ``scale / count`` in the same way. All other ops are those of floats: number by number, they give the
same for any batch.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from graphrewrite import op
from graphrewrite.execution.constant_grids import grid_of, multiples_of
from graphrewrite.execution.program.call import Call
from graphrewrite.execution.program.carrier import FLOAT32, carrier
from graphrewrite.execution.program.value_grids import SOURCES, ValueGrid, grid_after
from graphrewrite.op.nn.pooling import summed, taps
from graphrewrite.op.nn.windows import window_counts
from graphrewrite.op.tensor.linear_algebra import scaled
from graphrewrite.types import Tensor, Type

__all__ = ["ExactLayer", "ExactMean", "exact_layers"]

_LAYERS = frozenset({op.conv, op.conv_transpose, op.linear, op.gemm, op.matmul})
_MEANS = frozenset({op.average_pool, op.global_average_pool, op.reduce_mean})


_UNKNOWN = ValueGrid(1.0, 0, 0)


class Steps(NamedTuple):
    """Whole numbers of a constant operand, and their scales.

    Attributes
    ----------
    whole : ndarray of float
        In the carrier, in the shape of the operand.
    scales : ndarray of float64, shape [1] or [O]
    sums : int
        The greatest sum of magnitudes that an output adds up.
    """

    whole: np.ndarray
    scales: np.ndarray
    sums: int


@dataclass(frozen=True)
class ExactLayer(Call):
    """A layer whose operands are on grids.

    Attributes
    ----------
    grids : tuple of ValueGrid or Steps
        Of both factors.
    unit : ndarray of float64
        What a sum of 1 stands for, in a shape that broadcasts to the result.
    bias : ndarray of int64, optional
        What is added to the sums, in the shape of the operand.
    addend : ndarray of float32, optional
        What is added to the result, broadcast to it.
    carrier : numpy.dtype
        A carrier of all sums.
    """

    grids: tuple[ValueGrid | Steps, ValueGrid | Steps] = ()  # type: ignore[assignment]  # always given
    unit: np.ndarray | None = None
    bias: np.ndarray | None = None
    addend: np.ndarray | None = None
    carrier: np.dtype = FLOAT32

    def computed(self, arrays: Sequence[np.ndarray]) -> tuple[np.ndarray, ...]:
        """Return the sums of whole numbers by the op's function, scaled."""
        factors = [
            grid.whole if isinstance(grid, Steps) else grid.steps(array).astype(self.carrier, copy=False)
            for grid, array in zip(self.grids, arrays, strict=False)
        ]
        if self.arrangement is not None:
            factors[0] = np.transpose(factors[0], self.arrangement.operand)
        if self.bias is not None:
            factors.append(self.bias.astype(self.carrier))
        result = in_units(self.op.function(*factors, **self.attributes), self.unit)
        if self.addend is not None:
            result = np.add(result, self.addend, out=result)
        return (result if self.arrangement is None else np.transpose(result, self.arrangement.result),)


@dataclass(frozen=True)
class ExactMean(Call):
    """A mean of numbers on a grid.

    Attributes
    ----------
    grid : ValueGrid
        Of the operand.
    """

    grid: ValueGrid = _UNKNOWN

    def computed(self, arrays: Sequence[np.ndarray]) -> tuple[np.ndarray, ...]:
        """Return sums of whole numbers, divided by how many there are."""
        (x,), a = arrays, self.attributes
        if self.arrangement is not None:
            x = np.transpose(x, self.arrangement.operand)
        whole = self.grid.steps(x).astype(np.float64)
        if self.op is op.average_pool:
            windows = {key: a[key] for key in ("kernel", "strides", "pads", "dilations")}
            sums: np.ndarray = summed(taps(whole, fill=0, ceil_mode=a["ceil_mode"], **windows))
            counts = np.asarray(math.prod(a["kernel"]))
            if a["ceil_mode"] or (any(a["pads"]) and not a["count_include_pad"]):
                counts = window_counts(x.shape[2:], sums.shape[2:], border=a["count_include_pad"], **windows)
        else:
            if self.op is op.global_average_pool:
                axes: tuple[int, ...] | None = tuple(range(2, x.ndim))
            else:
                axes = None if a["axes"] is None else tuple(a["axes"])
            sums = np.asarray(whole.sum(axis=axes, keepdims=a.get("keep_dims", True)))
            counts = np.asarray(whole.size // max(sums.size, 1))
        result = _means(sums, counts, self.grid.scale)
        return (result if self.arrangement is None else np.transpose(result, self.arrangement.result),)


def in_units(sums: np.ndarray, unit: np.ndarray | float | None) -> np.ndarray:
    """Return whole numbers times what one stands for: a product in float64, rounded to float32."""
    sums = np.asarray(sums)
    result = np.add(sums, 0.0, out=np.empty(sums.shape, np.float64))  # of zeros, the positive one
    result = np.multiply(result, np.float64(1) if unit is None else unit, out=result)
    return np.asarray(result, np.float32)


def _means(sums: np.ndarray, counts: np.ndarray, scale: float) -> np.ndarray:
    """Return sums divided by counts, of which one means that the other windows have the same."""
    common = int(np.lcm.reduce(counts.ravel().astype(object))) if (counts > 0).all() and counts.size else 0
    if 0 < common < 1 << 20:
        return in_units(sums * (common // counts), scale * (1.0 / common))
    with np.errstate(all="ignore"):  # of no numbers, the mean is NaN
        return np.asarray(sums * scale / counts).astype(np.float32)


def exact_layers(calls: Iterable[Call], constants: Mapping[str, np.ndarray], inputs: Mapping[str, Type]) -> list[Call]:
    """Return calls in which layers and means of numbers on grids are exact ones."""
    calls = list(calls)
    if not any(call.op in SOURCES for call in calls):
        return calls
    kinds: dict[str, Type] = dict(inputs)
    grids: dict[str, ValueGrid] = {}
    found = []
    for call in calls:
        kinds.update([(call.node, call.results[0])] if len(call.results) == 1 else [])
        if (grid := grid_after(call, grids, constants, kinds)) is not None:
            grids[call.node] = grid
        elif any(o.node in grids for o in call.operands[:2]) and call.is_real and type(call) is Call:
            call = _exact(call, grids, constants, kinds) or call
        found.append(call)
    return found


def _exact(
    call: Call, grids: Mapping[str, ValueGrid], constants: Mapping[str, np.ndarray], kinds: Mapping[str, Type]
) -> Call | None:
    if call.results[0].element != "f32" or any(o.result for o in call.operands):
        return None
    if call.op in _MEANS:
        return call.replaced(ExactMean, grid=grids[call.operands[0].node]) if _is_small(call, kinds) else None
    return _layer(call, grids, constants, kinds) if call.op in _LAYERS else None


def _is_small(call: Call, kinds: Mapping[str, Type]) -> bool:
    """Tell whether a mean is of few numbers, so that float64 holds their sums."""
    kind = kinds.get(call.operands[0].node)
    sizes = kind.shape if isinstance(kind, Tensor) else ()
    return math.prod(size for size in sizes if isinstance(size, int)) < 1 << 30


def _layer(
    call: Call, grids: Mapping[str, ValueGrid], constants: Mapping[str, np.ndarray], kinds: Mapping[str, Type]
) -> Call | None:
    factors: list[ValueGrid | Steps] = []
    for slot, operand in enumerate(call.operands[:2]):
        grid = grids.get(operand.node)
        if grid is None and operand.node in constants:
            of = _steps_of(call, constants[operand.node], slot)
            if of is None:
                return None
            factors.append(of)
        elif grid is None:
            return None
        else:
            factors.append(grid)
    constant = [f.sums for f in factors if isinstance(f, Steps)]
    sums = constant[0] if constant else _count(call, kinds)
    if sums is None or len(constant) > 1:
        return None
    bound = math.prod([sums, *(f.most for f in factors if isinstance(f, ValueGrid))])
    attributes = dict(call.attributes)
    scale = [f.scales if isinstance(f, Steps) else np.array([f.scale]) for f in factors]
    unit = scale[0] * scale[1]
    beta = 1.0
    if call.op is op.gemm:
        if not attributes["alpha"] > 0:
            return None
        # In float32, as the op scales its result.
        unit = np.float64(np.float32(scale[0][0]) * np.float32(attributes["alpha"])) * scale[1]
        beta = attributes["beta"]
        attributes.update(alpha=1.0, beta=1.0)
    found = _bias(call, constants, unit, beta)
    if found is None:
        return None
    bias, addend = found
    bound += 0 if bias is None else int(np.abs(bias).max(initial=0))
    kind = carrier(bound)
    if kind is None:
        return None
    rank = len(call.results[0].shape)
    spread = (-1, *[1] * (rank - 2)) if call.op in (op.conv, op.conv_transpose) and unit.size > 1 else (-1,)
    return call.replaced(
        ExactLayer,
        attributes=attributes,
        grids=tuple(f._replace(whole=f.whole.astype(kind)) if isinstance(f, Steps) else f for f in factors),
        unit=unit.reshape(spread) if unit.size > 1 else unit.reshape(()),
        bias=bias,
        addend=addend,
        carrier=kind,
    )


def _bias(
    call: Call, constants: Mapping[str, np.ndarray], unit: np.ndarray, factor: float
) -> tuple[np.ndarray | None, np.ndarray | None] | None:
    """Return a constant bias as whole numbers, or as what is added to the result; None for others."""
    if len(call.operands) < 3:
        return None, None
    b = constants.get(call.operands[2].node)
    if b is None or b.dtype != np.float32 or b.size not in (1, b.shape[-1] if b.ndim else 1):
        return None
    b = scaled(b, factor)
    whole = multiples_of(b, unit.reshape(b.shape) if unit.size == b.size else unit)
    if whole is not None:
        return whole, None
    if call.op in (op.conv, op.conv_transpose):
        b = b.reshape(-1, *[1] * (len(call.results[0].shape) - 2))
    return None, b


def _steps_of(call: Call, values: np.ndarray, slot: int) -> Steps | None:
    """Return the whole numbers of a constant factor, with one scale for all, or one for each output."""
    if values.dtype != np.float32 or not values.size or values.ndim == 0:
        return None
    rows = values.reshape(1, -1)
    back: tuple[int, ...] | None = None
    if slot == 1 and call.op in (op.conv, op.linear):
        rows = values
    elif slot == 1 and call.op is op.gemm:
        rows, back = (values, None) if call.attributes["trans_b"] else (values.T, (1, 0))
    elif slot == 1 and call.op is op.matmul and values.ndim == 2:
        rows, back = values.T, (1, 0)
    elif slot == 1 and call.op is op.conv_transpose:
        back = (1, 0, *range(2, values.ndim))
        rows = values.transpose(back)
    grid = grid_of(rows)
    if grid is None:
        return None
    sums = int(np.abs(grid.whole).reshape(len(grid.whole), -1).sum(axis=1).max())
    whole = grid.whole if back is None else grid.whole.transpose(back)
    # Transposed weights have a row for each output of a group.
    groups = call.attributes["groups"] if call.op is op.conv_transpose and len(grid.scales) > 1 else 1
    return Steps(np.ascontiguousarray(whole.reshape(values.shape)), np.tile(grid.scales, groups), sums)


def _count(call: Call, kinds: Mapping[str, Type]) -> int | None:
    """Return how many products an output of two computed factors adds up, if that is known."""
    x, w = (kinds.get(operand.node) for operand in call.operands[:2])
    if not (isinstance(x, Tensor) and isinstance(w, Tensor)) or call.op is op.conv_transpose:
        return None
    if call.op is op.conv:
        sizes = w.shape[1:]
    else:
        sizes = x.shape[:1] if call.op is op.gemm and call.attributes["trans_a"] else x.shape[-1:]
    known = [size for size in sizes if isinstance(size, int)]
    return math.prod(known) if len(known) == len(sizes) else None
