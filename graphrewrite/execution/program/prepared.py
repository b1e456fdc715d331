"""Functions of ops whose constant operands are known: what follows from these is computed once."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np

from graphrewrite import op
from graphrewrite.execution.program.call import Call
from graphrewrite.op.precision import times_weights

__all__ = ["prepared"]


def prepared(call: Call, constants: Mapping[str, tuple[np.ndarray, ...]]) -> Callable[[np.ndarray], np.ndarray] | None:
    r"""Return a function of the first operand with the bits of the op's function; None if nothing can be prepared.

    Examples
    --------
    >>> from graphrewrite import Graph
    >>> g = Graph.parse("graph g\nx = input() : f32[N]\nr = relu(x)\ny = output(r)")
    >>> print(prepared(Call.of(g, "r"), {}))
    None
    """
    known = [constants[node][result] for node, result in call.operands[1:] if node in constants]
    if call.op not in (op.linear, op.gemm) or len(known) < len(call.operands) - 1:
        return None
    (w, *b), a = known, call.attributes
    if call.op is op.gemm and not (a["alpha"] == a["beta"] == 1 and a["trans_b"] and not a["trans_a"]):
        return None
    transposed = w.T  # a view: in a copy, weights would take their room twice

    def multiply(x: np.ndarray) -> np.ndarray:
        y = times_weights(x, transposed)
        return np.add(y, b[0], out=y) if b else y

    return multiply
