"""Slices: of slices, of concatenations and of other ops that move entries, and what they leave of them.

What a slice takes of an axis is told by its start, its end and its step, as op.slice takes them. Of an axis of known
size it is a range of positions, with which Python computes.
"""

from __future__ import annotations

from functools import partial, reduce
from typing import Any, NamedTuple

from graphrewrite import Constant, decline, op, rule
from graphrewrite.op.tensor.slice_sizes import FAR, picked
from graphrewrite.rules.operands import first_operand, operands_of
from graphrewrite.rules.shapes import reshaped
from graphrewrite.types import Quantised

__all__ = [
    "concat_of_rows",
    "concat_of_slices",
    "crop_as_slice",
    "gather_as_slice",
    "merge_slices",
    "slice_before_expand",
    "slice_of_concat",
    "slice_of_pad",
    "slice_of_sizes",
    "sliced",
    "taken",
    "write_bounds_of_slice",
]

_ALL = (0, FAR, 1)
"""Start, end and step of a slice that takes everything."""


def taken(node: Any, shape: tuple[Any, ...]) -> dict[int, tuple[Any, Any, int]]:
    """Return start, end and step of a slice by axis, without the axes of which it takes everything."""
    rank, count = len(shape), len(node.starts)
    axes = range(count) if node.axes is None else node.axes
    steps = (1,) * count if node.steps is None else node.steps
    found = {}
    for axis, start, end, step in zip(axes, node.starts, node.ends, steps, strict=True):
        bounds = _in_one_form(shape[axis % rank], (start, end, step))
        if bounds != _ALL:
            found[axis % rank] = bounds
    return found


def _in_one_form(size, bounds):
    """Bounds in the form that those that take the same share, as far as the size of the axis is known."""
    positions = _positions(size, bounds)
    if positions is not None:
        return _bounds(positions, size)
    start, end, step = bounds
    if step > 0 and isinstance(start, int) and start <= -FAR:
        start = 0
    if step > 0 and (end == size or (isinstance(end, int) and end >= FAR)):
        end = FAR
    return start, end, step


def _positions(size, bounds):
    """The positions that bounds take of an axis of known size, as a range."""
    if not isinstance(size, int) or not all(isinstance(number, int) for number in bounds):
        return None
    return range(size)[picked(size, *bounds)]


def _bounds(positions, size):
    """The bounds that take some positions of an axis."""
    if not positions:
        return (0, 0, 1)
    if len(positions) == 1:
        positions = range(positions[0], positions[0] + 1)
    if positions == range(size):
        return _ALL
    end = positions[-1] + (1 if positions.step > 0 else -1)
    return (positions[0], end if end >= 0 else -FAR, positions.step)


def sliced(x: Any, bounds: dict[int, tuple[Any, Any, int]]) -> Any:
    """Return a slice of a value that takes so much of each axis; the value, if that is everything."""
    said = _said(bounds)
    return op.slice(x, **said) if said["axes"] else x


_SAID = ("starts", "ends", "axes", "steps")


def _said(bounds):
    """The attributes of a slice that takes so much of each axis."""
    axes = tuple(sorted(axis for axis in bounds if bounds[axis] != _ALL))
    starts, ends, steps = zip(*(bounds[axis] for axis in axes), strict=True) if axes else ((), (), ())
    said = {"starts": starts, "ends": ends, "axes": axes}
    return said if set(steps) <= {1} else said | {"steps": steps}


def _within(size, inner, outer):
    """The bounds of a slice of a slice; None where they depend on a size that is not known."""
    positions = _positions(size, inner)
    if positions is not None:
        rest = _positions(len(positions), outer)
        return None if rest is None else _bounds(positions[rest.start : _end(rest) : rest.step], size)
    if not all(isinstance(number, int) for number in (*inner, *outer)):
        return None
    (start, end, step), (begin, until, stride) = inner, outer
    if (step, stride) != (1, 1) or min(start, begin) < 0:
        return None
    if until < 0 or until >= FAR:
        # From behind, or up to the end: of two ends only one may be there.
        return (start + begin, until if end >= FAR else end, 1) if FAR in (end, until) else None
    if end < 0:
        return None
    return (start + begin, start + until if end >= FAR else min(end, start + until), 1)


