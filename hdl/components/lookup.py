"""lookup: any function of one number, by a table."""

import numpy as np
from numpy.typing import ArrayLike, NDArray

from graphrewrite.errors import TypeMismatchError
from graphrewrite.hdl.arithmetic.channelwise import check_range, varying_bits
from graphrewrite.hdl.component import Generic, Resources, Site, buffered, counter_bits, per_beat, streams
from graphrewrite.hdl.generics import long_vector
from graphrewrite.hdl.resources import Piece
from graphrewrite.hdl.schedule import Schedule
from graphrewrite.op.define import define_op
from graphrewrite.types import FixedPoint, Stream, Type

__all__ = ["LOOKUP", "WIDEST_TABLE", "lookup"]

WIDEST_TABLE = 12
"""Bits of the widest operand that has a table of all its numbers."""


def _infer(x: Type, *, table: ArrayLike, element: FixedPoint, low: int) -> Stream:
    (stream,) = streams(x)
    (result,) = streams(Stream(element, stream.shape, stream.lanes))
    if stream.element.width > WIDEST_TABLE:
        raise TypeMismatchError(
            f"a table of all {stream.element} has more than {1 << WIDEST_TABLE} entries; requantise to {WIDEST_TABLE} "
            "bits, or use interpolate"
        )
    entries = np.asarray(table)
    if entries.dtype.kind not in "iu" or not entries.size or entries.ndim not in (1, 2):
        raise TypeMismatchError(f"a table {entries.dtype}{list(entries.shape)} is no vector or matrix of whole numbers")
    if entries.ndim == 2 and len(entries) != stream.channels:
        raise TypeMismatchError(f"{len(entries)} tables do not fit {stream}; give one, or {stream.channels}")
    check_range("entries", int(entries.min()), int(entries.max()), element)
    return result


@define_op(name="stream_lookup", level="stream", infer=_infer)
def lookup(x: NDArray[np.integer], *, table: ArrayLike, element: FixedPoint, low: int = 0) -> NDArray[np.integer]:
    """Return the entry of a table for each number, ``table[x - low]``; beyond its ends, the entry there.

    Parameters
    ----------
    x : ndarray of int, shape [N, C, *positions]
        Of at most 12 bits.

    Examples
    --------
    >>> lookup(np.array([[-2, 1, 9]]), table=[9, 8, 7, 6], low=-2, element=FixedPoint(False, 4)).tolist()
    [[9, 6, 6]]
    """
    entries = np.asarray(table)
    at = np.clip(x.astype(np.int64) - low, 0, entries.shape[-1] - 1)
    if entries.ndim == 1:
        return np.asarray(entries[at]).astype(element.dtype)
    channel = np.arange(len(entries)).reshape(-1, *[1] * (x.ndim - 2))
    return np.asarray(entries[channel, at]).astype(element.dtype)


def _words(site: Site) -> NDArray[np.int64]:
    """Every table in full, in the order of the bits of a number: the negative ones after the others."""
    x, z = site.operands[0], site.results[0]
    entries = np.atleast_2d(np.asarray(site.attributes["table"]))
    least, count = x.element.minimum, 1 << x.element.width
    numbers = np.broadcast_to(np.roll(np.arange(least, least + count), least), (len(entries), count))
    words: NDArray[np.integer] = lookup(numbers[None], table=entries, element=z.element, low=site.attributes["low"])[0]
    return words.astype(np.int64)


def _schedule(site: Site) -> Schedule:
    return per_beat(site, 2)


def _generics(site: Site) -> dict[str, Generic]:
    x, z, words = site.operands[0], site.results[0], _words(site)
    return {
        "CHANNELS": x.channels,
        "LANES": x.lanes,
        "TABLES": len(words),
        "X_WIDTH": x.element.width,
        "Z_WIDTH": z.element.width,
        **long_vector("WORDS", words.ravel(), long=z.element.width > 31),
    }


def _resources(site: Site) -> Resources:
    x, z = site.operands[0], site.results[0]
    folds = x.folds if np.ndim(site.attributes["table"]) == 2 else 1
    # A memory has one port: each lane reads its own.
    words = folds << x.element.width
    varying = varying_bits(site.attributes["table"])
    pieces = Piece("rom", x.lanes, min(varying, z.element.width), words), Piece("counter", 1, counter_bits(folds))
    return Resources(0, 0, z.payload_width + counter_bits(folds), z.payload_width * words, pieces)


LOOKUP = buffered(lookup, "lookup.vhd", _generics, _schedule, _resources)
"""The component of `lookup`."""
