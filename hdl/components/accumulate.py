"""accumulate: the sum or the greatest number of all positions of a frame, global pooling."""

import numpy as np
from numpy.typing import NDArray

from graphrewrite.errors import TypeMismatchError, did_you_mean
from graphrewrite.hdl.component import Site, streams
from graphrewrite.hdl.components.reduce import Reduction, exact_sum, reducing
from graphrewrite.op.define import define_op
from graphrewrite.types import FixedPoint, Stream, Type

__all__ = ["ACCUMULATE", "accumulate"]

_KINDS = ("sum", "maximum")


def _infer(x: Type, *, kind: str, element: FixedPoint | None, keepdims: bool) -> Stream:
    (stream,) = streams(x)
    if kind not in _KINDS:
        raise TypeMismatchError(f"kind {kind!r} is not known{did_you_mean(kind, _KINDS)}; give {' or '.join(_KINDS)}")
    shape = (stream.channels, *(1 for _ in stream.shape[1:] if keepdims))
    if kind == "maximum":
        if element not in (None, stream.element):
            raise TypeMismatchError(f"a greatest number of {stream} is no {element}; leave out element and requantise")
        return Stream(stream.element, shape, stream.lanes)
    if element is None:
        raise TypeMismatchError("a sum has no format of its own; give element=FixedPoint(…), one that holds every sum")
    exact_sum(stream, stream.positions, element)
    (result,) = streams(Stream(element, shape, stream.lanes))
    return result


@define_op(level="stream", infer=_infer)
def accumulate(
    x: NDArray[np.integer], *, kind: str, element: FixedPoint | None = None, keepdims: bool = True
) -> NDArray[np.integer]:
    """Return the sum or the greatest number of all positions, channel by channel.

    Parameters
    ----------
    keepdims : bool
        Whether each axis of positions stays, of size one.

    Examples
    --------
    >>> x = np.array([[[1, 8, 5], [2, 3, 4]]])
    >>> accumulate(x, kind="sum", element=FixedPoint(True, 8)).tolist()
    [[[14], [9]]]
    >>> accumulate(x, kind="maximum", keepdims=False).tolist()
    [[8, 4]]
    """
    axes = tuple(range(2, x.ndim))
    if kind == "maximum":
        return np.asarray(x.max(axis=axes, keepdims=keepdims))
    sums = x.sum(axis=axes, dtype=np.int64, keepdims=keepdims)
    return np.asarray(sums).astype(x.dtype if element is None else element.dtype)


def _reduction(site: Site) -> Reduction:
    x = site.operands[0]
    return Reduction(x, site.results[0], 1, x.positions, site.attributes["kind"] == "sum")


ACCUMULATE = reducing(accumulate, _reduction)
"""The component of `accumulate`."""
