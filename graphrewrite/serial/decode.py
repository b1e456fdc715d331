"""JSON from anywhere, as values: nothing is executed, nothing is larger than what it is made of."""

from __future__ import annotations

import base64
import binascii
import math
import re
import struct
from collections.abc import Callable, Iterable, Mapping
from typing import Any

import numpy as np

from graphrewrite.errors import ParseError, did_you_mean
from graphrewrite.serial.place import Place
from graphrewrite.text.literal import DEPTH
from graphrewrite.text.raw import array_from
from graphrewrite.types import parse_element, parse_type

__all__ = ["Decoder", "Refused", "check_keys", "mapping", "text"]

_BITS = re.compile(r"[0-9a-f]{16}\Z")
_HEX = re.compile(r"-?0x[0-9a-f]+\Z")


def mapping(value: Any, place: Place) -> dict[str, Any]:
    """Return what must be a dictionary with strings as keys.

    Examples
    --------
    >>> mapping([], Place() / "nodes")
    Traceback (most recent call last):
    ...
    graphrewrite.errors.SerialError: nodes: expected an object {...}, got a list
    """
    if isinstance(value, Refused):
        place.fail(str(value))
    if not isinstance(value, dict) or not all(isinstance(key, str) for key in value):
        place.fail(f"expected an object {{...}}, got {_kind(value)}")
    return value


def text(value: Any, place: Place) -> str:
    """Return what must be a string.

    Examples
    --------
    >>> text("net", Place() / "name")
    'net'
    """
    if not isinstance(value, str):
        place.fail(f"expected a string, got {_kind(value)}")
    return value


def check_keys(data: Mapping[str, Any], known: Iterable[str], place: Place) -> None:
    """Raise if a dictionary has a key that nothing reads.

    Examples
    --------
    >>> check_keys({"node": {}}, ("nodes", "edges"), Place() / "graphs")
    Traceback (most recent call last):
    ...
    graphrewrite.errors.SerialError: graphs: the key 'node' means nothing here; did you mean 'nodes'?
    """
    for key in data:
        if key not in known:
            place.fail(f"the key {key!r:.60} means nothing here{did_you_mean(key, known)}")


def _kind(value: Any) -> str:
    name = type(value).__name__
    return "nothing" if value is None else f"{'an' if name[0] in 'aeiou' else 'a'} {name}"


