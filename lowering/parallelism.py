"""How many multipliers each layer gets: fold the matrix products of a stream graph."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from graphrewrite import Graph
from graphrewrite.errors import did_you_mean
from graphrewrite.hdl.component import Site, streams
from graphrewrite.hdl.components import COMPONENTS
from graphrewrite.lowering.errors import ParallelismError

__all__ = ["Folding", "fold", "foldings"]


@dataclass(frozen=True)
class Folding:
    """One way to compute a matrix product.

    Attributes
    ----------
    pe, simd : int
        Rows and columns of the matrix that are worked on in one cycle.
    multipliers : int
        Their product.
    steps : int
        Cycles a beat.
    """

    pe: int
    simd: int
    multipliers: int
    steps: int


def foldings(outputs: int, inputs: int) -> list[Folding]:
    """Return the ways to fold a matrix product that are worth having, from one multiplier to all.

    Each needs fewer cycles than every other with as few multipliers; of two alike, the one with more columns at once,
    which has fewer accumulators.

    Parameters
    ----------
    outputs, inputs : int
        Size of the matrix.

    Returns
    -------
    list of Folding

    Examples
    --------
    >>> [(f.multipliers, f.steps) for f in foldings(2, 4)]
    [(1, 8), (2, 4), (4, 2), (8, 1)]
    """
    by_count: dict[int, Folding] = {}
    for pe in _divisors(outputs):
        for simd in _divisors(inputs):
            found = Folding(pe, simd, pe * simd, (outputs // pe) * (inputs // simd))
            known = by_count.get(found.multipliers)
            if known is None or simd > known.simd:
                by_count[found.multipliers] = found
    return [by_count[count] for count in sorted(by_count)]


def _divisors(number: int) -> list[int]:
    return [d for d in range(1, number + 1) if number % d == 0]


def fold(
    graph: Graph, *, parallelism: str | int | Mapping[str, str | int] = "full", max_multipliers: int | None = None
) -> Graph:
    """Return a stream graph with a folding chosen for each matrix product.

    Parameters
    ----------
    graph : Graph
        Level ``stream``.
    parallelism : "full", "folded", int or mapping
        As for `to_stream`.
    max_multipliers : int, optional
        For all layers together; where given, layers start with one multiplier, and the slowest gets more until it is no
        longer the slowest, ``parallelism`` allows no more, or the budget is spent.

    Returns
    -------
    Graph

    Raises
    ------
    ParallelismError
        If the budget is smaller than one multiplier a layer, or a name or number makes no sense.
    """
    new = graph.copy()
    layers = [n for n in new.in_order() if new.nodes[n]["type"] == "matvec"]
    options = {n: foldings(*np.shape(new.nodes[n]["weights"])) for n in layers}
    allowed = {
        n: [f for f in options[n] if f.multipliers <= limit] for n, limit in _limits(new, layers, parallelism).items()
    }
    if max_multipliers is None:
        chosen = {n: allowed[n][-1] for n in layers}
    else:
        chosen = _spend(new, layers, allowed, max_multipliers)
    for node, folding in chosen.items():
        new.nodes[node].update(pe=folding.pe, simd=folding.simd)
    return new


def _limits(graph: Graph, layers: list[str], parallelism: str | int | Mapping[str, str | int]) -> dict[str, float]:
    table = dict(parallelism) if isinstance(parallelism, Mapping) else {"default": parallelism}
    origins = {n: (n, *graph.origin(n)) for n in layers}
    known = {name for names in origins.values() for name in names} | {"default"}
    for name, wanted in table.items():
        if name not in known:
            raise ParallelismError(f"parallelism is given for {name!r}, which is no layer{did_you_mean(name, known)}")
        if wanted not in ("full", "folded") and (isinstance(wanted, bool) or not isinstance(wanted, int) or wanted < 1):
            raise ParallelismError(
                f"parallelism {wanted!r} for {name!r} is neither 'full', 'folded' nor a number of multipliers from 1"
            )
    limits = {}
    for node in layers:
        wanted = next((table[name] for name in origins[node] if name in table), table.get("default", "full"))
        limits[node] = float("inf") if wanted == "full" else 1.0 if wanted == "folded" else float(wanted)
    return limits


def _spend(graph: Graph, layers: list[str], allowed: dict[str, list[Folding]], budget: int) -> dict[str, Folding]:
    if budget < len(layers):
        raise ParallelismError(
            f"{budget} multipliers cannot serve {len(layers)} layers; the smallest budget is {len(layers)}"
        )
    level = dict.fromkeys(layers, 0)
    beats = {n: graph.result_type(n).beats for n in layers}  # type: ignore[union-attr]  # every value of a stream graph is a stream
    # No folding is faster than the slowest of the components whose pace is fixed, such as a window that scans its
    # border.
    floor = max(
        (_steps(graph, n) for n in graph.in_order() if graph.op(n).level == "stream" and n not in beats), default=1
    )
    while layers:
        slowest = max(layers, key=lambda n: (allowed[n][level[n]].steps * beats[n], n))
        folding = allowed[slowest][level[slowest]]
        spent = sum(allowed[n][level[n]].multipliers for n in layers)
        if folding.steps * beats[slowest] <= floor or level[slowest] + 1 == len(allowed[slowest]):
            break
        if spent + allowed[slowest][level[slowest] + 1].multipliers - folding.multipliers > budget:
            break
        level[slowest] += 1
    return {n: allowed[n][level[n]] for n in layers}


def _steps(graph: Graph, node: str) -> int:
    component = next(c for c in COMPONENTS if c.op.name == graph.nodes[node]["type"])
    operands = streams(*(graph.result_type(o.node, o.result) for o in graph.operands(node)))
    return component.schedule(Site.of(component.op, *operands, **graph.attributes(node))).steps
