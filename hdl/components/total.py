"""total: the sum of several groups of channels, the second half of average pooling."""

import numpy as np
from numpy.typing import NDArray

from graphrewrite.hdl.component import streams
from graphrewrite.hdl.components.reduce import Reduction, exact_sum, grouped, lanes_of_groups, reducing
from graphrewrite.op.define import define_op
from graphrewrite.types import FixedPoint, Stream, Type

__all__ = ["TOTAL", "total"]


def _infer(x: Type, *, groups: int, element: FixedPoint, blocks: int, stages: int) -> Stream:
    (stream,) = streams(x)
    reduced = lanes_of_groups(stream, groups, blocks, element, stages)
    exact_sum(stream, groups, element)
    (result,) = streams(reduced)
    return result


@define_op(name="stream_sum", level="stream", infer=_infer)
def total(
    x: NDArray[np.integer], *, groups: int, element: FixedPoint, blocks: int = 1, stages: int = 1
) -> NDArray[np.integer]:
    """Return the sum of ``groups`` numbers for each channel, in a format that holds every sum.

    Number g of channel c is channel ``g * C + c``. Lanes are as for ``maximum``.

    Parameters
    ----------
    blocks : int
        So many blocks of channels follow each other, a beat each, each with all groups of its own channels.
    stages : int
        Pipeline stages of the additions, the output buffer included: one is the least, one a level the most.

    Examples
    --------
    >>> total(np.array([[1, 8, 5, 2]]), groups=2, element=FixedPoint(True, 8)).tolist()
    [[6, 10]]
    """
    sums = grouped(x, groups, blocks).sum(axis=2, dtype=np.int64).astype(element.dtype)
    return np.asarray(sums).reshape(len(x), -1, *x.shape[2:])


TOTAL = reducing(total, lambda site: Reduction.of_groups(site, is_sum=True))
"""The component of `total`."""
