"""Examples as patterns: a rule made of a graph as it is before, and as it is after."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from keyword import iskeyword
from typing import Any

import networkx as nx

from graphrewrite.errors import RuleError, TypeMismatchError, did_you_mean
from graphrewrite.graph import Graph, Operand
from graphrewrite.hierarchy.graph_ops import check_nesting
from graphrewrite.rewriting.pattern import Constant
from graphrewrite.rewriting.pattern.forms import where
from graphrewrite.rewriting.rule.outcome import decline
from graphrewrite.rewriting.rule.replacement import Known

__all__ = ["check_example", "from_example_graphs", "pattern_of", "roots_of"]


def from_example_graphs(before: Graph, after: Graph, name: str, variables: Iterable[str]) -> Callable[..., Any]:
    """Return the function of a rule from an example; see `graphrewrite.rule.from_example`."""
    for graph in (before, after):
        if not isinstance(graph, Graph):
            raise RuleError(f"an example is a Graph before and a Graph after, got {type(graph).__name__}")
    before, after, called = before.copy(), after.copy(), f"example {before.name or name!r}"
    roots = roots_of(before)
    check_example(before, roots, called)
    if not before.inputs:
        raise RuleError(f"the {called} has no inputs; what it computes is constant")
    free = tuple(variables)
    constants = [node for node, data in before.nodes(data=True) if data["type"] == "constant"]
    for node in free:
        if node not in constants:
            raise RuleError(f"{node!r} is no constant of the {called}{did_you_mean(node, constants)}")
    known = {*before.inputs, *free}
    for node in after.inputs:
        if node not in known:
            raise RuleError(
                f"the replacement reads {node!r}, which is no input of the {called}{did_you_mean(node, known)}; "
                "a constant of it that may be any is named in variables="
            )
    if len(before.outputs) != len(after.outputs):
        raise RuleError(f"the {called} has {len(before.outputs)} outputs, and its replacement {len(after.outputs)}")
    parameters = [*before.inputs, *free]
    outputs = [before.operands(output)[0] for output in before.outputs]

    def example(*values: Any) -> Any:
        yield pattern_of(before, values, roots, free)
        bound = dict(zip(parameters, values, strict=True))
        try:
            results = _replacement(after, bound)
        except TypeMismatchError as error:
            return decline(str(error))
        return tuple(results[outputs.index(root)] for root in roots)

    example.__name__ = example.__qualname__ = name
    example.__doc__ = f"{before.name or 'One graph'} becomes {after.name or 'another'}."
    example.__signature__ = inspect.Signature(  # type: ignore[attr-defined]  # as inspect looks for it
        [
            inspect.Parameter(
                node if node.isidentifier() and not iskeyword(node) else f"operand_{i}",
                inspect.Parameter.POSITIONAL_OR_KEYWORD,
                annotation=Constant if node in free else inspect.Parameter.empty,
            )
            for i, node in enumerate(parameters)
        ]
    )
    return example


def roots_of(body: Graph) -> list[Operand]:
    """Return the values of a graph's outputs, each once."""
    return list(dict.fromkeys(body.operands(output)[0] for output in body.outputs))


def check_example(body: Graph, roots: Sequence[Operand], called: str) -> None:
    """Raise for a graph that cannot be a pattern."""
    check_nesting(body)
    needed = set(body.outputs)
    work = list(needed)
    while work:
        new = {source for source in body._pred[work.pop()] if source not in needed}
        needed |= new
        work += new
    for node, data in body.nodes(data=True):
        if node not in needed and data["type"] != "constant":
            raise RuleError(f"the {called} cannot be a pattern: no output needs its {node!r}; remove that")
    for root in roots:
        kind = body.nodes[root.node]["type"]
        if kind in ("input", "constant"):
            raise RuleError(f"the {called} cannot be a pattern: it returns its {kind} {root.node!r} as it is")
    if any("kind" in data for _, _, data in body.edges(data=True)):
        raise RuleError(f"the {called} cannot be a pattern: it has control edges")


def pattern_of(
    body: Graph, values: Sequence[Any], roots: Sequence[Operand], variables: Collection[str] = ()
) -> tuple[Any, ...]:
    """Build the pattern of a graph above a yield, or replay it on a match.

    The values stand for its inputs, and after them for those of its constants that are variables. Any other constant
    matches one that is equal bit for bit.
    """
    names = [*body.inputs, *variables]
    built: dict[str, tuple[Any, ...]] = {name: (value,) for name, value in zip(names, values, strict=True)}
    needed = {root.node for root in roots}.union(*(nx.ancestors(body, root.node) for root in roots))
    for node in body.in_order():
        kind = body.nodes[node]["type"]
        if node not in needed or node in built:
            continue
        if kind == "constant":
            built[node] = (_equal_to(body, node),)
            continue
        operands = [built[o.node][o.result] for o in body.operands(node)]
        results = body.op(node)(*operands, **body.attributes(node))
        built[node] = (results,) if body.op(node).number_of_results(body.attributes(node)) == 1 else tuple(results)
    return tuple(built[root.node][root.result] for root in roots)


def _replacement(after: Graph, bound: Mapping[str, Any]) -> list[Any]:
    """Return the values of a graph's outputs on values that a match bound, as new nodes and constants."""
    replay = next(iter(bound.values())).replay
    built: dict[str, tuple[Any, ...]] = {}
    for node in after.in_order():
        data = after.nodes[node]
        if data["type"] == "input":
            built[node] = (bound[node],)
        elif data["type"] == "constant":
            built[node] = (Known(replay, data["value"], after.result_type(node)),)
        elif data["type"] != "output":
            results = after.op(node)(*(built[o.node][o.result] for o in after.operands(node)), **after.attributes(node))
            built[node] = results if isinstance(results, tuple) else (results,)
    return [built[o.node][o.result] for output in after.outputs for o in after.operands(output)]


def _equal_to(body: Graph, node: str) -> Any:
    """Require a constant that is equal bit for bit."""
    value, kind = body.nodes[node]["value"], body.result_type(node)

    def is_equal(constant: Any) -> bool:
        return bool(
            constant.is_constant
            and constant.type == kind
            and constant.value.dtype == value.dtype
            and constant.value.tobytes() == value.tobytes()
        )

    return where(is_equal, f"it is the constant {node!r} of {body.name!r}")
