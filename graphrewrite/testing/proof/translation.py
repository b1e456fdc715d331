"""Translation of a graph: its outputs for unknown inputs, by the functions of the ops themselves."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
import z3

from graphrewrite.execution.program.call import Call
from graphrewrite.graph import Graph
from graphrewrite.hierarchy.expansion import flatten
from graphrewrite.hierarchy.graph_ops import GraphOp
from graphrewrite.op.axes import Arrangement
from graphrewrite.op.op import Op
from graphrewrite.testing.proof.array import SymbolicArray, cast_to
from graphrewrite.testing.proof.floating import rounded_to
from graphrewrite.testing.proof.integer import holds_symbol
from graphrewrite.testing.proof.number import Number, stored_bits, unknown_float, unknown_number
from graphrewrite.testing.proof.paths import followed
from graphrewrite.testing.proof.rebinding import Rebinding
from graphrewrite.testing.proof.refusal import Raised, Untranslatable
from graphrewrite.types import (
    Dimension,
    Element,
    FixedPoint,
    Quantised,
    Stream,
    Type,
    element_dtype,
    evaluate_size,
    hold,
    integer_limits,
    symbols,
)

__all__ = [
    "BATCH",
    "Inputs",
    "Translation",
    "Variable",
    "bits_of_variable",
    "bounds_of",
    "limits_of",
    "spare_bits",
    "unknown",
]

BATCH = 2
"""Frames of a batch: two, to detect rules that mix them."""


def limits_of(kind: Type) -> tuple[int, int] | None:
    """Return the least and the greatest entry of an integer type, and None for floats.

    Examples
    --------
    >>> from graphrewrite import Tensor
    >>> limits_of(Tensor("i4", ("N",))), limits_of(Tensor("f32", ("N",)))
    ((-8, 7), None)
    """
    element = kind.element
    if isinstance(element, FixedPoint | Quantised):
        return element.minimum, element.maximum
    if element == "bool":
        return 0, 1
    return integer_limits(element) if isinstance(element, str) else None


class Variable(NamedTuple):
    """One entry of an input.

    Attributes
    ----------
    input : str
        Its name.
    position : tuple of int
        Of the entry.
    name : str
        Of the z3 variable.
    number : Number
        Of the entry, with its bounds.
    """

    input: str
    position: tuple[int, ...]
    name: str
    number: Number


def unknown(name: str, kind: Type) -> Number:
    """Return an unknown entry of a tensor.

    Raises
    ------
    Untranslatable
        If it is no number.
    """
    limits = limits_of(kind)
    if limits is None and element_dtype(kind.element).kind != "f":
        raise Untranslatable(f"an entry of {kind.element} is no number that z3 knows")
    if limits is None:
        return unknown_float(name, 8 * element_dtype(kind.element).itemsize, str(kind.element))
    return unknown_number(name, *limits)


def bounds_of(number: Number, kind: Type) -> list[Any]:
    """Return what holds of an unknown entry, where its bits can hold more than its type."""
    limits = limits_of(kind)
    if limits is None or number.is_known or limits[1] - limits[0] + 1 == 1 << (number.width - (limits[0] >= 0)):
        return []
    return [number.term >= limits[0], number.term <= limits[1]]


def spare_bits(kind: Type) -> int:
    """Return the last bits of a float's dtype that its type does not have."""
    size = 8 * element_dtype(kind.element).itemsize
    return size - stored_bits(str(kind.element), size)


def bits_of_variable(number: Number) -> int:
    """Return the width of the variable of an entry."""
    term = number.term
    return int(term.size() if z3.is_const(term) else term.arg(0).size())


@dataclass
class Inputs:
    """Unknown inputs of a graph.

    Attributes
    ----------
    arrays : dict of str to SymbolicArray
        By name of the input.
    constraints : list of z3.BoolRef
        What holds of them.
    variables : list of Variable
        One an entry.
    """

    arrays: dict[str, SymbolicArray] = field(default_factory=dict)
    constraints: list[Any] = field(default_factory=list)
    variables: list[Variable] = field(default_factory=list)

    @classmethod
    def of(cls, graph: Graph, batch: int = BATCH) -> Inputs:
        """Return one unknown for each entry of each input."""
        inputs = cls()
        for name in graph.inputs:
            kind = graph.result_type(name)
            shape: tuple[Dimension, ...] = ("N", *kind.shape) if isinstance(kind, Stream) else kind.shape
            dtype = element_dtype(kind.element)
            sizes = tuple(evaluate_size(d, dict.fromkeys(symbols(d), batch)) for d in shape)
            entries: Any = np.empty(sizes, object)
            for index in np.ndindex(sizes):
                variable = f"{name}{list(index)}"
                entries[index] = number = unknown(variable, kind)
                inputs.variables.append(Variable(name, index, variable, number))
                inputs.constraints += bounds_of(number, kind)
            inputs.arrays[name] = SymbolicArray(entries, dtype)
        return inputs


