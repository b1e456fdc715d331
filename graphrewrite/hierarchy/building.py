"""Build graphs from parts: in sequence, in parallel, around a shortcut.

The result works like an op: it computes on arrays, adds nodes on values of a graph, and is a pattern on variables of a
rule. Parts are ops, functions, `functools.partial` of an op (which may bind operands by name), graphs, and results of
these functions.

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

from graphrewrite.errors import GraphError
from graphrewrite.graph import Graph
from graphrewrite.graph.type_inference import declared_types
from graphrewrite.graph.undoing import undone_on_error
from graphrewrite.graph.value import Value
from graphrewrite.hierarchy.bound_sizes import bind_sizes, with_data_sizes
from graphrewrite.op import LIBRARY
from graphrewrite.op.generic_op import Generic
from graphrewrite.op.op import Alternatives, Op
from graphrewrite.op.reserved_keys import annotations_in
from graphrewrite.op.symbolic import Symbolic
from graphrewrite.types import Dimension, Type, pairs_of, solved

__all__ = ["Built", "parallel", "residual", "sequential"]

_ADD = LIBRARY["add"]


class Built:
    """Combined parts, called like an op.

    Parameters
    ----------
    kind : str
        Name of the function that combined them.
    parts : sequence
        The parts.
    apply : callable
        Maps operands to results.
    """

    def __init__(self, kind: str, parts: Sequence[Any], apply: Callable[..., Any]) -> None:
        self.kind, self.parts, self._apply = kind, tuple(parts), apply

    def __call__(self, *operands: Any) -> Any:
        """Compute, build nodes or return a pattern, depending on the operands; if it fails, no node is built."""
        with undone_on_error([x.graph for x in operands if isinstance(x, Value)], repr(self)):
            return self._apply(*operands)

    def graph(self, *types: Type, name: str = "") -> Graph:
        """Return a graph of the parts.

        Parameters
        ----------
        *types : Tensor or Stream
            Types of its inputs: ``x``, or ``x_1``, ``x_2``, … if there are several. Its outputs are called ``y`` alike.
        name : str
            Name of the graph.

        Examples
        --------
        >>> from graphrewrite import Tensor, op
        >>> print(sequential(op.neg, op.relu).graph(Tensor("f32", ("N", 4)), name="block"))
        graph block
        x = input() : f32[N,4]
        neg_1 = neg(x) : f32[N,4]
        relu_1 = relu(neg_1) : f32[N,4]
        y = output(relu_1)
        """
        graph = Graph(name)
        results = _results(self(*map(graph.input, _numbered("x", len(types)), types)))
        for label, result in zip(_numbered("y", len(results)), results, strict=True):
            graph.output(label, result)
        return graph

    def __repr__(self) -> str:
        return f"{self.kind}({', '.join(map(_name, self.parts))})"


def sequential(*parts: Any) -> Built:
    """Chain parts: each takes the results of the one before it.

    Parameters
    ----------
    *parts : op, function, graph or Built
        A part with several results passes all of them on.

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
    """Apply parts side by side; the results are those of all parts, in order.

    A single operand goes to every part; with as many operands as parts, each part takes its own.

    Parameters
    ----------
    *parts : op, function, graph or Built
        The parts.
    shared : bool
        Whether every part takes all operands.

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
            per_part: list[tuple[Any, ...]] = [operands] * len(parts)
        elif len(operands) == len(parts):
            per_part = [(operand,) for operand in operands]
        else:
            raise GraphError(
                f"{built!r} takes one operand, or {len(parts)} (one per part), got {len(operands)}; "
                "pass shared=True to give all of them to each part"
            )
        results = [r for part, own in zip(parts, per_part, strict=True) for r in _results(_call(part, own))]
        return results[0] if len(results) == 1 else tuple(results)

    built = Built("parallel", parts, apply)
    return built


def residual(*parts: Any, shortcut: Any = None, join: Any = _ADD) -> Built:
    """Put a shortcut around parts: combine their result with their operand.

    Parameters
    ----------
    *parts : op, function, graph or Built
        Applied in sequence, as in `sequential`.
    shortcut : op, function, graph or Built, optional
        Applied to the operand on the shortcut.
    join : op or function
        Combines the result of the parts with that of the shortcut.

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
            raise GraphError(f"the parts of {kind} are ops, functions and graphs, got {part!r}{hint}")


