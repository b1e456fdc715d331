"""Lower a quantised network to exact integer arithmetic, by rules.

A value on a grid is written as a reading of its mantissas: ``from_fixed(mantissas)``, times a scale where that is no
power of two. Each rule moves such a reading below one op, until only the conversions at inputs and outputs are left of
the float network.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from graphrewrite import FixedPoint, Graph, Module, Rule
from graphrewrite.hierarchy.blocks import flattened
from graphrewrite.lowering.composite.movement import write_split_by_slices
from graphrewrite.lowering.errors import MOST_NAMED, LoweringError, declined_reasons, origins_text
from graphrewrite.lowering.implementations import with_implementations
from graphrewrite.lowering.integer.arithmetic import LOWER_ARITHMETIC, scale_sums
from graphrewrite.lowering.integer.binary_points import LOWER_BINARY_POINTS, enter_fixed
from graphrewrite.lowering.integer.classifier_heads import SOFT
from graphrewrite.lowering.predicates import with_predicates, without_predicates
from graphrewrite.lowering.preparation.position_means import POOL_POSITIONS
from graphrewrite.lowering.prequantised import (
    APPROXIMATE_STEPS,
    COUNT_SIGNS,
    ENTER_QUANTISED,
    LEAVE_MOVED,
    LOWER_TRAINED,
    LOWER_UNSCALED_LAYERS,
)
from graphrewrite.lowering.prequantised.elementwise_chains import ONE_BY_ONE
from graphrewrite.lowering.prequantised.quantisers import QUANTISED
from graphrewrite.lowering.prequantised.sums_and_products import add_multiples
from graphrewrite.lowering.prequantised.transposes import SINK_TRANSPOSES
from graphrewrite.lowering.recorded_steps import recorded
from graphrewrite.rewriting.traces import Step
from graphrewrite.rules import (
    RULES,
    add_negative,
    compute_known_number,
    compute_known_sum,
    constant_before_reshape,
    move_sign,
    move_sign_of_divisor,
    norm_before_reshape,
    write_difference,
)
from graphrewrite.types import symbols

__all__ = ["LOWER_TO_INTEGER", "to_integer"]

_LEFT_OUT = (
    *(write_difference, add_negative, move_sign, move_sign_of_divisor),
    *(compute_known_number, compute_known_sum),
)
_CLEANING = tuple(member for member in RULES if member not in _LEFT_OUT)
"""The library's clean-up; differences stay sums with a negative, which hardware has for constants as well.

Signs stay out of the factors of stored numbers: scales are positive. What is the same number for all inputs keeps its
integers: as a float constant it would have none.
"""

LOWER_TO_INTEGER = (*LOWER_BINARY_POINTS, *LOWER_ARITHMETIC, scale_sums, *LOWER_TRAINED)
"""From quantised floats to integers."""

_OUTSIDE = frozenset({*SOFT, "fixed_point_softmax", "sigmoid", "tanh", "identity"})
"""Float ops that may stay after the last layer, for the host."""
_UNQUANTISED = frozenset({*_OUTSIDE, *ONE_BY_ONE, "reshape", "arg_max"})
"""Further ops that the host may apply to values that are not quantised again."""
_READING = frozenset({"mul", "cast", "add", "transpose", "quantize_linear", "dequantize_linear"})
"""Ops by which the host converts mantissas to the model's values."""


def _reasons_of(first: Graph, lowered: Graph, left: list[str], rules: Iterable[Rule]) -> Iterator[str]:
    """Nodes that no rule could lower, with reasons; of those that only wait for others, the first few."""
    for count, node in enumerate(left):
        if count == MOST_NAMED:
            yield f"and {len(left) - MOST_NAMED} more"
            return
        why = _declined((first, lowered), node, rules)
        if not why and first.upstream(node).isdisjoint(left):
            why = _without_reason(first, node)
        yield f"{first.nodes[node]['type']} ({origins_text(first, node)}){': ' * bool(why)}{why}"


def _declined(graphs: Iterable[Graph], node: str, rules: Iterable[Rule]) -> str:
    """The reason why a rule declined a node, from the first graph that has one."""
    return next((reason for graph in graphs if node in graph for reason in declined_reasons(graph, node, rules)), "")


def _without_reason(graph: Graph, node: str) -> str:
    """The reason for a node that no rule matches."""
    below = [o.node for o in graph.operands(node) if graph.nodes[o.node]["type"] not in ("constant", *_READING)]
    floats = [n for n in below if graph.nodes[n]["type"] not in ("from_fixed", "input")]
    if floats:
        return f"the {graph.nodes[floats[0]]['type']} before it ({origins_text(graph, floats[0])}) is not quantised"
    return ""


def _is_of_host(graph: Graph, node: str) -> bool:
    """Tell whether a float op reads mantissas after the last layer, or may follow there."""
    kind = graph.nodes[node]["type"]
    if kind not in _UNQUANTISED | _READING or any(graph.op(n).level == "integer" for n in graph.downstream(node)):
        return False
    computed = [o.node for o in graph.operands(node) if graph.nodes[o.node]["type"] != "constant"]
    if kind == "quantize_linear":  # else it would be one that no rule could lower
        return graph.nodes[computed[0]]["type"] in (*_OUTSIDE, "from_fixed")
    is_new = kind not in _OUTSIDE | _READING
    if is_new and any(graph.nodes[n]["type"] == "quantize_linear" for n in graph.downstream(node)):
        return False
    return len(computed) == 1


