"""Facts compared with values: of each node alone, from the tightest facts of its operands, and of whole graphs."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from graphrewrite import Graph
from graphrewrite.errors import EvaluationError
from graphrewrite.execution.evaluator import evaluate_nodes
from graphrewrite.execution.program.call import Call
from graphrewrite.graph import Operand
from graphrewrite.rewriting.facts import Fact, facts_of, numbers
from graphrewrite.rewriting.facts.numbers.fact import both, either, integers, of_element
from graphrewrite.rewriting.facts.table import FactTable
from graphrewrite.testing.generation.edges import edges_of, formats_in, limits_of, shifts_in
from graphrewrite.testing.generation.indices import limits_in, limits_of_operand, within
from graphrewrite.testing.strategies.inputs import batch_for
from graphrewrite.types import ElementType, FixedPoint, Type, element_dtype, hold

__all__ = ["concentrated", "holds", "of_values", "values_of", "wrong_alone", "wrong_in_graph"]

_NUMBERS_ONLY = frozenset({"to_fixed", "quantise", "to_quantised"})
"""Ops that round to integers, of which NaN is none."""


def holds(fact: Fact, array: np.ndarray) -> bool:
    """Tell whether a fact is true of an array."""
    if array.dtype.kind not in "fiub":
        return fact == Fact() or fact == Fact(constant=True)
    if array.dtype.kind == "f":
        bare = np.isnan(array)
        minus = (array == 0) & np.signbit(array)
        rest = array[~bare]
        finite = rest[np.isfinite(rest)]
        exact = not fact.whole or bool((finite == np.floor(finite)).all())
        inside = bool(((rest >= fact.low) & (rest <= fact.high)).all())
        return inside and exact and (fact.nan or not bare.any()) and (fact.minus_zero or not minus.any())
    entries = set(map(int, array.ravel().tolist()))
    return not (fact.nan or fact.minus_zero) and all(
        fact.low <= entry <= fact.high and not entry & fact.zeros and entry & fact.ones == fact.ones
        for entry in entries
    )


def of_values(array: np.ndarray, kind: Type) -> Fact:
    """Return the tightest fact of some values, which does not say that they are constant."""
    unknown = numbers.unknown(kind)
    if not array.size or array.dtype.kind not in "fiub":
        return unknown
    if array.dtype.kind != "f":
        entries = [int(entry) for entry in set(array.ravel().tolist())]
        ones, zeros = -1, -1
        for entry in entries:
            ones, zeros = ones & entry, zeros & ~entry
        return both(integers(min(entries), max(entries), zeros, ones), unknown)
    bare = np.isnan(array)
    rest = array[~bare].astype(np.float64)
    if not rest.size:
        return unknown
    finite = rest[np.isfinite(rest)]
    minus = bool(((rest == 0) & np.signbit(rest)).any())
    low, high = float(rest.min()) + 0.0, float(rest.max()) + 0.0
    return Fact(low, high, bool(bare.any()), minus, bool((finite == np.floor(finite)).all()))


def _loosened(fact: Fact, kind: Type, rng: np.random.Generator) -> Fact:
    """Return a fact that says the same, or less: of more values, of the range only, or of the bits only."""
    turn = rng.integers(0, 8)
    if getattr(kind, "element", None) is None or fact == numbers.unknown(kind):
        return fact
    if turn < 3:
        return fact
    if turn < 6:
        fact = either(fact, of_values(_few(kind, rng, (), ()), kind))
    if isinstance(fact.low, int):
        plain = of_element(getattr(kind, "element", None))
        if turn == 5:
            return integers(fact.low, fact.high)
        if turn == 6:
            return integers(plain.low, plain.high, fact.zeros, fact.ones)
    elif turn >= 5:
        return fact._replace(nan=fact.nan or turn == 6, minus_zero=fact.minus_zero or turn == 7, whole=False)
    return fact


# ---------------------------------------------------------------------- values


def _few(kind: Any, rng: np.random.Generator, formats: Any, shifts: Any, *, numbers_only: bool = False) -> np.ndarray:
    """Return a few values of a type: edge values, numbers of all magnitudes, numbers near to each other."""
    element = kind.element
    dtype = element_dtype(element)
    low, high = limits_of(element)
    edges = edges_of(element, formats, shifts, numbers=numbers_only, near=False)
    if dtype.kind == "f":
        size = 2.0 ** rng.uniform(*((-160, 140) if rng.random() < 0.3 else (-4, 12)), 4)
        drawn = rng.choice([-1.0, 1.0], 4) * size
        if rng.random() < 0.4:
            drawn = np.rint(np.clip(drawn, -1e6, 1e6))
    else:
        size = np.floor(2.0 ** rng.uniform(0, np.log2(float(high) + 2), 4))
        drawn = rng.choice([-1, 1] if low < 0 else [1], 4) * size
    with np.errstate(all="ignore"):
        others = _as(np.asarray(drawn), element)
    pool = np.concatenate([rng.choice(edges, 3), rng.choice(others, 3)])
    return rng.choice(pool, rng.integers(1, 4))


def _as(drawn: np.ndarray, element: Any) -> np.ndarray:
    dtype = element_dtype(element)
    low, high = limits_of(element)
    if dtype.kind == "f":
        return hold(element, drawn.astype(dtype))
    exact = [min(max(int(number), int(low)), int(high)) for number in drawn.tolist()]
    return hold(element, np.array(exact, dtype))


def concentrated(graph: Graph, seed: int) -> dict[str, Any]:
    """Return a batch of inputs, each of which holds a few numbers only, so that much is known of all values."""
    rng = np.random.default_rng(seed)
    batch = batch_for(graph, seed % 256)
    formats, shifts, limits = formats_in(graph), shifts_in(graph), limits_in(graph)
    whole = {name for name, array in batch.items() if array.dtype.kind == "f" and np.isfinite(array).all()}
    last: dict[Any, np.ndarray] = {}
    for name, array in batch.items():
        kind = graph.result_type(name)
        if isinstance(getattr(kind, "element", ElementType), ElementType | type) or array.dtype.kind not in "fiub":
            continue
        element = kind.element
        if element not in last or rng.random() < 0.7:  # else the same numbers as those of the input before
            last[element] = _few(kind, rng, formats, shifts, numbers_only=name in whole)
        chosen = rng.choice(last[element], array.shape)
        batch[name] = within(chosen, limits[name]) if name in limits else chosen
    return batch


# ---------------------------------------------------------------------- comparing


def values_of(graph: Graph, inputs: Mapping[str, Any]) -> dict[str, np.ndarray]:
    """Return the first results of all nodes."""
    with np.errstate(all="ignore"):
        found = evaluate_nodes(graph, inputs, list(facts_of(graph)))
    return {node: np.asarray(value) for node, value in found.items()}


def wrong_alone(
    graph: Graph, values: Mapping[str, np.ndarray], rng: np.random.Generator, draws: int = 4
) -> Iterator[str]:
    """Yield what the functions of single nodes say that is not so: their operands get values and facts of their own."""
    table = FactTable(graph, numbers)
    for node in values:
        if not graph.operands(node) or numbers.function_of(graph.op(node), graph.nodes[node]) is None:
            continue
        call = Call.of(graph, node)
        if call.names or any(o.result for o in call.operands):
            continue
        for _ in range(draws):
            drawn = _operands(graph, call, values, rng)
            table.facts = {}
            for operand, array in drawn.items():
                kind = graph.result_type(*operand)
                table.facts[operand.node] = (_loosened(of_values(array, kind), kind, rng),)
            found = [table.of(node, i) for i in range(len(call.results))]
            computed = {operand.node: (array,) for operand, array in drawn.items()}
            try:
                with np.errstate(all="ignore"):
                    call.run(computed)
            except EvaluationError:  # these values are none of its operand, as shapes and indices
                continue
            for fact, array in zip(found, computed[node], strict=True):
                if not holds(fact, array):
                    yield "\n".join(
                        [
                            f"{node} : {graph.nodes[node]}",
                            f"  {fact!r} is said of {_shown(array)}",
                            *(f"  {o} {table.facts[o.node][0]!r}: {_shown(a)}" for o, a in drawn.items()),
                        ]
                    )


def _operands(
    graph: Graph, call: Call, values: Mapping[str, np.ndarray], rng: np.random.Generator
) -> dict[Operand, np.ndarray]:
    """Return arrays of a few values for the operands of a node, often with numbers in common."""
    types = [graph.result_type(*operand) for operand in call.operands]
    drawn: dict[Operand, np.ndarray] = {}
    last: dict[Any, np.ndarray] = {}
    formats = tuple(k.element for k in call.results if isinstance(k.element, FixedPoint))
    shift = call.attributes.get("shift", ())
    shifts = tuple(s for s in (shift if isinstance(shift, tuple) else (shift,)) if isinstance(s, int) and s > 0)
    for position, (operand, kind) in enumerate(zip(call.operands, types, strict=True)):
        array = values[operand.node]
        if array.dtype.kind not in "fiub" or isinstance(kind.element, ElementType | type):
            drawn[operand] = array
            continue
        if kind.element not in last or rng.random() < 0.7:
            last[kind.element] = _few(kind, rng, formats, shifts, numbers_only=call.op.name in _NUMBERS_ONLY)
        chosen = rng.choice(last[kind.element], array.shape)
        limits = limits_of_operand(call.op, position, types, call.attributes)
        if call.op.name == "bit_shift" and position == 1 and rng.random() < 0.7:
            limits = (0, min(9, int(limits_of(kind.element)[1])))
        drawn.setdefault(operand, chosen if limits is None else within(chosen, limits))
    return drawn


def wrong_in_graph(graph: Graph, inputs: Mapping[str, Any], values: Mapping[str, np.ndarray]) -> Iterator[str]:
    """Yield what is known of nodes and is not so, given facts of the inputs that hold."""
    for given in (False, True):
        table = FactTable(graph, numbers)
        if given:
            table.facts |= {name: (of_values(values[name], graph.result_type(name)),) for name in inputs}
        for node, array in values.items():
            if not holds(table.of(node), array):
                yield f"{node}: {table.of(node)!r}: {_shown(array)}\n{graph}"


def _shown(array: np.ndarray) -> str:
    return ", ".join(map(repr, list(dict.fromkeys(array.ravel().tolist()))[:12])) + f" {array.dtype}"
