"""Values decoded from untrusted JSON: nothing is executed, memory is bounded by the size of the document."""

from __future__ import annotations

import binascii
import math
import re
import struct
from collections.abc import Callable, Iterable, Mapping
from typing import Any

import numpy as np

from graphrewrite.errors import ParseError, did_you_mean
from graphrewrite.formats.json.inline_arrays import decoded
from graphrewrite.formats.json.path import JsonPath
from graphrewrite.formats.text.literal_parser import read_element, read_type
from graphrewrite.formats.text.literal_printer import DEPTH
from graphrewrite.formats.text.raw_arrays import array_from
from graphrewrite.types import OwnType

__all__ = ["Decoder", "Refused", "check_keys", "mapping", "text"]

_BITS = re.compile(r"[0-9a-f]{16}\Z")
_HEX = re.compile(r"-?0x[0-9a-f]+\Z")


def mapping(value: Any, path: JsonPath) -> dict[str, Any]:
    """Return a value that must be a dictionary with string keys.

    Examples
    --------
    >>> mapping([], JsonPath() / "nodes")
    Traceback (most recent call last):
    ...
    graphrewrite.errors.SerialError: nodes: expected an object {...}, got a list
    """
    if isinstance(value, Refused):
        path.fail(str(value))
    if not isinstance(value, dict) or not all(isinstance(key, str) for key in value):
        path.fail(f"expected an object {{...}}, got {_kind(value)}")
    return value


def text(value: Any, path: JsonPath) -> str:
    """Return a value that must be a string.

    Examples
    --------
    >>> text("net", JsonPath() / "name")
    'net'
    """
    if not isinstance(value, str):
        path.fail(f"expected a string, got {_kind(value)}")
    return value


def check_keys(data: Mapping[str, Any], known: Iterable[str], path: JsonPath) -> None:
    """Raise if a dictionary has an unknown key.

    Examples
    --------
    >>> check_keys({"node": {}}, ("nodes", "edges"), JsonPath() / "graphs")
    Traceback (most recent call last):
    ...
    graphrewrite.errors.SerialError: graphs: unknown key 'node'; did you mean 'nodes'?
    """
    for key in data:
        if key not in known:
            path.fail(f"unknown key {key!r:.60}{did_you_mean(key, known)}")


def _kind(value: Any) -> str:
    name = type(value).__name__
    return "nothing" if value is None else f"{'an' if name[0] in 'aeiou' else 'a'} {name}"


