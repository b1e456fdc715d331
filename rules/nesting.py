"""Nested graphs: inlining a node that is a graph, and outlining a graph's occurrences."""

from __future__ import annotations

import inspect
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

from graphrewrite.errors import RuleError, TypeMismatchError
from graphrewrite.graph import Graph
from graphrewrite.graph.edit import Edit
from graphrewrite.graph.fresh_names import GreatestNumbers
from graphrewrite.hierarchy.expansion import expand
from graphrewrite.hierarchy.graph_ops import GraphOp, check_nesting
from graphrewrite.hierarchy.implementations import graph_op_of
from graphrewrite.rewriting.engine.entry import rewrite
from graphrewrite.rewriting.rule.declaration import Rule
from graphrewrite.rewriting.rule.example import check_example, pattern_of, roots_of
from graphrewrite.rewriting.rule.explanation import Explanation
from graphrewrite.rewriting.rule.language import rule
from graphrewrite.rewriting.rule.outcome import decline

__all__ = ["Inlining", "inline", "outline"]


@dataclass(frozen=True)
class GraphNode:
    """A node that is a graph."""

    node: str

    def __str__(self) -> str:
        return f"inline at {self.node!r}"


class Inlining:
    """A rule that inlines nodes that are graphs, or that graphs of their module implement, at any depth.

    A new node has the name ``node.inner``. Arrays are shared, and constants that the graphs of a module share become
    one node.

    Examples
    --------
    >>> from graphrewrite import op
    >>> from graphrewrite.hierarchy.graph_ops import graph_op
    >>> block = Graph.parse('''graph block
    ... x = input() : f32[N]
    ... r = relu(x)
    ... y = output(r)''')
    >>> g = Graph.parse("graph g" + chr(10) + "x = input() : f32[8]")
    >>> _ = g.output("y", graph_op(block)(-g.value("x")))
    >>> print(rewrite(g, inline))
    graph g
    x = input() : f32[8]
    neg_1 = neg(x) : f32[8]
    block_1.r = relu(neg_1) : f32[8]
    y = output(block_1.r)
    """

    name = "inline"
    keeps = "exact"
    file: str = __file__
    line = 0
    kinds: frozenset[str] | None = None
    radius: int | None = 0

    def matches_at(self, graph: Any, node: Any, obstacle: Any = None) -> Iterator[GraphNode]:
        """Yield the node if it is a graph."""
        if isinstance(graph, Graph) and graph_op_of(graph, node) is not None:
            yield GraphNode(node)

    def edit(self, graph: Any, match: GraphNode) -> Edit:
        """Plan the rewrite of a node."""
        op = graph_op_of(graph, match.node)
        if op is not None:
            check_nesting(op.body, inside=graph)
        names = GreatestNumbers(graph._fresh.names)
        names.update(graph._fresh)
        return expand(graph, match.node, lambda stem: names.fresh(stem, graph._node))

    def enabled_by(self, graph: Any, edit: Edit) -> Iterable[Any]:
        """Return the new nodes that are graphs."""
        return [name for name, _ in edit.added if name in graph and any(self.matches_at(graph, name))]

    def find(self, graph: Graph) -> list[GraphNode]:
        """Return every node that is a graph."""
        return [match for node in graph.in_order() for match in self.matches_at(graph, node)]

    def explain(self, graph: Graph, *, at: str) -> Explanation:
        """Say in one sentence whether a node is a graph."""
        kind = graph.nodes[graph.value(at).node].get("type")
        about: dict[str, Any] = {"rule": self, "graph": graph, "at": at}
        for match in self.matches_at(graph, at):
            op = graph_op_of(graph, at)
            message = f"inline matches at {at!r}: it is the graph {kind if op is None else op.name!r}."
            return Explanation(message, match=match, nodes=(at,), **about)
        message = f"inline does not match at {at!r}: {kind!r} is no graph."
        return Explanation(message, node=at, reason=f"{kind!r} is no graph", **about)

    def __call__(self, graph: Graph) -> Graph:
        """Return a copy of the graph in which no node is a graph."""
        return rewrite(graph, self)

    def __repr__(self) -> str:
        return "<rule inline>"


inline = Inlining()
"""Inline each node that is a graph."""


def outline(op: GraphOp, *, shared: str = "refuse") -> Rule:
    """Return the rule that puts a node of a graph op wherever its graph occurs.

    Constants of the graph match constants that are equal bit for bit. The rule keeps a copy of the graph.

    Parameters
    ----------
    op : GraphOp
        The graph.
    shared : {"refuse", "keep", "duplicate"}
        The treatment of a node inside that something else reads; see `graphrewrite.Rule`.

    Raises
    ------
    RuleError
        If the graph is no pattern: nothing is computed for an output, or something for none of them, or an input is not
        used.

    Examples
    --------
    >>> from graphrewrite.hierarchy.graph_ops import graph_op
    >>> block = Graph.parse('''graph block
    ... x = input() : f32[N]
    ... r = relu(x)
    ... y = output(r)''')
    >>> g = Graph.parse('''graph g
    ... x = input() : f32[8]
    ... n = neg(x)
    ... r = relu(n)
    ... y = output(r)''')
    >>> print(rewrite(g, outline(graph_op(block))).operands("y"))
    (Operand(node='block_1', result=0),)
    """
    if not isinstance(op, GraphOp):
        raise RuleError(f"the pattern is a graph op, got {op!r}; make one of a graph by graph_op(graph)")
    body = op.body.copy()  # what becomes of it does not matter to the rule
    # Two outputs may be one value: the pattern has one root for it, the node two results.
    outputs = [body.operands(output)[0] for output in body.outputs]
    roots = roots_of(body)
    check_example(body, roots, f"graph {op.name!r}")

    def outlined(*values: Any) -> Any:
        yield pattern_of(body, values, roots)
        fault = _misfit(op, values)
        if fault is not None:
            return decline(fault)
        call = op(*values)
        results = call if isinstance(call, tuple) else (call,)
        return tuple(results[outputs.index(root)] for root in roots)

    outlined.__name__ = outlined.__qualname__ = f"outline_{op.name}"
    outlined.__doc__ = f"The nodes of the graph {op.name} are one node that is this graph."
    parameters = [
        inspect.Parameter(f"operand_{i}", inspect.Parameter.POSITIONAL_OR_KEYWORD) for i in range(op.required)
    ]
    outlined.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]  # as inspect looks for it
    return rule(shared=shared)(outlined)


def _misfit(op: GraphOp, values: tuple[Any, ...]) -> str | None:
    """Return why a node of a graph op cannot read some values, or None."""
    if all(value.is_constant for value in values):
        return "all of its operands are constants, and so is its result"
    if any(value.graph is op.body or value.graph.name == op.name for value in values):
        return f"it is the graph {op.name!r} itself"
    try:
        op.infer(*(value.type for value in values))
    except TypeMismatchError as error:
        return str(error)
    graph, images = values[0].graph, values[0].replay.images
    computed = [n for n in images if isinstance(n, str) and graph.nodes[n]["type"] != "constant"]
    if len(backends := {graph.annotations(node).get("backend") for node in computed}) > 1:
        return f"its nodes run on several backends ({', '.join(sorted(map(str, backends)))}), and a node on one"
    return None
