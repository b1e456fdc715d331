"""Types: what is refused, one object of each kind, text and back."""

from __future__ import annotations

import copy
import pickle

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from graphrewrite import FixedPoint, Stream, Tensor
from graphrewrite.errors import GraphRewriteError, ParseError, TypeMismatchError
from graphrewrite.testing import types
from graphrewrite.types import (
    HELD_WIDER,
    NAMES,
    STORAGES,
    Quantised,
    element_dtype,
    element_kind,
    element_of,
    integer_limits,
    parse_element,
    parse_type,
    parse_types,
    permutation,
)

WORDS = {"Tensor": Tensor, "Stream": Stream, "FixedPoint": FixedPoint, "Quantised": Quantised}


@given(types())
def test_what_is_printed_parses_to_an_equal_type(kind):
    assert parse_type(str(kind)) == kind
    assert hash(parse_type(str(kind))) == hash(kind)
    assert parse_element(str(kind.element)) == kind.element
    assert eval(repr(kind), WORDS) == kind


@given(st.lists(types(), max_size=4))
def test_the_types_of_several_results_stand_side_by_side(kinds):
    assert parse_types(", ".join(map(str, kinds))) == tuple(kinds)


@given(types(classes=[Tensor]))
def test_equal_tensor_types_are_one_object(kind):
    from_numpy = tuple(np.int64(d) if isinstance(d, int) else d for d in kind.shape)
    assert Tensor(kind.element, list(kind.shape), kind.layout) is kind
    assert Tensor(kind.element, from_numpy, kind.layout) is kind
    assert pickle.loads(pickle.dumps(kind)) is kind
    assert copy.deepcopy(kind) is kind
    assert copy.copy(kind) is kind


@given(types(classes=[Tensor]), types(classes=[Tensor]))
def test_types_are_equal_where_their_text_is(a, b):
    assert (a == b) == (str(a) == str(b)) == (a is b)


@given(types(classes=[Tensor]), st.data())
def test_transposing_back_gives_the_type_again(kind, data):
    perm = data.draw(st.permutations(range(len(kind.shape))))
    moved = kind.permuted(perm)
    assert moved.permuted([perm.index(i) for i in range(len(perm))]) is kind
    assert moved.shape == tuple(kind.shape[p] for p in perm)
    if kind.layout is not None:
        assert moved.layout is not None
        assert permutation(kind.layout, moved.layout) == tuple(perm)
    if isinstance(kind.element, Quantised) and kind.element.axis is not None:
        assert perm[moved.element.axis] == kind.element.axis


@given(types(elements=[FixedPoint]).map(lambda kind: kind.element))
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


@given(types(classes=[Stream]), st.integers(1, 3), st.integers(0, 2**32 - 1))
def test_beats_and_back(stream, batch, seed):
    values = np.random.default_rng(seed).integers(0, 9, (batch, *stream.shape))
    beats = stream.to_beats(values)
    assert beats.shape == (batch, stream.beats, stream.lanes)
    np.testing.assert_array_equal(stream.from_beats(beats), values)
    # The first beat is the first position of every channel: channels are lanes.
    np.testing.assert_array_equal(beats[:, 0], values.reshape(batch, stream.lanes, -1)[:, :, 0])


