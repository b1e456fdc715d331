"""Symbols of a graph: its whole-numbered attributes and the entries of its constants, in place of their values."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from graphrewrite.graph import Graph
from graphrewrite.hierarchy.graph_ops import GraphOp
from graphrewrite.op.op import Op
from graphrewrite.testing.proof.array import SymbolicArray
from graphrewrite.testing.proof.decisions import decided
from graphrewrite.testing.proof.integer import SymbolicInt, symbol
from graphrewrite.testing.proof.number import Number
from graphrewrite.testing.proof.proof import CONSTANTS
from graphrewrite.testing.proof.refusal import Untranslatable
from graphrewrite.testing.proof.translation import BATCH, bits_of_variable, bounds_of, spare_bits, unknown
from graphrewrite.types import element_dtype, evaluate_size, symbols

__all__ = ["MOST_CONSTANT", "Symbol", "Symbols", "without_values"]

_INT64 = -(2**63), 2**63 - 1
MOST_CONSTANT = 512
"""Greatest number of entries of a constant."""
_LONGEST = 16
"""Greatest number of entries of an attribute."""
_LARGEST = 4096
"""Greatest number of entries of a result."""


@dataclass(frozen=True)
class Symbol:
    """A number of a graph that stands for any number.

    Attributes
    ----------
    name : str
        Of the z3 variable.
    label : str
        The attribute, with its op, or `CONSTANTS`.
    node, key : str
        The node, and the attribute; of a constant, its value.
    index : tuple of int
        The place in a tuple or an array.
    value : int
        What the number is in the graph.
    number : Number
        Any number.
    is_truth : bool
        Whether it is a truth value.
    """

    name: str
    label: str
    node: str
    key: str
    index: tuple[int, ...]
    value: int
    number: Number
    is_truth: bool = False

    @property
    def is_of_constant(self) -> bool:
        """Whether it is an entry of a constant, and no attribute of an op, which may be called ``value`` as well."""
        return self.label == CONSTANTS

    @property
    def width(self) -> int:
        """Bits of the variable."""
        return bits_of_variable(self.number)


@dataclass
class Symbols:
    """The symbols of a graph.

    Attributes
    ----------
    graph : Graph
        The graph with its values.
    symbols : list of Symbol
        One a number.
    constraints : list of z3.BoolRef
        What holds of them.
    sampled : dict of str to str
        Labels of numbers that are no symbols, each with the reason.
    """

    graph: Graph
    symbols: list[Symbol] = field(default_factory=list)
    constraints: list[Any] = field(default_factory=list)
    sampled: dict[str, str] = field(default_factory=dict)

    @classmethod
    def of(cls, graph: Graph, known: Collection[str] = ()) -> Symbols:
        """Return the symbols of a graph, but those whose labels are known: these stay as they are."""
        found = cls(graph)
        for node in graph.in_order():
            kind = graph.nodes[node]["type"]
            if kind == "constant":
                found.symbols += found._of_constant(node)
            elif kind not in ("input", "output"):
                found.symbols += found._of_attributes(node, graph.op(node))
        found.symbols = [each for each in found.symbols if each.label not in known]
        found.sampled = {label: why for label, why in found.sampled.items() if label not in known}
        return found

    def _of_constant(self, node: str) -> Iterator[Symbol]:
        array, kind = np.asarray(self.graph.nodes[node]["value"]), self.graph.result_type(node)
        if array.dtype.kind not in "iubf" or array.dtype != element_dtype(kind.element):
            self.sampled.setdefault(CONSTANTS, f"some are of {kind.element}")
            return
        bits = array if array.dtype.kind != "f" else array.view(f"i{array.itemsize}") >> spare_bits(kind)
        if array.size > MOST_CONSTANT:
            self.sampled.setdefault(CONSTANTS, f"some have more than {MOST_CONSTANT} entries")
            return
        for index in np.ndindex(array.shape):
            name = f"{node}{list(index)}"
            number = unknown(name, kind)
            if not number.is_known:
                self.constraints += bounds_of(number, kind)
                yield Symbol(name, CONSTANTS, node, "value", index, int(bits[index]), number)

    def _of_attributes(self, node: str, op: Op) -> Iterator[Symbol]:
        if isinstance(op, GraphOp):
            return
        for key, value in sorted(self.graph.attributes(node).items()):
            entries = value if isinstance(value, tuple) and len(value) <= _LONGEST else (value,)
            if not entries or any(type(entry) not in (int, bool) for entry in entries):
                if _has_numbers(value):
                    self.sampled.setdefault(f"{op.name}.{key}", "some are no whole numbers, or are tables")
                continue
            for place, entry in enumerate(entries):
                index = (place,) if isinstance(value, tuple) else ()
                name = f"{node}.{key}{list(index) if index else ''}"
                bounds = (0, 1) if type(entry) is bool else _INT64
                number = symbol(name, *bounds).number
                if type(entry) is bool:
                    self.constraints += [number.term >= 0, number.term <= 1]
                label = f"{op.name}.{key}"
                yield Symbol(name, label, node, key, index, int(entry), number, type(entry) is bool)

    @property
    def covered(self) -> set[str]:
        """The labels of all symbols."""
        return {each.label for each in self.symbols} | self.sampled.keys()

    @property
    def model(self) -> dict[str, int]:
        """The values of the graph."""
        return {each.name: each.value for each in self.symbols}

    @property
    def widths(self) -> dict[str, int]:
        """Bits of each variable."""
        return {each.name: each.width for each in self.symbols}

    @property
    def labels(self) -> dict[str, str]:
        """The label of each symbol."""
        return {each.name: each.label for each in self.symbols}

    def symbolic(self) -> tuple[Graph, dict[str, SymbolicArray]]:
        """Return a copy with symbols in place of values, types inferred, and the arrays of its constants.

        To be called on a path: truth values are decided here. Errors of inference are raised as they are.
        """
        graph = self.graph.copy()
        arrays: dict[str, Any] = {}
        for each in self.symbols:
            data = graph._node[each.node]
            if each.is_of_constant:
                if each.node not in arrays:
                    arrays[each.node] = SymbolicArray.of(self.graph.nodes[each.node]["value"])
                    data["value"] = arrays[each.node]
                arrays[each.node].entries[each.index] = each.number
                continue
            value: Any = SymbolicInt(each.number, each.name)
            if each.is_truth:
                value = decided(each.number.truth)
            if each.index:
                old = data.get(each.key, graph.op(each.node).attributes.get(each.key))
                value = (*old[: each.index[0]], value, *old[each.index[0] + 1 :])
            data[each.key] = value
        for array in arrays.values():
            array.entries.flags.writeable = False  # as of all arrays of a graph
        _infer(graph)
        return graph, arrays

    def concrete(self, values: Mapping[str, int]) -> Graph:
        """Return the graph with other values; errors of inference are raised as they are."""
        graph = self.graph.copy()
        changed: dict[tuple[str, str], Any] = {}
        for each in self.symbols:
            value: Any = _signed(values.get(each.name, each.value), each)
            place = each.node, each.key
            if each.is_of_constant:
                array = changed.setdefault(place, np.array(graph.nodes[each.node]["value"]))
                if array.dtype.kind == "f":
                    size = 8 * array.itemsize
                    array = array.view(f"u{array.itemsize}")
                    value = value % (1 << each.width) << size - each.width
                array[each.index] = value
            elif each.index:
                changed.setdefault(place, list(graph.attributes(each.node)[each.key]))[each.index[0]] = value
            else:
                changed[place] = bool(value) if each.is_truth else value
        for (node, key), value in changed.items():
            stored = tuple(value) if isinstance(value, list) else value
            if graph.nodes[node]["type"] != "constant" and stored == graph.op(node).attributes.get(key):
                graph.nodes[node].pop(key, None)  # defaults are not stored
            else:
                graph.nodes[node][key] = stored
        graph.infer()
        return graph


def _signed(value: int, each: Symbol) -> int:
    """Return the number that the bits of a variable mean."""
    return value if each.number.low < 0 or not each.is_of_constant else value % (1 << each.width)


def _has_numbers(value: Any) -> bool:
    """Tell whether a value is a number, or holds one."""
    if isinstance(value, tuple | list):
        return any(map(_has_numbers, value))
    return isinstance(value, int | float | complex | np.ndarray)


def _infer(graph: Graph) -> None:
    """Infer the types of a graph with symbols."""
    for node in graph.in_order():
        data, op = graph._node[node], graph.op(node)
        if data["type"] in ("input", "constant", "output"):
            continue
        operands = [graph.result_type(*operand) for operand in graph.operands(node)]
        own = {key: data[key] for key in op.attributes if key in data}
        results = op.infer(*operands, **own)
        if any(kind.unknowns for kind in results):
            raise Untranslatable(f"{op.name} has a size that only the data decides")
        sizes = [evaluate_size(d, dict.fromkeys(symbols(d), BATCH)) for kind in results for d in kind.shape]
        if np.prod([max(size, 1) for size in sizes], dtype=float) > _LARGEST:
            raise Untranslatable(f"{op.name} has more than {_LARGEST} entries")
        data["result"] = results[0] if len(results) == 1 else results


def without_values(graph: Graph, found: Symbols, known: Collection[str]) -> Graph:
    """Return a graph in which symbols are zero: graphs that differ in these alone have the same."""
    plain = graph.copy()
    for each in found.symbols:
        if each.label in known:
            continue
        data = plain._node[each.node]
        if each.is_of_constant:
            data["value"] = np.zeros_like(data["value"])
        else:
            old = plain.attributes(each.node)[each.key]
            data[each.key] = (0,) * len(old) if isinstance(old, tuple) else False if each.is_truth else 0
    return plain
