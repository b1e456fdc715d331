"""Piecewise linear approximations of functions of wide numbers, each with a stated bound. Not exact."""

from __future__ import annotations

import math
from functools import partial
from typing import Any

import numpy as np

from graphrewrite import Constant, FixedPoint, Graph, decline, op, rule
from graphrewrite.hdl.functions import Table, tabulate
from graphrewrite.lowering.matched_operands import Mantissas
from graphrewrite.lowering.prequantised.affine_functions import line_near
from graphrewrite.lowering.prequantised.elementwise_chains import chain_of, traced, way
from graphrewrite.lowering.prequantised.layers import is_single
from graphrewrite.lowering.prequantised.quantisers import QUANTISERS, quantised_as
from graphrewrite.lowering.prequantised.rescaling import limits_within, on_a_line
from graphrewrite.lowering.prequantised.step_functions import Steps, steps_of
from graphrewrite.lowering.prequantised.step_lowering import NOWHERE, certain, ends_of, reading
from graphrewrite.lowering.prequantised.sums_and_products import exact_sum, widened

__all__ = ["APPROXIMATE_STEPS", "function_bounds"]

_TABLE = 12
"""Bits of an operand up to which a table is exact."""
_WIDEST = 24
"""Bits of operand and channels together up to which all numbers are compared with the function."""
_ROUGHEST = 8
"""Greatest error of one line, in units of the last place, where the operand is too wide to compare all numbers."""
_TANGENT = 32
"""Numbers over which the slope is measured where values leave a limit."""
_MOST_LEVELS = 1 << 22
"""Most levels of a line that are searched for."""
_FACTOR, _SUM = 23, 45
"""Bits of a factor, and of a sum of multiples."""
_ROUNDINGS = 4
"""Rounding errors in half ulps: two products, their sum, its quotient; doubled for safety."""
_ULPS = 4
"""Units in the last place in which two implementations of a function may differ."""
_BLOCK = 1 << 18


def _values(function: Any, low: int, high: int) -> np.ndarray:
    """The function of every integer in a range, a column a channel."""
    blocks = (np.arange(start, min(start + _BLOCK, high + 1)) for start in range(low, high + 1, _BLOCK))
    return np.concatenate([function(block[:, None]) for block in blocks])


def _lines(values: np.ndarray, operand_format: FixedPoint) -> tuple[dict[str, Any], FixedPoint]:
    """Attributes of an interpolation with equally many segments for each channel, and the format of its results."""
    whole, beyond = FixedPoint(operand_format.signed, operand_format.width), _beyond_limits(values)
    wide = FixedPoint.holding(min(0, int(beyond.min())), max(1, int(beyond.max())))

    def table_of(column: np.ndarray, segments: int | None = None) -> Table:
        return tabulate(lambda n: column[n.astype(np.int64) - whole.minimum], whole, wide, segments=segments)

    tables = [table_of(column) for column in beyond.T]
    most = max(table.segments for table in tables)
    tables = [t if t.segments == most else table_of(c, most) for t, c in zip(tables, beyond.T, strict=True)]
    attributes = dict(tables[0].attributes)
    for name in ("base", "slope"):
        rows = tuple(tuple(table.attributes[name].tolist()) for table in tables)
        attributes[name] = rows if len(rows) > 1 else rows[0]
    return attributes, wide


def _beyond_limits(values: np.ndarray) -> np.ndarray:
    """Values extended linearly where they saturate, so that no segment has to bend there."""
    least, most = int(values.min()), int(values.max())
    limits = -(1 << (_WIDEST - 2)), (1 << (_WIDEST - 2)) - 1
    extended = values.copy()
    for column in extended.T:
        for along in (column, column[::-1]):  # from either end
            moves = np.nonzero(along != along[0])[0]
            if not moves.size or moves[0] < 2 or along[0] not in (least, most):
                continue
            first = int(moves[0])
            last = min(first + _TANGENT, len(along) - 1)
            slope = (along[last] - along[first]) / max(last - first, 1)
            line = along[first] + slope * np.arange(-first, 0)
            outside = np.minimum(line, least) if along[0] == least else np.maximum(line, most)
            along[:first] = np.clip(np.rint(outside), *limits)
    return extended


