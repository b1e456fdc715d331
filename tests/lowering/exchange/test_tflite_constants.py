"""Constants of TensorFlow Lite's files in each way of storing numbers."""

from __future__ import annotations

import numpy as np
import pytest

from graphrewrite.lowering.exchange.tflite.flatbuffer import FlatbufferError
from graphrewrite.lowering.exchange.tflite.model import _decoded


@pytest.mark.parametrize(
    ("element", "values", "numbers"),
    [
        ("i4", [0x8F, 0x07], [-1, -8, 7]),
        ("i4", [0x21, 0xE3], [1, 2, 3, -2]),
        ("bf16", [0x80, 0x3F, 0x20, 0xC0], [1.0, -2.5]),
        ("bool", [0, 1, 2], [False, True, True]),
        ("i16", [1, 1, 0xFE, 0xFF], [257, -2]),
        ("f32", [0, 0, 0xC0, 0x3F], [1.5]),
        ("u8", [200], [200]),
    ],
)
def test_numbers_are_stored_from_the_lowest_bits_on(element: str, values: list[int], numbers: list[float]) -> None:
    stored = np.array(values, np.uint8)
    found = _decoded(stored, len(numbers), element)
    assert found.astype(type(numbers[0])).tolist() == numbers
    for other in (stored[1:], np.append(stored, np.uint8(0))):
        with pytest.raises(FlatbufferError, match=f"{other.size} bytes are not the {stored.size} of {len(numbers)}"):
            _decoded(other, len(numbers), element)