class Translation:
    """Compute graphs on unknown inputs."""

    def __init__(self, possible: Callable[[Any], bool]) -> None:
        self.possible = possible
        self.rebinding = Rebinding()

    def values(self, graph: Graph, inputs: Mapping[str, SymbolicArray]) -> dict[str, tuple[Any, ...]]:
        """Return the results of every node that an output needs.

        Parameters
        ----------
        inputs : mapping of str to SymbolicArray
            Values of the inputs, and of constants that are not known.
        """
        graph = flatten(graph) if any(isinstance(graph.op(n), GraphOp) for n in graph) else graph
        needed = set(graph.outputs).union(*(graph.upstream(o) for o in graph.outputs))
        values: dict[str, tuple[Any, ...]] = {}
        for node in graph.in_order():
            if node in needed:
                values[node] = (inputs[node],) if node in inputs else self._node(graph, node, values)
        return values

    def _node(self, graph: Graph, node: str, values: Mapping[str, tuple[Any, ...]]) -> tuple[Any, ...]:
        call = Call.of(graph, node)
        if call.names:  # all inputs have been given the same batch, which is that of every name
            if unknown := sorted(name for name in call.names if name.startswith("?")):
                raise Untranslatable(f"{call.op.name} has the size {unknown[0]}, which only the data decides")
            call = call.with_sizes(dict.fromkeys(call.names, BATCH))
        operands = [values[o.node][o.result] for o in call.operands]
        try:
            return self.results(call.op, operands, call.attributes, call.results, call.arrangement)
        except Untranslatable as error:
            types = ", ".join(str(graph.result_type(o.node, o.result)) for o in call.operands)
            raise type(error)(f"{call.op.name}({types}): {error}") from error

    def results(
        self,
        op: Op,
        operands: Sequence[Any],
        attributes: Mapping[str, Any],
        kinds: Sequence[Type],
        arrangement: Arrangement | None,
    ) -> tuple[Any, ...]:
        """Return the results of an op, as their types store them."""

        def compute() -> tuple[Any, ...]:
            results = self._computed(op, operands, attributes, arrangement)
            if op.name == "output":
                return results
            return tuple(_held(held, k.element, array) for k, array in zip(kinds, results, strict=True))

        held = self.rebinding(hold)
        if any(isinstance(x, SymbolicArray) for x in operands) or holds_symbol(tuple(attributes.values())):
            return followed(compute, self.possible)
        try:
            with np.errstate(all="ignore"):  # an infinity or NaN is a value like others
                results = op.compute(operands, attributes, arrangement)
                if op.name == "output":
                    return results
                return tuple(hold(k.element, array) for k, array in zip(kinds, results, strict=True))
        except Exception as error:
            raise Raised(f"it raises {type(error).__name__}: {error}") from error

    def _computed(
        self, op: Op, operands: Sequence[Any], attributes: Mapping[str, Any], arrangement: Arrangement | None
    ) -> tuple[Any, ...]:
        if arrangement is not None:
            operands = [np.transpose(operands[0], arrangement.operand), *operands[1:]]
        computed = self.rebinding(op.function)(*operands, **attributes)
        results = computed if isinstance(computed, tuple) else (computed,)
        if arrangement is None:
            return results
        return tuple(np.transpose(array, arrangement.result) for array in results)


def _held(held: Callable[..., Any], element: Element, array: Any) -> Any:
    """Return an array as a type stores it; floats that were only moved have the type already."""
    if not isinstance(array, SymbolicArray) or not any(n.opaque for n in array.entries.reshape(-1)):
        return held(element, array)

    dtype = element_dtype(element)
    if dtype.kind == "f" and array.dtype != dtype:
        array = cast_to(array, dtype)

    def entry(number: Number) -> Number:
        if number.opaque:
            return number if number.opaque == element else rounded_to(str(element), number)
        stored: Number = SymbolicArray.of(held(element, SymbolicArray(number, array.dtype))).entries.item()
        return stored

    return SymbolicArray(np.frompyfunc(entry, 1, 1)(array.entries), array.dtype)
