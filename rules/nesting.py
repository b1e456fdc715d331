"""Graphs as nodes of graphs: their nodes in place of them, and back."""

from __future__ import annotations

import inspect
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

import networkx as nx

from graphrewrite.dataflow import Operand
from graphrewrite.edit import Edit
from graphrewrite.errors import RuleError, TypeMismatchError
from graphrewrite.explanation import Explanation
from graphrewrite.graph import Graph
from graphrewrite.nested import GraphOp, check_nesting
from graphrewrite.nested.expansion import expand
from graphrewrite.numbering import GreatestNumbers
from graphrewrite.replacement import decline
from graphrewrite.rewrite import rewrite
from graphrewrite.rule import Rule, rule

__all__ = ["Inlining", "inline", "outline"]


@dataclass(frozen=True)
class Place:
    """A node that is a graph."""

    node: str

    def __str__(self) -> str:
        return f"inline at {self.node!r}"


class Inlining:
    """A rule that puts the nodes of a graph in place of a node that is this graph, at any depth.

    A new node is called ``node.inner``. Arrays are shared, and constants that the graphs of a module share are one
    node.

    Examples
    --------
    >>> from graphrewrite import op
    >>> from graphrewrite.nested import graph_op
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

    def matches_at(self, graph: Any, node: Any, obstacle: Any = None) -> Iterator[Place]:
        """Yield the node if it is a graph."""
        if isinstance(graph, Graph) and isinstance(graph.ops.get(graph._node[node].get("type", "")), GraphOp):
            yield Place(node)

    def edit(self, graph: Any, match: Place) -> Edit:
        """Plan the rewrite of a node.

        Parameters
        ----------
        graph : Graph
            Whose node it is.
        match : Place
            The node.

        Returns
        -------
        Edit

        Raises
        ------
        GraphError
            If the node's graph contains itself, or has disappeared.
        TypeMismatchError
            If its graph has other types now than the node says.
        """
        check_nesting(graph.op(match.node).body, inside=graph)
        names = GreatestNumbers(graph._fresh.names)
        names.update(graph._fresh)
        return expand(graph, match.node, lambda stem: names.fresh(stem, graph._node))

    def enabled_by(self, graph: Any, edit: Edit) -> Iterable[Any]:
        """Return the new nodes that are graphs."""
        return [name for name, _ in edit.added if name in graph and any(self.matches_at(graph, name))]

    def find(self, graph: Graph) -> list[Place]:
        """Return every node that is a graph."""
        return [place for node in graph.in_order() for place in self.matches_at(graph, node)]

    def explain(self, graph: Graph, *, at: str) -> Explanation:
        """Say in one sentence whether a node is a graph."""
        kind = graph.nodes[graph.value(at).node].get("type")
        about: dict[str, Any] = {"rule": self, "graph": graph, "at": at}
        for match in self.matches_at(graph, at):
            told = f"inline matches at {at!r}: it is the graph {kind!r}."
            return Explanation(told, match=match, nodes=(at,), **about)
        told = f"inline does not match at {at!r}: {kind!r} is no graph."
        return Explanation(told, node=at, reason=f"{kind!r} is no graph", **about)

    def __call__(self, graph: Graph) -> Graph:
        """Return the graph with no node that is a graph; the argument is untouched."""
        return rewrite(graph, self)

    def __repr__(self) -> str:
        return "<rule inline>"


inline = Inlining()
"""Put the nodes of a graph in place of each node that is this graph."""


def outline(op: GraphOp, *, shared: str = "refuse") -> Rule:
    """Return the rule that puts a node of a graph op wherever its graph occurs.

    Constants of the graph match constants that are equal bit for bit. The rule keeps the graph as it is now.

    Parameters
    ----------
    op : GraphOp
        The graph.
    shared : {"refuse", "keep", "duplicate"}
        What becomes of a node inside that something else reads; see `graphrewrite.rule.Rule`.

    Returns
    -------
    Rule

    Raises
    ------
    RuleError
        If the graph is no pattern: nothing is computed for an output, or something for none of them, or an input is not
        used.

    Examples
    --------
    >>> from graphrewrite.nested import graph_op
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
    given_op: Any = op
    if not isinstance(given_op, GraphOp):
        raise RuleError(f"what is looked for is a graph op, not {given_op!r}; make one of a graph by graph_op(graph)")
    body = op.body.copy()  # what becomes of it does not matter to the rule
    given = [body.operands(output)[0] for output in body.outputs]
    roots = list(dict.fromkeys(given))
    _check_pattern(op, body, roots)

    def outlined(*values: Any) -> Any:
        yield _built(body, values, roots)
        fault = _misfit(op, values)
        if fault is not None:
            return decline(fault)
        made = op(*values)
        results = made if isinstance(made, tuple) else (made,)
        return tuple(results[given.index(root)] for root in roots)

    outlined.__name__ = outlined.__qualname__ = f"outline_{op.name}"
    outlined.__doc__ = f"What the graph {op.name} computes is a node of it."
    parameters = [
        inspect.Parameter(f"operand_{i}", inspect.Parameter.POSITIONAL_OR_KEYWORD) for i in range(op.required)
    ]
    outlined.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]  # as inspect looks for it
    return rule(shared=shared)(outlined)


