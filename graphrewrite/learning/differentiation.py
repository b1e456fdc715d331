"""Differentiation in reverse: a graph that has gradients as further outputs."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any, overload

import numpy as np

from graphrewrite import Graph, Module, Pass, Rule, Tensor, op, rewrite
from graphrewrite.errors import did_you_mean
from graphrewrite.graph import Operand
from graphrewrite.graph.arguments import as_graph
from graphrewrite.learning.errors import DifferentiationError
from graphrewrite.learning.preparation import COMPOSITES, constants_again, differentiated_ops, prepared, written_out
from graphrewrite.lowering.composite import lowered_ops
from graphrewrite.lowering.gradients import GRADIENTS
from graphrewrite.op.differentiation import DIFFERENTIABLE, Vjp
from graphrewrite.rules import eliminate_dead_nodes, gather_sums, merge_equal_nodes
from graphrewrite.types import element_dtype

__all__ = ["differentiate", "gradient_graph"]

WITHOUT: Mapping[str, str] = {
    **dict.fromkeys(("cond", "loop", "scan"), "write its steps one after the other, and a choice with op.where"),
    **dict.fromkeys(
        ("quantise", "quant", "bipolar_quant", "trunc"), "rounding has no slope: write fake_quantise, or rules=[…]"
    ),
    **dict.fromkeys(("multi_threshold", "tree_ensemble"), "steps have no slope; give a rule: rules=[…]"),
    **dict.fromkeys(("dequantize_linear", "quantize_linear"), "scales of stored numbers are not learnt"),
    **dict.fromkeys(("from_quantised", "from_fixed", "to_fixed", "to_quantised"), "stored numbers are not learnt"),
    **dict.fromkeys(
        ("multiply_fixed_point", "round_half_away", "fixed_point_softmax"), "stored numbers are not learnt"
    ),
    "unique": "how many entries it gives depends on their values, which have no slope where two are equal",
    **dict.fromkeys(
        ("rand_like", "randn_like", "eye_like", "encode_labels", "bit_cast"), "numbers do not pass through it"
    ),
}
"""Why ops of floats have no gradient, and what to do."""


@overload
def differentiate(
    graph: Graph,
    loss: str | None = ...,
    wrt: str | Iterable[str] | None = ...,
    *,
    main: str = ...,
    rules: Iterable[Rule | Pass] = ...,
) -> Graph: ...
@overload
def differentiate(
    graph: Module,
    loss: str | None = ...,
    wrt: str | Iterable[str] | None = ...,
    *,
    main: str = ...,
    rules: Iterable[Rule | Pass] = ...,
) -> Module: ...
def differentiate(
    graph: Graph | Module,
    loss: str | None = None,
    wrt: str | Iterable[str] | None = None,
    *,
    main: str = "main",
    rules: Iterable[Rule | Pass] = (),
) -> Graph | Module:
    r"""Return a graph with the gradients of a loss as further outputs, ``d_NAME`` each.

    The chain rule is applied from the loss backwards: each node on the way becomes its vector-Jacobian product,
    ``op.NAME.vjp``, gradients of several readers are added, and the rules of `graphrewrite.lowering.GRADIENTS` write
    the products as other ops. Composite ops on the way without a rule of their own are written out first, so what the
    graph computes may be rounded differently. What comes out is a graph like any other, and can be differentiated
    again: where ``d_x`` is there, the next gradient of ``x`` is ``d_d_x``.

    At a kink PyTorch's convention holds: ``relu`` and ``abs`` have no slope at zero, limits of ``clip`` have one,
    equal operands of a maximum share the gradient, of a pool's window the first greatest entry has it. Steps such as
    ``floor`` have the gradient zero; through integers and truth values, such as indices and comparisons, none flows.

    Parameters
    ----------
    graph : Graph or Module
        A graph of floats, of 32 or 64 bits on the way from what is varied to the loss; or a module with one.
    loss : str, optional
        The output that is the loss, a single number; may be left out if there is one output.
    wrt : str or iterable of str, optional
        Names of inputs and constants; by default all inputs of floats that the loss depends on.
    main : str
        The graph of a module that has the loss.
    rules : iterable of Rule, optional
        Gradients of ops of one's own, and others than the library's, such as ``yield op.round.vjp(g, x)`` and
        ``return g``: they come first.

    Returns
    -------
    Graph or Module
        With the inputs, constants and outputs of the graph, and a gradient of the shape of each in `wrt`. Of a module,
        a module with one graph more, ``MAIN_gradient``, which shares the constants of the others.

    Raises
    ------
    DifferentiationError
        If the loss is not one number, a name is unknown, the loss does not depend on it, or an op on the way has no
        gradient; the message names the node.

    Examples
    --------
    >>> from graphrewrite import Graph
    >>> graph = Graph.parse('''graph square
    ... x = input() : f32[3]
    ... s = mul(x, x)
    ... m = reduce_sum(s, keep_dims=False)
    ... loss = output(m)''')
    >>> gradient = differentiate(graph, "loss", "x")
    >>> print(gradient)
    graph square
    x = input() : f32[3]
    s = mul(x, x) : f32[3]
    m = reduce_sum(s, keep_dims=False) : f32[]
    constant_2 = constant(value=[1.0, 1.0, 1.0]) : f32[3]
    mul_1 = mul(constant_2, x) : f32[3]
    add_1 = add(mul_1, mul_1) : f32[3]
    loss = output(m)
    d_x = output(add_1)
    """
    if isinstance(graph, Module):
        module, name = graph.copy(), f"{main}_gradient"
        if name in module:
            raise DifferentiationError(f"the module {graph.name!r} has a graph {name!r}; rename it")
        module[name] = differentiate(module[main], loss, wrt, rules=rules)
        return module
    graph = as_graph(graph, "that can be differentiated")
    name = _loss(graph, loss)
    chosen = _chosen(graph, name, wrt)
    constants = [each for each in graph if graph.nodes[each]["type"] == "constant"]
    parameters = [each for each in constants if each in chosen or "shared" in graph.nodes[each]]
    return constants_again(gradient_graph(graph, name, chosen, parameters, rules), graph, parameters)


def gradient_graph(
    graph: Graph, loss: str, wrt: Sequence[str], parameters: Sequence[str], rules: Iterable[Rule | Pass] = ()
) -> Graph:
    """Return a graph with gradients as further outputs, in which some constants are its last inputs."""
    every = (*rules, *GRADIENTS)
    known = differentiated_ops(every)
    plain = prepared(graph, parameters)
    plain = written_out(plain, lambda g: {g.nodes[node]["type"] for node in _active(g, loss, wrt)}, known)
    _with_products(plain, loss, wrt)
    made = rewrite(plain, every)
    _check_done(made, plain, every)
    return gather_sums(rewrite(made, (merge_equal_nodes, eliminate_dead_nodes)))


def _loss(graph: Graph, loss: str | None) -> str:
    """Return the name of the output that is the loss."""
    if loss is None:
        if len(graph.outputs) != 1:
            names = ", ".join(graph.outputs) or "none"
            raise DifferentiationError(f"say which output is the loss: the graph {graph.name!r} has {names}")
        (loss,) = graph.outputs
    if loss not in graph.outputs:
        raise DifferentiationError(
            f"the loss {loss!r} is no output of the graph {graph.name!r} (it has {', '.join(graph.outputs) or 'none'})"
            f"{did_you_mean(loss, graph.outputs)}"
        )
    kind = graph.result_type(*graph.operands(loss)[0])
    if not isinstance(kind, Tensor) or kind.element not in DIFFERENTIABLE or any(size != 1 for size in kind.shape):
        raise DifferentiationError(
            f"the loss {loss!r} is one number of f32 or f64, and this is {kind}; take its mean, for example: "
            "op.reduce_mean(loss, keep_dims=False)"
        )
    return loss


def _chosen(graph: Graph, loss: str, wrt: str | Iterable[str] | None) -> list[str]:
    """Return the names of what is varied, each once."""
    floats = [each for each in graph.inputs if _is_float(graph, Operand(each))]
    if wrt is None:
        before = graph.upstream(loss)
        chosen = [each for each in floats if each in before]
        if not chosen:
            raise DifferentiationError(f"the loss {loss!r} depends on no input of floats; name constants by wrt=…")
        wrt = chosen
    if not isinstance(wrt, Iterable):
        raise DifferentiationError(f"wrt is the name of an input or a constant, or several, got {wrt!r}")
    chosen = list(dict.fromkeys([wrt] if isinstance(wrt, str) else wrt))
    constants = [each for each in graph if graph.nodes[each].get("type") == "constant"]
    for each in chosen:
        if each not in graph.inputs and each not in constants:
            what = "a computed value" if each in graph else "not there"
            near = did_you_mean(each, [*graph.inputs, *constants])
            raise DifferentiationError(f"wrt names inputs and constants, and {each!r} is {what}{near}")
        if not _is_float(graph, Operand(each)):
            kind = graph.result_type(each)
            raise DifferentiationError(f"gradients are of f32 and f64, and {each!r} is {kind}; cast it first")
    if not chosen:
        raise DifferentiationError("wrt is empty; name inputs or constants")
    return chosen


def _is_float(graph: Graph, value: Operand) -> bool:
    kind = graph.result_type(*value)
    return isinstance(kind, Tensor) and kind.element in DIFFERENTIABLE


def _varying(graph: Graph, chosen: Collection[str]) -> set[Operand]:
    """Return the floats that depend on what is varied, by floats only."""
    found, outputs = {Operand(each) for each in chosen}, {*graph.outputs}
    for node in graph.in_order():
        if node not in outputs and found.intersection(graph.operands(node)):
            kinds = graph.nodes[node]["result"]
            results = range(len(kinds) if isinstance(kinds, tuple) else 1)
            found.update(value for value in (Operand(node, i) for i in results) if _is_float(graph, value))
    return found


def _active(graph: Graph, loss: str, chosen: Collection[str]) -> set[str]:
    """Return the nodes between what is varied and the loss."""
    varying = {value.node for value in _varying(graph, chosen)}
    return (varying & {*graph.upstream(loss)}) - {*graph.inputs}


def _with_products(graph: Graph, loss: str, chosen: Sequence[str]) -> None:
    """Add the vector-Jacobian products from the loss backwards, and the gradients as outputs."""
    varying, before = _varying(graph, chosen), graph.upstream(loss)
    end = graph.operands(loss)[0]
    kind = graph.result_type(*end)
    assert isinstance(kind, Tensor)
    gradients: dict[str, dict[int, list[Any]]] = defaultdict(lambda: defaultdict(list))
    gradients[end.node][end.result].append(graph.constant(np.ones([1] * len(kind.shape), element_dtype(kind.element))))
    inputs = {*graph.inputs}
    for node in [each for each in reversed(list(graph.in_order())) if each in before and each not in inputs]:
        for result, values in sorted(gradients.pop(node, {}).items()):
            g = _sum(values)
            for position, source in enumerate(graph.operands(node)):
                if source in varying:
                    gradients[source.node][source.result].append(_product(graph, node, g, position, result))
    for each in chosen:
        if each not in gradients:
            raise DifferentiationError(_unreachable(graph, loss, each))
        name = f"d_{each}"
        while name in graph:
            name = f"d_{name}"
        graph.output(name, _sum(gradients[each][0]))


def _sum(values: Sequence[Any]) -> Any:
    total = values[0]
    for value in values[1:]:
        total = op.add(total, value)
    return total


def _product(graph: Graph, node: str, g: Any, position: int, result: int) -> Any:
    """Add the product of a node's Jacobian along one operand; gradients have no axis names."""
    node_op = graph.op(node)
    if node_op is op.name_axes:
        return g
    known = node_op.vjp.attributes
    own = {key: value for key, value in (("wrt", position), ("of_result", result)) if key in known}
    attributes = {**graph.attributes(node), **own}
    operands = [graph.value(*source) for source in graph.operands(node)]
    return graph.add(node_op.vjp, [g, *operands], attributes, origin=(node,))


