"""What to do with the head of a classifier: hardware gives the class, or the host does the softmax."""

from __future__ import annotations

from graphrewrite import Graph, op
from graphrewrite.graph import Operand
from graphrewrite.wiring import move_slot

__all__ = ["classify", "softmax_as_arg_max"]


def softmax_as_arg_max(graph: Graph) -> Graph:
    r"""Return a classifier that gives the place of the greatest probability instead of all of them.

    The softmax is monotone, so that its greatest entry stands where its operand's does: the prediction is the same.

    Parameters
    ----------
    graph : Graph
        A network; an output that is no softmax stays as it is.

    Returns
    -------
    Graph

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
    r"""Return a network each of whose vector outputs is replaced by the place of its greatest entry.

    Parameters
    ----------
    graph : Graph
        A network that gives a vector of scores or probabilities.

    Returns
    -------
    Graph

    Examples
    --------
    >>> print(classify(Graph.parse("graph g\nx = input() : f32[N,3]\ny = output(x)")))
    graph g
    x = input() : f32[N,3]
    arg_max_1 = arg_max(x) : i64[N,1]
    y = output(arg_max_1)
    """
    return _with_arg_max(graph, only_softmax=False)


def _with_arg_max(graph: Graph, *, only_softmax: bool) -> Graph:
    new = graph.copy()
    for name in new.outputs:
        source = new.operands(name)[0]
        soft = new.nodes[source.node]["type"] == "softmax" and new.attributes(source.node)["axis"] in (1, -1)
        shape = new.result_type(source.node, source.result).shape
        if len(shape) != 2 or (only_softmax and not soft) or shape[1] == 1:
            continue
        scores = new.operands(source.node)[0] if soft else source
        place = new.add(op.arg_max, [new.value(*scores)], origin=new.origin(source.node))
        move_slot(new, name, 0, Operand(place.node))
        if soft and not new.succ[source.node]:
            new.remove_node(source.node)
    return new
