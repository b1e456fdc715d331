"""A model of what synthesis makes of a constant matrix product without multipliers.

Yosys adds two neighbouring products at once: rows of partial products, one for each bit of the narrower factor, of
which carry-save adders make two out of three until a carry chain adds the last. A product by an even constant is that
by its odd part, shifted. What is shifted, wanted by several rows, held in registers or without a sign is formed once,
for itself. Sums of sums are carry chains.
"""

from collections import Counter
from functools import lru_cache
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from graphrewrite.types import FixedPoint

__all__ = ["ConstantSums", "constant_sums"]


class ConstantSums(NamedTuple):
    """The adders of a constant matrix product.

    Attributes
    ----------
    saved : int
        Adders of two or three bits that save their carry.
    chains : dict of int to int
        Carry chains that end products or sums of two products, by their bits.
    additions : dict of int to int
        Those that add sums, by their bits.
    held : int
        Bits of all different products.
    """

    saved: int
    chains: dict[int, int]
    additions: dict[int, int]
    held: int


class _Row(NamedTuple):
    """A summand: in which columns it varies, in which it is one, and the column whose bit all later ones repeat."""

    varies: int
    ones: int = 0
    top: int = 0


def constant_sums(matrix: NDArray[np.int64], element: FixedPoint, width: int, *, apart: bool) -> ConstantSums:
    """Return what the products of a matrix and their sums take.

    Parameters
    ----------
    width : int
        Bits of the widest sum.

    Examples
    --------
    >>> constant_sums(np.array([[5, 3]]), FixedPoint(True, 8), 12, apart=False)
    ConstantSums(saved=48, chains={9: 1}, additions={}, held=23)
    """
    odd = (matrix // np.maximum(matrix & -matrix, 1)).tolist()
    uses = Counter((column, factor) for row in odd for column, factor in enumerate(row) if factor)
    alone: set[tuple[int, int]] = set()
    sums: list[_Sum] = []
    additions: Counter[int] = Counter()
    for row, odds in zip(matrix.tolist(), odd, strict=True):
        totals = []
        for first in range(0, len(row), 2):
            pair = [k for k in (first, first + 1) if k < len(row) and row[k]]
            joins = [
                k
                for k in pair
                if not apart and len(pair) == 2 and row[k] % 2 and uses[k, row[k]] == 1 and _signed(row[k], element)
            ]
            alone.update((k, odds[k]) for k in pair if k not in joins and odds[k] != 1)
            widths = {k: _width(row[k], element) for k in pair}
            total = width if apart and pair else min(max(widths.values(), default=0) + (len(pair) == 2), width)
            totals.append(total)
            if len(pair) == 2:
                others = tuple(widths[k] for k in pair if k not in joins)
                low = max((row[k] & -row[k]).bit_length() - 1 for k in pair)
                sums.append(_sum(tuple(row[k] for k in joins), others, element, total, low))
        while len(totals) > 1:
            pairs = [totals[k : k + 2] for k in range(0, len(totals), 2)]
            totals = [min(max(pair) + all(pair[1:] and pair), width) for pair in pairs]
            additions.update(total for pair, total in zip(pairs, totals, strict=True) if len(pair) == 2 and all(pair))
    sums += [_sum((factor,), (), element, _width(factor, element), 0) for _, factor in sorted(alone)]
    chains = Counter(each.chain for each in sums if each.chain)
    return ConstantSums(
        sum(each.saved for each in sums),
        dict(sorted(chains.items())),
        dict(sorted(additions.items())),
        sum(_width(factor, element) for _, factor in uses),
    )


class _Sum(NamedTuple):
    saved: int
    chain: int


def _signed(factor: int, element: FixedPoint) -> bool:
    """Whether a product is in two's complement, and is no operand as it stands."""
    return factor != 1 and (factor < 0 or element.signed)


def _width(factor: int, element: FixedPoint) -> int:
    """Bits of a product as the tool sees it: as many as its factors have together."""
    shift = (factor & -factor).bit_length() - 1
    odd = factor >> shift
    if odd == 1:
        return element.width + shift
    return element.width + (factor < 0 and not element.signed) + shift + _bits(odd, element)


def _bits(factor: int, element: FixedPoint) -> int:
    """Bits of a constant; with a sign where the product has one."""
    if factor == -1:
        return 1
    return FixedPoint.holding(min(factor, 0), max(factor, 0)).width + (factor > 0 and element.signed)


@lru_cache(maxsize=1 << 14)
def _sum(factors: tuple[int, ...], others: tuple[int, ...], element: FixedPoint, width: int, low: int) -> _Sum:
    """The adders of products by odd factors, and of other numbers; all but one have no bits below ``low``."""
    hard = [factor for factor in factors if factor != -1]
    if not hard:
        return _Sum(0, width - low)
    mask = (1 << width) - 1
    rows = [row for factor in hard for row in _partial_products(factor, element, mask)]
    rows += [_Row(mask, 0, other - 1) for other in others]
    rows += [_Row(mask, 0, element.width) for _ in range(len(factors) - len(hard))]
    constant = sum(row.ones for row in rows if not row.varies) & mask
    rows = [_Row(0, constant)] * bool(constant) + [row for row in rows if row.varies or not row.ones]
    saved = 0
    while len(rows) > 2:
        summed = []
        # A carry-save adder makes two rows of three: sums without carries, and the carries, a column further up.
        for a, b, c in zip(rows[::3], rows[1::3], rows[2::3], strict=False):
            some = a.varies | b.varies | c.varies
            more = a.varies & b.varies | a.varies & c.varies | b.varies & c.varies
            always, any_one = a.ones & b.ones | a.ones & c.ones | b.ones & c.ones, a.ones | b.ones | c.ones
            top = max(a.top, b.top, c.top)
            saved += (more & (2 << top) - 1).bit_count()  # those of later columns are the same as that of the last
            summed.append(_Row(some, (a.ones ^ b.ones ^ c.ones) & ~some, top))
            carries = more | some & any_one & ~always
            summed.append(_Row(carries << 1 & mask, always << 1 & mask, top + 1))
        rows = summed + rows[len(rows) - len(rows) % 3 :]
    shared = (rows[0].varies | rows[0].ones) & (rows[-1].varies | rows[-1].ones)
    return _Sum(saved, width - (shared & -shared).bit_length() + 1 if shared else 0)


def _partial_products(factor: int, element: FixedPoint, mask: int) -> list[_Row]:
    """Rows of a product: copies of the operand, or of the constant where that is not narrower."""
    bits, width = _bits(factor, element), element.width
    signed = factor < 0 or element.signed
    operand = width + (signed and not element.signed)
    varies = mask if element.signed else (1 << width) - 1
    rows = []
    if operand > bits:
        for n in range(bits):
            is_set = bool(factor >> n & 1)
            if is_set and signed and n == bits - 1:
                rows += [_Row(varies << n & mask, mask & ~varies << n & mask, operand - 1 + n), _Row(0, 1 << n)]
            else:
                rows.append(_Row(varies << n & mask, 0, operand - 1 + n) if is_set else _Row(0))
        return rows
    for n in range(width):
        if element.signed and n == width - 1:
            rows += [_Row(~factor << n & mask, 0, bits - 1 + n), _Row(1 << n, 0, n)]
        else:
            rows.append(_Row(factor << n & mask, 0, bits - 1 + n))
    return rows + [_Row(0)] * (operand - width)
