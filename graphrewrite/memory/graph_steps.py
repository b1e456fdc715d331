"""Nodes of a graph as steps: what each reads and writes, in bytes, and what it comes after."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import replace
from itertools import pairwise
from types import MappingProxyType

import networkx as nx

from graphrewrite.errors import ScheduleError, did_you_mean
from graphrewrite.graph import Graph
from graphrewrite.graph.arguments import as_graph
from graphrewrite.graph.dataflow import Operand
from graphrewrite.graph.effects import nodes_with_effects
from graphrewrite.hierarchy.graph_ops import GraphOp
from graphrewrite.memory.ordering import Schedule, order
from graphrewrite.memory.step import Step
from graphrewrite.op import constant
from graphrewrite.op.library import find_op
from graphrewrite.types import Tensor, Type, element_dtype, evaluate_size, symbols

__all__ = ["VIEWS", "bytes_of", "schedule"]

VIEWS = frozenset({"identity", "reshape", "flatten", "squeeze", "unsqueeze", "output"})
"""Ops whose result is their operand's memory, perhaps seen in another shape."""


def bytes_of(kind: Type | None, sizes: Mapping[str, int]) -> int:
    """Return the bytes of a value as numpy holds it; a size without a number counts as 1, what is no tensor nothing.

    Examples
    --------
    >>> bytes_of(Tensor("f32", ("N", 3)), {"N": 4}), bytes_of(Tensor("i4", ("N",)), {})
    (48, 1)
    """
    if not isinstance(kind, Tensor):
        return 0
    known = [evaluate_size(size, {**dict.fromkeys(symbols(size), 1), **sizes}) for size in kind.shape]
    return math.prod(max(size, 0) for size in known) * element_dtype(kind.element).itemsize


def schedule(
    graph: nx.DiGraph,
    *,
    sizes: Mapping[str, int] | None = None,
    in_place: Collection[str] = (),
    inputs: bool = False,
    cuts: int | None = None,
    as_given: bool = False,
) -> Schedule:
    r"""Return an order of the nodes of a graph in which the values that live at the same time take few bytes.

    Nodes come after what they read, after their predicates, and after the nodes that edges put before them; effects
    keep their order. A view of a value, such as `reshape`, takes no memory; at the level ``memory``, regions do, except
    those that outputs show, which are the caller's. A node that holds graphs takes what these need while it runs.
    Constants, and what follows from constants alone, take no memory here: they can be computed once, and are there
    whatever the order is.

    Parameters
    ----------
    graph : Graph or networkx.DiGraph
        A graph of any level, without cycles.
    sizes : mapping of str to int, optional
        Numbers for symbolic sizes, such as that of the batch; others count as 1.
    in_place : collection of str
        Ops whose result may overwrite an operand of the same number of bytes that nobody reads afterwards.
    inputs : bool
        Whether inputs take memory, which is free after their last reader. Otherwise they are the caller's.
    cuts : int, optional
        As of `order`.
    as_given : bool
        Whether the order stays that of ``graph.in_order()``, to see what it needs beside the lower bound.

    Returns
    -------
    Schedule
        The nodes in order, without inputs and constants, outputs last. Its spans are those of values that take memory;
        the memory of nested graphs is a further result of their node.

    Raises
    ------
    GraphError
        If there is a cycle.
    ScheduleError
        If the graph has no size of a given name.

    Examples
    --------
    >>> g = Graph.parse('''graph g
    ... a = input() : f32[2,4]
    ... b = input() : f32[100,4]
    ... twice = concat(a, a, axis=0) : f32[4,4]
    ... turned = transpose(b, axes=(1, 0)) : f32[4,100]
    ... part = slice(turned, starts=(0, 0), ends=(4, 4)) : f32[4,4]
    ... joined = concat(twice, part, axis=0) : f32[8,4]
    ... y = output(joined)''')
    >>> found = schedule(g)
    >>> found.order, found.peak, found.is_optimal
    (('turned', 'part', 'twice', 'joined', 'y'), 1664, True)
    """
    graph = as_graph(graph, "that can be scheduled")
    nodes = _Nodes(graph, _checked(graph, sizes or {}), frozenset(in_place), cuts)
    last = [node for node in graph.outputs if not graph.succ[node]]
    given, steps = {}, {}
    for node in nodes.order:
        if (kind := graph.nodes[node].get("type")) in ("input", "constant"):
            given[node] = nodes.give(node, takes_memory=inputs and kind == "input")
        elif node not in last:
            steps[node] = nodes.step(node)
    keep = [nodes.root(operand) for node in graph.outputs for operand in graph.operands(node)]
    found = order(steps, given=given, keep=keep, cuts=cuts, as_given=as_given)
    end = len(steps) + 1  # of what is kept, until after the last output
    spans = {
        value: replace(span, end=end + len(last)) if span.end == end else span for value, span in found.spans.items()
    }
    return replace(found, order=(*found.order, *last), spans=MappingProxyType(spans))


def _checked(graph: Graph, sizes: Mapping[str, int]) -> Mapping[str, int]:
    """Return numbers for sizes; refuse those that the graph does not have."""
    if sizes:
        known = _names(graph)
        for name in sizes:
            if name not in known:
                there = f"there are {', '.join(sorted(known))}" if known else "all of its sizes are numbers"
                raise ScheduleError(f"the graph has no size {name!r}{did_you_mean(name, known)} ({there})")
    return sizes


