"""Prediction of the use of an FPGA, from the pieces in a component's description."""

import re
from collections.abc import Callable, Iterable, Mapping
from functools import partial, reduce
from typing import Any

from graphrewrite.hdl.resources import Piece
from graphrewrite.hdl.synthesis.family import Family, Usage
from graphrewrite.hdl.synthesis.memories import memory_usage

__all__ = ["piece_usage", "predicted_usage"]

_DSP = {"ice40": (16, 16, 16, 11), "ecp5": (18, 18, 18, 0), "xc7": (25, 18, 18, 9)}
"""Of a multiplier block: bits of the wider and the narrower factor, of a part of a wider one; least of a product."""
_CONTROL = {"ice40": 6, "ecp5": 6, "xc7": 5}
"""Look-up tables that count the beats of an output buffer, and let them in and out."""
_RING = {"ice40": (13, -8), "ecp5": (13, 8), "xc7": (4, 10)}
"""The same of a buffer in a memory: so many for each bit of an address in it, and so many more (measured)."""
_EMULATED = {"ice40": 3, "ecp5": 2}
"""A block that does not give the old word of a written address gets registers for both words and the address,
and so many more."""


def predicted_usage(component: Mapping[str, Any], family: Family) -> Usage:
    """Return what an instance should take.

    Least certain are products by constants in look-up tables: on 19 random matrices they were off by at most 15 % for
    xc7 and ice40, and by 33 % for ECP5, where ABC doubles logic for speed. A report says where a part is off.

    Examples
    --------
    >>> from graphrewrite.hdl.synthesis.family import FAMILIES
    >>> adders = [["add", 4, 9, 0], ["buffer", 1, 36, 2]]
    >>> resources = {"multipliers": 0, "adders": 4, "registers": 78, "memory_bits": 0, "pieces": adders}
    >>> predicted_usage({"resources": resources, "streams_out": ["stream s9f0[4,10]"]}, FAMILIES["xc7"])
    Usage(lut=81, ff=78, dsp=0, bram=0, lutram=0, carry=12)
    """
    resources = component["resources"]
    pieces = [Piece(*piece) for piece in resources.get("pieces", ())]
    if all(piece.kind == "buffer" for piece in pieces):
        pieces += _guessed(resources, pieces, component)
    logic = reduce(Usage.plus, (piece_usage(piece, family) for piece in pieces), Usage())
    return logic.plus(Usage(ff=int(resources["registers"])))


