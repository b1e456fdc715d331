"""Parsing of the text form of types."""

from __future__ import annotations

import re
from collections.abc import Iterator

from graphrewrite.errors import GraphRewriteError, ParseError, TypeMismatchError
from graphrewrite.types.edge import Type
from graphrewrite.types.element import Element, as_element
from graphrewrite.types.fixed_point import FixedPoint
from graphrewrite.types.quantised import Quantised
from graphrewrite.types.stream import Stream
from graphrewrite.types.tensor import Dimension, Tensor

__all__ = ["parse_element", "parse_type", "parse_types", "split_types"]

_TYPE = re.compile(
    r"(?P<stream>stream\s+)?(?P<element>[a-z]\w*(?:f-\d+)?(?:<[^<>\[\]]*>)?)\[(?P<shape>[^\[\]]*)\]"
    r"(?:\s+(?P<lanes>[0-9]{1,9})\s+lanes|\s+(?P<layout>\S+))?\Z"
)
_FIXED = re.compile(r"(?P<sign>[su])(?P<width>[0-9]{1,9})f(?P<fraction>-?[0-9]{1,9})\Z")
_QUANTISED = re.compile(r"(?P<storage>[a-z0-9]+)<(?P<channels>[^<>@]*)(?:@\s*(?P<axis>[0-9]{1,9})\s*)?>\Z")
_CHANNEL = re.compile(r"\s*(?P<scale>[0-9]+(?:\.[0-9]*)?(?:e[+-]?[0-9]{1,9})?)\s*:\s*(?P<zero>-?[0-9]{1,19})\s*\Z")
_HINT = (
    "write it as f32[N,8,26,26], f32[N,26,26,8] NHWC, s8f4[N,3], i8<0.1:3>[N,4], stream u8f0[3,4,5] or "
    "stream u8f0[6,4] 2 lanes"
)


def parse_element(text: str) -> Element:
    """Return the element type that a text such as ``"bf16"``, ``"s8f4"`` or ``"i8<0.1:3>"`` writes.

    Parameters
    ----------
    text : str
        What ``str`` of an element type gives.

    Raises
    ------
    ParseError
        If the text is not an element type.

    Examples
    --------
    >>> parse_element("u4f2")
    FixedPoint(signed=False, width=4, fraction=2)
    >>> parse_element("i8<0.5:3, 0.25:0 @1>")
    Quantised(storage='i8', scale=(0.5, 0.25), zero_point=(3, 0), axis=1)
    """
    try:
        return as_element(_element(text.strip()))
    except TypeMismatchError as error:
        raise ParseError(f"{text!r}: {error}") from error


def _element(text: str) -> Element:
    fixed = _FIXED.match(text)
    if fixed is not None:
        return FixedPoint(fixed["sign"] == "s", int(fixed["width"]), int(fixed["fraction"]))
    if "<" not in text:
        return text
    quantised = _QUANTISED.match(text)
    channels = [_CHANNEL.match(word) for word in quantised["channels"].split(",")] if quantised is not None else []
    pairs = [(float(c["scale"]), int(c["zero"])) for c in channels if c is not None]
    if quantised is None or len(pairs) != len(channels) or (len(pairs) > 1 and quantised["axis"] is None):
        raise ParseError(
            f"{text!r} is not a quantised format; write it as i8<0.1:3>, or i8<0.1:3, 0.2:0 @1> for axis 1"
        )
    if quantised["axis"] is None:
        return Quantised(quantised["storage"], *pairs[0])
    scales, zero_points = zip(*pairs, strict=True)
    return Quantised(quantised["storage"], scales, zero_points, int(quantised["axis"]))


def parse_type(text: str) -> Type:
    """Return the type that a text such as ``"f32[N,10]"`` or ``"stream u8f0[3,4,5]"`` writes.

    Parameters
    ----------
    text : str
        What ``str`` of a type gives.

    Raises
    ------
    ParseError
        If the text is not a type.

    Examples
    --------
    >>> parse_type("s8f4[N,3]")
    Tensor(element=FixedPoint(signed=True, width=8, fraction=4), shape=('N', 3))
    >>> print(parse_type("bf16[N,26,26,8] NHWC"))
    bf16[N,26,26,8] NHWC
    """
    match = _TYPE.match(text.strip())
    if match is None:
        raise ParseError(f"{text!r} is not a type; {_HINT}")
    words = [word.strip() for word in split_types(match["shape"])] if match["shape"].strip() else []
    try:
        shape: tuple[Dimension, ...] = tuple(_size(word) for word in words)
        element = _element(match["element"])
        if match["stream"] is None and match["lanes"] is None:
            return Tensor(element, shape, match["layout"])
        if match["stream"] is None or not isinstance(element, FixedPoint) or match["layout"] is not None:
            raise ParseError(f"only streams have lanes, a fixed-point element, whole sizes and no layout; {_HINT}")
        return Stream(element, shape, int(match["lanes"] or 0))  # type: ignore[arg-type]  # a stream says itself which sizes it takes
    except GraphRewriteError as error:
        raise ParseError(f"{text!r}: {error}") from error


def _size(word: str) -> Dimension:
    return int(word) if re.fullmatch(r"-?[0-9]{1,30}", word) else word


def parse_types(text: str) -> tuple[Type, ...]:
    """Return the types of several results, separated by commas.

    Parameters
    ----------
    text : str
        Types as `parse_type` takes them, joined by ``", "``; nothing for none.

    Raises
    ------
    ParseError
        If one of them is not a type.

    Examples
    --------
    >>> print(*parse_types("f32[N,2], i8<0.5:3, 0.25:0 @1>[N,2] NC"), sep=" and ")
    f32[N,2] and i8<0.5:3, 0.25:0 @1>[N,2] NC
    """
    return tuple(parse_type(part) for part in split_types(text)) if text.strip() else ()


def split_types(text: str) -> Iterator[str]:
    """Yield the parts of a text between commas outside of brackets.

    Examples
    --------
    >>> list(split_types("f32[min(N, 2),2],i8<0.5:3, 0.25:0 @1>[N,2]"))
    ['f32[min(N, 2),2]', 'i8<0.5:3, 0.25:0 @1>[N,2]']
    """
    start = depth = 0
    for i, symbol in enumerate(text):
        if symbol in "([<":
            depth += 1
        elif symbol in ")]>":
            depth -= 1
        elif symbol == "," and depth == 0:
            yield text[start:i]
            start = i + 1
    yield text[start:]