def _end(positions):
    """The end of a range as that of a Python slice, which begins at its start."""
    return None if positions.stop < 0 else positions.stop


@rule
def write_bounds_of_slice(x):
    """A slice says where it begins and ends of those axes of which it leaves out entries, in one form."""
    part = op.slice(x)
    yield part
    said = _said(taken(part, x.shape))
    if not said["axes"]:
        return decline("it takes everything", at=part)
    if said == {key: tuple(part.data[key]) for key in _SAID if part.data.get(key) is not None}:
        return decline("it says so", at=part)
    result = op.slice(x, **said)
    return result if result.type == part.type else decline("the sizes are written in another way", at=part)


@rule(shared="keep")
def merge_slices(x):
    """A slice of a slice is a slice."""
    inner = op.slice(x)
    outer = op.slice(inner)
    yield outer
    first, second = taken(inner, x.shape), taken(outer, inner.shape)
    if not second:
        return decline("the second one takes everything", at=outer)
    if x.op_name == "concat" and x.readers == 1 < inner.readers and not _before_concat(x, inner).reason:
        return decline("the first one goes before the concatenation, for all of its readers", at=inner)
    bounds = {}
    for axis in first.keys() | second.keys():
        if axis in first and axis in second:
            both = _within(x.shape[axis], first[axis], second[axis])
            if both is None:
                return decline(f"where axis {axis} begins or ends depends on its size", at=outer)
            bounds[axis] = both
        else:
            bounds[axis] = first.get(axis) or second[axis]
    result = sliced(x, bounds)
    return result if result.type == outer.type else decline("the sizes are written in another way", at=outer)


@rule(shared="keep")
def slice_of_concat(xs):
    """A slice of a concatenation is one of the operands that it takes entries of."""
    joined = op.concat(*xs)
    part = op.slice(joined)
    yield part
    plan = _before_concat(joined, part)
    if plan.reason:
        return decline(plan.reason, at=part)
    if len(plan.pieces) > 1 and joined.readers > 1:
        return decline("the concatenation has other readers, and several operands would be joined again", at=joined)
    parts = [sliced(xs[at], bounds) for at, bounds in plan.pieces]
    result = parts[0] if len(parts) == 1 else op.concat(*parts, axis=joined.axis)
    return result if result.type == part.type else decline("an operand does not know the names of the axes", at=part)


class _Plan(NamedTuple):
    """How a slice of a concatenation is one of its operands: which, with their bounds; or the reason why it is not."""

    pieces: tuple[tuple[int, dict[int, tuple[Any, Any, int]]], ...] = ()
    reason: str = ""


def _before_concat(joined, part):
    """What a slice of a concatenation takes of its operands."""
    axis = joined.axis % len(joined.shape)
    bounds = taken(part, joined.shape)
    if axis not in bounds:
        return _Plan(reason=f"it takes all of axis {axis}")
    sizes = [x.shape[axis] for x in operands_of(joined)]
    known = next((i for i, size in enumerate(sizes) if not isinstance(size, int)), len(sizes))
    whole = sum(sizes[:known])
    start, end, step = bounds.pop(axis)
    last = whole if step > 0 else whole - 1
    if known < len(sizes) and not all(isinstance(p, int) and 0 <= p <= last for p in (start, end)):
        return _Plan(reason=f"where axis {axis} begins or ends depends on its size")
    positions = _positions(whole, (start, end, step))
    if not positions:
        return _Plan(reason="it takes nothing, or a symbolic part")
    pieces, before = [], 0
    for at, size in enumerate(sizes[:known]):
        inside = _those_in(positions, before, before + size)
        if inside:
            own = range(inside.start - before, inside.stop - before, inside.step)
            pieces.append((at, {**bounds, axis: _bounds(own, size)}))
        before += size
    return _Plan(tuple(pieces[:: -1 if positions.step < 0 else 1]))


