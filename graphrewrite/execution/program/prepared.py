"""Functions of ops whose constant operands are known: what follows from these is computed once."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np

from graphrewrite import op
from graphrewrite.execution.program.call import Call
from graphrewrite.op.tensor.linear_algebra import is_copied

__all__ = ["prepared"]


def prepared(call: Call, constants: Mapping[str, tuple[np.ndarray, ...]]) -> Callable[..., np.ndarray] | None:
    r"""Return a function of the operands with the bits of the op's function; None if nothing can be prepared.

    Examples
    --------
    >>> from graphrewrite import Graph
    >>> g = Graph.parse("graph g\nx = input() : f32[N]\nr = relu(x)\ny = output(r)")
    >>> print(prepared(Call.of(g, "r"), {}))
    None
    """
    weights = constants.get(call.operands[1].node) if len(call.operands) > 1 else None
    if weights is None or call.op not in (op.linear, op.gemm):
        return None
    w, a = weights[call.operands[1].result], call.attributes
    if call.op is op.gemm and not (a["alpha"] == a["beta"] == 1 and a["trans_b"] and not a["trans_a"]):
        return None
    view, copies = w.T, list[np.ndarray]()

    def multiply(x: np.ndarray, w: np.ndarray, b: np.ndarray | None = None) -> np.ndarray:
        if is_copied(w, x):
            if not copies:
                copies.append(np.ascontiguousarray(view))
            y: np.ndarray = np.matmul(x, copies[0])
        else:
            y = np.matmul(x, view)
        return y if b is None else y + b

    return multiply
