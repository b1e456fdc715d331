"""Heads of classifiers on mantissas: what the host would compute of the scores, computed by the hardware."""

from __future__ import annotations

import math
from dataclasses import replace
from fractions import Fraction

import numpy as np

from graphrewrite import FixedPoint, Graph, op
from graphrewrite.graph import Operand, Value
from graphrewrite.graph.rewiring import rewire
from graphrewrite.hdl.component import streams
from graphrewrite.hdl.components.softmax import exponentials, softmax_error
from graphrewrite.lowering.errors import LoweringError, origins_text
from graphrewrite.lowering.integer.host_readings import Reading, aligned, is_vector, reading
from graphrewrite.lowering.streaming.bridge import enter
from graphrewrite.rules import eliminate_dead_nodes

__all__ = ["decisions_in_hardware", "heads_of_host", "scores_in_hardware", "softmax_bounds", "softmax_in_hardware"]

_WIDEST = 24
_GUARD = 4
"""Extra bits of an exponential beyond those of a probability, for the sum over channels."""
_DECIDING = frozenset({"arg_max", "greater"})
_RISING = frozenset({"softmax", "log_softmax", "sigmoid", "tanh", "exp", "softplus"})
"""Functions that keep the order of numbers."""


def decisions_in_hardware(graph: Graph) -> Graph:
    r"""Return an integer network that takes its decisions on mantissas: each `arg_max`, and each comparison.

    They are those of the exact numbers: where the floats of the host round two scores to one, the greater one wins.
    Where scores have scales without a common multiple, these are rounded, as finely as float32 would.

    Parameters
    ----------
    graph : Graph
        What `to_integer` gives; what cannot be moved is left to the host, and `heads_of_host` says why.

    Examples
    --------
    >>> g = Graph.parse('''graph g
    ... x = input() : f32[N,1]
    ... f = to_fixed(x, element=s8f4)
    ... z = from_fixed(f, fraction=4)
    ... half = constant(value=0.5) : f32[]
    ... d = greater(z, half)
    ... y = output(d)''')
    >>> hard = decisions_in_hardware(g)
    >>> [hard.nodes[n]["type"] for n in hard.in_order()]
    ['input', 'to_fixed', 'constant', 'integer_threshold', 'from_fixed', 'cast', 'output']
    """
    new = graph.copy()
    for node in graph.in_order():
        if graph.nodes[node]["type"] in _DECIDING and _is_of_host(new, node):
            _decide(new, node)
    return eliminate_dead_nodes(new)


def softmax_in_hardware(graph: Graph, *, width: int = 16, table_bits: int = 10) -> Graph:
    r"""Return an integer network that computes its softmax in integers as well, approximately.

    Each softmax over the channels of scaled mantissas becomes an ``integer_softmax``, which hardware computes bit for
    bit. `softmax_bounds` bounds its distance from the real one.

    Parameters
    ----------
    graph : Graph
        What `to_integer` gives; a softmax of anything else is left to the host, and `heads_of_host` says why.
    width : int
        Bits of a probability, 2 to 24: one before the point, so that 1 is among them.
    table_bits : int
        The table of exponentials has at most ``2**table_bits`` entries; at most 12.

    Examples
    --------
    >>> g = Graph.parse('''graph g
    ... x = input() : f32[N,3]
    ... f = to_fixed(x, element=s8f4)
    ... z = from_fixed(f, fraction=4)
    ... s = softmax(z)
    ... y = output(s)''')
    >>> hard = softmax_in_hardware(g, width=9)
    >>> [hard.nodes[n]["type"] for n in hard.in_order()]
    ['input', 'to_fixed', 'integer_softmax', 'from_fixed', 'output']
    >>> softmax_bounds(hard)
    {'integer_softmax_1': 0.00219...}
    """
    if not 2 <= width <= _WIDEST:
        raise LoweringError(f"width={width!r}: a probability has 2 to {_WIDEST} bits")
    new, element = graph.copy(), FixedPoint(False, width, width - 1)
    for node in graph.in_order():
        if graph.nodes[node]["type"] == "softmax" and _is_of_host(new, node):
            _normalise(new, node, element, table_bits)
    return eliminate_dead_nodes(new)


def softmax_bounds(graph: Graph) -> dict[str, float]:
    """Return how far each ``integer_softmax`` of a network is from the real softmax at most, by node.

    Parameters
    ----------
    graph : Graph
        What `softmax_in_hardware` gives.
    """
    bounds = {n: graph.nodes[n].get("bound") for n in graph.in_order() if graph.nodes[n]["type"] == "integer_softmax"}
    return {node: bound for node, bound in bounds.items() if bound is not None}