def test_element_types_and_dtypes_are_each_other_s_inverse():
    for name in NAMES:
        held_wider = name in HELD_WIDER
        assert (element_of(element_dtype(name)) == name) != held_wider
        assert element_dtype(element_of(element_dtype(name))) == element_dtype(name)
        limits = integer_limits(name)
        assert (limits is not None) == (element_kind(name) == "integer")
        if limits is not None and not held_wider:
            assert limits == (np.iinfo(element_dtype(name)).min, np.iinfo(element_dtype(name)).max)
    assert element_of(">f4") == "f32"
    with pytest.raises(TypeMismatchError, match="complex"):
        element_of(np.complex64)


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        (lambda: FixedPoint(True, 0), "1 to 63"),
        (lambda: FixedPoint(True, -1), "1 to 63"),
        (lambda: FixedPoint(True, 64), "1 to 63"),
        (lambda: FixedPoint(True, 8, 10**9), "fraction"),
        (lambda: FixedPoint(True, 8.5), "are integers"),
        (lambda: Tensor("f99", ()), "unknown element type 'f99'"),
        (lambda: Tensor("float32", ()), "unknown element type 'float32'"),
        (lambda: Tensor(np.float32, ()), "unknown element type"),
        (lambda: Tensor(["f32"], ()), "unknown element type"),
        (lambda: Tensor("f32", (-1,)), "0 to 2"),
        (lambda: Tensor("f32", (2**70,)), "0 to 2"),
        (lambda: Tensor("f32", (2.5,)), "got 2.5"),
        (lambda: Tensor("f32", (float("nan"),)), "got nan"),
        (lambda: Tensor("f32", (None,)), "got None"),
        (lambda: Tensor("f32", ("a b",)), "identifier"),
        (lambda: Tensor("f32", ("",)), "identifier"),
        (lambda: Tensor("f32", "NC"), "shapes are tuples"),
        (lambda: Tensor("f32", 3), "shapes are tuples"),
        (lambda: Tensor("f32", (1,) * 40), "at most 32 axes"),
        (lambda: Tensor("f32", ("N", 3), "N"), "2 distinct letters A to Z"),
        (lambda: Tensor("f32", ("N", 3), "NN"), "2 distinct letters A to Z"),
        (lambda: Tensor("f32", ("N", 3), "nc"), "A to Z"),
        (lambda: Tensor("f32", ("N", 3), ("N", "C")), "2 distinct letters A to Z"),
        (lambda: Stream("f32", (3,)), "FixedPoint"),
        (lambda: Stream(FixedPoint(True, 8), ("N", 3)), "no symbolic sizes"),
        (lambda: Stream(FixedPoint(True, 8), ()), "channels first"),
        (lambda: Stream(FixedPoint(True, 8), (3, -1)), "0 to 2"),
        (lambda: Quantised("f32", 0.1), "the storage is one of"),
        (lambda: Quantised("i8", 0.0), "finite and positive"),
        (lambda: Quantised("i8", -1.0), "finite and positive"),
        (lambda: Quantised("i8", float("nan")), "finite and positive"),
        (lambda: Quantised("i8", float("inf")), "finite and positive"),
        (lambda: Quantised("i8", "much"), "scales are floats"),
        (lambda: Quantised("i4", 0.1, 8), "does not fit into i4"),
        (lambda: Quantised("u8", 0.1, -1), "does not fit into u8"),
        (lambda: Quantised("i8", 0.1, 0.5), "zero points ints"),
        (lambda: Quantised("i8", (0.1, 0.2)), "need an axis"),
        (lambda: Quantised("i8", 0.1, axis=1), "needs a tuple of scales"),
        (lambda: Quantised("i8", (0.1, 0.2), (1, 2, 3), axis=1), "as many zero points"),
        (lambda: Quantised("i8", (0.1, 0.2), axis=-1), "0 to 31"),
        (lambda: Tensor(Quantised("i8", (0.1, 0.2), axis=1), ("N", 3)), "has 2 channels"),
        (lambda: Tensor(Quantised("i8", (0.1, 0.2), axis=0), ("N", 3)), "axis 0 of .* has N"),
        (lambda: Tensor(Quantised("i8", (0.1, 0.2), axis=2), ("N", 2)), "axis 2 of .* has no"),
    ],
)
def test_what_is_no_type_is_refused(wrong, message):
    with pytest.raises(TypeMismatchError, match=message):
        wrong()


def test_a_format_is_kept_in_python_s_own_numbers():
    given_numpy = Quantised("i8", np.array([0.5, 0.25], np.float32), np.int8(3), axis=np.int64(1))
    assert given_numpy == Quantised("i8", (0.5, 0.25), (3, 3), axis=1)
    assert type(given_numpy.axis) is int
    assert repr(FixedPoint(np.True_, np.int64(8), np.int8(4))) == repr(FixedPoint(True, 8, 4))
    assert set(STORAGES) < set(NAMES)


@pytest.mark.parametrize(
    "text",
    [
        *("", "f32", "f32[N", "q9[3]", "stream f32[3]", "stream s8f0[N]", "s8f4 [3]x", "f32[-1]", "f32[a b]", "f32[²]"),
        *("f32[N,3] N", "f32[N,3] NHW", "f32[N,3] nc", "f32[N,,3]", "f32[1.5]", "f32[N] N C", "stream s8f0[3] C"),
        *("i8<>[3]", "i8<0.1>[3]", "i8<0.1:3, 0.2:1>[2]", "i8<nan:0>[2]", "i8<0.1:300>[2]", "i8<0.1:3 @0>[2]"),
        *("i8<0.1:3 @>[1]", "f32<0.1:3>[2]", "s64f0[3]", "s8f99999[3]", "f32[" + "1," * 50 + "1]", "f32[" + "9" * 5000),
        *("s9999999999f0[1]", "i8<1e999:0>[1]", "i8<0.1:3><0.1:3>[2]", "f32[[3]]"),
    ],
)
def test_text_that_is_no_type_is_refused(text):
    with pytest.raises(ParseError):
        parse_type(text)


@given(st.text(alphabet="fiubs0123468<>[]:@,. NCHWe-²", max_size=30))
def test_any_text_is_a_type_or_a_parse_error(text):
    for read in (parse_type, parse_types, parse_element):
        try:
            read(text)
        except GraphRewriteError as error:
            assert type(error) is ParseError  # noqa: PT017 - anything else would be raised


def test_a_sign_that_is_no_truth_value():
    with pytest.raises(TypeMismatchError, match="signed is True or False, got 'no'"):
        FixedPoint("no", 8, 4)  # type: ignore[arg-type]
