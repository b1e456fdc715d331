"""Weights of Keras in `.h5` files and indices of TensorFlow's checkpoints, at the limits of what they say."""

from __future__ import annotations

import struct
from collections.abc import Sequence

import numpy as np
import pytest

from graphrewrite.lowering.errors import ModelError
from graphrewrite.lowering.exchange.keras.archive import Place, _Hdf5
from graphrewrite.lowering.exchange.tensorflow.checkpoint import _block, _entries, _number

h5py = pytest.importorskip("h5py")


@pytest.mark.parametrize(
    ("names", "owners", "name", "found"),
    [
        (["d/kernel:0", "d/bias:0"], ("d",), "bias", 1),
        (["d/kernel", "d/bias"], ("d",), "kernel", 0),
        (["b/x/kernel:0", "b/y/kernel:0"], ("b", "y"), "kernel", 1),
        (["b/x/kernel:0", "b/y/x/kernel:0"], ("b", "y", "x"), "kernel", 1),
        (["b/variable:0"], ("b",), "kernel", 0),
        (["b/variable_1:0"], ("b",), "kernel", 0),
        (["b/x/kernel:0", "b/y/kernel:0"], ("b",), "kernel", "has 2 weights 'kernel' of layer 'b'"),
        (["b/variable:0", "b/variable_1:0"], ("b",), "kernel", "has 0 weights 'kernel' of layer 'b'"),
        (["variable/b:0"], ("b",), "kernel", "has 0 weights 'kernel'"),
        (["b/other:0"], ("b", "c"), "kernel", "has 0 weights 'kernel' of layer 'b/c'"),
        ([], ("b",), "kernel", "has 0 weights"),
        (["d/kernel:0"], ("e",), "kernel", "has no weights of layer 'e'"),
    ],
)
def test_weights_are_found_by_their_owners(
    names: Sequence[str], owners: tuple[str, ...], name: str, found: int | str
) -> None:
    with h5py.File("weights", "w", driver="core", backing_store=False) as file:
        layer = file.create_group("d" if owners == ("e",) else owners[0])
        layer.attrs["weight_names"] = [each.encode() for each in names]
        for at, each in enumerate(names):
            layer[each] = np.float32([at, at])
        archive, place = _Hdf5({}, file, "m.h5", 2), Place(owners=owners)
        assert archive.arrays(place, []) == []
        if isinstance(found, int):
            assert [array.tolist() for array in archive.arrays(place, [name])] == [[found, found]]
        else:
            with pytest.raises(ModelError, match=found):
                archive.arrays(place, [name])


def entry(shared: int, own: bytes, value: bytes) -> bytes:
    return bytes([shared, len(own), len(value)]) + own + value


def block(*entries: bytes, restarts: int = 1) -> bytes:
    return b"".join(entries) + bytes(4 * restarts) + struct.pack("<I", restarts)


def test_keys_share_what_they_begin_with() -> None:
    held = block(entry(0, b"abc", b"1"), entry(2, b"d", b"22"), entry(3, b"", b""), restarts=2)
    assert list(_entries(held)) == [(b"abc", b"1"), (b"abd", b"22"), (b"abd", b"")]
    assert list(_entries(block())) == []
    for wrong in (
        block(entry(1, b"a", b"")),
        block(entry(0, b"a", b""), entry(2, b"a", b"")),
        block(bytes([0, 5, 0]) + b"a"),
        block(bytes([0, 1, 5]) + b"a"),
        block(bytes([0, 1, 2]) + b"ab"),
    ):
        with pytest.raises(ModelError, match="contradicts itself"):
            list(_entries(wrong))


def test_numbers_of_seven_bits_a_byte() -> None:
    assert _number(b"\x05", 0) == (5, 1)
    assert _number(b"x\xac\x02y", 1) == (300, 3)
    assert _number(b"\xff" * 9 + b"\x01", 0) == ((1 << 64) - 1, 10)
    with pytest.raises(ModelError, match="a number without an end"):
        _number(b"\xff" * 11, 0)
    assert _block(b"abc\0crc4", 0, 3) == b"abc"
    with pytest.raises(ModelError, match="beyond its end"):
        _block(b"abc\0crc", 0, 3)
    with pytest.raises(ModelError, match="is compressed"):
        _block(b"abc\1crc4", 0, 3)
