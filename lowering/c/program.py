"""Steps of a C program: which array each value of a program over memory is, and where it lies."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from math import prod
from typing import Any

import numpy as np

from graphrewrite import Graph, Tensor
from graphrewrite.errors import did_you_mean
from graphrewrite.graph import Operand
from graphrewrite.graph.regions import Regions, reads_of, writes_of
from graphrewrite.hdl.emission.names import NameTable
from graphrewrite.lowering.c.arrays import Array, row_major
from graphrewrite.lowering.c.control import CONTROL, Running
from graphrewrite.lowering.c.halves import HALVES, as_single, in_halves
from graphrewrite.lowering.c.identifiers import c_comment
from graphrewrite.lowering.c.kernel import Kernel, Step, Unfit
from graphrewrite.lowering.c.moves import copied_part
from graphrewrite.lowering.errors import origins_text
from graphrewrite.memory import MemoryPlan, plan_memory, schedule
from graphrewrite.op import LIBRARY, find_op
from graphrewrite.op.op import Op
from graphrewrite.types import Type, element_dtype

__all__ = ["Program", "Written"]

_ALIGNED = 8
"""Bytes of the widest entries; each array in the arena begins at a multiple of them."""

_CUTS = 2000
"""How many sets of computed values an exact search for the order of steps may visit; beyond it a heuristic is used."""

_COPIES = ("copy", "insert", "extract")

_WIDENING = frozenset(
    {"integer_add", "integer_conv", "integer_linear", "integer_mul", "integer_sub", "integer_threshold", "lookup"}
)
"""Ops whose C converts operands to wider integers, so that constants may be stored in narrower ones."""

_SHORT = ("i2", "i4", "u2", "u4")


def _narrowest(value: np.ndarray) -> np.dtype:
    """Return the narrowest integers of the same sign that hold some integers; of others their own dtype.

    Examples
    --------
    >>> [_narrowest(np.array(value)).name for value in ([-200, 3], [-3, 200], [-3, 2], [0.5])]
    ['int16', 'int16', 'int8', 'float64']
    """
    if value.dtype.kind not in "iu" or not value.size:
        return value.dtype
    low, high = int(value.min()), int(value.max())
    kinds = [np.dtype(f"{'u' * (value.dtype.kind == 'u')}int{bits}") for bits in (8, 16, 32, 64)]
    return next(kind for kind in kinds if np.iinfo(kind).min <= low and high <= np.iinfo(kind).max)


@dataclass(frozen=True)
class Written:
    """A step in C: its node, its comment, its lines."""

    node: str
    comment: str
    lines: list[str]

    def scoped(self) -> list[str]:
        """Return the lines; variables of a step that begins with one are its own."""
        if not self.lines or re.match(r"for |if |\{|[\w\[\]]+ = ", self.lines[0]):
            return self.lines
        return ["{", *(f"    {line}" for line in self.lines), "}"]


@dataclass
class Program:
    """The C of a graph of the level ``memory``.

    Attributes
    ----------
    graph : Graph
        The graph, whose sizes are numbers.
    kernels : mapping of str to Kernel
        By op.
    names : NameTable
        Gives identifiers.
    plan : MemoryPlan
        The order of the steps, and where regions lie.
    given : mapping of str to Array
        By input and output, the arrays that a program has which another one runs.
    base : int
        The byte of the arena from which its offsets count.
    arrays : dict
        By the value whose memory it is: inputs, constants, regions.
    ports : dict of str to Array
        By input and output.
    tables : dict of str to Array
        Constants by their C names.
    states : dict of str to Array
        By input, the variables that are kept between frames.
    buffers : dict of str to (Array, int)
        By their C names, arrays in the arena, and the bytes at which they begin.
    steps : list of Written
        In order.
    refused : list of str
        Nodes without C, with reasons.
    """

    graph: Graph
    kernels: Mapping[str, Kernel]
    names: NameTable
    plan: MemoryPlan
    given: Mapping[str, Array] = field(default_factory=dict)
    base: int = 0
    arrays: dict[Operand, Array] = field(default_factory=dict)
    ports: dict[str, Array] = field(default_factory=dict)
    tables: dict[str, Array] = field(default_factory=dict)
    states: dict[str, Array] = field(default_factory=dict)
    buffers: dict[str, tuple[Array, int]] = field(default_factory=dict)
    steps: list[Written] = field(default_factory=list)
    refused: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.regions = Regions(self.graph)
        self.variables = {self.graph.nodes[output].get("region"): output for output in self.graph.outputs}
        for name in (*self.graph.inputs, *self.graph.outputs):
            self._port(name)
        for node in self.graph.in_order():
            if self.graph.nodes[node]["type"] == "constant":
                self._constant(node)
            elif node in self.plan.rooms:
                self._room(node)
        for node in self.plan.order:
            self._step(node)

    @classmethod
    def of(cls, graph: Graph, kernels: Mapping[str, Kernel], names: NameTable) -> Program:
        """Return the C of a graph, in an order that takes little memory."""
        plan = plan_memory(graph, schedule(graph, cuts=_CUTS).order, align=_ALIGNED)
        return cls(graph, kernels, names, plan)

    # ------------------------------------------------------------------ values

    def _array(self, name: str, kind: Type) -> Array:
        if not isinstance(kind, Tensor):
            raise Unfit(f"it has a value of the type {kind}")
        dtype = element_dtype(kind.element)
        is_real = dtype.kind == "f"
        if dtype.kind not in "fiub" or (is_real and kind.element not in ("f32", "f64", *HALVES)):
            raise Unfit(f"C has no type for {kind.element}" + "; op.cast(x, element='f32') gives one" * is_real)
        sizes = tuple(int(size) for size in kind.shape)
        if prod(sizes) >= 1 << 31:
            raise Unfit(f"{kind} has 2**31 entries or more")
        return Array(name, dtype, sizes, row_major(sizes))

    def _port(self, name: str) -> None:
        """Note the array of an input or output."""
        is_input = name in self.graph.inputs
        value = Operand(name) if is_input else self.graph.operands(name)[0]
        root = value if is_input else self.regions.locations[value].root
        if not is_input and self.variables.get(root.node) == name:
            if root.node in self.ports:  # it lies where the variable does
                self.ports[name] = self.ports[root.node]
            return
        try:
            self.ports[name] = self.given.get(name) or self._array(
                self.names.give(name), self.graph.result_type(*value)
            )
        except Unfit as reason:
            self.refused.append(f"{'input' if is_input else 'output'} ({name}: {reason})")
            return
        self.arrays[root] = self.ports[name]
        if is_input and name in self.variables and "next" in self.graph.nodes[name] and not self.given:
            self.states[name] = self.ports[name]

    def _room(self, node: str) -> None:
        """Note the array of a region in the arena, which is called after what is written there first."""
        writers = [content.writer for content in self.regions.contents[Operand(node)] if content.writer]
        try:
            name = self.names.give(writers[0] if writers else node)
            array = self.arrays[Operand(node)] = self._array(name, self.graph.result_type(node))
            self.buffers[name] = array, self.base + self.plan.rooms[node].offset
        except Unfit as reason:
            self.refused.append(f"{self._computed(writers[0])[0] if writers else 'alloc'} ({node}: {reason})")

    def _constant(self, node: str) -> None:
        readers = [reader.node for reader in self.graph.readers(node)]
        try:
            array = self._array(self.names.give(self._role(node)), self.graph.result_type(node))
        except Unfit as reason:
            self.refused.append(f"constant ({node}: {reason})")
            return
        value = np.asarray(self.graph.nodes[node]["value"]).astype(array.dtype).reshape(array.shape)
        if all(self._computed(reader)[0] in _WIDENING for reader in readers):
            value = value.astype(_narrowest(value))
        array = replace(array, value=value, dtype=value.dtype)
        self.arrays[Operand(node)] = self.tables[array.name] = array

    def _role(self, node: str) -> str:
        """What to call a constant: after its first reader, and what it is there."""
        for reader in self.graph.readers(node):
            kind, op, _ = self._computed(reader.node)
            slot = reader.slot - writes_of(self.graph, reader.node)
            if kind not in (*_COPIES, "view", "output") and op is not None and op.operands and slot >= 0:
                return f"{reader.node} {op.operands[min(slot, len(op.operands) - 1)]}"
        return node

    def view(self, value: Operand) -> Array:
        """Return a value where it lies in its region."""
        where, kind = self.regions.locations[value], self.graph.result_type(*value)
        array = self.arrays[where.root]
        shape = tuple(map(int, kind.shape))
        constant = array.value
        if constant is not None:
            constant = constant.ravel()[int(where.offset) : int(where.end)].reshape(shape)
        return replace(array, shape=shape, strides=row_major(shape), offset=int(where.offset), value=constant)

    # ------------------------------------------------------------------ steps

    def _computed(self, node: str) -> tuple[str, Op | None, Mapping[str, Any]]:
        """Return what a node computes: the name of an op, the op, and its attributes."""
        data = self.graph.nodes[node]
        if data["type"] != "into":
            return data["type"], None, data
        op = find_op(data["of"], self.graph.ops)
        own = {key: data[key] for key in ("then", "otherwise", "body") if key in data}
        return data["of"], op, {**(op.attributes if op else {}), **(data.get("attributes") or {}), **own}

    def _step(self, node: str) -> None:
        kind, op, attributes = self._computed(node)
        kernel = self.kernels.get(kind)
        if kind not in (*_COPIES, *CONTROL) and (kernel is None or op is None):
            self.refused.append(f"{kind} ({node}){did_you_mean(kind, LIBRARY) if op is None else ''}")
            return
        operands, outs = self.graph.operands(node), writes_of(self.graph, node)
        if any(self.regions.locations[operand].root not in self.arrays for operand in operands):
            return  # what computes it was refused
        results, read = ([self.view(each) for each in part] for part in (operands[:outs], operands[outs:]))
        try:
            if kind in CONTROL:
                lines = CONTROL[kind](
                    Running(
                        attributes,
                        tuple(read),
                        tuple(results),
                        lambda word: self.names.give(f"{node} {word}"),
                        lambda key, given, made: self._nested(node, key, given, made),
                    )
                )
            elif kernel is None or op is None:
                lines = copied_part(kind, results[0], read[0], attributes.get("starts", ()))
            else:
                types = [self.graph.result_type(*each) for each in operands]
                step = self._in_order(node, op, attributes, (types[:outs], types[outs:]), results, read)
                if not kernel.short and any(getattr(each, "element", None) in _SHORT for each in step.types):
                    raise Unfit("it computes with integers of less than 8 bits")
                lines = list(kernel.write(step))
                arrays = zip((*results, *read), types, strict=True)
                halves = {a.name: str(t.element) for a, t in arrays if t.element in HALVES}
                lines = in_halves(lines, halves) if halves else lines
                self.tables.update({table.name: table for table in step.tables})
        except Unfit as reason:
            self.refused.append(f"{kind} ({node}: {reason})")
            return
        self.steps.append(Written(node, self._comment(node, kind), lines))

    def _nested(self, node: str, key: str, given: Sequence[Array], made: Sequence[Array]) -> list[str]:
        """Return the lines of a program that a node runs, whose inputs and outputs are arrays."""
        body, room = self.graph.nodes[node][key], self.plan.workspaces.get(node)
        ports = dict(zip((*body.inputs, *body.outputs), (*given, *made), strict=True))
        base = self.base + (0 if room is None else room.offset)
        inner = Program(body, self.kernels, self.names, self.plan.nested[node][key], ports, base)
        self.tables.update(inner.tables)
        self.buffers.update(inner.buffers)
        self.refused += [f"{each} in the {key} of {node!r}" for each in inner.refused]
        return [line for step in inner.steps for line in (f"/* {step.comment} */", *step.scoped())]

    def _comment(self, node: str, kind: str) -> str:
        operands = ", ".join(operand.node for operand in reads_of(self.graph, node))
        origin, kinds = origins_text(self.graph, node), self.graph.nodes[node]["result"]
        results = ", ".join(map(str, kinds)) if isinstance(kinds, tuple) else str(kinds)
        text = f"{node} = {kind}({operands}) : {results}"
        return c_comment(text) + ("" if origin == node else f" <- {c_comment(origin)}")

    def _in_order(
        self,
        node: str,
        op: Op,
        attributes: Mapping[str, Any],
        types: tuple[list[Type], list[Type]],
        results: list[Array],
        read: list[Array],
    ) -> Step:
        """Return a step in which axes lie as the function of its op has them."""
        arrangement = op.arrangement(types[1])
        if arrangement is not None:
            inverse = np.argsort(arrangement.result).tolist()
            read[0] = read[0].transposed(arrangement.operand)
            results = [each.transposed(inverse) for each in results]
        return Step(
            op,
            attributes,
            tuple(map(as_single, read)),
            tuple(map(as_single, results)),
            tuple(types[0]),
            lambda stem: self.names.give(f"{node} {stem}"),
        )
