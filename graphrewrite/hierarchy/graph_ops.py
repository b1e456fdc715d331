"""Graph ops: graphs that are nodes of other graphs."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from copy import deepcopy
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any, NamedTuple

import numpy as np

from graphrewrite import op as ops
from graphrewrite.errors import GraphError, UnknownGraphError, UnknownOpError, did_you_mean
from graphrewrite.graph import Graph
from graphrewrite.hierarchy.bound_sizes import output_types
from graphrewrite.op.named_operands import own_positions
from graphrewrite.op.op import Op
from graphrewrite.types import Type

__all__ = [
    "Facts",
    "GraphOp",
    "check_nesting",
    "facts_of",
    "graph_op",
    "graphs_in",
    "innermost_first",
    "nested_graphs",
    "nested_once",
    "nested_ops",
]


class GraphOp(Op):
    """A graph of a library as an op; made by `graph_op`, or by `graphrewrite.hierarchy.module.Module.op`.

    The graph is looked up on each use, so that changes of it take effect at once. The op computes on arrays, adds a
    node on values of a graph, and is a pattern on variables of a rule.

    Parameters
    ----------
    name : str
        Name of the graph; the ``type`` of its nodes.
    library : mapping of str to Graph
        Contains the graph, such as a module.

    Raises
    ------
    GraphError
        If the name is empty, or an op of the library has the same name.
    UnknownGraphError
        If there is no such graph.

    Examples
    --------
    >>> from graphrewrite import Tensor, op
    >>> block = Graph("block")
    >>> _ = block.output("y", op.relu(-block.input("x", Tensor("f32", ("N", 2)))))
    >>> block_op = GraphOp("block", {"block": block})
    >>> block_op.operands, block_op.results
    (('x',), 1)
    """

    library: Mapping[str, Graph]
    variadic = False  # the number of inputs of a graph is fixed
    attributes: Mapping[str, Any] = MappingProxyType({})
    neutral = forms = derived = attributes  # views of nodes have the names of the inputs only
    operand_positions = property(own_positions)  # not remembered, since the graph may change

    def __init__(self, name: str, library: Mapping[str, Graph]) -> None:
        if not name or name in ops.LIBRARY:
            reason = "an op of the library has the same name" if name else "it has no name"
            raise GraphError(f"the graph {name!r} cannot be an op: {reason}; rename the graph")
        object.__setattr__(self, "name", name)
        object.__setattr__(self, "library", library)
        _ = self.body

    @property
    def body(self) -> Graph:
        """The graph."""
        graph = self.library.get(self.name)
        if graph is None:
            hint = did_you_mean(self.name, self.library)
            raise UnknownGraphError(
                f"there is no graph {self.name!r} in its library{hint}; add it, or replace its nodes"
            )
        return graph

    @property
    def operands(self) -> tuple[str, ...]:
        """Names of the graph's inputs."""
        return self.body.inputs

    @property
    def doc(self) -> str:
        """What the op is, and the types of its operands."""
        types = "\n".join(f"{name}\n    {self.body.result_type(name)}." for name in self.operands)
        return f"The graph {self.name!r} as an op.\n\nParameters\n----------\n{types}\n"

    @property
    def required(self) -> int:
        """The number of inputs of the graph; all are required."""
        return len(self.body.inputs)

    @property
    def results(self) -> int:
        """The number of outputs of the graph."""
        return len(self.body.outputs)

    @property
    def stateful(self) -> bool:
        """Whether any op in it has a state or an effect."""
        return _facts(self.body).state

    @property
    def effects(self) -> bool:
        """Whether any op in it has an effect."""
        return _facts(self.body).effects

    @property
    def level(self) -> str:
        """The lowest level of the ops in it."""
        levels = _facts(self.body).levels
        return next((level for level in ("stream", "integer", "generic") if level in levels), "nn")

    @property
    def infer_types(self) -> Callable[..., tuple[Type, ...]]:
        """The function from operand types to result types."""
        return self._infer

    @property
    def function(self) -> Callable[..., Any]:
        """The function that computes the graph on arrays."""
        return self._compute

    def result_types(self, types: tuple[Type, ...], attributes: Mapping[str, Any]) -> tuple[Type, ...]:
        """Return the result types, uncached since the graph may change."""
        return self.infer(*types, **attributes)

    def stands_for(self, other: Op) -> bool:
        """Tell whether another op is the same graph, or an equal one."""
        return isinstance(other, GraphOp) and (self.body is other.body or self.body == other.body)

    def enter(self, graph: Graph) -> None:
        """Raise if the graph contains the graph that is to get a node of it."""
        check_nesting(self.body, inside=graph)

    def _infer(self, *types: Type) -> tuple[Type, ...]:
        return output_types(self.body, types)

    def _compute(self, *arrays: Any) -> Any:
        from graphrewrite.hierarchy.expansion import flatten  # the expansion of graph ops is built on them

        body = self.body
        try:
            values = flatten(body).evaluate(*map(np.asarray, arrays), implementations=None)
        except UnknownOpError as error:
            raise UnknownOpError(f"in the graph {self.name!r}: {error}") from None
        results = tuple(values[output] for output in body.outputs)
        return results[0] if len(results) == 1 else results

    def _own_body(self) -> Graph | None:
        """Return the graph; None if it is missing, or in a module, which copies and pickles its graphs itself."""
        return self.library.get(self.name) if isinstance(self.library, dict) else None

    def __eq__(self, other: object) -> bool:
        return isinstance(other, GraphOp) and self.name == other.name and self.library is other.library

    def __hash__(self) -> int:
        return hash((self.name, id(self.library)))

    def __deepcopy__(self, memo: dict[int, Any]) -> GraphOp:
        copied = memo.get(id(self))
        if copied is None:
            copied = memo[id(self)] = _blank()
            for each in () if (body := self._own_body()) is None or id(body) in memo else innermost_first(body):
                deepcopy(each, memo)  # inner graphs first, so that no depth of nesting recurses
            object.__setattr__(copied, "name", self.name)
            object.__setattr__(copied, "library", deepcopy(self.library, memo))
        return copied

    def __reduce__(self) -> Any:
        # Pickle nested graphs first, inner ones before outer ones, so that no depth of nesting recurses; and pickle the
        # object before its library: a module may refer back to it.
        first = () if (body := self._own_body()) is None else tuple(innermost_first(body))
        return _blank, first, {"name": self.name, "library": self.library}


