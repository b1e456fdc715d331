"""Element-wise calls that write their result into the array of an operand without further readers."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from graphrewrite import op
from graphrewrite.execution.program.call import Call, Values
from graphrewrite.op.op import Op

__all__ = ["InPlace", "reusing"]

_CACHE = 1 << 18
"""Size of the blocks, in bytes, on which several steps are done at a time: a part of a typical second-level cache."""


def _relu(call: Call, x: np.ndarray) -> None:
    np.maximum(x, x.dtype.type(0), out=x)


def _clip(call: Call, x: np.ndarray) -> None:
    for bound, limit in (("low", np.maximum), ("high", np.minimum)):
        if call.attributes[bound] is not None:
            limit(x, x.dtype.type(call.attributes[bound]), out=x)


def _batch_norm(
    call: Call, x: np.ndarray, gain: np.ndarray, shift: np.ndarray, mean: np.ndarray, var: np.ndarray
) -> None:
    """Compute the steps of the op's function in blocks of channels."""
    with np.errstate(invalid="ignore", divide="ignore"):
        scale = gain / np.sqrt(var + var.dtype.type(call.attributes["epsilon"]))
    mean, scale, shift = (p.reshape(-1, *[1] * (x.ndim - 2)) for p in (mean, scale, shift))
    channels = max(1, _CACHE * x.shape[1] // max(x[:1].nbytes, 1))
    samples = max(1, channels // max(x.shape[1], 1))
    for first in range(0, len(x), samples):
        for channel in range(0, x.shape[1], channels):
            part = slice(channel, channel + channels)
            y = x[first : first + samples, part]
            y -= mean[part]
            y *= scale[part]
            y += shift[part]


_BINARY: Mapping[Op, np.ufunc] = {op.add: np.add, op.sub: np.subtract, op.mul: np.multiply}


def _binary(call: Call, x: np.ndarray, y: np.ndarray) -> None:
    _BINARY[call.op](x, y, out=x)


_IN_PLACE: Mapping[Op, Callable[..., None]] = {
    op.relu: _relu,
    op.clip: _clip,
    op.batch_norm: _batch_norm,
    **dict.fromkeys(_BINARY, _binary),
}
"""Ops that can overwrite their first operand, with the same bits as the op's function."""

_FRESH = frozenset({op.conv, op.linear, op.gemm, op.matmul, op.add, op.mul, op.sub, op.batch_norm, op.relu})
"""Ops whose functions always return a new array."""


@dataclass(frozen=True)
class InPlace(Call):
    """A call that may overwrite its first operand."""

    def run(self, values: Values) -> None:
        """Compute the node, in place if its result has the shape of the first operand."""
        arrays = [values[node][result] for node, result in self.operands]
        first = arrays[0]
        # The first operand may be the smaller one of a broadcast, and an array of the caller may be read-only.
        grows = self.op in _BINARY and np.broadcast(*arrays).shape != first.shape
        if grows or not first.flags.writeable:
            super().run(values)
            return
        try:
            _IN_PLACE[self.op](self, *arrays)
        except Exception as error:
            raise self.failure(arrays, error) from error
        values[self.node] = (first,)


def reusing(calls: Sequence[Call], wanted: Collection[str]) -> list[Call]:
    """Return the calls, in place where possible.

    An operand may be overwritten if an earlier call allocated it, it has the type of the result, and this call is its
    only reader.
    """
    reads = Counter(o.node for call in calls for o in call.operands)
    fresh: dict[str, Call] = {}
    scheduled = []
    for call in calls:
        producer = fresh.get(call.operands[0].node) if call.op in _IN_PLACE else None
        if (
            producer is not None
            and reads[producer.node] == 1
            and producer.node not in wanted
            and _alike(producer, call)
        ):
            call = call.replaced(InPlace)
            fresh[call.node] = call
        elif call.op in _FRESH and call.arrangement is None:
            fresh[call.node] = call
        scheduled.append(call)
    return scheduled


def _alike(producer: Call, call: Call) -> bool:
    """Tell whether the result of a call is of the same float type as its operand."""
    return (
        call.arrangement is None
        and len(producer.results) == len(call.results) == 1
        and producer.results[0] == call.results[0]
        and call.results[0].element in ("f32", "f64")
    )