def _name(part: Any) -> str:
    if isinstance(part, partial):
        return _name(part.func)
    if isinstance(part, Op | Graph):
        return part.name
    if isinstance(part, Alternatives):
        return " | ".join(op.name for op in part.ops)
    return repr(part) if isinstance(part, Built) else getattr(part, "__name__", repr(part))


def _numbered(stem: str, count: int) -> list[str]:
    return [stem] if count == 1 else [f"{stem}_{i + 1}" for i in range(count)]


def _results(result: Any) -> tuple[Any, ...]:
    return result if isinstance(result, tuple) else (result,)


def _call(part: Any, operands: tuple[Any, ...]) -> Any:
    """Apply a part to its operands."""
    if isinstance(part, Graph):
        return _apply_graph(part, operands)
    result = part(*operands)
    if inspect.isgenerator(result) or result is None:
        raise GraphError(f"the part {_name(part)} returns no value; add a return statement")
    return tuple(result) if isinstance(result, list) else result


def _apply_graph(graph: Graph, operands: tuple[Any, ...]) -> Any:
    """Apply the ops of a graph one by one to operands of any kind."""
    if len(operands) != len(graph.inputs):
        raise GraphError(
            f"graph {graph.name!r} takes the operands {', '.join(graph.inputs) or '(none)'}, got {len(operands)}"
        )
    target = next((x.graph for x in operands if isinstance(x, Value)), None)
    sizes: dict[str, Dimension] = {}
    if target is not None and all(isinstance(x, Value) for x in operands):
        sizes = bind_sizes(graph, tuple(x.type for x in operands))
    elif not any(isinstance(x, Symbolic) for x in operands):  # arrays only: evaluate the graph as a whole
        outputs = tuple(graph.evaluate(dict(zip(graph.inputs, operands, strict=True))).values())
        return outputs[0] if len(outputs) == 1 else outputs
    values: dict[str, Any] = dict(zip(graph.inputs, operands, strict=True))
    order = graph.in_order()
    for node in order:
        data = graph.nodes[node]
        kind = data.get("type")
        if kind == "constant":
            value = data["value"]
            values[node] = value if target is None else target.constant(value, type=graph.result_type(node))
        elif kind not in ("input", "output"):
            read = [_results(values[o.node])[o.result] for o in graph.operands(node)]
            values[node] = _apply_node(graph, node, read, sizes)
    if target is not None:
        _order(graph, order, values, target)
    results = tuple(_results(values[o.node])[o.result] for n in graph.outputs for o in graph.operands(n))
    return results[0] if len(results) == 1 else results


def _order(graph: Graph, nodes: Sequence[str], values: dict[str, Any], target: Graph) -> None:
    """Copy the control edges and predicates of a graph to the nodes that were built for its nodes."""
    names = {node: value.node for node, built in values.items() if isinstance(value := _results(built)[0], Value)}
    for node in nodes:
        for source, kind in graph.controls(node):
            if node in names and source in names and names[source] != names[node]:
                target.add_control(names[source], names[node], kind)
        predicate = graph.predicate(node)
        if node in names and predicate is not None and predicate.node in names:
            target.set_predicate(names[node], _results(values[predicate.node])[predicate.result])


def _apply_node(graph: Graph, node: str, operands: list[Any], sizes: dict[str, Dimension]) -> Any:
    """Apply the op of a node; a node that is built keeps its annotations; its unknown sizes are noted."""
    op, data = graph.op(node), graph.nodes[node]
    sized = with_data_sizes(data, op, sizes) if op.sized else data
    attributes = {key: sized.get(key, value) for key, value in graph.attributes(node).items()}
    if isinstance(op, Generic):  # its nodes state their types themselves
        attributes["result"] = data["result"]
    results = op(*operands, **attributes)
    built = [value for value in _results(results) if isinstance(value, Value)]
    declared = declared_types(graph, node) or ()
    if unknown := [name for kind in declared for name in kind.unknowns if name not in sizes]:
        sizes.update(solved(pairs_of(declared, [value.type for value in built]), unknown))
    for value in built:
        kept = {key: value for key, value in annotations_in(data, op).items() if key != "shared"}
        value.graph.nodes[value.node].update(kept)
    return results
