"""Heads of classifiers: class or probabilities, computed by the hardware or the host."""

from __future__ import annotations

from graphrewrite import Graph, op
from graphrewrite.graph import Operand
from graphrewrite.graph.rewiring import move_slot, rewire
from graphrewrite.hdl.component import streams
from graphrewrite.hdl.components.softmax import exponentials, softmax_error
from graphrewrite.lowering.errors import LoweringError
from graphrewrite.lowering.streaming.bridge import enter
from graphrewrite.rules import eliminate_dead_nodes
from graphrewrite.types import FixedPoint

__all__ = ["SOFT", "classify", "probabilities", "softmax_as_arg_max", "softmax_bounds", "softmax_in_hardware"]

SOFT = frozenset({"softmax", "log_softmax"})
"""Ops after the scores of a classifier that keep their order."""

_WIDEST = 24
_GUARD = 4
"""Extra bits of an exponential beyond those of a probability, for the sum over channels."""


def softmax_as_arg_max(graph: Graph) -> Graph:
    r"""Return a classifier that gives the index of the greatest probability instead of all of them.

    The softmax is monotone, so its greatest entry has the index of its operand's: the prediction is the same.

    Parameters
    ----------
    graph : Graph
        A network; an output that is no softmax stays as it is.

    Examples
    --------
    >>> g = Graph.parse("graph g\nx = input() : f32[N,3]\ns = softmax(x)\ny = output(s)")
    >>> print(softmax_as_arg_max(g))
    graph g
    x = input() : f32[N,3]
    arg_max_1 = arg_max(x) : i64[N,1]
    y = output(arg_max_1)
    """
    return _with_arg_max(graph, only_softmax=True)


def classify(graph: Graph) -> Graph:
    r"""Return a network with each vector output replaced by the index of its greatest entry.

    Examples
    --------
    >>> print(classify(Graph.parse("graph g\nx = input() : f32[N,3]\ny = output(x)")))
    graph g
    x = input() : f32[N,3]
    arg_max_1 = arg_max(x) : i64[N,1]
    y = output(arg_max_1)
    """
    return _with_arg_max(graph, only_softmax=False)


def probabilities(graph: Graph) -> Graph:
    r"""Return a network with a softmax at each vector output that has none.

    Examples
    --------
    >>> print(probabilities(Graph.parse("graph g\nx = input() : f32[N,3]\ny = output(x)")))
    graph g
    x = input() : f32[N,3]
    softmax_1 = softmax(x) : f32[N,3]
    y = output(softmax_1)
    """
    new = graph.copy()
    for name in new.outputs:
        (scores,) = new.operands(name)
        kind = new.result_type(*scores)
        if len(kind.shape) == 2 and kind.shape[1] != 1 and new.nodes[scores.node]["type"] != "softmax":
            if new.nodes[scores.node]["type"] in SOFT:
                # Probabilities are wanted and not their logarithms: a softmax of the same scores.
                (scores,) = new.operands(scores.node)
            softmax = new.add(op.softmax, [new.value(*scores)], origin=new.origin(scores.node))
            move_slot(new, name, 0, Operand(softmax.node))
    return eliminate_dead_nodes(new)


def softmax_in_hardware(graph: Graph, *, width: int = 16, table_bits: int = 10) -> Graph:
    r"""Return an integer network that computes its softmax in integers as well, approximately.

    Each softmax over the channels of mantissas becomes an ``integer_softmax``, which hardware computes bit for
    bit. `softmax_bounds` bounds its distance from the real one.

    Parameters
    ----------
    graph : Graph
        What `to_integer` gives; a softmax of anything else, scaled numbers among them, is left to the host.
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
        if graph.nodes[node]["type"] != "softmax":
            continue
        (scores,), kind = new.operands(node), new.result_type(node)
        read = new.nodes[scores.node]
        if read["type"] != "from_fixed" or graph.attributes(node)["axis"] not in (1, 1 - len(kind.shape)):
            continue
        (whole,) = new.operands(scores.node)
        operand_format = new.result_type(*whole).element
        # Exponentials are those of the numbers: mantissas have to be read with the binary point of their format.
        if not isinstance(operand_format, FixedPoint) or operand_format.fraction != read["fraction"]:
            continue
        table, shift = exponentials(operand_format, bits=table_bits, width=min(width + _GUARD, _WIDEST))
        attributes = {"table": tuple(table.tolist()), "shift": shift, "element": element}
        softmax = new.add(op.integer_softmax, [new.value(*whole)], attributes, origin=new.origin(node))
        real = {"fraction": element.fraction, "element": kind.element}
        rewire(new, node, Operand(new.add(op.from_fixed, [softmax], real, origin=new.origin(node)).node))
    return eliminate_dead_nodes(new)


def softmax_bounds(graph: Graph) -> dict[str, float]:
    """Return how far each ``integer_softmax`` of a network is from the real softmax at most.

    Parameters
    ----------
    graph : Graph
        What `softmax_in_hardware` gives.

    Returns
    -------
    dict of str to float
        By node.
    """
    bounds = {}
    for node in graph.in_order():
        if graph.nodes[node]["type"] == "integer_softmax":
            (whole,) = graph.operands(node)
            (stream,) = streams(*enter.infer(graph.result_type(*whole)))
            bounds[node] = softmax_error(stream, **graph.attributes(node))
    return bounds


def _with_arg_max(graph: Graph, *, only_softmax: bool) -> Graph:
    new = graph.copy()
    for name in new.outputs:
        source = new.operands(name)[0]
        soft = new.nodes[source.node]["type"] in SOFT and new.attributes(source.node)["axis"] in (1, -1)
        shape = new.result_type(source.node, source.result).shape
        if len(shape) != 2 or (only_softmax and not soft) or shape[1] == 1:
            continue
        scores = new.operands(source.node)[0] if soft else source
        index = new.add(op.arg_max, [new.value(*scores)], origin=new.origin(source.node))
        move_slot(new, name, 0, Operand(index.node))
        if soft and not new.succ[source.node]:
            new.remove_node(source.node)
    return new