def _those_in(positions, low, high):
    """Those of some positions that lie from one to before another."""
    if positions.step < 0:
        return _those_in(positions[::-1], low, high)[::-1]
    first = max(0, -((positions.start - low) // positions.step))
    return positions[first : max(first, (high - 1 - positions.start) // positions.step + 1)]


@rule(shared="keep")
def concat_of_slices(before, x, after):
    """Slices of one value that lie side by side are one slice, or all of the value."""
    first, second = op.slice(x), op.slice(x)
    joined = op.concat(*before, first, second, *after)
    yield joined
    axis = joined.axis % len(joined.shape)
    if x.op_name == "shape":
        return decline("a slice of sizes is an op of its own", at=x)
    own, other = taken(first, x.shape), taken(second, x.shape)
    begin, end = own.pop(axis, _ALL), other.pop(axis, _ALL)
    if own != other:
        return decline(f"they differ in more than axis {axis}", at=second)
    along = _side_by_side(x.shape[axis], begin, end)
    if along is None:
        return decline(f"they do not lie side by side on axis {axis}", at=second)
    whole = sliced(x, {**own, axis: along})
    if whole is not x and (before or after) and first.readers + second.readers > 2:
        return decline("they have other readers, so that there would be one slice more", at=first)
    result = op.concat(*before, whole, *after, axis=axis) if before or after else whole
    return result if result.type == joined.type else decline("the sizes are written in another way", at=joined)


def _side_by_side(size, first, second):
    """The bounds that take what two bounds take one after the other; None if none do."""
    if first is None:
        return None
    if isinstance(size, int):
        one, two = _positions(size, first), _positions(size, second)
        if not one or not two:
            return None
        step = one.step if len(one) > 1 else two.step if len(two) > 1 else two[0] - one[0]
        if step == 0 or len({step, two[0] - one[-1], *_steps(one), *_steps(two)}) > 1:
            return None
        return _bounds(range(one[0], two[-1] + step, step), size)
    (start, end, step), (begin, until, stride) = first, second
    if step != 1 or stride != 1 or end != begin:
        return None
    # A symbolic bound lies inside of the axis, and between those beside it; of numbers that has to be seen.
    numbers = [bound for bound in (start, end, until) if isinstance(bound, int)]
    return (start, until, 1) if min(numbers, default=0) >= 0 and numbers == sorted(numbers) else None


def _steps(positions):
    return [positions.step] if len(positions) > 1 else []


@rule
def concat_of_rows(x, rest):
    """Single rows along one axis that are joined along another one are a slice of them all, in another shape."""
    first = op.slice(x)
    joined = op.concat(first, *rest)
    yield joined
    rank, axis = len(joined.shape), joined.axis % len(joined.shape)
    if any(
        other.op_name != "slice" or other.readers > 1 or first_operand(other).operand != x.operand for other in rest
    ):
        return decline("an operand is no slice of the same value, or has other readers", at=joined)
    bounds = [taken(part, x.shape) for part in (first, *rest)]
    among = [at for at in range(rank) if any(each.get(at) != bounds[0].get(at) for each in bounds)]
    if len(among) != 1 or among == [axis]:
        return decline("they do not differ along one other axis", at=joined)
    (along,) = among
    if any(part.shape[along] != 1 for part in (first, *rest)):
        return decline("they are more than single rows", at=joined)
    rows: Any = reduce(partial(_side_by_side, x.shape[along]), [each.get(along, _ALL) for each in bounds])
    if rows is None or len(rest) < 2:
        return decline("they do not lie side by side, or would be no fewer ops", at=joined)
    part = sliced(x, {**bounds[0], along: rows})
    order = [at for at in range(rank) if at != along]
    order.insert(order.index(axis), along)
    if joined.type.layout is not None or (order != sorted(order) and len(rest) < 3):
        return decline("its axes have names, which a reshape forgets, or there would be no fewer ops", at=joined)
    if isinstance(x.type.element, Quantised) and x.type.element.axis is not None:
        return decline("its channels have different scales", at=joined)
    return reshaped(part if order == sorted(order) else op.transpose(part, perm=order), joined)


@rule
def crop_as_slice(x):
    """A border that only takes entries away is a slice."""
    padded = op.pad(x)
    yield padded
    rank, pads = len(x.shape), padded.pads
    if not all(isinstance(pad, int) and pad <= 0 for pad in pads) or not any(pads):
        return decline("there is a border", at=padded)
    part = sliced(x, {axis: (-pads[axis], pads[rank + axis] or FAR, 1) for axis in range(rank)})
    return part if part.type == padded.type else decline("the sizes are written in another way", at=padded)


@rule
def gather_as_slice(x, i: Constant):
    """Entries at constant indices that follow each other in steps are a slice; one index alone takes its axis away."""
    picked_ = op.gather(x, i)
    yield picked_
    axis, indices = picked_.axis % len(x.shape), i.value
    size = x.shape[axis]
    if indices.size == 0 or indices.ndim > 1:
        return decline("there is no index, or several axes of them", at=i)
    if not isinstance(size, int) and indices.min() < 0:
        return decline("which entry a negative index takes depends on the size", at=i)
    places = [int(index) + (size if index < 0 else 0) for index in indices.ravel()]
    step = places[1] - places[0] if len(places) > 1 else 1
    positions = range(places[0], places[0] + step * len(places), step or 1)
    if list(positions) != places or not isinstance(size, int):
        return decline("the indices do not follow each other in steps, or the size of the axis is symbolic", at=i)
    if not 0 <= min(places) <= max(places) < size:
        return decline("an index is outside of the axis", at=i)
    part = sliced(x, {axis: _bounds(positions, size)})
    if indices.ndim:
        return part
    if picked_.type.layout is not None or picked_.type.element != x.type.element:
        return decline("its axes have names or channels, which a reshape forgets", at=picked_)
    return reshaped(part, picked_)


@rule(shared="keep")
def slice_of_sizes(x):
    """Some of the sizes of a value, one after the other, are those from an axis to another one."""
    sizes = op.shape(x)
    part = op.slice(sizes)
    yield part
    bounds = taken(part, sizes.shape)
    if not bounds:
        return decline("it takes all of them", at=part)
    positions = _positions(sizes.shape[0], bounds[0])
    if not positions or positions.step != 1:
        return decline("it takes none, or not one after the other", at=part)
    first = range(len(x.shape))[slice(sizes.start, sizes.end)].start + positions.start
    return op.shape(x, start=first, end=first + len(positions))


@rule
def slice_of_pad(x):
    """A slice of a value with a border is one of the value, with what it takes of the border."""
    padded = op.pad(x)
    part = op.slice(padded)
    yield part
    rank, pads, own = len(x.shape), list(padded.pads), {}
    for axis, (start, end, step) in taken(part, padded.shape).items():
        ends = _without_border(padded.shape[axis], (start, end, step), pads[axis], pads[rank + axis])
        if ends is None:
            return decline(f"it takes the border of axis {axis} alone, or symbolic sizes", at=part)
        (pads[axis], first), (pads[rank + axis], last) = ends
        own[axis] = (first, -last or FAR, 1)
        if isinstance(x.shape[axis], int) and first + last >= x.shape[axis]:
            return decline(f"it takes nothing of axis {axis} but its border", at=part)
    if padded.mode != "constant" and any(bounds != _ALL for bounds in own.values()):
        return decline("the border repeats entries that it leaves out", at=padded)
    inside = sliced(x, own)
    result = op.pad(inside, like=padded, pads=pads) if any(pads) else inside
    return result if result.type == part.type else decline("the sizes are written in another way", at=part)


def _without_border(size, bounds, before, behind):
    """What a slice leaves of a border, and takes away of the value, at each end of an axis; None if it is not known."""
    start, end, step = bounds
    if not all(isinstance(number, int) for number in (*bounds, before, behind)) or min(before, behind) < 0:
        return None
    if isinstance(size, int) and 0 <= end < FAR:
        end = end - size or FAR
    if step != 1 or start < 0 or 0 <= end < FAR:
        return None
    away = 0 if end >= FAR else -end
    return (max(before - start, 0), max(start - before, 0)), (max(behind - away, 0), max(away - behind, 0))


@rule(shared="keep")
def slice_before_expand(x):
    """A slice of repeated entries repeats fewer of them."""
    wide = op.expand(x)
    part = op.slice(wide)
    yield part
    added = len(wide.shape) - len(x.shape)
    bounds = taken(part, wide.shape)
    inside = sliced(x, {a - added: bounds[a] for a in bounds if a >= added and x.shape[a - added] == wide.shape[a]})
    if inside is not x and wide.readers > 1:
        return decline("what is repeated has other readers, so that there would be one slice more", at=wide)
    if any(size not in (1, whole) for size, whole in zip(inside.shape, part.shape[added:], strict=True)):
        return decline("the sizes are written in another way", at=part)
    return op.expand(inside, shape=part.shape)
