"""Composite ops written as simpler ones, by rules: a target chooses which.

A family of ops has a tuple of rules, and `LOWER_COMPOSITE` is all of them. What a rule makes may be composite again,
such as the mean inside of a norm: the tuples are applied to a fixed point, and no rule undoes another.

Examples
--------
>>> from graphrewrite import Graph, rewrite
>>> g = Graph.parse('''graph g
... x = input() : f32[N,3]
... a = silu(x)
... y = output(a)''')
>>> print(rewrite(g, LOWER_ACTIVATIONS))
graph g
x = input() : f32[N,3]
neg_1 = neg(x) : f32[N,3]
exp_1 = exp(neg_1) : f32[N,3]
constant_1 = constant(value=1.0) : f32[]
add_1 = add(exp_1, constant_1) : f32[N,3]
reciprocal_1 = reciprocal(add_1) : f32[N,3]
mul_1 = mul(x, reciprocal_1) : f32[N,3]
y = output(mul_1)
"""

from __future__ import annotations

from collections.abc import Iterable

from graphrewrite import Graph, Pass, Rule
from graphrewrite.errors import UnknownOpError, did_you_mean
from graphrewrite.lowering.composite.activations import LOWER_ACTIVATIONS
from graphrewrite.lowering.composite.attention import LOWER_ATTENTION
from graphrewrite.lowering.composite.movement import LOWER_MOVEMENT, LOWER_REPETITIONS, write_split_by_slices
from graphrewrite.lowering.composite.normalisations import LOWER_NORMALISATIONS
from graphrewrite.lowering.composite.pools import LOWER_POOLS
from graphrewrite.lowering.composite.products import LOWER_PRODUCTS, LOWER_SUMS
from graphrewrite.lowering.composite.quantised import LOWER_QUANTISED
from graphrewrite.lowering.composite.recurrent import LOWER_RECURRENT
from graphrewrite.lowering.composite.reductions import LOWER_REDUCTIONS, LOWER_SHARES
from graphrewrite.lowering.recorded_steps import recorded
from graphrewrite.op import LIBRARY, Op
from graphrewrite.rewriting.traces import Step
from graphrewrite.rules import eliminate_dead_nodes

__all__ = [
    "LOWER_ACTIVATIONS",
    "LOWER_ATTENTION",
    "LOWER_COMPOSITE",
    "LOWER_MOVEMENT",
    "LOWER_NORMALISATIONS",
    "LOWER_POOLS",
    "LOWER_PRODUCTS",
    "LOWER_QUANTISED",
    "LOWER_RECURRENT",
    "LOWER_REDUCTIONS",
    "LOWER_REPETITIONS",
    "LOWER_SHARES",
    "LOWER_SUMS",
    "lower_composite",
    "lowered_ops",
]

LOWER_COMPOSITE = (
    *LOWER_RECURRENT,
    *LOWER_QUANTISED,
    *LOWER_ATTENTION,
    *LOWER_PRODUCTS,
    *LOWER_POOLS,
    *LOWER_NORMALISATIONS,
    *LOWER_SHARES,
    *LOWER_REDUCTIONS,
    *LOWER_ACTIVATIONS,
    *LOWER_SUMS,
    *LOWER_MOVEMENT,
    *LOWER_REPETITIONS,
)
"""All composite ops by simpler ones."""


def lowered_ops(member: Rule | Pass) -> frozenset[str]:
    """Return the names of the ops that a rule or pass of `LOWER_COMPOSITE` replaces.

    Examples
    --------
    >>> [sorted(lowered_ops(member)) for member in LOWER_SUMS]
    [['fma'], ['sum'], ['mean']]
    """
    if isinstance(member, Rule):
        return member.definition.root_kinds or frozenset()
    return frozenset({"split"} if member is write_split_by_slices else ())


def lower_composite(graph: Graph, *, keep: Iterable[Op | str] = (), steps: list[Step] | None = None) -> Graph:
    """Return a graph whose composite ops are written as simpler ones, except those that a target has.

    Parameters
    ----------
    graph : Graph
        A network of the level ``nn``.
    keep : iterable of Op or str
        What stays: rules whose root is one of these ops are left out.
    steps : list of Step, optional
        Collects what each rule did.

    Returns
    -------
    Graph
        Equal within rounding. What no rule can write as simpler ops, for its sizes are symbolic for one, stays as well:
        the rule's `explain` says why. Dead nodes are left out.

    Raises
    ------
    UnknownOpError
        If there is no op of a name to keep.

    Examples
    --------
    >>> g = Graph.parse('''graph g
    ... x = input() : f32[N,3]
    ... a = softmin(x)
    ... b = reduce_l1(a, axes=[1])
    ... y = output(b)''')
    >>> print(lower_composite(g, keep=["softmax"]))
    graph g
    x = input() : f32[N,3]
    neg_1 = neg(x) : f32[N,3]
    softmax_1 = softmax(neg_1) : f32[N,3]
    abs_1 = abs(softmax_1) : f32[N,3]
    reduce_sum_1 = reduce_sum(abs_1, axes=[1]) : f32[N,1]
    y = output(reduce_sum_1)
    """
    kept = frozenset(each.name if isinstance(each, Op) else each for each in keep)
    names = sorted(LIBRARY.keys() | graph.ops)
    for name in sorted(kept):
        if name not in names:
            raise UnknownOpError(f"keep names {name!r}, which is not an op{did_you_mean(name, names)}")
    members = [member for member in LOWER_COMPOSITE if not lowered_ops(member) & kept]
    return recorded(graph, (*members, eliminate_dead_nodes), steps)
