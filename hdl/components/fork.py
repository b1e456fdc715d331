"""fork: one stream for two readers."""

import numpy as np
from numpy.typing import NDArray

from graphrewrite.errors import TypeMismatchError
from graphrewrite.hdl.component import Generic, Site, buffered, per_beat, streams
from graphrewrite.op.define import define_op
from graphrewrite.types import Stream, Type

__all__ = ["FORK", "fork"]


def _infer(x: Type, *, branches: int) -> tuple[Stream, ...]:
    (stream,) = streams(x)
    if branches != 2:
        raise TypeMismatchError(f"a fork has two branches, not {branches}; chain forks for more readers")
    return (stream, stream)


@define_op(level="stream", infer=_infer, results=2)
def fork(x: NDArray[np.integer], *, branches: int = 2) -> tuple[NDArray[np.integer], ...]:
    """Return the operand twice, in lock step.

    Examples
    --------
    >>> [y.tolist() for y in fork(np.array([[1, 2]]))]
    [[[1, 2]], [[1, 2]]]
    """
    return (x,) * branches


def _generics(site: Site) -> dict[str, Generic]:
    return {"WIDTH": site.operands[0].payload_width}


FORK = buffered(fork, "fork.vhd", _generics, per_beat)
"""The component of `fork`."""