def _blank(*_: Graph) -> GraphOp:
    return GraphOp.__new__(GraphOp)


def graph_op(graph: Graph) -> GraphOp:
    """Return a graph as an op of its own name.

    Parameters
    ----------
    graph : Graph
        A named graph; its inputs are the op's operands, its outputs the results.

    Raises
    ------
    GraphError
        If the graph has no name, or that of an op of the library.

    Examples
    --------
    >>> import numpy as np
    >>> from graphrewrite import Tensor, op
    >>> block = Graph("block")
    >>> _ = block.output("y", op.relu(-block.input("x", Tensor("f32", ("N", 2)))))
    >>> g = Graph("g")
    >>> _ = g.output("y", graph_op(block)(g.input("x", Tensor("f32", (3, 2)))))
    >>> print(g.op("block_1").name, g.result_type("block_1"))
    block f32[3,2]
    >>> graph_op(block)(np.array([[-1.0, 2.0]])).tolist()
    [[1.0, 0.0]]
    """
    thing: Any = graph
    if not isinstance(thing, Graph):
        raise GraphError(f"only a Graph can be an op, got {thing!r}")
    return GraphOp(graph.name, {graph.name: graph})


def nested_ops(graph: Graph) -> tuple[GraphOp, ...]:
    """Return the graph ops of a graph's nodes, sorted by name."""
    if not any(isinstance(found, GraphOp) for found in graph.ops.values()):
        return ()
    kinds = {kind for data in graph._node.values() if isinstance(kind := data.get("type"), str)}
    return tuple(op for kind in sorted(kinds) if isinstance(op := graph.ops.get(kind), GraphOp))


def nested_graphs(graph: Graph) -> Iterator[Graph]:
    r"""Yield a graph and those nested in it, at any depth: the graphs of graph ops, and bodies of nodes.

    Examples
    --------
    >>> g = Graph.parse("graph g\nx = input() : f32[N]\ny = output(x)")
    >>> [each.name for each in nested_graphs(g)]
    ['g']
    """
    seen, work = {id(graph)}, [graph]
    for each in work:  # grows as it goes
        yield each
        for inner in graphs_in(each):
            if id(inner) not in seen:
                seen.add(id(inner))
                work.append(inner)


def innermost_first(graph: Graph, seen: set[int] | None = None) -> Iterator[Graph]:
    r"""Yield the graphs nested in a graph, at any depth, after those nested in them, and last the graph itself.

    Graphs whose identity is in `seen` are skipped; those that are met are added.

    Examples
    --------
    >>> g = Graph.parse("graph g\nx = input() : f32[N]\ny = output(x)")
    >>> [each.name for each in innermost_first(g)]
    ['g']
    """
    met = set() if seen is None else seen
    path = [] if id(graph) in met else [(graph, graphs_in(graph))]
    met.add(id(graph))
    while path:
        current, below = path[-1]
        inner = next((each for each in below if id(each) not in met), None)
        if inner is None:
            path.pop()
            yield current
        else:
            met.add(id(inner))
            path.append((inner, graphs_in(inner)))