def _unreachable(graph: Graph, loss: str, name: str) -> str:
    """Return why there is no gradient of a name."""
    before = graph.upstream(loss)
    if name not in before:
        return f"the loss {loss!r} does not depend on {name!r}; leave it out of wrt"
    varying = {value.node for value in _varying(graph, [name])}
    for node in graph.in_order():
        if node in before and node not in varying and any(s.node in varying for s in graph.operands(node)):
            return (
                f"the loss {loss!r} depends on {name!r} only through what has no gradient, such as the node {node!r} "
                f"({graph.nodes[node]['type']}), whose result is {graph.result_type(node)}"
            )
    return f"the loss {loss!r} does not depend on {name!r}"


def _check_done(made: Graph, before: Graph, rules: Sequence[Rule | Pass]) -> None:
    """Raise if a product is left, with the node that it is of, and why."""
    needed = {*made.outputs}.union(*(made.upstream(name) for name in made.outputs))
    for node in made.in_order():
        product = made.op(node)
        if node not in needed or not isinstance(product, Vjp):
            continue
        of, kind = product.of, product.of.name
        where = next((each for each in made.origin(node) if each in before), node)
        reasons = [str(each.explain(made, at=node)) for each in _rules_for(product.name, rules)]
        reasons += [
            str(member.explain(before, at=where))
            for member in COMPOSITES
            if isinstance(member, Rule) and kind in lowered_ops(member) and where in before
        ]
        told = "; ".join(reason.partition(": ")[2] or reason for reason in reasons)
        told = told or WITHOUT.get(kind, f"give a rule of {of.name}.vjp by rules=[…]")
        raise DifferentiationError(f"the node {where!r} has no gradient: there is no rule for {kind} here: {told}")


def _rules_for(name: str, rules: Iterable[Rule | Pass]) -> list[Rule]:
    return [each for each in rules if isinstance(each, Rule) and name in (each.definition.root_kinds or ())]
