"""Element-wise calls that write their result into the array of an operand without further readers."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from graphrewrite import op
from graphrewrite.execution.program.call import Call, Values
from graphrewrite.execution.program.kernel import Kernel
from graphrewrite.op.nn.activation import limited, rectified
from graphrewrite.op.op import Op
from graphrewrite.op.tensor.error_function import error_function

__all__ = ["InPlace", "may_overwrite", "reusing"]

_CACHE = 1 << 18
"""Size of the blocks, in bytes, on which several steps are done at a time: a part of a typical second-level cache."""


Action = Callable[[np.ndarray], object]
"""Overwrites an array."""


def _relu(_: Call) -> Action:
    return lambda x: rectified(x, out=x)


def _clip(call: Call) -> Action:
    low, high = map(call.attributes.get, ("low", "high"))

    def limit(x: np.ndarray) -> None:
        for part in _parts(x):
            limited(part, low, high, out=part)

    return limit


def _erf(_: Call) -> Action:
    return lambda x: error_function(x, out=x)


def _parts(x: np.ndarray) -> Sequence[np.ndarray]:
    """Return an array in parts that stay in the cache for several steps."""
    if x.nbytes <= _CACHE or not x.flags.c_contiguous:
        return (x,)
    flat, count = x.reshape(-1), max(1, _CACHE // x.itemsize)
    return [flat[first : first + count] for first in range(0, flat.size, count)]


def _batch_norm(call: Call, gain: np.ndarray, shift: np.ndarray, mean: np.ndarray, var: np.ndarray) -> Action:
    """Compute the steps of the op's function in blocks of channels."""
    with np.errstate(invalid="ignore", divide="ignore"):
        scale = gain / np.sqrt(var + var.dtype.type(call.attributes["epsilon"]))
    shape = (-1, *[1] * (len(call.results[0].shape) - 2))
    mean, scale, shift = (p.reshape(shape) for p in (mean, scale, shift))

    def normalise(x: np.ndarray) -> None:
        if x.nbytes <= _CACHE:
            np.subtract(x, mean, out=x)
            np.multiply(x, scale, out=x)
            np.add(x, shift, out=x)
            return
        channels = max(1, _CACHE * x.shape[1] // max(x[:1].nbytes, 1))
        samples = max(1, channels // max(x.shape[1], 1))
        for first in range(0, len(x), samples):
            for channel in range(0, x.shape[1], channels):
                part = slice(channel, channel + channels)
                y = x[first : first + samples, part]
                y -= mean[part]
                y *= scale[part]
                y += shift[part]

    return normalise


_BINARY: Mapping[Op, np.ufunc] = {op.add: np.add, op.sub: np.subtract, op.mul: np.multiply, op.div: np.divide}


_PREPARED: Mapping[Op, Callable[..., Action]] = {op.relu: _relu, op.clip: _clip, op.erf: _erf}
"""Ops that overwrite their operand in a way that is known before it is computed."""

_IN_PLACE = frozenset({*_PREPARED, op.batch_norm, *_BINARY})
"""Ops that can overwrite their first operand, or either of two, with the same bits as the op's function."""

_FRESH = frozenset(
    {op.conv, op.linear, op.gemm, op.matmul, op.batch_norm, op.concat, op.relu, op.erf, op.sigmoid, op.tanh, *_BINARY}
)
"""Ops whose functions always return a new array."""


@dataclass(frozen=True)
class InPlace(Call):
    """A call that may overwrite an operand, `over`."""

    over: int = 0

    def run(self, values: Values) -> None:
        """Compute the node, in place if its result has the shape of that operand."""
        arrays = [values[node][result] for node, result in self.operands]
        target = arrays[self.over]
        # The operand may be the smaller one of a broadcast, and an array of the caller may be read-only.
        grows = self.op in _BINARY and np.broadcast(*arrays).shape != target.shape
        if grows or not target.flags.writeable:
            super().run(values)
            return
        try:
            if self.op in _BINARY:
                with np.errstate(all="ignore"):
                    _BINARY[self.op](*arrays, out=target)
            elif self.op in _PREPARED:
                _PREPARED[self.op](self)(target)
            else:
                _batch_norm(self, *arrays[1:])(target)
        except Exception as error:
            raise self.failure(arrays, error) from error
        values[self.node] = (target,)

    def bound(
        self,
        constants: Mapping[str, tuple[np.ndarray, ...]],
        *,
        prepared: Callable[[np.ndarray], np.ndarray] | None = None,
    ) -> Callable[[Values], None]:
        """Return a function that does what `run` does, with less to ask in each of many runs."""
        if self.op in _BINARY and len(self.operands) == 2 and self.plain is not None and not self.stated:
            return self._bound_binary()
        known = [constants[node][result] for node, result in self.operands[1:] if node in constants]
        ((source, index), *others), node = self.operands, self.node
        if self.op in _BINARY or len(known) < len(others) or self.plain is None or self.stated:
            return self.run
        try:
            prepare = _PREPARED.get(self.op)
            act = _batch_norm(self, *known) if prepare is None else prepare(self)
        except Exception:  # raised again where it runs, with the shapes
            return self.run

        def compute(values: Values) -> None:
            x = values[source][index]
            if not x.flags.writeable:
                self.run(values)
                return
            try:
                act(x)
            except Exception as error:
                raise self.failure([x, *known], error) from error
            values[node] = (x,)

        return compute

    def _bound_binary(self) -> Callable[[Values], None]:
        """Return a function that does what `run` does, at once where both operands have the same shape."""
        (first, second), node, compute, run = self.operands, self.node, _BINARY[self.op], self.run
        is_first = self.over == 0

        def overwrite(values: Values) -> None:
            x, y = values[first.node][first.result], values[second.node][second.result]
            target = x if is_first else y
            if x.shape == y.shape and target.flags.writeable and x.dtype is y.dtype:
                with np.errstate(all="ignore"):
                    compute(x, y, target)
                values[node] = (target,)
            else:
                run(values)

        return overwrite


def may_overwrite(call: Call) -> bool:
    """Tell whether a call may write its result into the array of its first operand, if that has its type."""
    return call.op in _IN_PLACE and call.arrangement is None


def reusing(steps: Sequence[Call | Kernel], wanted: Collection[str]) -> list[Call | Kernel]:
    """Return the steps, of which calls are in place where possible.

    The first operand may be overwritten, and the second one of arithmetic, if an earlier call allocated it, it has the
    type of the result, and this call is its only reader.
    """
    reads = Counter(o.node for step in steps for call in _calls(step) for o in call.operands)
    fresh: dict[str, Call] = {}
    scheduled: list[Call | Kernel] = []
    for step in steps:
        if not isinstance(step, Call):
            scheduled.append(step)
            continue
        call = step
        for over, operand in enumerate(step.operands[: 2 if step.op in _BINARY else 1] if step.op in _IN_PLACE else ()):
            producer = fresh.get(operand.node)
            if (
                producer is not None
                and reads[producer.node] == 1
                and producer.node not in wanted
                and _alike(producer, call)
            ):
                call = call.replaced(InPlace, over=over)
                break
        if isinstance(call, InPlace) or (call.op in _FRESH and call.arrangement is None):
            fresh[call.node] = call
        scheduled.append(call)
    return scheduled


def _calls(step: Call | Kernel) -> Sequence[Call]:
    return (step,) if isinstance(step, Call) else step.calls


def _alike(producer: Call, call: Call) -> bool:
    """Tell whether the result of a call is of the same float type as its operand."""
    return (
        call.arrangement is None
        and len(producer.results) == len(call.results) == 1
        and producer.results[0] == call.results[0]
        and call.results[0].element in ("f32", "f64")
    )