def _check_pattern(op: GraphOp, body: Graph, roots: list[Operand]) -> None:
    """Refuse a graph that cannot be looked for."""
    check_nesting(body)
    needed = set(body.outputs)
    work = list(needed)
    while work:
        new = {source for source in body._pred[work.pop()] if source not in needed}
        needed |= new
        work += new
    for node, data in body.nodes(data=True):
        if node not in needed and data["type"] != "constant":
            raise RuleError(f"the graph {op.name!r} cannot be looked for: no output needs its {node!r}; remove that")
    for root in roots:
        kind = body.nodes[root.node]["type"]
        if kind in ("input", "constant"):
            raise RuleError(f"the graph {op.name!r} cannot be looked for: it gives its {kind} {root.node!r} as it is")
    if any("kind" in data for _, _, data in body.edges(data=True)):
        raise RuleError(f"the graph {op.name!r} cannot be looked for: it has control edges, which are no dataflow")


def _built(body: Graph, values: tuple[Any, ...], roots: list[Operand]) -> tuple[Any, ...]:
    """Build the pattern of a graph, or replay it on a match."""
    made: dict[str, tuple[Any, ...]] = {name: (value,) for name, value in zip(body.inputs, values, strict=True)}
    needed = {root.node for root in roots}.union(*(nx.ancestors(body, root.node) for root in roots))
    for node in body.in_order():
        kind = body.nodes[node]["type"]
        if node not in needed or kind == "input":
            continue
        if kind == "constant":
            made[node] = (_equal_to(body, node),)
            continue
        operands = [made[o.node][o.result] for o in body.operands(node)]
        found = body.op(node)(*operands, **body.attributes(node))
        made[node] = (found,) if body.op(node).number_of_results(body.attributes(node)) == 1 else tuple(found)
    return tuple(made[root.node][root.result] for root in roots)


def _equal_to(body: Graph, node: str) -> Any:
    """Require a constant that is equal bit for bit."""
    value, kind = body.nodes[node]["value"], body.result_type(node)

    def is_equal(found: Any) -> bool:
        return bool(
            found.is_constant
            and found.type == kind
            and found.value.dtype == value.dtype
            and found.value.tobytes() == value.tobytes()
        )

    return rule.where(is_equal, f"it is the constant {node!r} of {body.name!r}")


def _misfit(op: GraphOp, values: tuple[Any, ...]) -> str | None:
    """Say why a node of a graph op cannot read some values."""
    if all(value.is_constant for value in values):
        return "all of its operands are constants, and so is what it gives"
    if any(value.graph is op.body or value.graph.name == op.name for value in values):
        return f"it is the graph {op.name!r} itself"
    try:
        op.infer(*(value.type for value in values))
    except TypeMismatchError as error:
        return str(error)
    return None
