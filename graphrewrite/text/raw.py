"""Arrays made of bytes that come from outside: nothing is allocated that is not there, nothing is executed."""

from __future__ import annotations

import math
import re
from typing import Any

import numpy as np

__all__ = ["array_from"]

_DTYPE = re.compile(
    r"[<>|](?:b1|[iu][1248]|f(?:2|4|8|12|16)|c(?:8|16|24|32)|[SUV][1-9][0-9]{0,8}|[mM]8\[[0-9a-zA-Z]{1,12}\])\Z"
)
_RANK = 32
_LAST_CHARACTER = 0x10FFFF


def array_from(dtype: Any, shape: Any, data: bytes) -> np.ndarray | str:
    r"""Return the array of some bytes, or the reason why there is none.

    Parameters
    ----------
    dtype : object
        Numpy's name of the dtype, such as ``"<f4"``.
    shape : object
        A sequence of sizes.
    data : bytes
        The entries in C order.

    Returns
    -------
    ndarray or str

    Examples
    --------
    >>> array_from("<i2", (2,), b"\x01\x00\x02\x00").tolist()
    [1, 2]
    >>> array_from("<f8", (10**15,), b"")
    '8000000000000000 bytes are declared, and 0 are there'
    >>> array_from("|O", (1,), b"........")
    "'|O' is no dtype that is read"
    """
    if not isinstance(dtype, str) or not _DTYPE.match(dtype):
        return f"{dtype!r:.40} is no dtype that is read"
    if not isinstance(shape, tuple | list) or not all(type(size) is int and size >= 0 for size in shape):
        return f"expected a sequence of sizes, got {shape!r:.60}"
    try:
        kind = np.dtype(dtype)
    except (TypeError, ValueError):
        return f"{dtype!r} is no dtype on this machine"
    declared = math.prod(shape) * kind.itemsize
    if len(shape) > _RANK or (max(shape, default=0) >= 2**62 and not declared):
        return f"{len(shape)} axes of up to {max(shape)} entries are more than an array has"
    if declared != len(data):
        return f"{declared} bytes are declared, and {len(data)} are there"
    try:
        array = np.frombuffer(data, kind).reshape(shape).copy() if data else np.zeros(shape, kind)
    except ValueError as error:
        return str(error)
    if kind.kind == "b" and (array.view(np.uint8) > 1).any():
        return "a byte of a boolean is 0 or 1"
    if kind.kind == "U" and (np.frombuffer(data, f"{dtype[0]}u4") > _LAST_CHARACTER).any():
        return "there is no such character"
    return array