def _constants(graph: Graph, order: Iterable[str]) -> Iterator[str]:
    """Yield the nodes whose values are known before any input is."""
    found: set[str] = set()
    for node in order:
        data, sources = graph.nodes[node], graph.pred[node]
        op = find_op(data.get("type"), graph.ops)
        if op is constant or (sources and found.issuperset(sources) and op is not None and not op.has_state(data)):
            found.add(node)
            yield node


def _names(graph: Graph) -> set[str]:
    """Return the names of sizes in the types of a graph."""
    kinds = [kind for node in graph for kind in _types(graph, node) if isinstance(kind, Tensor)]
    return {name for kind in kinds for size in kind.shape for name in symbols(size)}


def _types(graph: Graph, node: str) -> tuple[Type | None, ...]:
    """Return the types of a node's results, as far as they are known."""
    found = graph.nodes[node].get("result")
    return found if isinstance(found, tuple) else (found,)


class _Nodes:
    """Nodes of a graph as steps; some values are the memory of others."""

    def __init__(self, graph: Graph, sizes: Mapping[str, int], in_place: frozenset[str], cuts: int | None) -> None:
        self.graph, self.sizes, self.in_place, self.cuts = graph, sizes, in_place, cuts
        self.order = graph.in_order()
        effects = nodes_with_effects(graph)
        in_turn = [node for node in self.order if node in effects]
        self._effects = {after: before for before, after in pairwise(in_turn)}
        self._constants = set(_constants(graph, self.order))
        self._known: dict[Type | None, int] = {}
        self._inner: dict[int, int] = {}
        self._roots: dict[Operand, Operand] = {}
        for node in self.order:
            self._place(node)
        # Regions of a program that outputs show are the caller's.
        shown = {self.root(operand).node for node in graph.outputs for operand in graph.operands(node)}
        self._outside = {node for node in shown if graph.nodes[node].get("type") == "alloc"}
        self._taken: dict[Operand, int] = {}

    def _place(self, node: str) -> None:
        """Note of which values a node's results are the memory."""
        kind, operands = self.graph.nodes[node].get("type"), self.graph.operands(node)
        op = find_op(kind, self.graph.ops)
        if kind in VIEWS and len(operands) == 1:
            self._roots[Operand(node)] = self.root(operands[0])
        elif op is not None and op.level == "memory":  # what is written comes first, and a result is what was written
            for result in range(min(len(_types(self.graph, node)), len(operands))):
                self._roots[Operand(node, result)] = self.root(operands[result])

    def root(self, value: Operand) -> Operand:
        """Return the value whose memory a value is."""
        return self._roots.get(value, value)

    def give(self, node: str, *, takes_memory: bool) -> int:
        """Return what a value that is given takes."""
        self._taken[Operand(node)] = self._results(node)[0] if takes_memory else 0
        return self._taken[Operand(node)]

    def step(self, node: str) -> Step:
        """Return a node as a step; those that it reads have been asked for before."""
        graph = self.graph
        operands, predicate = graph.operands(node), graph.predicate(node)
        reads = [self.root(operand) for operand in operands]
        before = dict.fromkeys(graph.pred[node])
        if node in self._effects:
            before[self._effects[node]] = None
        after = tuple(source for source in before if graph.nodes[source].get("type") not in ("input", "constant"))
        sizes = self._results(node)
        self._taken.update((Operand(node, result), size) for result, size in enumerate(sizes))
        may_overwrite = graph.nodes[node].get("type") in self.in_place
        over = [read for read in reads if may_overwrite and self._taken[read] == sizes[0]]
        inner = max((self._peak(body) for body in self._bodies(node)), default=0) - sum(sizes)
        if predicate is not None:
            reads.append(self.root(predicate))
        return Step(sizes if inner <= 0 else (*sizes, inner), tuple(reads), after, tuple(over))

    def _results(self, node: str) -> tuple[int, ...]:
        """Return the bytes that each result takes."""
        kinds = _types(self.graph, node)
        for kind in kinds:
            if kind not in self._known:
                self._known[kind] = bytes_of(kind, self.sizes)
        if node in self._constants or node in self._outside:
            return (0,) * len(kinds)
        return tuple(0 if Operand(node, i) in self._roots else self._known[kind] for i, kind in enumerate(kinds))

    def _bodies(self, node: str) -> Iterator[Graph]:
        """Yield the graphs that run when a node runs."""
        data = self.graph.nodes[node]
        op = self.graph.ops.get(data.get("type", ""))
        if isinstance(op, GraphOp):
            yield op.body
        yield from (value for value in data.values() if isinstance(value, Graph))

    def _peak(self, body: Graph) -> int:
        """Return what a graph takes at most, without its inputs."""
        if id(body) not in self._inner:
            sizes = {name: self.sizes[name] for name in self.sizes if name in _names(body)}
            self._inner[id(body)] = schedule(body, sizes=sizes, in_place=self.in_place, cuts=self.cuts).peak
        return self._inner[id(body)]
