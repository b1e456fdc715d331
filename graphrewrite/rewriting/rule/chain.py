"""Chains: a rule, written in a line, that fuses ops which read each other into a node that is a graph."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import count
from typing import Any

from graphrewrite.errors import RuleError
from graphrewrite.graph import Graph, Operand
from graphrewrite.hierarchy.border import free_name
from graphrewrite.hierarchy.graph_ops import GraphOp, graph_op
from graphrewrite.op import LIBRARY
from graphrewrite.op.op import Op
from graphrewrite.op.other_names import did_you_mean_op
from graphrewrite.rewriting.pattern.forms import repeated
from graphrewrite.rewriting.rule.outcome import decline
from graphrewrite.rewriting.rule.replacement import Bound, Members

__all__ = ["chained"]

_LINK = re.compile(r"\s*([\w.]+(?:\s*\|\s*[\w.]+)*)\s*([?+*]?)\s*")


@dataclass(frozen=True)
class Link:
    """A link of a chain: one of some ops, which may be missing, or stand there several times in a row.

    Attributes
    ----------
    ops : tuple of Op
        The ops.
    mark : str
        ``""``, ``"?"`` for one or none, ``"+"`` for one or more, ``"*"`` for any number.
    others : str
        Name of the variable for its further operands.
    """

    ops: tuple[Op, ...]
    mark: str
    others: str

    @property
    def is_optional(self) -> bool:
        """Whether it may be missing."""
        return self.mark in ("?", "*")

    @property
    def is_repeated(self) -> bool:
        """Whether it may stand there several times."""
        return self.mark in ("+", "*")

    def on(self, value: Any, others: Any) -> Any:
        """Return the pattern of one node on top of a value, or its match."""
        apply: Any = self.ops[0]
        for op in self.ops[1:]:
            apply = apply | op
        return apply(value, *others) if self._has_others else apply(value)

    @property
    def _has_others(self) -> bool:
        return any(op.variadic or len(op.operands) > 1 for op in self.ops)

    @property
    def unit(self) -> Callable[..., Any]:
        """The unit of which a repeated link is made."""

        def unit(below: Any, *others: Any) -> Any:
            return self.on(below, others[0] if others else ())

        unit.__signature__ = _signature(["below", *([self.others] if self._has_others else [])])  # type: ignore[attr-defined]  # as inspect looks for it
        return unit

    @property
    def variables(self) -> list[str]:
        """Names of the rule's variables that it needs."""
        return [self.others] if self._has_others and not self.is_repeated else []


def _signature(names: Sequence[str]) -> inspect.Signature:
    return inspect.Signature([inspect.Parameter(name, inspect.Parameter.POSITIONAL_OR_KEYWORD) for name in names])


def chained(text: str, name: str, ops: Iterable[Op] = ()) -> Callable[..., Any]:
    """Return the function of a rule that fuses a chain; see `graphrewrite.rule.chain`."""
    if not name.isidentifier() or name in LIBRARY:
        why = "an op of the library has that name" if name in LIBRARY else "it is no identifier"
        raise RuleError(f"the node of a chain cannot be called {name!r}: {why}")
    links = _read(text, {op.name: op for op in ops})

    def fuse(x: Any, *others: Any) -> Any:
        value, top, terms, rest = x, x, [], iter(others)
        for link in links:
            if link.is_repeated:
                top = repeated(value, link.unit, least=0 if link.mark == "*" else 1)
                value = top
            else:
                top = link.on(value, next(rest) if link.variables else ())
                value = top | value if link.is_optional else top
            terms.append(top)
        yield value
        nodes = [node for term in terms for node in _nodes(term)]
        return _fused(nodes, name)

    fuse.__name__ = fuse.__qualname__ = f"fuse_{name}"
    fuse.__doc__ = f"{text.strip()}: one node, {name}."
    fuse.__signature__ = _signature(["x", *(v for link in links for v in link.variables)])  # type: ignore[attr-defined]  # as inspect looks for it
    return fuse


