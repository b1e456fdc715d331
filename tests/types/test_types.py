from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from graphrewrite import FixedPoint, Stream, Tensor
from graphrewrite.errors import ParseError, TypeMismatchError
from graphrewrite.types import element_dtype, element_of, parse_type

formats = st.builds(FixedPoint, st.booleans(), st.integers(1, 63), st.integers(-70, 70))
elements = st.one_of(formats, st.sampled_from(["f16", "f32", "f64", "bool", "i8", "i64", "u16"]))
sizes = st.one_of(st.integers(0, 300), st.sampled_from(["N", "batch", "seq_len"]))
tensors = st.builds(Tensor, elements, st.lists(sizes, max_size=5).map(tuple))
streams = st.builds(Stream, formats, st.lists(st.integers(1, 9), min_size=1, max_size=4).map(tuple))


@given(st.one_of(tensors, streams))
def test_what_is_printed_parses_to_an_equal_type(kind):
    assert parse_type(str(kind)) == kind
    assert hash(parse_type(str(kind))) == hash(kind)


@given(formats)
def test_limits_are_those_of_two_s_complement(fmt):
    mantissas = 2**fmt.width
    assert fmt.maximum - fmt.minimum + 1 == mantissas
    assert fmt.minimum == (-mantissas // 2 if fmt.signed else 0)
    limits = np.iinfo(fmt.dtype)
    assert limits.min <= fmt.minimum
    assert fmt.maximum <= limits.max
    assert fmt.step * 2.0**fmt.fraction == 1.0


@given(st.integers(-(2**61), 2**61), st.integers(-(2**61), 2**61))
def test_holding_is_the_narrowest_format(a, b):
    low, high = min(a, b), max(a, b)
    fmt = FixedPoint.holding(low, high)
    assert fmt.minimum <= low
    assert high <= fmt.maximum
    if fmt.width > 1:
        narrower = FixedPoint(fmt.signed, fmt.width - 1)
        assert narrower.minimum > low or high > narrower.maximum


@pytest.mark.parametrize("width", [0, -1, 64])
def test_a_width_out_of_range_is_refused(width):
    with pytest.raises(TypeMismatchError, match="1 to 63"):
        FixedPoint(True, width)


@pytest.mark.parametrize("text", ["", "f32", "f32[N", "q9[3]", "stream f32[3]", "stream s8f0[N]", "s8f4 [3]x"])
def test_what_is_no_type_is_refused(text):
    with pytest.raises((ParseError, TypeMismatchError)):
        parse_type(text)


@given(streams, st.integers(1, 3), st.integers(0, 2**32 - 1))
def test_beats_and_back(stream, batch, seed):
    values = np.random.default_rng(seed).integers(0, 9, (batch, *stream.shape))
    beats = stream.to_beats(values)
    assert beats.shape == (batch, stream.beats, stream.lanes)
    np.testing.assert_array_equal(stream.from_beats(beats), values)
    # The first beat is the first position of every channel: channels are lanes.
    np.testing.assert_array_equal(beats[:, 0], values.reshape(batch, stream.lanes, -1)[:, :, 0])


def test_element_types_and_dtypes_are_each_other_s_inverse():
    for name in ("f16", "f32", "f64", "bool", "i8", "i16", "i32", "i64", "u8", "u16", "u32", "u64"):
        assert element_of(element_dtype(name)) == name
    with pytest.raises(TypeMismatchError, match="complex"):
        element_of(np.complex64)
    with pytest.raises(TypeMismatchError, match="unknown element type 'f99'"):
        Tensor("f99", ())
