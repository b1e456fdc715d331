"""Loops and branches of TensorFlow, and the lists that loops fill, which become values with an axis in front."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from graphrewrite import Graph, op
from graphrewrite.graph import Value
from graphrewrite.lowering.exchange.entry import Unfit
from graphrewrite.lowering.exchange.rulesets.definitions import element_of_type
from graphrewrite.lowering.exchange.tensorflow.node import Node
from graphrewrite.op.control_flow import ENDLESS
from graphrewrite.types import Dimension, Tensor

if TYPE_CHECKING:
    from graphrewrite.lowering.exchange.tensorflow.importer import Importer

__all__ = ["CONTROL_FLOW", "EmptyList", "written"]

_ATTEMPTS = 4
"""Imports of the body of a loop, until the types of the lists that it fills are known."""


@dataclass(frozen=True)
class EmptyList:
    """A list of which the shape of the elements is open until one is written.

    Attributes
    ----------
    graph : Graph
        The graph that it is in.
    element : str
        The type of its numbers.
    length : int or symbol
        Number of elements.
    """

    graph: Graph
    element: str
    length: Dimension

    def filled(self, shape: Sequence[Dimension]) -> Value:
        """Return the list with elements that are zeros."""
        zero = self.graph.constant(np.array(0), type=Tensor(self.element, ()))
        filled: Value = op.expand(zero, shape=(self.length, *shape))
        return filled


Passed = Value | EmptyList


def _loop(importer: Importer, node: Node, values: Sequence[Passed]) -> Any:
    """While: its condition is a graph of its own, computed before the first iteration and at the end of each."""
    condition, body = (importer.functions.body(node.attributes[name].name) for name in ("cond", "body"))
    if not len(values) == len(condition.parameters) == len(body.parameters) == len(body.results):
        raise Unfit(f"it passes {len(values)} values, and its body takes {len(body.parameters)}")
    given = list(values)
    (first,) = importer.called(condition, given)
    kept = [i for i, name in enumerate(body.parameters) if body.results[i] == (name, 0)]
    arrays = {i: importer.known(each) for i in kept if isinstance(each := given[i], Value)}
    fixed = {i: array for i, array in arrays.items() if array is not None and array.dtype != object}
    own = [i for i in range(len(given)) if i not in kept]
    order = [*own, *(i for i in kept if i not in fixed)]
    for _ in range(_ATTEMPTS):
        child = importer.child(node.name)
        child.graph.input(child.graph.fresh("iteration"), Tensor("i64", ()))  # TensorFlow counts for itself
        ports = {i: child.port(body.parameters[i], given[i]) for i in order}
        ports |= {i: child.graph.constant(array, type=written(given[i]).type) for i, array in fixed.items()}
        results = child.called(body, [ports[i] for i in range(len(given))])
        lists = {i: each for i in own if isinstance(each := given[i], EmptyList)}
        for i, each in lists.items():
            if isinstance(results[i], EmptyList):
                raise Unfit(
                    f"nothing is written to the list {body.parameters[i]!r}, so the shape of its elements is open"
                )
            given[i] = each.filled(written(results[i]).type.shape[1:])
        if not lists:
            break
    (again,) = child.called(condition, results)
    child.graph.output(child.graph.fresh("again"), written(again))
    for i in own:
        child.graph.output(child.graph.fresh(f"{body.parameters[i]}_next"), written(results[i]))
    attributes = {"body": child.finished(), **({"carried": len(own)} if len(own) < len(order) else {})}
    made = importer.graph.add(
        op.loop,
        [np.int64(ENDLESS), first, *(given[i] for i in order)],
        attributes,
        name=importer.graph.fresh(node.name),
    )
    ends = dict(zip(own, made if isinstance(made, tuple) else (made,), strict=True))
    return tuple(ends.get(i, given[i]) for i in range(len(given)))


def written(value: Passed) -> Value:
    """Return a value that is no empty list."""
    if isinstance(value, EmptyList):
        raise Unfit("it reads a list that nothing was written to, and the shape of its elements is open")
    return value


def _branches(importer: Importer, node: Node, values: Sequence[Passed]) -> Any:
    """If: a graph where the condition is true, and another where it is false."""
    bodies = [importer.functions.body(node.attributes[name].name) for name in ("then_branch", "else_branch")]
    condition, *given = map(written, values)
    decided = importer.known(condition)
    if decided is not None and decided.size == 1:
        return importer.called(bodies[0] if decided.item() else bodies[1], given)
    if condition.type.element != "bool":
        condition = op.cast(condition, element="bool")
    graphs = []
    for body in bodies:
        child = importer.child(node.name)
        ports = [child.port(f"value_{i}", each) for i, each in enumerate(given)]
        for i, result in enumerate(child.called(body, ports)):
            child.graph.output(child.graph.fresh(f"result_{i}"), written(result))
        graphs.append(child.finished())
    operands = [condition, *given]
    attributes = {"then": graphs[0], "otherwise": graphs[1]}
    return importer.graph.add(op.cond, operands, attributes, name=importer.graph.fresh(node.name))


# ---------------------------------------------------------------------- lists


def _reserved(importer: Importer, node: Node, values: Sequence[Passed]) -> Any:
    x = importer.operands(node, values)
    stated, (length,) = x.sizes(0) or (-1,), x.sizes(1)
    element = element_of_type(node.attributes["element_dtype"])
    found = EmptyList(importer.graph, element, length)
    return found.filled(stated) if all(not isinstance(size, int) or size >= 0 for size in stated) else found


def _of_tensor(importer: Importer, node: Node, values: Sequence[Passed]) -> Any:
    return values[0]


def _read(importer: Importer, node: Node, values: Sequence[Passed]) -> Any:
    return op.gather(written(values[0]), values[1], axis=0)


def _write(importer: Importer, node: Node, values: Sequence[Passed]) -> Any:
    whole, index, value = values
    if isinstance(whole, EmptyList):
        whole = whole.filled(written(value).type.shape)
    places = op.reshape(op.cast(index, element="i64"), shape=(1, 1))
    return op.scatter_nd(whole, places, op.unsqueeze(value, axes=(0,)))


def _stacked(importer: Importer, node: Node, values: Sequence[Passed]) -> Any:
    return written(values[0])


def _length(importer: Importer, node: Node, values: Sequence[Passed]) -> Any:
    length = values[0].length if isinstance(values[0], EmptyList) else written(values[0]).type.shape[0]
    if not isinstance(length, int):
        raise Unfit(f"the length of the list is {length}, and must be a number")
    return importer.graph.constant(np.int32(length))


CONTROL_FLOW: Mapping[str, Callable[[Importer, Node, Sequence[Passed]], Any]] = {
    "If": _branches,
    "StatelessIf": _branches,
    "StatelessWhile": _loop,
    "TensorListFromTensor": _of_tensor,
    "TensorListGetItem": _read,
    "TensorListLength": _length,
    "TensorListReserve": _reserved,
    "TensorListSetItem": _write,
    "TensorListStack": _stacked,
    "While": _loop,
}
"""What each op means, given the importer, the node and what it reads."""
