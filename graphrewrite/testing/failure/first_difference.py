"""The first node of a result whose value differs from that of its counterpart."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from graphrewrite.graph import Graph
from graphrewrite.graph.dataflow import Operand
from graphrewrite.testing.equality import agreeing
from graphrewrite.testing.failure.value_pairing import value_pairs
from graphrewrite.testing.failure.values import Values, as_reals, is_batched, shown

__all__ = ["FirstDifference", "first_difference"]


@dataclass(frozen=True, eq=False)
class FirstDifference:
    """The earliest node of a result, in order, whose value differs from that of its counterpart.

    Attributes
    ----------
    node : str
        The node of the graph after.
    stands_for : str
        The node of the graph before; the same name where it was there already.
    was, now : ndarray or None
        The value before and after; None where it could not be computed.
    sentence : str
        All of this in words.
    """

    node: str
    stands_for: str
    was: np.ndarray | None
    now: np.ndarray | None
    sentence: str

    def __str__(self) -> str:
        return self.sentence


def first_difference(
    before: Graph, after: Graph, old: Values, new: Values, bound: float | None = None
) -> FirstDifference | None:
    r"""Return the first node whose value differs from that of its counterpart; None if there is none, or no values.

    Parameters
    ----------
    bound : float, optional
        Maximum difference; by default every bit counts.

    Examples
    --------
    >>> from graphrewrite.testing.failure.values import evaluated
    >>> old = Graph.parse("graph g\nx = input() : f32[N]\na = neg(x)\nb = neg(a)\ny = output(b)")
    >>> new = Graph.parse("graph g\nx = input() : f32[N]\nc = relu(x)\ny = output(c)")
    >>> x = {"x": np.float32([-1])}
    >>> print(first_difference(old, new, evaluated(old, x), evaluated(new, x)))
    `b` was -1.0, and `c`, which stands for it, is 0.0
    """
    if not old.arrays:
        return None
    for node, reason in new.failed.items():
        if node not in old.failed:
            return FirstDifference(node, node, None, None, f"`{node}` cannot be evaluated: {reason}")
    for now, was, _ in value_pairs(before, after):
        a, b = old.arrays.get(was), new.arrays.get(now)
        if a is None or b is None:
            continue
        differ: np.ndarray | None = None
        if now != was and a.dtype != b.dtype and _types(before, was) != _types(after, now):
            # A lowering: the counterpart has the same values in another format, compared as real numbers.
            a, b = as_reals(a, _types(before, was)), as_reals(b, _types(after, now))
            if a.shape != b.shape or bound is None:
                continue
        if a.shape == b.shape and (a.dtype == b.dtype or bound is not None):
            differ = ~agreeing(a, b, bound)
            if not differ.any():
                continue
        what = _in_words(a, b, differ, is_batched(before, was) and len(a) == 1)
        return FirstDifference(now.node, was.node, a, b, _sentence(was, now, *what))
    return None


def _types(graph: Graph, at: Operand) -> object:
    return None if graph.nodes[at.node].get("type") == "output" else graph.result_type(*at)


def _in_words(a: np.ndarray, b: np.ndarray, differ: np.ndarray | None, batched: bool) -> tuple[str, str, str]:
    """Return the index of the first entry that differs, without a batch of one, and its two values."""
    if differ is None:
        return "", f"{a.dtype}{list(a.shape)}", f"{b.dtype}{list(b.shape)}"
    position = tuple(int(i) for i in np.argwhere(differ)[0])
    index = position[1:] if batched else position
    several = differ.size > (len(differ) if batched else 1)
    return f"[{', '.join(map(str, index))}]" if several else "", shown(a[position]), shown(b[position])


def _sentence(was: Operand, now: Operand, entry: str, old: str, new: str) -> str:
    first, second = (f"`{at.node}{f':{at.result}' if at.result else ''}`{entry}" for at in (was, now))
    if was == now:
        return f"{first} was {old} and is {new}"
    return f"{first} was {old}, and {second}, which stands for it, is {new}"
