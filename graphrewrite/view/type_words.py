"""A type in words: its meaning, range and resolution, and the layout of its bits."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from graphrewrite.types import FixedPoint, Quantised, Stream, Tensor, Type, integer_limits, small_float
from graphrewrite.view.display import Display
from graphrewrite.view.table import Table

__all__ = ["Bits", "TypeWords", "show_type", "type_words"]

_SINGLE = 16
"""Formats of no more bits are drawn bit by bit."""
_AXES = {"N": "batch", "C": "channels", "H": "height", "W": "width", "D": "depth", "L": "length", "T": "time"}


@dataclass(frozen=True)
class Bits:
    """Bits of a format that lie side by side.

    Attributes
    ----------
    kind : {"sign", "whole", "fraction"}
        Their role.
    count : int
        Their number.
    weights : tuple of str
        The weight of each, the highest first; of wide formats one text, from the highest to the lowest.
    """

    kind: str
    count: int
    weights: tuple[str, ...]


@dataclass(frozen=True)
class TypeWords:
    """Data of the display of a type: its text form, a sentence, facts, and the bits of a number, highest first."""

    title: str
    sentence: str
    facts: Table
    bits: tuple[Bits, ...] = ()

    def text(self) -> str:
        """Return it for a terminal."""
        layout = " | ".join(f"{b.kind} {', '.join(b.weights)}" for b in self.bits)
        body = [f"  {name}: {value}" for name, value in self.facts.rows]
        return "\n".join([f"{self.title}: {self.sentence}", *body, *([f"  bits: {layout}"] if layout else [])])


def type_words(kind: Type | FixedPoint | Quantised) -> TypeWords:
    """Return the description of a type.

    Examples
    --------
    >>> print(type_words(FixedPoint(True, 8, 4)).text())
    s8f4: signed fixed-point numbers of 8 bits, 4 of them after the binary point
      range: -8 to 7.9375
      resolution: 0.0625 = 2**-4
      mantissas: -128 to 127
      held as: int8
      bits: sign -8 | whole 4, 2, 1 | fraction 0.5, 0.25, 0.125, 0.0625
    """
    if isinstance(kind, Tensor):
        sentence, facts = _tensor(kind)
    elif isinstance(kind, Stream):
        sentence, facts = _stream(kind)
    else:
        sentence, facts = _element(kind)
    element = kind.element if isinstance(kind, Tensor | Stream) else kind
    bits = _bits(element) if isinstance(element, FixedPoint) else ()
    return TypeWords(str(kind), sentence, Table(("", ""), tuple(facts)), bits)


def show_type(kind: Type | FixedPoint | Quantised) -> Display:
    """Return the display of a type."""
    words = type_words(kind)
    return Display(words, words.text(), template="type.html", title=words.title)


Facts = list[tuple[str, str]]


def _tensor(kind: Tensor) -> tuple[str, Facts]:
    letters = kind.layout or " " * len(kind.shape)
    axes = []
    for letter, size in zip(letters, kind.shape, strict=True):
        text = f"{size} (decided at run time)" if isinstance(size, str) else f"{size:,}"
        axes.append(f"{_AXES.get(letter, letter)} {text}".strip())
    known = math.prod(size for size in kind.shape if isinstance(size, int))
    names = " x ".join(size for size in kind.shape if isinstance(size, str))
    shape = " x ".join(axes) if axes else "no axes: one number"
    sentence, facts = _element(kind.element)
    count = f"{known:,} x {names}" if names else f"{known:,}"
    return f"a tensor of {sentence}", [("shape", shape), ("numbers", count), *facts]


def _stream(kind: Stream) -> tuple[str, Facts]:
    sentence, facts = _element(kind.element)
    positions = " x ".join(f"{size:,}" for size in kind.shape[1:])
    folded = f", in {kind.folds} groups, one after the other" if kind.folds > 1 else ", all of them"
    width = kind.element.width
    lanes = f"bits {width - 1} to 0" + (
        f", and so on to lane {kind.lanes - 1} in bits {kind.payload_width - 1} to {kind.payload_width - width}"
        if kind.lanes > 1
        else ""
    )
    return f"a stream of {sentence}", [
        ("frame", f"{kind.channels:,} channels" + (f" at {positions} positions, in raster order" if positions else "")),
        ("beat", f"{kind.lanes:,} of {kind.channels:,} channels of one position{folded}"),
        ("beats of a frame", f"{kind.beats:,}"),
        ("payload", f"{kind.payload_width:,} bits: lane 0 in {lanes}"),
        *facts,
    ]


def _element(element: Any) -> tuple[str, Facts]:
    if isinstance(element, FixedPoint):
        return _fixed(element)
    if isinstance(element, Quantised):
        return _quantised(element)
    limits = integer_limits(element)
    if limits is not None:
        sign = "signed" if element[0] == "i" else "unsigned"
        return f"{sign} integers of {element[1:]} bits", [("range", f"{limits[0]:,} to {limits[1]:,}")]
    if element == "bool":
        return "truth values", [("range", "False and True")]
    return _float(element)


def _fixed(kind: FixedPoint) -> tuple[str, Facts]:
    sign = "signed" if kind.signed else "unsigned"
    # A format may have its binary point outside its bits, on either side.
    if kind.fraction < 0:
        point = f", each a multiple of 2**{-kind.fraction}"
    elif kind.fraction == 0:
        point = ", all of them before the binary point: whole numbers"
    elif kind.fraction <= kind.width:
        point = f", {kind.fraction} of them after the binary point"
    else:
        point = f", {kind.fraction - kind.width} places after the binary point"
    low, high = (math.ldexp(mantissa, -kind.fraction) for mantissa in (kind.minimum, kind.maximum))
    return f"{sign} fixed-point numbers of {kind.width} bit{'s' if kind.width > 1 else ''}{point}", [
        ("range", f"{_number(low)} to {_number(high)}"),
        ("resolution", f"{_number(kind.step)} = 2**{-kind.fraction}"),
        ("mantissas", f"{kind.minimum:,} to {kind.maximum:,}"),
        ("held as", str(kind.dtype)),
    ]


def _quantised(kind: Quantised) -> tuple[str, Facts]:
    ranges = [[step * (q - zero) for q in (kind.minimum, kind.maximum)] for step, zero in kind.channels]
    low, high = min(low for low, _ in ranges), max(high for _, high in ranges)
    steps = [step for step, _ in kind.channels]
    each = "" if kind.axis is None else f", a scale for each of {len(steps)} indices of axis {kind.axis}"
    resolution = _number(min(steps))
    if min(steps) < max(steps):
        resolution += f" to {_number(max(steps))}"
    zeros = sorted({zero for _, zero in kind.channels})
    return f"numbers scale * (q - zero point), of integers q of {kind.storage[1:]} bits{each}", [
        ("range", f"{_number(low)} to {_number(high)}"),
        ("resolution", resolution),
        ("zero point", ", ".join(map(str, zeros)) if len(zeros) < 9 else f"{zeros[0]} to {zeros[-1]}"),
        ("q", f"{kind.storage}, {kind.minimum:,} to {kind.maximum:,}"),
    ]


def _float(name: str) -> tuple[str, Facts]:
    small = small_float(name)
    if small is not None:
        low, greatest, step = -small.greatest if small.signed else small.least, small.greatest, small.step
        bits = name[1]
    elif name == "bf16":
        low, greatest, step, bits = -(2 - 2.0**-7) * 2.0**127, (2 - 2.0**-7) * 2.0**127, 2.0**-7, "16"
    else:
        info = np.finfo(np.dtype(f"float{name[1:]}"))
        low, greatest, step, bits = float(info.min), float(info.max), float(info.eps), name[1:]
    return f"floats of {bits} bits", [
        ("range", f"{low:.6g} to {greatest:.6g}"),
        ("resolution", f"{_number(step)} near 1"),
    ]


def _bits(kind: FixedPoint) -> tuple[Bits, ...]:
    # The binary point may lie outside of the bits: then there are only whole or only fractional ones.
    top = kind.width - 1 - kind.fraction  # exponent of the highest bit
    runs: Iterator[tuple[str, int, int]] = iter(
        (
            ("sign", top, int(kind.signed)),
            ("whole", top - kind.signed, max(0, min(kind.width, kind.width - kind.fraction) - kind.signed)),
            ("fraction", min(top - kind.signed, -1), min(kind.fraction, kind.width - kind.signed)),
        )
    )
    groups = []
    for word, first, count in runs:
        if count < 1:
            continue
        exponents = range(first, first - count, -1)
        if kind.width <= _SINGLE:
            sign = -1.0 if word == "sign" else 1.0
            weights: tuple[str, ...] = tuple(f"{math.ldexp(sign, e):.12g}" for e in exponents)
        else:
            ends = f"2**{exponents[0]}" if count == 1 else f"2**{exponents[0]} to 2**{exponents[-1]}"
            weights = (f"-{ends}" if word == "sign" else ends,)
        groups.append(Bits(word, count, weights))
    return tuple(groups)


def _number(value: float) -> str:
    return f"{int(value):,}" if value == int(value) and abs(value) < 1e15 else f"{value:.10g}"
