"""Whether an op computes what its inference says."""

from __future__ import annotations

import warnings

import numpy as np

from graphrewrite.op.op import Op
from graphrewrite.testing.generation.fitting import Case
from graphrewrite.types import Stream, Type, element_dtype

__all__ = ["computes"]


def computes(op: Op, case: Case) -> bool:
    """Tell whether an op computes on operands of the types of a case, and gives what they say.

    Examples
    --------
    >>> from graphrewrite import Tensor, op
    >>> x = Tensor("f32", ("N", 3))
    >>> computes(op.relu, Case((x,), {}, (x,)))
    True
    """
    arrays = [np.ones(_sizes(kind), element_dtype(kind.element)) for kind in case.types]
    try:
        with warnings.catch_warnings(), np.errstate(all="ignore"):
            warnings.simplefilter("ignore")
            found = op.compute(arrays, {**op.attributes, **case.attributes}, op.arrangement(case.types))
    except Exception:  # whatever a user's function raises
        return False
    return [array.shape for array in found] == [_sizes(kind) for kind in case.results]


def _sizes(kind: Type) -> tuple[int, ...]:
    batch = (2,) if isinstance(kind, Stream) else ()
    return batch + tuple(2 if isinstance(size, str) else size for size in kind.shape)