class Decoder:
    """Decoder of the values that `encode` writes.

    `arrays` reads arrays by name from a file beside the document, `pieces` are bytes that were taken out of it.

    Whoever reads a document with bodies sets `body`, which returns the one of a name, and `types`, those of dialects.

    Examples
    --------
    >>> Decoder().decode({"pads": [1, 1], "names": {"$list": ["a"]}}, JsonPath())
    {'pads': (1, 1), 'names': ['a']}
    """

    def __init__(
        self,
        arrays: Callable[[str, JsonPath], np.ndarray] | None = None,
        pieces: dict[int, memoryview] | None = None,
    ) -> None:
        self.arrays, self.pieces = arrays, pieces or {}
        self.types: Mapping[str, type[OwnType]] = {}
        self.shared: dict[str, np.ndarray] = {}
        self.body: Callable[[str, JsonPath], Any] | None = None
        self.forms: dict[str, Callable[[Any, JsonPath], Any]] = {
            "$array": self._array,
            "$bytes": lambda data, path: bytes(_bytes(data, path)),
            "$body": self._body,
            "$complex": self._complex,
            "$dict": self._dict,
            "$element": lambda data, path: _parsed(lambda written: read_element(written, self.types), data, path),
            "$float": _float,
            "$frozenset": lambda data, path: self._hashed(frozenset, data, path),
            "$int": _int,
            "$list": lambda data, path: list(self._sequence(data, path)),
            "$scalar": lambda data, path: self._array(data, path, scalar=True),
            "$set": lambda data, path: self._hashed(set, data, path),
            "$shared": self._shared,
            "$type": lambda data, path: _parsed(lambda written: read_type(written, self.types), data, path),
        }

    def decode(self, value: Any, path: JsonPath) -> Any:
        """Return the value of JSON data; `path` is for error messages."""
        if path.depth > DEPTH:
            path.fail(f"nests deeper than {DEPTH}")
        if value is None or type(value) in (bool, int, str):
            return value
        if type(value) is float:
            if not math.isfinite(value):
                path.fail("expected a finite number; others are written as {'$float': …}")
            return value
        if type(value) in (list, tuple):  # attributes of a graph turn lists into tuples
            return tuple([self.decode(each, path / i) for i, each in enumerate(value)])
        if type(value) is dict:
            tags = [key for key in value if isinstance(key, str) and key.startswith("$")]
            if not tags:
                return {key: self.decode(each, path / key) for key, each in mapping(value, path).items()}
            form = self.forms.get(tags[0])
            if form is None or len(value) > 1:
                hint = did_you_mean(tags[0], self.forms)
                path.fail(f"expected an object with one key such as '$list', got {str(list(value))[:60]}{hint}")
            return form(value[tags[0]], path)
        return path.fail(str(value) if isinstance(value, Refused) else f"expected JSON, got {_kind(value)}")

    def _sequence(self, data: Any, path: JsonPath) -> tuple[Any, ...]:
        if type(data) is not list:
            path.fail(f"expected a list, got {_kind(data)}")
        return tuple([self.decode(each, path / i) for i, each in enumerate(data)])

    def _array(self, data: Any, path: JsonPath, *, scalar: bool = False) -> Any:
        if isinstance(data, str) and not scalar:
            if self.arrays is None:
                path.fail(f"the array {data[:40]!r} is in a separate file, which is missing")
            return self.arrays(data, path)
        data = mapping(data, path)
        if data.keys() != {"dtype", "shape", "data"}:
            path.fail(f"expected the keys dtype, shape and data, got {str(list(data))[:60]}")
        # Each piece has one place: a number that the document itself has takes it away, and that place finds none.
        written = self.pieces.pop(data["data"], data["data"]) if type(data["data"]) is int else data["data"]
        array = array_from(data["dtype"], data["shape"], _bytes(written, path))
        if isinstance(array, str):
            path.fail(array)
        if scalar and array.ndim:
            path.fail("expected a single number")
        return array[()] if scalar else array

    def _shared(self, data: Any, path: JsonPath) -> np.ndarray:
        name = text(data, path)
        if name not in self.shared:
            path.fail(f"the module has no constant {name!r:.60}{did_you_mean(name, self.shared)}")
        return self.shared[name]

    def _body(self, data: Any, path: JsonPath) -> Any:
        name = text(data, path)
        if self.body is None:
            path.fail("only a node has bodies")
        return self.body(name, path)

    def _complex(self, data: Any, path: JsonPath) -> complex:
        parts = self._sequence(data, path)
        if len(parts) != 2 or not all(type(part) in (int, float) for part in parts):
            path.fail("expected a real and an imaginary part")
        try:
            return complex(*parts)
        except OverflowError as error:
            path.fail(str(error), error)

    def _dict(self, data: Any, path: JsonPath) -> dict[Any, Any]:
        pairs: dict[Any, Any] = {}
        for i, pair in enumerate(self._sequence(data, path)):
            if not isinstance(pair, tuple) or len(pair) != 2:
                (path / i).fail("expected a key and a value")
            try:
                if pair[0] in pairs:
                    (path / i).fail("duplicate key")
                pairs[pair[0]] = pair[1]
            except TypeError as error:
                (path / i).fail("expected a key: a string, a number or a tuple of them", error)
        return pairs

    def _hashed(self, make: Callable[[Any], Any], data: Any, path: JsonPath) -> Any:
        try:
            return make(self._sequence(data, path))
        except TypeError as error:
            path.fail("expected strings, numbers or tuples of them", error)


class Refused(str):
    """A value that is not allowed in JSON; the string is the error message."""

    __slots__ = ()


def _parsed(parse: Callable[[str], Any], data: Any, path: JsonPath) -> Any:
    try:
        return parse(text(data, path))
    except ParseError as error:
        path.fail(str(error), error)


def _bytes(data: Any, path: JsonPath) -> memoryview:
    try:
        return decoded(data if isinstance(data, memoryview) else memoryview(text(data, path).encode("ascii")))
    except (binascii.Error, ValueError) as error:
        path.fail(f"expected bytes in base 64: {error}", error)


def _float(data: Any, path: JsonPath) -> float:
    if data in ("inf", "-inf"):
        return float(data)
    number = struct.unpack(">d", bytes.fromhex(data))[0] if isinstance(data, str) and _BITS.match(data) else 0.0
    if not math.isnan(number):
        path.fail("expected 'inf', '-inf' or the 16 hexadecimal digits of a NaN")
    return float(number)


def _int(data: Any, path: JsonPath) -> int:
    if not isinstance(data, str) or not _HEX.match(data):
        path.fail("expected an integer such as '0x1f'")
    return int(data, 16)
