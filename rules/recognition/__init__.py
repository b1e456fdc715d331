"""Composite ops from their parts: what an exporter took apart is one node again.

One node is computed faster, with fewer roundings, and later rules know what it is. Each rule is the way back of one of
`graphrewrite.lowering.composite`, which takes its result apart again; the two sets are not for one rewrite.

Equal nodes are to be one before, as `graphrewrite.rules.RULES` make them: a norm subtracts its mean once.

Examples
--------
>>> from graphrewrite import Graph, rewrite
>>> g = Graph.parse('''graph g
... x = input() : f32[N,3]
... a = exp(x)
... b = reduce_sum(a, axes=[1])
... c = div(a, b)
... y = output(c)''')
>>> print(rewrite(g, RECOGNITION))
graph g
x = input() : f32[N,3]
softmax_1 = softmax(x, axis=1) : f32[N,3]
y = output(softmax_1)
"""

from __future__ import annotations

from graphrewrite.rules.recognition.activations import RECOGNISE_ACTIVATIONS
from graphrewrite.rules.recognition.attention import RECOGNISE_ATTENTION
from graphrewrite.rules.recognition.limits import RECOGNISE_LIMITS
from graphrewrite.rules.recognition.movement import RECOGNISE_MOVEMENT
from graphrewrite.rules.recognition.normalisations import RECOGNISE_NORMALISATIONS
from graphrewrite.rules.recognition.reductions import RECOGNISE_REDUCTIONS
from graphrewrite.rules.recognition.rotary import RECOGNISE_ROTARY_EMBEDDING

__all__ = [
    "RECOGNISE_ACTIVATIONS",
    "RECOGNISE_ATTENTION",
    "RECOGNISE_LIMITS",
    "RECOGNISE_MOVEMENT",
    "RECOGNISE_NORMALISATIONS",
    "RECOGNISE_REDUCTIONS",
    "RECOGNISE_ROTARY_EMBEDDING",
    "RECOGNITION",
]

RECOGNITION = (
    *RECOGNISE_LIMITS,
    *RECOGNISE_ACTIVATIONS,
    *RECOGNISE_REDUCTIONS,
    *RECOGNISE_NORMALISATIONS,
    *RECOGNISE_MOVEMENT,
    *RECOGNISE_ROTARY_EMBEDDING,
    *RECOGNISE_ATTENTION,
)
"""All composite ops from their parts."""
