"""Functions of numbers that are too wide for a table: straight lines, each stating how near it is. Not exact."""

from __future__ import annotations

import math
from functools import partial
from typing import Any

import numpy as np

from graphrewrite import Constant, FixedPoint, Graph, decline, op, rule
from graphrewrite.hdl.functions import Table, tabulate
from graphrewrite.lowering.quantised.chains import chain_of, traced, way
from graphrewrite.lowering.quantised.functions import Steps, steps_of
from graphrewrite.lowering.quantised.layers import is_single
from graphrewrite.lowering.quantised.lines import line_near
from graphrewrite.lowering.quantised.pairs import widened
from graphrewrite.lowering.quantised.quantisers import QUANTISERS, quantised_as
from graphrewrite.lowering.quantised.rescaling import on_a_line
from graphrewrite.lowering.quantised.steps import NOWHERE, Mantissas, certain, ends_of, reading

__all__ = ["APPROXIMATE_STEPS", "approximate_steps", "approximate_sum", "function_bounds"]

_TABLE = 12
"""Bits of an operand that has a table."""
_WIDEST = 24
"""Bits of an operand whose numbers are all compared with the function, those of each channel counted."""
_ROUGHEST = 8
"""Units of the last place by which one line fails at most, where the operand is too wide to compare all its numbers."""
_TANGENT = 32
"""Numbers over which the slope is taken where values leave a limit."""
_MOST_LEVELS = 1 << 22
"""So many levels of a line are searched for."""
_FACTOR, _SUM = 23, 45
"""Bits of a factor, and of a sum of multiples."""
_ROUNDINGS = 4
"""Of floats, half an ulp each: two products, their sum, and its quotient; as many again for good measure."""
_ULPS = 4
"""Units in the last place in which two implementations of a function may differ."""
_BLOCK = 1 << 18


def _values(function: Any, low: int, high: int) -> np.ndarray:
    """The function of every number between two, in order, a column a channel."""
    blocks = (np.arange(start, min(start + _BLOCK, high + 1)) for start in range(low, high + 1, _BLOCK))
    return np.concatenate([function(block[:, None]) for block in blocks])


def _lines(values: np.ndarray, given: FixedPoint) -> tuple[dict[str, Any], FixedPoint]:
    """Attributes of lines for each channel, alike in number, and the format of their results."""
    own, beyond = FixedPoint(given.signed, given.width), _beyond_limits(values)
    wide = FixedPoint.holding(min(0, int(beyond.min())), max(1, int(beyond.max())))

    def table_of(column: np.ndarray, segments: int | None = None) -> Table:
        return tabulate(lambda n: column[n.astype(np.int64) - own.minimum], own, wide, segments=segments)

    tables = [table_of(column) for column in beyond.T]
    most = max(table.segments for table in tables)
    tables = [t if t.segments == most else table_of(c, most) for t, c in zip(tables, beyond.T, strict=True)]
    attributes = dict(tables[0].attributes)
    for name in ("base", "slope"):
        rows = tuple(tuple(table.attributes[name].tolist()) for table in tables)
        attributes[name] = rows if len(rows) > 1 else rows[0]
    return attributes, wide


def _beyond_limits(values: np.ndarray) -> np.ndarray:
    """Values that go on straight where they have reached their limits: a line need not bend there."""
    least, most = int(values.min()), int(values.max())
    limits = -(1 << (_WIDEST - 2)), (1 << (_WIDEST - 2)) - 1
    made = values.copy()
    for column in made.T:
        for along in (column, column[::-1]):  # from either end
            moves = np.nonzero(along != along[0])[0]
            if not moves.size or moves[0] < 2 or along[0] not in (least, most):
                continue
            first = int(moves[0])
            last = min(first + _TANGENT, len(along) - 1)
            slope = (along[last] - along[first]) / max(last - first, 1)
            further = along[first] + slope * np.arange(-first, 0)
            outside = np.minimum(further, least) if along[0] == least else np.maximum(further, most)
            along[:first] = np.clip(np.rint(outside), *limits)
    return made