def _guessed(resources: Mapping[str, Any], buffers: Iterable[Piece], component: Mapping[str, Any]) -> list[Piece]:
    """Pieces for the sums of a description that names none: numbers as wide as those that leave."""
    widths = [int(bits) for text in component["streams_out"] for bits in re.findall(r"\b[su](\d+)f", text)]
    width = max(widths, default=8)
    memory = int(resources["memory_bits"]) - sum(p.times * p.width * p.size for p in buffers if p.size > 4)
    return [
        Piece("product", int(resources["multipliers"]), width, width),
        Piece("add", int(resources["adders"]), width),
        Piece("logic", 10, 1),
        *([Piece("rom", 1, width, -(-memory // width))] if memory > 0 else []),
    ]


def piece_usage(piece: Piece, family: Family) -> Usage:
    """Return what pieces of one kind take.

    Examples
    --------
    >>> from graphrewrite.hdl.synthesis.family import FAMILIES
    >>> [piece_usage(Piece("product", 2, 9, 8), family).dsp for family in FAMILIES.values()]
    [2, 2, 2]
    """
    one = _KINDS[piece.kind](piece, family.name) if piece.width else Usage()
    return one.times(piece.times)


def _add(piece: Piece, family: str) -> Usage:
    return _carried(piece.width, piece.width, family)


def _compare(piece: Piece, family: str) -> Usage:
    return _carried(piece.width, piece.width * 2 // 3 if family == "xc7" else piece.width * 7 // 8, family)


def _carried(width: int, tables: int, family: str) -> Usage:
    if family == "ecp5":
        return Usage(carry=width // 2 + 1)
    return Usage(lut=tables, carry=-(-width // 4) if family == "xc7" else width)


def _bound(piece: Piece, family: str) -> Usage:
    """A number is compared with a constant: in carry chains of xc7, three bits of it a table."""
    return _carried(piece.width, piece.width // 3 if family == "xc7" else 0, family)


def _increment(piece: Piece, family: str) -> Usage:
    """A constant is added: the carry chain does it without look-up tables, but on ice40."""
    return _carried(piece.width, 0 if family != "ice40" else piece.width, family)


def _invert(piece: Piece, family: str) -> Usage:
    """Tables before a carry chain invert, too; those of ice40 and ECP5 have none before them (measured)."""
    return Usage(lut={"ice40": piece.width * 7 // 8, "ecp5": piece.width, "xc7": 0}[family])


def _select(piece: Piece, family: str) -> Usage:
    ways = max(piece.size, 1)
    if family == "xc7":
        return Usage(lut=piece.width * -(-(ways - 1) // 3))
    if family == "ecp5":
        # Five inputs are two tables, and six are four; more share what they decode.
        return Usage(lut=piece.width * ((0, 0, 1, 2, 5)[ways] if ways <= 4 else 2 * (ways - 1)))
    return Usage(lut=piece.width * (ways - 1 if ways <= 4 else ways))


def _winner(piece: Piece, family: str) -> Usage:
    """The choice comes late, out of a carry chain: small tables are doubled for its sake (measured)."""
    return Usage(lut=piece.width * {"ice40": 10, "ecp5": 17, "xc7": 6}[family] // 6)


def _decode(piece: Piece, family: str) -> Usage:
    if family == "ecp5":
        return Usage(lut=piece.width * 4 if piece.width > 8 else piece.width * 5 // 2)
    return Usage(lut=piece.width if family == "xc7" else piece.width * 3 // 2)


def _logic(piece: Piece, family: str) -> Usage:
    return Usage(lut=piece.width)


def _counter(piece: Piece, family: str) -> Usage:
    return Usage(lut=piece.width if family != "xc7" else -(-piece.width // 2))


def _sum(piece: Piece, family: str) -> Usage:
    """An accumulator of ``size`` products: a multiplier block adds one number to its product, but not ECP5's."""
    if family == "xc7" and piece.size == 1:
        return Usage(ff=-piece.width)  # all of it, with its register
    left = piece.size if family == "ecp5" else max(piece.size // 2, 1)
    return _add(piece, family).times(left)


def _start(piece: Piece, family: str) -> Usage:
    """An accumulator adds to a bias or to itself: tables of six inputs before carry chains choose, too."""
    return Usage() if family == "xc7" else _select(piece._replace(size=2), family)


def _rank(piece: Piece, family: str) -> Usage:
    """Registers at products, which the multiplier blocks have themselves; Yosys does not use ECP5's."""
    return Usage(ff=0 if family == "ecp5" else -piece.width)


def _saved(piece: Piece, family: str) -> Usage:
    """Two tables a bit, but for what others swallow (measured)."""
    return Usage(lut=round(piece.width * {"ice40": 0.94, "ecp5": 1.12, "xc7": 0.75}[family]))


def _chain(piece: Piece, family: str) -> Usage:
    """Logic before carry chains of ECP5 is doubled where that is quicker (measured)."""
    share = {"ice40": 1.58, "ecp5": 0.57 if piece.size else 0, "xc7": 1.04}[family]
    return _add(piece, family)._replace(lut=round(piece.width * share))


def _further(piece: Piece, family: str) -> Usage:
    """Many of their bits are those of a sign, or constant (measured)."""
    share = {"ice40": 0.49, "ecp5": 0, "xc7": 0.37}[family]
    return _add(piece, family)._replace(lut=round(piece.width * share))


def _product(piece: Piece, family: str) -> Usage:
    widest, narrowest, part, least = _DSP[family]
    wide, narrow = max(piece.width, piece.size), min(piece.width, piece.size)
    if wide + narrow < least or narrow < 2:
        return Usage(lut=wide * narrow)
    across, down = _parts(wide, widest, part), _parts(narrow, narrowest, narrowest)
    if across * down == 1:
        return Usage(dsp=1)
    # The upper corner of a large product may be small enough for look-up tables.
    corner = wide + narrow - (across - 1) * (part - 1) - (down - 1) * (narrowest - 1)
    blocks = across * down - (across > 1 < down and corner <= least + 1)
    # The blocks' products are added (measured); those of xc7 do it themselves.
    return Usage(lut=0 if family == "xc7" else wide + narrow, dsp=blocks)


def _parts(width: int, most: int, part: int) -> int:
    """Blocks side by side for a factor; all but the last leave a bit for the sign."""
    return 1 if width <= most else -(-(width - 1) // (part - 1))


def _delay(piece: Piece, family: str) -> Usage:
    """Shift registers: in look-up tables of xc7, from three registers on."""
    if family != "xc7" or piece.size < 3:
        return Usage()
    return Usage(lutram=piece.width * -(-piece.size // 32), ff=-piece.width * piece.size)


def _memory(piece: Piece, family: str, *, writable: bool) -> Usage:
    usage = memory_usage(family, piece.size, piece.width, writable=writable)
    if usage.bram:
        # The register of the read, which the description counts, lies within a block.
        return usage._replace(ff=usage.ff - piece.width + piece.alike)
    return memory_usage(family, piece.size, piece.width - piece.alike, writable=writable) if piece.alike else usage


def _ring(piece: Piece, family: str) -> Usage:
    usage = _memory(piece, family, writable=True)
    if usage.bram and family in _EMULATED:
        registers = 2 * piece.width + (piece.size - 1).bit_length() + _EMULATED[family]
        return usage.plus(Usage(lut=piece.width, ff=registers))
    return usage


def _buffer(piece: Piece, family: str) -> Usage:
    if piece.size <= 4:
        return Usage(lut=_CONTROL[family] + 2 * piece.size.bit_length()).plus(_select(piece, family))
    address = (piece.size - 1).bit_length()
    each, more = _RING[family]
    if family == "ecp5" and piece.size == 1 << address:
        each -= 2  # its addresses wrap by themselves
    return _ring(piece, family).plus(Usage(lut=each * address + more + piece.width))


_KINDS: dict[str, Callable[[Piece, str], Usage]] = {
    "add": _add,
    "compare": _compare,
    "increment": _increment,
    "bound": _bound,
    "invert": _invert,
    "select": _select,
    "winner": _winner,
    "decode": _decode,
    "logic": _logic,
    "product": _product,
    "saved": _saved,
    "chain": _chain,
    "further": _further,
    "counter": _counter,
    "sum": _sum,
    "start": _start,
    "rank": _rank,
    "delay": _delay,
    "rom": partial(_memory, writable=False),
    "ram": partial(_memory, writable=True),
    "ring": _ring,
    "buffer": _buffer,
}