def graphs_in(graph: Graph) -> Iterator[Graph]:
    r"""Yield the graphs in a graph's nodes; graphs that are missing from a library are reported elsewhere.

    Examples
    --------
    >>> list(graphs_in(Graph.parse("graph g\nx = input() : f32[N]\ny = output(x)")))
    []
    """
    yield from (body for op in nested_ops(graph) if (body := op.library.get(op.name)) is not None)
    yield from (body for _, _, body in graph.bodies())


@dataclass
class _Known:
    """What is known of graphs that do not change for now: levels and state of the ops in them, and that nesting ends.

    Graphs are held too, which keeps their identities from being reused.
    """

    facts: dict[int, tuple[Facts, Graph]] = field(default_factory=dict)
    sound: dict[int, Graph] = field(default_factory=dict)


_KNOWN: ContextVar[_Known | None] = ContextVar("known", default=None)


@contextmanager
def nested_once() -> Iterator[None]:
    """Examine each nested graph once, however often it is asked about; nested graphs must not change meanwhile."""
    token = _KNOWN.set(_KNOWN.get() or _Known())
    try:
        yield
    finally:
        _KNOWN.reset(token)


def facts_of(graph: Graph) -> Facts:
    r"""Return the facts of a graph.

    Examples
    --------
    >>> facts_of(Graph.parse("graph g\nx = input() : f32[N]\ny = output(x)")).state
    False
    """
    return _facts_of(graph, [_facts(each) for each in graphs_in(graph)])


class Facts(NamedTuple):
    """The levels of the known ops in a graph and those nested in it, and whether any has a state, or an effect."""

    levels: frozenset[str]
    state: bool
    effects: bool


def _facts(graph: Graph) -> Facts:
    """Return the facts of a nested graph, which are kept as long as nested graphs do not change."""
    facts = (_KNOWN.get() or _Known()).facts
    for each in () if id(graph) in facts else innermost_first(graph, set(facts)):
        inner = [facts[id(body)][0] for body in graphs_in(each) if id(body) in facts]
        facts[id(each)] = _facts_of(each, inner), each
    return facts[id(graph)][0]


def _facts_of(graph: Graph, inner: list[Facts]) -> Facts:
    """Return the facts of a graph, given those of the graphs in it."""
    found = [ops.find_op(kind, graph.ops) for kind in {data.get("type") for data in graph._node.values()}]
    own = [op for op in found if op is not None and not isinstance(op, GraphOp)]
    levels = frozenset(op.level for op in own).union(*(each.levels for each in inner))
    state = any(op.stateful for op in own) or any(each.state for each in inner)
    return Facts(levels, state, any(op.effects for op in own) or any(each.effects for each in inner))


def check_nesting(graph: Graph, *, inside: Graph | None = None) -> None:
    """Raise if a graph contains itself, directly or through nested graphs, or would if it became a node of `inside`.

    Examples
    --------
    >>> from graphrewrite import Tensor
    >>> g = Graph("g")
    >>> x = g.input("x", Tensor("f32", ("N",)))
    >>> _ = g.output("y", x)
    >>> graph_op(g)(x)
    Traceback (most recent call last):
    ...
    graphrewrite.errors.GraphError: the graph 'g' would contain itself: g -> g; ...
    """
    known = _KNOWN.get()
    if known is not None and id(graph) in known.sound:
        return  # the graph that it is to become a node of is changing, and so is none of those that are known
    # Depth-first, with the path of open graphs: one that comes up again on it contains itself.
    path: list[tuple[str, Graph, Iterator[Graph]]] = []
    if inside is not None:
        path.append((inside.name, inside, iter(())))
    path.append((graph.name, graph, graphs_in(graph)))
    on_path = {id(entry[1]) for entry in path}
    if len(on_path) < len(path):
        raise _cycle([inside.name, graph.name] if inside is not None else [])
    done = {} if known is None else known.sound
    while path:
        _, current, below = path[-1]
        for body in below:
            if id(body) in done:
                continue
            if id(body) in on_path:
                start = next(i for i, entry in enumerate(path) if entry[1] is body)
                raise _cycle([*(name for name, _, _ in path[start:]), body.name])
            on_path.add(id(body))
            path.append((body.name, body, graphs_in(body)))
            break
        else:
            path.pop()
            on_path.discard(id(current))
            if current is not inside:
                done[id(current)] = current


def _cycle(names: list[str]) -> GraphError:
    shown = " -> ".join(name or "(no name)" for name in names)
    return GraphError(
        f"the graph {names[0]!r} would contain itself: {shown}; copy its nodes for each repetition, or remove the node"
    )
