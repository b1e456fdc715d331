"""Translate nodes of the integer level into instructions, where that is provably exact."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import suppress
from typing import NamedTuple

import numpy as np

from graphrewrite.op.op import Op
from graphrewrite.program.call import Call
from graphrewrite.program.carrier import FLOAT32, Map, carrier
from graphrewrite.program.instruction import Cast, Convert, Instruction, Register
from graphrewrite.types import FixedPoint, Tensor, Type, element_dtype

__all__ = ["Held", "Translate", "Translation"]


class Held(NamedTuple):
    """How a value of the graph is held inside of a kernel.

    Attributes
    ----------
    register : int
        Where it lies.
    shape : tuple of int
        Without the batch: channels, then positions.
    dtype : numpy.dtype
        Of the array that the op's function would have given.
    low, high : int, optional
        Bounds that every mantissa provably keeps; None for real numbers.
    pending : Map, optional
        What is still to be computed on the register. It waits, so that it merges with what follows.
    """

    register: int
    shape: tuple[int, ...]
    dtype: np.dtype
    low: int | None = None
    high: int | None = None
    pending: Map | None = None

    @property
    def bound(self) -> int:
        """The greatest magnitude."""
        assert self.low is not None
        assert self.high is not None
        return max(abs(self.low), abs(self.high))


Translate = Callable[["Translation", Call, list[Held]], Held | None]
"""Emit the instructions of a node for its held operands; None, and nothing emitted, where exactness is not proven."""


class Translation:
    """The instructions of a kernel in the making.

    Parameters
    ----------
    table : mapping of Op to Translate
        What can be translated.
    constants : mapping of str to ndarray
        Values of the graph's constants, by node.
    reads : mapping of str to int
        How often each node's value is read, or wanted.
    """

    def __init__(
        self, table: Mapping[Op, Translate], constants: Mapping[str, np.ndarray], reads: Mapping[str, int]
    ) -> None:
        self.table, self.constants, self.reads = table, constants, reads
        self.registers: list[Register] = []
        self.instructions: list[Instruction] = []
        self.held: dict[str, Held] = {}
        self.entries: dict[str, Type] = {}

    def translate(self, call: Call, entry_types: Mapping[str, Type]) -> bool:
        """Translate a node, if that is possible.

        Parameters
        ----------
        call : Call
            The node.
        entry_types : mapping of str to Type
            Types of its operands that are not computed in this kernel.

        Returns
        -------
        bool
            Whether it was.
        """
        translate = self.table.get(call.op)
        if (
            translate is None
            or call.arrangement is not None
            or any(o.result for o in call.operands)
            or call.attributes.keys() != call.op.attributes.keys()
        ):
            return False
        if (
            not call.op.required <= len(call.operands) <= len(call.op.operands)
            or call.operands[0].node in self.constants
        ):
            return False
        before = len(self.registers), len(self.instructions)
        entered = list(
            dict.fromkeys(o.node for o in call.operands if o.node not in self.held and o.node not in self.constants)
        )
        found = None
        if all(self._enter(node, entry_types.get(node), call) for node in entered):
            with suppress(
                AttributeError, IndexError, TypeError, ValueError
            ):  # of attributes that the op's function refuses
                found = translate(self, call, [self.held[o.node] for o in call.operands if o.node in self.held])
        found = None if found is None else self._as_typed(found, call)
        if found is None:
            for node in entered:
                self.held.pop(node, None)
                self.entries.pop(node, None)
            del self.registers[before[0] :], self.instructions[before[1] :]
            return False
        self.held[call.node] = found
        if self.reads.get(call.node, 0) > 1:
            self.settle(call.node)
        return True

    def _as_typed(self, found: Held, call: Call) -> Held | None:
        """Mantissas leave in the dtype of their format, as from a call; None if they do not fit it."""
        if len(call.results) != 1:
            return None
        element = call.results[0].element
        if not isinstance(element, FixedPoint):
            return found
        known = np.iinfo(element.dtype)
        if found.low is None or found.high is None or found.low < known.min or found.high > known.max:
            return None
        return found._replace(dtype=element.dtype)

    def _enter(self, node: str, type: Type | None, call: Call) -> bool:
        """Take in a value from outside, if its type is one that a register can hold."""
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
            self.held[node] = Held(
                self.register(shape, kind), shape, type.element.dtype, type.element.minimum, type.element.maximum
            )
        elif type.element in ("f32", "f64"):
            kind = element_dtype(type.element)
            element = call.attributes.get("element")
            if isinstance(element, FixedPoint) and kind == FLOAT32:
                # The limits of the format must be numbers of the carrier.
                wide = carrier(max(-element.minimum, element.maximum))
                if wide is None:
                    return False
                kind = wide
            self.held[node] = Held(self.register(shape, kind), shape, element_dtype(type.element))
        else:
            return False
        self.entries[node] = type
        return True

    def register(self, shape: tuple[int, ...], dtype: np.dtype, *, kept: bool = False, gathered: bool = False) -> int:
        """Return a new register for a value of a shape (channels first, without the batch).

        Parameters
        ----------
        shape : tuple of int
            Channels, then positions; as it lies, if gathered.
        dtype : numpy.dtype
            The carrier.
        kept : bool
            Whether its room is its alone.
        gathered : bool
            Whether the shape is already in the register's order.

        Returns
        -------
        int
        """
        self.registers.append(Register(shape if gathered else (*shape[1:], *shape[:1]), dtype, kept))
        return len(self.registers) - 1

    def emit(self, instruction: Instruction) -> int:
        """Append an instruction and return the register that it writes.

        Parameters
        ----------
        instruction : Instruction
            What to append.

        Returns
        -------
        int
        """
        self.instructions.append(instruction)
        return instruction.writes

    def mapped(self, x: Held, by: Map, *, low: int | None, high: int | None, dtype: np.dtype) -> Held:
        """Return a held value with a map behind it, not computed yet.

        Parameters
        ----------
        x : Held
            The operand.
        by : Map
            What to compute.
        low, high : int, optional
            Bounds of the result.
        dtype : numpy.dtype
            Of the array that the op's function gives.

        Returns
        -------
        Held
        """
        both = by if x.pending is None else x.pending.then(by)
        if both is None:
            x, both = self.computed(x), by
        return x._replace(pending=both, low=low, high=high, dtype=dtype)

    def computed(self, x: Held) -> Held:
        """Return a held value with nothing pending, in the narrowest carrier that holds it.

        Parameters
        ----------
        x : Held
            Perhaps with a pending map.

        Returns
        -------
        Held
        """
        if x.pending is None:
            return x
        kind = self.registers[x.register].dtype
        made = x._replace(
            register=self.emit(Convert((x.register,), self.register(x.shape, kind), x.pending)), pending=None
        )
        narrow = kind if x.low is None else carrier(x.bound)
        return self.carried(made, narrow) if narrow is not None and narrow.itemsize < kind.itemsize else made

    def carried(self, x: Held, kind: np.dtype) -> Held:
        """Return a held value, computed, in a register of the carrier.

        Parameters
        ----------
        x : Held
            A value that the carrier holds.
        kind : numpy.dtype
            The carrier.

        Returns
        -------
        Held
        """
        x = self.computed(x)
        if self.registers[x.register].dtype == kind:
            return x
        return x._replace(register=self.emit(Cast((x.register,), self.register(x.shape, kind))))

    def settle(self, node: str) -> Held:
        """Compute what is pending for a node, once for all its readers.

        Parameters
        ----------
        node : str
            A node that is held.

        Returns
        -------
        Held
        """
        self.held[node] = self.computed(self.held[node])
        return self.held[node]

    def constant(self, call: Call, slot: int) -> np.ndarray | None:
        """Return the whole numbers that an operand holds, or None if it is not a constant of integers.

        Parameters
        ----------
        call : Call
            The node.
        slot : int
            Which operand.

        Returns
        -------
        ndarray of float64 or None
            Exact up to a magnitude of 2**53.
        """
        value = self.constants.get(call.operands[slot].node) if slot < len(call.operands) else None
        return value.astype(np.float64) if value is not None and value.dtype.kind in "iu" else None
