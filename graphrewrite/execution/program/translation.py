"""Translation of nodes of the integer level to instructions, where that is provably exact."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import suppress
from typing import Any, NamedTuple

import numpy as np

from graphrewrite.execution.program.call import Call
from graphrewrite.execution.program.carrier import FLOAT32, FLOAT64, Map, carrier
from graphrewrite.execution.program.chain import POSITIVE_ZERO, Apply, Chain, Link
from graphrewrite.execution.program.instruction import Cast, Instruction, Register
from graphrewrite.op.op import Op
from graphrewrite.types import HELD_WIDER, Element, FixedPoint, Tensor, Type, element_dtype, integer_limits

__all__ = ["KernelValue", "Translate", "Translation"]


class KernelValue(NamedTuple):
    """A value of the graph inside a kernel.

    Attributes
    ----------
    register : int
        Its register.
    shape : tuple of int
        Channels, then positions, without the batch.
    dtype : numpy.dtype
        The dtype of the array that the op's function would return.
    low, high : int, optional
        Proven bounds of every mantissa; None for real numbers.
    pending : Map or Chain, optional
        What is still to be applied to the register; it is delayed so that it merges with what follows.
    zero : int
        Zero point of stored numbers: the register holds their distances from it, of which `low` and `high` are bounds.
    scale : float, optional
        Of floats on a grid: the register holds whole numbers, and this times them, in float32, are the values.
    """

    register: int
    shape: tuple[int, ...]
    dtype: np.dtype
    low: int | None = None
    high: int | None = None
    pending: Map | Chain | None = None
    zero: int = 0
    scale: float | None = None

    @property
    def is_plain(self) -> bool:
        """Whether the register holds the numbers themselves, after a pending map."""
        return self.scale is None and not self.zero and not isinstance(self.pending, Chain)

    @property
    def bound(self) -> int:
        """The greatest magnitude."""
        assert self.low is not None
        assert self.high is not None
        return max(abs(self.low), abs(self.high))


Translate = Callable[["Translation", Call, list[KernelValue]], KernelValue | None]
"""Function that emits the instructions of a node for its operands; returns None if exactness is not proven."""


class Translation:
    """The instructions of a kernel under construction."""

    def __init__(
        self, table: Mapping[Op, Translate], constants: Mapping[str, np.ndarray], reads: Mapping[str, int]
    ) -> None:
        self.table, self.constants, self.reads = table, constants, reads
        self.registers: list[Register] = []
        self.instructions: list[Instruction] = []
        self.held: dict[str, KernelValue] = {}
        self.entries: dict[str, Type] = {}

    def translate(self, call: Call, entry_types: Mapping[str, Type]) -> bool:
        """Translate a node; return whether it was possible. `entry_types` are types of values from outside."""
        translate = self.table.get(call.op)
        if (
            translate is None
            or call.arrangement is not None
            or any(o.result for o in call.operands)
            or call.attributes.keys() != call.op.attributes.keys()
            or len(call.operands) < call.op.required
            or (len(call.operands) > len(call.op.operands) and not call.op.variadic)
            or call.operands[0].node in self.constants
        ):
            return False
        before = len(self.registers), len(self.instructions)
        entered = list(
            dict.fromkeys(o.node for o in call.operands if o.node not in self.held and o.node not in self.constants)
        )
        translated = None
        if all(self._enter(node, entry_types.get(node), call) for node in entered):
            # Raised for invalid attributes: the op's function reports them when it is called.
            with suppress(AttributeError, IndexError, TypeError, ValueError):
                translated = translate(self, call, [self.held[o.node] for o in call.operands if o.node in self.held])
        translated = None if translated is None else self._as_typed(translated, call)
        if translated is None:
            for node in entered:
                self.held.pop(node, None)
                self.entries.pop(node, None)
            del self.registers[before[0] :], self.instructions[before[1] :]
            return False
        self.held[call.node] = translated
        if self.reads.get(call.node, 0) > 1:
            self.settle(call.node)
        return True

    def _as_typed(self, value: KernelValue, call: Call) -> KernelValue | None:
        """Return a value with the dtype of its format, as a call returns it; None if its bounds exceed the dtype."""
        if len(call.results) != 1:
            return None
        element = call.results[0].element
        if not isinstance(element, FixedPoint):
            return value
        limits = np.iinfo(element.dtype)
        if value.low is None or value.high is None or value.low < limits.min or value.high > limits.max:
            return None
        return value._replace(dtype=element.dtype)

    def _enter(self, node: str, type: Type | None, call: Call) -> bool:
        """Add a value from outside, if a register can hold its type."""
        if (
            not isinstance(type, Tensor)
            or len(type.shape) < 2
            or not all(isinstance(d, int) and d > 0 for d in type.shape[1:])
        ):
            return False
        shape = tuple(int(d) for d in type.shape[1:])
        if isinstance(type.element, FixedPoint):
            kind = carrier(max(-type.element.minimum, type.element.maximum))
            if kind is None:
                return False
            self.held[node] = KernelValue(
                self.register(shape, kind), shape, type.element.dtype, type.element.minimum, type.element.maximum
            )
        elif (limits := _narrow(type.element)) is not None:
            self.held[node] = KernelValue(self.register(shape, FLOAT32), shape, element_dtype(type.element), *limits)
        elif type.element in ("f32", "f64"):
            kind = element_dtype(type.element)
            element = call.attributes.get("element")
            if isinstance(element, FixedPoint) and kind == FLOAT32:
                # The carrier must represent the limits of the format.
                wide = carrier(max(-element.minimum, element.maximum))
                if wide is None:
                    return False
                kind = wide
            self.held[node] = KernelValue(self.register(shape, kind), shape, element_dtype(type.element))
        else:
            return False
        self.entries[node] = type
        return True

    def register(self, shape: tuple[int, ...], dtype: np.dtype, *, gathered: bool = False) -> int:
        """Return a new register for a value of a shape: channels first without the batch; as stored if `gathered`."""
        self.registers.append(Register(shape if gathered else (*shape[1:], *shape[:1]), dtype))
        return len(self.registers) - 1

    def emit(self, instruction: Instruction) -> int:
        """Append an instruction and return the register that it writes."""
        self.instructions.append(instruction)
        return instruction.writes

    def mapped(
        self, x: KernelValue, by: Map, *, low: int | None = None, high: int | None = None, dtype: np.dtype | None = None
    ) -> KernelValue:
        """Return a value with a pending map, which is not computed yet; `low` and `high` are the bounds of integers."""
        both = by if x.pending is None else None if isinstance(x.pending, Chain) else x.pending.then(by)
        if both is None:
            x, both = self.computed(x), by
        return x._replace(pending=both, low=low, high=high, dtype=dtype or x.dtype)

    def computed(self, x: KernelValue) -> KernelValue:
        """Return a value after its pending map, in the narrowest carrier."""
        if x.pending is None:
            return x
        kind = self.registers[x.register].dtype
        if isinstance(x.pending, Chain):
            kind = FLOAT64 if x.pending.is_wide else FLOAT32
        by = x.pending.held(kind)
        register = self.emit(Apply((x.register,), self.register(x.shape, kind), by))
        narrow = kind if x.low is None else carrier(x.bound)
        x = x._replace(register=register, pending=None)
        return self.carried(x, narrow) if narrow is not None and narrow.itemsize < kind.itemsize else x

    def carried(self, x: KernelValue, kind: np.dtype) -> KernelValue:
        """Return a value, computed, in a register of the carrier."""
        x = self.computed(x)
        if self.registers[x.register].dtype == kind:
            return x
        return x._replace(register=self.emit(Cast((x.register,), self.register(x.shape, kind))))

    def chained(self, x: KernelValue, *links: Link, **changes: Any) -> KernelValue:
        """Return a value with more links of a pending chain, and changes of what is known of it."""
        x, chain = self.chain(x)
        return x._replace(pending=chain.then(*links), **changes)

    def chain(self, x: KernelValue) -> tuple[KernelValue, Chain]:
        """Return a value and its pending chain, after a pending map."""
        if isinstance(x.pending, Chain):
            return x, x.pending
        return self.computed(x), Chain()

    def real(self, x: KernelValue) -> KernelValue:
        """Return floats on a grid as the floats themselves; of zeros, the positive one."""
        if x.scale is None:
            return x
        links = Link(np.multiply, np.float32(x.scale)), POSITIVE_ZERO
        return self.chained(x, *links, low=None, high=None, scale=None)

    def exported(self, node: str) -> KernelValue:
        """Return a node's value as it leaves the kernel."""
        x = self.settle(node)
        if x.zero:
            x = self.chained(x, Link(np.add, float(x.zero)))
        return self.computed(self.real(x))

    def settle(self, node: str) -> KernelValue:
        """Compute the pending map of a node, once for all its readers."""
        self.held[node] = self.computed(self.held[node])
        return self.held[node]

    def constant(self, call: Call, slot: int) -> np.ndarray | None:
        """Return the integers of a constant operand as float64 (exact up to 2**53); None for other operands."""
        value = self.constants.get(call.operands[slot].node) if slot < len(call.operands) else None
        return value.astype(np.float64) if value is not None and value.dtype.kind in "iu" else None


def _narrow(element: Element) -> tuple[int, int] | None:
    """Return the limits of stored integers of few bits."""
    limits = integer_limits(element) if isinstance(element, str) and element not in HELD_WIDER else None
    return limits if limits is not None and limits[1] - limits[0] < 1 << 16 else None
