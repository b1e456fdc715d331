"""Fake quantisation against its formulas, entry by entry, in exact arithmetic."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as npst

from graphrewrite import Graph, Tensor, evaluate, op, verify
from graphrewrite.errors import TypeMismatchError

TABLE = {
    "ROUND": [6, 2, 2, 1, 1, -1, -1, -2, -2, -6],
    "HALF_EVEN": [6, 2, 2, 1, 1, -1, -1, -2, -2, -6],
    "CEIL": [6, 3, 2, 2, 1, -1, -1, -1, -2, -5],
    "FLOOR": [5, 2, 1, 1, 1, -1, -2, -2, -3, -6],
    "UP": [6, 3, 2, 2, 1, -1, -2, -2, -3, -6],
    "DOWN": [5, 2, 1, 1, 1, -1, -1, -1, -2, -5],
    "HALF_UP": [6, 3, 2, 1, 1, -1, -1, -2, -3, -6],
    "HALF_DOWN": [5, 2, 2, 1, 1, -1, -1, -2, -2, -5],
}
"""The table of rounding modes in QONNX's description of IntQuant."""
ZERO, ONE = np.float32(0), np.float32(1)
whole = st.integers(-40, 40)


@pytest.mark.parametrize("mode", TABLE)
def test_numbers_are_rounded_as_the_table_says(mode):
    x = np.array([5.5, 2.5, 1.6, 1.1, 1.0, -1.0, -1.1, -1.6, -2.5, -5.5], np.float32)
    for name in (mode, mode.lower()):
        assert op.quant(x, ONE, ZERO, np.float32(8), rounding_mode=name).tolist() == TABLE[mode]


def limits(bits: int, signed: bool, narrow: bool) -> tuple[int, int]:
    if signed:
        return -(2 ** (bits - 1)) + narrow, 2 ** (bits - 1) - 1
    return 0, 2**bits - 1 - narrow


@given(npst.arrays(np.int64, 4, elements=whole), st.integers(2, 5), whole, st.booleans(), st.booleans())
def test_quantising_is_exact_on_a_grid(eighths, bits, zero, signed, narrow):
    x = eighths.astype(np.float32) / 8
    found = op.quant(x, np.float32(0.25), np.float32(zero), np.int32(bits), signed=signed, narrow=narrow)
    low, high = limits(bits, signed, narrow)
    wanted = [(round(min(max(Fraction(int(e), 2) + zero, low), high)) - zero) * 0.25 for e in eighths]
    assert found.tolist() == wanted
    assert found.dtype == np.float32


def test_one_bit_with_a_sign_is_bipolar():
    x = np.array([0.0, -0.1, 7.0], np.float32)
    assert op.quant(x, np.float32(0.5), ZERO, ONE).tolist() == [0.5, -0.5, 0.5]
    assert op.bipolar_quant(x, np.float32(0.5)).tolist() == [0.5, -0.5, 0.5]


@given(npst.arrays(np.int64, 4, elements=whole), st.integers(0, 3), whole, st.booleans())
def test_truncating_drops_bits(values, places, zero, signed):
    x = values.astype(np.float32) * np.float32(0.5)
    bits = np.float32(8), np.float32(8 - places)
    first = op.trunc(x, np.float32(0.5), np.float32(zero), *bits)
    assert first.tolist() == [(math.floor(Fraction(int(v) + zero, 2**places)) - zero) * 0.5 for v in values]
    second = op.trunc(
        x, np.float32(0.5), np.float32(zero), *bits, np.float32(0.5 * 2**places), signed=signed, rounding_mode="CEIL"
    )
    low, high = limits(8 - places, signed, False)
    parts = [Fraction(int(v) + zero, 2**places) for v in values]
    wanted = [(math.ceil(min(max(p, low), high)) - Fraction(zero, 2**places)) * 2**places / 2 for p in parts]
    assert second.tolist() == [float(w) for w in wanted]


@given(
    npst.arrays(np.float32, (2, 3, 4)),
    npst.arrays(np.float32, st.tuples(st.sampled_from([1, 3]), st.integers(0, 5))),
    st.booleans(),
)
def test_thresholds_that_are_reached_are_counted(x, thresholds, last):
    with np.errstate(invalid="ignore"):
        reached = x[..., None] >= (thresholds if len(thresholds) == 1 else thresholds[:, None])
    wanted = 0.5 * reached.sum(axis=-1) - 2
    attributes = {"out_scale": 0.5, "out_bias": -2.0}
    given_ = np.moveaxis(x, 1, -1) if last else x
    found = op.multi_threshold(given_, thresholds, **attributes, data_layout="NHWC" if last else "NCHW")
    assert found.dtype == np.float32
    np.testing.assert_array_equal(np.moveaxis(found, -1, 1) if last else found, wanted)


def test_in_a_graph_with_parameters_of_each_channel():
    g = Graph("g")
    x = g.input("x", Tensor("f32", ("N", 2, 3), "NCW"))
    scale = np.array([[0.5], [0.25]], np.float32)
    g.output("q", op.quant(x, scale, ZERO, np.float32(3), signed=False, narrow=True))
    g.output("b", op.bipolar_quant(x, ONE))
    g.output("t", op.trunc(x, ONE, ZERO, np.float32(8), np.float32(4)))
    g.output("m", op.multi_threshold(x, np.zeros((1, 2), np.float32)))
    verify(g)
    found = evaluate(g, {"x": np.full((1, 2, 3), 9.0)})
    assert found["q"][0, :, 0].tolist() == [3.0, 1.5]
    assert (found["b"][0, 0, 0], found["t"][0, 0, 0], found["m"][0, 0, 0]) == (1, 0, 2)
    assert all(g.result_type(g.operands(y)[0].node) == x.type for y in "qbtm")


@pytest.mark.parametrize(
    ("name", "shapes", "attributes", "message"),
    [
        ("quant", [(2, 3), (4,), (), ()], {}, "do not broadcast"),
        ("quant", [(3,), (2, 3), (), ()], {}, "does not broadcast to"),
        ("quant", [(2, 3), (), (), ()], {"rounding_mode": "FLOR"}, "did you mean 'FLOOR'"),
        ("trunc", [(2, 3), (), (), (), (), (3, 3, 3)], {}, "does not broadcast|do not broadcast"),
        ("multi_threshold", [(2, 3), (2, 4)], {}, "3 channels need one row of thresholds each"),
        ("multi_threshold", [(3,), (1, 4)], {}, "thresholds are"),
        ("multi_threshold", [(2, 3), (1, 4)], {"data_layout": "HW"}, "second or the last axis"),
    ],
)
def test_what_does_not_fit_is_refused(name, shapes, attributes, message):
    with pytest.raises(TypeMismatchError, match=message):
        getattr(op, name).infer(*(Tensor("f32", shape) for shape in shapes), **attributes)
    with pytest.raises(TypeMismatchError, match="does not compute with i8"):
        op.quant.infer(Tensor("i8", (2,)), *[Tensor("f32", ())] * 3)
    with pytest.raises(TypeMismatchError, match="are not axis 1"):
        op.multi_threshold.infer(Tensor("f32", ("N", 4, 3), "NWC"), Tensor("f32", (1, 2)))
