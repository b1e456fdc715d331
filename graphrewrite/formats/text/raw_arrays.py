"""Arrays from untrusted bytes: no more memory is allocated than there are bytes, nothing is executed."""

from __future__ import annotations

import math
import re
from typing import Any

import numpy as np

from graphrewrite.types import handed_over

__all__ = ["array_from"]

_DTYPE = re.compile(
    r"[<>|](?:b1|[iu][1248]|f(?:2|4|8|12|16)|c(?:8|16|24|32)|[SUV][1-9][0-9]{0,8}|[mM]8\[[0-9a-zA-Z]{1,12}\])\Z"
)
_RANK = 32
_LAST_CHARACTER = 0x10FFFF
_LARGE = 1 << 20
"""Size in bytes from which an array is a view of the bytes that it is made of."""


def array_from(dtype: Any, shape: Any, data: bytes | bytearray | memoryview) -> np.ndarray | str:
    r"""Return the read-only array of some bytes in C order, or an error message; a large one is a view of the bytes.

    Examples
    --------
    >>> array_from("<i2", (2,), b"\x01\x00\x02\x00").tolist()
    [1, 2]
    >>> array_from("<f8", (10**15,), b"")
    'expected 8000000000000000 bytes, got 0'
    >>> array_from("|O", (1,), b"........")
    "the dtype '|O' is not supported"
    """
    if not isinstance(dtype, str) or not _DTYPE.match(dtype):
        return f"the dtype {dtype!r:.40} is not supported"
    if not isinstance(shape, tuple | list) or not all(type(size) is int and size >= 0 for size in shape):
        return f"expected a sequence of sizes, got {shape!r:.60}"
    try:
        kind = np.dtype(dtype)
    except (TypeError, ValueError):
        return f"the dtype {dtype!r} is not available on this machine"
    declared = math.prod(shape) * kind.itemsize
    if len(shape) > _RANK or (max(shape, default=0) >= 2**62 and not declared):
        return f"{len(shape)} axes of up to {max(shape)} entries exceed the limits of an array"
    if declared != len(data):
        return f"expected {declared} bytes, got {len(data)}"
    try:
        array = np.frombuffer(data, kind).reshape(shape) if len(data) else np.zeros(shape, kind)
    except ValueError as error:
        return str(error)
    if kind.kind == "b" and (array.view(np.uint8) > 1).any():
        return "a byte of a boolean is 0 or 1"
    if kind.kind == "U" and (np.frombuffer(data, f"{dtype[0]}u4") > _LAST_CHARACTER).any():
        return "a character is not valid Unicode"
    return handed_over(array if array.nbytes >= _LARGE and array.flags.aligned else array.copy())
