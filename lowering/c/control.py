"""Control flow in C: a choice, loops, and loops along sequences, around the steps of the programs that they run."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from graphrewrite import Graph
from graphrewrite.lowering.c.arrays import Array, row_major
from graphrewrite.lowering.c.loops import block, nest

__all__ = ["CONTROL", "Running", "bodies_of"]


@dataclass(frozen=True)
class Running:
    """A node that runs programs.

    Attributes
    ----------
    attributes : mapping
        The attributes of its op, with defaults.
    operands, results : tuple of Array
        What it reads and writes.
    name : callable
        Returns a new identifier for a word.
    steps : callable
        Returns the lines of the program of an attribute, whose inputs and outputs are arrays.
    """

    attributes: Mapping[str, Any]
    operands: tuple[Array, ...]
    results: tuple[Array, ...]
    name: Callable[[str], str]
    steps: Callable[[str, Sequence[Array], Sequence[Array]], list[str]]

    def copied(self, values: Sequence[Array]) -> list[str]:
        """Return loops that copy values into the first results."""
        pairs = zip(self.results, values, strict=False)
        return [line for y, x in pairs for line in nest(y.shape, [y, x], lambda to, of: [f"{to} = {of};"])]

    def single(self, word: str, dtype: str) -> Array:
        """Return a new array of one entry."""
        return Array(self.name(word), np.dtype(dtype), (), ())


def _entry(x: Array) -> str:
    return str(x.at(*[0] * len(x.shape)))


def _reads(lines: Sequence[str], name: str) -> bool:
    """Tell whether lines have a name."""
    return any(re.search(rf"\b{name}\b", line) for line in lines)


def _cond(node: Running) -> list[str]:
    condition, *values = node.operands
    then, otherwise = (node.steps(key, values, node.results) for key in ("then", "otherwise"))
    first, second = block(f"if ({_entry(condition)})", then), block("} else", otherwise)
    return [*first[:-1], *second]


def _loop(node: Running) -> list[str]:
    count, condition, *values = node.operands
    carried = len(node.results)
    number, goes_on, done = node.single("number", "int64"), node.single("again", "bool"), node.name("done")
    inner = node.steps("body", [number, *node.results, *values[carried:]], [goes_on, *node.results])
    is_read = _reads(inner, number.name)
    body = [f"const {number.type} {number.name}[1] = {{{done}}};", *inner] if is_read else inner
    head = f"for (int64_t {done} = 0; {goes_on.name}[0] && {done} < {_entry(count)}; ++{done})"
    return [
        *node.copied(values[:carried]),
        "{",
        f"    {goes_on.type} {goes_on.name}[1] = {{{_entry(condition)}}};",
        *(f"    {line}" for line in block(head, body)),
        "}",
    ]


def _scan(node: Running) -> list[str]:
    carried, sequences = node.attributes["carried"], node.attributes["sequences"]
    along = node.operands[carried : carried + sequences]
    captured, stacks = node.operands[carried + sequences :], node.results[carried:]
    length, step = along[0].shape[0], node.name("step")
    backwards = list(node.attributes["backwards"] or [False] * sequences)
    backwards += node.attributes["output_backwards"] or [False] * len(stacks)
    rows, pointers = list[Array](), dict[str, str]()
    for index, (array, is_backwards) in enumerate(zip((*along, *stacks), backwards, strict=True)):
        shape = array.shape[1:]
        row = Array(node.name("row"), array.dtype, shape, row_major(shape))
        place = f"({length - 1} - {step})" if is_backwards else step
        first = f"{array.name} + {array.offset}" if array.offset else array.name
        kind = f"const {array.type}" if index < sequences else array.type
        times = "" if array.strides[0] == 1 else f" * {array.strides[0]}"
        pointers[row.name] = f"{kind} *const {row.name} = {first} + {place}{times};"
        rows.append(row)
    state = node.results[:carried]
    inner = node.steps("body", [*state, *rows[:sequences], *captured], [*state, *rows[sequences:]])
    head = f"for (int32_t {step} = 0; {step} < {length}; ++{step})"
    used = [line for name, line in pointers.items() if _reads(inner, name)]
    return [*node.copied(node.operands[:carried]), *(block(head, [*used, *inner]) if length else [])]


CONTROL: Mapping[str, Callable[[Running], list[str]]] = {"cond": _cond, "loop": _loop, "scan": _scan}
"""How nodes are written that run programs."""


def bodies_of(graph: Graph) -> list[tuple[str, Graph]]:
    """Return the graphs that nodes run, each with what it is of, at any depth."""
    found = [(f"{node}.{key}", body) for node, key, body in graph.bodies()]
    return found + [(f"{name}.{inner}", each) for name, body in found for inner, each in bodies_of(body)]
