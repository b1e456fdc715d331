"""Products without multipliers: of bits or ternary numbers with weights of -1, 0 and 1.

A number that is only -1 or 1 is written as a threshold with two results, ``threshold(y, step=2, offset=-1)``. A count
takes it as one bit.
"""

from __future__ import annotations

from functools import reduce
from operator import or_

import numpy as np

from graphrewrite import FixedPoint, Graph, decline, rule
from graphrewrite.graph import Operand
from graphrewrite.hdl.component import streams
from graphrewrite.hdl.components.affine import affine
from graphrewrite.hdl.components.matvec import matvec
from graphrewrite.hdl.components.popcount import popcount
from graphrewrite.hdl.components.requantise import requantise
from graphrewrite.hdl.components.threshold import threshold
from graphrewrite.hdl.components.window import window

__all__ = ["MAP_COUNTING"]

_BIT = FixedPoint(False, 1)
_CODINGS = {(False, 1): "binary", (True, 2): "ternary"}
_SUM_BITS = 31
_MOST_STAGES = 3
_SIGN = {"step": 2, "offset": -1}
"""Attributes of a threshold that gives a sign."""
_CARRYING = frozenset(
    {"stream_concat", "stream_maximum", "stream_repeat", "stream_reshape", "stream_select", "window", "stream_pad"}
)
"""Components whose results are entries of their operands, or the fill of a border."""


def _least(graph: Graph, value: Operand) -> int:
    """A lower bound of a stream's values."""
    kind, attributes = graph.nodes[value.node]["type"], graph.attributes(value.node)
    (stream,), least = streams(graph.result_type(*value)), None
    if kind in ("stream_clip", "stream_requantise"):
        least = attributes["low"]
    elif kind == "stream_threshold":
        least = min(0, attributes["step"] * np.shape(attributes["levels"])[1]) + attributes["offset"]
    elif kind == "stream_lookup":
        least = int(np.min(attributes["table"]))
    elif kind in _CARRYING:
        least = min([attributes.get("fill", 0), *(_least(graph, operand) for operand in graph.operands(value.node))])
    return stream.element.minimum if least is None else max(stream.element.minimum, least)


def _count_attributes(product, *names):
    """Attributes of a matrix product that a count shares."""
    attributes = {name: getattr(product, name) for name in ("bias", "element", "groups", "over", "lanes", "stages")}
    defaults = {"groups": 1, "over": "position", "lanes": None, "stages": 1}
    return {k: v for k, v in attributes.items() if k not in names and (k not in defaults or v != defaults[k])}


@rule(shared="keep", kind="lowering")
def count_agreements(x):
    """A product of bits or ternary numbers with weights of -1, 0 and 1 counts where they agree."""
    product = matvec(x)
    yield product
    weights = np.asarray(product.weights)
    if ((weights != 0) & (abs(weights) != 1)).any():
        return decline("its weights are not all -1, 0 or 1", at=product)
    if product.element.width > _SUM_BITS:
        return decline(f"a count has at most {_SUM_BITS} bits", at=product)
    (operand,), form = product.graph.operands(product.node), (x.type.element.signed, x.type.element.width)
    # Two bits may be -2 as well, which a count takes for 0.
    if form not in _CODINGS or _least(x.graph, operand) < -1:
        return decline(f"{x.type.element} is neither one bit wide nor limited to -1, 0 and 1", at=product)
    stages = {} if product.stages == 1 else {"stages": min(product.stages, _MOST_STAGES)}
    return popcount(x, weights=product.weights, coding=_CODINGS[form], **_count_attributes(product, "stages"), **stages)


def _sign_switch(function, stream):
    """The switch of a function with values -1 and 1 in each channel, and its first value.

    The function is monotone in each channel: one number on either side of the switch proves all others.
    """
    channels = stream.channels

    def at(numbers):
        return function(numbers.reshape(1, channels, *[1] * (len(stream.shape) - 1))).astype(np.int64).ravel()

    low, high = (np.full(channels, n, np.int64) for n in (stream.element.minimum, stream.element.maximum))
    first, last = at(low), at(high)
    # Bisection in all channels at once, for the first number with the other sign.
    left, right = low, high + 1
    for _ in range(stream.element.width + 1):
        middle = (left + right) >> 1
        is_first = at(np.minimum(middle, high)) == first
        left, right = np.where(is_first, np.minimum(middle + 1, right), left), np.where(is_first, right, middle)
    same = first == last
    left = np.where(same, high + 1, left)
    before, after = at(np.maximum(left - 1, low)), at(np.minimum(left, high))
    if not ((abs(first) == 1) & (before == first) & (after == last) & (abs(last) == 1)).all():
        return None
    return left, first


