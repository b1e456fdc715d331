"""What pieces of a circuit take of each family: that of `pieces.txt`; no change goes unseen.

Where a prediction is meant to change, ``python -m tests.hdl.synthesis.test_pieces`` writes the table again, and its
difference is to be looked at.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product
from pathlib import Path

from graphrewrite.hdl.resources import Piece
from graphrewrite.hdl.synthesis import FAMILIES
from graphrewrite.hdl.synthesis.prediction import piece_usage

TABLE = Path(__file__).with_name("pieces.txt")
SIMPLE = (
    "add", "compare", "increment", "bound", "invert", "winner", "decode", "logic", "counter", "start", "rank", "saved",
    "further",
)  # fmt: skip
MEMORIES = ("rom", "ram", "ring")


def pieces() -> Iterator[Piece]:
    """Pieces of each kind, on both sides of what decides how they are made."""
    yield from (Piece(kind, 2, width) for kind, width in product(SIMPLE, (1, 8, 9, 31)))
    yield from (Piece("select", 1, 9, ways) for ways in range(8))
    yield from (Piece("sum", 1, 20, products) for products in (1, 2, 3, 7))
    yield from (Piece("chain", 1, 21, alone) for alone in (0, 1))
    yield from (Piece("delay", 1, 5, steps) for steps in (2, 3, 32, 33))
    factors = (1, 2, 5, 6, 8, 9, 16, 17, 18, 19, 25, 26, 33, 34, 35, 42, 43)
    yield from (Piece("product", 1, wide, narrow) for wide, narrow in product(factors, repeat=2) if wide >= narrow)
    sizes = (1, 2, 3, 5, 9, 16, 17, 20, 40, 64, 65, 128, 129, 250, 512, 1024, 1025, 3000, 20000)
    yield from (
        Piece(kind, 1, width, words, alike)
        for kind, words, width, alike in product(MEMORIES, sizes, (2, 9, 12, 13, 16, 17, 40), (0, 1))
        if kind == "rom" or not alike
    )
    yield from (Piece("buffer", 1, 9, beats) for beats in (1, 2, 4, 5, 16, 17, 64, 200))


def lines() -> list[str]:
    """Each piece, then for each family what is not nothing of tables, registers, blocks, memories and carry cells."""
    found = []
    for piece in pieces():
        usages = [piece_usage(piece, family)._asdict() for family in FAMILIES.values()]
        said = " | ".join(" ".join(f"{n} {kind}" for kind, n in usage.items() if n) or "nothing" for usage in usages)
        size = f"x{piece.size}" * bool(piece.size) + f"-{piece.alike}" * bool(piece.alike)
        found.append(f"{piece.times}*{piece.kind}:{piece.width}{size}: {said}")
    return found


def test_pieces_take_what_the_table_says() -> None:
    assert lines() == TABLE.read_text(encoding="utf-8").splitlines()


if __name__ == "__main__":
    TABLE.write_text("".join(f"{line}\n" for line in lines()), encoding="utf-8")
