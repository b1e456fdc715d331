"""Steps of a C program: which array each value of a graph is, and where it lies."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from math import prod

import numpy as np

from graphrewrite import Graph, Tensor
from graphrewrite.graph import Operand
from graphrewrite.hdl.emission.names import NameTable
from graphrewrite.lowering.c.arrays import Array, row_major
from graphrewrite.lowering.c.kernel import Kernel, Step, Unfit
from graphrewrite.memory import Placement, Span, place
from graphrewrite.types import Type, element_dtype

__all__ = ["Program", "Written"]

_ALIGNED = 8
"""Bytes of the widest entries; each array in the arena begins at a multiple of them."""

_WIDENING = frozenset(
    {
        *("integer_add", "integer_conv", "integer_linear", "integer_mul", "integer_sub", "integer_threshold"),
        *("lookup", "output"),
    }
)
"""Ops whose C converts operands to wider integers, so that constants may be stored in narrower ones."""

_WIDER = ("f16", "bf16")
_SHORT = ("i2", "i4", "u2", "u4")


def _narrowest(value: np.ndarray) -> np.dtype:
    """Return the narrowest integers of the same sign that hold some integers; of others their own dtype.

    Examples
    --------
    >>> _narrowest(np.array([-3, 200])).name, _narrowest(np.ones(2, np.float32)).name
    ('int16', 'float32')
    """
    if value.dtype.kind not in "iu" or not value.size:
        return value.dtype
    low, high = int(value.min()), int(value.max())
    kinds = [np.dtype(f"{'u' * (value.dtype.kind == 'u')}int{bits}") for bits in (8, 16, 32, 64)]
    return next(kind for kind in kinds if np.iinfo(kind).min <= low and high <= np.iinfo(kind).max)


@dataclass(frozen=True)
class Written:
    """A step in C: its node, its lines."""

    node: str
    lines: list[str]


@dataclass
class Program:
    """The C of a graph whose sizes are numbers, before its memory has offsets.

    Attributes
    ----------
    graph : Graph
        The graph.
    kernels : mapping of str to Kernel
        By op.
    names : NameTable
        Gives identifiers.
    arrays : dict
        By value; constants and tables by their own names are in `tables`.
    steps : list of Written
        In order.
    refused : list of str
        Nodes without C, with reasons.
    """

    graph: Graph
    kernels: dict[str, Kernel]
    names: NameTable
    arrays: dict[Operand, Array] = field(default_factory=dict)
    ports: dict[str, Array] = field(default_factory=dict)
    tables: dict[str, Array] = field(default_factory=dict)
    steps: list[Written] = field(default_factory=list)
    refused: list[str] = field(default_factory=list)
    buffers: dict[str, Operand] = field(default_factory=dict)
    spans: list[Span] = field(default_factory=list)

    def __post_init__(self) -> None:
        order = self.graph.in_order()
        for name in (*self.graph.inputs, *self.graph.outputs):
            self._port(name)
        self.last_read = self._last_reads(order)
        self.span_of: dict[str, int] = {}
        for index, node in enumerate(order):
            kind = self.graph.nodes[node]["type"]
            if kind == "constant":
                self._constant(node)
            elif kind not in ("input", "output"):
                self._step(node, index)
        for name in self.graph.outputs:
            self._copy_out(name)

    def placed(self) -> tuple[Placement, dict[str, int]]:
        """Return where buffers lie, and the offset of each by its name."""
        found = place(self.spans, align=_ALIGNED)
        return found, {name: found.offsets[self.span_of[name]] for name in self.buffers}

    # ------------------------------------------------------------------ values

    def _array(self, name: str, kind: Type) -> Array:
        if not isinstance(kind, Tensor):
            raise Unfit(f"it has a value of the type {kind}")
        shape, dtype = kind.shape, element_dtype(kind.element)
        opened = [size for size in shape if not isinstance(size, int)]
        if opened:
            raise Unfit(f"the size {opened[0]} of {kind} is open; give it with sizes={{...}}")
        if dtype.kind not in "fiub" or kind.element in _WIDER or (dtype.kind == "f" and kind.element not in ("f32", "f64")):
            raise Unfit(f"C has no type for {kind.element}")
        sizes = tuple(int(size) for size in shape)
        if prod(sizes) >= 1 << 31:
            raise Unfit(f"{kind} has 2**31 entries or more")
        return Array(name, dtype, sizes, row_major(sizes))

    def _port(self, name: str) -> None:
        """Note the array of an input or output, and which value an output is computed into."""
        is_input = name in self.graph.inputs
        source = Operand(name, 0) if is_input else self.graph.operands(name)[0]
        try:
            array = self._array(self.names.give(name), self.graph.result_type(*source))
        except Unfit as reason:
            self.refused.append(f"{'input' if is_input else 'output'} ({name}: {reason})")
            return
        self.ports[name] = array
        computed = self.graph.nodes[source.node]["type"] not in ("input", "constant")
        if is_input or (computed and source not in self.arrays):
            self.arrays[source] = array

    def _constant(self, node: str) -> None:
        readers = self.graph.readers(node)
        try:
            array = self._array(self.names.give(self._role(node)), self.graph.result_type(node))
        except Unfit as reason:
            self.refused.append(f"constant ({node}: {reason})")
            return
        value = np.asarray(self.graph.nodes[node]["value"]).astype(array.dtype).reshape(array.shape)
        if all(self.graph.nodes[reader.node]["type"] in _WIDENING for reader in readers):
            value = value.astype(_narrowest(value))
        self.arrays[Operand(node, 0)] = self.tables[array.name] = replace(array, value=value, dtype=value.dtype)

    def _role(self, node: str) -> str:
        """What to call a constant: after its first reader, and what it is there."""
        readers = self.graph.readers(node)
        if not readers or self.graph.nodes[readers[0].node]["type"] == "output":
            return node
        names = self.graph.op(readers[0].node).operands
        return f"{readers[0].node} {names[min(readers[0].slot, len(names) - 1)]}"

    def _last_reads(self, order: tuple[str, ...]) -> dict[Operand, int]:
        last: dict[Operand, int] = {}
        for index, node in enumerate(order):
            for operand in self.graph.operands(node):
                last[operand] = index if self.graph.nodes[node]["type"] != "output" else len(order)
        return last

    # ------------------------------------------------------------------ steps

    def _step(self, node: str, index: int) -> None:
        kind = self.graph.nodes[node]["type"]
        kernel = self.kernels.get(kind)
        if kernel is None:
            self.refused.append(f"{kind} ({node})")
            return
        operands = self.graph.operands(node)
        try:
            results = [self._result(node, i, each) for i, each in enumerate(self._types(node))]
            if any(operand not in self.arrays for operand in operands):
                return  # what computes it was refused
            step = self._in_order(node, [self.arrays[operand] for operand in operands], results)
            if not kernel.short and any(getattr(t, "element", None) in _SHORT for t in step.types):
                raise Unfit("it computes with integers of less than 8 bits")
            lines = list(kernel.write(step))
        except Unfit as reason:
            self.refused.append(f"{kind} ({node}: {reason})")
            return
        self.tables.update({table.name: table for table in step.tables})
        self.steps.append(Written(node, lines))
        self._allocate(node, index, operands, results, kernel)

    def _types(self, node: str) -> tuple[Type, ...]:
        kinds = self.graph.nodes[node]["result"]
        return kinds if isinstance(kinds, tuple) else (kinds,)

    def _result(self, node: str, index: int, kind: Type) -> Array:
        operand = Operand(node, index)
        if operand not in self.arrays:
            self.arrays[operand] = self._array(self.names.give(f"{node} {index}" if index else node), kind)
        return self.arrays[operand]

    def _in_order(self, node: str, operands: list[Array], results: list[Array]) -> Step:
        """Return a step in which axes lie as the function of its op has them."""
        op, types = self.graph.op(node), [self.graph.result_type(*each) for each in self.graph.operands(node)]
        shown = [replace(array) for array in operands]  # an operand that is read twice is two
        arrangement = op.arrangement(types)
        if arrangement is not None:
            inverse = np.argsort(arrangement.result).tolist()
            shown[0] = shown[0].transposed(arrangement.operand)
            if shown[0].value is not None:
                shown[0] = replace(shown[0], value=np.transpose(shown[0].value, arrangement.operand))
            results = [each.transposed(inverse) for each in results]
        attributes = self.graph.attributes(node)
        return Step(op, attributes, tuple(shown), tuple(results), self._types(node), lambda stem: self._name(node, stem))

    def _name(self, node: str, stem: str) -> str:
        return self.names.give(f"{node} {stem}")

    def _allocate(
        self, node: str, index: int, operands: tuple[Operand, ...], results: list[Array], kernel: Kernel
    ) -> None:
        """Note the life of each result in the arena, and whether it takes over the memory of an operand."""
        ports = {array.name for array in self.ports.values()}
        for position, array in enumerate(results):
            if array.name in ports:
                continue
            value = Operand(node, position)
            end = max(self.last_read.get(value, index), index) + 1
            over = next(self._overwritten(index, operands, array), None) if kernel.in_place else None
            self.span_of[array.name] = len(self.spans)
            self.buffers[array.name] = value
            self.spans.append(Span(max(array.size, 1) * array.dtype.itemsize, index, end, align=_ALIGNED, over=over))

    def _overwritten(self, index: int, operands: tuple[Operand, ...], result: Array) -> Iterator[int]:
        """Yield the spans of operands that nobody reads any more and that lie entry by entry as the result."""
        for operand in dict.fromkeys(operands):
            array = self.arrays[operand]
            same = (array.dtype, array.shape) == (result.dtype, result.shape)
            if same and array.name in self.buffers and self.last_read[operand] == index:
                yield self.span_of[array.name]

    def _copy_out(self, name: str) -> None:
        """Copy a value to an output of its own, where it is an input, a constant, or another output too."""
        source = self.graph.operands(name)[0]
        target = self.ports.get(name)
        value = self.arrays.get(source)
        if target is None or value is None or value.name == target.name:
            return
        step = Step(self.graph.op(name), {}, (replace(value),), (target,), (), lambda stem: self._name(name, stem))
        self.steps.append(Written(name, list(self.kernels["identity"].write(step))))
        self.tables.update({table.name: table for table in step.tables})
