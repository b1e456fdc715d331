"""Operand types and attributes that an op accepts: one case of it, found by asking its inference."""

from __future__ import annotations

import random
import warnings
from collections.abc import Collection, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from graphrewrite.op.op import Op
from graphrewrite.testing.generation.kinds import retyped
from graphrewrite.testing.generation.suggested import adapted
from graphrewrite.testing.generation.tracing import OperandAxis, Trace, traced
from graphrewrite.types import Dimension, FixedPoint, Stream, Type, element_dtype

__all__ = ["Case", "accepted_case", "computes", "fit", "fits_format", "refusal"]

_STEPS = 20
"""Sizes to mend before giving up."""


@dataclass(frozen=True)
class Case:
    """A use of an op that its inference accepts.

    Attributes
    ----------
    types : tuple of Tensor or Stream
        Of the operands.
    attributes : dict
        Those that are not left to their defaults.
    results : tuple of Tensor or Stream
        What it gives.
    """

    types: tuple[Type, ...]
    attributes: dict[str, Any] = field(default_factory=dict)
    results: tuple[Type, ...] = ()


def _resized(types: tuple[Type, ...], place: OperandAxis, size: Dimension) -> tuple[Type, ...]:
    """Operand types with another size of one axis."""
    operand, axis = place
    shape = types[operand].shape
    changed = retyped(types[operand], shape=(*shape[:axis], size, *shape[axis + 1 :]))
    return (*types[:operand], changed, *types[operand + 1 :])


def fit(
    op: Op,
    types: Sequence[Type],
    attributes: Mapping[str, Any],
    loose: Collection[int],
    rng: random.Random,
    *,
    pinned: Collection[OperandAxis] = (),
    guesses: int = 2,
    noted: Trace | None = None,
) -> Case | None:
    """Return a case of an op near to some operand types: sizes of loose operands are mended until they fit.

    Examples
    --------
    >>> from graphrewrite import Tensor, op
    >>> types = [Tensor("f32", ("N", 2, 3, 3)), Tensor("f32", (4, 7, 1, 1)), Tensor("f32", (5,))]
    >>> print(*fit(op.conv, types, {}, (1, 2), random.Random(0)).types)
    f32[N,2,3,3] f32[4,2,1,1] f32[4]
    """
    current = adapted(op, types, loose)
    found = accepted_case(op, current, attributes)
    if found is not None or not loose:
        return found
    seen = {current}
    for _ in range(_STEPS):
        notes: Trace = []
        try:
            op.infer(*traced(current, notes), **attributes)
            return accepted_case(op, current, attributes)
        except Exception:  # an inference of a user's, asked about what it may not foresee
            near = _mended(current, notes, loose, pinned, seen)
        if noted is not None:
            noted += notes
        if near is None and guesses and notes:  # where no size was looked at, no other one helps
            guesses -= 1
            near = _guessed(current, loose, pinned, rng)
        if near is None:
            return None
        current = near
        seen.add(current)
    return None


def accepted_case(op: Op, types: tuple[Type, ...], attributes: Mapping[str, Any]) -> Case | None:
    """Return the case of an op with these types and attributes, if it accepts them."""
    try:
        results = op.result_types(types, attributes)
    except Exception:  # an inference of a user's, asked about what it may not foresee
        return None
    made = Case(types, dict(attributes), results)
    return made if fits_format(op, made) else None


def refusal(op: Op, types: Sequence[Type], attributes: Mapping[str, Any]) -> str:
    """Return what an op says of types and attributes that it does not take."""
    try:
        op.infer(*types, **attributes)
    except Exception as error:  # an inference of a user's, asked about what it may not foresee
        return str(error)
    return f"{op.name} was found to take no {', '.join(map(str, types))}"


def _mended(
    types: tuple[Type, ...],
    notes: Trace,
    loose: Collection[int],
    pinned: Collection[OperandAxis],
    seen: Collection[tuple[Type, ...]],
) -> tuple[Type, ...] | None:
    for place, size in reversed(notes):
        if place.operand not in loose or place in pinned or types[place.operand].shape[place.axis] == size:
            continue
        with suppress(Exception):  # a layout or a stream has no such size
            found = _resized(types, place, size)
            if found not in seen:
                return found
    return None


def _guessed(
    types: tuple[Type, ...], loose: Collection[int], pinned: Collection[OperandAxis], rng: random.Random
) -> tuple[Type, ...] | None:
    """Give one axis the size of another."""
    free = [
        OperandAxis(operand, axis)
        for operand in sorted(loose)
        for axis in range(len(types[operand].shape))
        if OperandAxis(operand, axis) not in pinned
    ]
    sizes = sorted({size for kind in types for size in kind.shape}, key=str)
    if not free:
        return None
    place = rng.choice(free)
    with suppress(Exception):  # a layout or a stream has no such size
        return _resized(types, place, rng.choice(sizes))
    return None


_EXACT = frozenset({"integer_add", "integer_linear", "integer_conv"})
"""Ops whose result must fit the format that an attribute states, which their inference leaves to whoever uses them."""


def fits_format(op: Op, case: Case) -> bool:
    """Tell whether an exact op's results fit the format that it is given.

    Examples
    --------
    >>> from graphrewrite import Tensor, op
    >>> x = Tensor(FixedPoint(True, 8), ("N", 2))
    >>> narrow = Case((x, x), {"element": FixedPoint(True, 8)}, (x,))
    >>> fits_format(op.integer_add, narrow), fits_format(op.requantise, narrow)
    (False, True)
    """
    if op.name not in _EXACT or op.level != "integer":
        return True
    element = case.results[0].element
    if not isinstance(element, FixedPoint) or not all(isinstance(t.element, FixedPoint) for t in case.types):
        return False
    formats = [t.element for t in case.types if isinstance(t.element, FixedPoint)]
    if op.name == "integer_add":
        shifts: tuple[int, ...] = case.attributes.get("shifts", (0, 0))
        if len(shifts) != len(formats):
            return False
        lows = [f.minimum << s for f, s in zip(formats, shifts, strict=True)]
        highs = [f.maximum << s for f, s in zip(formats, shifts, strict=True)]
        return element.minimum <= sum(lows) and sum(highs) <= element.maximum
    x, w, b = formats
    count = 1
    for size in case.types[1].shape[1:]:
        if isinstance(size, str):
            return False  # there is no bound for a sum of so many products
        count *= size
    ends = [a * b for a in (x.minimum, x.maximum) for b in (w.minimum, w.maximum)]
    low, high = count * min(ends) + b.minimum, count * max(ends) + b.maximum
    return element.minimum <= min(low, b.minimum) and max(high, b.maximum) <= element.maximum


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
