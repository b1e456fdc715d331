"""Layers on scaled mantissas: exact integer sums of products, scaled afterwards."""

from __future__ import annotations

from typing import Any

import numpy as np

from graphrewrite import Constant, FixedPoint, decline, op, rule
from graphrewrite.execution.constant_grids import grid_of, multiples_of
from graphrewrite.lowering.composite.axes import channel_entries, named
from graphrewrite.lowering.matched_operands import Mantissas
from graphrewrite.lowering.prequantised.quantisers import QUANTISED
from graphrewrite.op.tensor.linear_algebra import scaled
from graphrewrite.types import element_dtype, hold

__all__ = [
    "LOWER_SCALED_LAYERS",
    "LOWER_UNSCALED_LAYERS",
    "WIDEST",
    "accumulated",
    "axes_are_disordered",
    "is_single",
    "per_channel",
    "scaled_layer",
]

_FARTHEST = 60
_FLOATS = ("f64", "f32", "f16", "bf16")
"""Floats that hold what sums are, but for rounding."""
_FINEST = 28
"""Most bits below the grid of the sums that a bias of the last layer may have."""
WIDEST = 47
"""Most bits of an accumulator: its product with a multiplier of one bit must fit 48."""


def per_channel(s: np.ndarray, rank: int) -> np.ndarray | None:
    """Return positive scales as a vector of one entry or one a channel (axis 1); None if they differ along other axes.

    Examples
    --------
    >>> per_channel(np.array([[[0.5]], [[0.25]]]), 4).tolist(), per_channel(np.array([0.5, 0.25]), 4)
    ([0.5, 0.25], None)
    """
    if s.dtype.kind != "f" or channel_entries(s.shape, rank) is None or not (np.isfinite(s) & (s > 0)).all():
        return None
    return s.astype(np.float64).reshape(-1)


def is_single(s: Any, x: Any) -> bool:
    """Tell whether a constant is a single positive scale that does not broadcast its operand."""
    scales = per_channel(s.value, len(x.shape))
    return scales is not None and len(scales) == 1


def accumulated(whole: np.ndarray, bias: np.ndarray, operand_format: FixedPoint) -> FixedPoint | str:
    """Return the narrowest accumulator of weights [O, …] and bias [O] times an operand, or the reason why none fits.

    Examples
    --------
    >>> print(accumulated(np.array([[1, -2]]), np.array([5]), FixedPoint(False, 8)))
    s10f0
    """
    # Python's integers: sums of wide weights may exceed 64 bits, which is to be noticed and not to wrap around.
    rows = whole.reshape(len(whole), -1).astype(object) if whole.size else np.zeros((1, 1), object)
    ends = rows * operand_format.minimum, rows * operand_format.maximum
    low = min(0, *map(int, np.minimum(*ends).sum(axis=1))) + min(0, int(bias.min(initial=0)))
    high = max(0, *map(int, np.maximum(*ends).sum(axis=1))) + max(0, int(bias.max(initial=0)))
    element = FixedPoint.holding(low, high) if max(-low, high) < 1 << 62 else FixedPoint(True, 63)
    if element.width > WIDEST:
        return f"its sums need {element.width} bits, and an accumulator has {WIDEST}; quantise it to fewer bits"
    return element


