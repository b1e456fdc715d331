"""The memories that Yosys chooses: blocks, look-up tables or flip-flops, by the costs that its libraries state."""

from typing import NamedTuple

from graphrewrite.hdl.synthesis.family import Usage

__all__ = ["memory_usage"]


class _Block(NamedTuple):
    """A block memory: its cost, how it counts, and the words and bits that it can have."""

    cost: int
    bram: float
    shapes: tuple[tuple[int, int], ...]


class _Library(NamedTuple):
    """Blocks, and the cost of a bit of a read-only memory in logic."""

    blocks: tuple[_Block, ...]
    rom_bit: float
    table: int
    """Inputs of a look-up table."""


def _shapes(deepest: int, *widths: int) -> tuple[tuple[int, int], ...]:
    return tuple((deepest >> step, width) for step, width in enumerate(widths))


_LIBRARIES = {
    "ice40": _Library((_Block(64, 1, ((2048, 2), (1024, 4), (512, 8), (256, 16))),), 1 / 16, 4),
    "ecp5": _Library((_Block(128, 1, _shapes(16384, 1, 2, 4, 9, 18, 36)),), 1 / 16, 4),
    "xc7": _Library(
        (
            _Block(129, 0.5, _shapes(16384, 1, 2, 4, 9, 18, 36)),
            _Block(257, 1, _shapes(32768, 1, 2, 4, 9, 18, 36, 72)),
        ),
        1 / 64,
        6,
    ),
}


def memory_usage(family: str, words: int, width: int, *, writable: bool) -> Usage:
    """Return what a memory with a registered read takes.

    Parameters
    ----------
    words, width : int
        How many, and their bits.

    Returns
    -------
    Usage
        Without the register of the read, which a block memory holds itself; with what chooses among blocks that are
        one below the other.

    Examples
    --------
    >>> memory_usage("xc7", 1280, 64, writable=False)
    Usage(lut=64, ff=0, dsp=0, bram=3, lutram=0, carry=0)
    >>> memory_usage("ecp5", 16, 12, writable=True)
    Usage(lut=0, ff=0, dsp=0, bram=0, lutram=12, carry=0)
    """
    library = _LIBRARIES[family]
    words = 1 << (words - 1).bit_length() if writable else words
    block = min(
        (block.cost * count + _choice(words, deep, width), block.bram * count, -(-words // deep))
        for block in library.blocks
        for deep, wide in block.shapes
        for count in (-(-words // deep) * -(-width // wide),)
    )
    if not writable:
        return (
            _tables(family, words, width)
            if words * width * library.rom_bit <= block[0]
            else _blocks(block, width, library.table)
        )
    cost, tables = min(_distributed(family, words, width), default=(float("inf"), 0))
    logic = words * width
    if min(block[0], cost) >= logic:
        return Usage(ff=logic, lut=width * (words - 1))
    # Banks are told apart by multiplexers.
    others = max(words // (16 if family == "ecp5" else 64) - 1, 0)
    chosen = width * -(-others * (2 if family == "ecp5" else 1) // 3)
    return Usage(lutram=tables, lut=chosen) if cost < block[0] else _blocks(block, width, library.table)


def _choice(words: int, deep: int, width: int) -> float:
    """The cost of what chooses among memories that are one below the other."""
    return width * (-(-words // deep) - 1) / 2


def _blocks(block: tuple[float, float, int], width: int, inputs: int) -> Usage:
    """Block memories, and what chooses among those that are one below the other."""
    _, bram, ways = block
    chosen = -(-(ways - 1) // 3) if inputs == 6 else ways - 1
    return Usage(lut=width * chosen, bram=int(bram) if bram == int(bram) else bram)


def _distributed(family: str, words: int, width: int) -> list[tuple[float, int]]:
    """Costs of memories in look-up tables, and how many of these they take."""
    if family == "ecp5":
        units = -(-words // 16) * -(-width // 4)
        return [(4 * units + _choice(words, 16, width), 4 * units)]
    if family == "xc7":  # a wide one costs as much as is used of it
        return [
            (
                8 * -(-words // deep) * width / wide + _choice(words, deep, width),
                4 * -(-words // deep) * -(-width // wide),
            )
            for deep, wide in ((32, 6), (64, 3))
        ]
    return []


def _tables(family: str, words: int, width: int) -> Usage:
    """A read-only memory in look-up tables: no more than there are functions of its address."""
    address = (words - 1).bit_length()
    if words <= 16:
        return Usage(lut=max(min(2 ** min(words - 1, 40) - 1 - address, width), 0))
    # What tables of a bit of the words should take is more: Yosys makes sums of products of address bits, worse ones
    # where a table has some words only, and shares these where the words are wide (measured).
    if family == "xc7":
        if width > 8:
            return Usage(lut=width * words // 12)
        return Usage(lut=width * max(words // (18 if words % 64 else 42), 1))
    if family == "ice40":
        return Usage(lut=width * words // 7 if width <= 16 else width * words * 2 // 17)
    return Usage(lut=width * words // (14 if width <= 12 and words <= 128 else 10))