def scores_in_hardware(graph: Graph) -> Graph:
    r"""Return an integer network whose hardware gives the scores: each `arg_max` after its last layer is the host's.

    Examples
    --------
    >>> g = Graph.parse('''graph g
    ... x = input() : f32[N,3]
    ... f = to_fixed(x, element=s8f4)
    ... a = arg_max(f)
    ... z = from_fixed(a, fraction=0, element="i64")
    ... y = output(z)''')
    >>> soft = scores_in_hardware(g)
    >>> [soft.nodes[n]["type"] for n in soft.in_order()]
    ['input', 'to_fixed', 'from_fixed', 'arg_max', 'output']
    """
    new = graph.copy()
    for node in graph.in_order():
        readers = list(graph.successors(node))
        if graph.nodes[node]["type"] != "arg_max" or any(graph.nodes[r]["type"] != "from_fixed" for r in readers):
            continue
        (scores,) = new.operands(node)
        element = new.result_type(*scores).element
        if isinstance(element, FixedPoint):
            # Mantissas keep the order of the numbers, and doubles hold all of them.
            attributes = {"fraction": element.fraction, "element": "f64"}
            real = new.add(op.from_fixed, [new.value(*scores)], attributes, origin=new.origin(scores.node))
            index = new.add(op.arg_max, [real], dict(graph.attributes(node)), origin=new.origin(node))
            for reader in readers:
                rewire(new, reader, Operand(index.node))
    return eliminate_dead_nodes(new)


def heads_of_host(graph: Graph) -> dict[str, str]:
    """Return the decisions and softmaxes that an integer network leaves to the host, by node, and why."""
    found = {}
    for node in graph.in_order():
        kind = graph.nodes[node]["type"]
        if kind in (*_DECIDING, "softmax", "log_softmax") and _is_of_host(graph, node):
            copy = graph.copy()
            why = _decide(copy, node) if kind in _DECIDING else _normalise(copy, node, FixedPoint(False, 16, 15), 10)
            found[node] = f"{kind} ({origins_text(graph, node)}): {why or 'the hardware gives the scores'}"
    return found


def _is_of_host(graph: Graph, node: str) -> bool:
    return not isinstance(graph.result_type(*graph.operands(node)[0]).element, FixedPoint)


def _decide(graph: Graph, node: str) -> str | None:
    """Take a decision on mantissas, in place; or return the reason why not."""
    kind, data = graph.nodes[node]["type"], graph.nodes[node]
    value, *constants = graph.operands(node)
    if any(graph.nodes[o.node]["type"] != "constant" for o in constants):
        return "both of its operands are computed"
    rank = len(graph.result_type(*value).shape)
    axis = graph.attributes(node)["axis"] % rank if kind == "arg_max" else min(1, rank - 1)
    if kind == "arg_max":
        if data.get("select_last_index"):
            return "of equal scores its component takes the first"
        # A function that keeps the order of numbers decides nothing.
        while graph.nodes[value.node]["type"] in _RISING and _is_elsewhere_alike(graph, value, axis):
            (value,) = graph.operands(value.node)
    found = reading(graph, value, axis)
    if isinstance(found, str):
        return found
    if kind == "greater":
        if not _is_one(graph, value):
            return "it is for one number a sample"
        found = replace(found, axis=1)
    placed = _placed(graph, found)
    if isinstance(placed, str):
        return placed
    result: Value | str
    result = _greatest(graph, placed, node) if kind == "arg_max" else _reached(graph, placed, node, constants[0])
    if isinstance(result, str):
        return result
    moved = _moved(graph, result, placed, node, is_index=True)
    target = graph.result_type(node)
    if graph.result_type(moved.node).shape != target.shape:
        moved = _added(graph, op.reshape, [moved], {"shape": target.shape}, node)
    if kind == "greater":
        moved = _added(graph, op.cast, [moved], {"element": "bool"}, node)
    rewire(graph, node, Operand(moved.node))
    return None


def _is_elsewhere_alike(graph: Graph, value: Operand, axis: int) -> bool:
    """Whether a rising function is one of each number, or a softmax along the axis of the classes."""
    rank = len(graph.result_type(*value).shape)
    return "softmax" not in graph.nodes[value.node]["type"] or graph.attributes(value.node)["axis"] % rank == axis


def _is_one(graph: Graph, value: Operand) -> bool:
    return all(size == 1 for size in graph.result_type(*value).shape[1:])