def scaled_layer(
    x: Any, scale: np.ndarray, w: np.ndarray, b: np.ndarray | None, layer: Any, product: Any, *, groups: int = 1
) -> Any:
    """A layer by the exact sums of ``product``, then scales, then a bias that is on no grid of the sums."""
    units = per_channel(scale, len(x.shape))
    if units is None:
        return decline(
            "the scale of its operand differs along other axes than the channels, or is not positive", at=layer
        )
    if w.dtype.kind != "f" or (b is not None and b.dtype.kind != "f") or 0 in w.shape:
        return decline("its weights are not floats, or empty", at=layer)
    farthest = max(-x.type.element.minimum, x.type.element.maximum) * max(1.0, units.max(initial=0))
    if not _is_finite(farthest, layer.type.element):
        return decline(f"some numbers of its operand are infinite as {layer.type.element}", at=layer)
    outputs, inner = w.shape[:2]
    if len(units) not in (1, x.shape[1]):
        return decline("its scale is broadcast", at=layer)
    # Sums add channels of different scales: these go into the weights, and one scale is left for each row.
    is_absorbed = len(units) > 1 and (groups == 1 or inner != 1)
    if is_absorbed:
        w, units = _absorbed(w, units, groups), np.ones(1)
    elif len(units) > 1:
        units = np.repeat(units, outputs // groups)
    grid = grid_of(w)
    if grid is None and is_absorbed:
        return decline("its operand has a scale for each channel, which it adds up; quantise that by one", at=layer)
    if grid is None:
        return decline("its weights are not on a grid of 16 bits; quantise them", at=layer)
    units = units * grid.scales
    if len(units) > 1:
        units = np.broadcast_to(units, (outputs,))
    # A bias on the grid of the sums is added exactly, in the accumulator; any other is added to the real numbers.
    whole = None if b is None else multiples_of(b, units)
    bias = np.zeros(outputs, np.int64) if whole is None else np.broadcast_to(whole, (outputs,))
    element = accumulated(grid.whole, bias, x.type.element)
    if isinstance(element, str):
        return decline(element, at=layer)
    shape = (-1, *[1] * (len(layer.shape) - 2)) if len(units) > 1 else ()
    sums = op.mul(op.from_fixed(product(grid.whole, bias, element), fraction=0, element="f64"), units.reshape(shape))
    real = named(op.cast(sums, element=layer.type.element), layer)
    if b is None or whole is not None:
        return real
    return op.add(real, b.reshape(-1, *[1] * (len(layer.shape) - 2)).astype(element_dtype(layer.type.element)))


def _absorbed(w: np.ndarray, units: np.ndarray, groups: int) -> np.ndarray:
    """Weights times the scale of their input channel; rows of a group read the group's channels."""
    of_rows = np.repeat(units.reshape(groups, -1), len(w) // groups, axis=0)
    return np.asarray(w * of_rows.reshape(*w.shape[:2], *[1] * (w.ndim - 2)).astype(w.dtype))


def axes_are_disordered(*values: Any) -> bool:
    """Tell whether a value names its axes, in another order than batch, channels, positions."""
    layouts = [v.type.layout for v in values if v is not None and v.type.layout is not None]
    return any(layout[:2] not in ("NC", "OI", "O") for layout in layouts)


def _conv(x: Any, scale: np.ndarray, w: Any, b: Any, conv: Any) -> Any:
    if axes_are_disordered(x, w, conv):
        return decline("the axes of its operands are in another order", at=conv)

    def product(whole: np.ndarray, bias: np.ndarray, element: FixedPoint) -> Any:
        return op.integer_conv(x, whole, bias, like=conv, element=element)

    return scaled_layer(x, scale, w.value, None if b is None else b.value, conv, product, groups=conv.groups)


def _rows(x: Any, scale: np.ndarray, rows: np.ndarray, b: np.ndarray | None, layer: Any) -> Any:
    if len(x.shape) != 2 or rows.ndim != 2:
        return decline("its operands are not a batch of vectors and a matrix", at=layer)
    if axes_are_disordered(x, layer):
        return decline("the axes of its operands are in another order", at=layer)

    def product(whole: np.ndarray, bias: np.ndarray, element: FixedPoint) -> Any:
        return op.integer_linear(x, whole, bias, element=element)

    return scaled_layer(x, scale, np.ascontiguousarray(rows), b, layer, product)


def _gemm(x: Any, scale: np.ndarray, w: Any, b: Any, gemm: Any) -> Any:
    if gemm.trans_a or gemm.alpha <= 0:
        return decline("it transposes its input, or scales it by no positive number", at=gemm)
    rows, scale = w.value if gemm.trans_b else w.value.T, scale * scale.dtype.type(gemm.alpha)
    if b is None or gemm.beta == 0:
        return _rows(x, scale, rows, None, gemm)
    if b.value.size not in (1, len(rows)) or b.value.ndim > 2 or b.value.size != [1, *b.shape][-1]:
        return decline("its addend is not a vector over the outputs", at=gemm)
    return _rows(x, scale, rows, np.broadcast_to(scaled(b.value, gemm.beta).reshape(-1), (len(rows),)), gemm)


@rule(keeps="assumes", shared="keep", kind="lowering")
def lower_scaled_conv(x: Mantissas, s: Constant, w: Constant, b: Constant | None = None):
    """A convolution of scaled mantissas scales a sum of whole numbers; assumes that the float sums are exact."""
    conv = op.conv(op.mul(op.from_fixed(x, fraction=0), s), w, b)
    yield conv
    return _conv(x, s.value, w, b, conv)


@rule(keeps="assumes", shared="keep", kind="lowering")
def lower_scaled_linear(x: Mantissas, s: Constant, w: Constant, b: Constant | None = None):
    """A fully-connected layer of scaled mantissas scales a sum of whole numbers; assumes exact float sums."""
    layer = op.linear(op.mul(op.from_fixed(x, fraction=0), s), w, b)
    yield layer
    return _rows(x, s.value, w.value, None if b is None else b.value, layer)


@rule(keeps="assumes", shared="keep", kind="lowering")
def lower_scaled_matmul(x: Mantissas, s: Constant, w: Constant):
    """A matrix product of scaled mantissas and constants scales a sum of whole numbers; assumes exact float sums."""
    product = op.matmul(op.mul(op.from_fixed(x, fraction=0), s), w)
    yield product
    return _rows(x, s.value, w.value.T, None, product)


@rule(keeps="assumes", shared="keep", kind="lowering")
def lower_scaled_gemm(x: Mantissas, s: Constant, w: Constant, b: Constant | None = None):
    """A general matrix product of scaled mantissas scales a sum of whole numbers; assumes exact float sums."""
    gemm = op.gemm(op.mul(op.from_fixed(x, fraction=0), s), w, b)
    yield gemm
    return _gemm(x, s.value, w, b, gemm)


@rule(keeps="assumes", shared="keep")
def add_scaled_bias(x: Mantissas, w: Constant, b: Constant, s: Constant, c: Constant):
    """A constant added to scaled sums is part of their bias; assumes that the float sum is exact."""
    layer = (op.integer_linear | op.integer_conv)(x, w, b)
    read = op.from_fixed(layer, fraction=0)
    real = op.cast(op.mul(read, s))
    total = op.add(real, c)
    yield total
    return _with_addend(x, w, b, layer, read, s.value, real, c, total)


@rule(keeps="assumes", shared="keep")
def add_whole_bias(x: Mantissas, w: Constant, b: Constant, c: Constant):
    """So is one added to sums of scale 1."""
    layer = (op.integer_linear | op.integer_conv)(x, w, b)
    read = op.from_fixed(layer, fraction=0)
    real = op.cast(read)
    total = op.add(real, c)
    yield total
    return _with_addend(x, w, b, layer, read, np.ones(()), real, c, total)


def _with_addend(
    x: Any, w: Any, b: Any, layer: Any, read: Any, scale: np.ndarray, real: Any, c: Any, total: Any
) -> Any:
    """Scaled sums and an addend as scaled sums."""
    if axes_are_disordered(layer):
        return decline("the axes of its sums are in another order", at=total)
    if any(each.type.element not in _FLOATS for each in (read, real)):
        return decline("its sums are read as integers, which cut them off, or as floats of 8 bits", at=real)
    if real.shape != layer.shape or total.type != real.type or channel_entries(c.shape, len(layer.shape)) is None:
        return decline("its addend differs along other axes than the channels, or broadcasts the sums", at=c)
    units = per_channel(scale, len(layer.shape))
    if units is None:
        return decline("the scale of its sums differs along other axes than the channels", at=real)
    if _may_be_infinite(x, w.value, b.value, units, (read.type.element, real.type.element)):
        return decline("some sums are infinite as the floats that they are read as", at=real)
    whole = multiples_of(c.value.reshape(-1), units)
    if whole is not None:
        bias = b.value + whole
        element = accumulated(w.value, bias, x.type.element)
        if isinstance(element, str):
            return decline(element, at=total)
        finer, wide = 0, layer.op(x, w, bias, like=layer, element=element)
    elif any(total.graph.nodes[n]["type"] in (*QUANTISED, "sign") for n in total.graph.downstream(total.node)):
        return decline("its addend is on no grid of the sums: the quantiser that follows rounds it", at=c)
    elif (fine := _on_finer_grid(c.value, units)) is None:
        return decline(f"its addend is on no grid of {_FINEST} bits below that of the sums", at=c)
    else:
        # The layer is as it was: wider weights would make its multipliers wider.
        finer, terms = fine
        ends = [(end << finer) + int(t) for end in (layer.element.minimum, layer.element.maximum) for t in terms]
        if max(map(abs, ends)) >= 1 << WIDEST:
            return decline(f"its sums with this addend need more than {WIDEST} bits", at=total)
        element = FixedPoint.holding(min(0, *ends), max(1, *ends))
        if element.width > WIDEST:
            return decline(f"its sums with this addend need {element.width} bits, more than {WIDEST}", at=total)
        addend = tuple(terms.tolist()) if len(terms) > 1 else int(terms[0])
        wide = op.rescale(layer, multiplier=1 << finer, addend=addend, shift=0, element=element)
    sums = op.mul(op.from_fixed(wide, fraction=0, element="f64"), np.asarray(scale, np.float64) / 2**finer)
    return named(op.cast(sums, like=real), total)


def _may_be_infinite(x: Any, w: np.ndarray, b: np.ndarray, units: np.ndarray, elements: tuple[str, ...]) -> bool:
    """Tell whether one of some float types may not hold the sums of a layer, or their scaled values."""
    greatest = max(1.0, units.max(initial=0))
    if _is_finite(greatest * 2.0**WIDEST, *elements):
        return False
    sums = accumulated(w, b, x.type.element)
    return isinstance(sums, str) or not _is_finite(greatest * max(-sums.minimum, sums.maximum), *elements)


def _is_finite(number: float, *elements: str) -> bool:
    """Tell whether a number is finite as each of some float types."""
    with np.errstate(over="ignore"):
        return all(np.isfinite(hold(element, number)) for element in elements)


@rule
def absorb_addend(x: Mantissas, w: Constant, b: Constant):
    """An addend after the sums of a layer is part of their bias; a factor of -1, 2 or 4 is one of the weights."""
    layer = (op.integer_linear | op.integer_conv)(x, w, b)
    scaled_sums = op.rescale(layer)
    yield scaled_sums
    addends, factors = np.atleast_1d(scaled_sums.addend), np.atleast_1d(scaled_sums.multiplier)
    factor = int(np.abs(factors).max())
    if not addends.any() and (factors == 1).all():
        return decline("it has no addend", at=scaled_sums)
    if (np.abs(factors) != factor).any() or factor not in (1, 2, 4):
        return decline("a multiplier adds its addend", at=scaled_sums)
    if (w.value == 1).all() or (factor > 1 and np.isin(w.value, (-1, 0, 1)).all()):
        return decline("its weights are signs, or all 1: a count, or a plain sum", at=w)
    weights, bias = w.value * factors.reshape(-1, *[1] * (w.value.ndim - 1)), b.value * factors + addends
    element = accumulated(weights, bias, x.type.element)
    if isinstance(element, str):
        return decline(element, at=layer)
    kept = scaled_sums.element
    is_limited = (scaled_sums.low, scaled_sums.high) != (None, None) or kept.minimum > element.minimum
    if not (is_limited or kept.maximum < element.maximum or np.any(scaled_sums.shift) or scaled_sums.offset):
        return layer.op(x, weights, bias, like=layer, element=kept)
    sums = layer.op(x, weights, bias, like=layer, element=element)
    return op.rescale(sums, like=scaled_sums, multiplier=1, addend=0)


def _on_finer_grid(c: np.ndarray, units: np.ndarray) -> tuple[int, np.ndarray] | None:
    """How many bits constants need below a grid, and the integers that they are there, rounded to their own type."""
    for finer in range(1, _FINEST + 1) if np.isfinite(c).all() else ():
        grid = units / 2.0**finer
        whole = np.rint(c.reshape(-1).astype(np.float64) / grid)
        if ((whole * grid).astype(c.dtype) == c.reshape(-1)).all():
            return finer, whole.astype(np.int64)
    return None


@rule(keeps="assumes", shared="keep", kind="lowering")
def lower_unscaled_layer(x: Mantissas, w: Constant, b: Constant | None = None):
    """A layer of mantissas that nobody quantises scales a sum of whole numbers; assumes that float sums are exact."""
    real = op.from_fixed(x)
    layer = (op.conv | op.linear | op.gemm)(real, w, b)
    yield layer
    scale = np.asarray(2.0**-real.fraction)
    if layer.op_name == "conv":
        return _conv(x, scale, w, b, layer)
    if layer.op_name == "gemm":
        return _gemm(x, scale, w, b, layer)
    return _rows(x, scale, w.value, None if b is None else b.value, layer)


@rule(keeps="assumes", shared="keep", kind="lowering")
def lower_unscaled_matmul(x: Mantissas, w: Constant):
    """A matrix product that nobody quantises scales a sum of whole numbers; assumes that float sums are exact."""
    real = op.from_fixed(x)
    product = op.matmul(real, w)
    yield product
    return _rows(x, np.asarray(2.0**-real.fraction), w.value.T, None, product)


LOWER_SCALED_LAYERS = (
    lower_scaled_conv,
    lower_scaled_linear,
    lower_scaled_matmul,
    lower_scaled_gemm,
    add_scaled_bias,
    add_whole_bias,
    absorb_addend,
)
"""Layers on scaled mantissas."""


@rule(keeps="assumes")
def write_scale(x: Mantissas):
    """A binary point is a scale; assumes that no number is so small or large that a float does not hold it."""
    real = op.from_fixed(x)
    yield real
    if real.fraction == 0 or real.element not in ("f32", "f64") or abs(real.fraction) > _FARTHEST:
        return decline("its binary point is at 0, or beyond the floats", at=real)
    scale = np.asarray(2.0**-real.fraction, element_dtype(real.element))
    return op.mul(op.from_fixed(x, like=real, fraction=0), scale)


LOWER_UNSCALED_LAYERS = (write_scale, lower_unscaled_layer, lower_unscaled_matmul)
"""Layers on mantissas whose scale is a power of two, if no other rule takes them."""
