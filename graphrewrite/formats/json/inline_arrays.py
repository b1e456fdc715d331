"""Arrays in a JSON document: written and read apart from it, piece by piece, so that none is in memory as text."""

from __future__ import annotations

import base64
import binascii
import json
import mmap
import re
from collections.abc import Iterator, Mapping

import numpy as np

__all__ = ["decoded", "with_arrays", "without_arrays"]

_REFERENCE = re.compile(r'\{"\$array": "(array_[0-9]+)"\}')
"""An array in a document that is being written; in a user's strings, quotes follow a backslash."""
_HEAD = re.compile(rb'\{"\$array": \{"dtype": "[^"\\]*", "shape": \[[0-9, ]*\], "data": "')
"""What stands before the bytes of an array, and in no string, for the same reason."""
_BYTES = 3 << 20
"""Number of bytes that are encoded at once."""
_LARGE = 1 << 16
"""Number of characters from which the bytes of an array are read apart from the document."""


def with_arrays(document: str, arrays: Mapping[str, np.ndarray]) -> Iterator[bytes]:
    """Yield a document in pieces, with arrays in place of references to them.

    Examples
    --------
    >>> b"".join(with_arrays('{"w": {"$array": "array_1"}}', {"array_1": np.int8([1, 2])}))
    b'{"w": {"$array": {"dtype": "|i1", "shape": [2], "data": "AQI="}}}'
    """
    at = 0
    for reference in _REFERENCE.finditer(document):
        yield document[at : reference.start()].encode("ascii")
        array = arrays[reference[1]]
        yield f'{{"$array": {{"dtype": {json.dumps(array.dtype.str)}, "shape": {list(array.shape)}, "data": "'.encode()
        flat = np.ascontiguousarray(array).reshape(-1).view(np.uint8)
        for start in range(0, len(flat), _BYTES):
            yield base64.b64encode(flat[start : start + _BYTES].data)
        yield b'"}}'
        at = reference.end()
    yield document[at:].encode("ascii")


def without_arrays(document: bytes | mmap.mmap) -> tuple[bytes, dict[int, memoryview]]:
    """Return a document with numbers in place of the bytes of large arrays, and these, in base 64, by number."""
    kept: list[bytes] = []
    pieces: dict[int, memoryview] = {}
    at = start = 0
    while (head := _HEAD.search(document, start)) is not None:
        start = document.find(b'"', head.end())
        if start < 0:  # no JSON, as the parser will say
            break
        if start - head.end() >= _LARGE:
            kept += document[at : head.end() - 1], b"%d" % len(pieces)
            pieces[len(pieces)] = memoryview(document)[head.end() : start]
            at = start + 1
    return b"".join([*kept, document[at:]]), pieces


def decoded(piece: memoryview) -> memoryview:
    r"""Return the bytes that are written in base 64.

    Examples
    --------
    >>> bytes(decoded(memoryview(b"AQI=")))
    b'\x01\x02'
    """
    data = bytearray()
    characters = _BYTES // 3 * 4
    for start in range(0, len(piece), characters):
        part = binascii.a2b_base64(piece[start : start + characters], strict_mode=True)
        if len(part) < _BYTES and start + characters < len(piece):
            raise binascii.Error("padding before the end")
        data += part
    return memoryview(data).toreadonly()
