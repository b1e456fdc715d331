"""Branches and loops of TensorFlow Lite, whose bodies are further subgraphs of the file."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np

from graphrewrite import Graph, Tensor, op
from graphrewrite.graph import Value
from graphrewrite.lowering.errors import ModelError
from graphrewrite.lowering.exchange.entry import Unfit
from graphrewrite.lowering.exchange.tflite.model import Operator
from graphrewrite.op.control_flow import ENDLESS

if TYPE_CHECKING:
    from graphrewrite.lowering.exchange.tflite.importer import Importer

__all__ = ["CONTROL_FLOW", "bodies"]

_OPTIONS: Mapping[str, tuple[str, str]] = {
    "IF": ("then_subgraph_index", "else_subgraph_index"),
    "WHILE": ("cond_subgraph_index", "body_subgraph_index"),
}


def bodies(operator: Operator, count: int) -> tuple[int, int]:
    """Return the subgraphs that an operator runs, of so many."""
    first, second = (int(operator.options.get(name) or 0) for name in _OPTIONS[operator.kind])
    for index in (first, second):
        if not 0 < index < count:
            raise Unfit(f"it runs subgraph {index} of {count}")
    return first, second


def _branches(importer: Importer, operator: Operator, values: Sequence[Value]) -> Sequence[Value]:
    """IF: a graph where the condition is true, and another where it is false."""
    chosen = bodies(operator, len(importer.matching.networks))
    condition, *given = values
    decided = importer.static(condition)
    if decided is not None and decided.size == 1:
        return importer.called(chosen[0 if decided.item() else 1], given)
    graphs = []
    for index in chosen:
        child = importer.child(index, Graph(operator.label))
        ports = [child.graph.input(f"value_{i}", each.type) for i, each in enumerate(given)]
        for i, result in enumerate(child.results(ports)):
            child.graph.output(child.graph.fresh(f"result_{i}"), result)
        graphs.append(child.named())
    made = op.cond(_scalar(condition), *given, then=graphs[0], otherwise=graphs[1])
    return made if isinstance(made, tuple) else (made,)


def _scalar(condition: Value) -> Value:
    return op.reshape(condition, shape=()) if condition.type.shape else condition


def _loop(importer: Importer, operator: Operator, values: Sequence[Value]) -> Sequence[Value]:
    """WHILE: its condition is a graph of its own, computed before the first iteration and at the end of each."""
    condition, body = bodies(operator, len(importer.matching.networks))
    (first,) = importer.called(condition, values)
    try:
        return _repeated(importer, operator, first, values)
    except (Unfit, ModelError):  # sizes, perhaps, that depend on the number of the iteration
        again = importer.static(first)
        if again is None:
            raise
    given = values
    while again is not None and again.item():
        given = importer.called(body, given)
        again = importer.static(importer.called(condition, given)[0])
    if again is None:
        raise Unfit("sizes in its body, and how often it runs, depend on values")
    return given


def _repeated(importer: Importer, operator: Operator, first: Value, values: Sequence[Value]) -> Sequence[Value]:
    """Return the results of one op for all iterations."""
    condition, body = bodies(operator, len(importer.matching.networks))
    network = importer.matching.networks[body]
    if not len(values) == len(network.inputs) == len(network.outputs):
        raise Unfit(f"it passes {len(values)} values, and its body has {len(network.inputs)}")
    own = [i for i in range(len(values)) if network.outputs[i] != network.inputs[i]]
    order = [*own, *(i for i in range(len(values)) if i not in own)]
    child = importer.child(body, Graph(operator.label))
    child.graph.input("iteration", Tensor("i64", ()))  # which it counts for itself
    ports = {i: child.graph.input(f"value_{i}", values[i].type) for i in order}
    results = child.results([ports[i] for i in range(len(values))])
    (again,) = child.called(condition, results)
    child.graph.output("again", _scalar(again))
    for i in own:
        child.graph.output(f"value_{i}_next", results[i])
    carried = len(own) if len(own) < len(order) else None
    made = op.loop(np.int64(ENDLESS), _scalar(first), *(values[i] for i in order), body=child.named(), carried=carried)
    ends = dict(zip(own, made if isinstance(made, tuple) else (made,), strict=True))
    return [ends.get(i, values[i]) for i in range(len(values))]


CONTROL_FLOW: Mapping[str, Callable[[Importer, Operator, Sequence[Value]], Sequence[Value]]] = {
    "IF": _branches,
    "WHILE": _loop,
}
"""What each operator means, given the importer and what it reads."""