@rule(keeps="rounding", shared="keep", kind="lowering")
def approximate_steps(x: Mantissas, parameters):
    """What float ops and a quantiser make of wide mantissas is near straight lines; their ``bound`` says how near.

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
    given = x.type.element
    whole, element, worth = grid

    def function_of(numbers: np.ndarray, ulps: int = 0) -> np.ndarray:
        return certain(whole(chain.function(numbers, ulps=ulps)))

    ends = ends_of(x)
    steps = steps_of(function_of, *ends, chain.channels, is_monotone=chain.is_monotone, most=_MOST_LEVELS)
    if isinstance(steps, Steps) and steps.corners and element.minimum <= steps.least <= steps.most <= element.maximum:
        line, bound = line_near(steps.corners, max(map(abs, ends)))
        is_compared = given.width + (chain.channels - 1).bit_length() <= _WIDEST
        if bound <= (1 if is_compared else _ROUGHEST) and chain.is_certain:
            return reading(on_a_line(x, line, steps, element, bound), top, worth)
    if not _TABLE < given.width <= _WIDEST or given.width + (chain.channels - 1).bit_length() > _WIDEST:
        return decline(
            f"its operand has {given.width} bits, and {chain.channels} channels that differ: lines are for "
            f"{_TABLE + 1} bits or more, and for {1 << _WIDEST} numbers, those of each channel counted",
            at=real,
        )
    beyond = (ends[0] - given.minimum, given.maximum - ends[1]), (0, 0)
    values, *others = (
        np.pad(_values(partial(function_of, ulps=ulps), *ends), beyond, mode="edge")
        for ulps in ((0,) if chain.is_certain else (0, _ULPS, -_ULPS))
    )
    if values.max() >= NOWHERE:
        return decline("for some of its operands it has no value (NaN); op.clip keeps them where it has one", at=top)
    attributes, wide = _lines(values, given)
    numbers = np.broadcast_to(np.arange(given.minimum, given.maximum + 1)[:, None], values.shape)
    least, most = int(values.min()), int(values.max())
    found = np.clip(op.integer_interpolate(numbers, **attributes, element=wide), least, most)
    bound = max(int(np.abs(found - each).max()) for each in (values, *others))
    if wide.minimum >= element.minimum and wide.maximum <= element.maximum:
        made = op.integer_interpolate(x, **attributes, element=element, bound=bound)
    else:
        wide = FixedPoint(wide.signed, wide.width, element.fraction)
        limits = {"low": least, "high": most}
        limits = {k: v for k, v in limits.items() if v not in (element.minimum, element.maximum)}
        made = op.integer_interpolate(x, **attributes, element=wide, bound=bound)
        made = op.requantise(made, shift=0, element=element, **limits)
    return reading(made, top, worth)


def _step_of(top: Any) -> float | None:
    """What one of a quantiser's whole numbers is worth, if it is one number."""
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
    shift = min(_FACTOR - math.frexp(max(map(abs, ratios)))[1], _SUM - math.frexp(reach)[1], _SUM)
    if shift < 1:
        return decline("its operands are so much wider than its result that no bit is left for their factors", at=total)
    factors = [round(math.ldexp(ratio, shift)) for ratio in ratios]
    off = sum(abs(math.ldexp(f, -shift) - r) * m for f, r, m in zip(factors, ratios, most, strict=True))
    off += _ROUNDINGS * float(np.finfo(s.value.dtype).eps) * reach
    far = np.array([[-1.0], [1.0]], s.value.dtype) * np.finfo(s.value.dtype).max
    low, high = certain(whole(chain.function(far)))[:, 0].tolist()
    first, second = (widened(v, factor) for v, factor in zip((x, y), factors, strict=True))
    parts = [v.type.element for v in (first, second)]
    ends = [sum(p.minimum for p in parts), sum(p.maximum for p in parts)]
    sums = op.integer_add(first, second, element=FixedPoint.holding(min(0, ends[0]), max(1, ends[1])))
    limits = {name: v for name, v, own in (("low", low, element.minimum), ("high", high, element.maximum)) if v != own}
    made = op.rescale(
        sums,
        multiplier=1,
        addend=1 << (shift - 1),
        shift=shift,
        rounding="down",
        element=element,
        **limits,
        bound=math.ceil(off),
    )
    return reading(made, top, worth)


def function_bounds(graph: Graph) -> dict[str, int]:
    """Return how far straight lines of a network are at most from the functions that they stand for.

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
"""Functions of wide numbers; not exact, and therefore in no other set."""