@rule(keeps="rounding", shared="keep", kind="lowering")
def approximate_steps(x: Mantissas, parameters):
    """Float ops and a quantiser on wide mantissas are near straight lines; their ``bound`` says how near.

    It is the greatest difference from the model's own whole numbers, found by comparing all of them: 1 unit of the last
    place where one line or up to 4096 can do that.
    """
    real = op.from_fixed(x)
    run = rule.repeated(real, way)
    top = QUANTISERS(run, *parameters)
    yield top
    function, grid = traced(x, real, top), quantised_as(top, len(x.shape))
    if isinstance(function, str):
        return decline(function, at=top)
    if isinstance(grid, str):
        return decline(grid, at=top)
    x, chain = function
    operand_format = x.type.element
    whole, element, worth = grid

    def function_of(numbers: np.ndarray, ulps: int = 0) -> np.ndarray:
        return certain(whole(chain.function(numbers, ulps=ulps)))

    ends = ends_of(x)
    # Comparing all numbers takes a value for each number of each channel.
    is_compared = operand_format.width + (chain.channels - 1).bit_length() <= _WIDEST
    steps = steps_of(function_of, *ends, chain.channels, is_monotone=chain.is_monotone, most=_MOST_LEVELS)
    if isinstance(steps, Steps) and steps.corners and element.minimum <= steps.least <= steps.most <= element.maximum:
        line, bound = line_near(steps.corners, max(map(abs, ends)))
        if bound <= (1 if is_compared else _ROUGHEST) and chain.is_certain:
            return reading(on_a_line(x, line, steps, element, bound), top, worth)
    if not is_compared or operand_format.width <= _TABLE:
        return decline(
            f"its operand has {operand_format.width} bits, and {chain.channels} channels that differ: lines are for "
            f"{_TABLE + 1} bits or more, and for {1 << _WIDEST} numbers, those of each channel counted",
            at=real,
        )
    # An interpolation covers the whole format: beyond the possible operands the values of the ends are repeated.
    beyond = (ends[0] - operand_format.minimum, operand_format.maximum - ends[1]), (0, 0)
    values, *others = (
        np.pad(_values(partial(function_of, ulps=ulps), *ends), beyond, mode="edge")
        for ulps in ((0,) if chain.is_certain else (0, _ULPS, -_ULPS))
    )
    if values.max() >= NOWHERE:
        return decline("for some of its operands it has no value (NaN); op.clip keeps them where it has one", at=top)
    attributes, wide = _lines(values, operand_format)
    # The bound is measured on the mantissas that the hardware gives, number by number.
    numbers = np.broadcast_to(np.arange(operand_format.minimum, operand_format.maximum + 1)[:, None], values.shape)
    least, most = int(values.min()), int(values.max())
    approximated = np.clip(op.integer_interpolate(numbers, **attributes, element=wide), least, most)
    bound = max(int(np.abs(approximated - each).max()) for each in (values, *others))
    if wide.minimum >= element.minimum and wide.maximum <= element.maximum:
        result = op.integer_interpolate(x, **attributes, element=element, bound=bound)
    else:
        wide = FixedPoint(wide.signed, wide.width, element.fraction)
        result = op.integer_interpolate(x, **attributes, element=wide, bound=bound)
        result = op.requantise(result, shift=0, element=element, **limits_within(element, least, most))
    return reading(result, top, worth)


def _step_of(top: Any) -> float | None:
    """The step of a quantiser, if it is the same for all channels."""
    if top.op_name == "quantise":
        return float(top.element.step)
    scale = top.graph.nodes[top.graph.operands(top.node)[1].node]["value"]
    return float(scale.ravel()[0]) if scale.size == 1 else None


