"""Element-wise calls that write their result where their operand lies, which nobody reads any more."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, fields

import numpy as np

from graphrewrite import op
from graphrewrite.errors import EvaluationError
from graphrewrite.op.op import Op
from graphrewrite.program.call import Call, Values

__all__ = ["InPlace", "reusing"]

_CACHE = 1 << 18
"""Bytes of an array on which several steps are done before the next piece: a part of a usual second-level cache."""


def _relu(call: Call, x: np.ndarray) -> None:
    np.maximum(x, x.dtype.type(0), out=x)


def _clip(call: Call, x: np.ndarray) -> None:
    for bound, limit in (("low", np.maximum), ("high", np.minimum)):
        if call.attributes[bound] is not None:
            limit(x, x.dtype.type(call.attributes[bound]), out=x)


def _batch_norm(
    call: Call, x: np.ndarray, gain: np.ndarray, shift: np.ndarray, mean: np.ndarray, var: np.ndarray
) -> None:
    """The function's own steps, in pieces of some channels."""
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
"""What can write over its first operand; the same bits as the op's function gives."""

_FRESH = frozenset({op.conv, op.linear, op.gemm, op.matmul, op.add, op.mul, op.sub, op.batch_norm, op.relu})
"""Ops whose functions always give an array of their own."""


@dataclass(frozen=True)
class InPlace(Call):
    """A call that may write over its first operand."""

    def run(self, values: Values) -> None:
        """Compute the node, in place if the operands have the shapes that the types say.

        Parameters
        ----------
        values : dict
            Holds the operands; takes the result.

        Raises
        ------
        EvaluationError
            Naming the node, the op and the operands' shapes.
        """
        arrays = [values[o.node][o.result] for o in self.operands]
        first = arrays[0]
        grows = self.op in _BINARY and np.broadcast(*arrays).shape != first.shape
        if grows or not first.flags.writeable:
            super().run(values)
            return
        try:
            _IN_PLACE[self.op](self, *arrays)
        except Exception as error:
            shapes = ", ".join(f"{a.dtype}{list(a.shape)}" for a in arrays)
            raise EvaluationError(f"{self.op.name}({shapes}) failed: {error}", node=self.node) from error
        values[self.node] = (first,)


def reusing(calls: Sequence[Call], wanted: Collection[str]) -> list[Call]:
    """Return calls of which those write in place that may.

    An operand may be written over if it was made by a call before, in an array of its own, has the type of the result,
    and this is the only place where it is read.

    Parameters
    ----------
    calls : sequence of Call
        In order.
    wanted : collection of str
        Nodes whose values are returned.

    Returns
    -------
    list of Call
    """
    reads = Counter(o.node for call in calls for o in call.operands)
    fresh: dict[str, Call] = {}
    found = []
    for call in calls:
        made = fresh.get(call.operands[0].node) if call.op in _IN_PLACE else None
        if made is not None and reads[made.node] == 1 and made.node not in wanted and _alike(made, call):
            call = InPlace(**{field.name: getattr(call, field.name) for field in fields(Call)})
            fresh[call.node] = call
        elif call.op in _FRESH and call.arrangement is None:
            fresh[call.node] = call
        found.append(call)
    return found


def _alike(made: Call, call: Call) -> bool:
    """Whether a call gives floats of the shape that it is given."""
    return (
        call.arrangement is None
        and len(made.results) == len(call.results) == 1
        and made.results[0] == call.results[0]
        and call.results[0].element in ("f32", "f64")
    )