class Decoder:
    """What gives values back that `encode` made JSON of.

    Parameters
    ----------
    arrays : callable, optional
        Gives the array of a name in the file beside; without, there is none.

    Examples
    --------
    >>> Decoder().decode({"pads": [1, 1], "names": {"$list": ["a"]}}, Place())
    {'pads': (1, 1), 'names': ['a']}
    """

    def __init__(self, arrays: Callable[[str, Place], np.ndarray] | None = None) -> None:
        self.arrays = arrays
        self.shared: dict[str, np.ndarray] = {}
        self.forms: dict[str, Callable[[Any, Place], Any]] = {
            "$array": self._array,
            "$bytes": _bytes,
            "$complex": self._complex,
            "$dict": self._dict,
            "$element": lambda given, place: _parsed(parse_element, given, place),
            "$float": _float,
            "$frozenset": lambda given, place: self._hashed(frozenset, given, place),
            "$int": _int,
            "$list": lambda given, place: list(self._sequence(given, place)),
            "$scalar": lambda given, place: self._array(given, place, scalar=True),
            "$set": lambda given, place: self._hashed(set, given, place),
            "$shared": self._shared,
            "$type": lambda given, place: _parsed(parse_type, given, place),
        }

    def decode(self, value: Any, place: Place) -> Any:
        """Return the value that stands at a place.

        Parameters
        ----------
        value : object
            JSON.
        place : Place
            Where it stands.

        Returns
        -------
        object

        Raises
        ------
        SerialError
            With the path of the place where something is wrong.
        """
        if place.depth > DEPTH:
            place.fail(f"nests deeper than {DEPTH}")
        if value is None or type(value) in (bool, int, str):
            return value
        if type(value) is float:
            if not math.isfinite(value):
                place.fail("expected a finite number; others are written as {'$float': …}")
            return value
        if type(value) in (list, tuple):  # tuples are what attributes make of lists
            return tuple([self.decode(each, place / i) for i, each in enumerate(value)])
        if type(value) is dict:
            tags = [key for key in value if isinstance(key, str) and key.startswith("$")]
            if not tags:
                return {key: self.decode(each, place / key) for key, each in mapping(value, place).items()}
            form = self.forms.get(tags[0])
            if form is None or len(value) > 1:
                hint = did_you_mean(tags[0], self.forms)
                place.fail(f"expected an object with one key such as '$list', got {str(list(value))[:60]}{hint}")
            return form(value[tags[0]], place)
        return place.fail(str(value) if isinstance(value, Refused) else f"expected JSON, got {_kind(value)}")

    def _sequence(self, given: Any, place: Place) -> tuple[Any, ...]:
        if type(given) is not list:
            place.fail(f"expected a list, got {_kind(given)}")
        return tuple([self.decode(each, place / i) for i, each in enumerate(given)])

    def _array(self, given: Any, place: Place, *, scalar: bool = False) -> Any:
        if isinstance(given, str) and not scalar:
            if self.arrays is None:
                place.fail(f"the array {given[:40]!r} is in a file beside, and there is none")
            return self.arrays(given, place)
        given = mapping(given, place)
        if given.keys() != {"dtype", "shape", "data"}:
            place.fail(f"expected the keys dtype, shape and data, got {str(list(given))[:60]}")
        array = array_from(given["dtype"], given["shape"], _bytes(given["data"], place))
        if isinstance(array, str):
            place.fail(array)
        if scalar and array.ndim:
            place.fail("expected one number, without a shape")
        return array[()] if scalar else array

    def _shared(self, given: Any, place: Place) -> np.ndarray:
        name = text(given, place)
        if name not in self.shared:
            place.fail(f"there is no constant {name!r:.60} of the module{did_you_mean(name, self.shared)}")
        return self.shared[name]

    def _complex(self, given: Any, place: Place) -> complex:
        parts = self._sequence(given, place)
        if len(parts) != 2 or not all(type(part) in (int, float) for part in parts):
            place.fail("expected a real and an imaginary part")
        try:
            return complex(*parts)
        except OverflowError as error:
            place.fail(str(error), error)

    def _dict(self, given: Any, place: Place) -> dict[Any, Any]:
        found: dict[Any, Any] = {}
        for i, pair in enumerate(self._sequence(given, place)):
            if not isinstance(pair, tuple) or len(pair) != 2:
                (place / i).fail("expected a key and a value")
            try:
                if pair[0] in found:
                    (place / i).fail("this key was given before")
                found[pair[0]] = pair[1]
            except TypeError as error:
                (place / i).fail("expected a key: a string, a number or a tuple of them", error)
        return found

    def _hashed(self, make: Callable[[Any], Any], given: Any, place: Place) -> Any:
        try:
            return make(self._sequence(given, place))
        except TypeError as error:
            place.fail("expected strings, numbers or tuples of them", error)


class Refused(str):
    """What the JSON reader found and JSON has not; the message that says so."""

    __slots__ = ()


def _parsed(parse: Callable[[str], Any], given: Any, place: Place) -> Any:
    try:
        return parse(text(given, place))
    except ParseError as error:
        place.fail(str(error), error)


def _bytes(given: Any, place: Place) -> bytes:
    try:
        return base64.b64decode(text(given, place).encode("ascii"), validate=True)
    except (binascii.Error, ValueError) as error:
        place.fail(f"expected bytes in base 64: {error}", error)


def _float(given: Any, place: Place) -> float:
    if given in ("inf", "-inf"):
        return float(given)
    found = struct.unpack(">d", bytes.fromhex(given))[0] if isinstance(given, str) and _BITS.match(given) else 0.0
    if not math.isnan(found):
        place.fail("expected 'inf', '-inf' or the 16 hexadecimal digits of a NaN")
    return float(found)


def _int(given: Any, place: Place) -> int:
    if not isinstance(given, str) or not _HEX.match(given):
        place.fail("expected an integer such as '0x1f'")
    return int(given, 16)
