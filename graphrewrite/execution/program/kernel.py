"""Kernel: a part of a graph that runs as instructions, one chunk of the batch at a time."""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from typing import Any, NamedTuple

import numpy as np

from graphrewrite import op
from graphrewrite.execution.program.call import Call, Values
from graphrewrite.execution.program.chain import Apply
from graphrewrite.execution.program.channelwise import Border
from graphrewrite.execution.program.instruction import Action, Cast, Instruction, Product, Sum
from graphrewrite.execution.program.layers import translate_conv, translate_linear, translate_max_pool
from graphrewrite.execution.program.memory import Memory, plan
from graphrewrite.execution.program.movement import (
    translate_flatten,
    translate_identity,
    translate_reshape,
    translate_transpose,
)
from graphrewrite.execution.program.pointwise import (
    translate_add,
    translate_arg_max,
    translate_clip,
    translate_from_fixed,
    translate_relu,
    translate_requantise,
    translate_to_fixed,
)
from graphrewrite.execution.program.translation import Translate, Translation
from graphrewrite.execution.program.workspace import Workspace, Workspaces
from graphrewrite.op.op import Op
from graphrewrite.runtime.progress import progress
from graphrewrite.types import FixedPoint, Tensor, element_dtype

__all__ = ["MANY", "TABLE", "Kernel"]

TABLE: Mapping[Op, Translate] = {
    op.integer_conv: translate_conv,
    op.integer_linear: translate_linear,
    op.integer_add: translate_add,
    op.requantise: translate_requantise,
    op.max_pool: translate_max_pool,
    op.relu: translate_relu,
    op.clip: translate_clip,
    op.arg_max: translate_arg_max,
    op.to_fixed: translate_to_fixed,
    op.from_fixed: translate_from_fixed,
    op.identity: translate_identity,
    op.flatten: translate_flatten,
    op.reshape: translate_reshape,
    op.transpose: translate_transpose,
}
"""Translations by op. A user's op of the same name is another op, and runs by its own function."""

_CACHE = 3 << 20
"""Maximum size of a chunk's registers in bytes, not much more than a typical second-level cache."""

MANY, _GRAIN = 16, 16
"""Minimum frames of a chunk of several, and their multiple: enough to fill vector registers."""

_LINE = 64
"""Size in bytes of a cache line, at which registers begin: where vectors lie across two of them, steps take longer."""

_LONG = 8
"""Number of chunks from which progress is shown."""

_MOST, _MOST_REAL = 1 << 24, 1 << 26
"""Maximum size in bytes of a chunk of several frames, and of kernels of real numbers at all, which are slower than the
ops' functions where a single frame exceeds all caches.
"""


@dataclass(frozen=True)
class Export:
    """A value that leaves the kernel.

    Attributes
    ----------
    node : str
        The node.
    register : int
        Its register.
    shape : tuple of int
        Its shape without the batch.
    dtype : numpy.dtype
        The dtype that the op's function returns.
    """

    node: str
    register: int
    shape: tuple[int, ...]
    dtype: np.dtype


class _Bound(NamedTuple):
    """The actions of all instructions on memory for some frames, and views of entries and exports, batch first.

    Of entries that are floats there are the numbers, too, in any order.
    """

    chunk: int
    actions: list[Action]
    loads: list[np.ndarray]
    numbers: list[np.ndarray]
    stores: list[np.ndarray]