def _read(text: str, own: Mapping[str, Op]) -> list[Link]:
    """Return the links that a text writes."""
    links = []
    for number, part in enumerate(str(text).split("->"), start=1):
        found = _LINK.fullmatch(part)
        if found is None:
            raise RuleError(
                f"cannot read {part.strip()!r} in the chain {text!r}; write ops with -> between them, a | b for one of "
                "two, and after it ? for one that may be missing, + or * for several in a row"
            )
        names = [name.strip() for name in found[1].split("|")]
        links.append(Link(tuple(_op(name, own, text) for name in names), found[2], f"others_{number}"))
    if links[-1].is_optional:
        raise RuleError(
            f"the last link of the chain {text!r} may be missing; write two chains, and Pipeline(longer, shorter)"
        )
    return links


def _op(name: str, own: Mapping[str, Op], text: str) -> Op:
    op = own.get(name) or LIBRARY.get(name)
    if op is None:
        raise RuleError(f"unknown op {name!r} in the chain {text!r}{did_you_mean_op(name, own)}")
    if op.results != 1 or not op.operands:
        raise RuleError(f"{name!r} cannot stand in a chain: its ops have operands and one result")
    return op


def _nodes(term: Any) -> list[Bound]:
    """Return the matched nodes of a term, lowest first; none if it is not there."""
    if isinstance(term, Members):
        return list(term.nodes)
    return [term] if isinstance(term, Bound) else []


def _fused(nodes: Sequence[Bound], stem: str) -> Any:
    """Return a node of the graph op that the nodes are; all that they read from outside are its operands."""
    graph, replay = nodes[0].graph, nodes[0].replay
    if graph.name == stem:
        return decline(f"it is the graph {stem!r} itself")
    if any("kind" in data for node in nodes for data in graph._pred[node.node].values()):
        return decline("a control edge leads to one of its nodes")
    body = Graph(stem, ops=graph.ops.values())
    renamed: dict[Operand, Operand] = {}
    for node in nodes:
        op, name = node.op, body.fresh(node.op_name)
        reads = graph.operands(node.node)
        for slot, operand in enumerate(reads):
            if operand not in renamed:
                label = op.operands[min(slot, len(op.operands) - 1)] if renamed else "x"
                own = free_name(label if not renamed else f"{name}_{label}", body)
                renamed[operand] = Operand(body.input(own, graph.result_type(*operand)).node)
        body._new(name, {**graph._node[node.node], "origin": ()})
        for slot, operand in enumerate(reads):
            source = renamed[operand]
            body._connect(source.node, name, slot, source.result)
        renamed[Operand(node.node)] = Operand(name)
    body.output("y", body.value(*renamed[Operand(nodes[-1].node)]))
    inside = {node.node for node in nodes}
    outside = [replay.bound(operand) for operand in renamed if operand.node not in inside]
    if all(value.is_constant for value in outside):
        return decline("all that it reads are constants, and so is its result")
    # Annotations are in the block, from which `inline` takes them; its node has what holds for all of it.
    (backend, *others) = {node.annotations.get("backend") for node in nodes}
    annotations = {} if others or backend is None else {"backend": backend}
    return _op_of(body, graph, stem)(*outside, annotations=annotations)


def _op_of(body: Graph, graph: Graph, stem: str) -> GraphOp:
    """Return the graph op for a body: one that the graph has, or a new one of the first name that is free."""
    body.ops = {kind: op for kind, op in body.ops.items() if any(d.get("type") == kind for d in body._node.values())}
    for number in count(1):
        body.name = stem if number == 1 else f"{stem}_{number}"
        there = graph.ops.get(body.name)
        if there is None and body.name not in LIBRARY:
            return graph_op(body)
        if isinstance(there, GraphOp) and there.body == body:
            return there
    raise AssertionError("numbers do not end")