_PIECES = reduce(or_, (affine, threshold))


def _channels_seen(windows, product, channels):
    """The channel that each column of a product reads, a row for each group."""
    columns = np.arange(channels)
    if windows is not None:  # group by group, tap by tap, channel by channel
        taps = windows.type.channels // channels
        columns = np.tile(columns.reshape(windows.groups, 1, -1), (1, taps, 1)).ravel()
    positions = np.shape(product.weights)[1] * product.groups // len(columns)
    return np.tile(columns, positions).reshape(product.groups, -1)


def _counted(signs, windows, product, negated=None, **coding):
    """A count of signs through the window, if there is one; some channels perhaps negated."""
    if windows is not None:
        data = windows.graph.nodes[windows.node]
        signs = window(signs, **{k: v for k, v in windows.graph.attributes(windows.node).items() if k in data})
    weights = np.asarray(product.weights, np.int64)
    if negated is not None:
        # A channel that is counted negated has its weights negated, in every column that reads it.
        signs_of = np.where(negated, -1, 1)[_channels_seen(windows, product, len(negated))]
        weights = weights * np.repeat(signs_of, len(weights) // product.groups, axis=0)
    return popcount(signs, weights=weights, **_count_attributes(product), **coding)


def _recognised(y, wide, signs, windows, product):
    if product.coding != "ternary" or signs.low != -1:
        return decline("its limits are not -1 and 1", at=signs)

    def function(numbers):
        inner = wide.op(numbers, **wide.graph.attributes(wide.node))
        return signs.op(inner, **signs.graph.attributes(signs.node))

    switch = _sign_switch(function, y.type)
    if switch is None:
        return decline("it gives other numbers than -1 and 1", at=signs)
    levels, first = switch
    if windows is not None and windows.fill and any(windows.pads or ()) and (first > 0).any():
        return decline("its border is no zero, and a channel is negated", at=windows)
    rows = levels[:1] if (levels == levels[0]).all() else levels
    bits = threshold(y, levels=rows.reshape(-1, 1), element=signs.element, **_SIGN)
    return _counted(bits, windows, product, negated=first > 0, coding="ternary")


@rule(shared="keep", kind="lowering")
def recognise_signs(y):
    """Counted numbers that are limited to -1 and 1, and nothing else, are signs: from some number on the other one."""
    wide = _PIECES(y)
    signs = requantise(wide)
    product = popcount(signs)
    yield product
    return _recognised(y, wide, signs, None, product)


@rule(shared="keep", kind="lowering")
def recognise_signs_in_windows(y):
    """Counted numbers under a sliding window that are limited to -1 and 1, and nothing else, are signs."""
    wide = _PIECES(y)
    signs = requantise(wide)
    windows = window(signs)
    product = popcount(windows)
    yield product
    return _recognised(y, wide, signs, windows, product)


def _as_bits(y, signs, windows, product):
    levels = np.asarray(signs.levels)
    if product.coding != "ternary" or levels.shape[1] != 1 or (signs.step, signs.offset) != tuple(_SIGN.values()):
        return decline("its operand is not a sign", at=product)
    # A bit that reaches 1 is the code of a sign already.
    is_bit = (y.type.element.signed, y.type.element.width) == (False, 1) and (levels == 1).all()
    return _counted(y if is_bit else threshold(y, levels=levels, element=_BIT), windows, product)


@rule(shared="keep", kind="lowering")
def count_signs(y):
    """Signs that are counted are carried as one bit."""
    signs = threshold(y)
    product = popcount(signs)
    yield product
    return _as_bits(y, signs, None, product)


@rule(shared="keep", kind="lowering")
def count_signs_in_windows(y):
    """Signs that are counted under a sliding window are carried as one bit, if no border of zeros is among them."""
    signs = threshold(y)
    windows = window(signs)
    product = popcount(windows)
    yield product
    if any(windows.pads or ()):
        return decline("its border is zero, which is not a sign", at=windows)
    return _as_bits(y, signs, windows, product)


MAP_COUNTING = (count_agreements, recognise_signs, recognise_signs_in_windows, count_signs, count_signs_in_windows)
"""Products as counts."""
