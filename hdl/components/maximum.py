"""maximum: the greatest of several groups of channels, the second half of max pooling."""

import numpy as np
from numpy.typing import NDArray

from graphrewrite.hdl.component import streams
from graphrewrite.hdl.components.reduce import Reduction, grouped, lanes_of_groups, reducing
from graphrewrite.op.define import define_op
from graphrewrite.types import Stream, Type

__all__ = ["MAXIMUM", "maximum"]


def _infer(x: Type, *, groups: int, blocks: int, stages: int) -> Stream:
    (stream,) = streams(x)
    return lanes_of_groups(stream, groups, blocks, stream.element, stages)


@define_op(name="stream_maximum", level="stream", infer=_infer)
def maximum(x: NDArray[np.integer], *, groups: int, blocks: int = 1, stages: int = 1) -> NDArray[np.integer]:
    """Return the greatest of ``groups`` numbers for each channel; number g of channel c is channel ``g * C + c``.

    Where the lanes hold all C channels, once or several times, so do the lanes of the result; where they divide them, a
    beat of the result is made of several beats, and has as many lanes.

    Parameters
    ----------
    blocks : int
        So many blocks of channels follow each other, a beat each, each with all groups of its own channels.
    stages : int
        Pipeline stages of the comparisons, the output buffer included: one is the least, one a level the most.

    Examples
    --------
    >>> maximum(np.array([[1, 8, 5, 2]]), groups=2).tolist()
    [[5, 8]]
    """
    return np.asarray(grouped(x, groups, blocks).max(axis=2)).reshape(len(x), -1, *x.shape[2:])


MAXIMUM = reducing(maximum, lambda site: Reduction.of_groups(site, is_sum=False))
"""The component of `maximum`."""
