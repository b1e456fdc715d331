"""A graph before it is differentiated: parameters as inputs, axes in the order of the ops, composites written out."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable
from typing import Any

from graphrewrite import Graph, Pass, Rule, op, rewrite
from graphrewrite.graph.rewiring import inherit
from graphrewrite.learning.errors import DifferentiationError
from graphrewrite.learning.losses import TRAINING_FORMS
from graphrewrite.lowering.composite import LOWER_COMPOSITE, LOWER_QUANTISED, LOWER_REPETITIONS, lowered_ops
from graphrewrite.op import Op
from graphrewrite.rules import eliminate_dead_nodes, inline

__all__ = ["COMPOSITES", "constants_again", "differentiated_ops", "prepared", "written_out"]

_KEPT = (*LOWER_QUANTISED, *LOWER_REPETITIONS)
COMPOSITES = (*TRAINING_FORMS, *(member for member in LOWER_COMPOSITE if member not in _KEPT))
"""Rules that write composite ops out, losses too; not those of quantised numbers, whose rounding has no slope, nor of
borders and repetitions, which have one."""


def differentiated_ops(rules: Iterable[Rule | Pass]) -> frozenset[str]:
    """Return the names of the products, `Op.vjp`, that rules have a gradient for."""
    return frozenset().union(*(rule.definition.root_kinds or () for rule in rules if isinstance(rule, Rule)))


def prepared(graph: Graph, parameters: Collection[str]) -> Graph:
    """Return a graph without nested graphs and axis names, some of whose constants are its last inputs.

    As inputs they keep their names, and no rule computes anything of them beforehand.
    """
    if any("kind" in data for _, _, data in graph.edges(data=True)):
        raise DifferentiationError(
            f"the graph {graph.name!r} orders nodes by effects or predicates; take out what has no gradient first"
        )
    flat = rewrite(graph, inline)
    assert isinstance(flat, Graph)
    new = Graph(flat.name, ops=flat.ops.values())
    values = _Values(flat.copy(), new)
    for name in (*flat.inputs, *parameters):
        values.put(name, values.bare(new.input(name, flat.result_type(name))))
    outputs = {*flat.outputs}
    for node in flat.in_order():
        if node not in new and node not in outputs:
            values.put(node, _plain(values, node))
    for name in flat.outputs:
        (operand,), (value,) = flat.operands(name), values.of(name)
        kind = flat.result_type(*operand)
        layout = getattr(kind, "layout", None)
        new.output(name, values.beside(op.name_axes, value, layout=layout) if layout else value)
    return new


class _Values:
    """The values of a new graph that stand for those of an old one."""

    def __init__(self, graph: Graph, new: Graph) -> None:
        self.graph, self.new = graph, new
        self.found: dict[Any, Any] = {}

    def put(self, node: str, made: Any) -> None:
        """Let values stand for the results of a node, which hands on its annotations."""
        for result, value in enumerate(made if isinstance(made, tuple) else (made,)):
            self.found[node, result] = value
        if node in self.new:
            inherit(self.new, node, node, of=self.graph)

    def of(self, node: str) -> list[Any]:
        """Return what a node reads."""
        return [self.found[source.node, source.result] for source in self.graph.operands(node)]

    def beside(self, kind: Op, value: Any, **attributes: Any) -> Any:
        """Add a node that stands for none of the old graph, and has the name of none."""
        return self.new.add(kind, [value], attributes, name=self.graph.fresh(kind.name))

    def bare(self, value: Any) -> Any:
        """Return a value without names of its axes."""
        named = getattr(value.type, "layout", None) is not None
        return self.beside(op.name_axes, value, layout=None) if named else value


def _plain(values: _Values, node: str) -> Any:
    """Add a node whose operands have no axis names: with transposes around it, where their names meant an order."""
    graph, new = values.graph, values.new
    data, node_op, origin = graph.nodes[node], graph.op(node), graph.origin(node)
    if data["type"] == "constant":
        return values.bare(new.constant(data["value"], name=node, type=graph.result_type(node), origin=origin))
    operands = values.of(node)
    if data["type"] == "name_axes":
        return operands[0]
    order = node_op.arrangement([graph.result_type(*source) for source in graph.operands(node)])
    if order is not None:
        operands[0] = values.beside(op.transpose, operands[0], perm=order.operand)
    made = new.add(node_op, operands, graph.attributes(node), name=node, origin=origin)
    if order is None:
        return made
    results = made if isinstance(made, tuple) else (made,)
    return tuple(values.beside(op.transpose, each, perm=order.result) for each in results)


def written_out(graph: Graph, needed: Callable[[Graph], Collection[str]], known: Collection[str]) -> Graph:
    """Return a graph whose composite ops are written as others as long as some are needed that have no gradient."""
    while True:
        missing = {name for name in needed(graph) if f"vjp_{name}" not in known}
        members = [member for member in COMPOSITES if lowered_ops(member) & missing]
        if not members:
            return graph
        new = rewrite(graph, (*members, eliminate_dead_nodes))
        assert isinstance(new, Graph)
        if new.equals(graph):
            return graph
        graph = new


def constants_again(graph: Graph, before: Graph, parameters: Collection[str]) -> Graph:
    """Return a graph some of whose inputs are the constants of another one; what is shared with a module stays so."""
    new = Graph(graph.name, ops=graph.ops.values())
    values = _Values(graph, new)
    for name in graph.inputs:
        if name in parameters:
            value = before.nodes[name]["value"]
            made = new.constant(value, name=name, type=before.result_type(name), origin=before.origin(name))
            values.put(name, made)
            inherit(new, name, name, of=before)
        else:
            values.put(name, new.input(name, graph.result_type(name)))
        if "shared" in before.nodes[name]:
            new.nodes[name]["shared"] = before.nodes[name]["shared"]
    outputs = {*graph.outputs}
    for node in graph.in_order():
        if node in new or node in outputs:
            continue
        if graph.nodes[node]["type"] == "constant":
            value = graph.nodes[node]["value"]
            values.put(node, new.constant(value, name=node, type=graph.result_type(node), origin=graph.origin(node)))
        else:
            attributes = graph.attributes(node)
            made = new.add(graph.op(node), values.of(node), attributes, name=node, origin=graph.origin(node))
            values.put(node, made)
    for name in graph.outputs:
        new.output(name, *values.of(name))
        inherit(new, name, name, of=graph)
    return new
