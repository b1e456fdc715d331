"""Fourier transforms, determinants, caches and bits, against their formulas."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from graphrewrite import Tensor, op
from graphrewrite.errors import TypeMismatchError

seeds = st.integers(0, 2**32 - 1).map(np.random.default_rng)


@given(seeds, st.integers(1, 6), st.integers(0, 1), st.sampled_from([1, 2]))
def test_a_transform_is_the_sum_of_its_definition_and_has_an_inverse(rng, size, axis, parts):
    shape = [3, 3, parts]
    shape[axis] = size
    x = rng.normal(size=shape)
    values = x[..., 0] if parts == 1 else x[..., 0] + 1j * x[..., 1]
    turns = np.exp(-2j * np.pi * np.outer(np.arange(size), np.arange(size)) / size)
    expected = np.moveaxis(np.tensordot(turns, values, (1, axis)), 0, axis)
    found = op.dft(x, axis=axis)
    np.testing.assert_allclose(found[..., 0] + 1j * found[..., 1], expected, atol=1e-9)
    np.testing.assert_allclose(op.dft(found, axis=axis, inverse=True)[..., :parts], x, atol=1e-9)
    if parts == 1:
        half = op.dft(x, axis=axis, onesided=True)
        assert half.shape == op.dft.infer(Tensor("f64", x.shape), axis=axis, onesided=True)[0].shape
        back = op.dft(half, axis=axis, onesided=True, inverse=True, length=size)
        np.testing.assert_allclose(back, x, atol=1e-9)


@given(seeds, st.integers(1, 4), st.integers(1, 3), st.booleans())
def test_frames_are_transformed_one_by_one(rng, length, step, windowed):
    x, window = rng.normal(size=(2, 7, 1)), rng.normal(size=length)
    found = op.stft(x, window if windowed else None, step=step, length=length)
    for frame in range(found.shape[1]):
        part = x[:, frame * step : frame * step + length] * (window[:, None] if windowed else 1)
        np.testing.assert_allclose(found[:, frame], op.dft(part, onesided=True), atol=1e-9)
    assert found.shape[1] == (7 - length) // step + 1


@given(seeds, st.integers(1, 4))
def test_the_determinant_of_a_product_is_that_of_its_factors(rng, size):
    a, b = rng.normal(size=(2, 3, size, size))
    np.testing.assert_allclose(op.det(op.matmul(a, b)), op.det(a) * op.det(b))


@given(seeds, st.sampled_from(["linear", "circular"]), st.sampled_from([1, -2]))
def test_a_cache_holds_the_steps_that_were_written_last(rng, mode, axis):
    x, updates = rng.normal(size=(2, 5, 3)), rng.normal(size=(2, 2, 3))
    first = rng.integers(0, 4 if mode == "linear" else 9, 2)
    expected = x.copy()
    for sample in range(2):
        for step in range(2):
            expected[sample, (first[sample] + step) % 5] = updates[sample, step]
    assert np.array_equal(op.tensor_scatter(x, updates, first, mode=mode, axis=axis), expected)


@given(st.lists(st.integers(0, 2**16 - 1), min_size=1, max_size=5))
def test_bits_come_back(numbers):
    x = np.array(numbers, np.uint16)
    for element in ("i16", "f16"):
        assert np.array_equal(op.bit_cast(op.bit_cast(x, element=element), element="u16"), x)
    swapped = x.astype(x.dtype.newbyteorder())
    assert np.array_equal(op.bit_cast(swapped, element="i16"), op.bit_cast(x, element="i16"))
    with pytest.raises(TypeMismatchError, match="u16 has 16 bits and f32 has 32"):
        op.bit_cast.infer(Tensor("u16", (1,)), element="f32")
