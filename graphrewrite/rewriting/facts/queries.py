"""Queries of a node's surroundings: who makes what it reads, who reads it, how far, and what all ways lead through.

The engine follows them: what a rule has looked at for a node is noted, and where an edit touches it, the node is looked
at again.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, Generic, ParamSpec, TypeVar

from graphrewrite.errors import RuleError
from graphrewrite.rewriting.facts.observation import observer_of

__all__ = ["Query", "distance", "dominators", "looked_at", "producers", "readers_of"]

P = ParamSpec("P")
R = TypeVar("R")


class Query(Generic[P, R]):
    """A function that looks at the graph around a matched value; the engine follows what it looks at."""

    looks_around = True

    def __init__(self, function: Callable[P, R]) -> None:
        self.function, self.__doc__, self.__name__ = function, function.__doc__, function.__name__
        self.__module__, self.__wrapped__ = function.__module__, function

    def __call__(self, *arguments: P.args, **options: P.kwargs) -> R:
        """Return what the function does."""
        return self.function(*arguments, **options)

    def __repr__(self) -> str:
        return f"<query {self.__name__}>"


def _site(value: Any) -> tuple[Any, Any]:
    """Return the graph and the node of a matched value."""
    try:
        return value.graph, value.node
    except AttributeError:
        raise RuleError(f"{value!r} has no surroundings: only what is matched stands in the graph") from None


def looked_at(graph: Any, node: Any) -> Any:
    """Return a node, noted as one on which a match depends."""
    observer = observer_of(graph)
    if observer is not None:
        observer.look_at(node)
    return node


def _sources(graph: Any, node: Any) -> tuple[str, ...]:
    """Return the nodes that a node reads, in the order of its operands, each once."""
    return tuple(dict.fromkeys(operand.node for operand in graph.operands(looked_at(graph, node))))


@Query
def producers(value: Any) -> tuple[str, ...]:
    """Return the nodes that give the operands of a matched node, in their order, each once.

    Examples
    --------
    >>> from graphrewrite import Graph, op, rule
    >>> @rule
    ... def drop_relu_of_exponential(x):
    ...     yield op.relu(x)
    ...     return rule.decline(f"it reads {producers(x)}", at=x)
    >>> g = Graph.parse('''graph g
    ... x = input() : f32[N]
    ... m = mul(x, x)
    ... r = relu(m)
    ... y = output(r)''')
    >>> print(drop_relu_of_exponential.explain(g, at="r"))
    drop_relu_of_exponential does not match at 'r': 'm' declined: it reads ('x',).
    """
    return _sources(*_site(value))


@Query
def readers_of(value: Any) -> tuple[str, ...]:
    r"""Return the nodes that read a matched node, by name.

    Examples
    --------
    >>> from graphrewrite import Graph
    >>> g = Graph.parse("graph g\nx = input() : f32[N]\na = relu(x)\nb = neg(x)\ny = output(a)\nz = output(b)")
    >>> readers_of(g.value("x"))
    ('a', 'b')
    """
    graph, node = _site(value)
    return tuple(sorted(graph._succ[looked_at(graph, node)], key=str))


@Query
def distance(value: Any, other: Any, *, most: int | None = None) -> int | None:
    r"""Return the least number of edges from a matched node down to one that it depends on; None if there is none.

    Parameters
    ----------
    value, other : matched node or value
        The upper and the lower one.
    most : int, optional
        No way that is longer is looked for.

    Examples
    --------
    >>> from graphrewrite import Graph
    >>> g = Graph.parse("graph g\nx = input() : f32[N]\na = relu(x)\nb = neg(a)\ny = output(b)")
    >>> distance(g.value("b"), g.value("x")), distance(g.value("x"), g.value("b"))
    (2, None)
    >>> distance(g.value("b"), g.value("x"), most=1), distance(g.value("b"), g.value("x"), most=2)
    (None, 2)
    """
    graph, node = _site(value)
    _, wanted = _site(other)
    for steps, found in _layers(graph, node):
        if most is not None and steps > most:
            return None
        if found == wanted:
            return steps
    return None


def _layers(graph: Any, node: Any) -> Iterator[tuple[int, Any]]:
    """Yield the nodes that a node depends on, the nearest first, each with its distance."""
    seen, layer, steps = {node}, [node], 0
    while layer:
        for each in layer:
            yield steps, each
        following: dict[Any, None] = {}
        for each in layer:
            following.update((source, None) for source in _sources(graph, each) if source not in seen)
        seen.update(following)
        layer, steps = list(following), steps + 1


@Query
def dominators(value: Any) -> tuple[str, ...]:
    """Return the nodes through which all ways from inputs and constants to a matched node lead, itself first.

    Examples
    --------
    >>> from graphrewrite import Graph
    >>> g = Graph.parse('''graph g
    ... x = input() : f32[N]
    ... t = tanh(x)
    ... a = relu(t)
    ... b = neg(t)
    ... s = add(a, b)
    ... y = output(s)''')
    >>> dominators(g.value("s"))
    ('s', 't', 'x')
    """
    graph, node = _site(value)
    below = {each: _sources(graph, each) for _, each in _layers(graph, node)}
    # Operands first: what all ways to a node lead through is what those to all of its operands do, and itself.
    order: list[Any] = []
    done: set[Any] = set()
    work = [node]
    while work:
        each = work[-1]
        missing = [] if each in done else [source for source in below[each] if source not in done]
        if missing:
            work += missing
            continue
        work.pop()
        if each not in done:
            done.add(each)
            order.append(each)
    # The nearest common dominator of two nodes: each keeps its own nearest one, and its depth.
    nearest: dict[Any, Any] = {}
    depth: dict[Any, int] = {None: -1}
    for each in order:
        above: Any = None
        for i, source in enumerate(below[each]):
            above = source if i == 0 else _common(above, source, nearest, depth)
        nearest[each], depth[each] = above, depth[above] + 1
    found = []
    at: Any = node
    while at is not None:
        found.append(at)
        at = nearest[at]
    return tuple(found)


def _common(a: Any, b: Any, nearest: dict[Any, Any], depth: dict[Any, int]) -> Any:
    """Return the nearest node through which all ways to two nodes lead; None if there is none."""
    while a != b:
        if depth[a] >= depth[b]:
            a = nearest.get(a)
        else:
            b = nearest.get(b)
    return a
