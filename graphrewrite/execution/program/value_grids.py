"""Grids of values: floats that are known to be whole numbers times one scale, as those that were dequantised.

What is known follows from the nodes alone, before any number is there: where stored integers are read, and through ops
that move, select or limit numbers.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import NamedTuple

import numpy as np

from graphrewrite import op
from graphrewrite.execution.program.call import Call
from graphrewrite.op.op import Op
from graphrewrite.types import Tensor, Type, integer_limits

__all__ = ["SOURCES", "ValueGrid", "grid_after"]

_MOST = 1 << 17
"""The greatest distance from zero: its quotient by the scale, rounded in float32, is found again."""
_WIDEST = 16
"""Bits of stored integers, at most."""


class ValueGrid(NamedTuple):
    """Whole numbers from `low` to `high`, zero among them, times a scale, rounded to float32.

    Attributes
    ----------
    scale : float
        A positive float32 number.
    low, high : int
        Limits of the whole numbers.
    """

    scale: float
    low: int
    high: int

    @property
    def most(self) -> int:
        """The greatest distance from zero."""
        return max(-self.low, self.high)

    def steps(self, x: np.ndarray) -> np.ndarray:
        """Return the whole numbers of values, as float32.

        Examples
        --------
        >>> ValueGrid(0.1, -128, 127).steps(np.array([0.3, -12.8], np.float32)).tolist()
        [3.0, -128.0]
        """
        whole = x / np.float32(self.scale)
        return np.rint(whole, out=whole) if whole.ndim else np.rint(whole)


class _Known(NamedTuple):
    """What is known before a node runs."""

    grids: Mapping[str, ValueGrid]
    constants: Mapping[str, np.ndarray]
    kinds: Mapping[str, Type]

    def number(self, call: Call, slot: int) -> float | None:
        """Return an operand that is a single constant number; 0 where it is left out."""
        if slot >= len(call.operands):
            return 0.0
        value = self.constants.get(call.operands[slot].node)
        return float(value.reshape(())) if value is not None and value.size == 1 else None

    def pair(self, call: Call) -> tuple[ValueGrid | None, float | None]:
        """Return the grid of one of two operands, and the number that is the other one."""
        slot = int(call.operands[0].node not in self.grids)
        return self.grids.get(call.operands[slot].node), self.number(call, 1 - slot)

    def limits(self, call: Call) -> tuple[int, int] | None:
        """Return the limits of an operand that holds integers of few bits."""
        kind = self.kinds.get(call.operands[0].node)
        limits = integer_limits(kind.element) if isinstance(kind, Tensor) and isinstance(kind.element, str) else None
        return limits if limits is not None and limits[1] - limits[0] < 1 << _WIDEST else None


_After = Callable[[Call, _Known], ValueGrid | None]


def _grid(scale: float, low: float, high: float) -> ValueGrid | None:
    """Return a grid, if float32 neither overflows on it nor loses digits."""
    if not (math.isfinite(low) and math.isfinite(high) and low == int(low) and high == int(high)):
        return None
    low, high = min(0, int(low)), max(0, int(high))
    most = max(-low, high)
    fits = most <= _MOST and 2.0**-126 <= scale < 2.0**127 and max(most, 1) * scale < 2.0**127
    return ValueGrid(scale, low, high) if fits else None


def _dequantised(call: Call, known: _Known) -> ValueGrid | None:
    limits, scale, zero = known.limits(call), known.number(call, 1), known.number(call, 2)
    if limits is None or scale is None or zero is None or call.attributes["block_size"]:
        return None
    if known.constants[call.operands[1].node].dtype != np.float32:  # computed in float64, and rounded
        return None
    return _grid(scale, limits[0] - zero, limits[1] - zero)


def _cast(call: Call, known: _Known) -> ValueGrid | None:
    limits = known.limits(call)
    return None if limits is None else _grid(1.0, *limits)


def _shifted(call: Call, known: _Known) -> ValueGrid | None:
    x, by = known.pair(call)
    if x is None or by is None or x.scale != 1 or not abs(by) <= _MOST:
        return None
    if call.op is op.sub:
        if call.operands[0].node not in known.grids:
            return None
        by = -by
    return _grid(1.0, x.low + by, x.high + by)


def _scaled(call: Call, known: _Known) -> ValueGrid | None:
    x, by = known.pair(call)
    return None if x is None or by is None or x.scale != 1 else _grid(by, x.low, x.high)


def _fake(call: Call, known: _Known) -> ValueGrid | None:
    scale, zero, bits = (known.number(call, slot) for slot in (1, 2, 3))
    if scale is None or zero is None or bits is None or not 1 <= bits <= _WIDEST:
        return None
    most = math.ceil(2.0**bits)  # with or without a sign
    return _grid(scale, -most - zero, most - zero)


def _bipolar(call: Call, known: _Known) -> ValueGrid | None:
    scale = known.number(call, 1)
    return None if scale is None else _grid(scale, -1, 1)


def _same(call: Call, known: _Known) -> ValueGrid | None:
    return known.grids.get(call.operands[0].node)


def _positive(call: Call, known: _Known) -> ValueGrid | None:
    x = known.grids.get(call.operands[0].node)
    return None if x is None else ValueGrid(x.scale, 0, x.high)


def _greatest(call: Call, known: _Known) -> ValueGrid | None:
    a = call.attributes
    # A window that lies in the border has the maximum minus infinity.
    inside = not any(a["pads"]) or (set(a["dilations"]) == {1} and max(a["pads"]) < min(a["kernel"]))
    return _same(call, known) if inside and not a["ceil_mode"] else None


def _padded(call: Call, known: _Known) -> ValueGrid | None:
    return _same(call, known) if call.attributes["mode"] != "constant" or call.attributes["fill"] == 0 else None


def _joined(call: Call, known: _Known) -> ValueGrid | None:
    grids = [known.grids.get(o.node) for o in call.operands]
    first = grids[0]
    if first is None or any(g is None or g.scale != first.scale for g in grids):
        return None
    return ValueGrid(first.scale, min(g.low for g in grids if g), max(g.high for g in grids if g))


SOURCES: Mapping[Op, _After] = {
    op.dequantize_linear: _dequantised,
    op.cast: _cast,
    op.quant: _fake,
    op.bipolar_quant: _bipolar,
}
"""Ops whose results are on a grid, whatever their operands are."""

_KEEPING: Mapping[Op, _After] = {
    op.add: _shifted,
    op.sub: _shifted,
    op.mul: _scaled,
    op.relu: _positive,
    op.max_pool: _greatest,
    op.pad: _padded,
    op.concat: _joined,
    **dict.fromkeys(
        (
            *(op.identity, op.reshape, op.flatten, op.transpose, op.squeeze, op.unsqueeze, op.slice, op.expand),
            *(op.tile, op.gather, op.global_max_pool, op.name_axes),
        ),
        _same,
    ),
}
"""Ops whose results are on the grid of their operands, or on one that follows from it."""


def grid_after(
    call: Call,
    grids: Mapping[str, ValueGrid],
    constants: Mapping[str, np.ndarray],
    kinds: Mapping[str, Type],
) -> ValueGrid | None:
    """Return the grid of the result of a call, from those of its operands; None if none is known."""
    after = SOURCES.get(call.op) or _KEEPING.get(call.op)
    if after is None or len(call.results) != 1 or call.results[0].element != "f32" or type(call) is not Call:
        return None
    return after(call, _Known(grids, constants, kinds))