@dataclass(frozen=True, eq=False)
class Kernel:
    """Instructions for a part of a graph, and the calls that compute the same if the inputs violate a premise.

    Attributes
    ----------
    calls : tuple of Call
        The nodes, in order.
    instructions : tuple of Instruction
        Their instructions.
    memory : Memory
        The memory plan of the registers.
    entries : tuple
        Node, type and register of each value from outside.
    exports : tuple of Export
        Values for outside.
    few : int, optional
        None if the instructions give the same bits as the functions. If they round in another order, the number of
        frames up to which they compute one by one; more are left to the functions, unless they fill a chunk.
    workspaces : Workspaces
        Memory for registers, which it shares with the other kernels of a program.
    """

    calls: tuple[Call, ...]
    instructions: tuple[Instruction, ...]
    memory: Memory
    entries: tuple[tuple[str, Tensor, int], ...]
    exports: tuple[Export, ...]
    few: int | None = None
    workspaces: Workspaces = field(default_factory=Workspaces, repr=False)

    @classmethod
    def of(
        cls,
        calls: list[Call],
        translation: Translation,
        exported: list[str],
        workspaces: Workspaces,
        *,
        few: int | None = None,
    ) -> Kernel:
        """Return the kernel of a finished translation; `exported` lists nodes that are read outside."""
        entries = [
            (n, kind, translation.held[n].register)
            for n, kind in translation.entries.items()
            if isinstance(kind, Tensor)
        ]
        exports = []
        for node in exported:
            held = translation.exported(node)
            exports.append(Export(node, held.register, held.shape, held.dtype))
        stored = [e.register for e in exports]
        instructions = _overwriting(translation.instructions, stored)
        memory = plan(translation.registers, instructions, [r for *_, r in entries], stored)
        return cls(tuple(calls), tuple(instructions), memory, tuple(entries), tuple(exports), few, workspaces)

    @cached_property
    def names(self) -> frozenset[str]:
        """Names of the sizes in attributes of its calls."""
        return frozenset().union(*(call.names for call in self.calls))

    def with_sizes(self, sizes: Mapping[str, int]) -> Kernel:
        """Return the kernel whose calls have numbers in place of the names of sizes."""
        return replace(self, calls=tuple(call.with_sizes(sizes) if call.names else call for call in self.calls))

    def run(self, values: Values) -> None:
        """Compute the exports."""
        arrays = [values[node][0] for node, *_ in self.entries]
        if self._premises(arrays):
            batch = len(arrays[0])
            results = [np.empty((batch, *e.shape), e.dtype) for e in self.exports]
            if not batch or self._compute(arrays, results, batch):
                for e, result in zip(self.exports, results, strict=True):
                    values[e.node] = (result,)
                return
        for call, dead in zip(self.calls, self.ends, strict=True):
            call.run(values)
            for node in dead:
                del values[node]

    @property
    def fits(self) -> bool:
        """Whether it needs little enough memory to be faster than calls."""
        if self.few is None:
            return True
        return self.memory.size * (1 if self.few > 1 else MANY) <= (_MOST_REAL if self.few else _MOST)

    @cached_property
    def ends(self) -> tuple[tuple[str, ...], ...]:
        """The nodes of the kernel that each call reads last."""
        own, kept = {call.node for call in self.calls}, {e.node for e in self.exports}
        last = {o.node: index for index, call in enumerate(self.calls) for o in call.operands}
        ends: list[list[str]] = [[] for _ in self.calls]
        for node, index in last.items():
            if node in own and node not in kept:
                ends[index].append(node)
        return tuple(map(tuple, ends))

    def _compute(self, arrays: list[np.ndarray], results: list[np.ndarray], batch: int) -> bool:
        """Write the results; return False if there is NaN, for which `to_fixed` raises what instructions cannot."""
        chunk = self._chunk(batch)
        # Limits bound infinities, as the op's function does in a wider float.
        with np.errstate(all="ignore"), self.workspaces.taken() as workspace:
            bound = self._bound_to(chunk, workspace)
            starts = range(0, batch, chunk)
            with progress(starts, "evaluate") if len(starts) >= _LONG else nullcontext(starts) as shown:
                for start in shown:
                    # The last chunk may overlap the one before it: the same frames give the same bits.
                    first = min(start, batch - chunk)
                    for array, view in zip(arrays, bound.loads, strict=True):
                        view[...] = array[first : first + chunk]
                    for numbers in bound.numbers:
                        if math.isnan(np.vdot(numbers, numbers)):  # if one is, and infinities are not
                            return False
                    for action in bound.actions:
                        action()
                    for result, view in zip(results, bound.stores, strict=True):
                        result[first : first + chunk] = view
        return True

    def _chunk(self, batch: int) -> int:
        """Return the number of frames at a time: those whose registers fit into the cache; of large ones, one."""
        if self.memory.size * min(batch, MANY) > _MOST or (self.few is not None and batch < MANY):
            return 1
        most = max(MANY, _CACHE // max(self.memory.size, 1) // _GRAIN * _GRAIN)
        chunks = -(-batch // most)
        return min(batch, -(-batch // chunks // _GRAIN) * _GRAIN) if chunks > 1 else batch

    def _bound_to(self, chunk: int, workspace: Workspace) -> _Bound:
        """Return actions on memory for so many frames, perhaps of an earlier run."""
        # Which kernels with other sizes in their calls have, too; kept apart for one frame and for many.
        key = id(self.memory), chunk == 1
        bound = workspace.bound.get(key)
        if isinstance(bound, _Bound) and bound.chunk == chunk:
            return bound
        block = workspace.block(self.memory.size * chunk + _LINE)
        block = block[-block.ctypes.data % _LINE :]
        registers = self.memory.views(block, chunk)
        floats = [r for (*_, r), (*_, is_float) in zip(self.entries, self._kinds, strict=True) if is_float]
        numbers = [registers[r].reshape(-1) for r in floats]
        batch_first = _batch_first
        if self._is_of_vectors and chunk > 1:  # as many positions of one frame: vectors lie as they come
            registers = [register.reshape(chunk, -1, 1) for register in registers]
            batch_first = partial(np.squeeze, axis=-1)
        actions: list[Action] = []
        for step, (first, last) in zip(self.instructions, self.memory.free, strict=True):
            workspace.scratch.take_from(block[first * chunk : last * chunk])
            actions += step.bind(registers, workspace.scratch)
        loads = [batch_first(registers[r]) for *_, r in self.entries]
        stores = [batch_first(registers[e.register]) for e in self.exports]
        workspace.bound[key] = bound = _Bound(chunk, actions, loads, numbers, stores)
        return bound

    @cached_property
    def _is_of_vectors(self) -> bool:
        """Whether a frame is a vector in each register, and all steps treat each position alike and are exact."""
        registers = self.memory.registers
        return (
            self.few is None
            and all(len(register.shape) == 1 for register in registers)
            and all(isinstance(step, Product | Apply | Cast | Sum) for step in self.instructions)
        )

    def _premises(self, arrays: list[np.ndarray]) -> bool:
        """Tell whether the entries have their declared types and enough frames: only then are instructions exact."""
        if not arrays:
            return False
        batch = len(arrays[0])
        if self.few is not None and self.few < batch < MANY:
            return False
        for array, (shape, dtype, limits, _) in zip(arrays, self._kinds, strict=True):
            if array.shape[1:] != shape or len(array) != batch or array.dtype != dtype:
                return False
            if limits is not None and array.size and (array.min() < limits[0] or array.max() > limits[1]):
                return False
        return True

    @cached_property
    def _kinds(self) -> tuple[tuple[tuple[Any, ...], np.dtype, tuple[int, int] | None, bool], ...]:
        """Of each entry the shape of a frame, the dtype, limits if that holds more than the type, and if it is a float.

        For mantissas beyond the format the bounds of the translation are wrong.
        """
        found = []
        for _, kind, _ in self.entries:
            element, dtype = kind.element, np.dtype(element_dtype(kind.element))
            limits = None
            if isinstance(element, FixedPoint) and element.width < 8 * dtype.itemsize:
                limits = element.minimum, element.maximum
            found.append((kind.shape[1:], dtype, limits, dtype.kind == "f"))
        return tuple(found)


def _overwriting(instructions: Sequence[Instruction], stored: Collection[int]) -> list[Instruction]:
    """Return instructions of which those that may overwrite their operand know whether somebody reads it afterwards."""
    last = {register: step for step in instructions for register in step.reads}
    return [
        replace(step, overwrites=last[step.reads[0]] is step and step.reads[0] not in stored)
        if isinstance(step, Border)
        else step
        for step in instructions
    ]


def _batch_first(register: np.ndarray) -> np.ndarray:
    """Return a register [positions…, channels, frames] as [frames, channels, positions…]."""
    if register.ndim == 1:
        return register
    return register.transpose(register.ndim - 1, register.ndim - 2, *range(register.ndim - 2))