@rule(keeps="rounding", shared="keep", kind="lowering")
def approximate_sum(x: Mantissas, y: Mantissas, s: Constant, t: Constant, parameters):
    """A sum of scaled wide mantissas, quantised, is one of multiples, rescaled, within a stated ``bound``.

    Where sums differ by less than n units of the last place, what they are rounded to differs by n at most: the factors
    are rounded to 24 bits, and floats are to half an ulp.
    """
    total = (op.add | op.sub)(op.mul(op.from_fixed(x, fraction=0), s), op.mul(op.from_fixed(y, fraction=0), t))
    top = (op.quantize_linear | op.quant | op.quantise)(total, *parameters)
    yield top
    chain, grid = chain_of(total, top), quantised_as(top, len(x.shape))
    if isinstance(chain, str):
        return decline(chain, at=top)
    if isinstance(grid, str):
        return decline(grid, at=top)
    (whole, element, worth), step = grid, _step_of(top)
    if step is None or chain.channels > 1 or not chain.is_monotone or x.shape != y.shape:
        return decline("an operand broadcasts, or a scale differs from channel to channel", at=total)
    if not is_single(s, x) or not is_single(t, y):
        return decline("one of its scales differs from channel to channel, or is not positive", at=total)
    ratios = [float(scale.value.reshape(())) / step for scale in (s, t)]
    ratios[1] *= -1 if total.op_name == "sub" else 1
    most = [max(-v.type.element.minimum, v.type.element.maximum) for v in (x, y)]
    reach = sum(abs(ratio) * m for ratio, m in zip(ratios, most, strict=True))
    # As many fraction bits as factors of 24 bits and a sum of 46 leave room for.
    shift = min(_FACTOR - math.frexp(max(map(abs, ratios)))[1], _SUM - math.frexp(reach)[1], _SUM)
    if shift < 1:
        return decline("its operands are so much wider than its result that no bit is left for their factors", at=total)
    factors = [round(math.ldexp(ratio, shift)) for ratio in ratios]
    # The error of the rounded factors; then that of the model, whose own products and sum are rounded to floats.
    off = sum(abs(math.ldexp(f, -shift) - r) * m for f, r, m in zip(factors, ratios, most, strict=True))
    off += _ROUNDINGS * float(np.finfo(s.value.dtype).eps) * reach
    # At the ends of all floats every clip and every format has reached its limits.
    far = np.array([[-1.0], [1.0]], s.value.dtype) * np.finfo(s.value.dtype).max
    low, high = certain(whole(chain.function(far)))[:, 0].tolist()
    first, second = (widened(v, factor) for v, factor in zip((x, y), factors, strict=True))
    result = op.rescale(
        exact_sum(first, second),
        multiplier=1,
        addend=1 << (shift - 1),
        shift=shift,
        rounding="down",
        element=element,
        **limits_within(element, low, high),
        bound=math.ceil(off),
    )
    return reading(result, top, worth)


def function_bounds(graph: Graph) -> dict[str, int]:
    """Return the greatest error of each approximated function in a network.

    Parameters
    ----------
    graph : Graph
        What `to_integer` gives with ``approximate=True``.

    Returns
    -------
    dict of str to int
        By node, in units of the last place of its result.

    Examples
    --------
    >>> from graphrewrite import Tensor
    >>> from graphrewrite.lowering import to_integer
    >>> g, s16 = Graph("g"), FixedPoint(True, 16, 12)
    >>> x = op.quantise(g.input("x", Tensor("f32", ("N", 2))), element=s16)
    >>> _ = g.output("y", op.quantise(op.tanh(x), element=s16))
    >>> function_bounds(to_integer(g, approximate=True))
    {'integer_interpolate_1': 1}
    """
    return {
        node: graph.nodes[node]["bound"]
        for node in graph.in_order()
        if graph.nodes[node]["type"] in ("integer_interpolate", "rescale") and graph.nodes[node].get("bound")
    }


APPROXIMATE_STEPS = (approximate_sum, approximate_steps)
"""Approximations of functions of wide numbers; not exact, and therefore in no other set."""
