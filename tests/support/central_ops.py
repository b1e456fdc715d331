"""The ops that most rules and pipelines are about, and how many examples a test of each op has."""

from __future__ import annotations

from hypothesis import settings

from graphrewrite.op.op import Op
from graphrewrite.testing.generation.tables import DEFAULT_OPS

CENTRAL_OPS: tuple[str, ...] = (
    *DEFAULT_OPS,
    *("cast", "constant", "counter", "exp", "from_fixed", "from_quantised", "gemm", "input", "integer_add"),
    *("integer_conv", "integer_linear", "log", "name_axes", "output", "pow", "requantise", "to_fixed"),
    *("to_quantised", "transfer"),
)
"""Names; every pair of these is in some of a few thousand graphs."""
_FEW, _SOME = 3, 8


def examples_of(op: Op) -> settings:
    """Settings for a test of each op of the library: few examples of those that are not central.

    All examples of such an op together cost less than a quarter of a second so. A graph holds several nodes of the op.
    """
    now = settings().max_examples
    most = _SOME if op.name in CENTRAL_OPS else _FEW
    return settings(max_examples=now if now > 100 else min(most, now))
