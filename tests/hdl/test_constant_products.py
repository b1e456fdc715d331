"""What constant matrix products take: invariances, no adder where nothing is added, and a table.

How near it is to what Yosys makes of them is in `synthesis/test_prediction.py`. Where the model is meant to change,
``python -m tests.hdl.test_constant_products`` writes the table again, and its difference is to be looked at.
"""

from __future__ import annotations

from itertools import product
from pathlib import Path

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import array_shapes, arrays
from numpy.typing import NDArray

from graphrewrite.hdl.arithmetic.constant_products import constant_sums
from graphrewrite.types import FixedPoint

TABLE = Path(__file__).with_name("constant_products.txt")
MATRICES = (
    [[1, -1]], [[-1, 3]], [[-1, -1]], [[3, 5]], [[-3, 7]], [[-5, -9]], [[2, 3]], [[12, -20]], [[4, -8]],
    [[0, 11], [7, 0]], [[5, 3, 9]], [[1, 1, 1, 0, 0, 0, 7]], [[23, -45, 0, 99, 1]], [[3, 5], [3, 5]], [[3, 7], [6, 9]],
    [[-101, 57, 33, -1], [89, -57, 33, 64]],
)  # fmt: skip

elements = st.builds(FixedPoint, st.booleans(), st.integers(2, 12))
matrices = arrays(
    np.int64, array_shapes(min_dims=2, max_dims=2, min_side=1, max_side=7), elements=st.integers(-128, 127)
)


def width_of(matrix: NDArray[np.int64], element: FixedPoint) -> int:
    return int(np.abs(matrix).sum(axis=1).max() + 1).bit_length() + element.width + 2


@given(matrix=matrices, element=elements, apart=st.booleans(), data=st.data())
def test_the_order_of_rows_does_not_matter(
    matrix: NDArray[np.int64], element: FixedPoint, apart: bool, data: st.DataObject
) -> None:
    order = data.draw(st.permutations(range(len(matrix))))
    width = width_of(matrix, element)
    found = constant_sums(matrix, element, width, apart=apart)
    assert constant_sums(matrix[order], element, width, apart=apart) == found


@given(matrix=matrices, element=elements)
def test_products_in_registers_are_those_of_the_odd_parts(matrix: NDArray[np.int64], element: FixedPoint) -> None:
    width = width_of(4 * matrix, element)
    odd, even = (constant_sums(m, element, width, apart=True) for m in (matrix, 4 * matrix))
    assert (odd.saved, odd.held) == (even.saved, even.held)
    twice = constant_sums(np.vstack([matrix, matrix]), element, width, apart=True)
    assert (twice.saved, twice.held) == (odd.saved, odd.held)


@given(element=elements, places=st.lists(st.integers(0, 6), min_size=1, max_size=6))
def test_powers_of_two_need_no_adders_but_those_of_their_sum(element: FixedPoint, places: list[int]) -> None:
    matrix = np.array([[1 << place for place in places]])
    found = constant_sums(matrix, element, width_of(matrix, element), apart=False)
    assert found.saved == 0
    assert sum(found.chains.values()) + sum(found.additions.values()) == len(places) - 1


@given(matrix=matrices, element=elements, apart=st.booleans())
def test_nothing_is_taken_for_zeros(matrix: NDArray[np.int64], element: FixedPoint, apart: bool) -> None:
    found = constant_sums(0 * matrix, element, 20, apart=apart)
    assert (found.saved, found.chains, found.additions, found.held) == (0, {}, {}, 0)


@given(matrix=matrices, width=st.integers(2, 12))
def test_products_without_a_sign_are_formed_for_themselves_with_or_without_registers(
    matrix: NDArray[np.int64], width: int
) -> None:
    matrix, element = np.abs(matrix), FixedPoint(False, width)
    together, apart = (constant_sums(matrix, element, width_of(matrix, element), apart=a) for a in (False, True))
    assert (together.saved, together.held) == (apart.saved, apart.held)


def lines() -> list[str]:
    """Some matrices, times numbers of several formats, without registers and with some."""
    found = []
    formats = [FixedPoint(signed, bits) for signed in (False, True) for bits in (2, 3, 8)]
    for entries, element, apart in product(MATRICES, formats, (False, True)):
        matrix = np.array(entries)
        sums = constant_sums(matrix, element, width_of(matrix, element) - 2, apart=apart)
        chains, additions = (
            " ".join(f"{n}*{bits}" for bits, n in each.items()) for each in (sums.chains, sums.additions)
        )
        found.append(
            f"{entries} {element} {'apart' * apart}: {sums.saved} {sums.held} | {chains} | {additions}".rstrip()
        )
    return found


def test_products_take_what_the_table_says() -> None:
    assert lines() == TABLE.read_text(encoding="utf-8").splitlines()


if __name__ == "__main__":
    TABLE.write_text("".join(f"{line}\n" for line in lines()), encoding="utf-8")
