"""Differences that ops make larger: a number just beside a step is rounded to another one, or is above a limit."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from graphrewrite.execution.evaluator import evaluate_nodes
from graphrewrite.graph import Graph
from graphrewrite.testing.equality import agreeing

__all__ = ["without_amplified"]

_ROUNDS = 4
"""How many ops in a row may make differences larger."""


def without_amplified(
    before: Graph,
    after: Graph,
    inputs: Mapping[str, np.ndarray],
    old: Mapping[str, np.ndarray],
    new: Mapping[str, np.ndarray],
    bound: float,
) -> Mapping[str, np.ndarray]:
    r"""Return the values of a result as if no op that a rule has kept made a difference larger.

    Where its operands agree within the bound, and it does not, it has the value of before: a rule that keeps values but
    for rounding says nothing of what is computed of them.

    Examples
    --------
    >>> text = "graph g\nx = input() : f64[]\na = {} : f64[]\nb = ceil(a)\ny = output(b)"
    >>> before, after = (Graph.parse(text.format(made)) for made in ("round(x)", "identity(x)"))
    >>> inputs = {"x": np.array(2 + 1e-9)}
    >>> old, new = (evaluate_nodes(graph, inputs, ["x", "a", "b", "y"]) for graph in (before, after))
    >>> float(new["y"]), float(without_amplified(before, after, inputs, old, new, 1e-6)["y"])
    (3.0, 2.0)
    """
    for _ in range(_ROUNDS):
        kept = [name for name in new if name in old and _is_amplifying(before, after, name, old, new, bound)]
        if not kept:
            return new
        after = after.copy()
        for name in kept:
            kind = after.result_type(name)
            after.remove_edges_from([*after.in_edges(name)])
            data = after.nodes[name]
            data.clear()
            data.update(type="input", result=kind)
        inputs = {**inputs, **{name: old[name] for name in kept}}
        with np.errstate(all="ignore"):
            new = evaluate_nodes(after, inputs, [*new])
    return new


def _is_amplifying(
    before: Graph,
    after: Graph,
    node: str,
    old: Mapping[str, np.ndarray],
    new: Mapping[str, np.ndarray],
    bound: float,
) -> bool:
    """Tell whether a node of both graphs makes more than the bound of less."""
    was, data = before.nodes[node], after.nodes[node]
    if data["type"] != was["type"] or data["type"] in ("input", "output") or data["result"] != was["result"]:
        return False
    pairs = list(zip(before.operands(node), after.operands(node), strict=False))
    if not pairs or len(pairs) != len(after.operands(node)) or isinstance(data["result"], tuple):
        return False
    if any(a.result or b.result or a.node not in old or b.node not in new for a, b in pairs):
        return False
    if before.attributes(node) != after.attributes(node) or _agree(old[node], new[node], bound):
        return False
    return all(_agree(old[a.node], new[b.node], bound) for a, b in pairs)


def _agree(a: np.ndarray, b: np.ndarray, bound: float) -> bool:
    return a.shape == b.shape and a.dtype == b.dtype and bool(agreeing(a, b, bound).all())