def to_integer(graph: Graph | Module, *, approximate: bool = False, steps: list[Step] | None = None) -> Graph:
    """Return a quantised network in integer arithmetic: the same numbers, bit for bit.

    Parameters
    ----------
    graph : Graph or Module
        What `quantise` gives, or a model that brings its quantisation with it; of a module its main graph. Nested
        graphs are lowered where they are used.
    approximate : bool
        Whether functions of numbers that are too wide for a table become straight lines, within a bound that
        `function_bounds` says. Everything else stays exact.
    steps : list of Step, optional
        Collects what each rule did.

    Returns
    -------
    Graph
        ``to_fixed`` at the inputs, ops of the level ``integer``, ``from_fixed`` at the outputs. What the host does
        before (a transpose of the input) and after (a closing softmax) stays in floats. Predicates stay on the nodes
        that stand for theirs, as by `quantise`. So do names of implementations.

    Raises
    ------
    ImplementationError
        If no single node stands for one that names its implementation.
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
    # Transposes meet before anything is lowered: mantissas hide the elementwise ops that they could pass.
    first_of_all = (write_split_by_slices, norm_before_reshape, constant_before_reshape, *POOL_POSITIONS)
    flat = flattened(graph)
    cleaned = recorded(without_predicates(flat), (*first_of_all, *SINK_TRANSPOSES, *_CLEANING), steps)
    first = lowered = recorded(cleaned, (*SINK_TRANSPOSES, *LOWER_TO_INTEGER, *_CLEANING), steps)
    near = (*LOWER_TO_INTEGER, *APPROXIMATE_STEPS) if approximate else LOWER_TO_INTEGER
    # Rules that give up exactness, then those for layers that nobody quantises, run only while something is left: an
    # earlier, exact rule could still match once its operand is lowered.
    for rules in (near, (*near, *LOWER_UNSCALED_LAYERS, add_multiples))[not approximate :]:
        if _left(lowered):
            lowered = recorded(lowered, (*SINK_TRANSPOSES, *rules, *_CLEANING), steps)
    lowered = recorded(lowered, (*COUNT_SIGNS, *LEAVE_MOVED), steps)
    # Rules for inputs decline every inner quantiser: that is no reason worth naming.
    reasons = [r for r in LOWER_TO_INTEGER if r is not enter_fixed and r not in ENTER_QUANTISED]
    reasons = [*APPROXIMATE_STEPS, *reasons] if approximate else reasons
    missing = {origin for n in _left(lowered) for origin in lowered.origin(n)}
    left = [n for n in _left(first) if missing & {*first.origin(n)}]  # as they were before their operands got scales
    if not any(lowered.nodes[n]["type"] == "to_fixed" for n in lowered):
        raise LoweringError(_without_entry(first))
    if left:
        raise LoweringError(
            f"{len(left)} nodes have no integer form: {', '.join(_reasons_of(first, lowered, left, reasons))}; replace "
            f"them by rules, or leave them to the host{_open_sizes(first)}"
        )
    return with_implementations(with_predicates(lowered, flat), flat)


def _open_sizes(graph: Graph) -> str:
    """A hint at sizes, besides those of batches, that are no numbers: few layers have an integer form with them."""
    kinds = [graph.result_type(name) for name in graph.inputs]
    names = dict.fromkeys(name for kind in kinds for size in kind.shape[1:] for name in symbols(size))
    if not names:
        return ""
    shown = ", ".join(f"{name!r}: …" for name in names)
    verb = "is" if len(names) == 1 else "are"
    return (
        f"; of the inputs' sizes, {' and '.join(names)} {verb} open: graph.with_sizes({{{shown}}}) gives them numbers"
    )


def _without_entry(graph: Graph) -> str:
    """The reason why no input gives mantissas."""
    quantiser = next((n for n in graph.in_order() if graph.nodes[n]["type"] in QUANTISED), None)
    if quantiser is None:
        return "nothing in the graph is quantised; call quantise(graph, samples) first"
    why = _declined((graph,), quantiser, ENTER_QUANTISED) or _without_reason(graph, quantiser)
    return (
        f"no input is quantised, and {graph.nodes[quantiser]['type']} ({origins_text(graph, quantiser)}) is the first "
        f"quantiser{': ' * bool(why)}{why}; quantise the inputs of the model"
    )


def _left(graph: Graph) -> list[str]:
    """Float ops after mantissas that are not the host's."""
    entries = {n for n in graph if graph.nodes[n]["type"] == "to_fixed"}
    after = {n for entry in entries for n in graph.downstream(entry)}
    return [
        n
        for n in graph.in_order()
        if n in after and graph.op(n).level == "nn" and not _gives_mantissas(graph, n) and not _is_of_host(graph, n)
    ]


def _gives_mantissas(graph: Graph, node: str) -> bool:
    types = graph.nodes[node]["result"]
    return any(isinstance(kind.element, FixedPoint) for kind in (types[:1] if isinstance(types, tuple) else (types,)))
