"""Lower a quantised network to exact integer arithmetic, by rules.

A value on a grid is written as a reading of its mantissas: ``from_fixed(mantissas)``, times a scale where that is no
power of two. Each rule moves such a reading below one op, until all that is left of the float network is the conversion
at its inputs and outputs.
"""

from __future__ import annotations

from collections.abc import Iterable

from graphrewrite import FixedPoint, Graph, Rule
from graphrewrite.lowering.binary_points import LOWER_BINARY_POINTS, enter_fixed
from graphrewrite.lowering.combinations import LOWER_COMBINATIONS
from graphrewrite.lowering.composite.movement import write_split_by_slices
from graphrewrite.lowering.errors import LoweringError
from graphrewrite.lowering.means import scale_sums
from graphrewrite.lowering.quantised import (
    APPROXIMATE_STEPS,
    ENTER_QUANTISED,
    LEAVE_MOVED,
    LOWER_TRAINED,
    LOWER_UNSCALED_LAYERS,
)
from graphrewrite.lowering.record import recorded
from graphrewrite.rules import RULES
from graphrewrite.trace import Step

__all__ = ["LOWER_TO_INTEGER", "to_integer"]

LOWER_TO_INTEGER = (*LOWER_BINARY_POINTS, *LOWER_COMBINATIONS, scale_sums, *LOWER_TRAINED)
"""From quantised floats to integers."""

_OUTSIDE = frozenset({"softmax", "sigmoid", "tanh", "identity"})
"""Float ops that may stay behind the last layer, for the host."""
_READING = frozenset({"mul", "cast", "add", "transpose", "quantize_linear", "dequantize_linear"})
"""Ops by which the host reads mantissas as the numbers of the model."""


def _why(graphs: Iterable[Graph], node: str, rules: Iterable[Rule]) -> str:
    """The reason for which a rule that fits a node of the first graph that has one declined it, if one did."""
    asked = [r for r in rules if r is not enter_fixed and r not in ENTER_QUANTISED]
    reasons = (r.explain(graph, at=node) for graph in graphs if node in graph for r in asked)
    return next(
        (f": {reason.partition('declined: ')[2].rstrip('.')}" for reason in reasons if "declined: " in reason), ""
    )


def _is_of_host(graph: Graph, node: str) -> bool:
    """Tell whether a float op reads mantissas behind the last layer, or may follow there."""
    kind = graph.nodes[node]["type"]
    if kind not in _OUTSIDE | _READING or any(graph.op(n).level == "integer" for n in graph.downstream(node)):
        return False
    computed = [o.node for o in graph.operands(node) if graph.nodes[o.node]["type"] != "constant"]
    if kind == "quantize_linear":  # else it would be one that no rule could lower
        return graph.nodes[computed[0]]["type"] in (*_OUTSIDE, "from_fixed")
    return len(computed) == 1


def to_integer(graph: Graph, *, approximate: bool = False, steps: list[Step] | None = None) -> Graph:
    """Return a quantised network in integer arithmetic: the same numbers, bit for bit.

    Parameters
    ----------
    graph : Graph
        What `quantise` gives, or a model that brings its quantisation with it.
    approximate : bool
        Whether functions of numbers that are too wide for a table become straight lines, within a bound that
        `function_bounds` says. Everything else stays exact.
    steps : list of Step, optional
        Collects what each rule did.

    Returns
    -------
    Graph
        ``to_fixed`` at the inputs, ops of the level ``integer``, ``from_fixed`` at the outputs. What the host does
        before (a transpose of the input) and behind (a closing softmax) stays in floats.

    Raises
    ------
    LoweringError
        Naming every node that no rule could lower, and why.

    Examples
    --------
    >>> from graphrewrite import Tensor, op
    >>> g = Graph("g")
    >>> x = g.input("x", Tensor("f32", ("N", 2)))
    >>> half = op.quantise(x, element=FixedPoint(True, 8, 4))
    >>> _ = g.output("y", op.quantise(op.relu(half), element=FixedPoint(False, 4, 2)))
    >>> print(to_integer(g))
    graph g
    x = input() : f32[N,2]
    to_fixed_1 = to_fixed(x, element=s8f4) : s8f4[N,2]
    requantise_2 = requantise(to_fixed_1, shift=2, element=u4f2, low=0) : u4f2[N,2]
    from_fixed_3 = from_fixed(requantise_2, fraction=2) : f32[N,2]
    y = output(from_fixed_3)
    """
    first = lowered = recorded(graph, (write_split_by_slices, *LOWER_TO_INTEGER, *RULES), steps)
    near = (*LOWER_TO_INTEGER, *APPROXIMATE_STEPS) if approximate else LOWER_TO_INTEGER
    for rules in (near, (*near, *LOWER_UNSCALED_LAYERS))[not approximate :]:
        if _left(lowered):
            lowered = recorded(lowered, (*rules, *RULES), steps)
    lowered = recorded(lowered, LEAVE_MOVED, steps)
    reasons = (*APPROXIMATE_STEPS, *LOWER_TO_INTEGER) if approximate else LOWER_TO_INTEGER
    missing = {origin for n in _left(lowered) for origin in lowered.origin(n)}
    left = [  # as they were before their operands got scales
        f"{first.nodes[n]['type']} ({', '.join(first.origin(n))}){_why((first, lowered), n, reasons)}"
        for n in _left(first)
        if missing & {*first.origin(n)}
    ]
    if not any(lowered.nodes[n]["type"] == "to_fixed" for n in lowered):
        raise LoweringError("nothing in the graph is quantised; call quantise(graph, samples) first")
    if left:
        raise LoweringError(
            f"{len(left)} nodes have no integer form: {', '.join(left)}; replace them by rules, or leave them "
            "to the host"
        )
    return lowered


def _left(graph: Graph) -> list[str]:
    """Float ops behind mantissas that are not the host's."""
    entries = {n for n in graph if graph.nodes[n]["type"] == "to_fixed"}
    behind = {n for entry in entries for n in graph.downstream(entry)}
    return [
        n
        for n in graph.in_order()
        if n in behind
        and graph.op(n).level == "nn"
        and not isinstance(graph.result_type(n).element, FixedPoint)
        and not _is_of_host(graph, n)
    ]
