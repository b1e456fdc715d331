"""Types: what is refused, one object of each kind, text and back."""

from __future__ import annotations

import copy
import pickle

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from graphrewrite import FixedPoint, Graph, Stream, Tensor, op, rewrite, rule, verify
from graphrewrite.errors import GraphRewriteError, ParseError, TypeMismatchError, VerificationError
from graphrewrite.testing import types
from graphrewrite.types import (
    HELD_WIDER,
    NAMES,
    STORAGES,
    Quantised,
    as_element,
    element_dtype,
    element_kind,
    element_of,
    hold,
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
        (lambda: Tensor(["f32"], ()), "unknown element type"),
        (lambda: Tensor("f32", (-1,)), "0 to 2"),
        (lambda: Tensor("f32", (2**70,)), "0 to 2"),
        (lambda: Tensor("f32", (2.5,)), "got 2.5"),
        (lambda: Tensor("f32", (float("nan"),)), "got nan"),
        (lambda: Tensor("f32", (None,)), "got None"),
        (lambda: Tensor("f32", ("a b",)), "not expected at character 3"),
        (lambda: Tensor("f32", ("",)), "a size is missing"),
        (lambda: Tensor("f32", ("-N - 1",)), "negative"),
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


class Torch:
    """The dtypes of PyTorch, which say no more than their names."""

    class dtype:  # as it is called there
        def __init__(self, name: str) -> None:
            self.text = f"torch.{name}"

        def __str__(self) -> str:
            return self.text


WRITTEN = {
    "f16": ["float16", "half", np.float16, np.dtype("float16"), Torch.dtype("float16")],
    "f32": ["float32", "single", np.float32, np.dtype(">f4"), "torch.float32"],
    "f64": ["float64", "double", np.float64],
    "bf16": ["bfloat16", Torch.dtype("bfloat16")],
    "bool": ["bool_", bool, np.bool_, Torch.dtype("bool")],
    "i8": ["int8", np.int8],
    "u2": ["uint2"],
    "i4": ["int4"],
    "i64": ["int64", np.dtype("i8")],
    "f8e4m3fn": ["float8_e4m3fn", "float8e4m3fn", Torch.dtype("float8_e4m3fn")],
    "f8e8m0": ["float8_e8m0fnu", "float8e8m0"],
    "f4e2m1": ["float4_e2m1fn", "float4e2m1"],
}


@pytest.mark.parametrize(("name", "written"), [(name, word) for name, words in WRITTEN.items() for word in words])
def test_element_types_are_written_as_in_other_packages(name, written):
    kind = Tensor(name, (2,))
    assert Tensor(written, (2,)) is kind
    assert element_dtype(written) == element_dtype(name)
    assert element_kind(written) == element_kind(name)
    assert hold(written, np.ones(2)).dtype == element_dtype(name)
    graph = Graph("g")
    x = graph.input("x", Tensor("f32", (2,)))
    assert op.cast(x, element=written).type is kind
    assert graph.constant([0, 1], type=written).type is kind
    assert str(graph) == str(Graph.parse(str(graph)))
    assert np.array_equal(
        op.cast(np.array([1.001, 300]), element=written), op.cast(np.array([1.001, 300]), element=name)
    )
    if isinstance(written, str) and "." not in written:
        assert parse_type(f"{written}[2]") is kind
        assert Graph.parse(f"graph g\nx = input() : f32[2]\ny = cast(x, element='{written}')").result_type("y") is kind


@given(st.sampled_from(NAMES))
def test_the_dtypes_of_ml_dtypes_are_known(name):
    found = pytest.importorskip("ml_dtypes")
    for word in WRITTEN.get(name, ()):
        if isinstance(word, str) and hasattr(found, word):
            assert as_element(getattr(found, word)) == name
            assert as_element(np.dtype(getattr(found, word))) == name


def test_a_rule_matches_an_element_type_however_it_is_written():
    @rule
    def narrow(x):
        yield op.cast(op.cast(x, element="float64"), element=np.float16)
        return op.cast(x, element="half")

    graph = Graph.parse(
        "graph g\nx = input() : f32[N]\na = cast(x, element='f64')\nb = cast(a, element='f16')\ny = output(b)"
    )
    assert [data["type"] for _, data in rewrite(graph, [narrow]).nodes(data=True)] == ["input", "output", "cast"]


@pytest.mark.parametrize(
    ("written", "message"),
    [
        ("float", "'float' does not say how many bits it has; write 'f32' or 'f64'"),
        (int, "'int' does not say how many bits it has; write 'i32' or 'i64'"),
        ("FLOAT32", "unknown element type 'FLOAT32'.*did you mean 'float32'"),
        ("flaot16", "did you mean 'float16'"),
        ("complex64", "unknown element type 'complex64'"),
        (np.complex64, "unknown element type <class 'numpy.complex64'>"),
        (np.floating, "unknown element type"),
        (np.dtype([("a", "f4")]), "unknown element type"),
        (object, "unknown element type"),
        (None, "unknown element type None"),
        (3, "unknown element type 3"),
    ],
)
def test_what_is_no_element_type_is_refused(written, message):
    for use in (lambda: Tensor(written, ()), lambda: op.cast(np.zeros(2), element=written)):
        with pytest.raises(TypeMismatchError, match=message):
            use()


def test_a_graph_stores_its_own_words():
    graph = Graph.parse("graph g\nx = input() : f32[2]\na = cast(x, element='f64')\ny = output(a)")
    graph.nodes["a"]["element"] = "float64"
    with pytest.raises(VerificationError, match=r"cast\.element: 'float64' is written 'f64' in a graph"):
        verify(graph)
    graph.node("a").element = "half"
    assert graph.nodes["a"]["element"] == "f16"
