"""Numbers that the host reads from mantissas: ``scale * mantissa + offset`` for each class, as exact fractions."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction

import numpy as np

from graphrewrite import FixedPoint, Graph, op
from graphrewrite.graph import Operand, Value
from graphrewrite.lowering.errors import origins_text
from graphrewrite.types import element_kind, integer_limits

__all__ = ["Reading", "aligned", "is_vector", "reading"]

Fractions = tuple[Fraction, ...]

_MOVES = frozenset({"transpose", "reshape", "flatten", "squeeze", "unsqueeze"})
_WORD = 48
"""Bits of aligned mantissas, with their sign."""
_GAIN = 29
"""Bits of a gain, without its sign."""
_FLOAT = 23
"""Bits of a gain that align numbers as well as float32 represents them."""


@dataclass(frozen=True)
class Reading:
    """How a value of the host is read from mantissas.

    Attributes
    ----------
    whole : Operand
        The mantissas.
    element : FixedPoint
        Their format.
    axis : int or None
        Their axis of the classes; None where a reshape merges several.
    scales, offsets : tuple of Fraction
        One for all, or one a class.
    moves : tuple of (str, int or None)
        Data movement from the mantissas to the value, with the axis of the classes after it.
    """

    whole: Operand
    element: FixedPoint
    axis: int | None
    scales: Fractions
    offsets: Fractions
    moves: tuple[tuple[str, int | None], ...] = ()


def reading(graph: Graph, value: Operand, axis: int | None) -> Reading | str:
    """Return how a value is read from mantissas, its classes along an axis, or the reason why it is not."""
    data, rank = graph.nodes[value.node], len(graph.result_type(*value).shape)
    kind, operands = data["type"], graph.operands(value.node)
    axis = None if axis is None else axis % rank
    if kind == "from_fixed":
        return _whole(graph, operands[0], axis, Fraction(2) ** -data["fraction"])
    step = _STEPS.get(kind)
    if kind in _MOVES:
        below = _axis_before(graph, value, axis)
    elif step is not None:
        # The operand that is computed; others are constants.
        computed = [i for i, o in enumerate(operands) if graph.nodes[o.node]["type"] != "constant"]
        if len(computed) != 1 or (kind in ("quantize_linear", "dequantize_linear") and computed != [0]):
            return f"{kind} ({origins_text(graph, value.node)}) has no constant operand"
        found = reading(graph, operands[computed[0]], axis)
        if isinstance(found, str):
            return found
        constants = [_along(graph, o, axis, rank) for i, o in enumerate(operands) if i not in computed]
        if kind in ("quantize_linear", "dequantize_linear"):
            constants = [_of_axis(graph, o, data.get("axis", 1) % rank, axis) for o in operands[1:]]
        if any(c is None for c in constants):
            return f"a constant of {kind} ({origins_text(graph, value.node)}) differs along other axes than the classes"
        return step(graph, value, found, [c for c in constants if c is not None], computed[0])
    else:
        return f"{kind} ({origins_text(graph, value.node)}) stands before it, which the host computes"
    found = reading(graph, operands[0], below)
    return found if isinstance(found, str) else replace(found, moves=(*found.moves, (value.node, axis)))


def _whole(graph: Graph, mantissas: Operand, axis: int | None, scale: Fraction) -> Reading:
    """The reading of mantissas; what moves their classes away from the channels is left to the host."""
    moves: list[tuple[str, int | None]] = []
    while axis not in (None, 1) and graph.nodes[mantissas.node]["type"] in _MOVES:
        moves.insert(0, (mantissas.node, axis))
        axis = _axis_before(graph, mantissas, axis)
        (mantissas,) = graph.operands(mantissas.node)
    element = graph.result_type(*mantissas).element
    assert isinstance(element, FixedPoint)  # else its type could not have been inferred
    return Reading(mantissas, element, axis, (scale,), (Fraction(0),), tuple(moves))


def _axis_before(graph: Graph, value: Operand, axis: int | None) -> int | None:
    """The axis of the classes before a transpose, or a reshape if all others behind the batch have the length 1."""
    if axis is None:
        return None
    if graph.nodes[value.node]["type"] == "transpose":
        return int(graph.nodes[value.node]["perm"][axis])
    after, before = graph.result_type(*value).shape, graph.result_type(*graph.operands(value.node)[0]).shape
    if axis == 0 or not is_vector(after, axis):
        return None
    return next((i for i, size in enumerate(before) if i and size == after[axis] and is_vector(before, i)), None)


def is_vector(shape: Sequence[object], axis: int) -> bool:
    """Tell whether all axes behind the batch but one have the length 1.

    Examples
    --------
    >>> is_vector((8, 10, 1), 1), is_vector((8, 10, 2), 1)
    (True, False)
    """
    return all(size == 1 for i, size in enumerate(shape) if i not in (0, axis))


def _numbers(array: np.ndarray) -> Fractions | None:
    flat = np.asarray(array, np.float64).ravel()
    if not flat.size or not np.isfinite(flat).all():
        return None
    values = tuple(Fraction(float(number)) for number in flat)
    return values[:1] if len(set(values)) == 1 else values


def _along(graph: Graph, constant: Operand, axis: int | None, rank: int) -> Fractions | None:
    """The numbers of a constant that broadcasts along the classes."""
    array = np.asarray(graph.nodes[constant.node]["value"])
    shape = (1,) * (rank - array.ndim) + array.shape
    numbers = _numbers(array)
    is_along = numbers is None or len(numbers) == 1 or all(size == 1 for i, size in enumerate(shape) if i != axis)
    return numbers if is_along else None


def _of_axis(graph: Graph, constant: Operand, own: int, axis: int | None) -> Fractions | None:
    """The numbers of a scale or zero point: one for all, or one an index of an axis."""
    numbers = _numbers(np.asarray(graph.nodes[constant.node]["value"]))
    return numbers if numbers is None or len(numbers) == 1 or own == axis else None


def _paired(one: Fractions, other: Fractions) -> list[tuple[Fraction, Fraction]]:
    length = max(len(one), len(other))
    return list(zip(one * (length if len(one) == 1 else 1), other * (length if len(other) == 1 else 1), strict=True))


def _times(found: Reading, factors: Fractions) -> Reading:
    scales = tuple(a * b for a, b in _paired(found.scales, factors))
    return replace(found, scales=scales, offsets=tuple(a * b for a, b in _paired(found.offsets, factors)))


def _plus(found: Reading, terms: Fractions) -> Reading:
    return replace(found, offsets=tuple(a + b for a, b in _paired(found.offsets, terms)))


def _negative(numbers: Fractions) -> Fractions:
    return tuple(-number for number in numbers)


def _kept(graph: Graph, value: Operand, found: Reading, constants: list[Fractions], at: int) -> Reading | str:
    if element_kind(graph.result_type(*value).element) != "float":
        return f"{graph.nodes[value.node]['type']} ({origins_text(graph, value.node)}) rounds it to integers"
    return found


def _multiplied(graph: Graph, value: Operand, found: Reading, constants: list[Fractions], at: int) -> Reading:
    return _times(found, constants[0])


def _divided(graph: Graph, value: Operand, found: Reading, constants: list[Fractions], at: int) -> Reading | str:
    if at or 0 in constants[0]:
        return f"div ({origins_text(graph, value.node)}) divides a constant by it, or it by 0"
    return _times(found, tuple(1 / number for number in constants[0]))


def _added(graph: Graph, value: Operand, found: Reading, constants: list[Fractions], at: int) -> Reading:
    return _plus(found, constants[0])


def _subtracted(graph: Graph, value: Operand, found: Reading, constants: list[Fractions], at: int) -> Reading:
    if at:
        return _plus(_times(found, (Fraction(-1),)), constants[0])
    return _plus(found, _negative(constants[0]))


def _negated(graph: Graph, value: Operand, found: Reading, constants: list[Fractions], at: int) -> Reading:
    return _times(found, (Fraction(-1),))


def _stored(graph: Graph, value: Operand, found: Reading, constants: list[Fractions], at: int) -> Reading | str:
    """Storing rounds and limits nothing where the numbers are whole and within the type."""
    made = _times(found, tuple(1 / number for number in constants[0]))
    made = _plus(made, constants[1]) if len(constants) > 1 else made
    stored, element = graph.result_type(*value).element, found.element
    limits = integer_limits(stored) if isinstance(stored, str) else None
    if limits is None or any(n.denominator != 1 for n in (*made.scales, *made.offsets)):
        return f"quantize_linear ({origins_text(graph, value.node)}) rounds it"
    ends = [s * e + o for s, o in _paired(made.scales, made.offsets) for e in (element.minimum, element.maximum)]
    if min(ends) < limits[0] or max(ends) > limits[1]:
        return f"quantize_linear ({origins_text(graph, value.node)}) limits it"
    return made


def _restored(graph: Graph, value: Operand, found: Reading, constants: list[Fractions], at: int) -> Reading:
    points = constants[1] if len(constants) > 1 else (Fraction(0),)
    return _times(_plus(found, _negative(points)), constants[0])


_STEPS = {
    "cast": _kept,
    "identity": _kept,
    "mul": _multiplied,
    "div": _divided,
    "add": _added,
    "sub": _subtracted,
    "neg": _negated,
    "quantize_linear": _stored,
    "dequantize_linear": _restored,
}
"""Affine ops of the host."""


def aligned(graph: Graph, found: Reading) -> tuple[Value, Fraction, Fraction] | str:
    """Return mantissas in which all classes have one positive scale, that scale, and their error.

    An offset of all classes is left out. Scales that are multiples of one number are aligned exactly, by a `rescale` in
    the graph; others are rounded, as finely as float32 represents the greatest numbers. Or the reason why none are.
    """
    whole = graph.value(*found.whole)
    (single, *others), (_, *further) = found.scales, found.offsets
    if not others and not further and single > 0:
        return whole, single, Fraction(0)
    pairs = _paired(found.scales, found.offsets if further else (Fraction(0),))
    element, error = found.element, Fraction(0)
    unit = _common([number for pair in pairs for number in pair])
    exact = [(int(scale / unit), int(term / unit)) for scale, term in pairs] if unit else []
    if not _fits(exact, element):
        largest = max(abs(scale) for scale, _ in pairs)
        far = largest * _far(element)
        # Of wide mantissas the last bits, beyond those of float32.
        if (drop := _far(element).bit_length() - _FLOAT - 1) > 0:
            element = FixedPoint(element.signed, element.width - drop)
            whole = _made(graph, op.requantise, whole, {"shift": drop, "element": element}, found)
            pairs, error = [(scale * 2**drop, term) for scale, term in pairs], largest * 2 ** (drop - 1)
            largest *= 2**drop
        # Products and terms of a bit less than the word, whichever are greater.
        bits = min(_GAIN, _WORD - 2 - _far(element).bit_length())
        unit = max(largest / (2**bits - 1), *(abs(term) / (2 ** (_WORD - 2) - 1) for _, term in pairs))
        exact = [(round(scale / unit), round(term / unit)) for scale, term in pairs] if unit else []
        error += unit * (_far(element) + 1) / 2
        if not _fits(exact, element) or error * 2 ** (_FLOAT - 1) > far:
            return (
                f"the scales of its classes differ, and no products of {_WORD} bits align them; quantise by one scale"
            )
    ends = [gain * end + term for gain, term in exact for end in (element.minimum, element.maximum)]
    attributes = {
        "multiplier": _one([gain for gain, _ in exact]),
        "addend": _one([term for _, term in exact]),
        "shift": 0,
        "element": FixedPoint.holding(min(*ends, 0), max(*ends, 1)),
    }
    return _made(graph, op.rescale, whole, attributes, found), unit, error


def _made(graph: Graph, kind: op.Op, whole: Value, attributes: Mapping[str, object], found: Reading) -> Value:
    made = graph.add(kind, [whole], attributes, origin=graph.origin(found.whole.node))
    assert isinstance(made, Value)  # it has one result
    return made


def _far(element: FixedPoint) -> int:
    return max(-element.minimum, element.maximum)


def _common(numbers: list[Fraction]) -> Fraction:
    """The greatest number of which all are multiples."""
    below = math.lcm(*(number.denominator for number in numbers))
    return Fraction(math.gcd(*(int(number * below) for number in numbers)), below)


def _fits(pairs: list[tuple[int, int]], element: FixedPoint) -> bool:
    ends = [abs(gain) * _far(element) + abs(term) for gain, term in pairs]
    return bool(pairs) and max(abs(gain) for gain, _ in pairs).bit_length() <= _GAIN and max(ends).bit_length() < _WORD


def _one(numbers: list[int]) -> int | tuple[int, ...]:
    return numbers[0] if len(set(numbers)) == 1 else tuple(numbers)
