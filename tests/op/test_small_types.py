"""Floats of 8 and 4 bits and integers of 2: what they hold, and casts between them and the others."""

from __future__ import annotations

import ml_dtypes
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as npst

from graphrewrite import Graph, Tensor, evaluate, op, verify
from graphrewrite.errors import TypeMismatchError
from graphrewrite.execution.implementation.implementation import bits_of
from graphrewrite.formats.json.decode_graph import from_dict
from graphrewrite.formats.json.encode_graph import to_dict
from graphrewrite.types import NAMES, SMALL_FLOATS, contradiction, element_kind, hold, parse_type
from tests.support.node_cases import ELEMENTS, assert_case, cases_of, is_left_open

ML = {
    "f8e4m3fn": ml_dtypes.float8_e4m3fn,
    "f8e4m3fnuz": ml_dtypes.float8_e4m3fnuz,
    "f8e5m2": ml_dtypes.float8_e5m2,
    "f8e5m2fnuz": ml_dtypes.float8_e5m2fnuz,
    "f8e8m0": ml_dtypes.float8_e8m0fnu,
    "f4e2m1": ml_dtypes.float4_e2m1fn,
}
NEW = (*SMALL_FLOATS, "i2", "u2")
ROUND = [name for name in SMALL_FLOATS if name != "f8e8m0"]


def all_of(name: str) -> np.ndarray:
    """Every number of a format, NaN and infinities included."""
    codes = np.arange(16 if name == "f4e2m1" else 256, dtype=np.uint8)
    with np.errstate(all="ignore"):
        return codes.view(ML[name]).astype(np.float32)


@pytest.mark.parametrize("name", SMALL_FLOATS)
def test_a_table_has_the_numbers_of_ml_dtypes(name):
    kind, every = SMALL_FLOATS[name], all_of(name)
    finite = np.unique(every[np.isfinite(every)])
    wanted = np.unique(np.concatenate([kind.magnitudes, -kind.magnitudes])) if kind.signed else kind.magnitudes
    np.testing.assert_array_equal(finite, wanted.astype(np.float32))
    assert np.isnan(every).any() == kind.nan
    assert np.isinf(every).any() == kind.infinite
    assert bits_of(name) == (4 if name == "f4e2m1" else 8)
    assert element_kind(name) == "float"


@pytest.mark.parametrize("name", SMALL_FLOATS)
def test_numbers_of_a_format_are_held_as_they_are(name):
    every = all_of(name)
    assert hold(name, every) is every
    assert contradiction(Tensor(name, every.shape), every) is None
    np.testing.assert_array_equal(hold(name, every.astype(np.float64)), every)


@pytest.mark.parametrize("name", ROUND)
@given(npst.arrays(st.sampled_from([np.float16, np.float32, np.float64]), 4))
def test_floats_are_rounded_as_ml_dtypes_does(name, x):
    with np.errstate(all="ignore"):
        narrow = x.astype(ML[name]).astype(np.float32)
        found = op.cast(x, element=name, saturate=False)
    kind = SMALL_FLOATS[name]
    if not kind.nan:
        found, narrow = found[~np.isnan(x)], narrow[~np.isnan(x)]
    if x.dtype != np.float64:  # which ml_dtypes rounds twice
        np.testing.assert_array_equal(found, narrow)
        np.testing.assert_array_equal(np.signbit(found) & (found == 0), np.signbit(narrow) & (found == 0))
    saturated, x = op.cast(x, element=name), x.astype(np.float64)
    assert np.isnan(saturated).tolist() == (np.isnan(x) & kind.nan).tolist()
    np.testing.assert_array_equal(saturated[np.abs(x) > 1e6], np.sign(x[np.abs(x) > 1e6]) * kind.greatest)


@given(st.lists(st.floats(2.0**-126, 2.0**126), min_size=1), st.sampled_from(["up", "down", "nearest"]))
def test_powers_of_two_lie_around_a_number(values, mode):
    found = op.cast(np.array(values), element="f8e8m0", round_mode=mode)
    below = [2.0 ** np.floor(np.log2(v)) for v in values]
    for value, power, floor in zip(values, found.tolist(), below, strict=True):
        if power == value:
            continue
        assert mode != "up" or value < power < 2 * value
        assert mode != "down" or power < value < 2 * power
        assert mode != "nearest" or abs(power - value) <= min(abs(p * floor - value) for p in (0.5, 1, 2))


def test_what_is_beyond_the_powers_of_two():
    x = np.array([0.0, np.nan, np.inf, 1e39, 1e-45, -1.0])
    least, greatest = 2.0**-127, 2.0**127
    np.testing.assert_array_equal(op.cast(x, element="f8e8m0"), [least, np.nan, greatest, greatest, least, least])
    assert np.isnan(op.cast(x, element="f8e8m0", saturate=False, round_mode="nearest")).all()
    with pytest.raises(TypeMismatchError, match="got 'sideways'"):
        op.cast.infer(Tensor("f32", ()), element="f8e8m0", round_mode="sideways")


@given(st.lists(st.integers(-(2**62), 2**62)), st.sampled_from(["i2", "u2"]))
def test_two_bits_wrap_around(values, name):
    low = -2 if name == "i2" else 0
    assert hold(name, np.array(values, np.int64)).tolist() == [(v - low) % 4 + low for v in values]


@pytest.mark.parametrize("name", NEW)
def test_they_are_written_stored_and_computed_with(name):
    g = Graph("g")
    x = g.input("x", Tensor(name, ("N", 2), "NC"))
    g.output("y", op.add(x, 1))
    verify(g)
    assert parse_type(f"{name}[N,2] NC") == Tensor(name, ("N", 2), "NC")
    assert Graph.parse(str(g)) == g
    assert from_dict(to_dict(g)) == g
    found = evaluate(g, {"x": np.array([[1, 1]])})["y"]
    assert contradiction(Tensor(name, (1, 2)), found) is None


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("new", NEW)
def test_casts_from_and_to_all_others(name, new):
    for source, target in ((name, new), (new, name)):
        g = Graph("g")
        g.output("y", op.cast(g.input("x", Tensor(source, ("N",))), element=target))
        found = evaluate(g, {"x": hold(source, np.array([0, 1, 1]))})["y"]
        assert contradiction(Tensor(target, (3,)), found) is None
        assert found[1] == 1 or target == "i2" or "e8m0" in source + target


@pytest.mark.parametrize("kind", ["Cast", "CastLike"])
def test_every_case_of_onnx(kind):
    for case in cases_of(kind):
        attributes = {"saturate": bool(case.attributes.get("saturate", 1))}
        if "round_mode" in case.attributes:
            attributes["round_mode"] = case.attributes["round_mode"].decode()
        target = case.elements[-1]
        assert target == ELEMENTS.get(case.attributes.get("to"), target)
        found = op.cast(case.operands[0], element=target, **attributes)
        np.testing.assert_array_equal(np.isinf(found), np.isinf(case.results[0]))
        is_open = is_left_open(case.operands[0], target)
        assert_case(np.where(is_open, case.results[0], found), case)
        assert contradiction(Tensor(target, found.shape), found) is None