def _placed(graph: Graph, found: Reading) -> Reading | str:
    """A reading whose mantissas have the classes along the channels; a merging reshape is applied to them."""
    if found.axis == 1:
        return found
    if found.axis is not None:
        return "its classes lie along another axis than the channels of the hardware"
    whole, moves = graph.value(*found.whole), list(found.moves)
    while moves and moves[0][1] is None:
        node, _ = moves.pop(0)
        if graph.nodes[node]["type"] == "transpose":
            return "a transpose mixes its classes before a reshape merges them"
        whole = _added(graph, op.reshape, [whole], {"shape": graph.result_type(node).shape}, node)
    if moves and graph.nodes[moves[0][0]]["type"] != "transpose":
        node, axis = moves[0]
        shape = graph.result_type(node).shape
        if axis == 1:
            moves.pop(0)
        elif axis is not None and is_vector(shape, axis):
            shape, axis = (shape[0], shape[axis]), 1
        whole = _added(graph, op.reshape, [whole], {"shape": shape}, node)
        if axis == 1:
            return replace(found, whole=Operand(whole.node), axis=1, moves=tuple(moves))
    return "its classes lie along another axis than the channels of the hardware"


def _greatest(graph: Graph, found: Reading, node: str) -> Value | str:
    made = aligned(graph, found)
    if isinstance(made, str):
        return made
    index = _added(graph, op.arg_max, [made[0]], {"axis": 1, "keep_dims": True}, node)
    return _added(graph, op.from_fixed, [index], {"fraction": 0, "element": "i64"}, node)


def _reached(graph: Graph, found: Reading, node: str, constant: Operand) -> Value | str:
    """Whether a number exceeds a constant, by the least mantissa that does."""
    bound = np.asarray(graph.nodes[constant.node]["value"], np.float64)
    element, (scale, *_), (offset, *_) = found.element, found.scales, found.offsets
    if bound.size != 1 or not np.isfinite(bound).all() or scale == 0:
        return "it compares with no single number"
    whole = graph.value(*found.whole)
    level = (Fraction(float(bound.ravel()[0])) - offset) / scale
    if scale < 0:
        # Below the level is above it with the other sign.
        low, high = -element.maximum, -element.minimum
        negated = FixedPoint.holding(low, max(high, 1))
        whole, level = (
            _added(graph, op.rescale, [whole], {"multiplier": -1, "shift": 0, "element": negated}, node),
            -level,
        )
    else:
        low, high = element.minimum, element.maximum
    least = min(max(math.floor(level) + 1, low), high + 1)
    levels = graph.constant(np.array([[least]], np.int64), origin=graph.origin(node))
    count = _added(graph, op.integer_threshold, [whole, levels], {}, node)
    return _added(graph, op.from_fixed, [count], {"fraction": 0, "element": "i64"}, node)


def _normalise(graph: Graph, node: str, element: FixedPoint, table_bits: int) -> str | None:
    """Compute a softmax of mantissas, in place; or return the reason why not."""
    (scores,), kind = graph.operands(node), graph.result_type(node)
    if graph.nodes[node]["type"] != "softmax":
        return "the hardware computes probabilities, and not their logarithms"
    found = reading(graph, scores, graph.attributes(node)["axis"] % len(kind.shape))
    placed = found if isinstance(found, str) else _placed(graph, found)
    made = placed if isinstance(placed, str) else aligned(graph, placed)
    if isinstance(placed, str) or isinstance(made, str):
        return made if isinstance(made, str) else str(placed)
    whole, step, error = made
    operand_format = whole.type.element
    assert isinstance(operand_format, FixedPoint)  # mantissas have one
    table, shift = exponentials(
        operand_format, bits=table_bits, width=min(element.width + _GUARD, _WIDEST), step=float(step)
    )
    (stream,) = streams(*enter.infer(whole.type))
    bound = softmax_error(stream, table=table, shift=shift, element=element, step=float(step))
    attributes = {"table": tuple(table.tolist()), "shift": shift, "element": element}
    softmax = _added(
        graph, op.integer_softmax, [whole], {**attributes, "bound": bound + math.tanh(float(error) / 2)}, node
    )
    real = _added(graph, op.from_fixed, [softmax], {"fraction": element.fraction, "element": kind.element}, node)
    rewire(graph, node, Operand(_moved(graph, real, placed, node, is_index=False).node))
    return None


def _moved(graph: Graph, value: Value, found: Reading, node: str, *, is_index: bool) -> Value:
    """Apply to a result what moves the scores; an index has the length 1 along the axis of the classes."""
    for move, axis in found.moves:
        if graph.nodes[move]["type"] == "transpose":
            value = _added(graph, op.transpose, [value], {"perm": graph.nodes[move]["perm"]}, node)
        else:
            shape = list(graph.result_type(move).shape)
            if is_index and axis is not None:
                shape[axis] = 1
            value = _added(graph, op.reshape, [value], {"shape": tuple(shape)}, node)
    return value


def _added(graph: Graph, kind: op.Op, operands: list[Value], attributes: dict[str, object], node: str) -> Value:
    made = graph.add(kind, operands, attributes, origin=graph.origin(node))
    assert isinstance(made, Value)  # all of these ops have one result
    return made
