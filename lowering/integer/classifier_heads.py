"""Heads of classifiers: class or probabilities instead of scores, in a network before it is lowered."""

from __future__ import annotations

import numpy as np

from graphrewrite import Graph, op
from graphrewrite.graph import Operand, Value
from graphrewrite.graph.rewiring import move_slot
from graphrewrite.rules import eliminate_dead_nodes
from graphrewrite.types import Dimension, element_dtype, element_kind

__all__ = ["SOFT", "classify", "end_of", "probabilities", "softmax_as_arg_max"]

SOFT = frozenset({"softmax", "log_softmax"})
"""Ops after the scores of a classifier that keep their order."""

_DECIDED = frozenset({"arg_max", "greater"})
_SQUASHING = frozenset({"sigmoid", "tanh"})
_PASSED = frozenset(
    {
        *("identity", "cast", "reshape", "flatten", "squeeze", "unsqueeze", "transpose", "name_axes"),
        *("quantize_linear", "dequantize_linear", "quant", "quantise"),
    }
)
"""Ops after a head that move its results, or store them."""


def softmax_as_arg_max(graph: Graph) -> Graph:
    r"""Return a classifier that gives the index of the greatest probability instead of all of them.

    The softmax is monotone, so its greatest entry has the index of its operand's: the prediction is the same.

    Parameters
    ----------
    graph : Graph
        A network; an output that is no softmax over the channels stays as it is.

    Examples
    --------
    >>> g = Graph.parse("graph g\nx = input() : f32[N,3]\ns = softmax(x)\ny = output(s)")
    >>> print(softmax_as_arg_max(g))
    graph g
    x = input() : f32[N,3]
    arg_max_1 = arg_max(x) : i64[N,1]
    y = output(arg_max_1)
    """
    new = graph.copy()
    for name in new.outputs:
        end = end_of(new, name)
        if new.nodes[end]["type"] in SOFT and _is_classes(new, end):
            _end_in(new, name, _greatest(new, new.operands(end)[0], _classes_axis(new, end)))
    return eliminate_dead_nodes(new)


def classify(graph: Graph) -> Graph:
    r"""Return a network with each vector output replaced by the index of its greatest entry.

    So is each softmax, and the single output where it is an image of scores. A single number becomes a decision:
    whether it, or the operand of the sigmoid that gives it, is above 0.

    Examples
    --------
    >>> print(classify(Graph.parse("graph g\nx = input() : f32[N,3]\ny = output(x)")))
    graph g
    x = input() : f32[N,3]
    arg_max_1 = arg_max(x) : i64[N,1]
    y = output(arg_max_1)
    >>> print(classify(Graph.parse("graph g\nx = input() : f32[N,1]\ns = sigmoid(x)\ny = output(s)")))
    graph g
    x = input() : f32[N,1]
    constant_1 = constant(value=0.0) : f32[]
    greater_1 = greater(x, constant_1) : bool[N,1]
    y = output(greater_1)
    """
    new = graph.copy()
    for name in new.outputs:
        end, (source,) = end_of(new, name), new.operands(name)
        kind, shape = new.nodes[end]["type"], new.result_type(*source).shape
        if kind in SOFT:
            axis = _classes_axis(new, end)
            if axis and new.result_type(end).shape[axis] != 1:
                _end_in(new, name, _greatest(new, new.operands(end)[0], axis))
        elif kind in _DECIDED or element_kind(new.result_type(*source).element) != "float":
            continue
        elif len(shape) < 2 or all(size == 1 for size in shape[1:]):
            if kind in _SQUASHING:
                (source,) = new.operands(end)
            elif len(new.outputs) > 1:
                continue  # a value beside a class
            zero = new.constant(np.zeros((), element_dtype(new.result_type(*source).element)))
            _end_in(new, name, _single(new.add(op.greater, [new.value(*source), zero], origin=new.origin(end))))
        elif _has_scores(new, shape):
            if new.nodes[source.node]["type"] in _SQUASHING:
                (source,) = new.operands(source.node)
            _end_in(new, name, _greatest(new, source, _channels_axis(new, source)))
    return eliminate_dead_nodes(new)


def probabilities(graph: Graph) -> Graph:
    r"""Return a network with a softmax at each vector output that has none, and instead of each class.

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
        end, (scores,) = end_of(new, name), new.operands(name)
        axis = _channels_axis(new, scores)
        is_class = new.nodes[end]["type"] == "arg_max"
        if is_class:
            (scores,), axis = new.operands(end), _classes_axis(new, end)
            end = scores.node
        kind, shape = new.nodes[end]["type"], new.result_type(*scores).shape
        if kind == "softmax":  # without what stores its results
            move_slot(new, name, 0, Operand(end))
            continue
        if kind == "log_softmax":
            (scores,), axis = new.operands(end), _classes_axis(new, end)
        elif kind in _DECIDED | _SQUASHING or not (is_class or _has_scores(new, shape)):
            continue
        value = new.value(*scores)
        softmax = new.add(op.softmax, [value], _along(axis, value), origin=new.origin(end))
        _end_in(new, name, _single(softmax))
    return eliminate_dead_nodes(new)


def end_of(graph: Graph, output: str) -> str:
    """Return the node that says what an output is: its operand, looked up through what moves or stores results."""
    first = node = graph.operands(output)[0].node
    while graph.nodes[node]["type"] in _PASSED:
        node = graph.operands(node)[0].node
    return node if graph.nodes[node]["type"] in SOFT | _DECIDED | _SQUASHING else first


def _channels_axis(graph: Graph, value: Operand) -> int:
    """The axis of the channels: the second, or where a transpose at the end puts it."""
    data = graph.nodes[value.node]
    return list(data["perm"]).index(1) if data["type"] == "transpose" else 1


def _has_scores(graph: Graph, shape: tuple[Dimension, ...]) -> bool:
    """Whether an output of a shape may have scores: a vector, or an image where it is the only output."""
    return len(shape) > 1 and shape[1] != 1 and (all(size == 1 for size in shape[2:]) or len(graph.outputs) == 1)


def _classes_axis(graph: Graph, node: str) -> int:
    return int(graph.attributes(node)["axis"] % len(graph.result_type(*graph.operands(node)[0]).shape))


def _is_classes(graph: Graph, node: str) -> bool:
    """Whether a softmax is over the classes of a sample, or of each position of an image.

    With three axes it is as likely that of the boxes of a detector, whose shares count.
    """
    shape, axis = graph.result_type(node).shape, _classes_axis(graph, node)
    is_vector = all(size == 1 for i, size in enumerate(shape) if i not in (0, axis))
    return axis > 0 and shape[axis] != 1 and (is_vector or len(shape) > 3)


def _greatest(graph: Graph, scores: Operand, axis: int) -> Value:
    value, origin = graph.value(*scores), graph.origin(scores.node)
    return _single(graph.add(op.arg_max, [value], _along(axis, value), origin=origin))


def _along(axis: int, value: Value) -> dict[str, int]:
    """The attribute for an axis, left out where it is the default."""
    return {} if axis == len(value.type.shape) - 1 else {"axis": axis}


def _end_in(graph: Graph, output: str, value: Value) -> None:
    move_slot(graph, output, 0, Operand(value.node))


def _single(value: Value | tuple[Value, ...]) -> Value:
    assert isinstance(value, Value)  # the ops of heads have one result
    return value
