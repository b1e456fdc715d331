"""Build from parts: one after the other, side by side, around a shortcut.

What these functions return works like an op: it computes on arrays, adds nodes on values of a graph, and is a pattern
on variables of a rule. The parts are ops, functions, `functools.partial` of an op (operands may be given by name),
whole graphs, and what these functions have returned.

Examples
--------
>>> import numpy as np
>>> from graphrewrite import op
>>> block = residual(partial(op.linear, w=np.eye(2)), op.relu)
>>> block(np.array([[-1.0, 2.0]])).tolist()
[[-1.0, 4.0]]
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

from graphrewrite.errors import GraphError, GraphRewriteError, TypeMismatchError
from graphrewrite.graph import Graph
from graphrewrite.marks import MARKS
from graphrewrite.nested.sizes import bind_sizes
from graphrewrite.op import LIBRARY
from graphrewrite.op.generic import Generic
from graphrewrite.op.op import Alternatives, Op
from graphrewrite.op.symbolic import Symbolic
from graphrewrite.value import Value

__all__ = ["Built", "parallel", "residual", "sequential"]

_ADD = LIBRARY["add"]


class Built:
    """Parts that are put together; called like an op.

    Parameters
    ----------
    kind : str
        What has put them together.
    parts : sequence
        The parts.
    apply : callable
        Takes operands, returns results.
    """

    def __init__(self, kind: str, parts: Sequence[Any], apply: Callable[..., Any]) -> None:
        self.kind, self.parts, self._apply = kind, tuple(parts), apply

    def __call__(self, *operands: Any) -> Any:
        """Compute, build nodes, or be a pattern, as the operands are; if anything fails, no node is built."""
        graphs = {id(x.graph): x.graph for x in operands if isinstance(x, Value)}.values()
        before = [(graph, len(graph), dict(graph.ops), dict(graph._fresh)) for graph in graphs]
        try:
            return self._apply(*operands)
        except Exception as error:
            for graph, count, ops, fresh in before:
                graph.remove_nodes_from(list(graph)[count:])  # new nodes come last
                graph.ops = ops
                graph._fresh.clear()
                graph._fresh.update(fresh)
            if isinstance(error, GraphRewriteError):
                error.add_note(f"in {self!r}")
            raise

    def __repr__(self) -> str:
        return f"{self.kind}({', '.join(map(_name, self.parts))})"


def sequential(*parts: Any) -> Built:
    """Put parts one after the other: each takes what the one before it gives.

    Parameters
    ----------
    *parts : op, function, graph or Built
        A part with several results gives the next one as many operands.

    Returns
    -------
    Built

    Raises
    ------
    GraphError
        If there is no part, or one cannot be called.

    Examples
    --------
    >>> import numpy as np
    >>> from graphrewrite import op
    >>> net = sequential(op.neg, partial(op.clip, high=0.5), parallel(op.relu, op.abs), op.add)
    >>> net
    sequential(neg, clip, parallel(relu, abs), add)
    >>> net(np.array([-1.0, 2.0])).tolist()
    [1.0, 2.0]
    """
    _check("sequential", parts)

    def apply(*operands: Any) -> Any:
        for part in parts:
            operands = _results(_call(part, operands))
        return operands[0] if len(operands) == 1 else operands

    return Built("sequential", parts, apply)


def parallel(*parts: Any, shared: bool = False) -> Built:
    """Put parts side by side; the results are those of all parts, in order.

    One operand goes to every part; of as many operands as there are parts, each part takes its own.

    Parameters
    ----------
    *parts : op, function, graph or Built
        The parts.
    shared : bool
        Whether every part takes all operands, however many there are.

    Returns
    -------
    Built

    Raises
    ------
    GraphError
        If there is no part, or one cannot be called; when it is called, if the number of operands does not fit.

    Examples
    --------
    >>> from graphrewrite import op
    >>> print(*parallel(op.neg, op.abs)(-2), *parallel(op.add, op.mul, shared=True)(3, 4))
    2 2 7 12
    """
    _check("parallel", parts)

    def apply(*operands: Any) -> Any:
        if shared or len(operands) == 1:
            given: list[tuple[Any, ...]] = [operands] * len(parts)
        elif len(operands) == len(parts):
            given = [(operand,) for operand in operands]
        else:
            raise GraphError(
                f"{made!r} takes one operand or {len(parts)}, one a part, not {len(operands)}; "
                "shared=True gives all of them to each part"
            )
        found = [r for part, own in zip(parts, given, strict=True) for r in _results(_call(part, own))]
        return found[0] if len(found) == 1 else tuple(found)

    made = Built("parallel", parts, apply)
    return made


def residual(*parts: Any, shortcut: Any = None, join: Any = _ADD) -> Built:
    """Put a shortcut around parts: what they give, joined with what they take.

    Parameters
    ----------
    *parts : op, function, graph or Built
        One after the other, as in `sequential`.
    shortcut : op, function, graph or Built, optional
        What the operand passes on the way around.
    join : op or function
        Takes the result and the operand that came around.

    Returns
    -------
    Built

    Examples
    --------
    >>> from graphrewrite import Tensor, op
    >>> graph = Graph("g")
    >>> _ = graph.output("y", residual(op.neg, op.relu)(graph.input("x", Tensor("f32", ("N", 4)))))
    >>> print(graph)
    graph g
    x = input() : f32[N,4]
    neg_1 = neg(x) : f32[N,4]
    relu_1 = relu(neg_1) : f32[N,4]
    add_1 = add(relu_1, x) : f32[N,4]
    y = output(add_1)
    """
    inner = parts[0] if len(parts) == 1 else sequential(*parts)
    _check("residual", [inner, join, *([] if shortcut is None else [shortcut])])

    def apply(*operands: Any) -> Any:
        around = operands if shortcut is None else _results(_call(shortcut, operands))
        return _call(join, (*_results(_call(inner, operands)), *around))

    return Built("residual", parts, apply)


def _check(kind: str, parts: Sequence[Any]) -> None:
    if not parts:
        raise GraphError(f"{kind} needs at least one part")
    for part in parts:
        if not (callable(part) or isinstance(part, Graph)):
            hint = "; put its members into sequential(…) or parallel(…)" if isinstance(part, list | tuple) else ""
            raise GraphError(f"{kind} is made of ops, functions and graphs, not of {part!r}{hint}")


def _name(part: Any) -> str:
    if isinstance(part, partial):
        return _name(part.func)
    if isinstance(part, Op | Graph):
        return part.name
    if isinstance(part, Alternatives):
        return " | ".join(op.name for op in part.ops)
    return repr(part) if isinstance(part, Built) else getattr(part, "__name__", repr(part))


def _results(found: Any) -> tuple[Any, ...]:
    return found if isinstance(found, tuple) else (found,)


def _call(part: Any, operands: tuple[Any, ...]) -> Any:
    """Apply a part to its operands."""
    if isinstance(part, Graph):
        return _apply_graph(part, operands)
    if isinstance(part, partial) and isinstance(part.func, Op):
        op, given = part.func, dict(part.keywords)
        rest = [name for name in op.operands[len(part.args) + len(operands) :] if name in given]
        named = [given.pop(name) for name in rest]
        if rest != list(op.operands[len(part.args) + len(operands) :][: len(rest)]):
            raise TypeMismatchError(f"{op.name} gets its operand {rest[-1]!r} by name, and not the one before it")
        return op(*part.args, *operands, *named, **given)
    found = part(*operands)
    if inspect.isgenerator(found) or found is None:
        raise GraphError(f"the part {_name(part)} returns no value; let it return what it gives")
    return tuple(found) if isinstance(found, list) else found


def _apply_graph(graph: Graph, operands: tuple[Any, ...]) -> Any:
    """Apply the ops of a graph one by one, to whatever the operands are."""
    if len(operands) != len(graph.inputs):
        raise GraphError(
            f"graph {graph.name!r} takes {', '.join(graph.inputs) or 'nothing'}, not {len(operands)} operands"
        )
    target = next((x.graph for x in operands if isinstance(x, Value)), None)
    if target is not None and all(isinstance(x, Value) for x in operands):
        bind_sizes(graph, tuple(x.type for x in operands))
    elif not any(isinstance(x, Symbolic) for x in operands):
        from graphrewrite.evaluate import evaluate  # evaluates graphs, and is built on them

        found = tuple(evaluate(graph, dict(zip(graph.inputs, operands, strict=True))).values())
        return found[0] if len(found) == 1 else found
    held: dict[str, Any] = dict(zip(graph.inputs, operands, strict=True))
    order = graph.in_order()
    for node in order:
        data = graph.nodes[node]
        kind = data.get("type")
        if kind == "constant":
            value = data["value"]
            held[node] = value if target is None else target.constant(value, type=graph.result_type(node))
        elif kind not in ("input", "output"):
            held[node] = _apply_node(graph, node, [_results(held[o.node])[o.result] for o in graph.operands(node)])
    if target is not None:
        _order(graph, order, held, target)
    results = tuple(_results(held[o.node])[o.result] for n in graph.outputs for o in graph.operands(n))
    return results[0] if len(results) == 1 else results


def _order(graph: Graph, nodes: Sequence[str], held: dict[str, Any], target: Graph) -> None:
    """Give the nodes that were built for those of a graph the control edges that these have."""
    made = {node: value.node for node, found in held.items() if isinstance(value := _results(found)[0], Value)}
    for node in nodes:
        for source, kind in graph.controls(node):
            if node in made and source in made and made[source] != made[node]:
                target.add_control(made[source], made[node], kind)


def _apply_node(graph: Graph, node: str, operands: list[Any]) -> Any:
    """Apply the op of a node; a node that is built keeps its marks."""
    op, data = graph.op(node), graph.nodes[node]
    attributes = graph.attributes(node)
    if isinstance(op, Generic):  # whose nodes say their types themselves
        attributes["result"] = data["result"]
    found = op(*operands, **attributes)
    for value in _results(found):
        if isinstance(value, Value):
            value.graph.nodes[value.node].update({mark: data[mark] for mark in MARKS - {"shared"} if mark in data})
    return found
