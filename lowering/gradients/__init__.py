"""Gradients as rules: each writes the vector-Jacobian product of an op, `Op.vjp`, as other ops.

A family of ops has a tuple of rules, and `GRADIENTS` is all of them. Each is checked like any other rule, against the
difference quotient, which is what `Op.vjp` computes.

Examples
--------
>>> from graphrewrite import Graph, op, rewrite
>>> g = Graph.parse('''graph g
... g = input() : f32[N,3]
... x = input() : f32[N,3]
... y = input() : f32[3]
... d = vjp_mul(g, x, y, wrt=1)
... dy = output(d)''', ops=[op.mul.vjp])
>>> print(rewrite(g, GRADIENTS))
graph g
g = input() : f32[N,3]
x = input() : f32[N,3]
y = input() : f32[3]
mul_1 = mul(g, x) : f32[N,3]
reduce_sum_1 = reduce_sum(mul_1, axes=[0]) : f32[1,3]
squeeze_1 = squeeze(reduce_sum_1, axes=[0]) : f32[3]
dy = output(squeeze_1)
"""

from __future__ import annotations

from graphrewrite.lowering.gradients.activations import DIFFERENTIATE_ACTIVATIONS
from graphrewrite.lowering.gradients.arithmetic import DIFFERENTIATE_ARITHMETIC
from graphrewrite.lowering.gradients.attention import DIFFERENTIATE_ATTENTION
from graphrewrite.lowering.gradients.convolutions import DIFFERENTIATE_CONVOLUTIONS
from graphrewrite.lowering.gradients.indexing import DIFFERENTIATE_INDEXING
from graphrewrite.lowering.gradients.movement import DIFFERENTIATE_MOVEMENT
from graphrewrite.lowering.gradients.pools import DIFFERENTIATE_POOLS
from graphrewrite.lowering.gradients.products import DIFFERENTIATE_PRODUCTS
from graphrewrite.lowering.gradients.reductions import DIFFERENTIATE_REDUCTIONS
from graphrewrite.lowering.gradients.resizing import DIFFERENTIATE_RESIZING
from graphrewrite.lowering.gradients.rounding import DIFFERENTIATE_ROUNDING
from graphrewrite.lowering.gradients.sampling import DIFFERENTIATE_SAMPLING
from graphrewrite.lowering.gradients.spectra import DIFFERENTIATE_SPECTRA

__all__ = [
    "DIFFERENTIATE_ACTIVATIONS",
    "DIFFERENTIATE_ARITHMETIC",
    "DIFFERENTIATE_ATTENTION",
    "DIFFERENTIATE_CONVOLUTIONS",
    "DIFFERENTIATE_INDEXING",
    "DIFFERENTIATE_MOVEMENT",
    "DIFFERENTIATE_POOLS",
    "DIFFERENTIATE_PRODUCTS",
    "DIFFERENTIATE_REDUCTIONS",
    "DIFFERENTIATE_RESIZING",
    "DIFFERENTIATE_ROUNDING",
    "DIFFERENTIATE_SAMPLING",
    "DIFFERENTIATE_SPECTRA",
    "GRADIENTS",
]

GRADIENTS = (
    *DIFFERENTIATE_ARITHMETIC,
    *DIFFERENTIATE_ACTIVATIONS,
    *DIFFERENTIATE_REDUCTIONS,
    *DIFFERENTIATE_PRODUCTS,
    *DIFFERENTIATE_CONVOLUTIONS,
    *DIFFERENTIATE_POOLS,
    *DIFFERENTIATE_MOVEMENT,
    *DIFFERENTIATE_INDEXING,
    *DIFFERENTIATE_ATTENTION,
    *DIFFERENTIATE_RESIZING,
    *DIFFERENTIATE_ROUNDING,
    *DIFFERENTIATE_SAMPLING,
    *DIFFERENTIATE_SPECTRA,
)
"""All gradients."""
